//! Every stable public item that std and the facade have in common: once with std's names and once with the facade's.
#![allow(
    clippy::into_iter_on_ref,
    clippy::missing_const_for_thread_local,
    clippy::waker_clone_wake,
    reason = "every item is named once"
)]

use super::{cell, future, hint, sync, task, thread, thread_local, time};

use super::sync::atomic::Ordering::*;
use super::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use super::time::Duration;

pub(crate) fn body() {
    numbers();
    other_atomics();
    arcs();
    locks();
    initialisation();
    channels();
    threads();
    times();
    cells();
    tasks();
    hints();
}

macro_rules! number {
    ($($atomic:ident: $number:ty),*) => {$({
        use sync::atomic::$atomic as Atomic;
        let mut atomic = Atomic::new(1);
        assert_eq!(Atomic::default().load(SeqCst), 0);
        assert_eq!(Atomic::from(3).into_inner(), 3);
        *atomic.get_mut() += 1;
        assert_eq!(atomic.load(Relaxed), 2);
        atomic.store(5, Release);
        assert_eq!(atomic.swap(6, AcqRel), 5);
        assert_eq!(atomic.compare_exchange(6, 7, SeqCst, Acquire), Ok(6));
        assert_eq!(atomic.compare_exchange_weak(6, 8, SeqCst, SeqCst), Err(7));
        assert_eq!(atomic.fetch_add(1, SeqCst), 7);
        assert_eq!(atomic.fetch_sub(2, SeqCst), 8);
        assert_eq!(atomic.fetch_and(3, SeqCst), 6);
        assert_eq!(atomic.fetch_nand(3, SeqCst), 2);
        assert_eq!(atomic.swap(1, SeqCst), !2);
        assert_eq!(atomic.fetch_or(2, SeqCst), 1);
        assert_eq!(atomic.fetch_xor(1, SeqCst), 3);
        assert_eq!(atomic.fetch_max(9, SeqCst), 2);
        assert_eq!(atomic.fetch_min(4, SeqCst), 9);
        assert_eq!(atomic.fetch_update(SeqCst, SeqCst, |n| n.checked_add(1)), Ok(4));
        assert_eq!(atomic.update(SeqCst, SeqCst, |n| n + 1), 5);
        assert_eq!(atomic.try_update(AcqRel, Acquire, |_| None), Err(6));
        assert_eq!(atomic.try_update(AcqRel, Acquire, |n| Some(n + 1)), Ok(6));
        assert_eq!(format!("{atomic:?}"), "7");
        let number: $number = atomic.into_inner();
        assert_eq!(number, 7);
    })*};
}

fn numbers() {
    number!(
        AtomicI8: i8, AtomicU8: u8, AtomicI16: i16, AtomicU16: u16, AtomicI32: i32, AtomicU32: u32,
        AtomicI64: i64, AtomicU64: u64, AtomicIsize: isize, AtomicUsize: usize
    );
}

