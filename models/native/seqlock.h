/* A sequence lock: a writer makes the sequence odd, writes, and makes it even again; a reader whose two looks
 * at an even sequence agree has read what belongs together. Without FENCE the second look may be older
 * than the data, and the reader takes a torn pair for a whole one. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_uint sequence;
static atomic_int first, second;

static void *writer(void *unused)
{
	(void)unused;
	atomic_store_explicit(&sequence, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&first, 1, memory_order_relaxed);
	atomic_store_explicit(&second, 1, memory_order_relaxed);
	atomic_store_explicit(&sequence, 2, memory_order_release);
	return NULL;
}

static void *reader(void *unused)
{
	(void)unused;
	unsigned before = atomic_load_explicit(&sequence, memory_order_acquire);
	int one = atomic_load_explicit(&first, memory_order_relaxed);
	int two = atomic_load_explicit(&second, memory_order_relaxed);
#if FENCE
	atomic_thread_fence(memory_order_acquire);
#endif
	if (before % 2 == 0 && atomic_load_explicit(&sequence, memory_order_relaxed) == before)
		assert(one == two);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, writer, NULL);
	pthread_create(&threads[1], NULL, reader, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
