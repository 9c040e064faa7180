/* expect: holds
 * Dining philosophers, the classical cure: forks are numbered, and everybody takes the one with the
 * smaller number first. The last philosopher thus reaches for the right fork first, and the ring of
 * waiting cannot close. Compare philosophers.pml. */

#ifndef N
#define N 3
#endif

bool taken[N];
bool eating[N];

inline take(fork)
{
	atomic { !taken[fork] -> taken[fork] = true }
}

active [N] proctype philosopher()
{
	byte first = (_pid == N - 1 -> 0 : _pid);
	byte second = (_pid == N - 1 -> N - 1 : _pid + 1);

	do
	:: take(first);
	   take(second);

	   eating[_pid] = true;
	   assert(!eating[(_pid + 1) % N] && !eating[(_pid + N - 1) % N]);
	   eating[_pid] = false;

	   taken[second] = false;
	   taken[first] = false
	od
}
