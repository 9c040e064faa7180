//! What an execution owns besides coroutines: the names of objects, statics, thread-locals,
//! reference counts, virtual time.
//!
//! Everything here is reset between executions. What can only be learnt while running (an object
//! made outside the test body, a static, an `Arc` whose count matters) is noted for good and the
//! exploration begins again with that knowledge: names must be the same in every execution.

use super::current;
use super::heap::{Paused, inward, outward};
use preempt_explore::{Action, Ending, ObjectId, Run, Site, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::any::Any;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The name of an object under control, kept inside the object.
///
/// Invariant: the low half is an object id only if the high half is the number of the execution
/// in progress.
pub(crate) struct Slot(AtomicU64);

impl Slot {
    /// The name of a new object with this value.
    #[track_caller]
    pub(crate) fn new(value: u64) -> Self {
        let slot = Slot::unregistered();
        if let Some(runtime) = current() {
            let _paused = Paused::new();
            let object = runtime.run().create(value);
            slot.set(runtime.registry.epoch, object);
            if runtime.run().events.is_some() {
                runtime.registry.origins.insert(object, std::panic::Location::caller());
            }
        }
        slot
    }

    /// A name to be found out later.
    pub(crate) const fn unregistered() -> Self {
        Slot(AtomicU64::new(0))
    }

    /// The object in the execution in progress. `value` is its value if it was made outside.
    #[inline]
    pub(crate) fn object(
        &self,
        runtime: &mut super::Runtime,
        value: impl FnOnce() -> u64,
    ) -> ObjectId {
        let packed = self.0.load(Ordering::Relaxed);
        if (packed >> 32) as u32 == runtime.registry.epoch {
            return ObjectId(packed as u32);
        }
        let address = (&raw const *self).addr();
        let object = match runtime.registry.externals.get(&address) {
            Some(&object) => object,
            // Nothing that is allocated for it belongs to the test.
            None => runtime.external(address, value()),
        };
        self.set(runtime.registry.epoch, object);
        object
    }

    /// The name of the object, for whoever may outlive it.
    pub(crate) fn name(&self, runtime: &mut super::Runtime) -> Name {
        Name { epoch: runtime.registry.epoch, object: self.object(runtime, || 0) }
    }

    /// As [`current`]. A thread that is not under control must not use an object of an execution
    /// in progress: its operations would be invisible.
    #[inline]
    #[track_caller]
    pub(crate) fn runtime(&self) -> Option<&'static mut super::Runtime> {
        let runtime = current();
        if runtime.is_none() {
            let epoch = (self.0.load(Ordering::Relaxed) >> 32) as u32;
            assert!(
                epoch == 0 || !LIVE.iter().any(|live| live.load(Ordering::Relaxed) == epoch),
                "preempt: a thread that preempt does not control uses an object of a test in \
                 progress; spawn it with preempt::thread::spawn instead of std::thread::spawn"
            );
        }
        runtime
    }

    fn set(&self, epoch: u32, object: ObjectId) {
        self.0.store(u64::from(epoch) << 32 | u64::from(object.0), Ordering::Relaxed);
    }
}

/// The name of an object in one execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    epoch: u32,
    object: ObjectId,
}

impl Name {
    /// The object, if its execution is still in progress.
    pub(crate) fn object(self, runtime: &super::Runtime) -> Option<ObjectId> {
        (self.epoch == runtime.registry.epoch).then_some(self.object)
    }
}

/// How often an exploration may begin again because of objects made outside the test body.
const MOST_EXTERNALS: usize = 256;

