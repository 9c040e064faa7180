//! C and C++ programs that wait in loops of all shapes, and use memory that others have made: the right verdict, never "not
//! deterministic".

mod c_programs;

use c_programs::{compile, folder, has, program, run};

const USES: &str = "#include <stdatomic.h>\nstatic atomic_int x, y; static int data;\n";

/// Two threads beside the main one, and what is expected.
fn check(name: &str, text: &str, options: &[&str], expected: &str) {
    let (_, report) = run(&program(name, &format!("{USES}{text}")), options);
    let kind = report["violation"]["kind"].as_str();
    let found = kind.unwrap_or_else(|| report["verdict"].as_str().unwrap_or_default());
    assert_eq!(found, expected, "{name}: {report}");
}

fn two(first: &str, second: &str, main: &str) -> String {
    format!(
        "static void *first(void *p) {{ {first} return p; }}\nstatic void *second(void *p) {{ {second} return p; }}\n\
         int main(void) {{ pthread_t a, b; pthread_create(&a, 0, first, 0); pthread_create(&b, 0, second, 0); {main}\n\
         pthread_join(a, 0); pthread_join(b, 0); return 0; }}\n"
    )
}

#[test]
fn loops_that_wait_are_recognised_in_every_shape() {
    if !has("gcc") {
        return;
    }
    let waits = "static void wait(void) { while (!x); }\n";
    check(
        "waits_in_a_call",
        &format!("{waits}{}", two("data = 1; x = 1;", "", "wait(); assert(data == 1);")),
        &[],
        "holds",
    );
    // Two reads of the same number in a round, at two places, with a variable of four bytes beside what was left on the stack.
    let twice = "do { if (atomic_load_explicit(&x, memory_order_acquire) == 3) break; }\n\
                 while (atomic_load_explicit(&x, memory_order_relaxed) != 0);";
    check(
        "reads_twice",
        &two(
            twice,
            "for (int i = 1; i <= 3; i++) atomic_store_explicit(&x, i, memory_order_relaxed);",
            "",
        ),
        &[],
        "holds",
    );
    let exchanges = "int r = 0; do { int e = 0; r = atomic_compare_exchange_strong(&x, &e, 1); } while (!r); data++; x = 0;";
    check("exchanges", &two(exchanges, exchanges, ""), &[], "holds");
    check(
        "waits_for_two",
        &two(
            "int r; do { r = x; } while (!r); y = 1;",
            "x = 1;",
            "int r; do { r = y; } while (r != 1);",
        ),
        &[],
        "holds",
    );
    check("waits_for_nothing", &two("while (!x);", "", ""), &[], "livelock");
    // Plain variables, where races are no violations.
    check(
        "waits_for_a_plain_one",
        &two("while (!data);", "data = 1;", ""),
        &["--races", "off"],
        "holds",
    );
}

/// The value of a semaphore is asked for, also beside numbers with relaxed accesses: it is the newest, in every order.
#[test]
fn the_value_of_a_semaphore_changes() {
    if !has("gcc") {
        return;
    }
    let text = |then: &str| {
        let second = "atomic_store_explicit(&y, 1, memory_order_relaxed); sem_post(&units);";
        let main = format!("int n; sem_getvalue(&units, &n); {then}");
        format!("#include <semaphore.h>\nstatic sem_t units;\n{}", two("", second, &main))
    };
    for value in 0..2 {
        let found = text(&format!("assert(n != {value});"));
        check(&format!("semaphore_is_{value}"), &found, &[], "assertion");
    }
    check("semaphore_is_small", &text("assert(n == 0 || n == 1);"), &[], "holds");
    let waits = text("while (n == 0) sem_getvalue(&units, &n);");
    check("waits_for_a_semaphore", &waits, &[], "holds");
}

