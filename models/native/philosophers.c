/* expect: violated kind=deadlock preemptions=1
 * Three philosophers, each of whom takes the left fork first: all may hold one and wait for the other. */
#include <pthread.h>
#include <stddef.h>

#define N 3

static pthread_mutex_t forks[N] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				    PTHREAD_MUTEX_INITIALIZER };

static void *philosopher(void *number)
{
	size_t left = (size_t)number, right = (left + 1) % N;
	pthread_mutex_lock(&forks[left]);
	pthread_mutex_lock(&forks[right]);
	pthread_mutex_unlock(&forks[right]);
	pthread_mutex_unlock(&forks[left]);
	return NULL;
}

int main(void)
{
	pthread_t threads[N];
	for (size_t i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, philosopher, (void *)i);
	for (size_t i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
