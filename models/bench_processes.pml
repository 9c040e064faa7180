/* expect: holds
 * options: -D N=4
 * Benchmark: many processes. A parent starts N workers; each takes a ticket, works in steps of its
 * own, and reports. Processes come and go, so vectors have many lengths. */

#ifndef N
#define N 8
#endif
#ifndef STEPS
#define STEPS 2
#endif

byte tickets;
byte finished;

proctype worker(byte steps)
{
	byte ticket, at;

	atomic { ticket = tickets; tickets++ };
	do
	:: at < steps -> at++
	:: else -> break
	od;
	assert(ticket < N);
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
	assert(tickets == N)
}
