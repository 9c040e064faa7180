//! Which memory orders might forbid an execution with stale choices: candidates to be tried.
//!
//! A remedy is tried, not guessed: the schedule is executed again with other orders at one place, or at
//! two, and if one of its stale choices is then impossible, the orders forbid it.

use crate::{Action, Operation, Order};

/// So many changes of orders are worth trying.
const MOST: usize = 300;

/// Changes of memory orders, the weakest first: one place with a stronger order, then a release and
/// an acquire together. `accesses` are the steps of the execution with their places in the source.
pub fn remedies<P: Copy + PartialEq>(accesses: &[(P, Operation)]) -> Vec<Vec<(P, Order)>> {
    let changes = changes(accesses);
    let (weak, strong): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|(_, order)| *order != Order::SequentiallyConsistent);
    let (releases, acquires): (Vec<_>, Vec<_>) =
        weak.iter().copied().partition(|(_, order)| order.releases());
    let pairs = releases
        .iter()
        .flat_map(|&release| acquires.iter().map(move |&acquire| vec![release, acquire]))
        .filter(|pair| pair[0].0 != pair[1].0);
    weak.iter().chain(&strong).map(|&change| vec![change]).chain(pairs).take(MOST).collect()
}

/// All stronger orders at all places, the weaker ones of a place first.
fn changes<P: Copy + PartialEq>(accesses: &[(P, Operation)]) -> Vec<(P, Order)> {
    let mut changes: Vec<(P, Order)> = Vec::new();
    for (place, operation) in accesses.iter().filter(|(_, o)| o.action.is_number()) {
        for order in stronger(operation) {
            if !changes.contains(&(*place, order)) {
                changes.push((*place, order));
            }
        }
    }
    changes
}

fn stronger(operation: &Operation) -> Vec<Order> {
    let all: &[Order] = match operation.action {
        Action::Load => &[Order::Acquire, Order::SequentiallyConsistent],
        Action::Store => &[Order::Release, Order::SequentiallyConsistent],
        _ => {
            &[Order::Acquire, Order::Release, Order::AcquireRelease, Order::SequentiallyConsistent]
        }
    };
    let now = operation.order;
    let is_stronger = |order: &Order| {
        *order != now
            && now != Order::SequentiallyConsistent
            && (order.acquires() || !now.acquires())
            && (order.releases() || !now.releases())
            || *order == Order::SequentiallyConsistent && now != *order
    };
    all.iter().copied().filter(is_stronger).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;
    use std::panic::Location;

    #[test]
    fn weaker_changes_come_first_and_pairs_last() {
        let access = |action, order| {
            Operation::new(action, ObjectId(1), 0, 0, Location::caller()).with_order(order, order)
        };
        let accesses = [
            (1, access(Action::Store, Order::Relaxed)),
            (2, access(Action::Load, Order::Relaxed)),
            (2, access(Action::Load, Order::Relaxed)),
            (3, access(Action::Load, Order::SequentiallyConsistent)),
            (4, access(Action::Join, Order::Relaxed)),
        ];
        let (release, acquire) = ((1, Order::Release), (2, Order::Acquire));
        let strong = |place| vec![(place, Order::SequentiallyConsistent)];
        let expected =
            vec![vec![release], vec![acquire], strong(1), strong(2), vec![release, acquire]];
        assert_eq!(remedies(&accesses), expected);
    }
}
