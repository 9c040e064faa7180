/* expect: violated kind=assertion preemptions=1
 * The bounded buffer of bounded_buffer.pml whose author trusted the semaphores and left out the
 * lock. They keep the number of items right, but two producers may write to the same slot: one is
 * preempted between filling the slot and moving the index on. */

#define SIZE 2

byte free = SIZE;
byte filled = 0;

bool slot[SIZE];
byte head;

inline down(semaphore) { atomic { semaphore > 0 -> semaphore-- } }
inline up(semaphore)   { semaphore++ }

active [2] proctype producer()
{
	down(free);
	assert(!slot[head]);
	slot[head] = true;
	head = (head + 1) % SIZE;
	up(filled)
}
