//! Binary decision diagrams with complement edges: sets of states as shared graphs.
//!
//! Why our own and not a library: a table that grows while an operation runs, an exact memory
//! limit, and operations that stop when asked to. Libraries with a fixed table fail in the middle
//! of an operation, and the whole set of diagrams would have to be copied to go on.
//!
//! Invariants: the high edge of a node is never complemented, no node has equal edges, no two
//! nodes are equal, levels increase downwards. So a function has exactly one edge. Garbage is
//! collected only between operations, from the handles ([`Diagram`]) that are alive.

use crate::limits::Watch;
use preempt_core::Stop;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// An edge: the node's index, doubled, plus one if complemented.
type Edge = u32;
const TRUE: Edge = 0;
const FALSE: Edge = 1;
const NONE: u32 = u32::MAX;
/// As many as edges can name.
pub(crate) const MAX_NODES: usize = 1 << 30;
/// The level of the constant node, below all variables.
const BOTTOM: u32 = u32::MAX;

/// A variable, by its level: smaller is nearer to the root.
pub(crate) type Level = u32;

#[derive(Clone, Copy)]
struct Node {
    level: Level,
    high: Edge,
    low: Edge,
    /// The next node of the same bucket, or of the free list.
    next: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    And = 1,
    Xor,
    Exists,
    AndExists,
    Rename,
}

#[derive(Clone, Copy)]
struct Cached {
    key: (Edge, Edge, u32, u32),
    result: Edge,
}

const EMPTY: Cached = Cached { key: (NONE, NONE, NONE, 0), result: 0 };

/// All diagrams of one search.
pub(crate) struct Diagrams<'w> {
    core: RefCell<Core<'w>>,
    references: Rc<RefCell<Vec<u32>>>,
}

/// A function of the variables. Cloning and dropping is cheap.
pub(crate) struct Diagram {
    edge: Edge,
    references: Rc<RefCell<Vec<u32>>>,
}

impl Clone for Diagram {
    fn clone(&self) -> Self {
        self.references.borrow_mut()[(self.edge >> 1) as usize] += 1;
        Diagram { edge: self.edge, references: self.references.clone() }
    }
}

impl Drop for Diagram {
    fn drop(&mut self) {
        self.references.borrow_mut()[(self.edge >> 1) as usize] -= 1;
    }
}

impl PartialEq for Diagram {
    fn eq(&self, other: &Self) -> bool {
        self.edge == other.edge
    }
}

impl Diagram {
    pub(crate) fn is_false(&self) -> bool {
        self.edge == FALSE
    }

    pub(crate) fn is_true(&self) -> bool {
        self.edge == TRUE
    }
}

/// A renaming of variables, made once and used often: its number is part of cache keys.
pub(crate) struct Renaming {
    number: u32,
    /// New level per level; unchanged levels map to themselves.
    map: Vec<Level>,
    is_identity: bool,
}

type Made = Result<Edge, Stop>;

struct Core<'w> {
    nodes: Vec<Node>,
    free: u32,
    free_count: usize,
    buckets: Vec<u32>,
    cache: Vec<Cached>,
    watch: &'w Watch<'w>,
    limit: usize,
    /// Nodes in use when the next collection is due.
    collect_at: usize,
    operations: Cell<u32>,
    renamings: u32,
    peak: usize,
}

impl<'w> Diagrams<'w> {
    pub(crate) fn new(watch: &'w Watch<'w>) -> Self {
        Self::with_limit(watch, MAX_NODES)
    }

    /// Operations fail when there are more nodes than this, garbage included.
    pub(crate) fn with_limit(watch: &'w Watch<'w>, nodes: usize) -> Self {
        let constant = Node { level: BOTTOM, high: TRUE, low: TRUE, next: NONE };
        let core = Core {
            nodes: vec![constant],
            free: NONE,
            free_count: 0,
            buckets: vec![NONE; 1 << 12],
            cache: vec![EMPTY; 1 << 12],
            watch,
            limit: nodes.min(MAX_NODES),
            collect_at: 1 << 17,
            operations: Cell::new(0),
            renamings: 0,
            peak: 0,
        };
        Diagrams { core: RefCell::new(core), references: Rc::new(RefCell::new(vec![1])) }
    }

    fn handle(&self, edge: Edge) -> Diagram {
        let mut references = self.references.borrow_mut();
        let node = (edge >> 1) as usize;
        if references.len() <= node {
            references.resize(node + 1, 0);
        }
        references[node] += 1;
        drop(references);
        Diagram { edge, references: self.references.clone() }
    }

