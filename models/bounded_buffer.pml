/* expect: holds
 * A bounded buffer built from semaphores: `free` counts empty slots, `filled` counts full ones, and
 * a lock protects the indices. Two producers, two consumers, a ring of SIZE slots.
 *
 * Every slot that is taken has been filled (no underflow), every slot that is filled was empty (no
 * overflow), and in the end everything that was produced has been consumed. */

#define SIZE 2
#define ITEMS 2                 /* per producer */

byte free = SIZE;
byte filled = 0;
bool locked = false;

bool slot[SIZE];                /* occupied or not */
byte head, tail;
byte produced, consumed;

inline down(semaphore) { atomic { semaphore > 0 -> semaphore-- } }
inline up(semaphore)   { semaphore++ }
inline acquire()       { atomic { !locked -> locked = true } }
inline release()       { locked = false }

active [2] proctype producer()
{
	byte i;

	for (i : 1 .. ITEMS) {
		down(free);
		acquire();
		assert(!slot[head]);
		slot[head] = true;
		head = (head + 1) % SIZE;
		produced++;
		release();
		up(filled)
	}
}

active [2] proctype consumer()
{
	byte i;

	for (i : 1 .. ITEMS) {
		down(filled);
		acquire();
		assert(slot[tail]);
		slot[tail] = false;
		tail = (tail + 1) % SIZE;
		consumed++;
		assert(consumed <= produced);
		release();
		up(free)
	}
}
