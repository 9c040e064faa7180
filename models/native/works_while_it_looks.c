/* expect: violated kind=assertion preemptions=0
 * A thread looks again and again whether it should stop, and works in between: it does not wait for
 * anybody, so it may finish before the other thread takes its first step. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int stop, done;
static int work[12];

static void *worker(void *unused)
{
	(void)unused;
	for (int i = 0; i < 12; i++) {
		if (atomic_load(&stop))
			return NULL;
		work[i] = i;
	}
	atomic_store(&done, 1);
	return NULL;
}

static void *stopper(void *unused)
{
	(void)unused;
	assert(!atomic_load(&done));
	atomic_store(&stop, 1);
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	pthread_create(&first, NULL, worker, NULL);
	pthread_create(&second, NULL, stopper, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
