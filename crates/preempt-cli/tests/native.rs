//! C and C++ programs as they are: every program in `models/native/` has the verdict in its first
//! comment, in all three ways to execute it, with the same counts; what cannot be executed ends with
//! a sentence.

mod c_programs;

use c_programs::{compile, folder, has, preempt, program, root, run, run_plain};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program with what its first comment says.
struct Model {
    source: PathBuf,
    options: Vec<String>,
    expected: Vec<Expected>,
}

struct Expected {
    /// Of `preempt run`.
    options: Vec<String>,
    verdict: String,
    kind: Option<String>,
    stale: Option<u64>,
    preemptions: Option<u64>,
}

fn models() -> Vec<Model> {
    let mut models = Vec::new();
    let folder = root().join("models/native");
    for entry in std::fs::read_dir(folder).expect("models").flatten() {
        let source = entry.path();
        if source.extension() == Some(OsStr::new("h")) {
            continue;
        }
        let text = std::fs::read_to_string(&source).expect("a model");
        let mut model = Model { source, options: Vec::new(), expected: Vec::new() };
        for line in text.lines().take_while(|line| !line.contains("*/")) {
            let line = line.trim_start_matches(['/', '*', ' ']);
            let list = |words: &str| words.split_whitespace().map(String::from).collect();
            if let Some(options) = line.strip_prefix("options:") {
                model.options = list(options);
            } else if let Some((options, verdict)) =
                line.strip_prefix("expect").and_then(|rest| rest.split_once(':'))
            {
                let words: Vec<&str> = verdict.split_whitespace().collect();
                let value = |name: &str| {
                    words.iter().find_map(|word| word.strip_prefix(name)).map(String::from)
                };
                let number = |name: &str| value(name).map(|n| n.parse().expect("a number"));
                model.expected.push(Expected {
                    options: list(options),
                    verdict: words[0].into(),
                    kind: value("kind="),
                    stale: number("stale="),
                    preemptions: number("preemptions="),
                });
            }
        }
        assert!(!model.expected.is_empty(), "{:?} says nothing", model.source);
        models.push(model);
    }
    assert!(models.len() >= 25);
    models.sort_by(|a, b| a.source.cmp(&b.source));
    models
}

/// Checks a report against the expectation and returns what must not depend on the backend.
fn check(
    model: &Model,
    program: &Path,
    options: &[&str],
    Expected { verdict, kind, stale, preemptions, .. }: &Expected,
) -> (u64, u64, String) {
    let (code, report) = run(program, options);
    let name = format!("{} {options:?}: {report}", model.source.display());
    assert_eq!(report["verdict"], verdict.as_str(), "{name}");
    assert_eq!(code, Some(if verdict == "violated" { 1 } else { 0 }), "{name}");
    if let Some(kind) = kind {
        assert_eq!(report["violation"]["kind"], kind.as_str(), "{name}");
        assert_eq!(report["violation"]["preemptions"].as_u64(), *preemptions, "{name}");
        if stale.is_some() {
            assert_eq!(report["violation"]["stale"].as_u64(), *stale, "{name}");
        }
        assert_eq!(report["violation"]["simplest"], true, "{name}");
        if kind != "deadlock" {
            let file = report["violation"]["file"].as_str().unwrap_or_default();
            let source = model.source.file_name().unwrap_or_default().to_string_lossy();
            assert!(file.ends_with(&*source) || file.ends_with(".h"), "{name}");
            assert!(report["violation"]["line"].as_u64() > Some(0), "{name}");
        }
    }
    let executions = report["executions"].as_u64().expect("a number of executions");
    let orders = report["states"].as_u64().expect("a number of partial orders");
    (executions, orders, report["violation"]["message"].to_string())
}

