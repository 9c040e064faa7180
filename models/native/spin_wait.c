/* expect: holds
 * One thread waits in a loop without yielding until another one has published a number. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int ready;
static int number;

static void *publish(void *unused)
{
	(void)unused;
	number = 42;
	atomic_store_explicit(&ready, 1, memory_order_release);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, publish, NULL);
	while (!atomic_load_explicit(&ready, memory_order_acquire))
		;
	assert(number == 42);
	pthread_join(thread, NULL);
	return 0;
}
