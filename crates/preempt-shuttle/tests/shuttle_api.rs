//! What tests with shuttle use, written as they write it: the crate is called `shuttle`.

extern crate preempt_shuttle as shuttle;

use shuttle::future::{self, JoinError, batch_semaphore::*};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::*;
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::sync::{Arc, Mutex, mpsc};
use shuttle::{
    Config, FailurePersistence, MaxSteps, PortfolioRunner, Runner, check_dfs, check_pct,
    check_random, replay, thread,
};
use std::collections::HashSet;

fn lost_update() {
    let counter = Arc::new(AtomicUsize::new(0));
    let other = counter.clone();
    let thread = thread::spawn(move || {
        let value = other.load(SeqCst);
        other.store(value + 1, SeqCst);
    });
    let value = counter.load(SeqCst);
    counter.store(value + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2, "lost update");
}

/// The text of a failure.
fn failure(test: impl FnOnce()) -> String {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
    let payload = result.expect_err("the test must fail");
    payload.downcast_ref::<String>().expect("a report").clone()
}

/// The schedule in the text of a failure, as shuttle prints it.
fn schedule(text: &str) -> &str {
    let (_, rest) = text.split_once("failing schedule:\n\"\n").expect("a schedule");
    rest.split_once("\n\"").expect("its end").0
}

#[test]
fn all_strategies_find_a_lost_update_and_replay_it() {
    let texts = [
        failure(|| check_random(lost_update, 1000)),
        failure(|| check_pct(lost_update, 1000, 3)),
        failure(|| check_dfs(lost_update, None)),
        failure(|| shuttle::check_urw(lost_update, 1000)),
    ];
    for text in texts {
        assert!(text.contains("lost update"), "{text}");
        let schedule = schedule(&text).to_string();
        let again = failure(|| replay(lost_update, &schedule));
        assert_eq!(again, text, "a replay shows the same");
    }
}

#[test]
fn a_schedule_can_go_to_a_file() {
    let folder = std::env::temp_dir().join(format!("preempt-shuttle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::File(Some(folder.clone()));
    let text = failure(|| {
        Runner::new(RandomScheduler::new_from_seed(1, 1000), config).run(lost_update);
    });
    let (_, rest) = text.split_once("persisted to file: ").expect("a file");
    let file = rest.lines().next().unwrap();
    let again = failure(|| shuttle::replay_from_file(lost_update, file));
    assert!(again.contains("lost update"), "{again}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_scheduler_of_ones_own_is_asked_at_every_step() {
    /// Always the thread spawned last.
    struct Last(usize);
    impl Scheduler for Last {
        fn new_execution(&mut self) -> Option<Schedule> {
            self.0 = self.0.checked_sub(1)?;
            Some(Schedule::new(0))
        }

        fn next_task(&mut self, tasks: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
            tasks.last().map(|task| task.id())
        }

        fn next_u64(&mut self) -> u64 {
            0
        }
    }
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let theirs = order.clone();
    let executions = Runner::new(Last(3), Config::new()).run(move || {
        let lock = Arc::new(Mutex::new(()));
        let threads: Vec<_> = (0..3)
            .map(|number| {
                let (lock, order) = (lock.clone(), theirs.clone());
                thread::spawn(move || {
                    let _held = lock.lock().unwrap();
                    order.lock().unwrap().push(number);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(executions, 3);
    assert_eq!(order.lock().unwrap()[..3], [2, 1, 0]);
}

#[test]
fn dfs_sees_every_outcome() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(HashSet::new()));
    let theirs = seen.clone();
    check_dfs(
        move || {
            let (sender, receiver) = mpsc::channel();
            for number in 0..3 {
                let sender = sender.clone();
                thread::spawn(move || sender.send(number).unwrap());
            }
            drop(sender);
            let order: Vec<i32> = receiver.iter().collect();
            theirs.lock().unwrap().insert(order);
        },
        None,
    );
    assert_eq!(seen.lock().unwrap().len(), 6);
}

#[test]
fn as_many_executions_as_asked_for() {
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let theirs = count.clone();
    check_random(
        move || {
            theirs.fetch_add(1, SeqCst);
        },
        20,
    );
    assert_eq!(count.load(SeqCst), 20);
}

#[test]
fn long_executions_fail_or_are_given_up() {
    let spin = || {
        let number = AtomicUsize::new(0);
        loop {
            number.fetch_add(1, SeqCst);
        }
    };
    let mut config = Config::new();
    config.max_steps = MaxSteps::ContinueAfter(50);
    assert_eq!(Runner::new(RandomScheduler::new(5), config.clone()).run(spin), 5);
    config.max_steps = MaxSteps::FailAfter(50);
    failure(|| {
        Runner::new(RandomScheduler::new(5), config).run(spin);
    });
}

#[test]
fn tasks_are_joined_and_aborted() {
    check_dfs(
        || {
            let local = std::rc::Rc::new(2);
            let sum = future::block_on(async move {
                let one = future::spawn(async { 1 });
                let two = future::spawn_local(async move { *local });
                one.await.unwrap() + two.await.unwrap()
            });
            assert_eq!(sum, 3);
            future::block_on(async {
                let forever = future::spawn(std::future::pending::<()>());
                forever.abort_handle().abort();
                assert!(matches!(forever.await, Err(JoinError::Cancelled)));
            });
        },
        None,
    );
}

#[test]
fn a_semaphore_is_fair_and_can_be_closed() {
    check_dfs(
        || {
            let semaphore = Arc::new(BatchSemaphore::new(2, Fairness::StrictlyFair));
            let theirs = semaphore.clone();
            let task = future::spawn(async move {
                theirs.acquire(2).await.unwrap();
                theirs.release(2);
            });
            semaphore.acquire_blocking(1).unwrap();
            semaphore.release(1);
            future::block_on(task).unwrap();
            assert_eq!(semaphore.available_permits(), 2);
            assert_eq!(semaphore.try_acquire(3), Err(TryAcquireError::NoPermits));
            semaphore.close();
            assert_eq!(semaphore.try_acquire(1), Err(TryAcquireError::Closed));
            assert!(future::block_on(semaphore.acquire(1)).is_err());
        },
        None,
    );
}

#[test]
fn random_numbers_differ_and_are_repeated_by_a_replay() {
    let draw = || {
        let numbers: Vec<u64> = (0..4).map(|_| thread_rng().r#gen()).collect();
        assert!(thread_rng().gen_range(0..8_u32) != 3, "drew 3 after {numbers:?}");
    };
    let text = failure(|| check_random(draw, 1000));
    let schedule = schedule(&text).to_string();
    assert_eq!(failure(|| replay(draw, &schedule)), text);
}

#[test]
fn a_portfolio_fails_if_one_of_its_schedulers_does() {
    let mut portfolio = PortfolioRunner::new(true, Config::new());
    portfolio.add(RandomScheduler::new_from_seed(1, 500));
    portfolio.add(PctScheduler::new_from_seed(1, 3, 500));
    assert!(failure(|| portfolio.run(lost_update)).contains("lost update"));
}