#[test]
fn models_have_their_verdicts_in_all_three_ways() {
    if !has("gcc") || !has("g++") {
        return;
    }
    for model in models() {
        let options: Vec<&str> = model.options.iter().map(String::as_str).collect();
        let program = compile(&model.source, &options, ["gcc", "g++"]);
        for expected in &model.expected {
            let given: Vec<&str> = expected.options.iter().map(String::as_str).collect();
            let with = |backend| [&given[..], &["--backend", backend]].concat();
            let counts: Vec<_> = ["restart", "fork", "threads"]
                .map(|backend| check(&model, &program, &with(backend), expected))
                .into();
            assert_eq!(counts[0], counts[1], "{:?}: restart and fork differ", model.source);
            assert_eq!(counts[0], counts[2], "{:?}: restart and threads differ", model.source);
        }
    }
}

/// Searching every schedule, one by one, gives the same verdicts and least bounds as searching
/// partial orders. Only programs that are small enough.
#[test]
fn every_schedule_agrees_with_partial_orders() {
    if !has("gcc") {
        return;
    }
    let small = [
        "account",
        "account_locked",
        "lost_update",
        "bluetooth",
        "wsq_bug1",
        "wsq_bug2",
        "philosophers",
        "string_buffer",
        "use_after_free",
        "double_free",
        "barrier_reuse",
        "recursive_mutex",
        "reorder",
        "main_returns",
        "timed_lock",
    ];
    for model in models() {
        let stem = model.source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !small.contains(&stem.as_str()) {
            continue;
        }
        let program = compile(&model.source, &[], ["gcc", "g++"]);
        for expected in &model.expected {
            let given: Vec<&str> = expected.options.iter().map(String::as_str).collect();
            let (_, orders, _) = check(&model, &program, &given, expected);
            let one_by_one = [&given[..], &["--search", "schedules"]].concat();
            let (_, seen, _) = check(&model, &program, &one_by_one, expected);
            if expected.verdict == "holds" {
                assert_eq!(orders, seen, "{:?}: partial orders", model.source);
            }
        }
    }
}

#[test]
fn clang_gives_the_same_verdicts() {
    if !has("clang") {
        return;
    }
    for model in
        models().into_iter().filter(|model| model.source.extension() == Some(OsStr::new("c")))
    {
        let program = compile(&model.source, &[], ["clang", "clang++"]);
        for expected in &model.expected {
            let given: Vec<&str> = expected.options.iter().map(String::as_str).collect();
            check(&model, &program, &given, expected);
        }
    }
}

/// Optimised code has the same scheduling points.
#[test]
fn optimised_programs_have_the_same_verdicts() {
    if !has("gcc") {
        return;
    }
    for name in ["account", "bluetooth", "wsq_bug2", "philosophers", "thread_pool"] {
        let source = root().join(format!("models/native/{name}.c"));
        let model = models().into_iter().find(|model| model.source.ends_with(format!("{name}.c")));
        let model = model.expect("a model");
        let program = compile(&source, &["-O2"], ["gcc", "g++"]);
        for expected in &model.expected {
            check(&model, &program, &[], expected);
        }
    }
}

