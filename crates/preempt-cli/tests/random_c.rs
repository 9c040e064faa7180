//! Random C programs: right ones hold, and ones with a seeded mistake are found out, with the same
//! counts in all three ways to execute them, with several processes, and by every schedule.
//!
//! A program is two or three threads of a few actions each; each action adds to some number in a way
//! that is right by construction (under its mutex, atomically, after a condition), so the main thread
//! knows the sums. Locks are taken in order. Many programs are compiled into one executable.
//! `PREEMPT_C_PROGRAMS` and `PREEMPT_C_SEED` make it a campaign.

mod c_programs;

use c_programs::{compile, folder, has, preempt};
use preempt_testing::Random;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    /// Add to a plain number under its mutex.
    Add(usize),
    /// Add to a plain number under a lock that lets readers share.
    Write,
    /// Read it.
    Read,
    /// Move from one plain number to the other, under both mutexes, in order.
    Both,
    /// Add atomically.
    Atomic(usize),
    /// Add atomically by comparing and exchanging until it works.
    Exchange(usize),
    /// Store to a number that no thread relies on.
    Scratch,
    /// Read it, and do different things with the memory of a block of one's own.
    Look,
    /// Count up under mutex 0 and signal.
    Signal,
    /// Wait under mutex 0 until it was counted up.
    Wait,
    /// Post a semaphore, or wait for it.
    Post,
    Take,
    Yield,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    None,
    /// An addition without the mutex.
    NoMutex,
    /// Read in one critical section, write in another.
    Split,
    /// Both mutexes in the wrong order.
    WrongOrder,
    /// A load and a store instead of one atomic addition.
    LoadAndStore,
    /// The signal is left out.
    NoSignal,
    /// The mutex is not released.
    NoUnlock,
    /// Writing under a lock for reading.
    WriteAsReader,
}

const MISTAKES: [Mistake; 8] = [
    Mistake::None,
    Mistake::NoMutex,
    Mistake::Split,
    Mistake::WrongOrder,
    Mistake::LoadAndStore,
    Mistake::NoSignal,
    Mistake::NoUnlock,
    Mistake::WriteAsReader,
];

impl Mistake {
    /// What two threads must do so that the mistake matters; the first thread makes it.
    fn victims(self) -> Option<(Action, Action)> {
        Some(match self {
            Mistake::None => return None,
            Mistake::NoMutex | Mistake::Split => (Action::Add(0), Action::Add(0)),
            Mistake::NoUnlock => (Action::Add(1), Action::Add(1)),
            Mistake::WrongOrder => (Action::Both, Action::Both),
            Mistake::LoadAndStore => (Action::Atomic(0), Action::Exchange(0)),
            Mistake::NoSignal => (Action::Signal, Action::Wait),
            Mistake::WriteAsReader => (Action::Write, Action::Read),
        })
    }

    fn kind(self) -> &'static str {
        match self {
            Mistake::None => "",
            Mistake::NoMutex | Mistake::WriteAsReader => "data_race",
            Mistake::Split | Mistake::LoadAndStore => "assertion",
            Mistake::WrongOrder | Mistake::NoSignal | Mistake::NoUnlock => "deadlock",
        }
    }
}

