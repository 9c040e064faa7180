//! What the processes of a model read and write, for partial-order reduction.
//!
//! Each process is at a *control point*. A point says what the actions that a process may have there read
//! and write, and at which points the process may be after one of them. What a process may touch later follows.
//!
//! **Invariant:** conditions of properties and the model's limits read observed objects only. A step that may change
//! one of these objects gets two additions: it reads all of them, and it writes one object more, that no model can
//! name. So the reduction keeps the order of such steps, as if each asserted the conditions.

use preempt_core::{Footprint, ObjectSet};

type At<M, S> = Box<dyn Fn(&M, &S, usize) -> usize + Send + Sync>;

/// The control points of a model `M` with states `S`, and what is read and written there.
///
/// Objects are whatever processes share, numbered by the model: variables, elements of arrays, channels. What
/// only one process reads and writes, and no property reads, needs no number.
pub struct Footprints<M, S> {
    at: At<M, S>,
    points: Vec<Point>,
    observed: ObjectSet,
}

struct Point {
    now: Footprint,
    next: Vec<usize>,
}

impl<M, S> Footprints<M, S> {
    /// Footprints of processes whose present control point is `at(model, state, process)`, the number of one of the
    /// points that [`Footprints::point`] adds. A process changes its own point only.
    pub fn new(at: impl Fn(&M, &S, usize) -> usize + Send + Sync + 'static) -> Self {
        Footprints { at: Box::new(at), points: Vec::new(), observed: ObjectSet::new() }
    }

    /// Adds the next control point: the objects that its actions read, also to find out whether they are
    /// possible, those that they may change, and the points where the process may be afterwards.
    pub fn point(
        mut self,
        reads: impl IntoIterator<Item = usize>,
        writes: impl IntoIterator<Item = usize>,
        next: impl IntoIterator<Item = usize>,
    ) -> Self {
        let now =
            Footprint { reads: reads.into_iter().collect(), writes: writes.into_iter().collect() };
        self.points.push(Point { now, next: next.into_iter().collect() });
        self
    }

    /// Adds objects that the conditions of properties or [`is_within`](crate::Model::is_within) read.
    pub fn observed(mut self, objects: impl IntoIterator<Item = usize>) -> Self {
        self.observed.extend(objects);
        self
    }
}

/// Footprints as reductions ask for them.
pub(crate) struct Table<M, S> {
    at: At<M, S>,
    points: Vec<Entry>,
    observed: ObjectSet,
    nothing: Footprint,
}

struct Entry {
    /// What the actions of the point touch, with the additions for observed objects.
    present: Footprint,
    /// What the process may touch from the point on.
    future: Footprint,
    /// What others may wait for.
    signals: ObjectSet,
    next: Vec<usize>,
    is_visible: bool,
}

impl<M, S> Table<M, S> {
    pub(crate) fn new(footprints: Footprints<M, S>) -> Result<Self, String> {
        let Footprints { at, points, observed } = footprints;
        let named =
            points.iter().flat_map(|point| point.now.reads.iter().chain(point.now.writes.iter()));
        let order_of_visible = named.chain(observed.iter()).max().map_or(0, |most| most + 1);
        let count = points.len();
        let mut entries = Vec::with_capacity(count);
        for (number, Point { now, next }) in points.into_iter().enumerate() {
            if let Some(wrong) = next.iter().find(|next| **next >= count) {
                return Err(format!(
                    "control point {number} leads to {wrong}, but there are {count} control points"
                ));
            }
            let is_visible = now.writes.intersects(&observed);
            let signals = now.writes.clone();
            let mut present = now;
            if is_visible {
                present.reads.union_with(&observed);
                present.writes.insert(order_of_visible);
            }
            let future = present.clone();
            entries.push(Entry { present, future, signals, next, is_visible });
        }
        let mut grows = true;
        while grows {
            grows = false;
            for number in 0..count {
                for next in entries[number].next.clone() {
                    let later = entries[next].future.clone();
                    grows |= entries[number].future.absorb(&later);
                }
            }
        }
        Ok(Table { at, points: entries, observed, nothing: Footprint::default() })
    }

    /// The control point of a process; `Err` if there is no such point.
    pub(crate) fn point(&self, model: &M, state: &S, process: usize) -> Result<usize, String> {
        let point = (self.at)(model, state, process);
        match point < self.points.len() {
            true => Ok(point),
            false => Err(format!(
                "process {process} stands at control point {point}, but there are {}",
                self.points.len()
            )),
        }
    }

    /// The number of points.
    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    pub(crate) fn present(&self, point: usize) -> &Footprint {
        &self.points[point].present
    }

    pub(crate) fn future(&self, point: usize) -> &Footprint {
        &self.points[point].future
    }

    pub(crate) fn signals(&self, point: usize) -> &ObjectSet {
        &self.points[point].signals
    }

    pub(crate) fn is_visible(&self, point: usize) -> bool {
        self.points[point].is_visible
    }

    pub(crate) fn leads_to(&self, point: usize, next: usize) -> bool {
        self.points[point].next.contains(&next)
    }

    pub(crate) fn observed(&self) -> &ObjectSet {
        &self.observed
    }

    /// The footprint of a process that does nothing.
    pub(crate) fn nothing(&self) -> &Footprint {
        &self.nothing
    }
}
