/* expect: holds
 * A timer expires by the program's own clock: a loop that waits for it and for a socket ends, whichever is first. */
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int sockets[2];

static void *answer(void *unused)
{
	(void)unused;
	assert(send(sockets[1], "ok", 2, 0) == 2);
	return NULL;
}

int main(void)
{
	struct itimerspec limit = { .it_value = { .tv_nsec = 5000000 } };
	struct pollfd wanted[2];
	pthread_t thread;
	char text[2];
	uint64_t expirations;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	assert(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	assert(timerfd_settime(timer, 0, &limit, NULL) == 0);
	wanted[0] = (struct pollfd){ .fd = timer, .events = POLLIN };
	wanted[1] = (struct pollfd){ .fd = sockets[0], .events = POLLIN };
	pthread_create(&thread, NULL, answer, NULL);
	assert(poll(wanted, 2, -1) >= 1);
	if (wanted[0].revents)
		assert(read(timer, &expirations, sizeof expirations) == sizeof expirations && expirations == 1);
	if (wanted[1].revents)
		assert(recv(sockets[0], text, 2, 0) == 2);
	pthread_join(thread, NULL);
	return 0;
}
