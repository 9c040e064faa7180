//! The same code against std and against the facade: what compiles there must compile here, and do the same.
#![allow(
    clippy::incompatible_msrv,
    reason = "the std to compare with is that of the newest compiler"
)]

macro_rules! surface {
    ($name:ident, $library:ident) => {
        mod $name {
            use $library::sync::Arc;
            use $library::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};

            pub(super) fn body() {
                let number = AtomicUsize::new(1);
                assert_eq!(number.update(SeqCst, SeqCst, |n| n + 1), 1);
                assert_eq!(number.try_update(AcqRel, Acquire, |n| n.checked_sub(3)), Err(2));
                assert_eq!(number.try_update(AcqRel, Acquire, |n| Some(n + 1)), Ok(2));
                assert_eq!(number.load(SeqCst), 3);

                let mut values = [1_u32, 2, 3];
                let first = values.as_mut_ptr();
                let pointer = AtomicPtr::new(first);
                assert_eq!(pointer.fetch_ptr_add(2, SeqCst), first);
                assert_eq!(pointer.fetch_ptr_sub(1, AcqRel), first.wrapping_add(2));
                assert_eq!(pointer.fetch_byte_add(4, Release), first.wrapping_add(1));
                assert_eq!(pointer.fetch_byte_sub(8, Acquire), first.wrapping_add(2));
                assert_eq!(pointer.fetch_or(1, Relaxed), first);
                assert_eq!(pointer.fetch_xor(3, SeqCst).addr(), first.addr() | 1);
                assert_eq!(pointer.fetch_and(!3, SeqCst).addr(), first.addr() | 2);
                assert_eq!(pointer.load(SeqCst), first);

                let list: Arc<[u32]> = Arc::from(vec![1, 2]);
                let collected: Arc<[u32]> = (1..3).collect();
                assert_eq!(list, collected);
                assert_eq!(&*Arc::<[u32]>::from([1, 2]), &*Arc::<[u32]>::from(&[1, 2][..]));
                let text: Arc<str> = Arc::from("text");
                assert_eq!(text, Arc::<str>::from(String::from("text")));
                let shown: Arc<dyn std::fmt::Debug> =
                    Arc::from(Box::new(7) as Box<dyn std::fmt::Debug>);
                assert_eq!(format!("{shown:?}"), "7");
                assert!(Arc::<[u32]>::default().is_empty());

                let shared = Arc::new(String::from("shared"));
                let weak = Arc::downgrade(&shared);
                assert_eq!((weak.strong_count(), weak.weak_count()), (1, 1));
                let other = shared.clone();
                assert_eq!(Arc::unwrap_or_clone(shared), "shared");
                assert_eq!(Arc::unwrap_or_clone(other), "shared");
                assert!(weak.upgrade().is_none());
            }
        }
    };
}

surface!(on_std, std);
surface!(on_preempt, preempt);

#[test]
fn the_facade_has_what_std_has() {
    on_std::body();
    // Out of control and under control.
    on_preempt::body();
    let report = preempt::Check::new().run(on_preempt::body);
    assert!(matches!(report.outcome, preempt::Outcome::Holds), "{report}");
}
