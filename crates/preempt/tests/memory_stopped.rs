//! Executions that are stopped leave nothing behind. Alone in its process, because it looks at the
//! memory of all of it.
#![cfg(target_os = "linux")]

use preempt::sync::atomic::{AtomicPtr, Ordering::SeqCst};
use preempt::sync::{Arc, Mutex};
use preempt::{Check, FailureKind, Strategy, thread};

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Panics stop executions while other threads hold memory; repeated explorations stop more.
#[test]
fn ten_thousand_stopped_executions_need_no_memory() {
    let stop = |executions| {
        let check = Check::new()
            .time(std::time::Duration::from_secs(3600))
            .strategy(Strategy::Random { seed: 7 })
            .executions(executions);
        let report = check.keep_going().run(|| {
            let large = Arc::new(Mutex::new(vec![1u8; 4096]));
            // An address in an atomic, so that the heap is under control.
            let own = vec![2u8; 4096];
            let address = Arc::new(AtomicPtr::new(own.as_ptr().cast_mut()));
            let (theirs, seen) = (large.clone(), address.clone());
            let other = thread::spawn(move || {
                let mut guard = theirs.lock().unwrap();
                seen.store(guard.as_mut_ptr(), SeqCst);
                guard.push(1);
                drop(guard.clone());
            });
            assert_eq!(address.load(SeqCst).cast_const(), own.as_ptr(), "half-way");
            let _ = other.join();
        });
        assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::Panic), "{report}");
    };
    stop(1_000);
    let before = resident();
    stop(10_000);
    let grown = resident().saturating_sub(before);
    // A leaked vector per execution would be 40 MB.
    assert!(grown < 6 << 20, "{grown} bytes more");
}
