/* expect: violated kind=invalid_end_state preemptions=1
 * Peterson's algorithm without its `turn`: each process announces itself and then waits for the
 * other to go away.
 *
 * Mutual exclusion survives, but one preemption at the wrong place, right after the first
 * announcement, makes both wait for each other forever. */

bool wants[2];
byte inside;            /* how many processes are in the critical section */

active [2] proctype process()
{
	byte other = 1 - _pid;

	do
	:: wants[_pid] = true;
	   !wants[other];

	   inside++;
	   assert(inside == 1);
	   inside--;

	   wants[_pid] = false
	od
}
