//! The visible operations: everything through which threads can influence each other.
//!
//! An operation is a plain value with its operands, known before it is executed. That is what
//! allows a search to look ahead, to decide whether it is enabled, and to execute it on a state
//! without running the program.

use crate::{ObjectId, ThreadId};
use std::panic::Location;

/// Second operand of stores and swaps whose first operand is an address.
pub const POINTER: u64 = 0x706F_696E_7465_7221;

/// A read-modify-write on a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Update {
    /// Replace.
    Swap,
    /// Wrapping addition.
    Add,
    /// Wrapping subtraction.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise not-and.
    Nand,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Unsigned maximum.
    Max,
    /// Unsigned minimum.
    Min,
    /// Signed maximum.
    SignedMax,
    /// Signed minimum.
    SignedMin,
}

impl Update {
    /// The new value for `old` and `operand`, both zero-extended from `bits` bits.
    pub fn compute(self, old: u64, operand: u64, bits: u8) -> u64 {
        let mask = u64::MAX >> (64 - u32::from(bits));
        let sign = |x: u64| (x << (64 - u32::from(bits))) as i64;
        let value = match self {
            Update::Swap => operand,
            Update::Add => old.wrapping_add(operand),
            Update::Sub => old.wrapping_sub(operand),
            Update::And => old & operand,
            Update::Nand => !(old & operand),
            Update::Or => old | operand,
            Update::Xor => old ^ operand,
            Update::Max => old.max(operand),
            Update::Min => old.min(operand),
            Update::SignedMax if sign(operand) > sign(old) => operand,
            Update::SignedMin if sign(operand) < sign(old) => operand,
            Update::SignedMax | Update::SignedMin => old,
        };
        value & mask
    }
}

/// What a visible operation does. `object`, `first` and `second` are the fields of [`Operation`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Action {
    /// Read a number.
    Load,
    /// Write `first`.
    Store,
    /// Update by `first`, on a number of this many bits.
    Update(Update, u8),
    /// If equal to `first`, write `second`.
    CompareExchange,
    /// The same for a number that differs from execution to execution, such as an address.
    ComparePointer,
    /// Acquire a mutex; disabled while held. May time out if `second` is 1, as may the other two
    /// ways to acquire a lock.
    Lock,
    /// Acquire a mutex if free.
    TryLock,
    /// Release a mutex; `first` is 1 if what it protects was not changed.
    Unlock,
    /// Acquire a read-write lock for reading.
    ReadLock,
    /// Acquire for reading if no writer holds it.
    TryReadLock,
    /// Release after reading.
    ReadUnlock,
    /// Acquire a read-write lock for writing.
    WriteLock,
    /// Acquire for writing if free.
    TryWriteLock,
    /// Release after writing; `first` is 1 if what it protects was not changed.
    WriteUnlock,
    /// Ask for a read-write lock for writing; until then readers may come in again and again.
    RequestWrite,
    /// Release mutex `object` and start to wait on condition variable `first`.
    Wait,
    /// After a wait on condition variable `first`: re-acquire mutex `object`. May time out if
    /// `second` is 1; then the result is 1 and the mutex is still to be acquired.
    Reacquire,
    /// Wake one waiter: a choice when there are several.
    NotifyOne,
    /// Wake all waiters.
    NotifyAll,
    /// Wait for thread `first` to end.
    Join,
    /// Let others run. Disabled until something read since the last yield has changed, if the
    /// thread has changed nothing itself.
    Yield,
    /// Take a token (park, an awaited waker); disabled while there is none. May time out if
    /// `second` is 1.
    TakeToken,
    /// Make a token available.
    GiveToken,
    /// Send to a channel with capacity `first` - 1, or unbounded if `first` is 0.
    Send,
    /// Send if there is room.
    TrySend,
    /// Wait until the `first`-th message of a channel was received (rendezvous channels).
    AwaitTaken,
    /// The receiver of a rendezvous channel is about to wait: senders that do not wait may succeed.
    Offer,
    /// Receive; disabled while empty and some sender is left. May time out if `second` is 1. `first` is 1 if senders wait
    /// until messages are received (rendezvous channels).
    Receive,
    /// Receive if there is a message. `first` as above.
    TryReceive,
    /// Ask how many messages a channel holds.
    Length,
    /// A sender goes away.
    CloseSender,
    /// The receiver goes away.
    CloseReceiver,
    /// Arrive at a barrier for `first` threads.
    Arrive,
    /// Leave generation `first` of a barrier.
    Leave,
    /// Begin a one-time initialisation; disabled while another thread runs it. A poisoned one is
    /// begun again if `first` is 1.
    OnceEnter,
    /// End it; the new state is `first`.
    OnceExit,
    /// Ask whether it has ended; the result is its state, 2 if it has.
    OnceCompleted,
    /// Choose one of `first` alternatives.
    Choose,
    /// Add 1 to a count that is not 0; the result is whether it was not.
    Upgrade,
    /// Take 1 from a count of references of which nothing else is looked at; the result is whether it was the last one. Those
    /// that are not the last commute, and the last comes after all of them.
    DropReference,
}