/// A semaphore that looks ten thousand times before its thread goes to sleep: what happens after that is explored.
#[test]
fn what_follows_thousands_of_looks_is_explored() {
    if !has("gcc") {
        return;
    }
    let semaphore = |post: &str| {
        format!(
            "#include <semaphore.h>\n static sem_t asleep;\n\
             static void wait(void) {{\n\
               for (int spin = 10000; spin > 0; spin--) {{ int had = x; if (had > 0 && atomic_compare_exchange_strong(&x, &had, had - 1)) return; }}\n\
               if (atomic_fetch_sub(&x, 1) <= 0) sem_wait(&asleep); }}\n\
             static void *post(void *p) {{ data = 1; if (atomic_fetch_add(&x, 1) < 0) {post}; return p; }}\n\
             int main(void) {{ pthread_t a; sem_init(&asleep, 0, 0); pthread_create(&a, 0, post, 0); wait();\n\
             assert(data == 1); pthread_join(a, 0); return 0; }}\n"
        )
    };
    check("looks_and_sleeps", &semaphore("sem_post(&asleep)"), &[], "holds");
    check("sleeps_for_ever", &semaphore("(void)0"), &[], "deadlock");
}

/// Threads may end the program after `main` has left it to them.
#[test]
fn threads_end_the_program_after_main() {
    if !has("gcc") {
        return;
    }
    let text = "static void *work(void *p) { x++; exit(0); }\n\
        int main(void) { pthread_t a, b; pthread_create(&a, 0, work, 0); pthread_create(&b, 0, work, 0); x++;\n\
        pthread_exit(0); }\n";
    check("ends_after_main", text, &[], "holds");
}

/// Memory of the heap must be handed over: every use of it comes after its allocation.
#[test]
fn memory_is_handed_over_before_it_is_used() {
    if !has("gcc") {
        return;
    }
    let text = |load: &str| {
        let uses = format!(
            "int *r = atomic_load_explicit(&shared, {load}); if (r) __atomic_store_n(r, 1, __ATOMIC_RELAXED);"
        );
        format!(
            "static _Atomic(int *) shared;\n{}",
            two("shared = calloc(1, sizeof(int));", &uses, "")
        )
    };
    check("handed_over", &text("memory_order_acquire"), &[], "holds");
    check("not_handed_over", &text("memory_order_relaxed"), &[], "data_race");
}

/// A stack without locks over an array of atomic numbers on the heap, filled in a constructor and indexed by what is read: the
/// search goes on from one bound to the next.
#[test]
fn arrays_of_atomics_on_the_heap_are_deterministic() {
    if !has("g++") {
        return;
    }
    let text = "#include <atomic>\n#include <thread>\n#include <vector>\n\
        struct Cell { std::atomic<int> value, next; };\n\
        struct Stack { std::vector<Cell> cells; std::atomic<int> head{0}, count;\n\
        Stack(int n) : cells(n), count(n) { for (int i = 0; i < n; i++) cells[i].next = i + 1 < n ? i + 1 : -1; }\n\
        int pop() { while (count > 1) { int first = head, next = cells[first].next.exchange(-1);\n\
        if (next >= 0) { int expected = first; if (head.compare_exchange_strong(expected, next)) { count--; return first; }\n\
        cells[first].next.exchange(next); } } return -1; }\n\
        void push(int i) { int first; do { first = head; cells[i].next = first; }\n\
        while (!head.compare_exchange_strong(first, i)); count++; } };\n\
        static Stack *stack;\n\
        static void work(int id) { int i; while ((i = stack->pop()) < 0) { } stack->cells[i].value = id; stack->push(i); }\n\
        int main() { stack = new Stack(3); std::thread a(work, 1), b(work, 2); a.join(); b.join(); delete stack; }\n";
    let source = folder().join("lock_free_stack.cc");
    std::fs::write(&source, text).expect("a program");
    for options in [&[][..], &["-O2"]] {
        let (_, report) =
            run(&compile(&source, options, ["gcc", "g++"]), &["--bound", "2", "--time", "60s"]);
        assert_eq!(report["verdict"], "holds_within_bound", "{report}");
    }
}

