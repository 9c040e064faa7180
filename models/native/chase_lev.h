/* The work-stealing deque of Chase and Lev with the memory orders of Le, Pop, Cohen and Zappa Nardelli: two
 * elements, of which the owner takes one from the bottom while a thief tries to steal two from the top. No
 * element may be taken twice. TAKE is the order of the owner's fence. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_long bottom = 2, top = 0;
static atomic_int elements[2] = { 10, 11 };
static atomic_int taken[2];

static void *take(void *unused)
{
	(void)unused;
	long last = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
	atomic_store_explicit(&bottom, last, memory_order_relaxed);
	atomic_thread_fence(TAKE);
	long next = atomic_load_explicit(&top, memory_order_relaxed);
	if (next > last) {
		atomic_store_explicit(&bottom, last + 1, memory_order_relaxed);
		return NULL;
	}
	int element = atomic_load_explicit(&elements[last], memory_order_relaxed);
	if (next == last) {
		_Bool won = atomic_compare_exchange_strong_explicit(&top, &next, next + 1,
			memory_order_seq_cst, memory_order_relaxed);
		atomic_store_explicit(&bottom, last + 1, memory_order_relaxed);
		if (!won)
			return NULL;
	}
	atomic_fetch_add_explicit(&taken[element - 10], 1, memory_order_relaxed);
	return NULL;
}

static void *steal(void *unused)
{
	(void)unused;
	for (int i = 0; i < 2; i++) {
		long next = atomic_load_explicit(&top, memory_order_acquire);
		atomic_thread_fence(memory_order_seq_cst);
		if (next >= atomic_load_explicit(&bottom, memory_order_acquire))
			continue;
		int element = atomic_load_explicit(&elements[next], memory_order_relaxed);
		if (atomic_compare_exchange_strong_explicit(&top, &next, next + 1,
			memory_order_seq_cst, memory_order_relaxed))
			atomic_fetch_add_explicit(&taken[element - 10], 1, memory_order_relaxed);
	}
	return NULL;
}

int main(void)
{
	pthread_t owner, thief;
	pthread_create(&owner, NULL, take, NULL);
	pthread_create(&thief, NULL, steal, NULL);
	pthread_join(owner, NULL);
	pthread_join(thief, NULL);
	for (int i = 0; i < 2; i++)
		assert(atomic_load_explicit(&taken[i], memory_order_relaxed) <= 1);
	return 0;
}
