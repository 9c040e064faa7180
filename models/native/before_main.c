/* expect: violated kind=assertion preemptions=1
 * A constructor starts a thread, which increments a counter beside the main thread; a destructor looks at the sum. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_t thread;
static pthread_barrier_t barrier;
static atomic_int counter;

static void *add(void *unused)
{
	(void)unused;
	atomic_store(&counter, atomic_load(&counter) + 1);
	pthread_barrier_wait(&barrier);
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, add, NULL);
}

__attribute__((destructor)) static void end(void)
{
	assert(counter == 2);
}

int main(void)
{
	atomic_store(&counter, atomic_load(&counter) + 1);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	return 0;
}