fn other_atomics() {
    use sync::atomic::{AtomicBool, AtomicPtr, compiler_fence, fence};
    let mut flag = AtomicBool::new(true);
    assert!(!AtomicBool::default().into_inner());
    assert!(AtomicBool::from(true).load(SeqCst));
    *flag.get_mut() = false;
    assert!(!flag.swap(true, SeqCst));
    flag.store(false, SeqCst);
    assert_eq!(flag.compare_exchange(false, true, SeqCst, SeqCst), Ok(false));
    assert_eq!(flag.compare_exchange_weak(false, true, SeqCst, SeqCst), Err(true));
    assert!(flag.fetch_and(true, SeqCst));
    assert!(flag.fetch_nand(true, SeqCst));
    assert!(!flag.fetch_or(true, SeqCst));
    assert!(flag.fetch_xor(true, SeqCst));
    assert!(!flag.fetch_not(SeqCst));
    assert_eq!(flag.fetch_update(SeqCst, SeqCst, |_| None), Err(true));
    assert_eq!(flag.try_update(SeqCst, SeqCst, |b| Some(!b)), Ok(true));
    assert!(!flag.update(SeqCst, SeqCst, |b| !b));
    assert_eq!(format!("{flag:?}"), "true");

    let mut values = [1_u32, 2, 3];
    let first = values.as_mut_ptr();
    let mut pointer = AtomicPtr::new(first);
    assert!(AtomicPtr::<u8>::default().load(SeqCst).is_null());
    assert_eq!(AtomicPtr::from(first).into_inner(), first);
    *pointer.get_mut() = first;
    pointer.store(first, SeqCst);
    assert_eq!(pointer.swap(first, SeqCst), first);
    assert_eq!(pointer.compare_exchange(first, first, SeqCst, SeqCst), Ok(first));
    let second = first.wrapping_add(1);
    assert_eq!(pointer.compare_exchange_weak(second, first, SeqCst, SeqCst), Err(first));
    assert_eq!(pointer.fetch_update(SeqCst, SeqCst, |_| None), Err(first));
    assert_eq!(pointer.try_update(SeqCst, SeqCst, Some), Ok(first));
    assert_eq!(pointer.update(SeqCst, SeqCst, |p| p), first);
    assert_eq!(pointer.fetch_ptr_add(2, SeqCst), first);
    assert_eq!(pointer.fetch_ptr_sub(1, AcqRel), first.wrapping_add(2));
    assert_eq!(pointer.fetch_byte_add(4, Release), second);
    assert_eq!(pointer.fetch_byte_sub(8, Acquire), first.wrapping_add(2));
    assert_eq!(pointer.fetch_or(1, Relaxed), first);
    assert_eq!(pointer.fetch_xor(3, SeqCst).addr(), first.addr() | 1);
    assert_eq!(pointer.fetch_and(!3, SeqCst).addr(), first.addr() | 2);
    assert_eq!(pointer.load(SeqCst), first);
    assert!(format!("{pointer:p} {pointer:?}").contains("0x"));
    fence(SeqCst);
    compiler_fence(SeqCst);
}

