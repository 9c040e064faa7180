//! The test of `lost_update` after the fix, as the book shows it.
//!
//! `cargo run -p preempt --example visits_fixed`

use preempt::sync::Arc;
use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::{Check, thread};

// ANCHOR: body
pub(crate) fn visits_are_counted() {
    let visits = Arc::new(AtomicUsize::new(0));
    let theirs = visits.clone();
    let other = thread::spawn(move || {
        theirs.fetch_add(1, SeqCst);
    });
    visits.fetch_add(1, SeqCst);
    other.join().unwrap();
    assert_eq!(visits.load(SeqCst), 2, "a visit is lost");
}
// ANCHOR_END: body

fn main() {
    println!("{}", Check::new().run(visits_are_counted));
}
