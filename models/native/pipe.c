/* expect: holds
 * What is written before a byte goes into a pipe is seen by the thread that reads it; the end of the pipe is seen
 * when its last writer has closed it. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static int ends[2];
static int message;

static void *send(void *unused)
{
	(void)unused;
	message = 7;
	assert(write(ends[1], "x", 1) == 1);
	close(ends[1]);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char byte;
	assert(pipe(ends) == 0);
	pthread_create(&thread, NULL, send, NULL);
	assert(read(ends[0], &byte, 1) == 1 && byte == 'x');
	assert(message == 7);
	assert(read(ends[0], &byte, 1) == 0);
	pthread_join(thread, NULL);
	return 0;
}