fn arcs() {
    use std::any::Any;
    use std::borrow::Cow;
    use std::ffi::{CStr, CString, OsStr, OsString};
    use std::path::{Path, PathBuf};
    use sync::Weak;
    let list: Arc<[u32]> = Arc::from(vec![1, 2]);
    let collected: Arc<[u32]> = (1..3).collect();
    assert_eq!(list, collected);
    assert_eq!(&*Arc::<[u32]>::from([1, 2]), &*Arc::<[u32]>::from(&[1, 2][..]));
    assert_eq!(Arc::<[u32]>::from(&mut [1, 2][..]).len(), 2);
    assert_eq!(Arc::<[u32; 2]>::try_from(list.clone()).unwrap(), Arc::new([1, 2]));
    assert!(Arc::<[u32; 3]>::try_from(list.clone()).is_err());
    assert_eq!(Arc::<[u32]>::from(Cow::Borrowed(&[1, 2][..])), list);
    let text: Arc<str> = Arc::from("text");
    assert_eq!(text, Arc::<str>::from(String::from("text")));
    assert_eq!(text, Arc::<str>::from(Cow::Borrowed("text")));
    assert_eq!(&*Arc::<[u8]>::from(text), b"text");
    assert_eq!(
        Arc::<CStr>::from(c"c").to_bytes(),
        Arc::<CStr>::from(CString::from(c"c")).to_bytes()
    );
    assert_eq!(Arc::<OsStr>::from(OsStr::new("o")), Arc::<OsStr>::from(OsString::from("o")));
    assert_eq!(Arc::<Path>::from(Path::new("p")), Arc::<Path>::from(PathBuf::from("p")));
    let shown: Arc<dyn std::fmt::Debug> = Arc::from(Box::new(7) as Box<dyn std::fmt::Debug>);
    assert_eq!(format!("{shown:?}"), "7");
    let any: Arc<dyn Any + Send + Sync> = Arc::from(Box::new(7_u8) as Box<dyn Any + Send + Sync>);
    let any = any.downcast::<u16>().unwrap_err();
    assert_eq!(*any.downcast::<u8>().unwrap(), 7);
    assert!(Arc::<[u32]>::default().is_empty() && Arc::<str>::default().is_empty());

    let shared = Arc::new(String::from("shared"));
    let weak = Arc::downgrade(&shared);
    assert_eq!((weak.strong_count(), weak.weak_count()), (1, 1));
    assert_eq!((Arc::strong_count(&shared), Arc::weak_count(&shared)), (1, 1));
    let other = shared.clone();
    assert!(Arc::ptr_eq(&shared, &other) && shared == other && shared <= other);
    assert_eq!(shared.cmp(&other), std::cmp::Ordering::Equal);
    assert_eq!(format!("{shared} {shared:?}"), "shared \"shared\"");
    assert!(format!("{shared:p}").starts_with("0x"));
    assert_eq!(Arc::unwrap_or_clone(shared), "shared");
    assert_eq!(Arc::unwrap_or_clone(other), "shared");
    assert!(weak.upgrade().is_none() && weak.ptr_eq(&weak.clone()));
    assert!(Weak::<u8>::new().upgrade().is_none() && Weak::<u8>::default().upgrade().is_none());
    assert_eq!(format!("{weak:?}"), "(Weak)");

    assert_eq!(Arc::try_unwrap(Arc::new(1)), Ok(1));
    assert_eq!(Arc::into_inner(Arc::new(1)), Some(1));
    let mut own = Arc::new(1);
    *Arc::get_mut(&mut own).unwrap() = 2;
    *Arc::make_mut(&mut own) += 1;
    assert_eq!((*own, *own.as_ref(), *Arc::pin(3)), (3, 3, 3));
    let raw = Arc::into_raw(own);
    // SAFETY: every reference is given back once.
    unsafe {
        Arc::increment_strong_count(raw);
        Arc::decrement_strong_count(raw);
        let own = Arc::from_raw(raw);
        assert_eq!(Arc::as_ptr(&own), raw);
        let weak = Arc::downgrade(&own).into_raw();
        assert_eq!(Weak::from_raw(weak).as_ptr(), raw);
    }
    let cyclic = Arc::new_cyclic(|weak: &Weak<u8>| u8::from(weak.upgrade().is_none()));
    assert_eq!(*cyclic, 1);
    let mut written = Arc::<u8>::new_uninit();
    Arc::get_mut(&mut written).unwrap().write(4);
    let mut slice = Arc::<[u8]>::new_uninit_slice(1);
    Arc::get_mut(&mut slice).unwrap()[0].write(4);
    // SAFETY: all were written, and zeros are numbers.
    unsafe {
        assert_eq!((*written.assume_init(), &*slice.assume_init()), (4, &[4][..]));
        assert_eq!(*Arc::<u8>::new_zeroed().assume_init(), 0);
        assert_eq!(&*Arc::<[u8]>::new_zeroed_slice(2).assume_init(), &[0, 0]);
    }
    let error: Arc<dyn std::error::Error> =
        Arc::from(Box::from("wrong") as Box<dyn std::error::Error>);
    assert!(std::error::Error::source(&*error).is_none());
    assert_eq!((*Arc::<u8>::default(), *Arc::from(1)), (0, 1));
}

