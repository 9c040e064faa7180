//! The states of a batch, by what an index says of them.
//!
//! About every third successor is a new state, which no processor can guess. So a batch is sorted
//! first, without a branch, into states whose tag is known and the others; each list is then dealt with
//! by a loop that nearly always goes the same way. This made searches up to 17 % faster.

use crate::store::Pending;

/// The numbers of the states of a batch, in two lists.
#[derive(Default, Debug)]
pub(crate) struct Sorted {
    /// Per state: the first slot where it can be.
    pub(crate) candidates: Vec<usize>,
    /// States that are probably known: their tag is.
    pub(crate) known: Vec<u32>,
    /// States that are new, unless they occur twice.
    pub(crate) new: Vec<u32>,
}

impl Sorted {
    /// Sorts a batch by `probe`, which says the slot of a state and whether its tag is known.
    #[inline(always)]
    pub(crate) fn sort(
        &mut self,
        batch: &[Pending],
        mut probe: impl FnMut(&Pending) -> (usize, bool),
    ) {
        // One more than needed, so that both lists can be written to at every turn.
        self.candidates.resize(batch.len(), 0);
        self.known.resize(batch.len() + 1, 0);
        self.new.resize(batch.len() + 1, 0);
        let (mut known, mut new) = (0, 0);
        for (number, (pending, candidate)) in batch.iter().zip(&mut self.candidates).enumerate() {
            let (at, is_known) = probe(pending);
            *candidate = at;
            self.known[known] = number as u32;
            self.new[new] = number as u32;
            known += usize::from(is_known);
            new += usize::from(!is_known);
        }
        self.known.truncate(known);
        self.new.truncate(new);
    }
}
