/* expect: holds
 * options: --ltl never_both
 * A crossing with two traffic lights and a controller that lets one side go at a time.
 *
 * Two properties: the lights are never green at the same time (`never_both`), and once the
 * north has asked, it gets its green light (`north_served`). The controller serves the sides in
 * turn, which makes the second one true under any scheduling that goes on at all. */

mtype = { red, green };

mtype north = red;
mtype east = red;
bool north_waits, east_waits;

active proctype arrivals()
{
	do
	:: atomic { !north_waits -> north_waits = true }
	:: atomic { !east_waits -> east_waits = true }
	od
}

active proctype controller()
{
	do
	:: if
	   :: north_waits -> north = green;
	                     north_waits = false;
	                     north = red
	   :: else
	   fi;
	   if
	   :: east_waits -> east = green;
	                    east_waits = false;
	                    east = red
	   :: else
	   fi
	od
}

ltl never_both   { [] !(north == green && east == green) }
ltl north_served { [] (north_waits -> <> (north == green)) }
