/* Every function about threads that POSIX, C11 and the GNU C library declare: what a program can see of it, or that it is
   refused. `WORKS(name, outcomes)` is a test that holds and of which exactly these outcomes can be reached, in some execution
   each; `REFUSED(name, function)` ends without a verdict, with a sentence that names the function. The test `language.rs`
   compares the names in this file with the headers. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static unsigned failing;

/* The execution ends so: a failure if the bit of this outcome is set. */
static void outcome(int which) { assert(which >= 0 && which < 32 && !(failing >> which & 1)); }

#define WORKS(name, outcomes) static void name(void)
#define REFUSED(name, function) static void name(void)
#define OK(call) assert((call) == 0)

typedef void *(*routine)(void *);
static atomic_int x, y;
static int plain;

static pthread_t start(routine work) { pthread_t t; OK(pthread_create(&t, NULL, work, NULL)); return t; }
static void finish(pthread_t t) { OK(pthread_join(t, NULL)); }
static struct timespec later(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); t.tv_nsec += 1000000; if (t.tv_nsec >= 1000000000) { t.tv_nsec -= 1000000000; t.tv_sec++; } return t; }

/* Threads */

static void *stores(void *p) { x = 1; return p; }

WORKS(create_and_join, "1 2") {
  /* pthread_create pthread_join */
  pthread_t t = start(stores);
  outcome(x ? 1 : 2);
  finish(t);
  assert(x == 1);
}

WORKS(results, "1") {
  /* pthread_join pthread_exit pthread_self pthread_equal */
  pthread_t t; void *result;
  OK(pthread_create(&t, NULL, stores, &plain)); OK(pthread_join(t, &result));
  assert(result == &plain && pthread_equal(pthread_self(), pthread_self()) && !pthread_equal(t, pthread_self()));
  outcome(1);
}

static void *leaves(void *p) { x = 1; pthread_exit(&plain); return p; }
WORKS(exit_of_a_thread, "1") {
  /* pthread_exit */
  void *result; pthread_t t = start(leaves);
  OK(pthread_join(t, &result)); assert(result == &plain); outcome(1);
}

static void *outlives(void *p) { outcome(1); return p; }
WORKS(exit_of_main, "1") {
  /* pthread_exit: the other thread goes on */
  start(outlives); pthread_exit(NULL);
}

WORKS(detached, "1 2") {
  /* pthread_detach: the thread may run before the end of main, or not at all */
  pthread_t t = start(stores); OK(pthread_detach(t)); outcome(x ? 1 : 2);
}

WORKS(timed_join, "1 2") {
  /* pthread_timedjoin_np */
  pthread_t t = start(stores); struct timespec at = later(CLOCK_REALTIME);
  int e = pthread_timedjoin_np(t, NULL, &at);
  if (e) { assert(e == ETIMEDOUT); outcome(1); finish(t); } else outcome(2);
}

WORKS(clock_join, "1 2") {
  /* pthread_clockjoin_np */
  pthread_t t = start(stores); struct timespec at = later(CLOCK_MONOTONIC);
  int e = pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &at);
  if (e) { assert(e == ETIMEDOUT); outcome(1); finish(t); } else outcome(2);
}

REFUSED(try_join, "pthread_tryjoin_np") { pthread_t t = start(stores); pthread_tryjoin_np(t, NULL); }
REFUSED(cancel, "pthread_cancel") { pthread_t t = start(stores); pthread_cancel(t); finish(t); }

static void *cannot_be_cancelled(void *p) {
  int old;
  OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old)); assert(old == PTHREAD_CANCEL_ENABLE);
  OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old)); assert(old == PTHREAD_CANCEL_DEFERRED);
  pthread_testcancel(); x = 1; return p;
}
WORKS(no_cancellation, "1") {
  /* pthread_setcancelstate pthread_setcanceltype pthread_testcancel: nothing is ever cancelled */
  finish(start(cannot_be_cancelled)); outcome(x);
}

