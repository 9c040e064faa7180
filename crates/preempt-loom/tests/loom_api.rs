//! What crates with loom tests use, written as they write it: the crate is called `loom`.

extern crate preempt_loom as loom;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*};
use loom::sync::{Arc, Condvar, Mutex, Notify, RwLock, mpsc};
use loom::thread;
use std::rc::Rc;

/// The text of the failure of a model.
fn failure(model: impl Fn() + Send + Sync + 'static) -> String {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| loom::model(model)));
    let payload = result.expect_err("the model must fail");
    payload.downcast_ref::<String>().expect("a report").clone()
}

#[test]
fn a_lost_update_is_found_with_one_preemption() {
    let text = failure(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let other = counter.clone();
        let thread = thread::spawn(move || {
            let value = other.load(Acquire);
            other.store(value + 1, Release);
        });
        let value = counter.load(Acquire);
        counter.store(value + 1, Release);
        thread.join().unwrap();
        assert_eq!(counter.load(Relaxed), 2, "lost update");
    });
    assert!(text.contains("lost update") && text.contains("1 preemption"), "{text}");
    let test = "-- --exact a_lost_update_is_found_with_one_preemption\n";
    let command = format!("cargo test -p preempt-loom --test loom_api {test}");
    assert!(text.contains(&command), "{text}");
}

/// Nothing but atomics, published without release: what loom calls an access without synchronisation.
#[test]
fn a_new_object_must_be_published() {
    let text = failure(|| {
        let place = Arc::new(AtomicPtr::new(std::ptr::null_mut::<AtomicUsize>()));
        let theirs = place.clone();
        let thread = thread::spawn(move || {
            theirs.store(Box::into_raw(Box::new(AtomicUsize::new(1))), Relaxed);
        });
        let object = place.load(Acquire);
        if !object.is_null() {
            // SAFETY: never freed.
            unsafe { (*object).load(Relaxed) };
        }
        thread.join().unwrap();
    });
    assert!(text.contains("data race with a creation"), "{text}");
}

#[test]
fn threads_need_not_be_send() {
    loom::model(|| {
        let local = Rc::new(5);
        let thread = thread::spawn(move || Rc::new(*local + 1));
        assert_eq!(*thread.join().unwrap(), 6);
    });
}

#[test]
fn atomics_have_what_loom_adds() {
    loom::model(|| {
        let mut number = AtomicUsize::new(1);
        number.with_mut(|value| *value += 1);
        // SAFETY: no other thread.
        assert_eq!(unsafe { number.unsync_load() }, 2);
        assert_eq!(number.compare_and_swap(2, 7, AcqRel), 2);
        assert_eq!(number.fetch_max(9, SeqCst), 7);
        assert_eq!(number.into_inner(), 9);
        let mut place = 3;
        let mut pointer = AtomicPtr::new(&mut place);
        // SAFETY: no other thread, and the place is alive.
        unsafe {
            assert_eq!(*pointer.unsync_load(), 3);
            pointer.with_mut(|p| **p += 1);
        }
        pointer.swap(std::ptr::null_mut(), AcqRel);
        assert!(pointer.load(Acquire).is_null());
        assert_eq!(place, 4);
    });
}

#[test]
fn cells_are_reached_by_closures_and_by_pointers() {
    loom::model(|| {
        let cell = UnsafeCell::new(1);
        // SAFETY: no other thread.
        unsafe {
            cell.with_mut(|p| *p += 1);
            *cell.get_mut().deref() += 1;
            assert_eq!(cell.with(|p| *p), 3);
            assert_eq!(*cell.get().deref(), 3);
            cell.get_mut().with(|p| *p += 1);
        }
        assert_eq!(cell.into_inner(), 4);
    });
}

#[test]
fn a_race_on_a_cell_is_found() {
    struct Shared(UnsafeCell<u32>);
    // SAFETY: deliberately wrong: the accesses are not synchronised.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}
    let text = failure(|| {
        let cell = Arc::new(Shared(UnsafeCell::new(0)));
        let other = cell.clone();
        // SAFETY: as above; the model is stopped before a race happens in memory.
        let thread = thread::spawn(move || other.0.with_mut(|p| unsafe { *p += 1 }));
        // SAFETY: as above.
        cell.0.with_mut(|p| unsafe { *p += 1 });
        thread.join().unwrap();
    });
    assert!(text.contains("race"), "{text}");
}

