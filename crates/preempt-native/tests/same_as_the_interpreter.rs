//! Machine code and reference interpreter agree on every state of every model, step by step: on the
//! models there are, and on random ones (`PREEMPT_RANDOM_MODELS` of them).

#[path = "../../preempt-promela/tests/random/mod.rs"]
#[allow(dead_code)]
mod random;

use preempt_core::engine::{
    Answer, Difference, ProcessSelection, Request, Sink, SleepSet, SuccessorHeader, SuccessorList,
    Successors, Vector,
};
use preempt_core::{Enabled, Independence, Label, Outcome, ProcessId, Step, System};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::{ParseOptions, parse};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const MOST_STATES: usize = 1_500;

fn interpreter(path: &Path, text: Vec<u8>, options: LowerOptions) -> Option<Interpreter> {
    let folder = path.parent()?.to_path_buf();
    let loader = move |_: &str, name: &str| std::fs::read(folder.join(name));
    let name = path.to_string_lossy();
    let parsed = parse(&name, text, &ParseOptions { defines: Vec::new(), loader: &loader });
    let program = lower(&parsed.model?, options).ok()?;
    Some(Interpreter::new(program))
}

/// Explores breadth-first with both; returns the number of states compared.
fn compare(name: &str, reference: &Interpreter, native: &Native<'_>) -> usize {
    let mut state = Vec::new();
    reference.initial(&mut state);
    let mut seen = HashSet::from([state.clone()]);
    let mut todo = std::collections::VecDeque::from([(state, SleepSet::EMPTY)]);
    let (mut expected, mut found) = (Enabled::new(), Enabled::new());
    let mut compared = 0;
    while let Some((state, sleep_set)) = todo.pop_front() {
        compared += 1;
        let (mut a, mut b) = (state.clone(), state.clone());
        expected.clear();
        found.clear();
        reference.enabled(&mut a, &mut expected);
        native.enabled(&mut b, &mut found);
        assert_eq!(a, b, "{name}: {state:?} after listing");
        assert_eq!(expected.steps(), found.steps(), "{name}: steps of {state:?}");
        for index in 0..reference.proposition_count() {
            let (value, found) = (reference.proposition(&a, index), native.proposition(&a, index));
            assert_eq!(value, found, "{name}: proposition {index} in {a:?}");
        }
        assert_eq!(reference.is_valid_end(&a), native.is_valid_end(&a), "{name}: {a:?}");
        for label in [Label::Accept, Label::Progress] {
            assert_eq!(
                reference.has_label(&a, label),
                native.has_label(&a, label),
                "{name}: {a:?}"
            );
        }
        for process in (0..reference.process_count(&a)).map(|p| ProcessId(p as u16)) {
            let (truth, found) = (reference.locality(&a, process), native.locality(&a, process));
            assert_eq!(truth, found, "{name}: {process} in {a:?}");
            assert_eq!(reference.present(&a, process), native.present(&a, process), "{name}");
            assert_eq!(reference.future(&a, process), native.future(&a, process), "{name}");
            assert_eq!(reference.is_visible(&a, process), native.is_visible(&a, process), "{name}");
        }
        let (mut c, mut all) = (state.clone(), Successors::default());
        native.successors(Request::All, Sink::Copies(&mut c, &mut all));
        assert_eq!(a, c, "{name}: {state:?} after expansion");
        assert_eq!(all.len(), expected.steps().len(), "{name}");
        if !native.is_transient(&a) {
            for process in (0..native.process_count(&a) as u16).map(ProcessId) {
                let mut alone = Successors::default();
                let sink = Sink::Copies(&mut c, &mut alone);
                let answer = native.successors(Request::Process(process), sink);
                assert_eq!(a, c, "{name}: {state:?} after expansion of one process");
                let own = (0..all.len()).filter(|at| all.step(*at).0.process == process);
                let own: Vec<_> = own.map(|at| (all.step(at), all.get(at))).collect();
                let found: Vec<_> =
                    (0..alone.len()).map(|at| (alone.step(at), alone.get(at))).collect();
                // What waits for a timeout may be left out.
                assert!(found == own || found.is_empty(), "{name}: {process} in {a:?}");
                assert!(found == own || reference.program().uses_timeout, "{name}: {process}");
                assert!(found == own || answer == Answer::AskForAll, "{name}: {process}");
            }
        }
        some_processes(name, native, reference.program().uses_timeout, &a, &all);
        differences(name, native, &state, &a, &all);
        sequences(name, reference, native, &a, &all);
        let headers = headers_of(name, reference, native, (&a, sleep_set), &expected);
        for (at, &step) in expected.steps().iter().enumerate() {
            let (expanded, outcome) = all.step(at);
            let (mut x, mut y) = (a.clone(), a.clone());
            let truth = reference.apply(&mut x, step);
            assert_eq!(native.apply(&mut y, step), truth, "{name}: {step:?} from {a:?}");
            assert_eq!((step, truth), (expanded, outcome), "{name}");
            if let Outcome::Broken(_) = truth {
                continue;
            }
            assert_eq!(x, y, "{name}: {step:?} from {a:?}");
            assert_eq!(x, all.get(at), "{name}: {step:?} from {a:?}, expanded");
            let transient = all.headers[at].is_transient();
            assert_eq!(reference.is_transient(&x), transient, "{name}: {step:?} from {a:?}");
            if seen.len() < MOST_STATES && seen.insert(x.clone()) {
                let header = headers.iter().find(|header| header.step() == step);
                todo.push_back((x, header.map_or(SleepSet::EMPTY, |header| header.sleep_set)));
            }
        }
    }
    compared
}

