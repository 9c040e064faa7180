//! The same code against std and against the facade: what compiles there must compile here, and do the same.
//!
//! The body names every stable public item of std's `sync`, `sync::atomic`, `sync::mpsc`, `thread`, `time`, `cell`, `task`
//! and `future` that the facade can have. What it cannot have is listed in the reference, with reasons.
#![allow(clippy::duplicate_mod, reason = "once with std's names and once with the facade's")]
#![allow(
    clippy::incompatible_msrv,
    reason = "the std to compare with is that of the newest compiler"
)]

#[path = "surface"]
mod on_std {
    pub(super) use std::{cell, future, hint, sync, task, thread, thread_local, time};
    #[path = "auto_traits.rs"]
    pub(super) mod auto_traits;
    #[path = "body.rs"]
    pub(super) mod body;
}

#[path = "surface"]
mod on_preempt {
    pub(super) use preempt::{cell, future, hint, sync, task, thread, thread_local, time};
    #[path = "auto_traits.rs"]
    pub(super) mod auto_traits;
    #[path = "body.rs"]
    pub(super) mod body;
}

#[test]
fn the_facade_has_what_std_has() {
    on_std::body::body();
    on_std::body::lazy_values();
    on_preempt::body::lazy_values();
    // Out of control and under control.
    on_preempt::body::body();
    on_std::body::statics();
    for body in [on_preempt::body::lazy_values, on_preempt::body::statics] {
        let report = preempt::Check::new().run(body);
        assert!(matches!(report.outcome, preempt::Outcome::Holds), "{report}");
    }
    let report = preempt::Check::new().run(on_preempt::body::body);
    assert!(matches!(report.outcome, preempt::Outcome::Holds), "{report}");
}

#[test]
fn auto_traits_are_those_of_std() {
    let pairs =
        on_preempt::auto_traits::auto_traits().into_iter().zip(on_std::auto_traits::auto_traits());
    let others: Vec<_> = pairs.filter(|(ours, stds)| ours != stds).collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// What compiles by itself with std's `Arc` is asked for with ours.
#[test]
fn trait_objects_are_asked_for() {
    use preempt::sync::Arc;
    let report = preempt::Check::new().run(|| {
        let number = preempt::unsize::<_, dyn std::fmt::Display>(Arc::new(7), |arc| arc);
        assert_eq!(number.to_string(), "7");
        let other = number.clone();
        assert_eq!(Arc::strong_count(&number), 2);
        drop(other);
        let slice = preempt::unsize::<_, [i32]>(Arc::new([1, 2]), |arc| arc);
        assert_eq!(slice.len(), 2);
    });
    assert!(matches!(report.outcome, preempt::Outcome::Holds), "{report}");
    let report = preempt::Check::new().run(|| {
        let kept = preempt::unsize::<_, dyn std::fmt::Display>(Arc::new(7), |arc| arc);
        std::mem::forget(kept);
        preempt::choose(1);
    });
    let kind = report.failure().map(|failure| failure.kind);
    assert_eq!(kind, Some(preempt::FailureKind::Leak), "{report}");
}
