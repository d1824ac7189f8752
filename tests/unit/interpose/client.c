/*
 * client.c - libclient.so: brings libpq.so.99 with it, as postgres_fdw does.
 */
#include <unistd.h>

extern int pq_wait(int fd);
extern int pq_send(int fd);
extern int pq_sync(int fd);

int
client_wait(int fd)
{
	return pq_wait(fd);
}

int
client_send(int fd)
{
	return pq_send(fd);
}

int
client_sync(int fd)
{
	return pq_sync(fd);
}

/* Through a slot of this library, which is not one that is patched. */
int
client_own_sync(int fd)
{
	return fsync(fd);
}
