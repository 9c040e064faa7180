/* expect: violated kind=deadlock preemptions=2
 * A pool of workers that is told to stop: the stopping thread sets the flag without the lock and
 * signals, and a worker that has just looked at the flag waits for ever. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static int jobs, done;
static atomic_int stop;

static void *worker(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	while (!atomic_load(&stop)) {
		if (jobs == 0) {
			pthread_cond_wait(&work, &lock);
			continue;
		}
		jobs--;
		done++;
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	pthread_mutex_lock(&lock);
	jobs = 2;
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&lock);
	atomic_store(&stop, 1); /* wrong: not under the lock */
	pthread_cond_broadcast(&work);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