static void *adds(void *p) { x++; return p; }
WORKS(yields, "1 2") {
  /* pthread_yield sched_yield */
  pthread_t t = start(adds);
  while (!x && !y) { sched_yield(); y = 1; }
  outcome(x ? 1 : 2); finish(t);
}

WORKS(names, "1") {
  /* pthread_setname_np pthread_getname_np */
  char name[16]; pthread_t t = start(adds);
  OK(pthread_setname_np(pthread_self(), "main")); OK(pthread_getname_np(pthread_self(), name, sizeof name));
  assert(!strcmp(name, "main")); finish(t); outcome(1);
}

WORKS(attributes, "1") {
  /* pthread_attr_init pthread_attr_destroy pthread_attr_setdetachstate pthread_attr_getdetachstate pthread_attr_setstacksize
     pthread_attr_getstacksize pthread_attr_setguardsize pthread_attr_getguardsize pthread_attr_setscope pthread_attr_getscope
     pthread_attr_setinheritsched pthread_attr_getinheritsched pthread_attr_setschedpolicy pthread_attr_getschedpolicy
     pthread_attr_setschedparam pthread_attr_getschedparam pthread_attr_setaffinity_np pthread_attr_getaffinity_np
     pthread_attr_setsigmask_np pthread_attr_getsigmask_np */
  pthread_attr_t a; int value; size_t size; struct sched_param p = {0}; cpu_set_t set; sigset_t mask; pthread_t t;
  OK(pthread_attr_init(&a));
  OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_JOINABLE)); OK(pthread_attr_getdetachstate(&a, &value)); assert(value == PTHREAD_CREATE_JOINABLE);
  OK(pthread_attr_setstacksize(&a, 1 << 20)); OK(pthread_attr_getstacksize(&a, &size)); assert(size == 1 << 20);
  OK(pthread_attr_setguardsize(&a, 4096)); OK(pthread_attr_getguardsize(&a, &size)); assert(size == 4096);
  OK(pthread_attr_setscope(&a, PTHREAD_SCOPE_SYSTEM)); OK(pthread_attr_getscope(&a, &value));
  OK(pthread_attr_setinheritsched(&a, PTHREAD_INHERIT_SCHED)); OK(pthread_attr_getinheritsched(&a, &value));
  OK(pthread_attr_setschedpolicy(&a, SCHED_OTHER)); OK(pthread_attr_getschedpolicy(&a, &value)); assert(value == SCHED_OTHER);
  OK(pthread_attr_setschedparam(&a, &p)); OK(pthread_attr_getschedparam(&a, &p));
  CPU_ZERO(&set); CPU_SET(0, &set);
  OK(pthread_attr_setaffinity_np(&a, sizeof set, &set)); OK(pthread_attr_getaffinity_np(&a, sizeof set, &set));
  sigemptyset(&mask);
  OK(pthread_attr_setsigmask_np(&a, &mask)); OK(pthread_attr_getsigmask_np(&a, &mask));
  OK(pthread_create(&t, &a, adds, NULL)); finish(t); OK(pthread_attr_destroy(&a)); outcome(x);
}

WORKS(detached_from_the_start, "1 2") {
  /* pthread_attr_setdetachstate */
  pthread_attr_t a; pthread_t t;
  OK(pthread_attr_init(&a)); OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
  OK(pthread_create(&t, &a, adds, NULL)); outcome(x ? 1 : 2);
}

static char stack[1 << 17] __attribute__((aligned(4096)));
static void *looks_at_its_stack(void *p) {
  pthread_attr_t a; void *at; size_t size; char here;
  OK(pthread_getattr_np(pthread_self(), &a)); OK(pthread_attr_getstack(&a, &at, &size));
  assert(size > 0 && (char *)at <= &here && &here < (char *)at + size);
  OK(pthread_attr_destroy(&a)); x = 1; return p;
}
WORKS(stacks, "1") {
  /* pthread_attr_setstack pthread_attr_getstack pthread_attr_setstackaddr pthread_attr_getstackaddr pthread_getattr_np */
  pthread_attr_t a; pthread_t t; void *at; size_t size;
  OK(pthread_attr_init(&a)); OK(pthread_attr_setstack(&a, stack, sizeof stack)); OK(pthread_attr_getstack(&a, &at, &size));
  assert(at == stack && size == sizeof stack);
  OK(pthread_create(&t, &a, looks_at_its_stack, NULL)); finish(t); finish(start(looks_at_its_stack)); outcome(1);
}

