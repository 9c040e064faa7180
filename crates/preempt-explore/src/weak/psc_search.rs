//! The search for a cycle of [`psc`](super::psc) that one more event has closed.
//!
//! There was none without that event, and nothing happens after it. So all edges that it adds begin at it, if it is
//! sequentially consistent, or at a fence that happens before it; of those of a thread the last one is enough, because the
//! others come before it. From each of these the search looks whether it comes back.
//!
//! What is reached in a thread is always all from one event on, because events of a thread are in order. And most of what can
//! be reached from one event can be reached from those before it in its thread: all, if the earlier one is a fence; what does not
//! depend on the location, and the same location, if it is an access, because coherence puts what a thread does to a
//! location in order. So of what is newly reached in a thread only the events up to the first fence are looked at, and of
//! these only the first for each location. That makes a search linear in the number of events, times that of threads squared.
//!
//! What one thread did before there was another has all the others behind it, and is in no cycle.

use super::log::Logged;
use super::writes::{Location, Weak};
use crate::ObjectId;
use crate::mutation::{self, Mutation};
use rustc_hash::FxHashMap;

/// Where events stand in modification order, doubled: the first place, and the last.
type Places = Option<(u32, u32)>;

/// Some events of a thread by their positions, in order.
type List = Vec<usize>;

/// See the module.
pub(super) struct Search<'a> {
    /// The last of them is the one more.
    events: Vec<&'a Logged>,
    places: Vec<Places>,
    threads: Vec<List>,
    /// Those of `threads` that are sequentially consistent.
    strong: Vec<List>,
    accesses: FxHashMap<ObjectId, List>,
}

/// What is reached so far.
struct Reached<'a> {
    search: &'a Search<'a>,
    /// By thread: the first of its strong events, as an index.
    first: Vec<usize>,
    /// Events that are reached, but not yet their successors: a thread, and indices.
    open: Vec<(usize, std::ops::Range<usize>)>,
}

impl<'a> Search<'a> {
    /// About the events of a log and one more, which writes at this place if it does.
    pub(super) fn new(weak: &'a Weak, event: &'a Logged, at: Option<usize>) -> Self {
        let log = &weak.log;
        let alone = log.alone(event);
        let mut events: Vec<&Logged> = (alone..log.len()).map(|at| log.get(at)).collect();
        events.push(event);
        let count = events.iter().map(|event| event.thread.index() + 1).max().unwrap_or(0);
        let mut threads = vec![List::new(); count];
        let mut strong = vec![List::new(); count];
        let mut accesses: FxHashMap<ObjectId, List> = FxHashMap::default();
        for (position, event) in events.iter().enumerate() {
            threads[event.thread.index()].push(position);
            if event.strong {
                strong[event.thread.index()].push(position);
            }
            if event.object != ObjectId::NONE {
                accesses.entry(event.object).or_default().push(position);
            }
        }
        let mut places = vec![None; events.len()];
        for (object, list) in &accesses {
            let Some(location) = weak.location(*object) else { continue };
            let at = at.filter(|_| *object == event.object);
            note_places(location, list, &events, at, &mut places);
        }
        Search { events, places, threads, strong, accesses }
    }

    /// Whether there is a cycle.
    pub(super) fn finds_cycle(&self) -> bool {
        let last = self.events.len() - 1;
        let before = |&at: &usize| self.events[at].fence && self.happens_before(at, last);
        let fences = self.strong.iter().filter_map(|list| list.iter().rev().copied().find(before));
        let own = self.events[last].strong.then_some(last);
        if own.is_some() && mutation::is(Mutation::StrongHidesFences) {
            return self.comes_back(last);
        }
        fences.chain(own).any(|root| self.comes_back(root))
    }

