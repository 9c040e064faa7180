/* expect: violated kind=double_free preemptions=1
 * Two owners count themselves out without one indivisible step, and both free. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int owners = 2;
static char *shared;

static void *drop(void *unused)
{
	(void)unused;
	atomic_fetch_sub(&owners, 1);
	if (atomic_load(&owners) == 0)
		free(shared);
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	shared = malloc(10);
	pthread_create(&first, NULL, drop, NULL);
	pthread_create(&second, NULL, drop, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
