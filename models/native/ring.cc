/* expect: holds
 * Right: whoever sees the counter sees the slot. */
#define PUBLISH std::memory_order_release
#include "ring.h"