/// What is copied without being initialised differs between executions, which makes no difference until it is read.
#[test]
fn what_is_not_initialised_may_be_copied() {
    if !has("gcc") {
        return;
    }
    let text = |use_it: &str| {
        format!(
            "#include <stdlib.h>\nstruct s {{ int used, number; }} *a, *b;\n\
             #define LOAD(p) __atomic_load_n(&p->number, __ATOMIC_SEQ_CST)\n\
             __attribute__((noinline)) static void copy(struct s *to, int known) {{\n\
             struct s from; from.used = 1; from.number = known ? 5 : (int)__builtin_ia32_rdtsc(); *to = from; }}\n{}",
            two(
                &format!(
                    "a = malloc(sizeof *a); copy(a, 1); x++; b = malloc(sizeof *b); copy(b, 0); if (x == 2) {{ {use_it} }}"
                ),
                "if (x) assert(LOAD(a) == 5); x++;",
                ""
            )
        )
    };
    let stores = "__atomic_store_n(&b->number, 1, __ATOMIC_SEQ_CST); assert(LOAD(b) == 1);";
    check("copies_garbage", &text(stores), &[], "holds");
    check("reads_garbage", &text("assert(LOAD(b) != 7);"), &[], "inconclusive");
}

/// A robust mutex is released when its holder ends, and tells the next one.
#[test]
fn robust_mutexes_tell_that_their_holder_has_ended() {
    if !has("gcc") {
        return;
    }
    let text = |next: &str, robust: bool| {
        let robust =
            if robust { "pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);" } else { "" };
        format!(
            "#include <errno.h>\nstatic pthread_mutex_t m; static pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n\
             static void *work(void *p) {{ assert(pthread_mutex_lock(&m) == 0); data = 1; return p; }}\n\
             int main(void) {{ pthread_mutexattr_t a; pthread_t t; pthread_mutexattr_init(&a); {robust}\n\
             pthread_mutex_init(&m, &a); pthread_create(&t, 0, work, 0); {next} return 0; }}\n"
        )
    };
    let joined = "pthread_join(t, 0); int r = pthread_mutex_lock(&m);";
    let cases = [
        (
            "holder_ended",
            format!(
                "{joined} assert(r == EOWNERDEAD && data == 1); assert(pthread_mutex_consistent(&m) == 0);\n\
          pthread_mutex_unlock(&m); assert(pthread_mutex_lock(&m) == 0); pthread_mutex_unlock(&m);"
            ),
            true,
            "holds",
        ),
        (
            "holder_may_have_ended",
            "int r = pthread_mutex_lock(&m); assert(r == 0 || r == EOWNERDEAD);\n\
          if (r) pthread_mutex_consistent(&m); pthread_mutex_unlock(&m); pthread_join(t, 0);"
                .into(),
            true,
            "holds",
        ),
        (
            "holder_is_not_told",
            "int r = pthread_mutex_lock(&m); assert(r == 0);".into(),
            true,
            "assertion",
        ),
        (
            "not_made_consistent",
            format!(
                "{joined} pthread_mutex_unlock(&m); assert(pthread_mutex_lock(&m) == ENOTRECOVERABLE);\n\
          assert(pthread_mutex_trylock(&m) == ENOTRECOVERABLE);"
            ),
            true,
            "holds",
        ),
        (
            "consistent_for_no_reason",
            "pthread_join(t, 0); assert(pthread_mutex_consistent(&m) == EINVAL);".into(),
            true,
            "holds",
        ),
        ("not_robust", joined.into(), false, "deadlock"),
    ];
    for (name, next, robust, expected) in cases {
        check(name, &text(&next, robust), &[], expected);
    }
}