WORKS(default_attributes, "1") {
  /* pthread_setattr_default_np pthread_getattr_default_np */
  pthread_attr_t a; size_t size;
  OK(pthread_getattr_default_np(&a)); OK(pthread_attr_getstacksize(&a, &size)); assert(size > 0);
  OK(pthread_setattr_default_np(&a)); finish(start(adds)); outcome(1);
}

WORKS(scheduling, "1") {
  /* pthread_getschedparam pthread_setschedparam pthread_setschedprio pthread_getconcurrency pthread_setconcurrency
     pthread_getaffinity_np pthread_setaffinity_np pthread_getcpuclockid */
  int policy; struct sched_param p; cpu_set_t set; clockid_t clock;
  OK(pthread_getschedparam(pthread_self(), &policy, &p)); OK(pthread_setschedparam(pthread_self(), policy, &p));
  OK(pthread_setschedprio(pthread_self(), p.sched_priority));
  OK(pthread_setconcurrency(2)); assert(pthread_getconcurrency() == 2);
  OK(pthread_getaffinity_np(pthread_self(), sizeof set, &set)); OK(pthread_setaffinity_np(pthread_self(), sizeof set, &set));
  OK(pthread_getcpuclockid(pthread_self(), &clock)); outcome(1);
}

static void *schedules(void *p) {
  int policy; struct sched_param param; cpu_set_t set;
  OK(pthread_getschedparam(pthread_self(), &policy, &param)); OK(pthread_setschedparam(pthread_self(), policy, &param));
  OK(pthread_getaffinity_np(pthread_self(), sizeof set, &set)); OK(pthread_setaffinity_np(pthread_self(), sizeof set, &set));
  x = 1; return p;
}
WORKS(scheduling_of_threads, "1") {
  /* pthread_getschedparam pthread_setaffinity_np and their kin, of a thread that is not the first, and from outside of it */
  pthread_t t = start(schedules); cpu_set_t set;
  OK(pthread_getaffinity_np(t, sizeof set, &set)); finish(t); outcome(x);
}

REFUSED(fork_handlers, "fork") {
  /* pthread_atfork */
  OK(pthread_atfork(NULL, NULL, NULL)); fork();
}

/* Thread-local values and cleanup */

static pthread_key_t key;
static void destroy(void *value) { assert(value == &plain); y++; }
static void *has_a_value(void *p) { assert(!pthread_getspecific(key)); OK(pthread_setspecific(key, &plain)); assert(pthread_getspecific(key) == &plain); return p; }
WORKS(keys, "2") {
  /* pthread_key_create pthread_setspecific pthread_getspecific pthread_key_delete */
  OK(pthread_key_create(&key, destroy));
  pthread_t a = start(has_a_value), b = start(has_a_value); finish(a); finish(b);
  OK(pthread_key_delete(key)); outcome(y);
}

static void clean(void *value) { x += (int)(long)value; }
static void *cleans(void *p) {
  pthread_cleanup_push(clean, (void *)1); pthread_cleanup_push(clean, (void *)2); pthread_cleanup_push(clean, (void *)4);
  pthread_cleanup_pop(0); pthread_cleanup_pop(1); assert(x == 2); pthread_exit(p); pthread_cleanup_pop(0);
}
WORKS(cleanup, "3") { /* pthread_cleanup_push pthread_cleanup_pop */ finish(start(cleans)); outcome(x); }