/// What was learnt about the test and holds for all executions.
#[derive(Clone, Default)]
pub(crate) struct Knowledge {
    /// Objects made outside the body, by address, with their value at the beginning.
    externals: Vec<(usize, u64)>,
    statics: Vec<&'static dyn Reset>,
    /// Where Arcs are made whose counts are visible.
    counted: FxHashSet<Site>,
    /// Whether somebody looks whether threads have ended, so that ends are visible.
    pub(super) ends: bool,
    /// Whether atomics hold addresses, so that allocations must be followed.
    pub(super) addresses: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Registry {
    epoch: u32,
    live: Option<&'static AtomicU32>,
    pub(crate) knowledge: Knowledge,
    externals: FxHashMap<usize, ObjectId>,
    values: FxHashMap<usize, Box<dyn Any>>,
    value_order: Vec<usize>,
    /// `None` once the destructor of the value has begun.
    locals: FxHashMap<(ThreadId, usize), Option<Box<dyn Any>>>,
    /// Those with destructors.
    local_order: Vec<(ThreadId, usize)>,
    arcs: Vec<Option<Site>>,
    /// Objects that are 1 when their threads have ended, if ends are visible.
    ends: FxHashMap<ThreadId, ObjectId>,
    /// Tags of Arcs whose address was taken.
    raw_tags: FxHashMap<usize, Arc<dyn Any + Send + Sync>>,
    final_drop: Option<Site>,
    borrowed: Vec<(ThreadId, ObjectId, Box<u64>)>,
    /// Where objects were made, for a report.
    pub(crate) origins: FxHashMap<ObjectId, Site>,
    /// By thread: whether it has looked at the clock since its last yield, and how often in a row.
    looks: FxHashMap<ThreadId, (bool, u32)>,
}

static EPOCHS: AtomicU32 = AtomicU32::new(1);

/// Executions in progress, as far as there is room.
static LIVE: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

impl super::Runtime {
    /// Writes back what was changed through exclusive access, before anybody else can look.
    pub(super) fn flush(&mut self) {
        if self.registry.borrowed.is_empty() {
            return;
        }
        let _paused = Paused::new();
        let me = self.run().current;
        for index in 0..self.registry.borrowed.len() {
            let (thread, object, value) = &self.registry.borrowed[index];
            let (thread, object, value) = (*thread, *object, **value);
            if thread == me {
                let value = inward(self, value);
                self.run().assign(object, value);
            }
        }
    }

    /// A visible operation or access to a cell inside the destructor of an Arc's payload makes
    /// the count of that Arc visible.
    pub(super) fn before_operation(&mut self) {
        if let Some(site) = self.registry.final_drop() {
            self.count(site);
        }
    }

    /// From now on the reference counts of Arcs made at `site` are visible.
    fn count(&mut self, site: Site) {
        let _paused = Paused::new();
        if self.registry.knowledge.counted.insert(site) {
            self.stop(Ending::Restart);
        }
    }

    fn external(&mut self, address: usize, value: u64) -> ObjectId {
        let _paused = Paused::new();
        if self.registry.knowledge.externals.len() < MOST_EXTERNALS {
            self.registry.knowledge.externals.push((address, value));
            self.stop(Ending::Restart);
        }
        // This execution is thrown away, so the name does not matter.
        self.run().create(value)
    }
}

impl Registry {
    /// Whether more objects from outside the body turn up in every execution.
    pub(crate) fn has_unstable_objects(&self) -> bool {
        self.knowledge.externals.len() >= MOST_EXTERNALS
    }

    /// Whether the ends of threads are visible.
    pub(crate) fn shows_ends(&self) -> bool {
        self.knowledge.ends
    }

    /// Whether objects are shared with the code outside the body.
    pub(crate) fn has_externals(&self) -> bool {
        !self.knowledge.externals.is_empty()
    }

