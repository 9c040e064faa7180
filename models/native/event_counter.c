/* expect: violated kind=assertion preemptions=0
 * A reader of an event counter takes all that was added so far, not 1: with two writers it may find 2. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int counter;

static void *add(void *unused)
{
	uint64_t one = 1;
	(void)unused;
	assert(write(counter, &one, sizeof one) == sizeof one);
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	uint64_t value;
	counter = eventfd(0, 0);
	pthread_create(&first, NULL, add, NULL);
	pthread_create(&second, NULL, add, NULL);
	assert(read(counter, &value, sizeof value) == sizeof value);
	assert(value == 1);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