/// Where machine code goes on inside indivisible sequences, it does what the interpreter does step by step: each
/// inner step is the only one of its state and goes well.
fn sequences(
    name: &str,
    reference: &Interpreter,
    native: &Native<'_>,
    state: &[u8],
    all: &Successors,
) {
    let mut list = Successors::default();
    list.run_sequences = true;
    native.successors(Request::All, Sink::Copies(&mut state.to_vec(), &mut list));
    assert_eq!(list.len(), all.len(), "{name}: {state:?}");
    for at in 0..all.len() {
        let (step, outcome) = all.step(at);
        assert_eq!(list.step(at), (step, outcome), "{name}: {state:?}");
        if let Outcome::Broken(_) = outcome {
            continue;
        }
        let header = &list.headers[at];
        let mut here = state.to_vec();
        reference.apply(&mut here, step);
        let inner: Vec<Step> = header.inner(&list.data).collect();
        assert_eq!(inner.len(), header.inner_steps(), "{name}");
        for inner in inner {
            let mut enabled = Enabled::new();
            assert!(reference.is_transient(&here), "{name}: {here:?}");
            reference.enabled(&mut here, &mut enabled);
            assert_eq!(enabled.steps(), [inner], "{name}: {here:?}");
            let outcome = reference.apply(&mut here, inner);
            assert_eq!(outcome, Outcome::Done, "{name}: {inner:?} {here:?}");
        }
        let more = header.inner_steps();
        assert_eq!(here, list.get(at), "{name}: {step:?} and {more} more from {state:?}");
        let transient = header.is_transient();
        assert_eq!(transient, reference.is_transient(&here), "{name}: {step:?} from {state:?}");
    }
}

