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

/// Does nothing but ask another scheduler.
struct Around<S>(S);

impl<S: Scheduler> Scheduler for Around<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }

    fn next_task(&mut self, tasks: &[&Task], last: Option<TaskId>, yields: bool) -> Option<TaskId> {
        self.0.next_task(tasks, last, yields)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[test]
fn schedulers_choose_inside_others() {
    fn finds<S: Scheduler + 'static>(scheduler: S) {
        let text = failure(|| {
            Runner::new(Around(scheduler), Config::new()).run(lost_update);
        });
        assert!(text.contains("lost update"), "{text}");
    }
    finds(RandomScheduler::new_from_seed(3, 1000));
    finds(UrwRandomScheduler::new_from_seed(3, 1000));
    finds(PctScheduler::new_from_seed(3, 3, 1000));
    finds(DfsScheduler::new(None, false));
    let executions = Runner::new(Around(DfsScheduler::new(None, false)), Config::new()).run(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let theirs = counter.clone();
        let other = thread::spawn(move || theirs.fetch_add(1, SeqCst));
        counter.fetch_add(1, SeqCst);
        other.join().unwrap();
    });
    // Either thread first; the join comes last.
    assert_eq!(executions, 2);
}

#[test]
fn nondeterminism_is_found_by_making_executions_twice() {
    shuttle::check_uncontrolled_nondeterminism(|| drop(std::panic::catch_unwind(lost_update)), 50);
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let text = failure(|| {
        shuttle::check_uncontrolled_nondeterminism(
            move || {
                let threads = runs.fetch_add(1, SeqCst) % 2 + 1;
                let threads: Vec<_> =
                    (0..threads).map(|_| thread::spawn(thread::yield_now)).collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            },
            50,
        );
    });
    assert!(text.contains("possible nondeterminism"), "{text}");
}

#[test]
fn a_depth_first_search_has_one_stream_of_random_numbers_or_none() {
    fn draws() -> u64 {
        thread_rng().r#gen()
    }
    let text = failure(|| check_dfs(|| _ = draws(), None));
    assert!(text.contains("requested random data from DFS scheduler"), "{text}");
    let seen = std::sync::Arc::new(std::sync::Mutex::new(HashSet::new()));
    let theirs = seen.clone();
    Runner::new(DfsScheduler::new(None, true), Config::new()).run(move || {
        let number = Arc::new(AtomicUsize::new(0));
        let other = number.clone();
        let thread = thread::spawn(move || {
            other.fetch_add(1, SeqCst);
            draws()
        });
        number.store(5, SeqCst);
        let pair = (draws(), thread.join().unwrap());
        assert_ne!(pair.0, pair.1);
        theirs.lock().unwrap().insert(pair);
    });
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[test]
fn a_depth_first_search_sees_what_is_shared_through_std() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(HashSet::new()));
    let theirs = seen.clone();
    check_dfs(
        move || {
            let value = std::sync::Arc::new(std::sync::Mutex::new(1));
            let other = value.clone();
            let thread = thread::spawn(move || {
                thread::yield_now();
                *other.lock().unwrap() *= 2;
            });
            thread::yield_now();
            *value.lock().unwrap() += 1;
            thread.join().unwrap();
            theirs.lock().unwrap().insert(*value.lock().unwrap());
        },
        None,
    );
    assert_eq!(*seen.lock().unwrap(), HashSet::from([3, 4]));
}

#[test]
fn failures_are_said_in_shuttles_words() {
    let text = failure(|| {
        check_dfs(
            || {
                let lock = Mutex::new(());
                let _first = lock.lock().unwrap();
                let _second = lock.lock().unwrap();
            },
            None,
        );
    });
    assert!(text.contains("tried to acquire a Mutex it already holds"), "{text}");
    let text = failure(|| {
        check_dfs(
            || {
                let lock = shuttle::sync::RwLock::new(());
                let _first = lock.read().unwrap();
                let _second = lock.write().unwrap();
            },
            None,
        );
    });
    assert!(text.contains("tried to acquire a RwLock it already holds"), "{text}");
}

/// Reports show lines of the test, also where tasks wait for each other inside of ours.
#[test]
fn steps_are_at_lines_of_the_test() {
    let text = failure(|| {
        check_dfs(
            || {
                let semaphore = Arc::new(BatchSemaphore::new(0, Fairness::StrictlyFair));
                let theirs = semaphore.clone();
                let task = future::spawn(async move {
                    theirs.acquire(1).await.unwrap();
                    7
                });
                semaphore.release(1);
                let number = future::block_on(async move { task.await.unwrap() });
                assert_eq!(number, 8, "on purpose");
            },
            None,
        );
    });
    assert!(text.contains("on purpose") && text.contains("shuttle_api.rs)\n"), "{text}");
    assert!(!text.contains("/src/"), "{text}");
}
