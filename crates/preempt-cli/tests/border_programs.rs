//! Random C programs at the border of what is controlled, against the machine: threads before and after `main`, calls of the C
//! library, signals, files, pipes, streams. Whatever a run of the program without preempt can do, with random pauses between
//! its steps, is among the outcomes that preempt explores.
//!
//! A program's outcome is one line: what each thread saw, and what is in the files at the end. The other direction, that
//! each explored outcome is possible, cannot be had from runs; but a program without anything shared has one outcome.

mod c_programs;

use c_programs::{folder, has, preempt};
use preempt_testing::Random;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What every program has. `SAW` notes a number; `PAUSE` does nothing where preempt decides what is next.
const FRAME: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#ifdef NATIVE
static unsigned mood;
static _Thread_local unsigned own_mood;
static void pause_a_little(void) {
  if (!own_mood) own_mood = mood ^ (unsigned)(size_t)&own_mood | 1;
  unsigned n = rand_r(&own_mood) % 8;
  if (n == 0) sched_yield();
  else if (n < 4) usleep(rand_r(&own_mood) % 60);
}
#define PAUSE pause_a_little();
#else
#define PAUSE
#endif

static atomic_int x, y, handled;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t units;
static once_flag flag = ONCE_FLAG_INIT;
static char text[64];
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_key_t key;
static mtx_t again;
static atomic_flag taken = ATOMIC_FLAG_INIT;
static int file, ends[2], event, counter, shared;
static FILE *stream;
static char seen[4][200];
static _Thread_local int me;
#define SAW(number) sprintf(seen[me] + strlen(seen[me]), "%d ", (int)(number))
static void handle(int number) { (void)number; atomic_fetch_add(&handled, 1); }
static void once(void) { x = x + 10; }
static void last(void *at) { atomic_fetch_add((atomic_int *)at, 100); }
static int truncate_a_little(void) { return ftruncate(file, 1); }

static void prepare(void) {
  static int done;
  if (done++) return;
#ifdef NATIVE
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  mood = (unsigned)now.tv_nsec * 2654435761u ^ (unsigned)getpid();
#endif
  char name[] = "/tmp/border-XXXXXX";
  signal(SIGUSR1, handle);
  sem_init(&units, 0, 0);
  srand(7);
  file = mkstemp(name);
  unlink(name);
  fcntl(file, F_SETFL, O_APPEND);
  if (pipe2(ends, O_NONBLOCK)) abort();
  stream = tmpfile();
  event = eventfd(0, EFD_NONBLOCK);
  pthread_spin_init(&spin, 0);
  pthread_key_create(&key, last);
  mtx_init(&again, mtx_recursive);
}

static void tell(void) {
  char line[1200], content[64] = "", printed[64] = "";
  fflush(stream);
  rewind(stream);
  if (!fgets(printed, sizeof printed, stream)) printed[0] = 0;
  long size = pread(file, content, sizeof content - 1, 0);
  content[size < 0 ? 0 : size] = 0;
  int length = sprintf(line, "outcome [%s|%s|%s|%s] x=%d y=%d c=%d h=%d text=%s file=%s stream=%s\n", seen[0], seen[1], seen[2], seen[3],
                       x, y, counter, handled, text, content, printed);
  if (write(1, line, length) != length) abort();
}
"#;

