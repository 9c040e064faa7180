/* expect: violated kind=acceptance_cycle preemptions=0
 * options: --ltl north_served
 * The crossing of traffic_light.pml with a controller that serves whoever it likes. Both sides are
 * still safe, but the north may wait forever while one car after the other comes from the east:
 * an endless execution, shown as a way to a cycle and the cycle itself. */

mtype = { red, green };

mtype north = red;
mtype east = red;

active proctype controller()
{
	do
	:: north = green; north = red
	:: east = green; east = red
	od
}

ltl never_both   { [] !(north == green && east == green) }
ltl north_served { [] <> (north == green) }
