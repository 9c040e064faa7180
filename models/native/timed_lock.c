/* expect: holds
 * A thread that waits for a mutex for a limited time either gets it or is told that time is up. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int holders;

static void *hold(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	holders++;
	assert(holders == 1);
	holders--;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	struct timespec until;
	pthread_create(&thread, NULL, hold, NULL);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	int result = pthread_mutex_timedlock(&lock, &until);
	assert(result == 0 || result == ETIMEDOUT);
	if (result == 0) {
		holders++;
		assert(holders == 1);
		holders--;
		pthread_mutex_unlock(&lock);
	}
	pthread_join(thread, NULL);
	return 0;
}