/// What a thread may do.
const ACTIONS: &[&str] = &[
    "x = 1;",
    "SAW(x);",
    "SAW(atomic_fetch_add(&y, 1));",
    "atomic_store_explicit(&y, 5, memory_order_relaxed);",
    "SAW(atomic_load_explicit(&y, memory_order_relaxed));",
    "{ int old = 0; SAW(atomic_compare_exchange_strong(&x, &old, 7)); SAW(old); }",
    "pthread_mutex_lock(&mutex); strcat(text, \"ab\"); PAUSE pthread_mutex_unlock(&mutex);",
    "pthread_mutex_lock(&mutex); SAW(strlen(text)); pthread_mutex_unlock(&mutex);",
    "pthread_mutex_lock(&mutex); { char *at = strchr(text, 'b'); if (at) *at = 'c'; } pthread_mutex_unlock(&mutex);",
    "if (pthread_mutex_trylock(&mutex)) SAW(-1); else { SAW(text[0] == 'a'); PAUSE pthread_mutex_unlock(&mutex); }",
    "pthread_rwlock_rdlock(&lock); SAW(y); PAUSE SAW(y); pthread_rwlock_unlock(&lock);",
    "pthread_rwlock_wrlock(&lock); y = y + 1; PAUSE y = y + 1; pthread_rwlock_unlock(&lock);",
    "sem_post(&units);",
    "SAW(sem_trywait(&units)); errno = 0;",
    "{ int n; sem_getvalue(&units, &n); SAW(n); }",
    "call_once(&flag, once); SAW(x >= 10);",
    "SAW(write(file, me ? \"1\" : \"0\", 1));",
    "{ char bytes[8]; SAW(pread(file, bytes, sizeof bytes, 0)); }",
    "{ char number[12]; sprintf(number, \"%d\", y); SAW(strtol(number, NULL, 10)); }",
    "SAW(write(ends[1], \"p\", 1));",
    "{ char byte; SAW(read(ends[0], &byte, 1)); errno = 0; }",
    "fprintf(stream, \"%d\", me);",
    "flockfile(stream); fputc_unlocked('(', stream); PAUSE fputc_unlocked(')', stream); funlockfile(stream);",
    "SAW(rand() % 8);",
    "raise(SIGUSR1);",
    "SAW(handled);",
    "if (close(-1)) SAW(errno == EBADF);",
    "{ char words[] = \"a,b\", *rest; SAW(*strtok_r(words, \",\", &rest)); SAW(*strtok_r(NULL, \",\", &rest)); }",
    "{ int *at = malloc(sizeof *at); *at = x; PAUSE SAW(*at); free(at); }",
    "{ struct timespec t = {0, 1000}; nanosleep(&t, NULL); }",
    "sched_yield();",
    "pthread_kill(pthread_self(), SIGUSR1);",
    "{ struct pollfd p = {ends[0], POLLIN, 0}; SAW(poll(&p, 1, 0)); }",
    "{ uint64_t one = 1; SAW(write(event, &one, 8)); }",
    "{ uint64_t got = 0; SAW(read(event, &got, 8)); SAW(got); errno = 0; }",
    "SAW(lseek(file, 0, SEEK_CUR));",
    "SAW(lseek(file, 0, SEEK_END));",
    "{ char byte = '-'; SAW(read(file, &byte, 1)); SAW(byte); }",
    "SAW(ftell(stream));",
    "flockfile(stream); rewind(stream); SAW(fgetc(stream)); fseek(stream, 0, SEEK_END); funlockfile(stream);",
    "if (ftrylockfile(stream)) SAW(-2); else { fputs(\"[\", stream); PAUSE fputs(\"]\", stream); funlockfile(stream); }",
    "{ struct timespec past = {1, 0}; int r = pthread_mutex_timedlock(&mutex, &past); SAW(r == ETIMEDOUT);\
     if (!r) { strcat(text, \"d\"); PAUSE pthread_mutex_unlock(&mutex); } }",
    "pthread_mutex_lock(&mutex); pthread_cond_signal(&condition); pthread_mutex_unlock(&mutex);",
    "pthread_mutex_lock(&mutex); pthread_cond_broadcast(&condition); pthread_mutex_unlock(&mutex);",
    "{ struct timespec soon; clock_gettime(CLOCK_REALTIME, &soon); soon.tv_nsec += 100000; soon.tv_sec += soon.tv_nsec / 1000000000;\
     soon.tv_nsec %= 1000000000; pthread_mutex_lock(&mutex); SAW(pthread_cond_timedwait(&condition, &mutex, &soon) == 0);\
     pthread_mutex_unlock(&mutex); }",
    "{ struct timespec past = {1, 0}; SAW(sem_timedwait(&units, &past)); errno = 0; }",
    "pthread_setspecific(key, &y);",
    "SAW(__sync_fetch_and_add(&counter, 3));",
    "SAW(__sync_val_compare_and_swap(&counter, 3, 1));",
    "{ sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR1); pthread_sigmask(SIG_BLOCK, &set, NULL); raise(SIGUSR1);\
     SAW(handled); PAUSE pthread_sigmask(SIG_UNBLOCK, &set, NULL); SAW(handled); }",
    "mtx_lock(&again); mtx_lock(&again); x = x + 2; PAUSE x = x + 2; mtx_unlock(&again); mtx_unlock(&again);",
    "pthread_spin_lock(&spin); y = y + 3; PAUSE y = y + 3; pthread_spin_unlock(&spin);",
    "{ char *made = NULL; if (asprintf(&made, \"%d\", x) > 0) SAW(*made); free(made); }",
    "{ int copy = dup(file); SAW(write(copy, \"c\", 1)); close(copy); }",
    "SAW(truncate_a_little());",
    "SAW(pthread_rwlock_trywrlock(&lock) || pthread_rwlock_unlock(&lock));",
    "SAW(pthread_rwlock_tryrdlock(&lock) || pthread_rwlock_unlock(&lock));",
    "atomic_thread_fence(memory_order_seq_cst);",
    "while (atomic_flag_test_and_set(&taken)) sched_yield(); shared++; PAUSE SAW(shared); atomic_flag_clear(&taken);",
];

/// Where a thread is made.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Main,
    Constructor,
}

/// Where the threads are joined and the outcome is told.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Main,
    Destructor,
    AtExit,
}

