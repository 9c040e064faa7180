/* expect: violated kind=assertion stale=1 preemptions=0
 * expect --memory sc: holds
 * Wrong: with this fence the owner need not see how far the thief has come. */
#define TAKE memory_order_acq_rel
#include "chase_lev.h"
