//! What the interpreter tells about a model besides its steps: values, texts, faults, output.

mod support;

use preempt_core::{
    Describe, Enabled, FaultKind, Independence, Locality, Outcome, ProcessId, Step, System, Value,
    replay,
};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};

fn interpreter(text: &str) -> Interpreter {
    interpreter_with(text, LowerOptions::plain())
}

fn interpreter_with(text: &str, options: LowerOptions) -> Interpreter {
    let parsed = support::parse_text(text);
    let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    Interpreter::new(lower(&model, options).expect("the model can be translated"))
}

/// Takes the first enabled step again and again.
fn run(system: &Interpreter, limit: usize) -> (Vec<Step>, Vec<u8>, Outcome) {
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    let mut outcome = system.initial(&mut state);
    let mut steps = Vec::new();
    while steps.len() < limit && outcome == Outcome::Done {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let Some(step) = enabled.steps().first().copied() else { break };
        outcome = system.apply(&mut state, step);
        steps.push(step);
    }
    (steps, state, outcome)
}

fn fault_of(text: &str) -> (FaultKind, String, u32) {
    let system = interpreter(text);
    match run(&system, 1000).2 {
        Outcome::Done => panic!("nothing went wrong"),
        Outcome::Violated(number) | Outcome::Broken(number) => {
            let fault = system.fault(number);
            (fault.kind, fault.message, fault.line)
        }
    }
}

#[test]
fn faults_are_told_with_their_place() {
    let (kind, message, line) = fault_of("byte g;\nactive proctype A() {\n  assert(g == 1)\n}");
    assert_eq!((kind, line), (FaultKind::Assertion, 3));
    assert!(message.contains("g == 1"), "{message}");
    let (kind, message, line) =
        fault_of("byte a[2]; byte i = 2;\nactive proctype A() { a[i] = 1 }");
    assert_eq!((kind, line), (FaultKind::Runtime, 2));
    assert!(message.contains("`a`"), "{message}");
    let (kind, message, _) = fault_of("byte z;\nactive proctype A() { z = 1 / z }");
    assert_eq!((kind, message.as_str()), (FaultKind::Runtime, "division by zero"));
    let (kind, message, _) =
        fault_of("chan d = [1] of { byte }; active proctype A() { chan c; c!1 }");
    assert_eq!((kind, message.as_str()), (FaultKind::Runtime, "uninitialised channel"));
    let (kind, message, _) = fault_of("byte g; active proctype A() { d_step { g = 1; g == 2 } }");
    assert_eq!((kind, message.as_str()), (FaultKind::Runtime, "`d_step` blocks inside"));
    let (kind, ..) = fault_of("proctype Q() { do :: run Q() od } init { run Q() }");
    assert_eq!(kind, FaultKind::Limit);
}

#[test]
fn a_faulty_guard_is_a_step_that_breaks() {
    let system = interpreter("byte a[2]; byte i = 7; active proctype A() { (a[i] == 1) }");
    let (steps, _, outcome) = run(&system, 10);
    assert_eq!(steps.len(), 1);
    assert!(matches!(outcome, Outcome::Broken(_)));
}

#[test]
fn variables_have_names_and_symbols() {
    let system = interpreter(
        "mtype = { red, green }; mtype m = green; byte a[2] = 3; typedef T { bit b; short s }; T t;
         chan c = [2] of { mtype, byte };
         active proctype P() { byte y = 4; c!red, 7; c!green, 8 }",
    );
    let (_, state, outcome) = run(&system, 2);
    assert_eq!(outcome, Outcome::Done);
    let variables = system.variables(&state);
    let get = |name: &str| {
        let found = variables.iter().find(|(n, _)| n == name);
        found.unwrap_or_else(|| panic!("{name} in {variables:?}")).1.clone()
    };
    assert_eq!(get("m"), Value::Name("green".into()));
    assert_eq!(get("a[1]"), Value::Int(3));
    assert_eq!(get("t.s"), Value::Int(0));
    assert_eq!(get("P(0):y"), Value::Int(4));
    assert_eq!(get("c"), Value::Queue(vec!["red,7".into(), "green,8".into()]));
}

#[test]
fn replay_shows_what_was_printed_and_where() {
    let system = interpreter_with(
        "mtype = { ping };\nactive proctype P() {\n  byte x = 3;\n  printf(\"%d %e\\n\", x, ping);\n  x++\n}",
        LowerOptions::default(),
    );
    let (steps, ..) = run(&system, 10);
    let (trace, ..) = replay(&system, &steps).expect("the steps are an execution");
    assert_eq!(trace.steps[0].output, "3 ping\n");
    assert_eq!(trace.steps[0].line, 4);
    assert!(trace.steps[0].process.starts_with("P("));
}

