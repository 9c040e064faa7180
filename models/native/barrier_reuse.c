/* expect: holds
 * A barrier that is used twice keeps two rounds apart. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_barrier_t barrier;
static int written[2][2];

static void *work(void *number)
{
	size_t me = (size_t)number;
	for (int round = 0; round < 2; round++) {
		written[round][me] = round + 1;
		pthread_barrier_wait(&barrier);
		assert(written[round][1 - me] == round + 1);
	}
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&first, NULL, work, (void *)0);
	pthread_create(&second, NULL, work, (void *)1);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	pthread_barrier_destroy(&barrier);
	return 0;
}
