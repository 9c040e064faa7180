/* expect: violated kind=assertion preemptions=1
 * A writer sets two numbers one after the other; a checker that runs between the two finds the first
 * set and the second not. Three threads set, one checks. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int a, b;

static void *set(void *unused)
{
	(void)unused;
	atomic_store(&a, 1);
	atomic_store(&b, -1);
	return NULL;
}

static void *check(void *unused)
{
	int first = atomic_load(&a), second = atomic_load(&b);
	(void)unused;
	assert((first == 0 && second == 0) || (first == 1 && second == -1));
	return NULL;
}

int main(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i < 3 ? set : check, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
