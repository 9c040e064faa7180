//! A failing test as the tutorial shows it: run it and read the report.
//!
//! `cargo run -p preempt --example lost_update`

use preempt::sync::Arc;
use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::{Check, Outcome, thread};

// ANCHOR: body
pub(crate) fn visits_are_counted() {
    let visits = Arc::new(AtomicUsize::new(0));
    let theirs = visits.clone();
    let other = thread::spawn(move || {
        let seen = theirs.load(SeqCst);
        theirs.store(seen + 1, SeqCst);
    });
    let seen = visits.load(SeqCst);
    visits.store(seen + 1, SeqCst);
    other.join().unwrap();
    assert_eq!(visits.load(SeqCst), 2, "a visit is lost");
}
// ANCHOR_END: body

fn main() {
    let report = Check::new().run(visits_are_counted);
    match &report.outcome {
        Outcome::Failed(failure) => println!("{failure}"),
        _ => println!("{report}"),
    }
}