fn locks() {
    use sync::{
        Barrier, BarrierWaitResult, LockResult, MutexGuard, PoisonError, RwLockReadGuard,
        RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult,
    };
    let mut mutex = Mutex::new(1);
    let guard: LockResult<MutexGuard<'_, i32>> = mutex.lock();
    assert_eq!(format!("{}", *guard.unwrap()), "1");
    let guard: TryLockResult<MutexGuard<'_, i32>> = mutex.try_lock();
    assert_eq!(format!("{:?}", guard.unwrap()), "1");
    {
        let _held = mutex.lock().unwrap();
        assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
    }
    mutex.clear_poison();
    assert!(!mutex.is_poisoned());
    *mutex.get_mut().unwrap() = 2;
    assert_eq!(mutex.into_inner().unwrap(), 2);
    assert_eq!(*Mutex::<u8>::default().lock().unwrap() + *Mutex::from(1).lock().unwrap(), 1);
    assert!(format!("{:?}", Mutex::new(0)).starts_with("Mutex {"));

    let mut lock = RwLock::new(1);
    {
        let first: RwLockReadGuard<'_, i32> = lock.try_read().unwrap();
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        assert_eq!(format!("{first} {first:?}"), "1 1");
    }
    {
        let mut writer: RwLockWriteGuard<'_, i32> = lock.write().unwrap();
        *writer = 2;
        assert_eq!(format!("{writer} {writer:?}"), "2 2");
        assert!(lock.try_read().is_err());
        let reader = RwLockWriteGuard::downgrade(writer);
        assert_eq!((*reader, *lock.try_read().unwrap()), (2, 2));
        assert!(lock.try_write().is_err());
    }
    *lock.try_write().unwrap() += 2;
    assert_eq!(*lock.read().unwrap(), 4);
    lock.clear_poison();
    assert!(!lock.is_poisoned());
    *lock.get_mut().unwrap() = 3;
    assert_eq!(lock.into_inner().unwrap(), 3);
    assert_eq!(*RwLock::<u8>::default().read().unwrap() + *RwLock::from(1).read().unwrap(), 1);
    assert!(format!("{:?}", RwLock::new(0)).starts_with("RwLock {"));

    let (ready, condition) = (Mutex::new(true), Condvar::new());
    condition.notify_one();
    condition.notify_all();
    let guard = condition.wait_while(ready.lock().unwrap(), |ready| !*ready).unwrap();
    let (guard, result) =
        condition.wait_timeout_while(guard, Duration::from_millis(1), |ready| !*ready).unwrap();
    assert!(!WaitTimeoutResult::timed_out(&result));
    let (guard, result) = condition.wait_timeout(guard, Duration::from_millis(1)).unwrap();
    let _: bool = result.timed_out();
    drop(guard);
    let _ = (Condvar::default(), format!("{condition:?}"), Condvar::wait::<u8>);

    let barrier = Barrier::new(1);
    let result: BarrierWaitResult = barrier.wait();
    assert!(result.is_leader());
    let _ = format!("{barrier:?} {result:?}");
    let mut poison = PoisonError::new(1);
    assert_eq!((*poison.get_ref(), *poison.get_mut()), (1, 1));
    assert_eq!(poison.into_inner(), 1);
}

fn initialisation() {
    use sync::{LazyLock, Once, OnceLock, OnceState};
    let once = Once::new();
    once.call_once(|| ());
    once.call_once_force(|state: &OnceState| assert!(!state.is_poisoned()));
    once.wait();
    once.wait_force();
    assert!(once.is_completed());
    let _ = format!("{once:?}");

    let mut cell = OnceLock::new();
    assert_eq!(cell.get(), None);
    assert_eq!(cell.set(1), Ok(()));
    assert_eq!(cell.set(2), Err(2));
    assert_eq!((cell.get(), *cell.get_or_init(|| 3), *cell.wait()), (Some(&1), 1, 1));
    *cell.get_mut().unwrap() = 4;
    assert_eq!(cell.clone(), cell);
    assert_eq!(cell.take(), Some(4));
    assert_eq!(cell.into_inner(), None);
    assert_eq!(OnceLock::from(5).into_inner(), Some(5));
    assert_eq!(format!("{:?}", OnceLock::<u8>::default()), "OnceLock(<uninit>)");

    static LAZY: LazyLock<u8> = LazyLock::new(|| 6);
    assert_eq!((*LazyLock::force(&LAZY), *LAZY, LazyLock::get(&LAZY)), (6, 6, Some(&6)));
    assert_eq!(format!("{LAZY:?}"), "LazyLock(6)");
}

