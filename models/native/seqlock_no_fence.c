/* expect: violated kind=assertion stale=1 preemptions=1
 * expect --memory sc: holds
 * Wrong: the writer comes in between the two values, and the second look misses it. */
#define FENCE 0
#include "seqlock.h"
