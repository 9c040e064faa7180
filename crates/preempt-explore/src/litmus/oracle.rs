//! What RC11 allows, from its axioms as they are written down. No code of the explorer is used.
//!
//! [`allowed`] guesses the reads-from relation and modification orders of whole executions and judges
//! them. [`costs`] builds executions event by event, judging every prefix, and finds out how few stale
//! choices and preemptions each graph needs.

use super::{Cost, Kind, Litmus, Name, Shape};
use crate::Order;
use std::collections::{BTreeMap, BTreeSet};

/// Axioms and parts of definitions that can be left out, to show that tests would notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Axiom {
    Coherence,
    Atomicity,
    NoThinAir,
    StrongAccesses,
    StrongFences,
    /// psc between fences and accesses.
    StrongMixed,
    ReleaseSequences,
    ReleaseFences,
    AcquireFences,
    Synchronisation,
}

/// A relation between at most 32 events.
#[derive(Clone, PartialEq, Eq)]
struct Relation(Vec<u32>);

impl Relation {
    fn new(count: usize, related: impl Fn(usize, usize) -> bool) -> Self {
        let row = |a| (0..count).filter(|&b| related(a, b)).fold(0, |row, b| row | 1 << b);
        Relation((0..count).map(row).collect())
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] & 1 << b != 0
    }

    fn or(&self, other: &Relation) -> Relation {
        Relation(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }

    fn then(&self, other: &Relation) -> Relation {
        let row = |row: &u32| {
            (0..other.0.len()).filter(|b| row & 1 << b != 0).fold(0, |out, b| out | other.0[b])
        };
        Relation(self.0.iter().map(row).collect())
    }

    fn or_same(&self) -> Relation {
        Relation(self.0.iter().enumerate().map(|(a, row)| row | 1 << a).collect())
    }

    fn closure(&self) -> Relation {
        let mut all = self.clone();
        loop {
            let more = all.or(&all.then(&all));
            if more == all {
                return all;
            }
            all = more;
        }
    }

    fn is_irreflexive(&self) -> bool {
        (0..self.0.len()).all(|a| !self.has(a, a))
    }

    fn is_acyclic(&self) -> bool {
        self.closure().is_irreflexive()
    }
}

#[derive(Default)]
struct Event {
    thread: usize,
    location: Option<usize>,
    reads: bool,
    writes: bool,
    order: Option<Order>,
    initial: bool,
}

impl Event {
    fn is_fence(&self) -> bool {
        self.location.is_none()
    }

    fn is(&self, orders: &[Order]) -> bool {
        self.order.is_some_and(|order| orders.contains(&order))
    }

    fn shares_location(&self, other: &Event) -> bool {
        self.location.is_some() && self.location == other.location
    }

    fn updates(&self) -> bool {
        self.reads && self.writes
    }

    fn releases(&self) -> bool {
        self.is(&[Order::Release, Order::AcquireRelease, Order::SequentiallyConsistent])
    }

    fn acquires(&self) -> bool {
        self.is(&[Order::Acquire, Order::AcquireRelease, Order::SequentiallyConsistent])
    }

    fn is_strong(&self) -> bool {
        self.is(&[Order::SequentiallyConsistent])
    }
}

pub(super) struct Judgement {
    pub(super) consistent: bool,
    pub(super) races: bool,
}

/// A prefix of an execution: its events, and the relations that shape it.
struct Execution {
    events: Vec<Event>,
    /// The event that each event reads from.
    sources: BTreeMap<usize, usize>,
    /// Places of writes in the modification orders of their locations.
    places: Vec<Option<usize>>,
    sb: Relation,
    rf: Relation,
    mo: Relation,
    without: Option<Axiom>,
}

impl Execution {
    /// The events of threads that have done so many accesses, with all fences before their next one, and
    /// where each access stands among them.
    fn events(
        litmus: &Litmus,
        done: &[usize],
        shape: &Shape,
    ) -> (Vec<Event>, BTreeMap<Name, usize>) {
        let mut numbers = BTreeMap::new();
        let begin = |location| Event {
            location: Some(location),
            writes: true,
            initial: true,
            ..Event::default()
        };
        let mut events: Vec<Event> = (0..litmus.locations.len()).map(begin).collect();
        for (thread, instructions) in litmus.threads.iter().enumerate() {
            let mut index = 0;
            for instruction in instructions {
                let order = instruction.order;
                let mut event = Event { thread, order, ..Event::default() };
                if instruction.kind != Kind::Fence {
                    if index == done[thread] {
                        break;
                    }
                    let name = (thread, index);
                    index += 1;
                    numbers.insert(name, events.len());
                    event.location = Some(instruction.location);
                    event.reads = shape.reads.contains_key(&name);
                    event.writes = shape.orders[instruction.location].contains(&name);
                    if let (Kind::Compare(.., failure, _), false) = (instruction.kind, event.writes)
                    {
                        event.order = Some(failure);
                    }
                }
                events.push(event);
            }
        }
        (events, numbers)
    }

