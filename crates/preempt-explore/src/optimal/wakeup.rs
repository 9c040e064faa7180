//! Wakeup trees: the beginnings of executions that are still to be explored from a state.
//!
//! Paper: Abdulla, Aronis, Jonsson, Sagonas: Optimal dynamic partial order reduction (2014), §5
//! Differs from the paper: a thread may have alternatives (which waiter is woken, a choice). They
//! are explored one after the other, so that for sleep sets they count as one.
//!
//! Invariant: no two leaves of a tree begin equivalent executions.

use crate::{Move, ObjectId};

/// What a step reads and writes, in the sense of dependence.
#[derive(Clone, Default, Debug)]
pub(super) struct Footprint {
    pub(super) objects: Vec<(ObjectId, bool)>,
    /// Ends the execution, so it depends on everything.
    pub(super) last: bool,
    /// Uses up one of the timeouts that may fire.
    pub(super) timeout: bool,
}

impl Footprint {
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        self.last
            || other.last
            || (self.timeout && other.timeout)
            || self.objects.iter().any(|&(object, write)| {
                other.objects.iter().any(|&(o, w)| o == object && (w || write))
            })
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.last |= other.last;
        self.timeout |= other.timeout;
        for entry in &other.objects {
            if !self.objects.contains(entry) {
                self.objects.push(*entry);
            }
        }
    }
}

/// One step of a sequence to be explored.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) step: Move,
    pub(super) footprint: Footprint,
    /// How many alternatives there are, all to be explored; 0 if the step stands for itself.
    pub(super) alternatives: u32,
    /// Positions in the sequence that happen before this one.
    pub(super) after: Vec<usize>,
}

/// A node of a wakeup tree with the step that leads to it.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) step: Move,
    pub(super) footprint: Footprint,
    pub(super) children: Vec<Branch>,
}

impl Branch {
    pub(super) fn leaf(step: Move) -> Self {
        Branch { step, footprint: Footprint::default(), children: Vec::new() }
    }
}

/// A sequence of steps, with some taken out.
pub(super) struct Sequence<'a> {
    pub(super) items: &'a [Item],
    pub(super) gone: Vec<bool>,
}

impl Sequence<'_> {
    fn left(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate().filter(|(i, _)| !self.gone[*i])
    }

    /// Whether the next step of the thread of `step` could begin an equivalent sequence; the
    /// position if it is part of this one.
    pub(super) fn weak_initial(&self, step: Move, footprint: &Footprint) -> Option<Option<usize>> {
        match self.left().find(|(_, item)| item.step.thread == step.thread) {
            Some((position, item)) => {
                item.after.iter().all(|&i| self.gone[i]).then_some(Some(position))
            }
            None => {
                self.left().all(|(_, item)| !item.footprint.conflicts(footprint)).then_some(None)
            }
        }
    }

    fn branch(&self) -> Option<Branch> {
        let mut below: Option<Branch> = None;
        let left: Vec<&Item> = self.left().map(|(_, item)| item).collect();
        for item in left.into_iter().rev() {
            let footprint = item.footprint.clone();
            below =
                Some(Branch { step: item.step, footprint, children: below.into_iter().collect() });
        }
        below
    }
}

/// Adds a sequence to a tree unless an equivalent beginning is there.
pub(super) fn insert(tree: &mut Vec<Branch>, mut sequence: Sequence<'_>) {
    let mut level = tree;
    loop {
        let mut found = None;
        for (index, branch) in level.iter().enumerate() {
            match sequence.weak_initial(branch.step, &branch.footprint) {
                Some(Some(position)) if sequence.items[position].step == branch.step => {
                    sequence.gone[position] = true;
                    found = Some(index);
                }
                Some(None) => found = Some(index),
                _ => continue,
            }
            break;
        }
        match found {
            // A leaf: everything behind it will be explored.
            Some(index) if level[index].children.is_empty() => return,
            Some(index) => level = &mut level[index].children,
            None => break,
        }
    }
    level.extend(sequence.branch());
}
