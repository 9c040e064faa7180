//! What the processor tells a kernel, and what the kernel counts: words in the card's memory.

/// The words of the block of parameters that the kernel reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// Address of the states: where the first of all would lie if all of them lay on the card.
    Arena,
    /// Address of the index.
    Index,
    /// Slots of the index less one.
    Mask,
    /// Address of the bits of dead numbers.
    Dead,
    /// How many states there is room for.
    Capacity,
    /// The first state of the level.
    First,
    /// One more than the last.
    End,
    /// Address of the counters.
    Counters,
    /// Address of a byte for each move that is not 0 once it was taken.
    Taken,
    /// Address of a byte for each fault: 1 if it is a mistake, 2 if the processor has to look at it.
    Faults,
    /// Address of the state that is looked for.
    Target,
    /// [`SEEK`], [`DEADLOCKS`], [`REST`] and [`PEEK`].
    Flags,
    /// Address of a word for each state, see `bounded.rs`.
    Records,
    /// Address of four bytes for each state: what was run from it and is not in its record yet.
    Pending,
    /// The first state of the bucket.
    Bucket,
    /// One of [`MARKS`]: the states that the round looks at have it.
    Dirty,
    /// The other one: visits mark their states with it, for the next round.
    Mark,
    /// The first state that lies on the card; those before it lie in the machine's memory.
    Base,
    /// Address of the addresses of the blocks that these lie in.
    Blocks,
    /// A block has two to the power of this many states.
    Shift,
    /// Address of the nodes of folded states, see `folded.rs`.
    Nodes,
    /// How many slots they have.
    NodeSlots,
    /// Where states of a range are left folded, or whole.
    Staging,
}

/// How many words the block of parameters has.
pub const FIELDS: usize = 23;
/// In records: the states that are to be looked at, in every other round.
pub const MARKS: [u64; 2] = [1 << 31, 1 << 63];
/// More processes than this cannot be told apart in a record.
pub(super) const MOST_MOVERS: u32 = 30;
/// Bytes beside a state, where preemptions are counted.
pub const RECORD_BYTES: u64 = 12;
/// So many of them are about what is not in its record yet.
pub const PENDING_BYTES: u64 = 4;
/// Successors are compared with the target, not inserted.
pub const SEEK: u64 = 1;
/// States in which nothing can move are mistakes unless every process may end where it is.
pub const DEADLOCKS: u64 = 2;
/// The processes that had to wait in the bucket before are run.
pub const REST: u64 = 4;
/// With [`REST`]: it is only found out whether there are any.
pub const PEEK: u64 = 8;

/// The words of the counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counter {
    /// The next number of a state.
    Next,
    /// Not 0 once there was no room.
    Full,
    /// One more than the number of a state that needs the processor, or 0.
    Asked,
    /// The least number of a state that has a mistake behind it; all ones before.
    Erroneous,
    /// The least number of a predecessor of the target; all ones before.
    Found,
    /// How many numbers are dead.
    Dead,
    /// Not 0 once a process that had to wait was found to have steps.
    Left,
    /// Not 0 once a state was marked for the next round.
    Marked,
    /// Not 0 once the property had no move where the model has one.
    Cut,
    /// Not 0 once there was no room for a node of a folded state.
    NodesFull,
    /// The first group of counters that many threads add to: arrivals, steps inside indivisible sequences, mistakes, nodes of
    /// folded states.
    Groups = 16,
}

/// So many groups of counters.
pub const GROUPS: usize = 64;
/// Words of a group.
pub const GROUP_WORDS: usize = 4;
/// Words of all counters.
pub const COUNTERS: usize = Counter::Groups as usize + GROUPS * GROUP_WORDS;

/// The name of the kernel that expands a level.
pub const EXPAND: &str = "expand";
/// The name of the kernel that ends a round for a range of states.
pub const COMMIT: &str = "commit";
/// The name of the kernel that puts states into a new index.
pub const REBUILD: &str = "rebuild";

/// The name of the kernel that folds states.
pub const FOLD: &str = "fold";
/// The name of the kernel that makes folded states whole.
pub const UNFOLD: &str = "unfold";
/// Bytes of a folded state in the arena.
pub const ROOT_BYTES: u32 = 8;

/// How many bytes into the block of parameters a word lies.
pub(super) fn field(field: Field) -> u32 {
    8 * field as u32
}

/// How many bytes into the counters a word lies.
pub(super) fn counter(counter: Counter) -> u32 {
    8 * counter as u32
}