/// What machine code finds for one process, and for all but one, is what it finds for all.
fn some_processes(
    name: &str,
    native: &Native<'_>,
    uses_timeout: bool,
    state: &[u8],
    all: &Successors,
) {
    if native.is_transient(state) {
        return;
    }
    type Item = (Step, Outcome, Vec<u8>);
    let item = |list: &Successors, at: usize| -> Item {
        match list.step(at) {
            (step, outcome @ Outcome::Broken(_)) => (step, outcome, Vec::new()),
            (step, outcome) => (step, outcome, list.get(at).to_vec()),
        }
    };
    let items =
        |list: &Successors| -> Vec<Item> { (0..list.len()).map(|at| item(list, at)).collect() };
    let all = items(all);
    for process in (0..native.process_count(state) as u16).map(ProcessId) {
        let is_own = |(step, ..): &&Item| step.process == process;
        let own: Vec<Item> = all.iter().filter(is_own).cloned().collect();
        let (mut s, mut list) = (state.to_vec(), Successors::default());
        let answer = native.successors(Request::Process(process), Sink::Copies(&mut s, &mut list));
        if answer != Answer::AskForAll {
            assert_eq!((answer, items(&list)), (Answer::AsRequested, own), "{name}");
        }
        // Alone, with the next process, with all of them, some of which may have no steps, and all but one.
        let bit = |pid: u16| 1_u64.checked_shl(pid.into()).unwrap_or(0);
        let own = Some(process);
        for (first, also) in [(own, 0), (own, bit(process.0 + 1)), (own, u64::MAX), (None, 0)] {
            let mut list = Successors::default();
            let without = bit(process.0 + 2);
            let selection = ProcessSelection { first, also, without };
            let request = Request::Selection(selection);
            native.successors(request, Sink::Copies(&mut s, &mut list));
            let mut found = items(&list);
            let goes_first = |pid: &u16| Some(ProcessId(*pid)) == first || also & bit(*pid) != 0;
            let has_steps = |pid| all.iter().any(|(step, ..)| step.process == ProcessId(pid));
            let all_move = first.is_some() && (0..256).filter(goes_first).all(has_steps);
            let is_wanted = |(step, ..): &&Item| {
                let pid = step.process.0;
                goes_first(&pid) || !all_move && without & bit(pid) == 0
            };
            let mut expected: Vec<Item> = all.iter().filter(is_wanted).cloned().collect();
            found.sort_by_key(|(step, ..)| step.process);
            expected.sort_by_key(|(step, ..)| step.process);
            // Steps that wait until no process can move are left out.
            let may_wait = found.is_empty() && uses_timeout;
            assert!(found == expected || may_wait, "{name}: {selection:?} in {state:?}");
        }
        assert_eq!(s, state, "{name}");
    }
}

/// What machine code finds with an undo log is what it finds on copies, and the state stays as it is.
fn differences(name: &str, native: &Native<'_>, state: &[u8], normalized: &[u8], all: &Successors) {
    let mut vector = Vector::default();
    vector.set(state);
    let mut before = vector.clone();
    let mut list = SuccessorList::default();
    native.successors(Request::All, Sink::Differences(&mut vector, &mut list));
    // Where a sequence is interrupted, the state is changed, and how is known.
    assert_eq!(list.interruption.is_empty(), state == normalized, "{name}: {state:?}");
    before.change(&list.interruption);
    assert_eq!(before.state(), normalized, "{name}: {state:?}");
    same(name, &mut vector, &before);
    let check = |vector: &mut Vector, list: &SuccessorList<Difference>, wanted: &[usize]| {
        assert_eq!(list.len(), wanted.len(), "{name}: steps in {state:?}");
        for (at, &wanted) in wanted.iter().enumerate() {
            let (step, outcome) = all.step(wanted);
            assert_eq!(list.step(at), (step, outcome), "{name}");
            if matches!(outcome, Outcome::Broken(_)) {
                continue;
            }
            let (mut there, differences) = (Vector::default(), list.get(at));
            there.set(all.get(wanted));
            assert_eq!(vector.hash_after(differences[0]), there.hash(), "{name}: {step:?}");
            vector.change(differences);
            same(&format!("{name}: {step:?} from {state:?}"), vector, &there);
            let transient = list.headers[at].is_transient();
            assert_eq!(native.is_transient(there.state()), transient, "{name}: {step:?}");
            vector.change(differences);
        }
    };
    check(&mut vector, &list, &(0..all.len()).collect::<Vec<_>>());
    if native.is_transient(state) {
        return;
    }
    let mut behind = None;
    loop {
        let (mut copy, mut list) = (state.to_vec(), SuccessorList::default());
        let request = Request::Ample { behind, observed: false };
        let expected =
            native.successors(request, Sink::Copies(&mut copy, &mut Successors::default()));
        let found = native.successors(request, Sink::Differences(&mut vector, &mut list));
        same(name, &mut vector, &before);
        assert_eq!(expected, found, "{name}: behind {behind:?} in {state:?}");
        let Some(process) = found.ample() else { return };
        let own = (0..all.len()).filter(|at| all.step(*at).0.process == process);
        check(&mut vector, &list, &own.collect::<Vec<_>>());
        behind = Some(process);
    }
}

fn same(name: &str, found: &mut Vector, expected: &Vector) {
    assert_eq!(found.state(), expected.state(), "{name}");
    assert_eq!((found.sum(), found.hash()), (expected.sum(), expected.hash()), "{name}");
    let length = found.length();
    assert!(found.bytes_mut()[length..].iter().all(|byte| *byte == 0), "{name}: not zero behind");
}