#[test]
fn a_rendezvous_is_one_step_of_two_processes() {
    let system = interpreter(
        "chan c = [0] of { byte };
         active proctype S() { c!5 }
         active proctype R() { byte x; c?x; assert(x == 5) }",
    );
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    system.initial(&mut state);
    system.enabled(&mut state, &mut enabled);
    let [step] = enabled.steps() else { panic!("{enabled:?}") };
    assert_eq!((step.process, step.partner), (ProcessId(0), Some(ProcessId(1))));
    assert!(system.describe(&state, *step).2.contains("=>"));
    assert_eq!(system.apply(&mut state, *step), Outcome::Done);
    assert_eq!(system.apply_all(&mut state), Outcome::Done);
}

trait ApplyAll {
    fn apply_all(&self, state: &mut Vec<u8>) -> Outcome;
}

impl ApplyAll for Interpreter {
    fn apply_all(&self, state: &mut Vec<u8>) -> Outcome {
        let mut enabled = Enabled::new();
        for _ in 0..1000 {
            enabled.clear();
            self.enabled(state, &mut enabled);
            let Some(step) = enabled.steps().first().copied() else { return Outcome::Done };
            let outcome = self.apply(state, step);
            if outcome != Outcome::Done {
                return outcome;
            }
        }
        Outcome::Done
    }
}

#[test]
fn unreached_statements_are_listed() {
    let system = interpreter("byte g;\nactive proctype A() {\n  g = 1;\n  (g == 2);\n  g = 3\n}");
    let (steps, ..) = run(&system, 10);
    let mut taken = vec![false; system.transition_count()];
    for step in steps {
        taken[system.transitions_of(step).0] = true;
    }
    let lines: Vec<u32> = system.unreached(&taken).iter().map(|u| u.line).collect();
    assert_eq!(lines, [4, 5, 6]);
}

#[test]
fn locality_follows_the_promises_about_channels() {
    let system = interpreter(
        "chan c = [1] of { byte }; byte g;
         active proctype S() { xs c; byte x; x = 1; c!1; g = 2 }
         active proctype R() { xr c; byte y; c?y; y = 1 }",
    );
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    system.initial(&mut state);
    assert_eq!(system.locality(&state, ProcessId(0)), Locality::Local);
    // Nothing to receive yet.
    assert_eq!(system.locality(&state, ProcessId(1)), Locality::Shared);
    for expected in [Locality::Safe, Locality::Shared] {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let step = enabled.of(ProcessId(0))[0];
        system.apply(&mut state, step);
        assert_eq!(system.locality(&state, ProcessId(0)), expected);
    }
    assert_eq!(system.locality(&state, ProcessId(1)), Locality::Safe);
}

#[test]
fn a_broken_promise_is_noticed_when_asked_for() {
    let text = "chan c = [2] of { byte };
        active proctype S() { xs c; c!1 }
        active proctype T() { c!2 }";
    assert_eq!(run(&interpreter(text), 10).2, Outcome::Done);
    let system = interpreter(text).check_promises(true);
    let Outcome::Violated(number) = run(&system, 10).2 else { panic!("nothing noticed") };
    assert_eq!(system.fault(number).kind, FaultKind::Exclusivity);
}

#[test]
fn footprints_of_independent_steps_do_not_conflict() {
    let system = interpreter(
        "byte g, h; chan c = [1] of { byte };
         active proctype A() { g = 1; c!1 }
         active proctype B() { h = 1; g = 2 }",
    );
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    system.initial(&mut state);
    system.enabled(&mut state, &mut enabled);
    let a = system.footprint(&state, enabled.of(ProcessId(0))[0]).expect("known");
    let b = system.footprint(&state, enabled.of(ProcessId(1))[0]).expect("known");
    assert!(a.commutes_with(b));
    let future = system.future(&state, ProcessId(1)).expect("known");
    assert!(!a.commutes_with(future));
}

