/* A work-stealing queue as in Cilk: its owner pushes and pops at one end without a lock, thieves steal
 * at the other under a lock, and only for the last item do the two have to agree. No item may be
 * taken twice. Defining BUG as 1, 2 or 3 brings one of the classic mistakes. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define SIZE 4
#define ITEMS 2 /* how many the owner pushes */

static atomic_int items[SIZE];
static atomic_int head, tail; /* stolen from at the head, pushed and popped at the tail */
static atomic_int taken[SIZE]; /* how often each item was taken out, by its value */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take(int item)
{
	assert(atomic_fetch_add(&taken[item], 1) == 0);
}

static void *owner(void *unused)
{
	int next = 1;
	(void)unused;
	for (; next <= ITEMS; next++) {
		int t = atomic_load(&tail);
		atomic_store(&items[t], next);
		atomic_store(&tail, t + 1);
	}
	while (next > 1) {
		int t, h;
		next--;
#if BUG == 1
		/* wrong: looks at the head before announcing */
		h = atomic_load(&head);
		t = atomic_load(&tail) - 1;
		atomic_store(&tail, t);
#else
		/* announce first, look at the head second */
		t = atomic_load(&tail) - 1;
		atomic_store(&tail, t);
		h = atomic_load(&head);
#endif
		if (h <= t) {
			take(atomic_load(&items[t]));
			continue;
		}
		/* perhaps a thief is at the last item: decide under the lock */
		atomic_store(&tail, t + 1);
		pthread_mutex_lock(&lock);
		h = atomic_load(&head);
		if (h <= t) {
			atomic_store(&tail, t);
			int item = atomic_load(&items[t]);
			pthread_mutex_unlock(&lock);
			take(item);
		} else {
			pthread_mutex_unlock(&lock);
			next = 1;
		}
	}
	return NULL;
}

static void lock_thief(void)
{
#if BUG != 3
	pthread_mutex_lock(&lock);
#endif
}

static void unlock_thief(void)
{
#if BUG != 3
	pthread_mutex_unlock(&lock);
#endif
}

static void *thief(void *tries)
{
	for (size_t left = (size_t)tries; left > 0; left--) {
		lock_thief();
		int h = atomic_load(&head);
#if BUG == 2
		/* wrong: looks at the tail before announcing */
		if (h < atomic_load(&tail)) {
			atomic_store(&head, h + 1);
			int item = atomic_load(&items[h]);
			unlock_thief();
			take(item);
		} else {
			unlock_thief();
		}
#else
		/* announce first, look at the tail second */
		atomic_store(&head, h + 1);
		if (h < atomic_load(&tail)) {
			int item = atomic_load(&items[h]);
			unlock_thief();
			take(item);
		} else {
			atomic_store(&head, h);
			unlock_thief();
		}
#endif
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	int thieves = BUG == 3 ? 2 : 1;
	size_t tries = BUG == 3 ? 1 : ITEMS;
	pthread_create(&threads[0], NULL, owner, NULL);
	for (int i = 1; i <= thieves; i++)
		pthread_create(&threads[i], NULL, thief, (void *)tries);
	for (int i = 0; i <= thieves; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
