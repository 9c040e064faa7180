/* expect: violated kind=data_race stale=0 preemptions=0
 * Wrong: the counter says nothing about the slot. */
#define PUBLISH std::memory_order_relaxed
#include "ring.h"
