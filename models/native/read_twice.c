/* expect: violated kind=data_race preemptions=0
 * expect --races off: violated kind=assertion preemptions=1
 * A thread reads a plain number twice and relies on finding the same. Every access that races is a
 * scheduling point, also the second of two at different places. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int number;

static void *change(void *unused)
{
	(void)unused;
	number = 1;
	return NULL;
}

static void *look(void *unused)
{
	(void)unused;
	int first = number;
	int second = number;
	assert(first == second);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, look, NULL);
	pthread_create(&threads[1], NULL, change, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
