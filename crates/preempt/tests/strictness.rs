//! What a check insists on, what it refuses, and what it says when it fails.

use preempt::cell::UnsafeCell;
use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::sync::{Arc, Mutex, mpsc};
use preempt::{Check, Failure, FailureKind, Outcome, Strategy, thread};
use std::process::Command;
use std::time::Duration;

fn patient() -> Check {
    Check::new().time(Duration::from_secs(3600))
}

fn failure(check: Check, body: impl Fn() + Sync) -> Failure {
    match check.run(body).outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

/// Two threads with far more partial orders than two executions show.
fn large() {
    let numbers = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let theirs = numbers.clone();
    let other = thread::spawn(move || theirs.iter().map(|n| n.fetch_add(1, SeqCst)).sum::<usize>());
    for number in numbers.iter().rev() {
        number.fetch_add(1, SeqCst);
    }
    other.join().unwrap();
}

#[test]
fn strict_checks_fail_if_inconclusive() {
    let check = patient().unbounded().executions(2);
    assert!(matches!(check.run(large).outcome, Outcome::Inconclusive(_)));
    let found = failure(check.strict(), large);
    assert_eq!(found.kind, FailureKind::Inconclusive);
    assert!(found.message.contains("limit on executions"), "{}", found.message);
    assert!(matches!(patient().unbounded().strict().run(large).outcome, Outcome::Holds));
    // A replay shows one execution and claims nothing.
    let replayed = patient().strict().replay("p1.0").run(large);
    assert!(matches!(replayed.outcome, Outcome::Inconclusive(_)));
}

#[test]
fn a_least_bound_must_be_completed() {
    let check = patient().strategy(Strategy::ContextBoundedDfs).executions(3);
    assert!(check.clone().min_preemptions(0).run(large).passed());
    let found = failure(check.min_preemptions(1), large);
    assert_eq!(found.kind, FailureKind::Inconclusive);
    assert!(found.message.contains("at most 1 preemptions were asked for"), "{}", found.message);
    assert!(patient().min_preemptions(2).run(large).passed());
}

#[test]
fn contradicting_options_are_refused() {
    let random = Strategy::Random { seed: 1 };
    let checks = [
        patient().preemptions(2).unbounded(),
        patient().unbounded().preemptions(2),
        patient().strategy(Strategy::Optimal).preemptions(2),
        patient().strategy(Strategy::SleepSets).preemptions(2),
        patient().strategy(random).preemptions(2),
        patient().strategy(random).min_preemptions(1),
        patient().strategy(random).strict(),
        patient().preemptions(1).min_preemptions(2),
        patient().require_join().daemons(),
    ];
    for check in checks {
        let found = failure(check, || panic!("is not run"));
        assert_eq!(found.kind, FailureKind::Input, "{}", found.message);
    }
}

/// Strategies that know no bound report the simplest failure all the same.
#[test]
fn every_exhaustive_strategy_reports_the_fewest_preemptions() {
    for strategy in [Strategy::PartialOrders, Strategy::Optimal, Strategy::SleepSets] {
        let found = failure(patient().strategy(strategy), || {
            let numbers = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let theirs = numbers.clone();
            let other = thread::spawn(move || {
                for number in theirs.iter() {
                    let value = number.load(SeqCst);
                    number.store(value + 1, SeqCst);
                }
            });
            for number in numbers.iter() {
                let value = number.load(SeqCst);
                number.store(value + 1, SeqCst);
            }
            other.join().unwrap();
            assert_eq!(numbers[0].load(SeqCst) + numbers[1].load(SeqCst), 4, "lost update");
        });
        assert_eq!(found.preemptions, 1, "{strategy:?}");
    }
}

#[test]
fn objects_have_the_names_of_their_bindings() {
    let found = failure(patient(), || {
        let counter = Arc::new(AtomicUsize::new(7));
        let gate = Arc::new(Mutex::new(()));
        let (theirs, lock) = (counter.clone(), gate.clone());
        let other = thread::spawn(move || {
            let _guard = lock.lock().unwrap();
            theirs.fetch_add(1, SeqCst);
        });
        let before = counter.load(SeqCst);
        drop(gate.lock().unwrap());
        counter.store(before + 1, SeqCst);
        other.join().unwrap();
        assert_eq!(counter.load(SeqCst), 9, "lost update");
    });
    let text = found.to_string();
    assert!(text.contains("counter.load -> 7"), "{text}");
    assert!(text.contains("counter.store(8)") && text.contains("gate.lock"), "{text}");
    assert!(text.contains("left: 8"), "{text}");
}

/// The first switch comes before the main thread's first operation: one preemption, everywhere.
#[test]
fn the_number_of_preemptions_is_the_same_everywhere() {
    let found = failure(patient(), || {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        let other = thread::spawn(move || theirs.store(1, SeqCst));
        assert_eq!(number.load(SeqCst), 0, "already there");
        other.join().unwrap();
    });
    assert_eq!(found.preemptions, 1);
    let text = found.to_string();
    assert!(text.contains("with 1 preemption") && text.contains("preemption 1"), "{text}");
    let shown = found.trace.steps.iter().filter(|s| s.switch == preempt_core::Switch::Preemption);
    assert_eq!(shown.count(), 1, "{text}");
}

#[test]
fn a_data_race_is_shown_step_by_step() {
    struct Plain(UnsafeCell<u32>);
    // SAFETY: the race is what is tested; all threads share one operating system thread.
    unsafe impl Sync for Plain {}
    let found = failure(patient(), || {
        let plain = Arc::new(Plain(UnsafeCell::new(0)));
        let theirs = plain.clone();
        let other = thread::Builder::new().name("writer".into()).spawn(move || {
            // SAFETY: see above.
            theirs.0.with_mut(|value| unsafe { *value += 1 });
        });
        // SAFETY: see above.
        plain.0.with(|value| unsafe { *value });
        other.unwrap().join().unwrap();
    });
    assert_eq!(found.kind, FailureKind::DataRace);
    assert!(found.message.contains("writer writes at"), "{}", found.message);
    assert!(found.message.contains("main reads at"), "{}", found.message);
    let text = found.to_string();
    assert!(text.contains("plain: write, races") && text.contains("plain: read, races"), "{text}");
}

#[test]
fn iterators_over_channels_report_the_line_of_the_test() {
    let line = line!() + 4;
    let found = failure(patient(), || {
        let (sender, receiver) = mpsc::channel::<u32>();
        let _kept = sender.clone();
        for _ in receiver.iter() {}
        drop(sender);
    });
    assert_eq!(found.kind, FailureKind::Deadlock);
    assert_eq!(
        (found.file.ends_with("strictness.rs"), found.line),
        (true, line),
        "{}",
        found.message
    );
}

#[preempt::test(strict, min_preemptions = 1)]
fn tests_may_return_a_result() -> Result<(), std::num::ParseIntError> {
    let number: u32 = "7".parse()?;
    assert_eq!(*preempt::sync::Mutex::new(number).lock().unwrap(), 7);
    Ok(())
}

/// Run by the test below with another environment.
#[preempt::test]
fn inner() -> Result<(), String> {
    let x = AtomicUsize::new(0);
    match std::env::var("PREEMPT_TEST_STRICTNESS").as_deref() {
        Ok("error") => return Err("refused".into()),
        Ok("weak") => x.store(1, std::sync::atomic::Ordering::Relaxed),
        Ok("slow") => loop {
            // Ends with the time, long before the limit of steps.
            preempt::choose(2);
            std::thread::sleep(Duration::from_millis(1));
        },
        _ => x.store(1, SeqCst),
    }
    Ok(())
}

#[test]
fn what_weakens_a_test_is_said_although_output_is_captured() {
    let run = |inner: &str, log: &str| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "inner"])
            .env("PREEMPT_MEMORY", "sc")
            .env("PREEMPT_TEST_STRICTNESS", inner)
            .env("PREEMPT_LOG", log)
            .env("RUST_BACKTRACE", "0")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stderr), text(&output.stdout))
    };
    let (passed, log, _) = run("", "0");
    assert!(passed && !log.contains("partial order"), "{log}");
    let (passed, log, _) = run("", "1");
    assert!(passed && log.contains("inner: no execution fails; 1 partial order"), "{log}");
    let (passed, log, _) = run("weak", "0");
    assert!(passed && log.contains("run as SeqCst"), "{log}");
    let (passed, _, text) = run("error", "0");
    assert!(!passed && text.contains("returned an error: \"refused\""), "{text}");
}

