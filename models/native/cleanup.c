/* expect: holds
 * A thread that ends by pthread_exit releases its locks in cleanup handlers, the innermost first. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static int releases;

static void release(void *lock)
{
	if (lock == &inner)
		assert(releases == 0);
	releases++;
	pthread_mutex_unlock(lock);
}

static void leave(void)
{
	pthread_mutex_lock(&inner);
	pthread_cleanup_push(release, &inner);
	pthread_exit(&releases);
	pthread_cleanup_pop(0);
}

static void *work(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&outer);
	pthread_cleanup_push(release, &outer);
	leave();
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	void *result;
	pthread_create(&thread, NULL, work, NULL);
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
	pthread_join(thread, &result);
	assert(result == &releases && releases == 2);
	return 0;
}
