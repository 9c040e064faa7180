/* expect: holds
 * A recursive mutex is locked again by its owner, and free only after as many unlocks. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock;
static int depth;

static void enter(int levels)
{
	pthread_mutex_lock(&lock);
	assert(depth >= 0);
	depth++;
	if (levels > 1)
		enter(levels - 1);
	depth--;
	pthread_mutex_unlock(&lock);
}

static void *work(void *unused)
{
	(void)unused;
	enter(3);
	pthread_mutex_lock(&lock);
	assert(depth == 0);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &attributes);
	pthread_create(&first, NULL, work, NULL);
	pthread_create(&second, NULL, work, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	pthread_mutex_destroy(&lock);
	return 0;
}