/// The steps out of a state that machine code takes while some processes sleep; all that it says about
/// sleepers is found to be true.
fn headers_of(
    name: &str,
    reference: &Interpreter,
    native: &Native<'_>,
    (state, sleep_set): (&[u8], SleepSet),
    steps: &Enabled,
) -> Vec<SuccessorHeader> {
    let (mut list, mut s) = (Successors::default(), state.to_vec());
    let request = Request::Awake(sleep_set);
    let answer = native.successors(request, Sink::Copies(&mut s, &mut list));
    if native.is_transient(state) || answer == Answer::NobodySlept {
        return Vec::new();
    }
    assert_eq!(s, state, "{name}");
    let sleeps = |step: &&Step| !sleep_set.of(step.process.index()).is_empty();
    let (slept, taken): (Vec<&Step>, Vec<&Step>) = steps.steps().iter().partition(sleeps);
    assert_eq!(sleep_set.steps(), slept.len(), "{name}: {sleep_set:?} in {state:?}");
    let found: Vec<Step> = list.headers.iter().map(SuccessorHeader::step).collect();
    assert_eq!(found.iter().collect::<Vec<_>>(), taken, "{name}: {sleep_set:?} in {state:?}");
    let apply = |from: &[u8], step: Step| {
        let mut to = from.to_vec();
        assert_eq!(reference.apply(&mut to, step), Outcome::Done, "{name}: {step:?} in {from:?}");
        to
    };
    let enabled = |state: &[u8], process: ProcessId| {
        let (mut copy, mut enabled) = (state.to_vec(), Enabled::new());
        reference.enabled(&mut copy, &mut enabled);
        enabled.of(process).to_vec()
    };
    for header in &list.headers {
        let (step, after) = (header.step(), &list.data[header.range()]);
        for process in (0..reference.process_count(state) as u16).map(ProcessId) {
            let sleeper = header.sleep_set.of(process.index());
            if sleeper.is_empty() {
                continue;
            }
            assert!(process > step.process, "{name}: {process} comes behind {step:?}");
            let own = steps.of(process);
            assert_eq!(sleeper.steps(), own.len(), "{name}: {process} in {state:?}");
            assert_eq!(own, enabled(after, process), "{name}: {process} after {step:?}");
            for &other in own {
                let first = apply(state, other);
                assert!(enabled(&first, step.process).contains(&step), "{name}: {step:?}");
                let (one, two) = (apply(after, other), apply(&first, step));
                assert_eq!(one, two, "{name}: {step:?} and {other:?} in {state:?}");
            }
        }
    }
    list.headers
}

fn models(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            models(&path, found);
        } else if path.extension().is_some_and(|e| e == "pml") {
            found.push(path);
        }
    }
}

#[test]
fn on_every_model_there_is() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    models(&here.join("../../models"), &mut paths);
    models(&here.join("../preempt-promela/tests/data"), &mut paths);
    models(Path::new("/usr/share/doc/spin"), &mut paths);
    paths.sort();
    let (mut compared, mut states, mut promises) = (0, 0, 0);
    for path in &paths {
        for options in [LowerOptions::default(), LowerOptions::plain()] {
            let text = std::fs::read(path).expect("the model can be read");
            let Some(reference) = interpreter(path, text, options) else { continue };
            let Ok(native) = Native::new(&reference) else { continue };
            native.prepare();
            states += compare(&path.to_string_lossy(), &reference, &native);
            compared += 1;
            drop(native);
            let checked = reference.check_promises(true);
            if checked.checks_promises() {
                let native = Native::new(&checked).expect("promises have machine code");
                native.prepare();
                compare(&path.to_string_lossy(), &checked, &native);
                promises += 1;
            }
        }
    }
    println!("{compared} programs, {states} states, {promises} with promises");
    let examples = Path::new("/usr/share/doc/spin");
    assert!(promises > 0 || !examples.exists(), "no model has promises");
    assert!(compared >= 20, "only {compared} programs");
}

