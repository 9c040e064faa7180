//! The experiments of the two papers, on our programs.

mod bodies;

use bodies::Steal;
use preempt::{Check, Strategy};

/// No test depends on the speed of the machine.
fn patient() -> Check {
    Check::new().time(std::time::Duration::from_secs(3600))
}

/// [MQ07b] Table 1: executions with and without partial-order reduction, by size and bound.
#[test]
fn reduction_pays_more_with_every_bound() {
    println!("size bound cb-dfs cb-por");
    for (size, bounds) in [(3, 4), (4, 4), (5, 4)] {
        let body = || bodies::work_stealing(size, Steal::Correct);
        let plain = patient().strategy(Strategy::ContextBoundedDfs).preemptions(bounds).run(body);
        let reduced = patient().strategy(Strategy::PartialOrders).preemptions(bounds).run(body);
        let mut before = 0;
        let mut ratio = 1.0;
        for (plain, reduced) in plain.per_bound.iter().zip(&reduced.per_bound) {
            // Plain search explores every bound from the beginning.
            let executions = plain.executions - before;
            before = plain.executions;
            println!("{size} {} {executions} {}", plain.preemptions, reduced.partial_orders);
            assert!(reduced.executions <= reduced.partial_orders);
            let now = executions as f64 / reduced.partial_orders as f64;
            assert!(now >= ratio, "the gap must not shrink");
            ratio = now;
        }
        assert_eq!(plain.per_bound[0].partial_orders, 1);
        assert_eq!(plain.per_bound[0].executions, 1);
        assert!(ratio > 5.0);
    }
}

/// The plain search's executions that the prototype counted for the same queue.
#[test]
fn plain_search_executes_as_often_as_expected() {
    let report = patient()
        .strategy(Strategy::ContextBoundedDfs)
        .preemptions(3)
        .run(|| bodies::work_stealing(3, Steal::Correct));
    let executions: Vec<u64> = report.per_bound.iter().map(|row| row.executions).collect();
    let by_bound: Vec<u64> = executions.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(by_bound, [24, 193, 2056]);
}
