/* expect: holds
 * options: --ltl one_leader
 * Leader election in a ring after Chang and Roberts. Every node sends its number clockwise. A number
 * is passed on by smaller nodes and swallowed by larger ones; who sees its own number again has
 * the largest and is the leader, and tells the others.
 *
 * `one_leader`: sooner or later there is a leader, and it stays the only one. */

#define N 4

mtype = { candidate, leader };

chan ring[N] = [N] of { mtype, byte };
byte leaders;

/* Numbers around the ring, not in order. */
#define number(i) ((i * 3 + 1) % (N + 1))

active [N] proctype node()
{
	chan incoming = ring[_pid];
	chan outgoing = ring[(_pid + 1) % N];
	byte mine = number(_pid);
	byte theirs;

	outgoing!candidate(mine);
	do
	:: incoming?candidate(theirs);
	   if
	   :: theirs > mine -> outgoing!candidate(theirs)
	   :: theirs < mine -> skip
	   :: theirs == mine -> leaders++;
	                        assert(leaders == 1);
	                        outgoing!leader(mine)
	   fi
	:: incoming?leader(theirs);
	   if
	   :: theirs != mine -> outgoing!leader(theirs)
	   :: else
	   fi;
	   break
	od
}

ltl one_leader { <> [] (leaders == 1) }
