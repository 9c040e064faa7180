//! Executions written by hand, so that what is shown can be checked by reading.

use preempt_core::{
    BoundRow, BoundUnit, Change, Claim, Observations, Position, ProcessId, PropositionRow,
    ReadsFrom, Statistics, Step, Stop, Switch, Trace, TraceStep, Unreached, Value, Verdict,
    Violation, ViolationKind, Waiting,
};
use preempt_report::Source;

/// Builds a trace line by line; values before a change are looked up.
#[derive(Default)]
pub(crate) struct Story {
    file: String,
    pub(crate) trace: Trace,
    now: Vec<(String, Value)>,
}

impl Story {
    pub(crate) fn new(file: &str, initial: &[(&str, Value)]) -> Self {
        let now: Vec<(String, Value)> =
            initial.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
        let trace = Trace { initial: now.clone(), ..Trace::default() };
        Story { file: file.into(), trace, now }
    }

    pub(crate) fn step(
        &mut self,
        (pid, process): (usize, &str),
        line: u32,
        text: &str,
        switch: Switch,
        changes: &[(&str, Value)],
    ) -> &mut Self {
        let changes = changes
            .iter()
            .map(|(name, to)| {
                let known = self.now.iter_mut().find(|(n, _)| n == name);
                let from = known.as_ref().map(|(_, v)| v.clone());
                match known {
                    Some(slot) => slot.1 = to.clone(),
                    None => self.now.push((name.to_string(), to.clone())),
                }
                Change { name: name.to_string(), from, to: Some(to.clone()) }
            })
            .collect();
        self.trace.raw.push(Step::new(ProcessId(pid as u16), line));
        self.trace.steps.push(TraceStep {
            process: process.into(),
            pid,
            partner: None,
            file: self.file.clone(),
            line,
            text: text.into(),
            switch,
            changes,
            output: String::new(),
        });
        self
    }

    pub(crate) fn joined_by(&mut self, partner: usize) -> &mut Self {
        let last = self.trace.steps.last_mut().unwrap();
        last.partner = Some(partner);
        self.trace.raw.last_mut().unwrap().partner = Some(ProcessId(partner as u16));
        self
    }

    pub(crate) fn prints(&mut self, text: &str) -> &mut Self {
        self.trace.steps.last_mut().unwrap().output = text.into();
        self
    }

    pub(crate) fn stands(
        &mut self,
        (pid, process): (usize, &str),
        line: u32,
        text: &str,
    ) -> &mut Self {
        self.trace.rest.push(Position {
            process: process.into(),
            pid,
            file: self.file.clone(),
            line,
            text: text.into(),
        });
        self
    }
}

pub(crate) fn int(n: i64) -> Value {
    Value::Int(n)
}

pub(crate) fn queue(messages: &[&str]) -> Value {
    Value::Queue(messages.iter().map(|m| m.to_string()).collect())
}

const GOES_ON: Switch = Switch::None;
const FORCED: Switch = Switch::Forced;
const PREEMPTED: Switch = Switch::Preemption;

pub(crate) const PETERSON: &str = "\
/* Peterson's algorithm, but nobody gives way: the turn variable is missing. */
bool flag[2];
byte inside;

active [2] proctype user()
{
\tbyte other = 1 - _pid;
\tdo
\t:: flag[_pid] = true;
\t   (flag[other] == false);   /* wait */
\t   inside++;
\t   assert(inside == 1);
\t   inside--;
\t   flag[_pid] = false
\tod
}
";

/// Both raise their flag and wait for the other to lower his.
pub(crate) fn peterson_without_turn() -> Claim {
    let mut story =
        Story::new("peterson.pml", &[("flag[0]", int(0)), ("flag[1]", int(0)), ("inside", int(0))]);
    story
        .step((0, "user"), 9, "flag[_pid] = true", GOES_ON, &[("flag[0]", int(1))])
        .step((1, "user"), 9, "flag[_pid] = true", PREEMPTED, &[("flag[1]", int(1))])
        .stands((0, "user"), 10, "(flag[other] == false)")
        .stands((1, "user"), 10, "(flag[other] == false)");
    violated(
        story.trace,
        "no invalid end state",
        "Violated with 1 preemption: both users wait for each other for ever, and no execution without preemptions fails.",
        ViolationKind::InvalidEnd,
        "invalid end state: no process can move, and user (0) and user (1) are not at an end",
        ("peterson.pml", 10),
    )
}

