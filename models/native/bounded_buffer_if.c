/* expect: violated kind=assertion preemptions=1
 * The bounded buffer with `if` where `while` is needed: a consumer that was woken finds the buffer
 * emptied by another one. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int items;

static void *produce(void *unused)
{
	(void)unused;
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&lock);
		items++;
		pthread_cond_signal(&not_empty);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *consume(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	if (items == 0)
		pthread_cond_wait(&not_empty, &lock);
	assert(items > 0);
	items--;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	pthread_create(&threads[0], NULL, consume, NULL);
	pthread_create(&threads[1], NULL, consume, NULL);
	pthread_create(&threads[2], NULL, produce, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
