// The library's own mutexes, conditions and thread-local values (not those of the C library).
#include "tinycthread.h"
#include <assert.h>

static mtx_t lock;
static cnd_t changed;
static tss_t key;
static int ready, ended;

static void end(void *value) { (void)value; mtx_lock(&lock); ended++; mtx_unlock(&lock); }

static int work(void *unused) {
  (void)unused;
  tss_set(key, &ready);
  mtx_lock(&lock);
  ready = 1;
  cnd_signal(&changed);
  mtx_unlock(&lock);
  return 5;
}

int main(void) {
  thrd_t thread;
  int result;
  mtx_init(&lock, mtx_plain);
  cnd_init(&changed);
  tss_create(&key, end);
  thrd_create(&thread, work, 0);
  mtx_lock(&lock);
  while (!ready) cnd_wait(&changed, &lock);
  mtx_unlock(&lock);
  thrd_join(thread, &result);
  assert(result == 5 && ended == 1);
  return 0;
}
