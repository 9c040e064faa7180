/* expect: holds
 * An event loop of one thread serves an event counter by edges and a pipe by levels, until both have been served. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { COUNTER = 1, PIPE = 2 };

static int counter, ends[2];

static void *add(void *unused)
{
	uint64_t one = 1;
	(void)unused;
	assert(write(counter, &one, sizeof one) == sizeof one);
	return NULL;
}

static void *send(void *unused)
{
	(void)unused;
	assert(write(ends[1], "x", 1) == 1);
	return NULL;
}

static void watch(int loop, int descriptor, uint32_t events, uint32_t name)
{
	struct epoll_event event = { .events = events, .data.u32 = name };
	assert(epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event) == 0);
}

int main(void)
{
	pthread_t first, second;
	uint32_t served = 0;
	int loop = epoll_create1(0);
	counter = eventfd(0, EFD_NONBLOCK);
	assert(pipe(ends) == 0);
	watch(loop, counter, EPOLLIN | EPOLLET, COUNTER);
	watch(loop, ends[0], EPOLLIN, PIPE);
	pthread_create(&first, NULL, add, NULL);
	pthread_create(&second, NULL, send, NULL);
	while (served != (COUNTER | PIPE)) {
		struct epoll_event events[4];
		int count = epoll_wait(loop, events, 4, -1);
		assert(count > 0);
		for (int i = 0; i < count; i++) {
			char byte;
			/* An edge is reported once. */
			assert(!(served & events[i].data.u32));
			served |= events[i].data.u32;
			if (events[i].data.u32 == PIPE)
				assert(read(ends[0], &byte, 1) == 1);
		}
	}
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