/// What programs tell the thread sanitizer links, and hides no race; contexts of the program's own are refused.
#[test]
fn annotations_of_the_sanitizer_link() {
    if !has("gcc") {
        return;
    }
    let declared = "void AnnotateHappensBefore(const char *, int, void *); void AnnotateHappensAfter(const char *, int, void *);\n\
        void __tsan_mutex_pre_lock(void *, unsigned); void __tsan_mutex_post_lock(void *, unsigned, int);\n\
        void *__tsan_create_fiber(unsigned); void __tsan_switch_to_fiber(void *, unsigned);\n";
    let claims = "__tsan_mutex_pre_lock(&x, 0); __tsan_mutex_post_lock(&x, 0, 0); AnnotateHappensAfter(\"\", 1, &x);";
    let orders = "AnnotateHappensBefore(\"\", 1, &x);";
    check(
        "annotated",
        &format!(
            "{declared}{}",
            two(&format!("data = 1; {orders}"), &format!("{claims} x = data;"), "")
        ),
        &[],
        "data_race",
    );
    check(
        "annotated_rightly",
        &format!("{declared}{}", two(&format!("x = 1; {orders}"), &format!("{claims} y = x;"), "")),
        &[],
        "holds",
    );
    check(
        "fibers",
        &format!("{declared}{}", two("__tsan_switch_to_fiber(__tsan_create_fiber(0), 0);", "", "")),
        &[],
        "inconclusive",
    );
}

/// A queue between two threads: each keeps what it has last read about the other end, in memory, and writes it again in
/// each round of waiting.
#[test]
fn rewriting_the_same_value_is_waiting() {
    if !has("g++") {
        return;
    }
    let text = |order: &str| {
        format!(
            "#include <atomic>\n#include <cassert>\n#include <thread>\n#include <vector>\n\
             struct Queue {{ std::vector<int> slots; size_t size; std::atomic<size_t> written{{0}}, read{{0}};\n\
             size_t known_read = 0, known_written = 0; Queue(size_t n) : slots(n), size(n) {{ }}\n\
             void push(int value) {{ size_t at = written.load(std::memory_order_relaxed), next = (at + 1) % size;\n\
             while (next == known_read) known_read = read.load(std::memory_order_acquire);\n\
             slots[at] = value; written.store(next, std::memory_order_{order}); }}\n\
             int *front() {{ size_t at = read.load(std::memory_order_relaxed);\n\
             if (at == known_written) {{ known_written = written.load(std::memory_order_acquire); if (at == known_written) return nullptr; }}\n\
             return &slots[at]; }}\n\
             void pop() {{ size_t at = read.load(std::memory_order_relaxed); read.store((at + 1) % size, std::memory_order_release); }} }};\n\
             int main() {{ Queue queue(2); std::thread other([&] {{ for (int i = 0; i < 2; i++) {{ int *p;\n\
             while (!(p = queue.front())) {{ }} assert(*p == i); queue.pop(); }} }});\n\
             for (int i = 0; i < 2; i++) queue.push(i); other.join(); }}\n"
        )
    };
    for options in [&[][..], &["-O2"]] {
        for (order, expected) in [("release", "holds"), ("relaxed", "violated")] {
            let source = folder().join(format!("queue_{order}.cc"));
            std::fs::write(&source, text(order)).expect("a program");
            let (_, report) = run(&compile(&source, options, ["gcc", "g++"]), &["--time", "60s"]);
            assert_eq!(report["verdict"], expected, "{options:?} {order}: {report}");
        }
    }
}

/// Threads that take turns thousands of times go round, and remember how often; others go round for ever.
#[test]
fn rounds_that_are_counted_come_to_an_end() {
    if !has("gcc") {
        return;
    }
    let text = |forever: bool| {
        let head = if forever { "for (;;)" } else { "for (int i = 0; i < 1000; i++)" };
        format!(
            "#include <pthread.h>\n#include <stdatomic.h>\n#include <sched.h>\natomic_int turn;\n\
             static void *f(void *p) {{ int me = (int)(long)p; {head} {{ while (atomic_load(&turn) != me) sched_yield(); \
             atomic_store(&turn, 1 - me); sched_yield(); }} return 0; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, (void *)1); f((void *)0); pthread_join(t, 0); return 0; }}\n"
        )
    };
    for (number, level) in ["-O0", "-O1", "-O2"].into_iter().enumerate() {
        for forever in [false, true] {
            let name = format!("rounds_{number}_{forever}");
            let source = folder().join(format!("{name}.c"));
            std::fs::write(&source, text(forever)).expect("a program");
            let path = compile(&source, &[level], ["gcc", "g++"]);
            let (_, report) = run(&path, &["--executions", "3", "--sample", "off"]);
            match forever {
                true => assert_eq!(report["violation"]["kind"], "livelock", "{level}: {report}"),
                false => assert_ne!(report["verdict"], "violated", "{level}: {report}"),
            }
        }
    }
}

