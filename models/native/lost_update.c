/* expect: violated kind=data_race preemptions=0
 * expect --races off: violated kind=assertion preemptions=1
 * Two threads increment a plain number without a lock: a data race, and with one preemption between
 * reading and writing an increment is lost. */
#include <assert.h>
#include <pthread.h>

static int counter;

static void *increment(void *unused)
{
	(void)unused;
	int seen = counter;
	counter = seen + 1;
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	pthread_create(&first, NULL, increment, NULL);
	pthread_create(&second, NULL, increment, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	assert(counter == 2);
	return 0;
}