pub(crate) const CHECK_THEN_SET: &str = "\
/* A lock that looks first and locks later. */
bool locked;
byte inside;
int done = 0;

active [2] proctype worker()
{
\t(locked == false);
\tlocked = true;
\tinside++;
\tassert(inside == 1);
\tprintf(\"worker %d is in\\n\", _pid);
\tinside--;
\tlocked = false;
\tdone++
}
";

/// An assertion that fails after one preemption between the look and the leap.
pub(crate) fn check_then_set() -> Claim {
    let mut story =
        Story::new("lock.pml", &[("locked", int(0)), ("inside", int(0)), ("done", int(0))]);
    story
        .step((0, "worker"), 8, "(locked == false)", GOES_ON, &[])
        .step((1, "worker"), 8, "(locked == false)", PREEMPTED, &[])
        .step((1, "worker"), 9, "locked = true", GOES_ON, &[("locked", int(1))])
        .step((1, "worker"), 10, "inside++", GOES_ON, &[("inside", int(1))])
        .step((1, "worker"), 11, "assert(inside == 1)", GOES_ON, &[])
        .step((1, "worker"), 12, "printf(\"worker %d is in\\n\", _pid)", GOES_ON, &[])
        .prints("worker 1 is in\n")
        .step((0, "worker"), 9, "locked = true", PREEMPTED, &[])
        .step((0, "worker"), 10, "inside++", GOES_ON, &[("inside", int(2))])
        .step((0, "worker"), 11, "assert(inside == 1)", GOES_ON, &[])
        .stands((0, "worker"), 12, "printf(\"worker %d is in\\n\", _pid)")
        .stands((1, "worker"), 13, "inside--");
    violated(
        story.trace,
        "assertions",
        "Violated with 2 preemptions: the assertion `inside == 1` fails; no execution with fewer preemptions fails.",
        ViolationKind::Assertion,
        "assertion violated: inside == 1",
        ("lock.pml", 11),
    )
}

/// A flag is seen, but not the data that was stored before it: the second load is stale.
pub(crate) fn message_passing() -> Claim {
    let mut story = Story::new("mp.rs", &[("data", int(0)), ("flag", int(0))]);
    story
        .step((1, "writer"), 4, "data.store(1)", GOES_ON, &[("data", int(1))])
        .step((1, "writer"), 5, "flag.store(1)", GOES_ON, &[("flag", int(1))])
        .step((2, "reader"), 9, "flag.load -> 1", FORCED, &[])
        .step((2, "reader"), 10, "data.load -> 0", GOES_ON, &[]);
    story.trace.reads = vec![
        ReadsFrom { step: 2, from: Some(1), missed: None },
        ReadsFrom { step: 3, from: None, missed: Some(0) },
    ];
    violated(
        story.trace,
        "no execution fails",
        "the data is not there",
        ViolationKind::Assertion,
        "the data is not there",
        ("mp.rs", 10),
    )
}

pub(crate) const LASSO: &str = "\
byte x;
bool asked, served;

active proctype client() { asked = true; (served) }

active proctype server()
{
\tdo
\t:: x = 1
\t:: x = 0
\t:: asked -> served = true; break
\tod
}
";

/// The server plays with x for ever and never serves.
pub(crate) fn lasso() -> Claim {
    let mut story =
        Story::new("serve.pml", &[("x", int(0)), ("asked", int(0)), ("served", int(0))]);
    story
        .step((0, "client"), 4, "asked = true", GOES_ON, &[("asked", int(1))])
        .step((1, "server"), 9, "x = 1", FORCED, &[("x", int(1))])
        .step((1, "server"), 10, "x = 0", GOES_ON, &[("x", int(0))])
        .step((1, "server"), 9, "x = 1", GOES_ON, &[("x", int(1))])
        .stands((0, "client"), 4, "(served)")
        .stands((1, "server"), 10, "x = 0");
    story.trace.cycle_start = Some(2);
    violated(
        story.trace,
        "[] (asked -> <> served)",
        "Violated without preemptions: an execution in which `asked -> <> served` never comes true.",
        ViolationKind::AcceptanceCycle,
        "acceptance cycle: the server never serves",
        ("serve.pml", 9),
    )
}

pub(crate) const PROTOCOL: &str = "\
mtype = { hello, data, ack };
chan line = [0] of { mtype };
chan to_receiver = [2] of { mtype, byte };
chan to_sender = [1] of { mtype };

active proctype sender()
{
\tline!hello;
\tto_receiver!data,1;
\tto_receiver!data,2;
\tto_sender?ack;
\tto_receiver!data,3
}

active proctype receiver()
{
\tbyte n;
\tline?hello;
\tto_receiver?data,n;
\tto_sender!ack;
\tto_receiver?data,n;
\tassert(n == 1)
}
";

/// A handshake, then messages through buffers. The sender knows one of them by a second name.
pub(crate) fn protocol() -> Claim {
    let (sender, receiver) = ((0, "sender"), (1, "receiver"));
    let mut story = Story::new(
        "protocol.pml",
        &[
            ("line", queue(&[])),
            ("to_receiver", queue(&[])),
            ("to_sender", queue(&[])),
            ("sender(0):out", queue(&[])),
            ("receiver(1):n", int(0)),
        ],
    );
    story
        .step(sender, 8, "line!hello => line?hello", GOES_ON, &[])
        .joined_by(1)
        .step(
            sender,
            9,
            "to_receiver!data,1",
            FORCED,
            &[("to_receiver", queue(&["data,1"])), ("sender(0):out", queue(&["data,1"]))],
        )
        .step(
            sender,
            10,
            "to_receiver!data,2",
            GOES_ON,
            &[
                ("to_receiver", queue(&["data,1", "data,2"])),
                ("sender(0):out", queue(&["data,1", "data,2"])),
            ],
        )
        .step(
            receiver,
            19,
            "to_receiver?data,n",
            FORCED,
            &[
                ("to_receiver", queue(&["data,2"])),
                ("sender(0):out", queue(&["data,2"])),
                ("receiver(1):n", int(1)),
            ],
        )
        .step(receiver, 20, "to_sender!ack", GOES_ON, &[("to_sender", queue(&["ack"]))])
        .step(sender, 11, "to_sender?ack", PREEMPTED, &[("to_sender", queue(&[]))])
        .step(
            sender,
            12,
            "to_receiver!data,3",
            GOES_ON,
            &[
                ("to_receiver", queue(&["data,2", "data,3"])),
                ("sender(0):out", queue(&["data,2", "data,3"])),
            ],
        )
        .step(
            receiver,
            21,
            "to_receiver?data,n",
            FORCED,
            &[
                ("to_receiver", queue(&["data,3"])),
                ("sender(0):out", queue(&["data,3"])),
                ("receiver(1):n", int(2)),
            ],
        )
        .step(receiver, 22, "assert(n == 1)", GOES_ON, &[])
        .stands(sender, 13, "-end-")
        .stands(receiver, 23, "-end-");
    violated(
        story.trace,
        "assertions",
        "Violated with 1 preemption: the second message is not number 1.",
        ViolationKind::Assertion,
        "assertion violated: n == 1",
        ("protocol.pml", 22),
    )
}

/// Too many processes for columns.
pub(crate) fn crowd(processes: usize) -> Claim {
    let mut story = Story::new("crowd.pml", &[("tickets", int(0))]);
    for pid in 0..processes {
        let switch = if pid == 0 { GOES_ON } else { PREEMPTED };
        story.step(
            (pid, "visitor"),
            4,
            "tickets = tickets + 1",
            switch,
            &[("tickets", int(pid as i64 + 1))],
        );
        story.step((pid, "visitor"), 5, "(tickets < 100)", GOES_ON, &[]);
    }
    violated(
        story.trace,
        "assertions",
        "Violated.",
        ViolationKind::Assertion,
        "too many visitors",
        ("crowd.pml", 5),
    )
}

/// Many processes of which three move, the last one in a long statement.
pub(crate) fn still_crowd(processes: usize) -> Claim {
    let mut claim = crowd(3);
    let trace = &mut claim.violation.as_mut().unwrap().trace;
    let wide = &mut trace.steps[4];
    wide.text =
        "tickets = (tickets + 1) * (tickets < 100 && tickets > 0 -> 1 : 0) + visitors".into();
    trace.observations.seen = vec![Vec::new(); trace.steps.len()];
    trace.observations.seen[4] =
        (0..6).map(|n| (format!("a_long_name_of_a_variable_{n}"), int(n))).collect();
    trace.rest = (0..processes)
        .map(|pid| preempt_core::Position {
            process: "visitor".into(),
            pid,
            file: "crowd.pml".into(),
            line: 4,
            text: "tickets = tickets + 1".into(),
        })
        .collect();
    claim
}

/// A trace of many steps by three processes, with a channel and a counter.
pub(crate) fn long(steps: usize) -> Claim {
    let file = "long.pml";
    let names = ["producer", "consumer", "clock"];
    let mut trace = Trace::default();
    let (mut time, mut sum, mut seed) = (0_i64, 0_i64, 0x2545_f491_u32);
    let mut content: Vec<String> = Vec::new();
    trace.initial =
        vec![("time".into(), int(0)), ("sum".into(), int(0)), ("buffer".into(), queue(&[]))];
    let mut last = usize::MAX;
    while trace.steps.len() < steps {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        let pid = match seed % 8 {
            0 => 2,
            1..=3 => 0,
            4..=5 => 1,
            _ if last < 3 => last,
            _ => 0,
        };
        let before = Value::Queue(content.clone());
        let mut changes = Vec::new();
        let mut change = |name: &str, from: Value, to: Value| {
            changes.push(Change { name: name.into(), from: Some(from), to: Some(to) });
        };
        let (line, text) = match pid {
            0 if content.len() < 4 => {
                content.push(format!("item,{}", sum % 10));
                change("buffer", before, Value::Queue(content.clone()));
                (5, "buffer!item,n")
            }
            1 if !content.is_empty() => {
                content.remove(0);
                change("buffer", before, Value::Queue(content.clone()));
                change("sum", int(sum), int(sum + 1));
                sum += 1;
                (12, "buffer?item,n; sum++")
            }
            2 => {
                change("time", int(time), int((time + 1) % 60));
                time = (time + 1) % 60;
                (19, "time = (time + 1) % 60")
            }
            _ => (6, "skip"),
        };
        let switch = match last {
            usize::MAX => GOES_ON,
            _ if last == pid => GOES_ON,
            _ if seed % 97 == 0 => PREEMPTED,
            _ => FORCED,
        };
        last = pid;
        trace.steps.push(TraceStep {
            process: names[pid].into(),
            pid,
            partner: None,
            file: file.into(),
            line,
            text: text.into(),
            switch,
            changes,
            output: String::new(),
        });
    }
    violated(
        trace,
        "assertions",
        "Violated: after very many steps the sum is too large.",
        ViolationKind::Assertion,
        "assertion violated: sum < limit",
        (file, 12),
    )
}

/// A check that found nothing up to a bound.
pub(crate) fn within_bound() -> Claim {
    Claim {
        property: "assertions and invalid end states".into(),
        verdict: Verdict::HoldsWithinBound(2),
        sentence: "Holds within bound 2: no violation with at most 2 preemptions (142 states); any other needs at least 3.".into(),
        violation: None,
        statistics: Statistics {
            executions: None,
            nodes: None,
            bound_unit: BoundUnit::Preemptions,
            states: 142,
            matched: 93,
            transitions: 251,
            atomic_steps: 7,
            depth: 31,
            revisits: 16,
            errors: 0,
            complete: true,
            unreduced: false,
            bytes_per_state: 12.25,
            memory_bytes: 3_407_872,
            state_bytes: 28,
            seconds: 0.25,
            search_seconds: 0.0,
            compile_seconds: 0.004,
            per_bound: vec![
                BoundRow { stale: None, bound: 0, states: 12, transitions: 14, errors: 0 },
                BoundRow { stale: None, bound: 1, states: 77, transitions: 120, errors: 0 },
                BoundRow { stale: None, bound: 2, states: 142, transitions: 251, errors: 0 },
            ],
            statements: Vec::new(),
            contention: None,
        },
        unreached: vec![
            Unreached {
                process: "proctype user".into(),
                file: "peterson.pml".into(),
                line: 15,
                text: "-end-".into(),
            },
            Unreached {
                process: "init".into(),
                file: "peterson.pml".into(),
                line: 21,
                text: "printf(\"never\\n\")".into(),
            },
            Unreached {
                process: "init".into(),
                file: "peterson.pml".into(),
                line: 22,
                text: "-end-".into(),
            },
        ],
        notes: vec!["partial order reduction is off: the model uses `provided`".into()],
    }
}

/// A check that ran out of memory.
pub(crate) fn inconclusive() -> Claim {
    Claim {
        property: "assertions".into(),
        verdict: Verdict::Inconclusive(Stop::Memory),
        sentence: "Inconclusive: the memory limit was reached after 1000 states.".into(),
        violation: None,
        statistics: Statistics { states: 1000, transitions: 1000, ..Statistics::default() },
        unreached: Vec::new(),
        notes: Vec::new(),
    }
}

/// A check that holds, but for code that it never reached and a property that says little.
pub(crate) fn holds_with_unreached_code() -> Claim {
    let mut claim = within_bound();
    claim.statistics.statements = vec![("proctype user".into(), 6), ("init".into(), 2)];
    claim.notes.push("vacuous: `wants[2]` is never true".into());
    claim
}

/// The deadlock of Peterson's algorithm without `turn`, with which process waits for which.
pub(crate) fn observed_deadlock() -> Claim {
    let mut claim = peterson_without_turn();
    let trace = &mut claim.violation.as_mut().unwrap().trace;
    trace.observations = Observations {
        seen: trace.steps.iter().map(|_| vec![("other".into(), Value::Int(1))]).collect(),
        waiting: [(0, 1), (1, 0)]
            .map(|(pid, other)| Waiting {
                pid,
                reasons: vec![format!("`!wants[{other}]` is false: wants[{other}] is 1")],
                waits_for: vec![other],
            })
            .into(),
        ..Observations::default()
    };
    claim
}

/// An infinite execution of which the first two steps decide.
pub(crate) fn decided() -> Claim {
    let mut claim = lasso();
    let trace = &mut claim.violation.as_mut().unwrap().trace;
    let mut holds = vec![Some(true); trace.steps.len() + 1];
    holds[1] = None;
    holds[2] = Some(false);
    trace.observations = Observations {
        reasons: vec!["p < 3 is false: p is 3".into()],
        propositions: vec![PropositionRow {
            name: "a_long_proposition_whose_end_differs < 3".into(),
            holds,
        }],
        bad_prefix: Some(2),
        ..Observations::default()
    };
    claim
}

pub(crate) fn source(file: &str, text: &str) -> Source {
    Source { file: file.into(), text: text.into() }
}

fn violated(
    trace: Trace,
    property: &str,
    sentence: &str,
    kind: ViolationKind,
    message: &str,
    (file, line): (&str, u32),
) -> Claim {
    Claim {
        property: property.into(),
        verdict: Verdict::Violated,
        sentence: sentence.into(),
        violation: Some(Violation {
            kind,
            message: message.into(),
            file: file.into(),
            line,
            trace,
            simplest: true,
            stale: None,
        }),
        statistics: Statistics {
            states: 9,
            matched: 1,
            transitions: 10,
            depth: 8,
            errors: 1,
            state_bytes: 28,
            memory_bytes: 1 << 20,
            seconds: 0.002,
            ..Statistics::default()
        },
        unreached: Vec::new(),
        notes: Vec::new(),
    }
}
