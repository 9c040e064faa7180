/* expect: violated kind=assertion preemptions=0
 * Three threads copy a number from their left neighbour, once each and in any order; that each then
 * has what its neighbour has is true only if they happen to run around the ring. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int values[4] = { 1, 0, 0, 0 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *copy(void *number)
{
	size_t me = (size_t)number;
	pthread_mutex_lock(&lock);
	values[me] = values[me - 1];
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];
	for (size_t i = 1; i < 4; i++)
		pthread_create(&threads[i], NULL, copy, (void *)i);
	for (size_t i = 1; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert(values[3] == 1);
	return 0;
}
