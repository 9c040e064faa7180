//! Stubborn sets of processes, from what they touch now and later.
//!
//! A set of processes may move alone if nothing that its members can do at their present control
//! states conflicts with anything that the others may do from now on. Grown from one process: as
//! long as a process outside conflicts with a member, it becomes a member.
//!
//! Invariant: for every member p and every other process q, `present(p)` commutes with
//! `future(q)`. So no step of the others, however many they take, enables, disables or changes a
//! step that the members have now.

use preempt_core::{Enabled, ProcessId, System};

/// A set of processes that is being grown.
#[derive(Default, Debug)]
pub(crate) struct Closure {
    members: Vec<bool>,
    /// Members whose conflicts have not been followed.
    open: Vec<ProcessId>,
    /// Processes whose sets are known to be useless in the present state: so are all that contain
    /// one of them.
    hopeless: Vec<bool>,
}

impl Closure {
    /// Forgets what was learnt in another state.
    pub(crate) fn enter(&mut self) {
        self.hopeless.clear();
    }

    /// Grows the smallest set around `seed`. `false` if it would contain all that can move, if too
    /// little is known, or if a property could see one of its steps.
    pub(crate) fn grow<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        enabled: &Enabled,
        seed: ProcessId,
        observed: bool,
    ) -> bool {
        let useful = self.closes(system, state, enabled, seed, observed);
        if !useful {
            let room = self.hopeless.len().max(seed.index() + 1);
            self.hopeless.resize(room, false);
            self.hopeless[seed.index()] = true;
        }
        useful
    }

    fn closes<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        enabled: &Enabled,
        seed: ProcessId,
        observed: bool,
    ) -> bool {
        let processes = system.process_count(state);
        if seed.index() >= processes {
            return false;
        }
        self.members.clear();
        self.members.resize(processes, false);
        self.open.clear();
        self.add(seed);
        while let Some(member) = self.open.pop() {
            let Some(present) = system.present(state, member) else { return false };
            if observed && system.is_visible(state, member) && !enabled.of(member).is_empty() {
                return false;
            }
            for other in 0..processes {
                if self.members[other] {
                    continue;
                }
                let other = ProcessId(other as u16);
                let Some(future) = system.future(state, other) else { return false };
                if !present.commutes_with(future) {
                    if self.hopeless.get(other.index()).is_some_and(|hopeless| *hopeless) {
                        return false;
                    }
                    self.add(other);
                }
            }
        }
        enabled.by_process().any(|(process, _)| !self.contains(process))
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
}
