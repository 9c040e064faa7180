/* expect: violated kind=data_race preemptions=0
 * expect --races off: violated kind=use_after_free preemptions=1
 * A reader checks under the lock that the object is there, and uses it after it has let go. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int *shared;

static void *reader(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	atomic_int *mine = shared;
	pthread_mutex_unlock(&lock);
	if (mine)
		atomic_fetch_add(mine, 1);
	return NULL;
}

static void *remover(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	free(shared);
	shared = NULL;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	shared = malloc(sizeof *shared);
	atomic_init(shared, 0);
	pthread_create(&first, NULL, reader, NULL);
	pthread_create(&second, NULL, remover, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
