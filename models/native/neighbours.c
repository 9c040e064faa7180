/* expect: holds
 * A plain number beside an atomic one in the same eight bytes: neighbours do not race. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static struct {
	atomic_int shared;
	int own;
} pair __attribute__((aligned(8)));

static void *work(void *unused)
{
	(void)unused;
	pair.own++;
	atomic_fetch_add(&pair.shared, 1);
	pair.own++;
	return NULL;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, work, NULL);
	atomic_store(&pair.shared, 5);
	pthread_join(thread, NULL);
	assert(pair.own == 2);
	return 0;
}
