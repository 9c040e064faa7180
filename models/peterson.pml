/* expect: holds
 * Peterson's algorithm: mutual exclusion for two processes with nothing but shared variables.
 *
 * A process that wants in says so (`wants`), then politely gives the other one precedence (`turn`).
 * It waits until the other does not want in, or has given precedence back. The order of these two
 * writes matters: peterson_no_turn.pml shows what goes wrong without the second. */

bool wants[2];
byte turn;
byte inside;            /* how many processes are in the critical section */

active [2] proctype process()
{
	byte other = 1 - _pid;

	do
	:: wants[_pid] = true;
	   turn = other;
	   (!wants[other] || turn == _pid);

	   inside++;
	   assert(inside == 1);
	   inside--;

	   wants[_pid] = false
	od
}