#[test]
fn what_is_not_modelled_ends_with_a_sentence() {
    if !has("gcc") {
        return;
    }
    let thread = "static void *work(void *p) { return p; }\n";
    let cases = [
        (
            "cancels",
            "int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_cancel(t);\n\
             pthread_join(t, 0); return 0; }",
            "pthread_cancel",
        ),
        (
            "tries_to_join",
            "int pthread_tryjoin_np(pthread_t, void **);\n\
             int main(void) { pthread_t t; pthread_create(&t, 0, work, 0);\n\
             return pthread_tryjoin_np(t, 0); }",
            "pthread_tryjoin_np",
        ),
        (
            "names_a_semaphore",
            "#include <fcntl.h>\n#include <semaphore.h>\n\
             int main(void) { return sem_open(\"/some\", O_CREAT, 0600, 1) == SEM_FAILED; }",
            "sem_open",
        ),
        ("forks", "int main(void) { return fork() == 0 ? 0 : 0; }", "fork"),
        (
            "becomes_another",
            "int main(void) { return execl(\"/bin/true\", \"true\", NULL); }",
            "exec",
        ),
        (
            "waits_outside",
            "#include <sys/socket.h>\nint main(void) { int s = socket(AF_INET, SOCK_STREAM, 0);\n\
             if (listen(s, 1)) return 1; return accept(s, NULL, NULL); }",
            "accept",
        ),
        (
            "polls",
            "#include <poll.h>\n#include <sys/socket.h>\n\
             int main(void) { int s = socket(AF_INET, SOCK_STREAM, 0); if (listen(s, 1)) return 1;\n\
             struct pollfd p = { s, POLLIN, 0 }; return poll(&p, 1, 1000); }",
            "poll",
        ),
        ("pauses", "int main(void) { return pause(); }", "pause"),
        ("has_alarms", "int main(void) { alarm(1); return 0; }", "alarm"),
        (
            "has_timers",
            "#include <signal.h>\n#include <time.h>\n\
             int main(void) { timer_t t; return timer_create(CLOCK_MONOTONIC, NULL, &t); }",
            "timer_create",
        ),
        (
            "mixes_sizes",
            "static long word; int main(void) { __atomic_store_n(&word, 1, __ATOMIC_RELAXED);\n\
             return __atomic_load_n((int *)&word, __ATOMIC_RELAXED) != 1; }",
            "different sizes",
        ),
        (
            "is_not_aligned",
            "static char bytes[16]; int main(void) { int *at = (int *)(bytes + 3);\n\
             return __atomic_load_n(at, __ATOMIC_RELAXED); }",
            "not aligned",
        ),
        (
            "counts_in_16_bytes",
            "static __int128 number; int main(void) {\n\
             return (int)__atomic_fetch_add(&number, 1, __ATOMIC_RELAXED); }",
            "16 bytes",
        ),
        (
            "moves_waiters",
            "#include <sys/syscall.h>\nstatic int a, b; int main(void) {\n\
             return (int)syscall(SYS_futex, &a, 3, 1, 1, &b, 0); }",
            "futex operation 3",
        ),
        (
            "has_many_threads",
            "int main(void) { pthread_t t; for (int i = 0; i < 300; i++) {\n\
             pthread_create(&t, 0, work, 0); pthread_detach(t); } return 0; }",
            "more than 256 threads",
        ),
    ];
    for (name, text, word) in cases {
        let program = program(name, &format!("{thread}{text}\n"));
        let (code, report) = run(&program, &[]);
        assert_eq!(code, Some(3), "{name}: {report}");
        assert_eq!(report["verdict"], "inconclusive", "{name}: {report}");
        assert_eq!(report["stop"], "unsupported", "{name}: {report}");
        let claim = report["claim"].as_str().unwrap_or_default();
        assert!(claim.contains(word) && claim.contains(&format!("{name}.c:")), "{name}: {claim}");
    }
}

#[test]
fn files_and_output_need_a_process_each() {
    if !has("gcc") {
        return;
    }
    let text = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int n;\n\
        static void *work(void *p) { FILE *f = fopen(\"/dev/null\", \"w\");\n\
        pthread_mutex_lock(&m); fprintf(f, \"%d\\n\", n++); pthread_mutex_unlock(&m); fclose(f); return p; }\n\
        int main(void) { pthread_t a, b; pthread_create(&a, 0, work, 0); pthread_create(&b, 0, work, 0);\n\
        pthread_join(a, 0); pthread_join(b, 0); assert(n == 2); printf(\"both\\n\"); return 0; }\n";
    let program = program("writes_files", text);
    let (code, report) = run(&program, &[]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["verdict"], "holds", "{report}");
    assert!(report["notes"].to_string().contains("its own process"), "{report}");
    let (code, report) = run(&program, &["--backend", "restart"]);
    assert_eq!((code, &report["stop"]), (Some(3), &"unsupported".into()), "{report}");
    assert!(report["claim"].to_string().contains("--backend fork"), "{report}");
    // By itself it is an ordinary program.
    let alone = Command::new(&program).output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&alone.stdout), "both\n");
}

