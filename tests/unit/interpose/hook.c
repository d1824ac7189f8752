/*
 * hook.c - libhook.so: somebody else who patches slots before us.
 */
#include <unistd.h>

int hook_calls;
int (*hook_previous)(int);

int
hook_fdatasync(int fd)
{
	hook_calls++;
	return hook_previous == NULL ? fdatasync(fd) : hook_previous(fd);
}
