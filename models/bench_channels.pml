/* expect: holds
 * options: -D SIZE=2
 * Benchmark: large channels. Two producers fill a wide pipe, a stage passes everything on through a
 * second one, a consumer counts. With -D SIZE=6 and more the vector is dominated by the slots of
 * the channels. */

#ifndef SIZE
#define SIZE 6
#endif
#ifndef ITEMS
#define ITEMS SIZE
#endif

mtype = { item, done };

chan in_pipe = [2 * SIZE] of { mtype, byte, short, int };
chan out_pipe = [2 * SIZE] of { mtype, byte, short, int };
byte consumed;

active [2] proctype producer()
{
	byte n;

	do
	:: n < ITEMS -> in_pipe!item, _pid, n, n * 100; n++
	:: else -> break
	od;
	in_pipe!done, _pid, 0, 0
}

active proctype stage()
{
	mtype kind;
	byte who, finished;
	short number;
	int payload;

	do
	:: finished < 2 ->
		in_pipe?kind, who, number, payload;
		out_pipe!kind, who, number, payload;
		if
		:: kind == done -> finished++
		:: else
		fi
	:: else -> break
	od
}

active proctype consumer()
{
	mtype kind;
	byte who, finished;
	short number;
	int payload;

	do
	:: finished < 2 ->
		out_pipe?kind, who, number, payload;
		assert(kind == done || payload == number * 100);
		if
		:: kind == done -> finished++
		:: else -> consumed++
		fi
	:: else -> break
	od;
	assert(consumed == 2 * ITEMS)
}
