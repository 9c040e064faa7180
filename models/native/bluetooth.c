/* expect: violated kind=assertion preemptions=1
 * A simplified Bluetooth driver, much studied since Qadeer and Wu: a request may enter the driver
 * while another thread stops it. The request looks whether the driver is stopping, and only then
 * counts itself in. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static atomic_int pending = 1; /* requests inside, and one for the driver itself */
static atomic_int stopping, stopped;
static sem_t event; /* nobody is inside any more */

static void leave(void)
{
	if (atomic_fetch_sub(&pending, 1) == 1)
		sem_post(&event);
}

static void *request(void *unused)
{
	(void)unused;
	if (atomic_load(&stopping))
		return NULL;
	atomic_fetch_add(&pending, 1);
	/* inside */
	assert(!atomic_load(&stopped));
	leave();
	return NULL;
}

static void *stopper(void *unused)
{
	(void)unused;
	atomic_store(&stopping, 1);
	leave();
	sem_wait(&event);
	atomic_store(&stopped, 1);
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	sem_init(&event, 0, 0);
	pthread_create(&first, NULL, request, NULL);
	pthread_create(&second, NULL, stopper, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