/// Models whose processes break promises: with channels known from the text, in parameters, in variables that
/// hold no channel yet or that of a process that is gone, of their own, and inside indivisible sequences.
#[test]
fn on_broken_promises() {
    let models = [
        "chan q = [2] of { byte };
         active proctype A() { xr q; byte l; do :: q?l :: q?[1] -> q?1 od }
         active proctype B() { xs q; do :: q!1 :: nfull(q) -> q!2 od }
         active proctype C() { byte l; q!3; if :: nempty(q) :: len(q) < 2 fi; q?l; assert(l == 0) }",
        "chan q = [2] of { byte }; chan r = [1] of { byte };
         proctype A(chan in, out) { xr in; xs out; byte l; do :: in?l -> out!l :: nempty(in) od }
         init { atomic { run A(q, r); run A(r, q); run A(q, q); q!1; r!2 } }",
        "chan q = [1] of { byte }; chan none; byte x;
         active proctype A() { chan mine; xr mine; xs none; x = 1; mine = q; x = 2 }
         active proctype B() { chan mine; byte l; do :: q!x :: q?l :: x == 2 -> mine = q; none = q; break od;
           atomic { mine!1; mine?l; q!l; nempty(none); q?l } }",
        "chan q = [1] of { chan };
         proctype A() { chan own = [1] of { byte }; xr own; xs own; byte l; q!own; own?l }
         active proctype B() { chan c; byte l; run A(); q?c; c!1; if :: nempty(c) :: c?l :: c?l fi;
           run A(); q?c; atomic { c!2; len(c) == 1; skip }; (_nr_pr == 1) }",
        "chan q = [1] of { byte }; chan m = [0] of { byte };
         active proctype A() { xr q; xr m; byte l; do :: q?l :: m?l od }
         active proctype B() { byte l; do :: d_step { q!1; q?l } :: m!2 :: m!3; q?l od }
         active proctype C() { byte l; m?l; q?l }",
    ];
    for text in models {
        for options in [LowerOptions::default(), LowerOptions::plain()] {
            let path = Path::new("promises.pml");
            let reference = interpreter(path, text.as_bytes().to_vec(), options);
            let checked = reference.expect("a model").check_promises(true);
            assert!(checked.checks_promises());
            let native = Native::new(&checked).expect("machine code");
            native.prepare();
            compare(text, &checked, &native);
        }
    }
}

/// Models in which steps nearly commute.
#[test]
fn on_sleepers() {
    let models = [
        // A step that touches nothing makes a process ready for a rendezvous.
        "chan q = [0] of { byte }; byte x;
         active proctype A() { byte l; l = 1; q?l }
         active proctype B() { do :: q!1 -> break :: x < 2 -> x++ od }",
        // A channel's ends have to do with each other when it is empty or full.
        "chan q = [2] of { byte };
         active proctype A() { byte l; do :: q?l :: empty(q) :: nfull(q) :: len(q) > 1 od }
         active proctype B() { do :: q!1 :: q!2 :: full(q) :: nempty(q) od }",
        "chan q = [2] of { byte }; chan r = [1] of { byte };
         proctype A(chan in, out) { byte l; do :: in?l -> out!l :: in?[1] -> in?1 od }
         init { atomic { run A(q, r); run A(r, q); q!1; r!2 } }",
        // Which element it is depends on what another process writes.
        "byte a[3]; byte i;
         active proctype A() { do :: a[i] < 2 -> a[i]++ od }
         active proctype B() { do :: i < 2 -> i++ :: i > 0 -> i-- od }
         active proctype C() { byte k; do :: k < 2 -> a[k] = 1; k++ :: else -> break od }",
        // Which process waits for all others, which is created, which may run.
        "byte x;
         proctype P() { x++; x-- }
         active proctype A() { do :: timeout -> x = 0 :: x < 2 -> x++ od }
         active proctype B() provided (x < 2) { byte l; do :: l < 2 -> l++ :: l > 0 -> l-- od }
         init { run P(); _nr_pr < 4; run P() }",
        // Steps out of several, some of them the beginning of a sequence.
        "byte x, y;
         active proctype A() { do :: atomic { x < 2 -> x++ } :: d_step { y < 2 -> y++ } :: y = 0 od }
         active proctype B() { byte l; do :: l = 1 - l :: atomic { l = 0; y > 0 } :: assert(x < 2) od }",
        "byte x;
         active proctype A() { { do :: x++; x-- od } unless { x > 1 }; here: x = 1 }
         active proctype B() { byte l; do :: l = 1 - l :: x = 2 od }
         active proctype C() { do :: A@here -> break :: x == 2 -> x = 0 od }",
    ];
    for text in models {
        for options in [LowerOptions::default(), LowerOptions::plain()] {
            let path = Path::new("sleepers.pml");
            let Some(reference) = interpreter(path, text.into(), options) else {
                panic!("not a model: {text}")
            };
            let native = Native::new(&reference).expect("there is machine code");
            native.prepare();
            compare(text, &reference, &native);
        }
    }
}

