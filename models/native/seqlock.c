/* expect: holds
 * Right: the fence keeps the second look at the sequence behind the data. */
#define FENCE 1
#include "seqlock.h"
