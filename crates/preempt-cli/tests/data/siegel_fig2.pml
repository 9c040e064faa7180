/* [S19] Fig. 2: p becomes true once; the other process only repeats a local step. The claim accepts
 * exactly the executions on which p becomes true. */
bit p = 0;

active proctype p0() { p = 1 }

active proctype p1() { bit x = 0; do :: x = 0 od }

never {
B0:	do
	:: !p
	:: !p -> break
	od;
accept_B1:
	do
	:: p
	od
}
