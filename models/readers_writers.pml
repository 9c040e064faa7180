/* expect: holds
 * Readers and writers: any number of readers may be inside at once, a writer only alone.
 *
 * The first reader locks writers out, the last one lets them in again; `counting` protects the
 * number of readers. The assertions say what each must never meet. */

#define READERS 2
#define WRITERS 2

bool counting;          /* somebody is changing `readers` */
bool occupied;          /* held by one writer, or by all readers together */
byte readers;
byte reading, writing;  /* who is really inside, for the assertions only */

inline acquire(lock) { atomic { !lock -> lock = true } }
inline release(lock) { lock = false }

active [READERS] proctype reader()
{
	do
	:: acquire(counting);
	   readers++;
	   if
	   :: readers == 1 -> acquire(occupied)
	   :: else
	   fi;
	   release(counting);

	   reading++;
	   assert(writing == 0);
	   reading--;

	   acquire(counting);
	   readers--;
	   if
	   :: readers == 0 -> release(occupied)
	   :: else
	   fi;
	   release(counting)
	od
}

active [WRITERS] proctype writer()
{
	do
	:: acquire(occupied);
	   writing++;
	   assert(writing == 1 && reading == 0);
	   writing--;
	   release(occupied)
	od
}
