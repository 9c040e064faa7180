//! What the moves of a process touch in a state, for sleep sets.

/// The objects that a process reads and writes, as bits.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Touch {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

impl Touch {
    /// Anything may be touched: nothing commutes with that, because every process reads something.
    pub(crate) const ANYTHING: Touch = Touch { reads: u64::MAX, writes: u64::MAX };

    /// Whether the steps of both can be swapped.
    #[inline(always)]
    pub(crate) fn commutes_with(self, other: Touch) -> bool {
        (self.writes & (other.reads | other.writes)) | (self.reads & other.writes) == 0
    }
}

/// `(state, frame, pid, touch) -> 0` adds what the state says.
pub(crate) type AddTouch = extern "C" fn(*const u8, *const u8, u32, *mut Touch) -> u32;
/// What is known of one control state.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) touch: Touch,
    /// The code that adds what the state says.
    pub(crate) add: Option<AddTouch>,
}

impl Point {
    /// What the moves of a process here touch.
    #[inline(always)]
    pub(crate) fn touch(&self, state: *const u8, frame: *const u8, pid: u32) -> Touch {
        let mut touch = self.touch;
        if let Some(add) = self.add {
            add(state, frame, pid, &raw mut touch);
        }
        touch
    }
}
