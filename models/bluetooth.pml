/* expect: violated kind=assertion preemptions=1
 * A simplified Bluetooth driver, much studied since Qadeer and Wu: a request may enter the driver
 * while another thread stops it.
 *
 * The request looks whether the driver is stopping, and only then counts itself in. Preempted in
 * between, it finds the driver stopped while it works. */

byte pending = 1;       /* requests inside, and one for the driver itself */
bool stopping, stopped;
bool event;             /* nobody is inside any more */

inline leave()
{
	d_step {
		pending--;
		if
		:: pending == 0 -> event = true
		:: else -> skip
		fi
	}
}

active proctype request()
{
	if
	:: stopping -> goto done
	:: else -> skip
	fi;
	pending++;
	/* inside */
	assert(!stopped);
	leave();
done:	skip
}

active proctype stopper()
{
	stopping = true;
	leave();
	event;
	stopped = true
}