static _Thread_local int own = 7;
static void *has_its_own(void *p) { assert(own == 7); own = 8; x = own; return p; }
WORKS(thread_local_variables, "1") { pthread_t t = start(has_its_own); own++; finish(t); assert(own == 8 && x == 8); outcome(1); }

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void first(void) { plain++; }
static void *initialises(void *p) { OK(pthread_once(&once, first)); assert(plain == 1); return p; }
WORKS(once_only, "1") { /* pthread_once */ pthread_t a = start(initialises), b = start(initialises); finish(a); finish(b); outcome(plain); }

static void is_signalled(int signal) { assert(signal == SIGUSR1); y++; }
WORKS(signals_to_itself, "3") {
  /* raise, pthread_kill, kill, pthread_sigmask */
  sigset_t mask, old; struct sigaction action = {.sa_handler = is_signalled};
  OK(sigaction(SIGUSR1, &action, NULL)); OK(raise(SIGUSR1)); assert(y == 1); OK(pthread_kill(pthread_self(), SIGUSR1)); assert(y == 2);
  sigemptyset(&mask); sigaddset(&mask, SIGUSR1); OK(pthread_sigmask(SIG_BLOCK, &mask, &old)); OK(raise(SIGUSR1)); assert(y == 2);
  OK(pthread_sigmask(SIG_SETMASK, &old, NULL)); outcome(y);
}
REFUSED(signals_to_others, "pthread_kill") { pthread_t t = start(stores); pthread_kill(t, SIGUSR1); finish(t); }

/* Mutexes */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *adds_locked(void *p) { OK(pthread_mutex_lock(&mutex)); plain++; OK(pthread_mutex_unlock(&mutex)); return p; }
WORKS(mutexes, "1 2") {
  /* pthread_mutex_lock pthread_mutex_unlock */
  pthread_t t = start(adds_locked); OK(pthread_mutex_lock(&mutex)); int seen = plain++; OK(pthread_mutex_unlock(&mutex));
  finish(t); assert(plain == 2); outcome(seen + 1);
}

WORKS(trying, "1 2") {
  /* pthread_mutex_trylock */
  pthread_t t = start(adds_locked); int e = pthread_mutex_trylock(&mutex);
  if (e) { assert(e == EBUSY); outcome(1); } else { outcome(2); OK(pthread_mutex_unlock(&mutex)); }
  finish(t);
}

static void *holds_on(void *p) { OK(pthread_mutex_lock(&mutex)); while (!x) sched_yield(); OK(pthread_mutex_unlock(&mutex)); return p; }
WORKS(timed_locks, "1 2") {
  /* pthread_mutex_timedlock pthread_mutex_clocklock */
  pthread_t t = start(holds_on); struct timespec real = later(CLOCK_REALTIME), steady = later(CLOCK_MONOTONIC);
  int e = pthread_mutex_timedlock(&mutex, &real), f = 0;
  if (e) { assert(e == ETIMEDOUT); f = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &steady); }
  if (!e || !f) OK(pthread_mutex_unlock(&mutex));
  outcome(!e ? 1 : f ? 2 : 3); /* it does not give the lock back before it is told to */
  x = 1; finish(t);
}

WORKS(recursive, "1") {
  /* pthread_mutexattr_init pthread_mutexattr_settype pthread_mutexattr_gettype pthread_mutexattr_destroy pthread_mutex_init
     pthread_mutex_destroy */
  pthread_mutexattr_t a; pthread_mutex_t m; int type;
  OK(pthread_mutexattr_init(&a)); OK(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE)); OK(pthread_mutexattr_gettype(&a, &type));
  assert(type == PTHREAD_MUTEX_RECURSIVE); OK(pthread_mutex_init(&m, &a)); OK(pthread_mutexattr_destroy(&a));
  OK(pthread_mutex_lock(&m)); OK(pthread_mutex_lock(&m)); OK(pthread_mutex_unlock(&m)); OK(pthread_mutex_unlock(&m)); OK(pthread_mutex_destroy(&m)); outcome(1);
}

