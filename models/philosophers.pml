/* expect: violated kind=invalid_end_state preemptions=1
 * Dining philosophers who all take their left fork first. Once everybody holds one fork, nobody
 * ever gets the second: a deadlock.
 *
 * However many sit at the table, one preemption is enough: the first is interrupted with one fork in
 * hand, its neighbour takes a fork and has to wait for the other, so the next one gets its turn for
 * free, and so on around the table. Try -D N=8. */

#ifndef N
#define N 3
#endif

bool taken[N];          /* fork i lies between philosophers i and i - 1 */

active [N] proctype philosopher()
{
	byte left = _pid;
	byte right = (_pid + 1) % N;

	do
	:: atomic { !taken[left] -> taken[left] = true };
	   atomic { !taken[right] -> taken[right] = true };
	   /* eats */
	   taken[right] = false;
	   taken[left] = false
	od
}
