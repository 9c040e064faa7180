//! Failing executions leave nothing behind. Alone in its process, because it looks at the memory of
//! all of it.
#![cfg(target_os = "linux")]

use preempt::sync::{Arc, Mutex};
use preempt::{Check, FailureKind, Strategy, thread};

/// Stacks, guards and allocations of failing executions are given back.
#[test]
fn a_hundred_thousand_failures_need_no_memory() {
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let failures = |executions| {
        let check = Check::new()
            .time(std::time::Duration::from_secs(3600))
            .strategy(Strategy::Random { seed: 7 })
            .executions(executions);
        let report = check.keep_going().run(|| {
            let (a, b) = (Arc::new(Mutex::new(vec![1u8; 4096])), Arc::new(Mutex::new(0)));
            let (c, d) = (a.clone(), b.clone());
            let _handle = thread::spawn(move || {
                let _d = d.lock().unwrap();
                thread::park();
                drop(c);
            });
            let _a = a.lock().unwrap();
            thread::park();
            drop(b);
        });
        assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::Deadlock), "{report}");
        assert_eq!(report.executions, executions);
    };
    failures(1_000);
    let before = resident();
    failures(100_000);
    let grown = resident().saturating_sub(before);
    // 4 KiB leaked per execution would be 400 MB.
    assert!(grown < 10 << 20, "{grown} bytes more");
}