/// A variable that makes no sense is no reason to go on without it.
#[test]
fn variables_that_make_no_sense_are_failures() {
    for (name, value) in
        [("PREEMPT_TIME", "abc"), ("PREEMPT_THREADS", "0"), ("PREEMPT_REPLAY", "x")]
    {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "inner"])
            .env(name, value)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success(), "{name}={value}: {text}");
        let expected = match name {
            "PREEMPT_REPLAY" => "schedule".to_string(),
            _ => format!("preempt: {name}={value} cannot be parsed"),
        };
        assert!(text.contains(&expected), "{name}={value}: {text}");
    }
}

/// Every step has a line of the test, also where no code of the test calls the operation.
#[test]
fn steps_are_at_lines_of_the_test() {
    use preempt::sync::{Barrier, Condvar, Once, OnceLock, RwLock};
    preempt::statics! {
        static HITS: AtomicUsize = AtomicUsize::new(0);
    }
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            HITS.fetch_add(1, SeqCst);
        }
    }
    preempt::thread_local! {
        static LATE: Late = const { Late };
    }
    #[derive(Default)]
    struct Made {
        mutex: Mutex<u8>,
        lock: RwLock<u8>,
        condition: Condvar,
        cell: OnceLock<u8>,
        number: AtomicUsize,
    }
    let found = failure(patient(), || {
        let made = Arc::new(Made::default());
        let theirs = made.clone();
        let other = thread::spawn(move || {
            LATE.with(|_| ());
            *theirs.mutex.lock().unwrap() += 1;
            *theirs.lock.write().unwrap() += 1;
            theirs.condition.notify_all();
            theirs.number.fetch_add(1, SeqCst);
            theirs.cell.get_or_init(|| 1);
        });
        other.is_finished();
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                LATE.with(|_| ());
                sender.send(1).unwrap();
            });
        });
        drop(sender);
        assert_eq!(receiver.into_iter().count(), 1);
        assert!(Arc::strong_count(&made) <= 2);
        Barrier::new(1).wait();
        Once::new().call_once(|| ());
        preempt::future::block_on(async { preempt::future::yield_now().await });
        let waits = thread::spawn(|| thread::park_timeout(Duration::from_secs(1)));
        waits.thread().unpark();
        waits.join().unwrap();
        other.join().unwrap();
        assert_eq!(Arc::strong_count(&made), 2, "on purpose");
    });
    assert_eq!(found.kind, preempt::FailureKind::Panic, "{found}");
    let steps = found.trace.steps.iter().filter(|step| !step.file.ends_with("strictness.rs"));
    let steps: Vec<_> = steps.map(|s| format!("{} at {}:{}", s.text, s.file, s.line)).collect();
    assert!(steps.is_empty(), "{steps:#?}");
}

