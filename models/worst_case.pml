/* expect: violated kind=assertion preemptions=5
 * options: -D N=6
 * The worst case for a search in order of preemptions, after the appendix of Holzmann and Florian.
 *
 * Each of N processes steps up and down again. Only when all of them are up at the same time the
 * watching claim complains, so N - 1 processes have to be preempted between their two steps: an
 * error that needs many preemptions by construction, while most errors need few. */

#ifndef N
#define N 10
#endif

int up;

active [N] proctype worker()
{
	up++;
	up--
}

never {
	do
	:: assert(up != N)
	od
}