    fn run(&self, operation: impl FnOnce(&mut Core<'w>) -> Made) -> Result<Diagram, Stop> {
        let mut core = self.core.borrow_mut();
        if core.in_use() > core.collect_at {
            core.collect(&self.references.borrow());
        }
        let edge = operation(&mut core)?;
        drop(core);
        Ok(self.handle(edge))
    }

    pub(crate) fn constant(&self, value: bool) -> Diagram {
        self.handle(if value { TRUE } else { FALSE })
    }

    pub(crate) fn variable(&self, level: Level) -> Result<Diagram, Stop> {
        self.run(|core| core.make(level, TRUE, FALSE))
    }

    pub(crate) fn not(&self, a: &Diagram) -> Diagram {
        self.handle(a.edge ^ 1)
    }

    pub(crate) fn and(&self, a: &Diagram, b: &Diagram) -> Result<Diagram, Stop> {
        self.run(|core| core.and(a.edge, b.edge))
    }

    pub(crate) fn or(&self, a: &Diagram, b: &Diagram) -> Result<Diagram, Stop> {
        self.run(|core| Ok(core.and(a.edge ^ 1, b.edge ^ 1)? ^ 1))
    }

    pub(crate) fn minus(&self, a: &Diagram, b: &Diagram) -> Result<Diagram, Stop> {
        self.run(|core| core.and(a.edge, b.edge ^ 1))
    }

    pub(crate) fn xor(&self, a: &Diagram, b: &Diagram) -> Result<Diagram, Stop> {
        self.run(|core| core.xor(a.edge, b.edge))
    }

    pub(crate) fn equal(&self, a: &Diagram, b: &Diagram) -> Result<Diagram, Stop> {
        self.run(|core| Ok(core.xor(a.edge, b.edge)? ^ 1))
    }

    /// The conjunction of the variables, for quantification.
    pub(crate) fn cube(&self, levels: impl IntoIterator<Item = Level>) -> Result<Diagram, Stop> {
        let mut levels: Vec<Level> = levels.into_iter().collect();
        levels.sort_unstable();
        levels.dedup();
        self.run(|core| {
            let mut cube = TRUE;
            for level in levels.into_iter().rev() {
                cube = core.make(level, cube, FALSE)?;
            }
            Ok(cube)
        })
    }

    pub(crate) fn exists(&self, a: &Diagram, cube: &Diagram) -> Result<Diagram, Stop> {
        self.run(|core| core.exists(a.edge, cube.edge))
    }

    /// `exists cube. a & b`, without building the conjunction.
    pub(crate) fn and_exists(
        &self,
        a: &Diagram,
        b: &Diagram,
        cube: &Diagram,
    ) -> Result<Diagram, Stop> {
        self.run(|core| core.and_exists(a.edge, b.edge, cube.edge))
    }

    pub(crate) fn renaming(&self, pairs: impl IntoIterator<Item = (Level, Level)>) -> Renaming {
        let mut map: Vec<Level> = Vec::new();
        let mut is_identity = true;
        for (from, to) in pairs {
            while map.len() <= from as usize {
                map.push(map.len() as Level);
            }
            map[from as usize] = to;
            is_identity &= from == to;
        }
        let mut core = self.core.borrow_mut();
        core.renamings += 1;
        Renaming { number: core.renamings, map, is_identity }
    }

    /// No variable of `a` that stays may be the new name of another.
    pub(crate) fn rename(&self, a: &Diagram, renaming: &Renaming) -> Result<Diagram, Stop> {
        if renaming.is_identity {
            return Ok(a.clone());
        }
        self.run(|core| core.rename(a.edge, renaming))
    }

    /// Values of the variables that make `a` true, by level; levels not listed may be anything.
    pub(crate) fn pick(&self, a: &Diagram) -> Option<Vec<(Level, bool)>> {
        if a.is_false() {
            return None;
        }
        let core = self.core.borrow();
        let mut values = Vec::new();
        let mut edge = a.edge;
        while edge != TRUE {
            let (level, high, low) = core.open(edge);
            let take_low = low != FALSE;
            values.push((level, !take_low));
            edge = if take_low { low } else { high };
        }
        Some(values)
    }

    /// Most nodes in use at any time, and the bytes that takes.
    pub(crate) fn peak(&self) -> (u64, u64) {
        let core = self.core.borrow();
        (core.peak.max(core.in_use()) as u64, core.bytes())
    }
}

impl Core<'_> {
    fn in_use(&self) -> usize {
        self.nodes.len() - self.free_count
    }

    fn bytes(&self) -> u64 {
        (self.nodes.len() * 16 + self.buckets.len() * 4 + self.cache.len() * 20) as u64
    }

    fn level(&self, edge: Edge) -> Level {
        self.nodes[(edge >> 1) as usize].level
    }

    /// Level, high and low of the function behind an edge.
    fn open(&self, edge: Edge) -> (Level, Edge, Edge) {
        let node = &self.nodes[(edge >> 1) as usize];
        let complement = edge & 1;
        (node.level, node.high ^ complement, node.low ^ complement)
    }

