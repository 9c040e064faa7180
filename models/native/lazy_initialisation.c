/* expect: violated kind=data_race preemptions=0
 * expect --races off: violated kind=assertion preemptions=1
 * Initialisation on first use without a lock: two threads may both find nothing and both make one. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int *instance;

static void *use(void *unused)
{
	(void)unused;
	if (!instance) {
		int *made = malloc(sizeof *made);
		*made = 7;
		instance = made;
	}
	return instance;
}

int main(void)
{
	pthread_t first, second;
	void *a, *b;
	pthread_create(&first, NULL, use, NULL);
	pthread_create(&second, NULL, use, NULL);
	pthread_join(first, &a);
	pthread_join(second, &b);
	assert(a == b);
	return 0;
}