    pub(super) fn begin(&mut self, run: *mut Run) {
        self.epoch = EPOCHS.fetch_add(1, Ordering::Relaxed);
        let room = |live: &&AtomicU32| {
            live.compare_exchange(0, self.epoch, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        self.live = LIVE.iter().find(room);
        self.externals.clear();
        // SAFETY: called by `execute`, which holds the run exclusively.
        let run = unsafe { &mut *run };
        for &(address, value) in &self.knowledge.externals {
            self.externals.insert(address, run.create(value));
        }
        self.ends.clear();
        if self.knowledge.ends {
            self.ends.insert(ThreadId::MAIN, run.create(0));
        }
        self.arcs.clear();
        self.raw_tags.clear();
        self.borrowed.clear();
        self.looks.clear();
        self.origins.clear();
        self.final_drop = None;
    }

    /// The Arc whose payload is being dropped, if it is not counted.
    fn final_drop(&mut self) -> Option<Site> {
        self.final_drop.take()
    }

    /// The execution is over.
    pub(super) fn end(&mut self) {
        if let Some(live) = self.live.take() {
            live.store(0, Ordering::Relaxed);
        }
    }

    /// Nothing can be dropped any more: destructors could do anything.
    pub(super) fn abandon(&mut self) {
        std::mem::forget(std::mem::take(&mut self.values));
        std::mem::forget(std::mem::take(&mut self.locals));
        self.value_order.clear();
        self.local_order.clear();
    }

    /// Whether there is something to be dropped at the end of the execution.
    pub(super) fn has_values(&self) -> bool {
        !self.values.is_empty() || !self.locals.is_empty()
    }

    pub(super) fn leaks(&self) -> Vec<Site> {
        self.arcs.iter().flatten().copied().collect()
    }
}

/// Drops the thread-locals of a thread, latest first; a destructor may make others. As in std a
/// value is gone from the moment its destructor begins, unless it has none.
pub(super) fn drop_locals(thread: ThreadId) {
    while let Some(registry) = current().map(|runtime| &mut runtime.registry) {
        let last = registry.local_order.iter().rposition(|key| key.0 == thread);
        let Some(position) = last else { break };
        let key = registry.local_order.remove(position);
        let value = registry.locals.get_mut(&key).and_then(Option::take);
        drop(value);
    }
    if let Some(runtime) = current().filter(|runtime| !runtime.registry.locals.is_empty()) {
        runtime.registry.locals.retain(|key, _| key.0 != thread);
    }
}

/// Drops what is left at the end of an execution: statics, latest first. A destructor may make
/// others.
pub(super) fn drop_values() {
    while let Some(registry) = current().map(|runtime| &mut runtime.registry) {
        let Some(key) = registry.value_order.pop() else { break };
        let value = registry.values.remove(&key);
        drop(value);
    }
}

impl super::Runtime {
    /// A thread is about to run for the first time; called by its parent.
    pub(super) fn announce(&mut self, child: ThreadId) {
        if self.registry.knowledge.ends {
            let end = self.run().create(0);
            self.registry.ends.insert(child, end);
        }
    }

    /// What is to be set when the current thread ends, if ends are visible.
    pub(super) fn end_of_current(&mut self) -> Option<ObjectId> {
        let me = self.run().current;
        self.registry.ends.get(&me).copied()
    }
}

/// Whether a thread has ended. This makes ends visible: a thread that ends does one operation more.
pub(crate) fn has_ended(runtime: &mut super::Runtime, thread: ThreadId, site: Site) -> bool {
    match runtime.registry.ends.get(&thread) {
        Some(&end) => super::operation(runtime, Action::Load, end, 0, 0, site) == 1,
        None => {
            let _paused = Paused::new();
            runtime.registry.knowledge.ends = true;
            runtime.stop(Ending::Restart);
            runtime.run().state.thread(thread).status == preempt_explore::Status::Done
        }
    }
}

/// A static that begins every execution anew.
pub(crate) trait Reset: Sync {
    fn reset(&self);
}

/// Reference counts of `Arc`.
pub(crate) mod counts {
    use super::super::current;
    use preempt_explore::Site;

    /// Notes a new `Arc`; returns its number in this execution.
    pub(crate) fn born(site: Site) -> Option<(u32, u32)> {
        let registry = &mut current()?.registry;
        let _paused = super::Paused::new();
        registry.arcs.push(Some(site));
        Some((registry.epoch, registry.arcs.len() as u32 - 1))
    }

    /// Notes that an `Arc` is gone.
    pub(crate) fn gone(tag: Option<(u32, u32)>) {
        let (Some(runtime), Some((epoch, number))) = (current(), tag) else { return };
        if runtime.registry.epoch == epoch {
            if let Some(entry) = runtime.registry.arcs.get_mut(number as usize) {
                *entry = None;
            }
        }
    }

    /// Whether clones and drops of Arcs made here are visible operations.
    pub(crate) fn is_counted(site: Site) -> bool {
        current().is_some_and(|runtime| runtime.registry.knowledge.counted.contains(site))
    }

    /// Whether the count of this Arc is an object of the execution in progress.
    pub(crate) fn is_registered(slot: &super::Slot) -> bool {
        let packed = slot.0.load(super::Ordering::Relaxed);
        current().is_some_and(|runtime| (packed >> 32) as u32 == runtime.registry.epoch)
    }

    /// Makes them visible; the exploration begins again if they were not.
    pub(crate) fn count(site: Site) {
        if let Some(runtime) = current() {
            runtime.count(site);
        }
    }

    /// Runs the destructor of a payload. If it turns out to do visible operations, the count
    /// must be visible, because who is last is then a race that matters.
    pub(crate) fn final_drop(site: Site, drop: impl FnOnce()) {
        let before = current().map(|r| r.registry.final_drop.replace(site));
        drop();
        if let (Some(runtime), Some(before)) = (current(), before) {
            runtime.registry.final_drop = before;
        }
    }
}

/// What belongs to an `Arc` beside its value, by the address of the value.
pub(crate) mod raw_tags {
    use super::super::current;
    use std::any::Any;
    use std::sync::Arc;

    /// Keeps the tag of an `Arc` whose address becomes known.
    pub(crate) fn keep(address: usize, tag: &Arc<impl Any + Send + Sync>) {
        let _paused = super::Paused::new();
        if let Some(runtime) = current() {
            let _paused = super::Paused::new();
            runtime.registry.raw_tags.insert(address, Arc::clone(tag) as _);
        }
    }

    /// The tag of the `Arc` whose value is there.
    pub(crate) fn get(address: usize) -> Option<Arc<dyn Any + Send + Sync>> {
        current()?.registry.raw_tags.get(&address).cloned()
    }

    /// The value is gone.
    pub(crate) fn forget(address: usize) {
        if let Some(runtime) = current().filter(|r| !r.registry.raw_tags.is_empty()) {
            runtime.registry.raw_tags.remove(&address);
        }
    }
}

/// Numbers lent out for exclusive access.
pub(crate) fn lend(object: ObjectId) -> Option<&'static mut u64> {
    let runtime = current()?;
    let _paused = Paused::new();
    let me = runtime.run().current;
    let value = runtime.run().state.object(object).value;
    let value = outward(runtime, value);
    runtime.registry.borrowed.retain(|b| b.1 != object);
    runtime.registry.borrowed.push((me, object, Box::new(value)));
    let last = runtime.registry.borrowed.last_mut()?;
    let pointer: *mut u64 = &raw mut *last.2;
    // SAFETY: the box lives until the object is lent again or the execution ends; the caller
    // shortens the lifetime to that of its exclusive borrow of the object.
    Some(unsafe { &mut *pointer })
}

/// Takes a number back when the object is used again in the ordinary way.
#[inline]
pub(crate) fn take_back(runtime: &mut super::Runtime, object: ObjectId) {
    if runtime.registry.borrowed.is_empty() {
        return;
    }
    runtime.flush();
    runtime.registry.borrowed.retain(|b| b.1 != object);
}

/// The virtual time of the current thread.
pub(crate) fn now() -> Duration {
    let Some(runtime) = current() else { return Duration::ZERO };
    let _paused = Paused::new();
    keep_time(runtime);
    let me = runtime.run().current;
    runtime.registry.looks.entry(me).or_default().0 = true;
    runtime.run().state.now(me)
}

/// Lets this much virtual time pass for the current thread.
pub(crate) fn pass(time: Duration) {
    if let Some(runtime) = current() {
        let me = runtime.run().current;
        let to = runtime.run().state.now(me).saturating_add(time);
        runtime.run().state.pass(me, to);
    }
}

fn keep_time(runtime: &mut super::Runtime) {
    if !runtime.run().rules.time {
        runtime.run().rules.time = true;
        runtime.stop(Ending::Restart);
    }
}

/// Whether the current thread, which is about to yield, waits for time to pass.
pub(super) fn wait_for_time(runtime: &mut super::Runtime) -> bool {
    /// A millisecond, ten, …: this many steps are some thousand years.
    const MOST: u32 = 14;
    let me = runtime.run().current;
    let Some((looked, rounds)) = runtime.registry.looks.get_mut(&me) else { return false };
    if !std::mem::take(looked) || *rounds >= MOST {
        *rounds = 0;
        return false;
    }
    let step = Duration::from_millis(10u64.pow(*rounds));
    *rounds += 1;
    pass(step);
    true
}

/// A thread-local of the current thread.
pub(crate) enum Local<T: 'static> {
    /// The caller does not run under control.
    Outside,
    /// Its destructor has begun.
    Gone,
    /// The value.
    Value(&'static T),
}

/// The value of a thread-local for the current thread, made on first use.
pub(crate) fn local<T: 'static>(key: usize, init: fn() -> T) -> Local<T> {
    let Some(runtime) = current() else { return Local::Outside };
    let key = (runtime.run().current, key);
    if !runtime.registry.locals.contains_key(&key) {
        let value: Box<dyn Any> = Box::new(init());
        let _paused = Paused::new();
        let Some(runtime) = current() else { return Local::Outside };
        runtime.registry.locals.insert(key, Some(value));
        if std::mem::needs_drop::<T>() {
            runtime.registry.local_order.push(key);
        }
    }
    let value = current().and_then(|runtime| runtime.registry.locals.get(&key)?.as_ref());
    match value.and_then(|value| value.downcast_ref::<T>()) {
        // SAFETY: the box is dropped only at the end of its thread; `LocalKey::with` shortens the
        // lifetime to a call made by that thread.
        Some(value) => Local::Value(unsafe { &*std::ptr::from_ref(value) }),
        None => Local::Gone,
    }
}

/// A value per execution, by address of its owner, made on first use.
pub(crate) fn per_execution<T: 'static>(
    key: usize,
    init: impl FnOnce() -> T,
) -> Option<&'static T> {
    let runtime = current()?;
    if !runtime.registry.values.contains_key(&key) {
        let value: Box<dyn Any> = Box::new(init());
        let _paused = Paused::new();
        let registry = &mut current()?.registry;
        registry.values.insert(key, value);
        registry.value_order.push(key);
    }
    let value = current()?.registry.values.get(&key)?.downcast_ref::<T>()?;
    // SAFETY: the box is dropped only at the end of the execution, when no code of the program
    // under test can hold the reference any more.
    Some(unsafe { &*std::ptr::from_ref(value) })
}

