/* Four threads that take a lock twice each and compute in between: about a hundred microseconds in all, so an
 * execution is worth handing to another process. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned sum;

static unsigned compute(unsigned seed)
{
	for (int i = 0; i < 10000; i++)
		seed = seed * 1664525 + 1013904223;
	return seed;
}

static void *work(void *argument)
{
	unsigned own = *(unsigned *)argument;
	for (int i = 0; i < 2; i++) {
		own = compute(own);
		pthread_mutex_lock(&lock);
		sum += own;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	static unsigned seeds[4] = { 1, 2, 3, 4 };
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, &seeds[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