struct Program {
    threads: Vec<Vec<Action>>,
    mistake: Mistake,
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut random = Random::split(seed);
        let mistake = MISTAKES[seed as usize % MISTAKES.len()];
        let count = 2 + random.below(2);
        let most = if count == 2 { 3 } else { 2 };
        let mut threads: Vec<Vec<Action>> = (0..count)
            .map(|_| (0..1 + random.below(most)).map(|_| action(&mut random)).collect())
            .collect();
        if random.below(3) == 0 {
            insert(&mut random, &mut threads[0], Action::Signal);
            insert(&mut random, &mut threads[1], Action::Wait);
        } else if random.below(3) == 0 {
            // The other way around, so that the two cannot wait for each other.
            insert(&mut random, &mut threads[0], Action::Post);
            insert(&mut random, &mut threads[1], Action::Take);
        }
        if let Some((first, second)) = mistake.victims() {
            threads.iter_mut().for_each(|thread| thread.truncate(2));
            // A thread that waits must not keep the other from making the mistake.
            let waits = |action: &Action| matches!(action, Action::Wait | Action::Take);
            threads.iter_mut().for_each(|thread| thread.retain(|action| !waits(action)));
            if mistake == Mistake::NoSignal {
                threads.iter_mut().for_each(|t| t.retain(|action| *action != Action::Signal));
            }
            threads[0].insert(0, first);
            insert(&mut random, &mut threads[1], second);
        }
        Program { threads, mistake }
    }

    fn count(&self, counts: impl Fn(Action) -> bool) -> usize {
        self.threads.iter().flatten().filter(|&&action| counts(action)).count()
    }

    /// The text, with names that begin with `p` and the number.
    fn text(&self, number: usize) -> String {
        let p = format!("p{number}");
        let mut text = format!(
            "static pthread_mutex_t {p}m[2] = {{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER }};\n\
             static pthread_rwlock_t {p}l = PTHREAD_RWLOCK_INITIALIZER;\n\
             static pthread_cond_t {p}c = PTHREAD_COND_INITIALIZER; static sem_t {p}s;\n\
             static int {p}n[2], {p}w, {p}ready; static atomic_int {p}a[2], {p}x;\n"
        );
        for (thread, actions) in self.threads.iter().enumerate() {
            let _ = writeln!(text, "static void *{p}t{thread}(void *unused) {{ (void)unused;");
            for (nth, &action) in actions.iter().enumerate() {
                let wrong = thread == 0 && nth == 0;
                text += &statement(&p, action, if wrong { self.mistake } else { Mistake::None });
            }
            text += " return NULL; }\n";
        }
        let count = self.threads.len();
        let _ = writeln!(
            text,
            "static int {p}main(void) {{ pthread_t t[{count}]; sem_init(&{p}s, 0, 0);"
        );
        for thread in 0..count {
            let _ = writeln!(text, " pthread_create(&t[{thread}], NULL, {p}t{thread}, NULL);");
        }
        let _ = writeln!(text, " for (int i = 0; i < {count}; i++) pthread_join(t[i], NULL);");
        for number in 0..2 {
            let both = self.count(|action| action == Action::Both);
            let sum = self.count(|action| action == Action::Add(number)) + both;
            let _ = writeln!(text, " assert({p}n[{number}] == {sum});");
            let exchanged =
                |action| action == Action::Atomic(number) || action == Action::Exchange(number);
            let _ = writeln!(text, " assert({p}a[{number}] == {});", self.count(exchanged));
        }
        let written = self.count(|action| action == Action::Write);
        let _ = writeln!(text, " assert({p}w == {written});\n return 0; }}");
        text
    }
}

fn action(random: &mut Random) -> Action {
    match random.below(10) {
        0 | 1 => Action::Add(random.below(2)),
        2 => Action::Both,
        3 => Action::Atomic(random.below(2)),
        4 => Action::Exchange(random.below(2)),
        5 => Action::Scratch,
        6 => Action::Look,
        7 => Action::Write,
        8 => Action::Read,
        _ => Action::Yield,
    }
}

fn insert(random: &mut Random, thread: &mut Vec<Action>, action: Action) {
    let at = random.below(thread.len() + 1);
    thread.insert(at, action);
}