    fn new(litmus: &Litmus, done: &[usize], shape: &Shape, without: Option<Axiom>) -> Self {
        let (events, numbers) = Execution::events(litmus, done, shape);
        let source = |(name, write): (&Name, &Option<Name>)| {
            let reader = numbers[name];
            (reader, write.map_or_else(|| events[reader].location.unwrap(), |w| numbers[&w]))
        };
        let sources: BTreeMap<usize, usize> = shape.reads.iter().map(source).collect();
        let mut places = vec![None; events.len()];
        for (location, order) in shape.orders.iter().enumerate().take(litmus.locations.len()) {
            places[location] = Some(0);
            for (place, write) in order.iter().enumerate() {
                places[numbers[write]] = Some(place + 1);
            }
        }
        let relation =
            |related: &dyn Fn(usize, usize) -> bool| Relation::new(events.len(), related);
        let sb =
            relation(&|a, b| events[a].thread == events[b].thread && !events[a].initial && a < b);
        let rf = relation(&|a, b| sources.get(&b) == Some(&a));
        let mo = relation(&|a, b| {
            events[a].shares_location(&events[b]) && places[a].is_some() && places[a] < places[b]
        });
        Execution { events, sources, places, sb, rf, mo, without }
    }

    fn relation(&self, related: impl Fn(usize, usize) -> bool) -> Relation {
        Relation::new(self.events.len(), related)
    }

    /// These events, each related to itself.
    fn only(&self, is: impl Fn(&Event) -> bool) -> Relation {
        self.relation(|a, b| a == b && is(&self.events[a]))
    }

    fn fences(&self, is: fn(&Event) -> bool) -> Relation {
        self.only(|e| e.is_fence() && is(e))
    }

    /// The relation, or the empty one if this part of the definitions is left out.
    fn keep(&self, axiom: Axiom, relation: Relation) -> Relation {
        if self.without == Some(axiom) { self.relation(|_, _| false) } else { relation }
    }

    /// Whether every update is the next write after the one that it reads.
    fn is_atomic(&self) -> bool {
        let mut updates = (0..self.events.len()).filter(|&a| self.events[a].updates());
        updates.all(|a| {
            let source = self.sources[&a];
            self.places[source].map(|place| place + 1) == self.places[a]
        })
    }

    fn happens_before(&self) -> Relation {
        // rs = [W not na] ; (rf ; rmw)*
        let updates = self.only(Event::updates);
        let chain = self.keep(Axiom::ReleaseSequences, self.rf.then(&updates)).closure().or_same();
        let rs = self.only(|e| e.writes && e.order.is_some()).then(&chain);
        let release_fences = self.fences(Event::releases).then(&self.sb);
        let acquire_fences = self.sb.then(&self.fences(Event::acquires));
        let begins = self
            .only(|e| e.writes && e.releases())
            .or(&self.keep(Axiom::ReleaseFences, release_fences));
        let ends = self
            .only(|e| e.reads && e.acquires())
            .or(&self.keep(Axiom::AcquireFences, acquire_fences));
        let reads = self.only(|e| e.reads && e.order.is_some());
        let sw = begins.then(&rs).then(&self.rf).then(&reads).then(&ends);
        let sw = self.keep(Axiom::Synchronisation, sw);
        let first = self.relation(|a, b| self.events[a].initial && !self.events[b].initial);
        self.sb.or(&sw).or(&first).closure()
    }

    /// The partial order psc of sequentially consistent events.
    fn psc(&self, hb: &Relation, rb: &Relation, eco: &Relation) -> Relation {
        // scb = sb | sb(other location);hb;sb(other location) | hb(same location) | mo | rb
        let events = &self.events;
        let elsewhere =
            self.relation(|a, b| self.sb.has(a, b) && events[a].location != events[b].location);
        let scb = self
            .sb
            .or(&elsewhere.then(hb).then(&elsewhere))
            .or(&self.relation(|a, b| events[a].shares_location(&events[b]) && hb.has(a, b)))
            .or(&self.mo)
            .or(rb);
        let strong = self.only(Event::is_strong);
        let strong_fences = self.fences(Event::is_strong);
        let left = self.keep(Axiom::StrongMixed, strong_fences.then(&hb.or_same()));
        let right = self.keep(Axiom::StrongMixed, hb.or_same().then(&strong_fences));
        let accesses = strong.or(&left).then(&scb).then(&strong.or(&right));
        let between = strong_fences.then(&hb.or(&hb.then(eco).then(hb))).then(&strong_fences);
        self.keep(Axiom::StrongAccesses, accesses).or(&self.keep(Axiom::StrongFences, between))
    }