/// A program that relies on the order of its pauses and limits holds with `--pauses kept`, in whatever way it is searched.
#[test]
fn pauses_and_limits_keep_their_order_if_asked_for() {
    if !has("gcc") {
        return;
    }
    let text = "#include <semaphore.h>\n#include <errno.h>\n#include <time.h>\nsem_t s;\n\
        static int wait_for(long ms) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_nsec += ms * 1000000;\n\
        t.tv_sec += t.tv_nsec / 1000000000; t.tv_nsec %= 1000000000; return sem_timedwait(&s, &t); }\n\
        static void *f(void *p) { usleep(50000); sem_post(&s); return p; }\n\
        int main(void) { pthread_t t; sem_init(&s, 0, 0); pthread_create(&t, 0, f, 0);\n\
        assert(wait_for(20) == -1 && errno == ETIMEDOUT); assert(wait_for(200) == 0); pthread_join(t, 0); return 0; }\n";
    let path = program("limits_in_order", text);
    assert_eq!(run(&path, &[]).1["verdict"], "violated");
    for way in [
        &[][..],
        &["--backend", "fork"],
        &["--backend", "threads"],
        &["--search", "schedules"],
        &["--threads", "2"],
        &["--memory-model", "sc"],
    ] {
        let (_, report) = run(&path, &[&["--pauses", "kept"], way].concat());
        assert_eq!(report["verdict"], "holds", "{way:?}: {report}");
        let claim = report["claim"].as_str().unwrap_or_default();
        assert!(claim.contains("in the order of their times"), "{way:?}: {claim}");
    }
}

/// What comes after a loop that gives up fails at once, so the program does not end.
#[test]
fn what_follows_a_loop_that_gives_up_is_explored() {
    if !has("gcc") {
        return;
    }
    for rounds in [1, 2, 3, 8, 9, 20, 100] {
        for pause in ["", "sched_yield();", "__builtin_ia32_pause();", "usleep(1);"] {
            let waits =
                format!("for (int n = 0; n < {rounds} && !x; n++) {{ {pause} }} assert(x);");
            let text = two("x = 1;", "", &waits);
            let text = format!("#include <sched.h>\n#include <unistd.h>\n{text}");
            check(&format!("presumes_{rounds}"), &text, &[], "assertion");
        }
    }
}

/// `pause` says that a loop waits: it gives way as `sched_yield` does, however often and wherever it is called.
#[test]
fn pauses_give_way() {
    if !has("gcc") {
        return;
    }
    let pause = "__builtin_ia32_pause();";
    let reader = format!(
        "while (atomic_fetch_add(&x, 2) & 1) {{ atomic_fetch_sub(&x, 2); {pause} }} atomic_fetch_sub(&x, 2);"
    );
    let writer = "int none = 0; if (atomic_compare_exchange_strong(&x, &none, 1)) { y = 1; atomic_fetch_and(&x, ~1); }";
    check("a_reader_takes_itself_back", &two(&reader, writer, ""), &[], "holds");
    let writer = "int none = 0; if (atomic_compare_exchange_strong(&x, &none, 1)) y = 1;";
    check("a_writer_stays", &two(&reader, writer, ""), &[], "livelock");
    let backoff = format!(
        "for (int n = 1; atomic_exchange(&x, 1); n = n < 256 ? 2 * n : n) for (int i = 0; i < n; i++) {pause} data++; x = 0;"
    );
    check("backs_off", &two(&backoff, &backoff, ""), &[], "holds");
    // Every register is as before.
    let sum = format!(
        "int a = p ? 1 : 2, b = a + y, c = b + y, d = c + y; double e = a; while (!x) {{ {pause} a += 0; e *= 1; }}\n\
         assert(a + b + c + d == 8 && e == 2);"
    );
    check("registers_stay", &two("x = 1;", &sum, ""), &[], "holds");
}

