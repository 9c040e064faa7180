/* expect: holds
 * Right: the owner's fence orders its store to the bottom before its look at the top. */
#define TAKE memory_order_seq_cst
#include "chase_lev.h"
