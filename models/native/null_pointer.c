/* expect: violated kind=signal preemptions=1
 * A pointer is checked and then used, under the lock each time, and set to null in between. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value, *pointer = &value;

static int is_there(void)
{
	pthread_mutex_lock(&lock);
	int there = pointer != NULL;
	pthread_mutex_unlock(&lock);
	return there;
}

static void *use(void *unused)
{
	(void)unused;
	if (is_there()) {
		pthread_mutex_lock(&lock);
		*pointer = 1;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *clear(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	pointer = NULL;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	pthread_create(&first, NULL, use, NULL);
	pthread_create(&second, NULL, clear, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