    fn comes_back(&self, root: usize) -> bool {
        let thread = self.events[root].thread.index();
        let own = self.strong[thread].partition_point(|&at| at < root);
        let first = self.strong.iter().map(Vec::len).collect();
        let mut reached = Reached { search: self, first, open: Vec::new() };
        reached.add(thread, own + 1);
        reached.look_at(root, true);
        while let Some((thread, range)) = reached.open.pop() {
            if reached.first[self.events[root].thread.index()] <= own {
                return true;
            }
            reached.expand(&self.strong[thread][range]);
        }
        reached.first[thread] <= own
    }

    fn happens_before(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.events[a], self.events[b]);
        if x.thread == y.thread { a < b } else { x.happens_before(y) }
    }

    /// How many events of a list of one thread do not come after an event.
    fn not_after(&self, event: usize, list: &[usize]) -> usize {
        list.partition_point(|&at| !self.happens_before(event, at))
    }

    /// Whether MO or RB leads from the first event to the second.
    fn is_overwritten(&self, a: usize, b: usize) -> bool {
        let from = self.places[a].map(|(first, _)| first);
        a != b && from.zip(self.written(b)).is_some_and(|(from, to)| from < to)
    }

    fn written(&self, at: usize) -> Option<u32> {
        self.events[at].write?;
        self.places[at].map(|(_, last)| last)
    }

    fn accesses(&self, object: ObjectId) -> &[usize] {
        self.accesses.get(&object).map_or(&[], Vec::as_slice)
    }
}