/// What only makes sense with a value that is no static.
pub(crate) fn lazy_values() {
    use super::sync::LazyLock;
    let mut lazy: LazyLock<u8> = LazyLock::new(|| 6);
    assert!(LazyLock::get(&lazy).is_none() && LazyLock::get_mut(&mut lazy).is_none());
    *LazyLock::force_mut(&mut lazy) += 1;
    assert_eq!(LazyLock::get_mut(&mut lazy), Some(&mut 7));
    assert_eq!(format!("{lazy:?}"), "LazyLock(7)");
    assert_eq!(*LazyLock::<u8>::default(), 0);
}

/// What std's constructors are `const` for.
pub(crate) fn statics() {
    use super::cell::{Cell, UnsafeCell};
    use super::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, atomic::*};
    struct Shared<T>(T);
    // SAFETY: used by one thread only.
    unsafe impl<T> Sync for Shared<T> {}
    static ATOMICS: (AtomicBool, AtomicU8, AtomicI64, AtomicUsize, AtomicPtr<u8>) = (
        AtomicBool::new(true),
        AtomicU8::new(1),
        AtomicI64::new(-1),
        AtomicUsize::new(1),
        AtomicPtr::new(std::ptr::null_mut()),
    );
    static LOCKS: (Mutex<Vec<u8>>, RwLock<u8>, Condvar) =
        (Mutex::new(Vec::new()), RwLock::new(1), Condvar::new());
    static OTHERS: (Once, OnceLock<u8>, Barrier, LazyLock<Mutex<u8>>) =
        (Once::new(), OnceLock::new(), Barrier::new(1), LazyLock::new(|| Mutex::new(1)));
    static CELLS: Shared<(Cell<u8>, UnsafeCell<u8>)> = Shared((Cell::new(1), UnsafeCell::new(1)));
    static TABLE: [Mutex<u8>; 2] = [const { Mutex::new(0) }; 2];
    const fn sum(a: u8) -> Mutex<u8> {
        Mutex::new(a + 1)
    }
    static SUM: Mutex<u8> = sum(1);
    let order = Ordering::SeqCst;
    assert!(ATOMICS.0.swap(false, order) && ATOMICS.4.load(order).is_null());
    assert_eq!(ATOMICS.1.fetch_add(1, order), 1);
    assert_eq!(ATOMICS.2.fetch_add(1, order), -1);
    assert_eq!(ATOMICS.3.fetch_add(1, order), 1);
    LOCKS.0.lock().unwrap().push(1);
    *LOCKS.1.write().unwrap() += 1;
    LOCKS.2.notify_all();
    assert_eq!((LOCKS.0.lock().unwrap().len(), *LOCKS.1.read().unwrap()), (1, 2));
    OTHERS.0.call_once(|| ());
    assert_eq!((*OTHERS.1.get_or_init(|| 3), OTHERS.2.wait().is_leader()), (3, true));
    *OTHERS.3.lock().unwrap() += 1;
    assert_eq!(*OTHERS.3.lock().unwrap(), 2);
    assert_eq!(CELLS.0.0.replace(2), 1);
    // SAFETY: see above.
    assert_eq!((CELLS.0.0.get(), unsafe { *CELLS.0.1.get() }), (2, 1));
    *TABLE[1].lock().unwrap() += *SUM.lock().unwrap();
    assert_eq!((*TABLE[0].lock().unwrap(), *TABLE[1].lock().unwrap()), (0, 2));
    assert_eq!(*sum(4).lock().unwrap(), 5);
}

