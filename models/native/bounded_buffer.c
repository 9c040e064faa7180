/* expect: holds
 * A buffer with room for one item, two producers, one consumer, two conditions: nothing is lost. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int buffer, full, sum;

static void *produce(void *item)
{
	pthread_mutex_lock(&lock);
	while (full)
		pthread_cond_wait(&not_full, &lock);
	buffer = (int)(size_t)item;
	full = 1;
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *consume(void *unused)
{
	(void)unused;
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&lock);
		while (!full)
			pthread_cond_wait(&not_empty, &lock);
		sum += buffer;
		full = 0;
		pthread_cond_signal(&not_full);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	pthread_create(&threads[0], NULL, produce, (void *)1);
	pthread_create(&threads[1], NULL, produce, (void *)2);
	pthread_create(&threads[2], NULL, consume, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert(sum == 3);
	return 0;
}
