//! The memory orders that a program asks for.

use super::{Ending, Run};
use crate::{Effect, Operation, Order, Site};

impl Run {
    /// The running thread executes a fence.
    pub fn fence(&mut self, order: Order) {
        self.note(Effect::Fence(order));
    }

    /// The program uses this memory order for an access to an atomic or (`fence`) a fence. If weak
    /// memory is to be explored and this is new, the exploration must begin again, with all writes
    /// kept. Addresses that the program stores must then be the same in all executions.
    #[inline]
    pub fn weaken(&mut self, order: Order, fence: bool) {
        if self.rules.rc11 {
            self.note_order(order, fence);
        }
    }

    fn note_order(&mut self, order: Order, fence: bool) {
        let over = self.ending.as_ref().is_some_and(|ending| *ending != Ending::Restart);
        if self.epilogue.is_some() || over {
            return;
        }
        let strong = order == Order::SequentiallyConsistent;
        let new = match strong {
            true => !std::mem::replace(&mut self.rules.strong, true) && self.rules.weak,
            false => !fence && !std::mem::replace(&mut self.rules.weak, true),
        };
        if new {
            self.ending = Some(Ending::Restart);
        }
    }

    /// The operation as it is executed, with the order that its place in the source is to have.
    pub(super) fn strengthened(&self, operation: Operation) -> Operation {
        let stronger = |(site, _): &&(Site, Order)| *site == operation.site;
        let orders = self.stronger.iter().filter(stronger).map(|(_, order)| *order);
        orders.fold(operation, |o, order| Operation { order, failure: order, ..o })
    }
}