fn channels() {
    use mpsc::{
        IntoIter, Iter, Receiver, RecvError, RecvTimeoutError, SendError, Sender, SyncSender,
        TryIter, TryRecvError, TrySendError,
    };
    let (sender, receiver): (Sender<u8>, Receiver<u8>) = mpsc::channel();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    let limit = Duration::from_millis(1);
    assert_eq!(receiver.recv_timeout(limit), Err(RecvTimeoutError::Timeout));
    (0..4).for_each(|n| sender.clone().send(n).unwrap());
    assert_eq!((receiver.recv(), receiver.try_recv()), (Ok(0), Ok(1)));
    let tries: TryIter<'_, u8> = receiver.try_iter();
    assert_eq!(tries.collect::<Vec<_>>(), [2, 3]);
    drop(sender);
    let all: Iter<'_, u8> = receiver.iter();
    assert_eq!(all.count() + (&receiver).into_iter().count(), 0);
    assert_eq!(receiver.recv(), Err(RecvError));
    assert_eq!(receiver.recv_timeout(limit), Err(RecvTimeoutError::Disconnected));
    let all: IntoIter<u8> = receiver.into_iter();
    assert_eq!(all.count(), 0);

    let (sender, receiver): (SyncSender<u8>, Receiver<u8>) = mpsc::sync_channel(1);
    sender.send(1).unwrap();
    assert_eq!(sender.clone().try_send(2), Err(TrySendError::Full(2)));
    assert!(format!("{sender:?} {receiver:?}").contains("Sender"));
    drop(receiver);
    assert_eq!(sender.send(3), Err(SendError(3)));
    assert_eq!(sender.try_send(4), Err(TrySendError::Disconnected(4)));
}

thread_local! {
    static LAZY: super::cell::Cell<u8> = super::cell::Cell::new(1);
    static EAGER: std::cell::RefCell<u8> = const { std::cell::RefCell::new(2) };
}

fn threads() {
    use thread::{AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread};
    let handle: JoinHandle<u8> = thread::spawn(|| 1);
    let _: (bool, thread::ThreadId, &Thread) =
        (handle.is_finished(), handle.thread().id(), handle.thread());
    let result: thread::Result<u8> = handle.join();
    assert_eq!(result.unwrap(), 1);
    let named = Builder::new().name("named".into()).stack_size(1 << 16);
    let named = named.spawn(|| thread::current().name().map(str::to_string)).unwrap();
    assert_eq!(named.join().unwrap().as_deref(), Some("named"));
    let local = 2;
    // SAFETY: the thread is joined before what it borrows goes away.
    let borrows = unsafe { Builder::new().spawn_unchecked(|| local + 1) };
    assert_eq!(borrows.unwrap().join().unwrap(), 3);
    let sum = thread::scope(|scope: &Scope<'_, '_>| {
        let first: ScopedJoinHandle<'_, u8> = scope.spawn(|| local);
        let second = Builder::new().spawn_scoped(scope, || local).unwrap();
        let _ = (first.is_finished(), second.thread().id());
        first.join().unwrap() + second.join().unwrap()
    });
    assert_eq!(sum, 4);

    let lazy: &'static LocalKey<super::cell::Cell<u8>> = &LAZY;
    assert_eq!((lazy.get(), lazy.replace(3), lazy.take()), (1, 1, 3));
    lazy.set(4);
    assert_eq!(lazy.with(|cell| cell.get()), 4);
    let tried: Result<u8, AccessError> = lazy.try_with(|cell| cell.get());
    assert_eq!(tried.unwrap(), 4);
    EAGER.with_borrow_mut(|value| *value += 1);
    assert_eq!((EAGER.with_borrow(|value| *value), EAGER.replace(1), EAGER.take()), (3, 3, 1));
    EAGER.set(5);
    assert_eq!(EAGER.with(|cell| *cell.borrow()), 5);

    thread::yield_now();
    thread::sleep(Duration::from_millis(1));
    thread::current().unpark();
    thread::park();
    thread::park_timeout(Duration::from_millis(1));
    assert!(!thread::panicking() && thread::available_parallelism().is_ok());
    let _ = format!("{:?} {:?}", thread::current(), thread::current().id());
}

