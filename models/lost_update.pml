/* expect: violated kind=assertion preemptions=1
 * The smallest concurrency bug there is: two processes add 1 to a shared counter by reading it,
 * adding, and writing it back. A preemption between reading and writing loses one update.
 *
 * Without preemptions (--bound 0) the assertion holds: the bug needs exactly one. */

byte counter;
byte done;

active [2] proctype adder()
{
	byte seen;

	seen = counter;
	counter = seen + 1;
	done++
}

active proctype reader()
{
	done == 2;
	assert(counter == 2)
}