    /// Whether two accesses to a location of which one is plain and one writes are not ordered.
    fn races(&self, hb: &Relation) -> bool {
        let race = |a: usize, b: usize| {
            let (x, y) = (&self.events[a], &self.events[b]);
            let conflict = x.writes || y.writes;
            let plain = x.order.is_none() || y.order.is_none();
            let apart = x.thread != y.thread && !x.initial && !y.initial;
            let ordered = hb.has(a, b) || hb.has(b, a);
            x.shares_location(y) && conflict && plain && apart && !ordered
        };
        let count = self.events.len();
        (0..count).any(|a| (0..count).any(|b| race(a, b)))
    }
}

/// Judges the prefix of an execution in which the threads have done so many accesses, with all fences
/// before their next one.
pub(super) fn judge(
    litmus: &Litmus,
    done: &[usize],
    shape: &Shape,
    without: Option<Axiom>,
) -> Judgement {
    let execution = Execution::new(litmus, done, shape, without);
    let Execution { sb, rf, mo, .. } = &execution;
    let is_required = |axiom: Axiom| without != Some(axiom);
    let no = Judgement { consistent: false, races: false };
    // Cheap ones first.
    if !execution.is_atomic() && is_required(Axiom::Atomicity) {
        return no;
    }
    if !sb.or(rf).is_acyclic() && is_required(Axiom::NoThinAir) {
        return no;
    }
    let backwards = execution.relation(|a, b| rf.has(b, a)).then(mo);
    let rb = execution.relation(|a, b| a != b && backwards.has(a, b));
    let eco = rf.or(mo).or(&rb).closure();
    let hb = execution.happens_before();
    let coherent = hb.is_irreflexive() && hb.then(&eco).is_irreflexive();
    if !coherent && is_required(Axiom::Coherence) {
        return no;
    }
    let consistent = execution.psc(&hb, &rb, &eco).is_acyclic();
    Judgement { consistent, races: execution.races(&hb) }
}

fn may_write(kind: Kind) -> bool {
    !matches!(kind, Kind::Load | Kind::Fence)
}

fn must_read(kind: Kind) -> bool {
    !matches!(kind, Kind::Store(_) | Kind::Fence)
}

/// Whether comparisons write exactly where their values say so, if values are grounded.
fn compares(litmus: &Litmus, shape: &Shape) -> bool {
    shape.reads.keys().all(|&name| {
        let instruction = litmus.access(name);
        let Kind::Compare(expected, _, _, may_fail) = instruction.kind else { return true };
        let writes = shape.orders[instruction.location].contains(&name);
        let equal = litmus.value(shape, name).0 == expected;
        writes == equal || (may_fail && equal && !writes)
    })
}

/// Whether no value depends on itself.
fn is_grounded(shape: &Shape) -> bool {
    let ends = |mut name: Name| {
        for _ in 0..=shape.reads.len() {
            match shape.reads.get(&name) {
                Some(Some(write)) => name = *write,
                _ => return true,
            }
        }
        false
    };
    shape.reads.keys().all(|&name| ends(name))
}

/// All consistent graphs; `None` if there are too many to guess. Also whether one of them races.
pub(super) fn allowed(litmus: &Litmus, without: Option<Axiom>) -> Option<(BTreeSet<Shape>, bool)> {
    let done: Vec<usize> = (0..litmus.threads.len()).map(|t| litmus.accesses(t).count()).collect();
    let names: Vec<Name> =
        done.iter().enumerate().flat_map(|(t, &n)| (0..n).map(move |i| (t, i))).collect();
    let comparisons: Vec<Name> = names
        .iter()
        .copied()
        .filter(|&n| matches!(litmus.access(n).kind, Kind::Compare(..)))
        .collect();
    let mut found = BTreeSet::new();
    let mut races = false;
    let mut budget = 20_000_u64;
    for success in 0..1_u32 << comparisons.len() {
        let writes = |name: Name| {
            let kind = litmus.access(name).kind;
            match comparisons.iter().position(|&c| c == name) {
                Some(index) => success & 1 << index != 0,
                None => may_write(kind),
            }
        };
        let writers = |location: usize| -> Vec<Name> {
            let there = |n: &Name| litmus.access(*n).location == location && writes(*n);
            names.iter().copied().filter(there).collect()
        };
        let mut shapes = vec![Shape::default()];
        for location in 0..litmus.locations.len() {
            let orders = permutations(&writers(location));
            shapes = product(&shapes, &orders, |shape, order| shape.orders.push(order.clone()))?;
        }
        for &reader in names.iter().filter(|n| must_read(litmus.access(**n).kind)) {
            let mut choices: Vec<Option<Name>> = vec![None];
            let others = writers(litmus.access(reader).location);
            choices.extend(others.into_iter().filter(|&w| w != reader).map(Some));
            shapes = product(&shapes, &choices, |shape, choice| {
                shape.reads.insert(reader, *choice);
            })?;
        }
        budget = budget.checked_sub(shapes.len() as u64)?;
        for shape in shapes {
            if !is_grounded(&shape) || !compares(litmus, &shape) {
                continue;
            }
            let judgement = judge(litmus, &done, &shape, without);
            if judgement.consistent {
                races |= judgement.races;
                found.insert(shape);
            }
        }
    }
    Some((found, races))
}

