/* expect: violated kind=misuse preemptions=0
 * A mutex is unlocked by a thread that does not hold it. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *stranger(void *unused)
{
	(void)unused;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	pthread_mutex_lock(&lock);
	pthread_create(&thread, NULL, stranger, NULL);
	pthread_join(thread, NULL);
	pthread_mutex_unlock(&lock);
	return 0;
}
