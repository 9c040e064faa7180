//! Stubborn sets of processes, from what they touch now and later.
//!
//! A set of processes may move alone if nothing that its members can do at their present control
//! states conflicts with anything that the others may do from now on. Grown from one process: as
//! long as a process outside conflicts with a member, it becomes a member.
//!
//! Invariant: for every member p and every other process q, `present(p)` commutes with
//! `future(q)`. So no step of the others, however many they take, enables, disables or changes a
//! step that the members have now.
//!
//! Where the system numbers its control points, whether two of them conflict is found out once.

use preempt_core::{ProcessId, System};

/// A set of processes that is being grown.
#[derive(Default, Debug)]
pub(crate) struct Closure {
    members: Vec<bool>,
    /// Members whose conflicts have not been followed.
    open: Vec<ProcessId>,
    /// Processes whose sets are known to be useless in the present state: so are all that contain
    /// one of them.
    hopeless: Vec<bool>,
    /// The control points of the present state; empty if the system does not number them.
    points: Vec<u32>,
    /// What is known of a present point (row) and a future one (column).
    conflicts: Vec<Vec<Conflict>>,
}

/// Whether two control points are in each other's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Conflict {
    /// It was not asked for yet.
    Unasked,
    No,
    Yes,
    /// The system does not know what one of them touches.
    Unknown,
}

/// Points beyond this are asked anew each time: the table would be too large.
const MOST_POINTS: u32 = 1 << 12;

impl Closure {
    /// Turns to another state.
    pub(crate) fn enter<S: System + ?Sized>(&mut self, system: &S, state: &[u8]) {
        let processes = system.process_count(state);
        self.hopeless.clear();
        self.hopeless.resize(processes, false);
        self.points.clear();
        system.control_points(state, &mut self.points);
        if self.points.iter().any(|point| *point >= MOST_POINTS) {
            self.points.clear();
        }
    }

    /// Grows the smallest set around `seed` in the state that was entered, where the processes
    /// `movers` have steps. `false` if it would contain all of these, if too little is known, or if a
    /// property could see one of its steps.
    pub(crate) fn grow<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        movers: &[ProcessId],
        seed: ProcessId,
        observed: bool,
    ) -> bool {
        let useful = self.closes(system, state, movers, seed, observed);
        if !useful && let Some(hopeless) = self.hopeless.get_mut(seed.index()) {
            *hopeless = true;
        }
        useful
    }

    fn closes<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        movers: &[ProcessId],
        seed: ProcessId,
        observed: bool,
    ) -> bool {
        let processes = self.hopeless.len();
        if seed.index() >= processes {
            return false;
        }
        self.members.clear();
        self.members.resize(processes, false);
        self.open.clear();
        self.add(seed);
        while let Some(member) = self.open.pop() {
            if observed && movers.contains(&member) && system.is_visible(state, member) {
                return false;
            }
            for other in 0..processes {
                if self.members[other] {
                    continue;
                }
                match self.conflict(system, state, member, ProcessId(other as u16)) {
                    Conflict::No => {}
                    Conflict::Yes if !self.hopeless[other] => self.add(ProcessId(other as u16)),
                    _ => return false,
                }
            }
        }
        movers.iter().any(|process| !self.contains(*process))
    }

    pub(crate) fn contains(&self, process: ProcessId) -> bool {
        self.members.get(process.index()).is_some_and(|member| *member)
    }

    fn add(&mut self, process: ProcessId) {
        if let Some(member) = self.members.get_mut(process.index()) {
            *member = true;
            self.open.push(process);
        }
    }

    /// Whether what `member` does now is in the way of what `other` may do from now on.
    #[inline]
    fn conflict<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        member: ProcessId,
        other: ProcessId,
    ) -> Conflict {
        let ask = || match (system.present(state, member), system.future(state, other)) {
            (Some(present), Some(future)) if present.commutes_with(future) => Conflict::No,
            (Some(_), Some(_)) => Conflict::Yes,
            _ => Conflict::Unknown,
        };
        let (Some(&row), Some(&column)) =
            (self.points.get(member.index()), self.points.get(other.index()))
        else {
            return ask();
        };
        let (row, column) = (row as usize, column as usize);
        if let Some(known) = self.conflicts.get(row).and_then(|row| row.get(column))
            && *known != Conflict::Unasked
        {
            return *known;
        }
        if self.conflicts.len() <= row {
            self.conflicts.resize_with(row + 1, Vec::new);
        }
        let known = &mut self.conflicts[row];
        if known.len() <= column {
            known.resize(column + 1, Conflict::Unasked);
        }
        known[column] = ask();
        known[column]
    }
}