#[test]
fn raw_arcs_are_counted() {
    loom::model(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let pointer = Arc::into_raw(shared.clone());
        // SAFETY: the pointer owns a reference, and one more is added and taken away.
        unsafe {
            Arc::increment_strong_count(pointer);
            assert_eq!(Arc::strong_count(&shared), 3);
            Arc::decrement_strong_count(pointer);
            let back = Arc::from_raw(pointer);
            assert!(Arc::ptr_eq(&back, &shared));
            drop(back);
        }
        assert_eq!(Arc::try_unwrap(shared).unwrap().into_inner(), 0);
    });
}

#[test]
fn raw_arcs_travel_between_threads() {
    loom::model(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let slot = Arc::new(AtomicPtr::new(Arc::into_raw(shared.clone()).cast_mut()));
        let theirs = slot.clone();
        let thread = thread::spawn(move || {
            let pointer = theirs.swap(std::ptr::null_mut(), AcqRel);
            if !pointer.is_null() {
                // SAFETY: whoever takes the pointer out owns its reference.
                unsafe { Arc::from_raw(pointer) }.fetch_add(1, Relaxed);
            }
        });
        let pointer = slot.swap(std::ptr::null_mut(), AcqRel);
        if !pointer.is_null() {
            // SAFETY: as above.
            unsafe { Arc::from_raw(pointer) }.fetch_add(1, Relaxed);
        }
        thread.join().unwrap();
        assert_eq!(shared.load(Relaxed), 1);
    });
}

#[test]
fn what_is_not_freed_is_a_leak() {
    use loom::alloc::{Layout, Track, alloc, dealloc};
    loom::model(|| {
        let layout = Layout::new::<u64>();
        // SAFETY: the block is freed with its layout.
        unsafe { dealloc(alloc(layout), layout) };
        assert_eq!(Track::new(3).into_inner(), 3);
    });
    let forgotten: [fn(); 4] = [
        // SAFETY: a block may be forgotten; that is the point.
        || assert!(!unsafe { alloc(Layout::new::<u64>()) }.is_null()),
        || std::mem::forget(Track::new(3)),
        || std::mem::forget(Arc::new(3)),
        || assert!(!Arc::into_raw(Arc::new(3)).is_null()),
    ];
    for model in forgotten {
        let text = failure(model);
        assert!(text.contains("never dropped") || text.contains("leak"), "{text}");
    }
}

#[test]
fn statics_and_thread_locals_begin_anew() {
    loom::lazy_static! {
        static ref COUNT: AtomicUsize = AtomicUsize::new(0);
    }
    loom::thread_local! {
        static MINE: std::cell::Cell<u32> = std::cell::Cell::new(1);
    }
    loom::model(|| {
        MINE.with(|mine| mine.set(7));
        let thread = thread::spawn(|| {
            MINE.with(|mine| assert_eq!(mine.get(), 1));
            COUNT.fetch_add(1, SeqCst);
        });
        COUNT.fetch_add(1, SeqCst);
        thread.join().unwrap();
        assert_eq!(COUNT.load(SeqCst), 2);
        MINE.with(|mine| assert_eq!(mine.get(), 7));
    });
}

#[test]
fn locks_channels_and_notifications() {
    loom::model(|| {
        let pair = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new(0), Notify::new()));
        let (sender, receiver) = mpsc::channel();
        let theirs = pair.clone();
        let thread = thread::spawn(move || {
            *theirs.0.lock().unwrap() = 1;
            theirs.1.notify_one();
            *theirs.2.write().unwrap() = 2;
            theirs.3.notify();
            sender.send(3).unwrap();
        });
        let mut guard = pair.0.lock().unwrap();
        while *guard == 0 {
            guard = pair.1.wait(guard).unwrap();
        }
        drop(guard);
        pair.3.wait();
        assert_eq!(*pair.2.read().unwrap(), 2);
        assert_eq!(receiver.recv().unwrap(), 3);
        thread.join().unwrap();
    });
}

