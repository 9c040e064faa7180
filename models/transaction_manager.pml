/* expect: violated kind=assertion preemptions=1
 * A server that keeps transactions in a table: one thread commits a transaction, another flushes
 * those that have timed out, and a third begins new ones.
 *
 * Looking a transaction up and committing it are not one step: in between it can be flushed and its
 * place given to another transaction, which is then committed in its stead. */

#define NONE 0

byte table_entry = 1;           /* the transaction in the only place of the table */
byte committed;                 /* who was committed */
bit  lock;

#define LOCK   atomic { lock == 0 -> lock = 1 }
#define UNLOCK lock = 0

active proctype committer()
{
	bool found;

	LOCK;
	found = (table_entry == 1);
	UNLOCK;
	if
	:: found ->
		/* wrong: the place is assumed to hold what it held */
		LOCK;
		committed = table_entry;
		table_entry = NONE;
		UNLOCK;
		assert(committed == 1)
	:: else -> skip
	fi
}

active proctype flusher()
{
	LOCK;
	table_entry = NONE;
	UNLOCK
}

active proctype beginner()
{
	LOCK;
	if
	:: table_entry == NONE -> table_entry = 2
	:: else -> skip
	fi;
	UNLOCK
}
