/* expect: holds
 * Threads that create files: each takes an inode under its lock, and if that has no block yet,
 * looks for a free block under the lock of the block. After Flanagan and Godefroid, with fewer
 * inodes and blocks.
 *
 * Every lock is taken in a fixed order and every block belongs to at most one inode. */

#define THREADS 2
#define INODES  2
#define BLOCKS  3

bit  inode_lock[INODES], block_lock[BLOCKS];
byte block_of[INODES];          /* 0: none yet */
bit  busy[BLOCKS];

active [THREADS] proctype creator()
{
	byte i = _pid % INODES, b;

	atomic { inode_lock[i] == 0 -> inode_lock[i] = 1 };
	if
	:: block_of[i] == 0 ->
		b = (i * 2) % BLOCKS;
		do
		:: atomic { block_lock[b] == 0 -> block_lock[b] = 1 };
			if
			:: busy[b] == 0 ->
				busy[b] = 1;
				block_of[i] = b + 1;
				block_lock[b] = 0;
				break
			:: else ->
				block_lock[b] = 0;
				b = (b + 1) % BLOCKS
			fi
		od
	:: else -> skip
	fi;
	assert(block_of[i] != 0 && busy[block_of[i] - 1] == 1);
	assert(INODES < 2 || block_of[0] == 0 || block_of[0] != block_of[1]);
	inode_lock[i] = 0
}