/// The values and the numbers of bits are those of Spin 6.5.2's messages "value (300->44 (8))
/// truncated in assignment" for this model, in its order.
#[test]
fn values_that_do_not_fit_are_noticed() {
    let system = interpreter(
        "byte x = 200;\nchan c = [2] of { byte, bit };\n\
         init {\n int i = 300;\n x = i;\n x = x + 100;\n c!i,i;\n byte y; bit b; short s;\n c?y,b;\n\
         s = 70000 + x - x;\n c!300,3;\n c?i,b;\n x = 255;\n x++;\n x = 255 + i - i;\n x++;\n\
         run P(i + 300 - i)\n}\nproctype P(byte q) { printf(\"%d\\n\", q) }",
    );
    let (steps, ..) = run(&system, 100);
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    system.initial(&mut state);
    let mut found = Vec::new();
    for step in steps {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let cut = system.truncations(&state, step);
        found.extend(cut.into_iter().map(|t| (t.line, t.value, t.kept, t.bits)));
        system.apply(&mut state, step);
    }
    let wanted = [
        (5, 300, 44, 8),
        (7, 300, 44, 8),
        (7, 300, 0, 1),
        (10, 70000, 4464, 16),
        (11, 300, 44, 8),
        (11, 3, 1, 1),
        (14, 256, 0, 8),
        (16, 256, 0, 8),
        (17, 300, 44, 8),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn statements_are_shown_whole() {
    let system = interpreter(
        "#define MAX 3\n#define inc(v) v = v + 1\n#define wait(s) atomic { s > 0 -> s = s - 1 }\n\
         #define ok (x < MAX)\nbyte x, sem = 1;\n\
         inline bump(v, n) { v = (v + n) % MAX; v < n }\n\
         active proctype P() {\n byte i;\nL:\n x = (x + 1) % MAX; /* why */\n inc(x);\n ok -> bump(x, 1 + 1);\n\
         wait(sem);\n for (i : 0 .. MAX - 3) { x = i }\n x = (x\n + MAX) % MAX;\n byte z = x;\n\
         assert(ok && z == x);\n goto L\n}",
    );
    let (steps, ..) = run(&system, 16);
    let (trace, ..) = replay(&system, &steps).expect("the steps can be taken");
    let texts: Vec<(u32, &str)> = trace.steps.iter().map(|s| (s.line, s.text.as_str())).collect();
    let wanted = [
        (10, "x = (x + 1) % MAX"),
        (11, "x = x + 1"),
        (12, "ok"),
        (12, "x = (x + 1 + 1) % MAX"),
        (12, "x < 1 + 1"),
        (13, "sem > 0"),
        (13, "sem = sem - 1"),
        (14, "for (i : 0 .. MAX - 3)"),
        (14, "for (i : 0 .. MAX - 3)"),
        (14, "x = i"),
        (14, "for (i : 0 .. MAX - 3)"),
        (14, "else"),
        (15, "x = (x + MAX) % MAX"),
        (17, "byte z = x"),
        (18, "assert(ok && z == x)"),
        (10, "x = (x + 1) % MAX"),
    ];
    assert_eq!(texts, wanted);
}

#[test]
fn a_process_cannot_ask_whether_it_is_enabled() {
    for text in [
        "active proctype A() { enabled(0) }",
        "active proctype A() { enabled(1) } active proctype B() { enabled(0) }",
    ] {
        let (kind, message, line) = fault_of(text);
        assert_eq!((kind, line), (FaultKind::Runtime, 1));
        assert!(message.contains("enabled"), "{message}");
    }
}

/// As in Spin, where only constants are compared with what is sent.
#[test]
fn variables_in_a_trace_stand_for_any_value() {
    let events = |event: &str| {
        let model = format!(
            "chan c = [1] of {{ byte }}; hidden byte h; byte g;\n\
             active proctype P() {{ byte x; do :: c!1; c?x od }}\ntrace {{ do :: {event}; c?_ od }}"
        );
        run(&interpreter(&model), 10).2
    };
    for event in ["c!_", "c!g", "c!h", "c!1"] {
        assert_eq!(events(event), Outcome::Done, "{event}");
    }
    assert!(matches!(events("c!2"), Outcome::Violated(_)));
}

/// Spin 6.5.2 has 6 states in each: the sequence is entered when no other process can move, and the timeout
/// lasts until its end.
#[test]
fn a_timeout_lets_a_d_step_begin() {
    for guard in
        ["timeout", "(timeout || x == 1)", "timeout; if :: timeout -> skip :: else -> x = 2 fi"]
    {
        let system = interpreter(&format!(
            "byte g;\nactive proctype P() {{ byte x; d_step {{ {guard}; g = x + 1 }} }}\n\
             active proctype Q() {{ g == 1; g = 3 }}"
        ));
        let (steps, state, outcome) = run(&system, 20);
        assert_eq!((steps.len(), outcome), (5, Outcome::Done), "{guard}");
        assert_eq!(system.process_count(&state), 0, "{guard}");
    }
}
