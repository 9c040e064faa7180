/* expect: holds
 * options: -D N=3 --ltl moves_on
 * Peterson's algorithm for N processes (2 to 5): nobody waits for ever.
 *
 * A process climbs N - 1 levels. At each it says how far it is (`level`) and lets others pass
 * (`last`), then waits until nobody else is as far, or somebody came after it. The property is about
 * process 0: again and again it can move. No fairness is needed: whoever keeps running lets it in. */

#ifndef N
#define N 5
#endif

byte level[N];
byte last[N];

#if N == 2
#define ALONE(me, mine) (level[1 - me] < mine)
#endif
#define BELOW(other, me, mine) (me == other || level[other] < mine)
#if N == 3
#define ALONE(me, mine) (BELOW(0, me, mine) && BELOW(1, me, mine) && BELOW(2, me, mine))
#endif
#if N == 4
#define ALONE(me, mine) (BELOW(0, me, mine) && BELOW(1, me, mine) && BELOW(2, me, mine) && BELOW(3, me, mine))
#endif
#if N == 5
#define ALONE(me, mine) (BELOW(0, me, mine) && BELOW(1, me, mine) && BELOW(2, me, mine) && BELOW(3, me, mine) && BELOW(4, me, mine))
#endif

active [N] proctype process()
{
	byte mine;

	do
	:: mine = 1;
	   do
	   :: mine < N ->
	      level[_pid] = mine;
	      last[mine] = _pid;
waiting:      (last[mine] != _pid || ALONE(_pid, mine));
	      mine++
	   :: else -> break
	   od;
	   /* the critical section */
	   level[_pid] = 0
	od
}

#define CAN_MOVE (!process[0]@waiting || last[level[0]] != 0 || ALONE(0, level[0]))

ltl moves_on { []<> CAN_MOVE }
