/* expect: violated kind=assertion preemptions=1
 * Wrong here: the owner looks at the head before it announces that it takes an item. */
#define BUG 1
#include "wsq.h"