/// The same where std calls the operation, or a future of preempt's.
#[test]
fn steps_of_tasks_are_at_lines_of_the_test() {
    use preempt::future;
    use std::task::{Poll, Waker};
    let awaited = line!() + 22;
    let found = failure(patient(), || {
        let place = Arc::new(Mutex::new(None::<Waker>));
        let theirs = place.clone();
        let mut registered = false;
        let task = future::spawn(future::poll_fn(move |context| {
            if !registered {
                registered = true;
                *theirs.lock().unwrap() = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(7)
        }));
        let wakes = thread::spawn(move || {
            let waker = place.lock().unwrap().take();
            match waker {
                Some(waker) => waker.wake(),
                None => preempt::future::block_on(preempt::future::yield_now()),
            }
        });
        let ends = future::block_on(async move {
            let number = task.await;
            wakes.join().unwrap();
            number
        });
        assert_eq!(ends, 8, "on purpose");
    });
    assert_eq!(found.kind, preempt::FailureKind::Panic, "{found}");
    let lines: Vec<_> = found.trace.steps.iter().map(|step| (&*step.file, step.line)).collect();
    assert!(lines.iter().all(|(file, _)| file.ends_with("strictness.rs")), "{found}");
    assert!(lines.iter().any(|(_, line)| *line == awaited), "{awaited}: {found}");
    assert!(found.trace.steps.iter().any(|step| step.text.contains("unpark")), "{found}");
    let places = found.objects.iter().map(|(_, place)| place);
    assert!(places.clone().all(|place| place.contains("strictness.rs:")), "{found}");
}