/// What an access to a number orders besides itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Order {
    /// Nothing.
    Relaxed,
    /// A read comes after the release of what it reads.
    Acquire,
    /// What was done before comes before every acquire of what is written.
    Release,
    /// Both.
    AcquireRelease,
    /// Both, and one order of all such accesses.
    #[default]
    SequentiallyConsistent,
}

impl Order {
    /// Whether a read synchronises with the write it reads from.
    pub fn acquires(self) -> bool {
        !matches!(self, Order::Relaxed | Order::Release)
    }

    /// Whether a write synchronises with those that read from it.
    pub fn releases(self) -> bool {
        !matches!(self, Order::Relaxed | Order::Acquire)
    }
}

impl Action {
    /// Whether a switch before this operation is never a preemption.
    pub fn is_voluntary(self) -> bool {
        matches!(self, Action::Yield | Action::TakeToken)
    }

    /// Whether it waits, and may do so for a limited time.
    pub(crate) fn may_be_timed(self) -> bool {
        matches!(
            self,
            Action::Reacquire
                | Action::Join
                | Action::TakeToken
                | Action::Receive
                | Action::Lock
                | Action::ReadLock
                | Action::WriteLock
        )
    }

    /// Whether the result is the value of a number, as opposed to a fact about the schedule.
    pub fn is_number(self) -> bool {
        matches!(
            self,
            Action::Load
                | Action::Store
                | Action::Update(..)
                | Action::CompareExchange
                | Action::ComparePointer
        )
    }

    /// Whether it is on a channel.
    pub(crate) fn is_on_channel(self) -> bool {
        matches!(
            self,
            Action::Send
                | Action::TrySend
                | Action::AwaitTaken
                | Action::Offer
                | Action::Receive
                | Action::TryReceive
                | Action::Length
                | Action::CloseSender
                | Action::CloseReceiver
        )
    }

    /// Whether it accesses a number: those and the count of references.
    pub(crate) fn is_access(self) -> bool {
        self.is_number() || self == Action::Upgrade
    }

    /// In words, for traces.
    pub fn name(self) -> &'static str {
        match self {
            Action::Load => "load",
            Action::Store => "store",
            Action::Update(Update::Swap, _) => "swap",
            Action::Update(Update::Add, _) => "fetch_add",
            Action::Update(Update::Sub, _) => "fetch_sub",
            Action::Update(Update::And, _) => "fetch_and",
            Action::Update(Update::Nand, _) => "fetch_nand",
            Action::Update(Update::Or, _) => "fetch_or",
            Action::Update(Update::Xor, _) => "fetch_xor",
            Action::Update(Update::Max | Update::SignedMax, _) => "fetch_max",
            Action::Update(Update::Min | Update::SignedMin, _) => "fetch_min",
            Action::CompareExchange | Action::ComparePointer => "compare_exchange",
            Action::Lock => "lock",
            Action::TryLock => "try_lock",
            Action::Unlock => "unlock",
            Action::ReadLock => "read",
            Action::TryReadLock => "try_read",
            Action::ReadUnlock => "unlock (read)",
            Action::WriteLock => "write",
            Action::TryWriteLock => "try_write",
            Action::WriteUnlock => "unlock (write)",
            Action::RequestWrite => "wait to write",
            Action::Wait => "wait",
            Action::Reacquire => "wake and lock again",
            Action::NotifyOne => "notify_one",
            Action::NotifyAll => "notify_all",
            Action::Join => "join",
            Action::Yield => "yield",
            Action::TakeToken => "park",
            Action::GiveToken => "unpark",
            Action::Send => "send",
            Action::TrySend => "try_send",
            Action::AwaitTaken => "wait for the receiver",
            Action::Offer => "begin to receive from",
            Action::Receive => "recv",
            Action::TryReceive => "try_recv",
            Action::Length => "ask for the length of",
            Action::CloseSender => "drop a sender of",
            Action::CloseReceiver => "drop the receiver of",
            Action::Arrive => "arrive at",
            Action::Leave => "leave",
            Action::OnceEnter => "begin initialisation of",
            Action::OnceExit => "end initialisation of",
            Action::OnceCompleted => "is_completed",
            Action::Choose => "choose",
            Action::Upgrade => "upgrade",
            Action::DropReference => "drop a reference",
        }
    }
}

