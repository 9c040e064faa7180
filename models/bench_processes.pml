/* expect: holds
 * options: -D N=4
 * Benchmark: many processes. A parent starts N workers; each announces itself, works in steps of its
 * own, and reports. Processes come and go, so vectors have many lengths. */

#ifndef N
#define N 9
#endif
#ifndef STEPS
#define STEPS 1
#endif

byte started;
byte finished;

proctype worker(byte steps)
{
	byte at;

	started++;
	do
	:: at < steps -> at++
	:: else -> break
	od;
	assert(finished < started);
	finished++
}

init
{
	byte i;

	do
	:: i < N -> run worker(STEPS); i++
	:: else -> break
	od;
	finished == N;
	assert(started == N)
}
