//! Destructors of what belongs to an execution, but to none of its threads, see the values that the
//! threads have left.

use preempt::sync::LazyLock;
use preempt::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use preempt::{Check, Outcome, thread};

static DROPS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

struct Last {
    number: AtomicUsize,
    pointer: AtomicPtr<u32>,
}

impl Drop for Last {
    fn drop(&mut self) {
        assert_eq!(self.number.load(SeqCst), 7);
        assert_eq!(self.number.swap(9, SeqCst), 7);
        assert_eq!(self.number.compare_exchange(8, 1, SeqCst, SeqCst), Err(9));
        assert_eq!(self.number.compare_exchange(9, 10, SeqCst, SeqCst), Ok(9));
        assert_eq!(self.number.fetch_add(1, SeqCst), 10);
        assert_eq!(self.number.load(SeqCst), 11);
        let pointer = self.pointer.load(SeqCst);
        self.pointer.store(std::ptr::null_mut(), SeqCst);
        assert!(self.pointer.load(SeqCst).is_null());
        // SAFETY: made by `Box::into_raw` below and freed here only.
        assert_eq!(*unsafe { Box::from_raw(pointer) }, 3);
        DROPS.fetch_add(1, SeqCst);
    }
}

static LAST: LazyLock<Last> = LazyLock::new(|| Last {
    number: AtomicUsize::new(5),
    pointer: AtomicPtr::new(Box::into_raw(Box::new(3))),
});

#[test]
fn a_static_is_dropped_with_the_values_its_threads_have_left() {
    let report = Check::new().run(|| {
        let other = thread::spawn(|| LAST.number.load(SeqCst));
        LAST.number.store(7, SeqCst);
        other.join().unwrap();
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    assert!(DROPS.load(SeqCst) as u64 >= report.executions);
}
