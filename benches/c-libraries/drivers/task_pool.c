// Two tasks on a pool of two threads, which is then destroyed gracefully.
#include "threadpool.h"
#include <assert.h>

static int done[2];

static void task(void *at) { *(int *)at = 1; }

int main(void) {
  threadpool_t *pool = threadpool_create(2, 2, 0);
  assert(pool);
  assert(threadpool_add(pool, task, &done[0], 0) == 0);
  assert(threadpool_add(pool, task, &done[1], 0) == 0);
  assert(threadpool_destroy(pool, threadpool_graceful) == 0);
  assert(done[0] && done[1]);
}
