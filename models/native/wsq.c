/* expect: holds
 * Right: each side announces what it wants before it looks at the other. */
#define BUG 0
#include "wsq.h"
