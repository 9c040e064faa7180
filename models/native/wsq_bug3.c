/* expect: violated kind=assertion preemptions=2
 * Wrong here: two thieves steal without a lock between them. */
#define BUG 3
#include "wsq.h"
