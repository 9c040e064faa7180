/* expect: holds
 * A work-stealing queue as in Cilk: its owner pushes and pops at one end without a lock,
 * thieves steal at the other under a lock, and only for the last item do the two have to agree.
 * No item may be taken twice.
 * Right: each side announces what it wants before it looks at the other. */

#define SIZE  4
#define ITEMS 2         /* how many the owner pushes */

byte items[SIZE];
byte head, tail;        /* stolen from at the head, pushed and popped at the tail */
byte taken[SIZE];       /* how often each item was taken out, by its value */
bit  lock;

#define LOCK   atomic { lock == 0 -> lock = 1 }
#define UNLOCK lock = 0

inline take(item)
{
	d_step {
		taken[item]++;
		assert(taken[item] == 1);
		item = 0
	}
}

active proctype owner()
{
	byte next = 1, t, h, item;

	do
	:: next <= ITEMS ->
		t = tail;
		items[t] = next;
		tail = t + 1;
		next++
	:: else -> break
	od;
	do
	:: next > 1 ->
		next--;
		/* announce first, look at the head second */
		t = tail - 1;
		tail = t;
		h = head;
		if
		:: h <= t -> item = items[t]; take(item)
		:: else ->
			/* perhaps a thief is at the last item: decide under the lock */
			tail = t + 1;
			LOCK;
			h = head;
			if
			:: h <= t -> tail = t; item = items[t]; UNLOCK; take(item)
			:: else -> UNLOCK; next = 1
			fi
		fi
	:: else -> break
	od
}

active proctype thief()
{
	byte tries = ITEMS, h, item;

	do
	:: tries > 0 ->
		tries--;
		LOCK;
		/* announce first, look at the tail second */
		h = head;
		head = h + 1;
		if
		:: h < tail -> item = items[h]; UNLOCK; take(item)
		:: else -> head = h; UNLOCK
		fi
	:: else -> break
	od
}