fn statement(p: &str, action: Action, mistake: Mistake) -> String {
    let lock = |k: usize| format!(" pthread_mutex_lock(&{p}m[{k}]);");
    let unlock = |k: usize| format!(" pthread_mutex_unlock(&{p}m[{k}]);");
    match (action, mistake) {
        (Action::Add(k), Mistake::NoMutex) => format!(" {p}n[{k}]++;\n"),
        (Action::Add(k), Mistake::NoUnlock) => format!("{} {p}n[{k}]++;\n", lock(k)),
        (Action::Add(k), Mistake::Split) => format!(
            " {{{} int seen = {p}n[{k}];{}{} {p}n[{k}] = seen + 1;{} }}\n",
            lock(k),
            unlock(k),
            lock(k),
            unlock(k)
        ),
        (Action::Add(k), _) => format!("{} {p}n[{k}]++;{}\n", lock(k), unlock(k)),
        (Action::Write, mistake) => {
            let how = if mistake == Mistake::WriteAsReader { "rd" } else { "wr" };
            format!(" pthread_rwlock_{how}lock(&{p}l); {p}w++; pthread_rwlock_unlock(&{p}l);\n")
        }
        (Action::Read, _) => format!(
            " {{ pthread_rwlock_rdlock(&{p}l); volatile int seen = {p}w; (void)seen;\n  \
             pthread_rwlock_unlock(&{p}l); }}\n"
        ),
        (Action::Both, Mistake::WrongOrder) => {
            format!("{}{} {p}n[0]++; {p}n[1]++;{}{}\n", lock(1), lock(0), unlock(0), unlock(1))
        }
        (Action::Both, _) => {
            format!("{}{} {p}n[0]++; {p}n[1]++;{}{}\n", lock(0), lock(1), unlock(1), unlock(0))
        }
        (Action::Atomic(k), Mistake::LoadAndStore) => format!(
            " {{ int seen = atomic_load(&{p}a[{k}]); atomic_store(&{p}a[{k}], seen + 1); }}\n"
        ),
        (Action::Atomic(k), _) => format!(" atomic_fetch_add(&{p}a[{k}], 1);\n"),
        (Action::Exchange(k), _) => format!(
            " {{ int seen = atomic_load(&{p}a[{k}]);\n  \
             while (!atomic_compare_exchange_strong(&{p}a[{k}], &seen, seen + 1)) {{ }} }}\n"
        ),
        (Action::Scratch, _) => format!(" atomic_store(&{p}x, 1);\n"),
        (Action::Look, _) => format!(
            " {{ int *own = malloc(8); own[0] = 1; if (atomic_load(&{p}x)) own[1] = 2; free(own); }}\n"
        ),
        (Action::Signal, mistake) => {
            let signal = match mistake {
                Mistake::NoSignal => String::new(),
                _ => format!(" pthread_cond_signal(&{p}c);"),
            };
            format!("{} {p}ready++;{signal}{}\n", lock(0), unlock(0))
        }
        (Action::Wait, _) => format!(
            "{} while (!{p}ready) pthread_cond_wait(&{p}c, &{p}m[0]);{}\n",
            lock(0),
            unlock(0)
        ),
        (Action::Post, _) => format!(" sem_post(&{p}s);\n"),
        (Action::Take, _) => format!(" sem_wait(&{p}s);\n"),
        (Action::Yield, _) => " sched_yield();\n".into(),
    }
}

fn text(programs: &[(u64, Program)]) -> String {
    let mut text = String::from(
        "#include <assert.h>\n#include <pthread.h>\n#include <sched.h>\n#include <semaphore.h>\n\
         #include <stdatomic.h>\n#include <stdlib.h>\n",
    );
    for (number, (seed, program)) in programs.iter().enumerate() {
        let _ = writeln!(text, "/* seed {seed}, {:?} */", program.mistake);
        text += &program.text(number);
    }
    text += "int main(int count, char **words) {\n\
             switch (count > 1 ? atoi(words[1]) : 0) {\n";
    for number in 0..programs.len() {
        let _ = writeln!(text, " case {number}: return p{number}main();");
    }
    text + " }\n return 2;\n}\n"
}

fn report(program: &Path, number: usize, options: &[&str]) -> Value {
    let mut command = preempt();
    command.arg("run").args(options).args(["--json", "--"]).arg(program).arg(number.to_string());
    let output = command.output().expect("preempt runs");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{number} {options:?}: {error}: {text} {}", String::from_utf8_lossy(&output.stderr))
    })
}

/// What must not depend on how executions are repeated.
fn facts(report: &Value) -> Vec<String> {
    ["verdict", "bound", "executions", "states", "per_bound", "violation"]
        .map(|key| match key {
            "violation" => ["kind", "message", "preemptions"]
                .map(|part| report[key][part].to_string())
                .join(" "),
            _ => report[key].to_string(),
        })
        .into()
}

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn random_programs_have_the_same_counts_in_every_way() {
    if !has("gcc") {
        return;
    }
    let count = environment("PREEMPT_C_PROGRAMS", 24);
    let first = environment("PREEMPT_C_SEED", 0);
    let mut violated = 0;
    for begin in (first..first + count).step_by(24) {
        let seeds = begin..(begin + 24).min(first + count);
        let programs: Vec<_> = seeds.map(|seed| (seed, Program::new(seed))).collect();
        let source = folder().join(format!("random-{begin}.c"));
        std::fs::write(&source, text(&programs)).expect("a program");
        let executable = compile(&source, &[], ["gcc", "g++"]);
        for (number, (seed, program)) in programs.iter().enumerate() {
            check(&executable, number, *seed, program);
            violated += usize::from(program.mistake != Mistake::None);
        }
        let _ = std::fs::remove_file(executable);
    }
    assert!(violated > 0);
}

