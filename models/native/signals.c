/* expect: holds
 * Signals that a thread sends to itself run their handler before the call returns, or when they are unblocked. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void handle(int number)
{
	(void)number;
	handled++;
}

static void *work(void *unused)
{
	sigset_t blocked, before;
	(void)unused;
	/* A thread begins with the mask of the one that made it. */
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	assert(sigismember(&before, SIGUSR2) && !sigismember(&before, SIGUSR1));
	sigfillset(&blocked);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	raise(SIGUSR1);
	assert(handled == 2);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert(handled == 3);
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handle };
	sigset_t blocked;
	pthread_t thread;
	assert(sigaction(SIGUSR1, &action, NULL) == 0);
	raise(SIGUSR1);
	pthread_kill(pthread_self(), SIGUSR1);
	assert(handled == 2);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	signal(SIGUSR1, SIG_IGN);
	kill(getpid(), SIGUSR1);
	assert(handled == 3);
	return 0;
}
