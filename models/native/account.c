/* expect: violated kind=assertion preemptions=1
 * Two deposits: each reads the balance in one critical section and writes it in another, so one of
 * them is lost when they overlap. Nothing races: every access is under the lock. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static void *deposit(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	int seen = balance;
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
	balance = seen + 1;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	pthread_create(&first, NULL, deposit, NULL);
	pthread_create(&second, NULL, deposit, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	assert(balance == 2);
	return 0;
}