WORKS(checked, "1") {
  /* pthread_mutexattr_settype: error checking */
  pthread_mutexattr_t a; pthread_mutex_t m;
  OK(pthread_mutexattr_init(&a)); OK(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK)); OK(pthread_mutex_init(&m, &a));
  assert(pthread_mutex_unlock(&m) == EPERM); OK(pthread_mutex_lock(&m)); assert(pthread_mutex_lock(&m) == EDEADLK); OK(pthread_mutex_unlock(&m)); outcome(1);
}

static pthread_mutex_t robust;
static void *dies(void *p) { OK(pthread_mutex_lock(&robust)); return p; }
WORKS(robust_mutexes, "1") {
  /* pthread_mutexattr_setrobust pthread_mutexattr_getrobust pthread_mutexattr_setrobust_np pthread_mutexattr_getrobust_np
     pthread_mutex_consistent pthread_mutex_consistent_np */
  pthread_mutexattr_t a; int kind;
  OK(pthread_mutexattr_init(&a)); OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST)); OK(pthread_mutexattr_getrobust(&a, &kind));
  assert(kind == PTHREAD_MUTEX_ROBUST); OK(pthread_mutex_init(&robust, &a)); finish(start(dies));
  assert(pthread_mutex_lock(&robust) == EOWNERDEAD); OK(pthread_mutex_consistent(&robust)); OK(pthread_mutex_unlock(&robust));
  finish(start(dies)); assert(pthread_mutex_lock(&robust) == EOWNERDEAD); OK(pthread_mutex_unlock(&robust));
  assert(pthread_mutex_lock(&robust) == ENOTRECOVERABLE); outcome(1);
}

WORKS(mutex_attributes, "1") {
  /* pthread_mutexattr_setpshared pthread_mutexattr_getpshared pthread_mutexattr_setprotocol pthread_mutexattr_getprotocol */
  pthread_mutexattr_t a; pthread_mutex_t m; int value;
  OK(pthread_mutexattr_init(&a)); OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED)); OK(pthread_mutexattr_getpshared(&a, &value));
  assert(value == PTHREAD_PROCESS_SHARED); OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT)); OK(pthread_mutexattr_getprotocol(&a, &value));
  OK(pthread_mutex_init(&m, &a)); OK(pthread_mutex_lock(&m)); OK(pthread_mutex_unlock(&m)); outcome(1);
}

WORKS(priority_ceilings, "1") {
  /* pthread_mutexattr_setprioceiling pthread_mutexattr_getprioceiling pthread_mutex_setprioceiling pthread_mutex_getprioceiling */
  pthread_mutexattr_t a; pthread_mutex_t m; int value = 0;
  OK(pthread_mutexattr_init(&a)); OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT)); OK(pthread_mutexattr_setprioceiling(&a, 10));
  OK(pthread_mutexattr_getprioceiling(&a, &value)); assert(value == 10); OK(pthread_mutex_init(&m, &a));
  OK(pthread_mutex_getprioceiling(&m, &value)); assert(value == 10); OK(pthread_mutex_setprioceiling(&m, 11, NULL)); outcome(1);
}

static pthread_spinlock_t spin;
static void *spins(void *p) { OK(pthread_spin_lock(&spin)); plain++; OK(pthread_spin_unlock(&spin)); return p; }
WORKS(spinlocks, "1 2") {
  /* pthread_spin_init pthread_spin_lock pthread_spin_trylock pthread_spin_unlock pthread_spin_destroy */
  OK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE)); pthread_t t = start(spins); int e = pthread_spin_trylock(&spin);
  if (e) { assert(e == EBUSY); outcome(1); } else { plain++; OK(pthread_spin_unlock(&spin)); outcome(2); }
  finish(t); OK(pthread_spin_destroy(&spin));
}

/* Conditions */

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static void *signals(void *p) { OK(pthread_mutex_lock(&mutex)); plain = 1; OK(pthread_cond_signal(&condition)); OK(pthread_mutex_unlock(&mutex)); return p; }
WORKS(conditions, "1 2") {
  /* pthread_cond_wait pthread_cond_signal */
  int waits = 0; pthread_t t = start(signals); OK(pthread_mutex_lock(&mutex));
  while (!plain) { waits++; OK(pthread_cond_wait(&condition, &mutex)); }
  OK(pthread_mutex_unlock(&mutex)); finish(t); outcome(waits + 1);
}

