/* expect: holds
 * C11's own threads, mutexes, conditions and thread-specific storage. */
#include <assert.h>
#include <stdlib.h>
#include <threads.h>

static mtx_t lock;
static cnd_t changed;
static tss_t key;
static once_flag once = ONCE_FLAG_INIT;
static int turn, made;

static void make(void)
{
	made++;
}

static int player(void *number)
{
	int me = *(int *)number;
	tss_set(key, number);
	call_once(&once, make);
	mtx_lock(&lock);
	while (turn != me)
		cnd_wait(&changed, &lock);
	turn = 1 - me;
	cnd_broadcast(&changed);
	mtx_unlock(&lock);
	assert(made == 1);
	assert(tss_get(key) == number);
	return me;
}

int main(void)
{
	static int numbers[2] = { 0, 1 };
	thrd_t threads[2];
	int result;
	mtx_init(&lock, mtx_plain);
	cnd_init(&changed);
	tss_create(&key, NULL);
	for (int i = 0; i < 2; i++)
		thrd_create(&threads[i], player, &numbers[i]);
	for (int i = 0; i < 2; i++) {
		thrd_join(threads[i], &result);
		assert(result == i);
	}
	mtx_destroy(&lock);
	cnd_destroy(&changed);
	tss_delete(key);
	return 0;
}