    /// Both cofactors with respect to `level`.
    fn split(&self, edge: Edge, level: Level) -> (Edge, Edge) {
        let (own, high, low) = self.open(edge);
        if own == level { (high, low) } else { (edge, edge) }
    }

    fn make(&mut self, level: Level, high: Edge, low: Edge) -> Made {
        if high == low {
            return Ok(high);
        }
        if high & 1 == 1 {
            return Ok(self.make_regular(level, high ^ 1, low ^ 1)? ^ 1);
        }
        self.make_regular(level, high, low)
    }

    fn make_regular(&mut self, level: Level, high: Edge, low: Edge) -> Made {
        let bucket = hash(level, high, low, 7) as usize & (self.buckets.len() - 1);
        let mut at = self.buckets[bucket];
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.level == level && node.high == high && node.low == low {
                return Ok(at << 1);
            }
            at = node.next;
        }
        let node = Node { level, high, low, next: self.buckets[bucket] };
        let index = if self.free != NONE {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.free_count -= 1;
            self.nodes[index as usize] = node;
            index
        } else {
            if self.nodes.len() >= self.limit || self.bytes() > self.watch.memory() {
                return Err(Stop::Memory);
            }
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        self.buckets[bucket] = index;
        if self.in_use() > self.buckets.len() {
            self.grow();
        }
        Ok(index << 1)
    }

    fn grow(&mut self) {
        self.buckets = vec![NONE; self.buckets.len() * 2];
        self.rehash(|_| true);
        if self.cache.len() < 1 << 21 {
            let old = std::mem::take(&mut self.cache);
            self.cache = vec![EMPTY; old.len() * 2];
            for entry in old.into_iter().filter(|entry| entry.key != EMPTY.key) {
                let slot = self.slot(entry.key);
                self.cache[slot] = entry;
            }
        }
    }

    fn rehash(&mut self, keep: impl Fn(usize) -> bool) {
        let mask = self.buckets.len() - 1;
        // Free nodes carry the level of the constant.
        for i in 1..self.nodes.len() {
            let node = self.nodes[i];
            if node.level != BOTTOM && keep(i) {
                let bucket = hash(node.level, node.high, node.low, 7) as usize & mask;
                self.nodes[i].next = self.buckets[bucket];
                self.buckets[bucket] = i as u32;
            }
        }
    }

    fn collect(&mut self, references: &[u32]) {
        self.peak = self.peak.max(self.in_use());
        let mut marked = vec![false; self.nodes.len()];
        marked[0] = true;
        let mut stack: Vec<u32> =
            (0..references.len() as u32).filter(|i| references[*i as usize] > 0).collect();
        while let Some(i) = stack.pop() {
            if !std::mem::replace(&mut marked[i as usize], true) || i == 0 {
                let node = self.nodes[i as usize];
                if node.level != BOTTOM {
                    stack.extend(
                        [node.high >> 1, node.low >> 1]
                            .into_iter()
                            .filter(|c| !marked[*c as usize]),
                    );
                }
            }
        }
        self.buckets.fill(NONE);
        self.free = NONE;
        self.free_count = 0;
        for (i, marked) in marked.iter().enumerate().skip(1) {
            if !marked {
                self.nodes[i] = Node { level: BOTTOM, high: TRUE, low: TRUE, next: self.free };
                self.free = i as u32;
                self.free_count += 1;
            }
        }
        self.rehash(|i| marked[i]);
        self.cache.fill(EMPTY);
        self.collect_at = (self.in_use() * 2).max(1 << 17);
    }

    fn slot(&self, key: (Edge, Edge, u32, u32)) -> usize {
        hash(key.0, key.1, key.2, key.3) as usize & (self.cache.len() - 1)
    }

    fn cached(&self, key: (Edge, Edge, u32, u32)) -> Option<Edge> {
        let entry = &self.cache[self.slot(key)];
        (entry.key == key).then_some(entry.result)
    }

    fn remember(&mut self, key: (Edge, Edge, u32, u32), result: Edge) -> Made {
        let slot = self.slot(key);
        self.cache[slot] = Cached { key, result };
        let count = self.operations.get().wrapping_add(1);
        self.operations.set(count);
        if count.is_multiple_of(1 << 14) {
            self.watch.check(self.in_use() as u64)?;
        }
        Ok(result)
    }

    fn and(&mut self, a: Edge, b: Edge) -> Made {
        if a == b || b == TRUE {
            return Ok(a);
        }
        if a == TRUE {
            return Ok(b);
        }
        if a == FALSE || b == FALSE || a == b ^ 1 {
            return Ok(FALSE);
        }
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        let key = (a, b, 0, Operation::And as u32);
        if let Some(result) = self.cached(key) {
            return Ok(result);
        }
        let level = self.level(a).min(self.level(b));
        let ((ah, al), (bh, bl)) = (self.split(a, level), self.split(b, level));
        let high = self.and(ah, bh)?;
        let low = self.and(al, bl)?;
        let result = self.make(level, high, low)?;
        self.remember(key, result)
    }

