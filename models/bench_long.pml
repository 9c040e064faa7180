/* expect: holds
 * options: -D CELLS=40 -D MARKS=8
 * Benchmark: long states. Three workers mark cells of a board, one after the other, which changes a
 * few bytes of a vector that is as long as the board. */

#ifndef CELLS
#define CELLS 400
#endif
#ifndef MARKS
#define MARKS 20
#endif

byte board[CELLS];
chan finished = [3] of { byte, short };

active [3] proctype worker()
{
	byte marked;
	short cell;
	do
	:: marked < MARKS ->
		cell = (marked * 7 + _pid * 13) % CELLS;
		board[cell] = board[cell] + 1;
		assert(board[cell] <= MARKS);
		marked++
	:: else -> break
	od;
	finished!_pid,cell
}

active proctype collector()
{
	byte count, who;
	short last;
	do
	:: count < 3 -> finished?who,last; count++
	:: else -> break
	od
}
