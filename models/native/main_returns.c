/* expect: holds
 * The main thread returns while another one still runs, which ends the program at any of its steps. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int progress;

static void *work(void *unused)
{
	(void)unused;
	atomic_fetch_add(&progress, 1);
	atomic_fetch_add(&progress, 1);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, work, NULL);
	return atomic_load(&progress) > 2;
}
