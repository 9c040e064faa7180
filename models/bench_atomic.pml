/* expect: holds
 * options: -D FEW
 * Benchmark: inlines with loops inside atomic. Tasks of a small operating system take and release mutexes,
 * inherit urgency from those who wait for them, and wait for events. Every call of the kernel is one
 * indivisible sequence that walks along queues, so most steps lie inside sequences, and there are many
 * control states. With MISTAKE the kernel does not give back what was inherited. */

#define TASKS 3
#define MUTEXES 3
#define EVENTS 3
#define FREE 255

#define READY 0
#define BLOCKED 1
#define WAITING 2

byte state[TASKS];                /* of each task */
byte base[TASKS] = { 1, 2, 3 };   /* its own urgency */
byte urgency[TASKS] = { 1, 2, 3 };/* with what it inherited */
byte waits_for[TASKS];            /* the mutex that it is blocked at */
byte ready[TASKS] = { 2, 1, 0 };  /* the ready queue, highest urgency first */
byte count = TASKS;               /* its length */
byte owner[MUTEXES] = { FREE, FREE, FREE };
byte pending[EVENTS];
typedef Queue { byte task[TASKS]; byte length };
Queue waiters[MUTEXES];
Queue listeners[EVENTS];
int cost[24];                     /* what each task may use, filled in at the start */
bool configured;
byte entries[MUTEXES];
byte current;

/* puts t into the ready queue behind all of the same urgency */
inline enqueue(t) {
	i = 0;
	do
	:: i < count && urgency[ready[i]] >= urgency[t] -> i++
	:: else -> break
	od;
	j = count;
	do
	:: j > i -> ready[j] = ready[j - 1]; j--
	:: else -> break
	od;
	ready[i] = t;
	count++;
	state[t] = READY
}

/* takes t out of the ready queue */
inline dequeue(t) {
	i = 0;
	do
	:: i < count && ready[i] != t -> i++
	:: else -> break
	od;
	assert(i < count);
	do
	:: i + 1 < count -> ready[i] = ready[i + 1]; i++
	:: else -> break
	od;
	count--;
	ready[count] = 0
}

/* gives t another urgency, wherever it is queued */
inline change_priority(t, p) {
	if
	:: state[t] == READY ->
		dequeue(t);
		urgency[t] = p;
		enqueue(t)
	:: else ->
		urgency[t] = p
	fi
}

/* appends t to a queue of waiters, by urgency */
inline wait_in(q, t) {
	i = 0;
	do
	:: i < q.length && urgency[q.task[i]] >= urgency[t] -> i++
	:: else -> break
	od;
	j = q.length;
	do
	:: j > i -> q.task[j] = q.task[j - 1]; j--
	:: else -> break
	od;
	q.task[i] = t;
	q.length++
}

/* takes the first of a queue of waiters */
inline first_of(q, t) {
	t = q.task[0];
	i = 0;
	do
	:: i + 1 < q.length -> q.task[i] = q.task[i + 1]; i++
	:: else -> break
	od;
	q.length--;
	q.task[q.length] = 0
}

/* the owner of m, and whom it waits for in turn, inherit the urgency of t */
inline inherit(m, t) {
	k = owner[m];
	do
	:: k != FREE && urgency[k] < urgency[t] ->
		change_priority(k, urgency[t]);
		if
		:: state[k] == BLOCKED -> k = owner[waits_for[k]]
		:: else -> k = FREE
		fi
	:: else -> break
	od
}

/* what t keeps of its urgency: the highest of those who wait for it */
inline give_back(t) {
	k = 0;
	h = base[t];
	do
	:: k < MUTEXES ->
		if
		:: owner[k] == t && waiters[k].length > 0 && urgency[waiters[k].task[0]] > h ->
			h = urgency[waiters[k].task[0]]
		:: else
		fi;
		k++
	:: else -> break
	od;
#ifndef MISTAKE
	change_priority(t, h)
#else
	skip
#endif
}

inline check_queue() {
	i = 0;
	do
	:: i + 1 < count -> assert(urgency[ready[i]] >= urgency[ready[i + 1]]); i++
	:: else -> break
	od;
	current = ready[0]
}

inline lock(m) {
	atomic {
		state[_pid] == READY;
		if
		:: owner[m] == FREE -> owner[m] = _pid
		:: else ->
			inherit(m, _pid);
			dequeue(_pid);
			state[_pid] = BLOCKED;
			waits_for[_pid] = m;
			wait_in(waiters[m], _pid)
		fi;
		check_queue();
		i = 0; j = 0; k = 0
	}
	atomic {
		state[_pid] == READY && owner[m] == _pid;
		entries[m]++;
		assert(entries[m] == 1)
	}
}

inline unlock(m) {
	atomic {
		state[_pid] == READY;
		entries[m]--;
		if
		:: waiters[m].length > 0 ->
			first_of(waiters[m], u);
			owner[m] = u;
			enqueue(u)
		:: else -> owner[m] = FREE
		fi;
		give_back(_pid);
		check_queue();
		assert(owner[0] == _pid || owner[1] == _pid || owner[2] == _pid || urgency[_pid] == base[_pid]);
		i = 0; j = 0; k = 0; h = 0; u = 0
	}
}

inline signal(e) {
	atomic {
		state[_pid] == READY;
		if
		:: listeners[e].length > 0 ->
			do
			:: listeners[e].length > 0 -> first_of(listeners[e], u); enqueue(u)
			:: else -> break
			od
		:: else -> pending[e] = 1
		fi;
		check_queue();
		i = 0; j = 0; u = 0
	}
}

inline await(e) {
	atomic {
		state[_pid] == READY;
		if
		:: pending[e] -> pending[e] = 0
		:: else ->
			dequeue(_pid);
			state[_pid] = WAITING;
			wait_in(listeners[e], _pid)
		fi;
		check_queue();
		i = 0; j = 0
	}
end:	state[_pid] == READY
}

/* what a task may use at most, added up along the table */
inline account() {
	i = _pid * 8;
	u = 0;
	do
	:: i < _pid * 8 + 8 -> u = u + cost[i]; i++
	:: else -> break
	od;
	assert(u == 8 * _pid + 28)
}

#ifdef FEW
#define AWAIT(event)
#else
#define AWAIT(event)	:: await(event)
#endif

#define TASK(name, first, second, heard, told) \
active proctype name() \
{ \
	byte i, j, k, h, u; \
	atomic { configured; account(); i = 0; u = 0 } \
	do \
	:: lock(first); lock(second); signal(told); unlock(second); unlock(first) \
	AWAIT(heard) \
	od \
}

TASK(Logger, 0, 1, 0, 1)
TASK(Control, 0, 2, 1, 2)
TASK(Alarm, 1, 2, 2, 0)

active proctype Configure()
{
	byte n;
	atomic {
		do
		:: n < 24 -> cost[n] = n / 8 + n % 8; n++
		:: else -> break
		od;
		n = 0;
		configured = true
	}
}