    fn xor(&mut self, a: Edge, b: Edge) -> Made {
        let complement = (a ^ b) & 1;
        let (a, b) = (a & !1, b & !1);
        if a == b {
            return Ok(FALSE ^ complement);
        }
        if a == TRUE {
            return Ok(b ^ 1 ^ complement);
        }
        if b == TRUE {
            return Ok(a ^ 1 ^ complement);
        }
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        let key = (a, b, 0, Operation::Xor as u32);
        if let Some(result) = self.cached(key) {
            return Ok(result ^ complement);
        }
        let level = self.level(a).min(self.level(b));
        let ((ah, al), (bh, bl)) = (self.split(a, level), self.split(b, level));
        let high = self.xor(ah, bh)?;
        let low = self.xor(al, bl)?;
        let result = self.make(level, high, low)?;
        Ok(self.remember(key, result)? ^ complement)
    }

    /// The part of the cube at or below `level`.
    fn below(&self, mut cube: Edge, level: Level) -> Edge {
        while self.level(cube) < level {
            cube = self.open(cube).1;
        }
        cube
    }

    fn exists(&mut self, a: Edge, cube: Edge) -> Made {
        let level = self.level(a);
        let cube = self.below(cube, level);
        if cube == TRUE || level == BOTTOM {
            return Ok(a);
        }
        let key = (a, cube, 0, Operation::Exists as u32);
        if let Some(result) = self.cached(key) {
            return Ok(result);
        }
        let (_, high, low) = self.open(a);
        let result = if self.level(cube) == level {
            let rest = self.open(cube).1;
            let high = self.exists(high, rest)?;
            if high == TRUE {
                TRUE
            } else {
                let low = self.exists(low, rest)?;
                self.and(high ^ 1, low ^ 1)? ^ 1
            }
        } else {
            let high = self.exists(high, cube)?;
            let low = self.exists(low, cube)?;
            self.make(level, high, low)?
        };
        self.remember(key, result)
    }

    fn and_exists(&mut self, a: Edge, b: Edge, cube: Edge) -> Made {
        if a == FALSE || b == FALSE || a == b ^ 1 {
            return Ok(FALSE);
        }
        if a == TRUE || a == b {
            return self.exists(b, cube);
        }
        if b == TRUE {
            return self.exists(a, cube);
        }
        let level = self.level(a).min(self.level(b));
        let cube = self.below(cube, level);
        if cube == TRUE {
            return self.and(a, b);
        }
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        let key = (a, b, cube, Operation::AndExists as u32);
        if let Some(result) = self.cached(key) {
            return Ok(result);
        }
        let ((ah, al), (bh, bl)) = (self.split(a, level), self.split(b, level));
        let result = if self.level(cube) == level {
            let rest = self.open(cube).1;
            let high = self.and_exists(ah, bh, rest)?;
            if high == TRUE {
                TRUE
            } else {
                let low = self.and_exists(al, bl, rest)?;
                self.and(high ^ 1, low ^ 1)? ^ 1
            }
        } else {
            let high = self.and_exists(ah, bh, cube)?;
            let low = self.and_exists(al, bl, cube)?;
            self.make(level, high, low)?
        };
        self.remember(key, result)
    }

    fn rename(&mut self, a: Edge, renaming: &Renaming) -> Made {
        let complement = a & 1;
        let a = a & !1;
        if a == TRUE {
            return Ok(a ^ complement);
        }
        let key = (a, renaming.number, 0, Operation::Rename as u32);
        if let Some(result) = self.cached(key) {
            return Ok(result ^ complement);
        }
        let (level, high, low) = self.open(a);
        let high = self.rename(high, renaming)?;
        let low = self.rename(low, renaming)?;
        let new = renaming.map.get(level as usize).copied().unwrap_or(level);
        let result = if new < self.level(high) && new < self.level(low) {
            self.make(new, high, low)?
        } else {
            let variable = self.make(new, TRUE, FALSE)?;
            let high = self.and(variable, high)?;
            let low = self.and(variable ^ 1, low)?;
            self.and(high ^ 1, low ^ 1)? ^ 1
        };
        Ok(self.remember(key, result)? ^ complement)
    }
}

fn hash(a: u32, b: u32, c: u32, d: u32) -> u32 {
    let mut h = u64::from(a) << 32 | u64::from(b);
    h = (h ^ (u64::from(c) << 17 | u64::from(d) << 57)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h = (h ^ (h >> 29) ^ u64::from(c)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (h >> 32) as u32
}

#[cfg(test)]
mod tests;