impl Reached<'_> {
    /// From the strong event with this index on all those of a thread are reached.
    fn add(&mut self, thread: usize, index: usize) {
        let before = self.first[thread];
        if index < before {
            self.first[thread] = index;
            self.open.push((thread, index..before));
        }
    }

    fn add_event(&mut self, at: usize) {
        let thread = self.search.events[at].thread.index();
        let index = self.search.strong[thread].partition_point(|&other| other < at);
        self.add(thread, index);
    }

    /// Fences that come after an event are reached.
    fn add_fences_after(&mut self, event: usize) {
        for thread in 0..self.first.len() {
            let list = &self.search.strong[thread];
            let from = self.search.not_after(event, list);
            let is_fence = |at: &usize| self.search.events[*at].fence;
            if let Some(fence) = list[from..].iter().position(is_fence) {
                self.add(thread, from + fence);
            }
        }
    }

    /// As many events of a thread are newly reached.
    fn expand(&mut self, list: &[usize]) {
        let mut objects = Vec::new();
        for (number, &at) in list.iter().enumerate() {
            let event = self.search.events[at];
            if !event.fence && objects.contains(&event.object) {
                continue;
            }
            objects.push(event.object);
            self.look_at(at, number == 0);
            if event.fence {
                break;
            }
        }
    }

    /// What is reached from an event, but for those of its own thread. `anywhere`: also what does not depend on its location.
    fn look_at(&mut self, at: usize, anywhere: bool) {
        if self.search.events[at].fence {
            return self.look_at_fence(at);
        }
        self.look_at_location(at);
        if anywhere {
            self.look_at_order(at);
        }
    }

    /// From an access to others of its location, and to fences after these.
    fn look_at_location(&mut self, at: usize) {
        let search = self.search;
        // By thread: the first event of the location that is reached, strong or not.
        let mut first = vec![None; self.first.len()];
        for &other in search.accesses(search.events[at].object) {
            if search.is_overwritten(at, other) || search.happens_before(at, other) {
                first[search.events[other].thread.index()].get_or_insert(other);
                if search.events[other].strong {
                    self.add_event(other);
                }
            }
        }
        first.into_iter().flatten().for_each(|event| self.add_fences_after(event));
    }

    /// From an access by its thread: SB to a fence, or SB;HB;SB with other locations.
    fn look_at_order(&mut self, at: usize) {
        let search = self.search;
        let event = search.events[at];
        let own = &search.threads[event.thread.index()];
        let after = &own[own.partition_point(|&other| other <= at)..];
        let Some(&next) = after.first() else { return };
        self.add_fences_after(next);
        // The next one may be a fence.
        if search.events[next].strong && search.events[next].fence {
            self.add_event(next);
        }
        let differs = |other: &&usize| search.events[**other].object != event.object;
        let Some(&next) = after.iter().find(differs) else { return };
        for (thread, list) in search.threads.iter().enumerate() {
            if thread == event.thread.index() {
                continue;
            }
            let list = &list[search.not_after(next, list)..];
            let Some((&begin, rest)) = list.split_first() else { continue };
            let object = search.events[begin].object;
            let mut mixed = false;
            for &other in rest {
                let event = search.events[other];
                if event.strong && !event.fence && (mixed || event.object != object) {
                    self.add_event(other);
                    break;
                }
                mixed |= event.object != object;
            }
        }
    }

    /// From a fence.
    fn look_at_fence(&mut self, fence: usize) {
        let search = self.search;
        self.add_fences_after(fence);
        // The least place at each location of what comes after it.
        let mut least: FxHashMap<ObjectId, u32> = FxHashMap::default();
        for (thread, list) in search.threads.iter().enumerate() {
            let after = &list[search.not_after(fence, list)..];
            for &at in after {
                if let Some((first, _)) = search.places[at] {
                    let least = least.entry(search.events[at].object).or_insert(first);
                    *least = first.min(*least);
                }
            }
            // HB?;SB: of those after it all but the first, or all if they are in its own thread.
            let own = thread == search.events[fence].thread.index();
            if let Some(&second) = after.get(usize::from(!own)) {
                let strong = &search.strong[thread];
                self.add(thread, strong.partition_point(|&at| at < second));
            }
            let first = after.first().filter(|_| !own);
            if let Some(&first) = first.filter(|&&first| search.events[first].strong) {
                let accesses = search.accesses(search.events[first].object);
                let between = |&&at: &&usize| {
                    at != first
                        && search.happens_before(fence, at)
                        && search.happens_before(at, first)
                };
                if accesses.iter().find(between).is_some() {
                    self.add_event(first);
                }
            }
        }
        let mut later = vec![None; self.first.len()];
        for (object, &from) in &least {
            for &at in search.accesses(*object) {
                if search.events[at].strong && search.written(at).is_some_and(|to| from < to) {
                    self.add_event(at);
                }
                if search.places[at].is_some_and(|(_, last)| from < last) {
                    let first = &mut later[search.events[at].thread.index()];
                    *first = Some(first.map_or(at, |first: usize| first.min(at)));
                }
            }
        }
        later.into_iter().flatten().for_each(|event| self.add_fences_after(event));
    }
}

/// So many writes are looked through one after the other.
const FEW: usize = 16;

/// Where events stand in the modification order of their location. The last of all is the one more; what comes after the place
/// where it writes is moved.
fn note_places(
    location: &Location,
    list: &[usize],
    events: &[&Logged],
    at: Option<usize>,
    places: &mut [Places],
) {
    let writes = &location.writes;
    let mut by_name = FxHashMap::default();
    if writes.len() > FEW {
        by_name.extend(writes.iter().enumerate().map(|(place, write)| (write.name, place)));
    }
    let place_of = |name| match writes.len() > FEW {
        true => by_name.get(&name).copied(),
        false => writes.iter().rposition(|write| write.name == name),
    };
    for &position in list {
        let event = events[position];
        let is_last = position + 1 == events.len();
        let moved = |place: usize, is_last: bool| {
            let moved = !is_last && at.is_some_and(|at| place >= at);
            2 * (place + usize::from(moved)) as u32
        };
        let read = event.read.and_then(place_of).map(|place| moved(place, is_last) + 1);
        let write = match at.filter(|_| is_last) {
            Some(at) => Some(2 * at as u32),
            None => event.write.and_then(place_of).map(|place| moved(place, false)),
        };
        places[position] = read.or(write).zip(write.or(read));
    }
}
