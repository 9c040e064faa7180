/* Peterson's filter lock of N processes, each of which compares itself with one other after the other: many states, in wide levels,
 * which a graphics card is measured with. Each statement is a step of its own, and variables keep their last values:
 *
 *     preempt check peterson_steps.pml -D N=3 --por off --no-merge --no-reset --no-hide
 *
 *     N        states          steps
 *     2           416            800
 *     3        30,686         85,862
 *     4     3,539,996     13,040,836
 *     5   543,500,128  2,494,689,718
 *
 * The numbers are those of a program written by hand for this algorithm alone. */

#ifndef N
#define N 5
#endif

byte level[N];
byte last[N];
byte inside;

active [N] proctype process()
{
	byte mine, other;

	do
	:: mine = 1;
	   do
	   :: mine < N ->
	      level[_pid] = mine;
	      last[mine] = _pid;
	      other = 0;
	      do
	      :: other < N && (other == _pid || level[other] < mine || last[mine] != _pid) -> other++
	      :: other >= N -> break
	      od;
	      mine++
	   :: mine >= N -> break
	   od;
	   inside++;
	   assert(inside == 1);
	   inside--;
	   skip;
	   level[_pid] = 0
	od
}
