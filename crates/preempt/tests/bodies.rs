//! Test bodies and their known numbers of partial orders per bound.

use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::sync::{Arc, Mutex};
use preempt::{Check, Strategy, thread};

fn racy_counter(n: usize) {
    let c = Arc::new(AtomicUsize::new(0));
    let hs: Vec<_> = (0..n)
        .map(|_| {
            let c = c.clone();
            thread::spawn(move || {
                let v = c.load(SeqCst);
                c.store(v + 1, SeqCst);
            })
        })
        .collect();
    for h in hs {
        h.join().unwrap();
    }
    c.load(SeqCst);
}

fn mutex_counter(n: usize) {
    let c = Arc::new(Mutex::new(0usize));
    let hs: Vec<_> = (0..n)
        .map(|_| {
            let c = c.clone();
            thread::spawn(move || {
                *c.lock().unwrap() += 1;
                *c.lock().unwrap() += 1;
            })
        })
        .collect();
    for h in hs {
        h.join().unwrap();
    }
    assert_eq!(*c.lock().unwrap(), 2 * n);
}

#[test]
fn smoke() {
    for strategy in [Strategy::ContextBoundedDfs, Strategy::PartialOrders] {
        let r = Check::new().strategy(strategy).run(|| racy_counter(3));
        println!("{r}");
        println!("{:?}", r.per_bound.iter().map(|b| b.partial_orders).collect::<Vec<_>>());
        let r = Check::new().strategy(strategy).preemptions(3).run(|| mutex_counter(3));
        println!("{r}");
        println!("{:?}", r.per_bound.iter().map(|b| b.partial_orders).collect::<Vec<_>>());
    }
}