/// A static whose value is made anew at the beginning of every execution. Made by
/// [`statics!`](crate::statics).
pub struct Static<T: 'static> {
    init: fn() -> T,
    outside: OnceLock<T>,
}

impl<T: Send + Sync + 'static> Static<T> {
    /// A static with this initial value.
    pub const fn new(init: fn() -> T) -> Self {
        Static { init, outside: OnceLock::new() }
    }

    // No methods: they would hide those of the value.
    fn key(this: &'static Self) -> usize {
        (&raw const *this).addr()
    }

    /// The value in this execution.
    fn value(this: &'static Self) -> &'static T {
        let Some(runtime) = current() else { return this.outside.get_or_init(this.init) };
        if !runtime.registry.values.contains_key(&Self::key(this)) {
            let _paused = Paused::new();
            runtime.registry.knowledge.statics.push(this);
            runtime.stop(Ending::Restart);
        }
        match per_execution(Self::key(this), this.init) {
            Some(value) => value,
            None => this.outside.get_or_init(this.init),
        }
    }
}

impl<T: Send + Sync + 'static> std::ops::Deref for Static<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `statics!` makes values of this type in statics only.
        Self::value(unsafe { &*std::ptr::from_ref(self) })
    }
}

impl<T: Send + Sync + 'static> Reset for Static<T> {
    fn reset(&self) {
        // SAFETY: as in `deref`.
        let this: &'static Self = unsafe { &*std::ptr::from_ref(self) };
        let _ = per_execution(Self::key(this), this.init);
    }
}

/// Makes all known statics, as the first thing the main thread does.
pub(super) fn make_statics() {
    let Some(runtime) = current() else { return };
    let statics = {
        let _paused = Paused::new();
        runtime.registry.knowledge.statics.clone()
    };
    for entry in &statics {
        entry.reset();
    }
    let _paused = Paused::new();
    drop(statics);
}
