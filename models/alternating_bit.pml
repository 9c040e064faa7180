/* expect: holds
 * The alternating bit protocol over channels that lose messages.
 *
 * The sender repeats a message until it is acknowledged with the same bit, then flips the bit. The
 * receiver acknowledges everything and takes a message only if its bit is the one it waits for.
 * Whatever is lost, the receiver sees the numbers 0, 1, 2, … (modulo MAXIMUM) in order. */

#define MAXIMUM 4

mtype = { data, acknowledge };

chan forward = [1] of { mtype, byte, bit };     /* kind, number, alternating bit */
chan backward = [1] of { mtype, bit };

active proctype sender()
{
	byte number;
	bit current, answer;

end:
	do
	:: forward!data(number, current);
	   if
	   :: backward?acknowledge(answer);
	      if
	      :: answer == current -> current = 1 - current;
	                              number = (number + 1) % MAXIMUM
	      :: else                 /* an old one: send again */
	      fi
	   :: timeout                 /* lost: send again */
	   fi
	od
}

active proctype receiver()
{
	byte number, wanted;
	bit current, received;

end:
	do
	:: forward?data(number, received);
	   if
	   :: received == current -> assert(number == wanted);
	                             wanted = (wanted + 1) % MAXIMUM;
	                             current = 1 - current
	   :: else                   /* a repetition: acknowledge it again */
	   fi;
	   backward!acknowledge(received)
	od
}

/* Takes a message away now and then, in either direction. */
active proctype thief()
{
end:
	do
	:: forward?_,_,_
	:: backward?_,_
	od
}