static void *waits(void *p) { OK(pthread_mutex_lock(&mutex)); while (!plain) OK(pthread_cond_wait(&condition, &mutex)); OK(pthread_mutex_unlock(&mutex)); return p; }
WORKS(broadcasts, "1") {
  /* pthread_cond_init pthread_cond_broadcast pthread_cond_destroy pthread_condattr_init pthread_condattr_setclock
     pthread_condattr_getclock pthread_condattr_setpshared pthread_condattr_getpshared pthread_condattr_destroy */
  pthread_condattr_t c; clockid_t clock; int shared;
  OK(pthread_condattr_init(&c)); OK(pthread_condattr_setclock(&c, CLOCK_MONOTONIC)); OK(pthread_condattr_getclock(&c, &clock)); assert(clock == CLOCK_MONOTONIC);
  OK(pthread_condattr_setpshared(&c, PTHREAD_PROCESS_PRIVATE)); OK(pthread_condattr_getpshared(&c, &shared));
  OK(pthread_cond_init(&condition, &c)); OK(pthread_condattr_destroy(&c));
  pthread_t a = start(waits), b = start(waits);
  OK(pthread_mutex_lock(&mutex)); plain = 1; OK(pthread_mutex_unlock(&mutex)); OK(pthread_cond_broadcast(&condition));
  finish(a); finish(b); OK(pthread_cond_destroy(&condition)); outcome(1);
}

WORKS(timed_conditions, "1 2 3") {
  /* pthread_cond_timedwait pthread_cond_clockwait */
  struct timespec real = later(CLOCK_REALTIME), steady = later(CLOCK_MONOTONIC); int e = 0, f = 0; pthread_t t = start(signals);
  OK(pthread_mutex_lock(&mutex));
  if (!plain) { e = pthread_cond_timedwait(&condition, &mutex, &real); assert(e == 0 || e == ETIMEDOUT); }
  if (!plain) { f = pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &steady); assert(f == 0 || f == ETIMEDOUT); }
  outcome(!e ? 1 : !f ? 2 : 3);
  OK(pthread_mutex_unlock(&mutex)); finish(t);
}

/* Read-write locks and barriers */

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static void *reads(void *p) { OK(pthread_rwlock_rdlock(&lock)); x++; while (x < 2) sched_yield(); OK(pthread_rwlock_unlock(&lock)); return p; }
WORKS(readers, "1") { /* pthread_rwlock_rdlock pthread_rwlock_unlock: two at the same time */ pthread_t a = start(reads), b = start(reads); finish(a); finish(b); outcome(1); }

static void *writes(void *p) { OK(pthread_rwlock_wrlock(&lock)); plain++; plain++; OK(pthread_rwlock_unlock(&lock)); return p; }
WORKS(writers, "1 3") {
  /* pthread_rwlock_wrlock */
  pthread_t t = start(writes); OK(pthread_rwlock_rdlock(&lock)); outcome(plain + 1); OK(pthread_rwlock_unlock(&lock)); finish(t);
}