/// Which thread holds what at the end, by the steps of the execution, is what the remarks about a deadlock say.
fn waits_name_the_holders(violation: &Value, name: &str) {
    let mut holders = std::collections::HashMap::new();
    let steps = violation["trace"].as_array().expect("steps");
    for step in steps {
        let text = step["text"].as_str().unwrap_or_default();
        if let Some(mutex) =
            text.strip_prefix("lock ").or(text.strip_prefix("wake and lock again "))
        {
            holders.insert(mutex, &step["pid"]);
        } else if let Some(mutex) = text.strip_prefix("unlock ").or(text.strip_prefix("wait ")) {
            holders.remove(mutex);
        }
    }
    let waiting = violation["waiting"].as_array().expect("who waits");
    assert!(!waiting.is_empty(), "{name}");
    for waits in waiting {
        let reason = waits["reasons"][0].as_str().unwrap_or_default();
        assert!(!waits["waits_for"].as_array().expect("a list").is_empty(), "{reason}: {name}");
        let held = reason.strip_prefix("for ").and_then(|rest| rest.split_once(", held by "));
        if let Some(holder) = held.and_then(|(mutex, _)| holders.get(mutex)) {
            assert_eq!(&&waits["waits_for"][0], holder, "{reason}: {name}");
        }
    }
    let held = waiting.iter().any(|w| w["reasons"].to_string().contains(", held by "));
    let other = waiting.iter().any(|w| w["reasons"].to_string().contains("signalled"));
    let itself = waiting.iter().any(|w| w["reasons"].to_string().contains("holds itself"));
    assert!(held || other || itself, "{name}");
}

fn check(executable: &Path, number: usize, seed: u64, program: &Program) {
    let ours = report(executable, number, &["--bound", "2"]);
    let name = format!("seed {seed}, {:?}, {:?}: {ours}", program.mistake, program.threads);
    match program.mistake {
        Mistake::None => {
            let verdict = ours["verdict"].as_str().unwrap_or_default();
            assert!(verdict.starts_with("holds"), "{name}");
        }
        mistake => {
            assert_eq!(ours["verdict"], "violated", "{name}");
            // A mutex that is not released can also stop the thread itself.
            assert_eq!(ours["violation"]["kind"], mistake.kind(), "{name}");
            if mistake.kind() == "deadlock" {
                waits_name_the_holders(&ours["violation"], &name);
            }
        }
    }
    for backend in ["fork", "threads"] {
        let other = report(executable, number, &["--bound", "2", "--backend", backend]);
        assert_eq!(facts(&ours), facts(&other), "{backend}: {name}");
    }
    // Several processes may execute a path twice, and see more of the bound that fails.
    let together = report(executable, number, &["--bound", "2", "--threads", "3"]);
    for key in ["verdict", "bound"] {
        assert_eq!(ours[key], together[key], "{key} with several processes: {name}");
    }
    let counts = |report: &Value| -> Vec<(u64, u64)> {
        let rows = report["per_bound"].as_array().cloned().unwrap_or_default();
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap_or(u64::MAX);
        rows.iter().map(|row| (number(row, "bound"), number(row, "states"))).collect()
    };
    assert_eq!(counts(&ours), counts(&together), "several processes: {name}");
    let one_by_one = report(
        executable,
        number,
        &["--bound", "2", "--search", "schedules", "--executions", "20000"],
    );
    for other in [&together, &one_by_one] {
        if other["stop"].is_null() {
            // There may be schedules beyond the bound where there is no partial order.
            let violated = |report: &Value| report["verdict"] == "violated";
            assert_eq!(violated(&ours), violated(other), "{name}\n{other}");
            for key in ["kind", "preemptions"] {
                assert_eq!(ours["violation"][key], other["violation"][key], "{name}\n{other}");
            }
        }
    }
}