fn product<T>(shapes: &[Shape], choices: &[T], add: impl Fn(&mut Shape, &T)) -> Option<Vec<Shape>> {
    if shapes.len() * choices.len() > 20_000 {
        return None;
    }
    let mut out = Vec::with_capacity(shapes.len() * choices.len());
    for shape in shapes {
        for choice in choices {
            let mut shape = shape.clone();
            add(&mut shape, choice);
            out.push(shape);
        }
    }
    Some(out)
}

fn permutations(names: &[Name]) -> Vec<Vec<Name>> {
    let Some((&first, rest)) = names.split_first() else { return vec![Vec::new()] };
    let mut out = Vec::new();
    for order in permutations(rest) {
        for at in 0..=order.len() {
            let mut order = order.clone();
            order.insert(at, first);
            out.push(order);
        }
    }
    out
}

/// All complete graphs with the costs that are not beaten in both respects; `None` if there are too many
/// states.
pub(super) fn costs(litmus: &Litmus) -> Option<BTreeMap<Shape, Vec<Cost>>> {
    type State = (Vec<usize>, Shape, Option<usize>);
    let threads = litmus.threads.len();
    let lengths: Vec<usize> = (0..threads).map(|t| litmus.accesses(t).count()).collect();
    let empty = Shape { orders: vec![Vec::new(); litmus.locations.len()], ..Shape::default() };
    let mut best: BTreeMap<State, Vec<Cost>> = BTreeMap::new();
    let mut worklist = vec![((vec![0; threads], empty, None), (0, 0))];
    let mut out: BTreeMap<Shape, Vec<Cost>> = BTreeMap::new();
    while let Some((state, cost)) = worklist.pop() {
        if !improves(best.entry(state.clone()).or_default(), cost) {
            continue;
        }
        if best.len() > 10_000 {
            return None;
        }
        let (done, shape, last) = state;
        if done == lengths {
            improves(out.entry(shape).or_default(), cost);
            continue;
        }
        for thread in (0..threads).filter(|&t| done[t] < lengths[t]) {
            let preempts = last.is_some_and(|last| last != thread && done[last] < lengths[last]);
            for (shape, stale) in extensions(litmus, &done, &shape, thread) {
                let mut done = done.clone();
                done[thread] += 1;
                if judge(litmus, &done, &shape, None).consistent {
                    let cost = (cost.0 + u32::from(stale), cost.1 + u32::from(preempts));
                    worklist.push(((done, shape, Some(thread)), cost));
                }
            }
        }
    }
    Some(out)
}

/// Adds a cost unless another one is at least as good.
fn improves(known: &mut Vec<Cost>, cost: Cost) -> bool {
    if known.iter().any(|k| k.0 <= cost.0 && k.1 <= cost.1) {
        return false;
    }
    known.retain(|k| !(cost.0 <= k.0 && cost.1 <= k.1));
    known.push(cost);
    true
}

/// The next access of a thread in all ways, and whether each is a stale choice.
fn extensions(litmus: &Litmus, done: &[usize], shape: &Shape, thread: usize) -> Vec<(Shape, bool)> {
    let name = (thread, done[thread]);
    let instruction = litmus.access(name);
    let order = &shape.orders[instruction.location];
    let mut out = Vec::new();
    if !must_read(instruction.kind) {
        for at in 0..=order.len() {
            let mut shape = shape.clone();
            shape.orders[instruction.location].insert(at, name);
            out.push((shape, at < order.len()));
        }
        return out;
    }
    for at in 0..=order.len() {
        let stale = at < order.len();
        let mut read = shape.clone();
        read.reads.insert(name, at.checked_sub(1).map(|at| order[at]));
        let mut written = read.clone();
        written.orders[instruction.location].insert(at, name);
        match instruction.kind {
            Kind::Load => out.push((read, stale)),
            Kind::Compare(expected, _, _, may_fail) => {
                let equal = litmus.value(&read, name).0 == expected;
                if equal {
                    out.push((written, stale));
                }
                if !equal || may_fail {
                    out.push((read, stale || equal));
                }
            }
            _ => out.push((written, stale)),
        }
    }
    out
}