WORKS(trying_to_read_and_write, "1 2 3 4") {
  /* pthread_rwlock_init pthread_rwlock_tryrdlock pthread_rwlock_trywrlock pthread_rwlock_destroy pthread_rwlockattr_init
     pthread_rwlockattr_setkind_np pthread_rwlockattr_getkind_np pthread_rwlockattr_setpshared pthread_rwlockattr_getpshared
     pthread_rwlockattr_destroy */
  pthread_rwlockattr_t r; int value;
  OK(pthread_rwlockattr_init(&r)); OK(pthread_rwlockattr_setkind_np(&r, PTHREAD_RWLOCK_PREFER_READER_NP)); OK(pthread_rwlockattr_getkind_np(&r, &value));
  assert(value == PTHREAD_RWLOCK_PREFER_READER_NP); OK(pthread_rwlockattr_setpshared(&r, PTHREAD_PROCESS_PRIVATE)); OK(pthread_rwlockattr_getpshared(&r, &value));
  OK(pthread_rwlock_init(&lock, &r)); OK(pthread_rwlockattr_destroy(&r)); pthread_t t = start(writes);
  int e = pthread_rwlock_tryrdlock(&lock); if (!e) OK(pthread_rwlock_unlock(&lock));
  int f = pthread_rwlock_trywrlock(&lock); if (!f) OK(pthread_rwlock_unlock(&lock));
  outcome(1 + 2 * !!e + !!f); finish(t); OK(pthread_rwlock_destroy(&lock));
}

WORKS(timed_readers_and_writers, "1 2") {
  /* pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock */
  struct timespec real = later(CLOCK_REALTIME), steady = later(CLOCK_MONOTONIC); pthread_t t = start(writes);
  int e = pthread_rwlock_timedrdlock(&lock, &real); if (!e) OK(pthread_rwlock_unlock(&lock)); else assert(e == ETIMEDOUT);
  finish(t);
  OK(pthread_rwlock_timedwrlock(&lock, &real)); OK(pthread_rwlock_unlock(&lock));
  OK(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &steady)); OK(pthread_rwlock_unlock(&lock));
  OK(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &steady)); OK(pthread_rwlock_unlock(&lock));
  outcome(e ? 1 : 2);
}

static pthread_barrier_t barrier;
static void *meets(void *p) { int e = pthread_barrier_wait(&barrier); if (e == PTHREAD_BARRIER_SERIAL_THREAD) x++; else { OK(e); y++; } return p; }
WORKS(barriers, "1") {
  /* pthread_barrier_init pthread_barrier_wait pthread_barrier_destroy pthread_barrierattr_init pthread_barrierattr_setpshared
     pthread_barrierattr_getpshared pthread_barrierattr_destroy */
  pthread_barrierattr_t b; int value;
  OK(pthread_barrierattr_init(&b)); OK(pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_PRIVATE)); OK(pthread_barrierattr_getpshared(&b, &value));
  OK(pthread_barrier_init(&barrier, &b, 3)); OK(pthread_barrierattr_destroy(&b));
  pthread_t s = start(meets), t = start(meets); meets(NULL); finish(s); finish(t); assert(x == 1 && y == 2); OK(pthread_barrier_destroy(&barrier)); outcome(1);
}

/* Semaphores */

static sem_t semaphore;
static void *posts(void *p) { plain = 1; OK(sem_post(&semaphore)); return p; }
WORKS(semaphores, "1") {
  /* sem_init sem_wait sem_post sem_getvalue sem_destroy */
  int value; OK(sem_init(&semaphore, 0, 0)); pthread_t t = start(posts); OK(sem_wait(&semaphore)); assert(plain == 1);
  OK(sem_getvalue(&semaphore, &value)); assert(value == 0); finish(t); OK(sem_destroy(&semaphore)); outcome(1);
}

WORKS(trying_semaphores, "1 2") {
  /* sem_trywait */
  OK(sem_init(&semaphore, 0, 0)); pthread_t t = start(posts);
  if (sem_trywait(&semaphore)) { assert(errno == EAGAIN); outcome(1); } else { assert(plain == 1); outcome(2); }
  finish(t);
}

WORKS(timed_semaphores, "1 2 3") {
  /* sem_timedwait sem_clockwait */
  struct timespec real = later(CLOCK_REALTIME), steady = later(CLOCK_MONOTONIC); OK(sem_init(&semaphore, 0, 0)); pthread_t t = start(posts);
  int e = sem_timedwait(&semaphore, &real), f = 0;
  if (e) { assert(errno == ETIMEDOUT); f = sem_clockwait(&semaphore, CLOCK_MONOTONIC, &steady); }
  outcome(!e ? 1 : !f ? 2 : 3); finish(t);
}

