/* expect: violated kind=misuse preemptions=0
 * Both threads initialise the barrier: which of them comes second does so while the first uses it. */
#include <pthread.h>

static pthread_barrier_t barrier;

static void *meet(void *unused)
{
	(void)unused;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	pthread_create(&first, NULL, meet, NULL);
	pthread_create(&second, NULL, meet, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
