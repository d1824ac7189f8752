/*
 * libpq.c - libpq.so.99: a client library that blocks through slots of its own.
 */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

int
pq_wait(int fd)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};

	return poll(&entry, 1, 0);
}

int
pq_send(int fd)
{
	return (int) send(fd, "hello", 5, 0);
}

int
pq_sync(int fd)
{
	return fdatasync(fd);
}