REFUSED(named_semaphores, "sem_open") {
  /* sem_close sem_unlink */
  sem_t *s = sem_open("/of-a-test", O_CREAT, 0600, 1); sem_close(s); sem_unlink("/of-a-test");
}

/* C11 */

static int returns_five(void *p) { x = 1; return p ? 6 : 5; }
WORKS(c11_threads, "1 2") {
  /* thrd_create thrd_join thrd_current thrd_equal */
  thrd_t t; int result; assert(thrd_create(&t, returns_five, NULL) == thrd_success); outcome(x ? 1 : 2);
  assert(thrd_join(t, &result) == thrd_success && result == 5 && thrd_equal(thrd_current(), thrd_current()));
}

static int leaves_with_six(void *p) { thrd_yield(); thrd_sleep(&(struct timespec){.tv_nsec = 1000}, NULL); x = 1; thrd_exit(6); return p != NULL; }
WORKS(c11_exits, "1 2") {
  /* thrd_exit thrd_yield thrd_sleep thrd_detach */
  thrd_t t, u; int result; assert(thrd_create(&t, leaves_with_six, NULL) == thrd_success); assert(thrd_join(t, &result) == thrd_success && result == 6);
  x = 0; assert(thrd_create(&u, returns_five, NULL) == thrd_success); assert(thrd_detach(u) == thrd_success); outcome(x ? 1 : 2);
}

static mtx_t m; static cnd_t c;
static int readies(void *p) { mtx_lock(&m); plain++; mtx_unlock(&m); cnd_signal(&c); cnd_broadcast(&c); return p != NULL; }
WORKS(c11_conditions, "1 2") {
  /* mtx_init mtx_lock mtx_unlock mtx_destroy cnd_init cnd_wait cnd_signal cnd_broadcast cnd_destroy */
  int waits = 0; thrd_t t; assert(mtx_init(&m, mtx_plain) == thrd_success && cnd_init(&c) == thrd_success); thrd_create(&t, readies, NULL);
  mtx_lock(&m); while (!plain) { waits = 1; cnd_wait(&c, &m); } mtx_unlock(&m); thrd_join(t, NULL); mtx_destroy(&m); cnd_destroy(&c); outcome(1 + waits);
}

WORKS(c11_timed, "1 2 3 4") {
  /* mtx_trylock mtx_timedlock cnd_timedwait */
  struct timespec at = later(CLOCK_REALTIME); thrd_t t; mtx_init(&m, mtx_timed | mtx_recursive); cnd_init(&c); thrd_create(&t, readies, NULL);
  int busy = mtx_trylock(&m) == thrd_busy;
  if (busy && mtx_timedlock(&m, &at) != thrd_success) { outcome(1); thrd_join(t, NULL); return; }
  if (!plain) { int e = cnd_timedwait(&c, &m, &at); assert(e == thrd_success || e == thrd_timedout); outcome(e == thrd_success ? 2 : 3); } else outcome(4);
  mtx_unlock(&m); thrd_join(t, NULL);
}

static tss_t slot; static once_flag flag = ONCE_FLAG_INIT;
static int uses_a_slot(void *p) { call_once(&flag, first); assert(plain == 1 && !tss_get(slot)); tss_set(slot, &plain); return tss_get(slot) != &plain || p != NULL; }
WORKS(c11_slots, "2") {
  /* tss_create tss_set tss_get tss_delete call_once */
  thrd_t a, b; int one, two; tss_create(&slot, destroy); thrd_create(&a, uses_a_slot, NULL); thrd_create(&b, uses_a_slot, NULL);
  thrd_join(a, &one); thrd_join(b, &two); assert(!one && !two); tss_delete(slot); outcome(y);
}

#include "threads.cases"

int main(int count, char **words) {
  if (count < 2) return 2;
  failing = count > 2 ? strtoul(words[2], 0, 10) : 0;
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
    if (!strcmp(cases[i].name, words[1])) { cases[i].run(); return 0; }
  return 2;
}