/// A reader adds itself and takes itself away again while a writer is there. That this waits is not recognised; a hundred
/// thousand steps are reported as such, and not for ever.
#[test]
fn a_loop_that_waits_and_writes_is_reported() {
    if !has("gcc") {
        return;
    }
    let reader =
        "while (atomic_fetch_add(&x, 2) & 1) atomic_fetch_sub(&x, 2); atomic_fetch_sub(&x, 2);";
    let writer = "int none = 0; if (atomic_compare_exchange_strong(&x, &none, 1)) { y = 1; atomic_fetch_and(&x, ~1); }";
    let text = format!("{USES}{}", two(reader, writer, ""));
    let (_, report) = run(&program("reader_that_writes", &text), &["--time", "100s"]);
    assert_eq!(report["verdict"], "inconclusive", "{report}");
    let claim = report["claim"].as_str().unwrap_or_default();
    assert!(claim.contains("too many steps"), "{claim}");
}

/// A loop that looks at something under a lock waits, with and without a yield; a yield while it holds the lock lets those go on that
/// want it, as soon as they can.
#[test]
fn loops_that_look_under_a_lock_wait() {
    if !has("gcc") {
        return;
    }
    const LOCK: &str =
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n#include <sched.h>\n";
    let sets =
        |value: u32| format!("pthread_mutex_lock(&m); data = {value}; pthread_mutex_unlock(&m);");
    for (name, under, after) in [
        ("without_yield", "", ""),
        ("yield_under_it", "sched_yield();", ""),
        ("yield_after", "", "sched_yield();"),
    ] {
        let looks = format!(
            "for (;;) {{ pthread_mutex_lock(&m); int d = data; {under} pthread_mutex_unlock(&m); if (d) break; {after} }}"
        );
        for (value, expected) in [(1, "holds"), (0, "livelock")] {
            let text = format!("{LOCK}{}", two(&sets(value), "", &looks));
            check(&format!("looks_{name}_{value}"), &text, &[], expected);
        }
    }
}

/// Loops that do the same again and again, and count their rounds in a register: what follows them is explored before the other
/// thread has moved, and after.
#[test]
fn loops_that_repeat_themselves_and_end_do_not_wait() {
    if !has("gcc") {
        return;
    }
    let rounds = [
        "atomic_fetch_add(&x, 2); atomic_fetch_sub(&x, 2);",
        "atomic_exchange(&x, 1); atomic_store(&x, 0);",
        "x = 1; x = 0;",
        "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
    ];
    for (nth, round) in rounds.into_iter().enumerate() {
        for count in [1, 2, 3, 4, 7, 8, 9, 20, 100] {
            for (how, other) in [("before", "assert(!y);"), ("beside", "assert(!(x || y));")] {
                if how == "beside" && nth == 3 {
                    continue;
                }
                let text = format!(
                    "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n{}",
                    two(
                        &format!("for (int i = 0; i < {count}; i++) {{ {round} }} y = 1;"),
                        other,
                        ""
                    )
                );
                check(&format!("repeats_{nth}_{count}_{how}"), &text, &[], "assertion");
            }
            let text = format!(
                "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n{}",
                two(
                    &format!("for (int i = 0; i < {count}; i++) {{ {round} }} y = 1;"),
                    "while (!y); assert(!x);",
                    ""
                )
            );
            check(&format!("ends_{nth}_{count}"), &text, &[], "holds");
        }
    }
}