/// Long channels, which count their messages in two bytes.
#[test]
fn on_long_channels() {
    let models = [
        "chan q = [300] of { byte, short }; chan s = [2] of { byte, short }; byte turn;
         active proctype P() {
             int i; chan c;
             atomic { do :: i < 257 -> q!!(i % 5), i; i++ :: else -> break od };
             if :: c = q :: c = s fi;
             c!1, 2; c!!0, 7; turn = 1
         }
         active proctype C() {
             byte v; short w;
             turn == 1;
             do :: q??3, w :: len(q) < 255 -> break :: full(s) -> s?v, w :: q?<v, w> -> q?v, w od;
             assert(nfull(q))
         }",
        "chan q = [1024] of { short };
         proctype P(chan c) { chan own = [260] of { byte }; own!3; c!len(own); c!1 }
         init {
             short v; int i;
             d_step { do :: i < 1020 -> q!i; i++ :: else -> break od };
             run P(q); run P(q);
             do :: q?v :: full(q) -> break :: len(q) < 1018 -> break od
         }",
    ];
    for text in models {
        for options in [LowerOptions::default(), LowerOptions::plain()] {
            let path = Path::new("long_channels.pml");
            let Some(reference) = interpreter(path, text.into(), options) else {
                panic!("not a model: {text}")
            };
            let native = Native::new(&reference).expect("there is machine code");
            native.prepare();
            assert!(compare(text, &reference, &native) > 100);
        }
    }
}

/// Long and endless `d_step`s, messages that do not fit their channels, rendezvous channels that are
/// polled: what machine code leaves to the interpreter halfway.
#[test]
fn on_mistakes_and_long_steps() {
    let models = [
        "int i; byte x;
         active proctype P() { do :: x < 2 -> d_step { i = 0; do :: i < 700000 -> i++ :: else -> break od; x++ } od }",
        "byte x; active proctype P() { x = 1; d_step { x = 2; do :: x = 5 - x od } }
         active proctype Q() { x = 3 }",
        "chan q = [2] of { byte, byte }; chan r = [0] of { byte, byte }; byte x;
         active proctype A() { q!1; q?x; q?<x>; q?x, _ }
         active proctype B() { r!1; r!2, 3 }
         active proctype C() { byte y; r?y; d_step { r?y; y = 1 } }",
        "chan q = [1] of { byte, byte }; chan r = [0] of { byte }; chan k = [2] of { chan }; byte x;
         active proctype A() { chan c; k?c; c!1; c!2; if :: c?[1] -> x = 1 :: c?<x> :: c?x -> x = 2 fi }
         active proctype B() { byte y; k!q; k!r; r?y; if :: q?[1, y] :: r?[1] -> y = 1 :: else fi }
         active proctype C() { chan c; k?c; c?x, _; c?<x> }",
    ];
    for text in models {
        for options in [LowerOptions::default(), LowerOptions::plain()] {
            let path = Path::new("mistakes.pml");
            let Some(reference) = interpreter(path, text.into(), options) else {
                panic!("not a model: {text}")
            };
            let native = Native::new(&reference).expect("there is machine code");
            native.prepare();
            assert!(compare(text, &reference, &native) > 2);
        }
    }
}

#[test]
fn on_random_models() {
    let wanted = std::env::var("PREEMPT_RANDOM_MODELS").ok().and_then(|n| n.parse().ok());
    let wanted = wanted.unwrap_or(60);
    let (mut compared, mut states) = (0, 0);
    for seed in 1..=wanted {
        let text = random::make(&mut random::Random::new(seed), None).text();
        for options in [LowerOptions::default(), LowerOptions::plain()] {
            let path = Path::new("random.pml");
            let Some(reference) = interpreter(path, text.clone().into_bytes(), options) else {
                continue;
            };
            let Ok(native) = Native::new(&reference) else { continue };
            native.prepare();
            states += compare(&format!("seed {seed}:\n{text}"), &reference, &native);
            compared += 1;
        }
    }
    println!("{compared} random programs, {states} states");
    assert!(compared >= wanted, "only {compared} programs of {wanted} models");
}