struct Program {
    /// What `main` does between making the threads and joining them, then what each thread does.
    bodies: Vec<Vec<&'static str>>,
    places: Vec<Place>,
    end: End,
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut random = Random::shifts(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, 7);
        let threads = 1 + random.below(2_usize);
        let bodies = (0..=threads)
            .map(|_| (0..1 + random.below(3_usize)).map(|_| random.pick(ACTIONS)).collect())
            .collect();
        let place = |random: &mut Random| match random.below(4_u64) {
            0 => Place::Constructor,
            _ => Place::Main,
        };
        let places = (0..threads).map(|_| place(&mut random)).collect();
        let end = random.pick(&[End::Main, End::Main, End::Destructor, End::AtExit]);
        Program { bodies, places, end }
    }

    fn text(&self) -> String {
        let mut text = FRAME.to_string();
        for (number, body) in self.bodies.iter().enumerate() {
            let steps: String = body.iter().map(|action| format!("  PAUSE {action}\n")).collect();
            let _ = write!(
                text,
                "static void *body{number}(void *p) {{\n  me = {number};\n{steps}  PAUSE return p;\n}}\n"
            );
        }
        let _ = writeln!(text, "static pthread_t threads[{}];", self.places.len());
        let make = |place: Place| -> String {
            let chosen = self.places.iter().enumerate().filter(|(_, at)| **at == place);
            chosen
                .map(|(n, _)| {
                    format!("  pthread_create(&threads[{n}], NULL, body{}, NULL);\n", n + 1)
                })
                .collect()
        };
        let join: String = (0..self.places.len())
            .map(|n| format!("  pthread_join(threads[{n}], NULL);\n"))
            .collect();
        let attribute =
            if self.end == End::Destructor { "__attribute__((destructor)) " } else { "" };
        let _ = write!(
            text,
            "__attribute__((constructor)) static void begin(void) {{\n  prepare();\n{}}}\n\
             {attribute}static void end(void) {{\n{join}  tell();\n}}\n\
             int main(void) {{\n{}{}  body0(NULL);\n{}  return 0;\n}}\n",
            make(Place::Constructor),
            if self.end == End::AtExit { "  atexit(end);\n" } else { "" },
            make(Place::Main),
            if self.end == End::Main { "  end();\n" } else { "" },
        );
        text
    }
}

/// The lines with outcomes in what a command prints.
fn outcomes(command: &mut Command) -> (BTreeSet<String>, String) {
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.starts_with("outcome")).map(str::to_string);
    (lines.collect(), text)
}

fn build(command: &mut Command, source: &Path, name: &str, options: &[&str]) -> PathBuf {
    let program = folder().join(name);
    let output = command
        .args(options)
        .args(["-g", "-pthread", "-w"])
        .arg(source)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Whether everything was explored; an error if a run has another outcome than those explored.
fn check(seed: u64, runs: u64) -> Result<bool, String> {
    let program = Program::new(seed);
    let text = program.text();
    let source = folder().join(format!("border-{seed}.c"));
    std::fs::write(&source, &text).expect("a program");
    let ours = build(preempt().arg("cc"), &source, &format!("border-{seed}"), &[]);
    let native =
        build(&mut Command::new("gcc"), &source, &format!("border-native-{seed}"), &["-DNATIVE"]);
    let options = ["run", "--output", "--time", "20s", "--sample", "off", "--timeouts", "6", "--"];
    let (explored, answer) = outcomes(preempt().args(options).arg(&ours));
    let shown = text.split_once("static void *body0").map_or("", |(_, rest)| rest);
    let finished = answer.lines().any(|line| line.contains("holds"));
    let cut = answer.contains("the time limit was reached");
    if !finished && !cut {
        return Err(format!("seed {seed}: {answer}\nstatic void *body0{shown}"));
    }
    for run in 0..runs {
        let (lines, _) = outcomes(&mut Command::new(&native));
        let unknown: Vec<_> = lines.difference(&explored).collect();
        if finished && !unknown.is_empty() {
            return Err(format!(
                "seed {seed}, run {run}: {unknown:?} is none of\n{explored:#?}\nstatic void *body0{shown}\n{answer}"
            ));
        }
    }
    let _ = (std::fs::remove_file(ours), std::fs::remove_file(native));
    Ok(finished)
}

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn what_a_run_can_do_is_explored() {
    if !has("gcc") {
        return;
    }
    let count = environment("PREEMPT_BORDER_PROGRAMS", 16);
    let first = environment("PREEMPT_BORDER_SEED", 0);
    let runs = environment("PREEMPT_BORDER_RUNS", 40);
    let answers: Vec<_> = (first..first + count).map(|seed| check(seed, runs)).collect();
    let wrong: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert!(
        wrong.is_empty(),
        "{} programs:\n{}",
        wrong.len(),
        wrong.iter().map(|text| text.as_str()).collect::<Vec<_>>().join("\n")
    );
    let finished = answers.iter().filter(|answer| **answer == Ok(true)).count() as u64;
    assert!(finished * 4 >= count * 3, "{finished} of {count} programs were explored to the end");
}