#[test]
fn a_builder_has_the_fields_of_loom() {
    let mut builder = loom::model::Builder::new();
    builder.max_threads = 3;
    builder.preemption_bound = Some(1);
    builder.max_permutations = Some(1000);
    builder.check(|| {
        loom::stop_exploring();
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        loom::explore();
        thread::spawn(move || theirs.store(true, Release)).join().unwrap();
        assert!(flag.load(Acquire));
    });
}

#[cfg(feature = "futures")]
#[test]
fn a_waker_that_is_registered_in_time_is_woken() {
    use loom::future::{AtomicWaker, block_on};
    use std::task::Poll;
    loom::model(|| {
        let shared = Arc::new((AtomicBool::new(false), AtomicWaker::new()));
        let theirs = shared.clone();
        let thread = thread::spawn(move || {
            theirs.0.store(true, Release);
            theirs.1.wake();
        });
        block_on(std::future::poll_fn(|context| {
            shared.1.register_by_ref(context.waker());
            if shared.0.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
        }));
        thread.join().unwrap();
    });
}

/// As long as a pointer from a cell lives, the cell is being accessed.
#[test]
fn pointers_count_as_accesses_while_they_live() {
    fn body(drops_first: bool) {
        let shared = Arc::new((loom::cell::UnsafeCell::new(0), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let pointer = theirs.0.get_mut();
            // SAFETY: this thread's, until the flag is set.
            unsafe { *pointer.deref() = 1 };
            let pointer = Some(pointer).filter(|_| !drops_first);
            theirs.1.store(1, Release);
            theirs.1.store(2, Release);
            drop(pointer);
        });
        if shared.1.load(Acquire) == 1 {
            let pointer = shared.0.get();
            // SAFETY: as above.
            assert_eq!(unsafe { *pointer.deref() }, 1);
        }
        other.join().unwrap();
    }
    loom::model(|| body(true));
    assert!(failure(|| body(false)).contains("data race"));
}

loom::lazy_static! {
    static ref LATE: usize = 3;
}

/// loom drops statics when the main thread ends.
#[test]
fn a_lazy_static_must_not_be_used_after_the_main_thread() {
    loom::model(|| {
        let other = thread::spawn(|| assert_eq!(*LATE, 3));
        other.join().unwrap();
    });
    let text = failure(|| {
        thread::spawn(|| assert_eq!(*LATE, 3));
    });
    assert!(text.contains("during shutdown"), "{text}");
}

/// As in loom; code that relies on it would be wrong with std.
#[test]
fn a_weak_compare_exchange_does_not_fail_for_no_reason() {
    loom::model(|| {
        let number = AtomicUsize::new(0);
        assert_eq!(number.compare_exchange_weak(0, 1, AcqRel, Relaxed), Ok(0));
    });
}

/// Reports show lines of the test, also where std wakes a thread, or something of ours waits for it.
#[cfg(feature = "futures")]
#[test]
fn steps_are_at_lines_of_the_test() {
    use loom::future::{AtomicWaker, block_on};
    let text = failure(|| {
        let shared = Arc::new((AtomicWaker::new(), AtomicUsize::new(0), Notify::new()));
        let theirs = shared.clone();
        let thread = thread::spawn(move || {
            theirs.1.store(1, Release);
            theirs.0.wake();
            theirs.2.notify();
        });
        let seen = block_on(std::future::poll_fn(|context| {
            shared.0.register_by_ref(context.waker());
            match shared.1.load(Acquire) {
                0 => std::task::Poll::Pending,
                seen => std::task::Poll::Ready(seen),
            }
        }));
        shared.2.wait();
        thread.join().unwrap();
        assert_eq!(seen, 2, "on purpose");
    });
    assert!(text.contains("on purpose") && text.contains("loom_api.rs)\n"), "{text}");
    let made = text.lines().find(|line| line.starts_with("made: ")).unwrap_or_default();
    let made = made.split(", ").filter(|place| !place.contains("loom_api.rs:"));
    assert_eq!(made.count(), 0, "{text}");
    assert!(!text.contains("/src/"), "{text}");
}
