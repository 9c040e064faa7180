//! Where machine code writes headers and successors, process after process, straight into the lists of
//! the search: the books of these are brought up to date once per state.

use super::workspace::Workspace;
use preempt_core::engine::SuccessorHeader;

/// Two lists that are being written to, at the places where the workspace points.
pub(crate) struct SuccessorWriter<'a, T> {
    headers: &'a mut Vec<SuccessorHeader>,
    /// What is written beside the headers: successors, byte by byte, or what differs in them.
    beside: &'a mut Vec<T>,
    /// What one process can need.
    most: (usize, usize),
    /// Beyond these there is not that much room left.
    last: (*mut SuccessorHeader, *mut T),
    /// What the lists held before.
    before: (usize, usize),
}

impl<'a, T> SuccessorWriter<'a, T> {
    /// Goes on where the lists end.
    #[inline(always)]
    pub(crate) fn new(
        headers: &'a mut Vec<SuccessorHeader>,
        beside: &'a mut Vec<T>,
        most: (usize, usize),
        workspace: &mut Workspace,
    ) -> Self {
        let last = (std::ptr::null_mut(), std::ptr::null_mut());
        let before = (headers.len(), beside.len());
        let mut writer = SuccessorWriter { headers, beside, most, last, before };
        writer.reserve(workspace);
        writer
    }

    /// Makes room for one process where there is not enough.
    #[inline(always)]
    pub(crate) fn prepare(&mut self, workspace: &mut Workspace) {
        if workspace.headers > self.last.0 || workspace.out.cast() > self.last.1 {
            self.make_room(workspace);
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, workspace: &mut Workspace) {
        self.finish(workspace);
        self.reserve(workspace);
    }

    #[inline(always)]
    fn reserve(&mut self, workspace: &mut Workspace) {
        self.headers.reserve(self.most.0);
        self.beside.reserve(self.most.1);
        // SAFETY: the lists have at least so much room behind what they hold.
        unsafe {
            let (headers, beside) = (self.headers.as_mut_ptr(), self.beside.as_mut_ptr());
            workspace.headers = headers.add(self.headers.len());
            workspace.out = beside.add(self.beside.len()).cast();
            workspace.base = beside.cast();
            self.last.0 = headers.add(self.headers.capacity() - self.most.0);
            self.last.1 = beside.add(self.beside.capacity() - self.most.1);
        }
    }

    /// Makes what was written part of the lists, unless it is `refused` or needs the interpreter; says
    /// whether it is.
    #[inline(always)]
    pub(crate) fn close(mut self, workspace: &Workspace, refused: bool) -> bool {
        self.finish(workspace);
        // Starts are numbers of 32 bits.
        let kept = !refused && workspace.asks == 0 && u32::try_from(self.beside.len()).is_ok();
        if !kept {
            self.headers.truncate(self.before.0);
            self.beside.truncate(self.before.1);
        }
        kept
    }

    #[inline(always)]
    fn finish(&mut self, workspace: &Workspace) {
        // SAFETY: since `reserve` the pointers only moved on as headers and bytes were written, inside
        // the memory of the lists.
        unsafe {
            self.headers.set_len(workspace.headers.offset_from_unsigned(self.headers.as_ptr()));
            let out: *const T = workspace.out.cast();
            self.beside.set_len(out.offset_from_unsigned(self.beside.as_ptr()));
        }
    }
}