/// A place in the source.
pub type Site = &'static Location<'static>;

/// A visible operation with its operands.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// What.
    pub action: Action,
    /// On which object.
    pub object: ObjectId,
    /// First operand.
    pub first: u64,
    /// Second operand.
    pub second: u64,
    /// Issued while unwinding: no other thread runs before it.
    pub urgent: bool,
    /// Memory order of an access to a number.
    pub order: Order,
    /// Memory order of a compare_exchange that fails.
    pub failure: Order,
    /// A compare_exchange that may fail for no reason.
    pub may_fail: bool,
    /// A compare_exchange that waits until it succeeds: it takes a lock.
    pub awaits: bool,
    /// When the time of a wait is up, where the order of such times counts.
    pub deadline: Option<Deadline>,
    /// Where in the source.
    pub site: Site,
}

/// When the time of a wait is up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadline {
    /// In nanoseconds of the program's time.
    pub at: u64,
    /// The wait is so long that no thread which can move takes longer.
    pub distant: bool,
}

impl Deadline {
    /// Times that differ by less, in nanoseconds, come in any order; longer waits are distant.
    pub const NEAR: u64 = 10_000_000;
}

/// Two operations are the same if they do the same; the place does not count.
impl PartialEq for Operation {
    fn eq(&self, other: &Self) -> bool {
        let operands = |o: &Self| (o.action, o.object, o.first, o.second);
        let orders = |o: &Self| (o.order, o.failure, o.may_fail, o.awaits);
        let key = |o: &Self| (operands(o), orders(o), o.urgent, o.deadline);
        key(self) == key(other)
    }
}

impl Eq for Operation {}

impl Operation {
    /// Second operand of a wait that may end for no reason, but not because time is up.
    pub const SPURIOUS: u64 = 2;
    /// Second operand of a load that always reads the newest value, whatever its order.
    pub const NEWEST: u64 = 1;
    /// Second operand of the release of a lock for writing that is held for reading from then on.
    pub const DOWNGRADES: u64 = 3;
    /// First operand of a look at an initialisation that waits for its end.
    pub const WAITS: u64 = 1;
    /// The same, where one that has failed is not enough.
    pub const WAITS_FOR_SUCCESS: u64 = 2;

    /// Whether it may end without what it waits for.
    pub(crate) fn may_time_out(&self) -> bool {
        let timed = self.second == 1 || self.second == Operation::SPURIOUS;
        timed && self.action.may_be_timed() || self.deadline.is_some()
    }

    /// An operation on an object.
    pub fn new(action: Action, object: ObjectId, first: u64, second: u64, site: Site) -> Self {
        let order = Order::SequentiallyConsistent;
        let (failure, urgent, may_fail, awaits) = (order, false, false, false);
        let deadline = None;
        Operation {
            action,
            object,
            first,
            second,
            urgent,
            order,
            failure,
            may_fail,
            awaits,
            deadline,
            site,
        }
    }

    /// The same with memory orders.
    pub fn with_order(self, order: Order, failure: Order) -> Self {
        Operation { order, failure, ..self }
    }

    /// Whether an operand is an address, which differs between executions.
    pub(crate) fn is_pointer(&self) -> bool {
        self.action == Action::ComparePointer || self.second == POINTER
    }

    /// The thread that a [`Action::Join`] waits for.
    pub fn target(&self) -> ThreadId {
        ThreadId(self.first as u32)
    }

    /// The condition variable of a [`Action::Wait`] or [`Action::Reacquire`].
    pub fn condition(&self) -> ObjectId {
        ObjectId(self.first as u32)
    }
}

/// One scheduling decision: a thread, and which of the alternatives of its operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Move {
    /// The thread that moves.
    pub thread: ThreadId,
    /// Which alternative: a waiter to wake, a number to choose, [`Move::TIMEOUT`]. Under weak memory
    /// also how many writes of the location are newer than the one that is read, or than the one
    /// that is made; with [`Move::FAILURE`] for a compare_exchange that fails for no reason.
    pub choice: u32,
}

impl Move {
    /// The alternative that stands for a timeout.
    pub const TIMEOUT: u32 = u32::MAX;
    /// Added to the alternative of a compare_exchange that fails for no reason.
    pub const FAILURE: u32 = 1 << 30;
}
