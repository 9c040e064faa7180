//! Where machine code writes leads and successors, process after process, straight into the lists of
//! the search: the books of these are brought up to date once per state.

use crate::Native;
use crate::code::PIECE;
use crate::room::Room;
use crate::shape::{Frame, Shape};
use preempt_core::{Lead, Leads};

/// Two lists that are being written to, at the places where the room points.
pub(crate) struct Pen<'a, T> {
    leads: &'a mut Vec<Lead>,
    /// What is written beside the leads: successors, byte by byte, or what differs in them.
    beside: &'a mut Vec<T>,
    /// What one process can need.
    most: (usize, usize),
    /// Beyond these there is not that much room left.
    last: (*mut Lead, *mut T),
    /// What the lists held before.
    before: (usize, usize),
}

impl<'a, T> Pen<'a, T> {
    /// Goes on where the lists end.
    #[inline(always)]
    pub(crate) fn new(
        leads: &'a mut Vec<Lead>,
        beside: &'a mut Vec<T>,
        most: (usize, usize),
        room: &mut Room,
    ) -> Self {
        let last = (std::ptr::null_mut(), std::ptr::null_mut());
        let before = (leads.len(), beside.len());
        let mut pen = Pen { leads, beside, most, last, before };
        pen.reserve(room);
        pen
    }

    /// Makes room for one process where there is not enough.
    #[inline(always)]
    pub(crate) fn prepare(&mut self, room: &mut Room) {
        if room.leads > self.last.0 || room.out.cast() > self.last.1 {
            self.make_room(room);
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, room: &mut Room) {
        self.finish(room);
        self.reserve(room);
    }

    #[inline(always)]
    fn reserve(&mut self, room: &mut Room) {
        self.leads.reserve(self.most.0);
        self.beside.reserve(self.most.1);
        // SAFETY: the lists have at least so much room behind what they hold.
        unsafe {
            let (leads, beside) = (self.leads.as_mut_ptr(), self.beside.as_mut_ptr());
            room.leads = leads.add(self.leads.len());
            room.out = beside.add(self.beside.len()).cast();
            room.base = beside.cast();
            self.last.0 = leads.add(self.leads.capacity() - self.most.0);
            self.last.1 = beside.add(self.beside.capacity() - self.most.1);
        }
    }

    /// Makes what was written part of the lists, unless it is `refused` or needs the interpreter; says
    /// whether it is.
    #[inline(always)]
    pub(crate) fn close(mut self, room: &Room, refused: bool) -> bool {
        self.finish(room);
        // Starts are numbers of 32 bits.
        let kept = !refused && room.asks == 0 && u32::try_from(self.beside.len()).is_ok();
        if !kept {
            self.leads.truncate(self.before.0);
            self.beside.truncate(self.before.1);
        }
        kept
    }

    #[inline(always)]
    fn finish(&mut self, room: &Room) {
        // SAFETY: since `reserve` the pointers only moved on as leads and bytes were written, inside
        // the memory of the lists.
        unsafe {
            self.leads.set_len(room.leads.offset_from_unsigned(self.leads.as_ptr()));
            let out: *const T = room.out.cast();
            self.beside.set_len(out.offset_from_unsigned(self.beside.as_ptr()));
        }
    }
}

impl Native<'_> {
    /// The frames of a state, a room to work on it, and a pen for its successors.
    #[inline(always)]
    pub(crate) fn open<'a>(
        &'a self,
        state: &mut Vec<u8>,
        leads: &'a mut Leads,
        bytes: &'a mut Vec<u8>,
    ) -> (&'a [Frame], Room, Pen<'a, u8>) {
        // States are copied in whole pieces: what lies behind this one must at least be readable.
        state.reserve(PIECE);
        let mut most_bytes = Room::reserve_for(state.len(), self.most_successors, self.most_growth);
        let frames = frames_from(&self.shape, state, &mut leads.notes);
        let mut room = Room::new(&self.shape, &self.meeting, state.len(), frames);
        if leads.follow_sequences
            && let Some(sequences) = self.sequences()
        {
            room.sequences = sequences;
            most_bytes += Room::reserve_for_logs(state.len(), self.most_moves, self.most_growth);
        }
        let most = (self.most_successors, most_bytes);
        let pen = Pen::new(&mut leads.list, bytes, most, &mut room);
        (frames, room, pen)
    }
}

/// The frames of a state. In most states they lie where they lay in the one before, which is quicker
/// to see than to walk along them: each walk waits for the type of one frame to know where the next
/// one is.
#[inline(always)]
pub(crate) fn frames_from<'a>(
    shape: &'a Shape,
    state: &[u8],
    notes: &'a mut Vec<u64>,
) -> &'a [Frame] {
    let count = usize::from(state[1]);
    if let Some(fixed) = &shape.fixed {
        return &fixed[..count];
    }
    let own = std::ptr::from_ref(shape) as u64;
    if notes.first() != Some(&own) || !lie_there(noted(notes), state, count) {
        walk(shape, state, notes);
        notes.insert(0, own);
    }
    noted(notes)
}

/// The frames that a system has noted, behind its name.
#[inline(always)]
fn noted(notes: &[u64]) -> &[Frame] {
    let frames = &notes[1..];
    // SAFETY: `walk` makes each note of the bytes of a frame; whatever else it were, a frame is plain
    // numbers.
    unsafe { std::slice::from_raw_parts(frames.as_ptr().cast(), frames.len()) }
}

/// Whether these are the frames of the state. Where the types of all older ones are as noted, the next
/// one begins where it is noted to begin.
#[inline(always)]
fn lie_there(frames: &[Frame], state: &[u8], count: usize) -> bool {
    let lies_there = |frame: &Frame| state.get(frame.at as usize) == Some(&frame.proctype);
    frames.len() == count && frames.iter().all(lies_there)
}

#[cold]
fn walk(shape: &Shape, state: &[u8], notes: &mut Vec<u64>) {
    notes.clear();
    notes.extend(shape.frames(state).map(|frame| {
        let mut bytes = [0; 8];
        bytes[std::mem::offset_of!(Frame, at)..][..4].copy_from_slice(&frame.at.to_ne_bytes());
        bytes[std::mem::offset_of!(Frame, proctype)] = frame.proctype;
        u64::from_ne_bytes(bytes)
    }));
}