/// The library of C keeps data of its own. What an execution in a forked process does to it is
/// nothing to the next one, with however many threads.
#[test]
fn forked_executions_do_not_know_of_each_other() {
    if !has("gcc") {
        return;
    }
    let text = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int n;\n\
        static void *work(void *p) { pthread_mutex_lock(&m); n += rand() != -1;\n\
        pthread_mutex_unlock(&m); return p; }\n\
        int main(void) { pthread_t t[4]; fclose(fopen(\"/dev/null\", \"w\")); srand(7);\n\
        setenv(\"SOME\", \"thing\", 1);\n\
        for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);\n\
        for (int i = 0; i < 4; i++) pthread_join(t[i], 0); assert(n == 4); return 0; }\n";
    let program = program("forks_after_a_file", text);
    let (code, report) = run(&program, &["--bound", "0", "--time", "60s"]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["states"], 24, "{report}");
    assert!(report["notes"].to_string().contains("its own process"), "{report}");
}

#[test]
fn a_schedule_is_repeated() {
    if !has("gcc") {
        return;
    }
    let program = compile(&root().join("models/native/account.c"), &[], ["gcc", "g++"]);
    let text = run_plain(&program, &[], &[]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let schedule = text
        .split_once("--replay ")
        .and_then(|(_, rest)| rest.split_whitespace().next())
        .unwrap_or_else(|| panic!("no schedule in {text}"));
    let (code, report) = run(&program, &["--replay", schedule]);
    assert_eq!(code, Some(1), "{report}");
    assert_eq!(report["violation"]["kind"], "assertion", "{report}");
    let (code, _) = run(&program, &["--replay", "p1.1x4.2x4"]);
    assert_eq!(code, Some(0));
    let trace = folder().join("account.json");
    let trace = trace.to_string_lossy();
    run_plain(&program, &["--trace", &trace], &[]);
    let again = preempt().arg("replay").arg(&program).arg(&*trace).output().expect("preempt runs");
    assert_eq!(again.status.code(), Some(1), "{}", String::from_utf8_lossy(&again.stdout));
}

#[test]
fn programs_that_cannot_be_used_are_input_errors() {
    let plain = run_plain(Path::new("/bin/true"), &[], &[]);
    assert_eq!(plain.status.code(), Some(2));
    let text = String::from_utf8_lossy(&plain.stderr).into_owned();
    assert!(text.contains("preempt cc"), "{text}");
    let missing = run_plain(Path::new("./no-such-program"), &[], &[]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn properties_can_be_asked_for() {
    if !has("gcc") {
        return;
    }
    let leaks = program("leaks", "int main(void) { return malloc(10) ? 0 : 1; }\n");
    assert_eq!(run(&leaks, &[]).0, Some(0));
    assert_eq!(run(&leaks, &["--leaks"]).1["violation"]["kind"], "leak");
    let fails = program("fails", "int main(void) { return 3; }\n");
    assert_eq!(run(&fails, &[]).0, Some(0));
    assert_eq!(run(&fails, &["--exit-code"]).1["violation"]["kind"], "exit_code");
    let text = "static void *work(void *p) { sleep(1); return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); return 0; }\n";
    let leaves = program("leaves", text);
    assert_eq!(run(&leaves, &[]).0, Some(0));
    assert_eq!(run(&leaves, &["--unjoined"]).1["violation"]["kind"], "misuse");
    let aborts = program("aborts", "int main(void) { abort(); }\n");
    assert_eq!(run(&aborts, &[]).1["violation"]["kind"], "abort");
    let spins = program(
        "spins",
        "int main(void) { volatile int x = 1; int y = 0; while (x) y++; return y; }\n",
    );
    let (code, report) = run(&spins, &["--patience", "2"]);
    assert_eq!(code, Some(1), "{report}");
    assert_eq!(report["violation"]["kind"], "livelock", "{report}");
}

/// Numbers of sixteen bytes are read, stored and compared with their memory orders, also when a program
/// runs by itself.
#[test]
fn wide_numbers_have_memory_orders() {
    if !has("gcc") {
        return;
    }
    let text = |order: &str| {
        format!(
            "typedef unsigned __int128 wide; static wide number; static int flag;\n\
             #define BOTH(n) ((wide)(n) << 64 | (n))\n\
             static void *work(void *p) {{ wide seen = 0;\n\
             while (!__atomic_compare_exchange_n(&number, &seen, BOTH(7), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {{ }}\n\
             __atomic_store_n(&flag, 1, {order}); return p; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, work, 0);\n\
             if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE))\n\
             assert(__atomic_load_n(&number, __ATOMIC_RELAXED) == BOTH(7));\n\
             pthread_join(t, 0); assert(__atomic_exchange_n(&number, BOTH(9), __ATOMIC_RELAXED) == BOTH(7));\n\
             assert(__atomic_load_n(&number, __ATOMIC_RELAXED) == BOTH(9)); return 0; }}\n"
        )
    };
    let right = program("wide_numbers", &text("__ATOMIC_RELEASE"));
    assert_eq!(run(&right, &[]).1["verdict"], "holds", "{}", run(&right, &[]).1);
    assert!(Command::new(&right).status().expect("the program runs").success());
    let wrong = program("wide_numbers_relaxed", &text("__ATOMIC_RELAXED"));
    let (_, report) = run(&wrong, &[]);
    assert_eq!(report["violation"]["kind"], "assertion", "{report}");
    assert_eq!(report["violation"]["stale"], 1, "{report}");
}

/// A comparison that fails is a read, so it does not race with a plain one.
#[test]
fn comparisons_that_fail_do_not_write() {
    if !has("gcc") {
        return;
    }
    for (expected, verdict) in [(5, "holds"), (0, "violated")] {
        let text = format!(
            "static int x; static volatile int sink;\n\
             static void *work(void *p) {{ int seen = {expected};\n\
             __atomic_compare_exchange_n(&x, &seen, 6, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); return p; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, work, 0); sink = x;\n\
             pthread_join(t, 0); return 0; }}\n"
        );
        let (_, report) = run(&program(&format!("compares_with_{expected}"), &text), &[]);
        assert_eq!(report["verdict"], verdict, "{report}");
    }
}

/// What a weak execution is reported as: the value that was missed, where it was stored, and which orders
/// would forbid it; and the schedule repeats it.
#[test]
fn reports_say_what_was_missed_and_what_would_forbid_it() {
    if !has("gcc") {
        return;
    }
    let text = "#include <stdatomic.h>\nstatic atomic_int data, flag;\n\
        static void *work(void *p) { atomic_store_explicit(&data, 1, memory_order_relaxed);\n\
        atomic_store_explicit(&flag, 1, memory_order_relaxed); return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0);\n\
        if (atomic_load_explicit(&flag, memory_order_acquire))\n\
        assert(atomic_load_explicit(&data, memory_order_relaxed));\n\
        pthread_join(t, 0); return 0; }\n";
    let program = program("message", text);
    let (code, report) = run(&program, &[]);
    assert_eq!(code, Some(1), "{report}");
    assert_eq!(report["violation"]["stale"], 1, "{report}");
    let steps = report["violation"]["trace"].to_string();
    assert!(steps.contains("load data -> 0, though 1 was stored at line 8"), "{steps}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("nothing orders that store before this load"), "{notes}");
    let remedy = "with memory_order_release at line 9 this execution is impossible";
    assert!(notes.contains(remedy), "{notes}");
    let shown = String::from_utf8_lossy(&run_plain(&program, &[], &[]).stdout).into_owned();
    assert!(shown.contains("1 stale choice, 0 preemptions"), "{shown}");
    let schedule =
        shown.split_once("--replay ").and_then(|(_, rest)| rest.split_whitespace().next());
    let (code, again) = run(&program, &["--replay", schedule.expect("a schedule")]);
    assert_eq!((code, &again["violation"]["stale"]), (Some(1), &1.into()), "{again}");
    // At random, too; and not where there are no stale choices.
    let (code, report) = run(&program, &["--search", "random", "--executions", "2000"]);
    assert_eq!(code, Some(1), "{report}");
    for options in [&["--memory-model", "sc"][..], &["--search", "schedules"]] {
        let (_, report) = run(&program, options);
        assert_eq!(report["verdict"], "holds", "{report}");
        assert!(report["notes"].to_string().contains("sequentially consistent"), "{report}");
    }
    let (code, report) = run(&program, &["--stale", "0"]);
    assert_eq!((code, &report["verdict"]), (Some(0), &"holds_within_bound".into()), "{report}");
    assert!(report["claim"].to_string().contains("no stale choice"), "{report}");
    for refused in [["--memory", "sc"], ["--search", "schedules"]] {
        let output = run_plain(&program, &[&refused[..], &["--stale", "1"]].concat(), &[]);
        assert_eq!(output.status.code(), Some(2), "{refused:?}");
    }
}

/// Steps name what they are about: parts of global variables by the debug information, memory of the heap as it is written.
#[test]
fn steps_name_parts_of_variables_and_memory_of_the_heap() {
    if !has("gcc") {
        return;
    }
    let globals = "#include <stdatomic.h>\nstruct item { int key; atomic_int uses; };\n\
                   static struct { pthread_mutex_t lock; struct item items[2][3]; } table;\nstatic struct item *shared;\n\
                   static void *work(void *p) { pthread_mutex_lock(&table.lock); table.items[1][2].uses++;\n\
                   pthread_mutex_unlock(&table.lock); shared->uses += 2;\n\
                   shared->key = 3;\n\
                   return p; }\n\
                   int main(void) { pthread_t a, b; shared = malloc(sizeof *shared); atomic_init(&shared->uses, 0);\n\
                   pthread_create(&a, 0, work, 0); pthread_create(&b, 0, work, 0); pthread_join(a, 0); pthread_join(b, 0);\n\
                   return 0; }\n";
    let (_, report) = run(&program("names_parts", globals), &[]);
    assert_eq!(report["violation"]["kind"], "data_race", "{report}");
    let steps = report["violation"]["trace"].as_array().expect("steps");
    let texts: Vec<&str> = steps.iter().filter_map(|step| step["text"].as_str()).collect();
    for wanted in [
        "lock table.lock",
        "fetch_add table.items[1][2].uses -> 0",
        "fetch_add shared->uses -> 0",
        "write shared->key = 3",
    ] {
        assert!(texts.contains(&wanted), "{wanted}: {texts:?}");
    }
    let source = folder().join("names_fields.cc");
    let fields = "#include <atomic>\n#include <cassert>\n#include <condition_variable>\n#include <memory>\n#include <mutex>\n\
                  #include <thread>\n\
                  struct Box { std::mutex guard; std::condition_variable ready; bool full = false; std::atomic<int> count{0};\n\
                  void put() { std::lock_guard<std::mutex> lock(guard); full = true;\n\
                  count.store(count.load() + 1);\n\
                  ready.notify_one(); }\n\
                  void take() { std::unique_lock<std::mutex> lock(guard);\n\
                  while (!full) ready.wait(lock);\n\
                  count++; } };\n\
                  int main() { auto box = std::make_shared<Box>(); std::thread t([box] { box->put(); }); box->take(); t.join();\n\
                  assert(box->count.load() == 1); }\n";
    std::fs::write(&source, fields).expect("a program");
    let (_, report) = run(&compile(&source, &[], ["gcc", "g++"]), &[]);
    assert_eq!(report["violation"]["kind"], "assertion", "{report}");
    let steps = report["violation"]["trace"].as_array().expect("steps");
    let texts: Vec<&str> = steps.iter().filter_map(|step| step["text"].as_str()).collect();
    for wanted in
        ["lock guard", "wait ready", "store count = 1", "signal ready", "fetch_add count -> 1"]
    {
        assert!(texts.contains(&wanted), "{wanted}: {texts:?}");
    }
    assert!(!texts.iter().any(|text| text.contains("0x")), "{texts:?}");
}
