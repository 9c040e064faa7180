/* expect: violated kind=deadlock preemptions=1
 * The loop looks at a flag and then waits for an event; the other thread writes the event before it sets the
 * flag. If both happen between the read of the event and the look at the flag, the loop waits for ever. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int event;
static atomic_int done;

static void *finish(void *unused)
{
	uint64_t one = 1;
	(void)unused;
	(void)!write(event, &one, sizeof one);
	atomic_store(&done, 1);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	event = eventfd(0, EFD_NONBLOCK);
	pthread_create(&thread, NULL, finish, NULL);
	while (!atomic_load(&done)) {
		struct pollfd wanted = { .fd = event, .events = POLLIN };
		uint64_t value;
		poll(&wanted, 1, -1);
		(void)!read(event, &value, sizeof value);
	}
	pthread_join(thread, NULL);
	return 0;
}
