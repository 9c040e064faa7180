//! Which thread made which object, as far as an execution needs it to know whether creations can race.
//!
//! The creation of an object writes the memory that it lies in. A thread that learns of the object without
//! synchronisation may find that memory as it was before, which is a data race like any other (see `race.rs`). Every
//! thread knows what its ancestors had made when it was born, and what it has made itself. Only a program in which a
//! thread uses something else, and with weak memory, needs clocks to judge creations by: whatever else hands an
//! object on synchronises.
//!
//! What a thread uses follows from its history, and every history is executed once. So a program that needs clocks is
//! noticed before the exploration ends.

use crate::{ObjectId, ThreadId};

/// The maker of an object, and how many objects that had made before.
type Maker = (ThreadId, u32);

/// See the module.
#[derive(Default)]
pub(super) struct Creations {
    /// By object; `None` if it does not lie in the memory of the program.
    makers: Vec<Option<Maker>>,
    /// By thread: its parent, and how many objects that had made.
    births: Vec<Maker>,
}

impl Creations {
    /// Another execution begins.
    pub(super) fn clear(&mut self) {
        self.makers.clear();
    }

    /// An object comes to be.
    pub(super) fn made(&mut self, object: ObjectId, maker: Maker) {
        if self.makers.len() <= object.index() {
            self.makers.resize(object.index() + 1, None);
        }
        self.makers[object.index()] = Some(maker);
    }

    /// A thread comes to be.
    pub(super) fn born(&mut self, child: ThreadId, parent: Maker) {
        if self.births.len() <= child.index() {
            self.births.resize(child.index() + 1, (ThreadId::MAIN, 0));
        }
        self.births[child.index()] = parent;
    }

    /// Whether a thread has made an object, or an ancestor of it had when it was born.
    pub(super) fn is_known_from_birth(&self, mut thread: ThreadId, object: ObjectId) -> bool {
        let Some(&Some((maker, before))) = self.makers.get(object.index()) else { return true };
        let mut known = u32::MAX;
        while thread != maker {
            if thread == ThreadId::MAIN {
                return false;
            }
            (thread, known) = self.births[thread.index()];
        }
        before < known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_know_what_their_ancestors_had_made() {
        let [main, child, grandchild] = [0, 1, 2].map(ThreadId);
        let object = |number| ObjectId(number);
        let mut creations = Creations::default();
        creations.made(object(0), (main, 0));
        creations.born(child, (main, 1));
        creations.made(object(1), (main, 1));
        creations.made(object(2), (child, 0));
        creations.born(grandchild, (child, 1));
        creations.made(object(3), (child, 1));
        let known =
            |thread| [0, 1, 2, 3, 4].map(|n| creations.is_known_from_birth(thread, object(n)));
        assert_eq!(known(main), [true, true, false, false, true]);
        assert_eq!(known(child), [true, false, true, true, true]);
        assert_eq!(known(grandchild), [true, false, true, false, true]);
    }
}
