//! What partial-order reduction knows of the steps of a system.

use crate::{Footprint, Locality, ObjectSet, ProcessId, Step};

/// Which steps commute with which others, and what a property can see of them. Everything has an answer
/// that is always right and that no reduction can use.
pub trait Independence {
    /// Whether the steps of `process`, if it has some, may be explored alone by Spin's rule: they are
    /// safe, and where something is `observed` they cannot be seen.
    fn is_ample(&self, state: &[u8], process: ProcessId, observed: bool) -> bool {
        self.locality(state, process) >= Locality::Safe
            && !(observed && self.is_visible(state, process))
    }

    /// How far the present steps of `process` stay out of the others' way. [`Locality::Shared`] is
    /// always a right answer.
    fn locality(&self, _state: &[u8], _process: ProcessId) -> Locality {
        Locality::Shared
    }

    /// Whether a present step of `process` may change a proposition, or enters or leaves a label
    /// that a liveness property looks at. `true` is always correct.
    fn is_visible(&self, _state: &[u8], _process: ProcessId) -> bool {
        true
    }

    /// Whether an indivisible sequence that `process` begins at its present control state may never end.
    /// `true` is always correct.
    fn may_stay_inside(&self, _state: &[u8], _process: ProcessId) -> bool {
        true
    }

    /// What the steps of `process` at its present control state touch, whether they are enabled or
    /// not, with the whole of an indivisible sequence that they may begin; `None` when unknown.
    fn present(&self, _state: &[u8], _process: ProcessId) -> Option<&Footprint> {
        None
    }

    /// What one enabled step touches; `None` when unknown (then it may touch anything).
    fn footprint(&self, _state: &[u8], _step: Step) -> Option<&Footprint> {
        None
    }

    /// What `process`, and the processes that it may create, may touch from its present control
    /// state on; `None` when unknown. Creating or removing a process touches objects too, if
    /// any process can tell the order.
    fn future(&self, _state: &[u8], _process: ProcessId) -> Option<&Footprint> {
        None
    }

    /// The objects that the present steps of `process` may change and whose change may enable another process
    /// else, with the whole of an indivisible sequence that they may begin. Within a bound on
    /// preemptions these steps may be taken ahead of their time, if whoever
    /// [waits for](Independence::waits_for) one of these objects may then be left for free. `None` when
    /// unknown, and where they change what must not change ahead of its time.
    fn signals(&self, state: &[u8], process: ProcessId) -> Option<&ObjectSet> {
        self.present(state, process).map(|present| &present.writes)
    }

    /// Whether an enabled step may owe it to others that it is enabled, if others changed `signalled`,
    /// objects as [`Independence::signals`] numbers them; `None` means any of them. A rendezvous is
    /// judged by its two halves; whether the partner stands where it can answer is another question.
    fn waits_for(&self, state: &[u8], step: Step, signalled: Option<&ObjectSet>) -> bool {
        self.footprint(state, step).is_none_or(|touched| match signalled {
            Some(objects) => {
                touched.reads.intersects(objects) || touched.writes.intersects(objects)
            }
            None => !touched.is_local(),
        })
    }

    /// Whether `process` stands where it may answer a rendezvous. `true` is always correct.
    fn may_answer(&self, _state: &[u8], _process: ProcessId) -> bool {
        true
    }

    /// Adds a number per process, such that [`Independence::present`], [`Independence::future`] and
    /// [`Independence::is_visible`] answer alike for equal numbers. Numbers are small: searches keep tables
    /// by them. Adds nothing if the system has no such numbers.
    fn control_points(&self, _state: &[u8], _points: &mut Vec<u32>) {}

    /// The objects that propositions read.
    fn observed(&self) -> Option<&ObjectSet> {
        None
    }
}
