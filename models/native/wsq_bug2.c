/* expect: violated kind=assertion preemptions=2
 * Wrong here: the thief looks at the tail before it announces that it takes an item. */
#define BUG 2
#include "wsq.h"