fn times() {
    use time::{Instant, SystemTime, SystemTimeError, TryFromFloatSecsError, UNIX_EPOCH};
    let begin = Instant::now();
    let second = Duration::from_secs(1);
    let mut later = begin + second;
    later += second;
    later -= second;
    assert_eq!((later - begin, later.duration_since(begin)), (second, second));
    assert_eq!(later.checked_duration_since(begin), Some(second));
    assert_eq!(begin.saturating_duration_since(later), Duration::ZERO);
    assert_eq!((later - second, begin.checked_add(second)), (begin, Some(later)));
    assert_eq!(later.checked_sub(second), Some(begin));
    assert!(begin.elapsed() < Duration::from_secs(3600) && begin < later);
    let error: SystemTimeError = UNIX_EPOCH.duration_since(SystemTime::now()).unwrap_err();
    assert!(error.duration() > Duration::ZERO);
    let error: Result<Duration, TryFromFloatSecsError> = Duration::try_from_secs_f64(-1.0);
    assert!(error.is_err());
}

fn cells() {
    use cell::{
        BorrowError, BorrowMutError, Cell, LazyCell, OnceCell, Ref, RefCell, RefMut, UnsafeCell,
    };
    let mut plain = UnsafeCell::new(1);
    *plain.get_mut() += 1;
    // SAFETY: nothing else refers to the cell.
    unsafe {
        *plain.get() += 1;
        *UnsafeCell::raw_get(&raw const plain) += 1;
    }
    assert_eq!(plain.into_inner(), 4);
    assert_eq!(UnsafeCell::from(1).into_inner() + UnsafeCell::<i32>::default().into_inner(), 1);
    let mut cell = Cell::new(1);
    cell.set(2);
    cell.update(|n| n + 1);
    cell.swap(&Cell::from(4));
    assert_eq!((cell.get(), cell.replace(5), cell.take()), (4, 4, 5));
    *cell.get_mut() = 6;
    // SAFETY: nothing else refers to the cell.
    assert_eq!(unsafe { *cell.as_ptr() }, 6);
    assert_eq!(cell.clone(), cell);
    assert!(cell <= Cell::new(7));
    assert_eq!(format!("{cell:?}"), "Cell { value: 6 }");
    assert_eq!(cell.into_inner() + Cell::<i32>::default().into_inner(), 6);
    let cell = RefCell::new(1);
    let first: Result<Ref<'_, i32>, BorrowError> = cell.try_borrow();
    drop(first);
    let only: Result<RefMut<'_, i32>, BorrowMutError> = cell.try_borrow_mut();
    assert_eq!(*only.unwrap(), 1);
    assert_eq!(*OnceCell::new().get_or_init(|| 1) + *LazyCell::new(|| 1), 2);
}

fn tasks() {
    use future::{Future, IntoFuture, Pending, PollFn, Ready, pending, poll_fn, ready};
    use std::pin::pin;
    use task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
    struct Count(std::sync::atomic::AtomicUsize);
    impl Wake for Count {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let waker = Waker::from(Arc::new(Count(0.into())));
    waker.wake_by_ref();
    waker.clone().wake();
    assert!(waker.will_wake(&waker.clone()));
    let mut context = Context::from_waker(&waker);
    let done: Ready<u8> = ready(1);
    assert_eq!(pin!(done.into_future()).poll(&mut context), Poll::Ready(1));
    let never: Pending<u8> = pending();
    assert!(pin!(never).poll(&mut context).is_pending());
    fn poll_ready(context: &mut Context<'_>) -> Poll<u8> {
        context.waker().wake_by_ref();
        let value = task::ready!(Poll::Ready(2));
        Poll::Ready(value)
    }
    let polled: PollFn<_> = poll_fn(poll_ready);
    assert_eq!(pin!(polled).poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(2));
    let _: Option<(RawWaker, RawWakerVTable)> = None;
}

fn hints() {
    hint::spin_loop();
    assert_eq!(hint::black_box(1) + hint::select_unpredictable(true, 1, 2), 2);
    hint::cold_path();
    // SAFETY: it is true, and the other one is not called.
    unsafe { hint::assert_unchecked(true) };
    let _: unsafe fn() -> ! = hint::unreachable_unchecked;
}
