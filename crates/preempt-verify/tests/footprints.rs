//! Random programs as typed models that say what their processes read and write: reduced searches, within a
//! bound and without, against an explorer of (state, last mover, preemptions) triples.

use preempt_core::Verdict;
use preempt_model::{Footprints, Model, Property};
use preempt_testing::Random;
use preempt_verify::{Control, Preemptions, Reduction, Request, Search, Storage, verify_model};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};

const PROCESSES: usize = 3;
const VARIABLES: usize = 4;
const LENGTH: usize = 6;

/// One instruction: it waits for a value of a variable, if it has a guard, then acts and goes on at one of two places.
#[derive(Clone, Copy, Debug)]
struct Instruction {
    guard: Option<(usize, u8)>,
    act: Act,
    /// Where to go on; the second is a choice.
    next: [usize; 2],
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Nothing,
    Set(usize, u8),
    /// Into the local variable.
    Load(usize),
    /// From the local variable, plus one.
    Store(usize),
    /// Increments in one step.
    Add(usize),
}

/// What is wrong with the footprints.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mistake {
    None,
    /// Writes of this variable are not named.
    Write(usize),
    /// Reads of this variable are not named.
    Read(usize),
    NothingObserved,
    NoJumps,
    NoSuchPoint,
    TooFewPoints,
}

#[derive(Clone, Debug)]
struct Program {
    code: Vec<Vec<Instruction>>,
    starts: Vec<u8>,
    /// Values that variables must not have at once.
    forbidden: Vec<(usize, u8)>,
    within: Option<u8>,
    may_end: bool,
    temporal: bool,
    mistake: Mistake,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct State {
    variables: [u8; VARIABLES],
    locals: [u8; PROCESSES],
    at: [usize; PROCESSES],
}

/// A process, and which of the two places comes next.
type Choice = (usize, usize);

impl Model for Program {
    type State = State;
    type Action = Choice;

    fn initial_states(&self) -> Vec<State> {
        let start = |first: &u8| State {
            variables: [*first, 0, 0, 0],
            locals: [0; PROCESSES],
            at: [0; PROCESSES],
        };
        self.starts.iter().map(start).collect()
    }

    fn actions(&self, _state: &State, actions: &mut Vec<Choice>) {
        actions.extend((0..PROCESSES).flat_map(|process| [(process, 0), (process, 1)]));
    }

    fn next(&self, state: &State, &(process, choice): &Choice) -> Option<State> {
        let instruction = self.code[process].get(state.at[process])?;
        if choice == 1 && instruction.next[0] == instruction.next[1] {
            return None;
        }
        if instruction.guard.is_some_and(|(variable, value)| state.variables[variable] != value) {
            return None;
        }
        let mut next = state.clone();
        match instruction.act {
            Act::Nothing => {}
            Act::Set(variable, value) => next.variables[variable] = value,
            Act::Load(variable) => next.locals[process] = state.variables[variable],
            Act::Store(variable) => next.variables[variable] = (state.locals[process] + 1) % 5,
            Act::Add(variable) => next.variables[variable] = (state.variables[variable] + 1) % 5,
        }
        next.at[process] = instruction.next[choice];
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let bad = |program: &Program, state: &State| program.is_forbidden(state);
        let safe = Property::always("not forbidden", move |program, state| !bad(program, state));
        if !self.temporal {
            return vec![safe];
        }
        vec![
            safe,
            Property::ltl("comes back", "[] <> !bad").with("bad", bad),
            Property::ltl("comes", "<> bad").with("bad", bad),
            Property::sometimes("bad", bad),
        ]
    }

    fn processes(&self) -> Vec<String> {
        (0..PROCESSES).map(|process| format!("process {process}")).collect()
    }

    fn process(&self, action: &Choice) -> usize {
        action.0
    }

    fn may_end(&self, state: &State) -> bool {
        self.may_end || state.at.iter().all(|at| *at == LENGTH)
    }

    fn is_within(&self, state: &State) -> bool {
        self.within != Some(state.variables[0])
    }

    fn footprints(&self) -> Option<Footprints<Self, State>> {
        let shift = usize::from(self.mistake == Mistake::NoSuchPoint);
        let mut footprints = Footprints::new(move |_: &Program, state: &State, process| {
            process * (LENGTH + 1) + state.at[process] + shift
        });
        if self.mistake != Mistake::NothingObserved {
            footprints = footprints
                .observed([0])
                .observed(self.forbidden.iter().map(|(variable, _)| *variable));
        }
        let points = PROCESSES - usize::from(self.mistake == Mistake::TooFewPoints);
        for (process, code) in self.code[..points].iter().enumerate() {
            let first = process * (LENGTH + 1);
            for instruction in code {
                let (mut reads, mut writes) = (Vec::new(), Vec::new());
                reads.extend(instruction.guard.map(|(variable, _)| variable));
                match instruction.act {
                    Act::Nothing => {}
                    Act::Load(variable) => reads.push(variable),
                    Act::Set(variable, _) | Act::Store(variable) => writes.push(variable),
                    Act::Add(variable) => {
                        reads.push(variable);
                        writes.push(variable);
                    }
                }
                reads.retain(|variable| self.mistake != Mistake::Read(*variable));
                writes.retain(|variable| self.mistake != Mistake::Write(*variable));
                let jumps = if self.mistake == Mistake::NoJumps { 1 } else { 2 };
                let next = instruction.next[..jumps].iter().map(|next| first + next);
                footprints = footprints.point(reads, writes, next);
            }
            footprints = footprints.point([], [], []);
        }
        Some(footprints)
    }
}

impl Program {
    fn random(seed: u64) -> Program {
        let mut random = Random::shifts(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, 33);
        let mut code: Vec<Vec<Instruction>> = Vec::new();
        for _ in 0..PROCESSES {
            // Processes that share few variables have something to reorder.
            let mine = [random.below(VARIABLES), random.below(VARIABLES)];
            let instruction = |at: usize, random: &mut Random| {
                let variable = mine[random.below(2)];
                let act = match random.below(5) {
                    0 => Act::Nothing,
                    1 => Act::Set(variable, random.below(2) as u8),
                    2 | 3 => Act::Load(variable),
                    _ => Act::Store(variable),
                };
                let guarded = random.below(4) == 0;
                let guard = guarded.then(|| (mine[random.below(2)], random.below(2) as u8));
                let mut next = [at + 1; 2];
                if random.below(6) == 0 {
                    next[1] = random.below(LENGTH + 1);
                }
                Instruction { guard, act, next }
            };
            code.push((0..LENGTH).map(|at| instruction(at, &mut random)).collect());
        }
        let mut forbidden = vec![(0, 1 + random.below(2) as u8), (1, random.below(3) as u8)];
        if random.below(2) == 0 {
            // Two processes whose updates get lost if they are preempted once or twice.
            let updates = [
                Act::Load(0),
                Act::Store(0),
                Act::Load(2),
                Act::Store(2),
                Act::Nothing,
                Act::Add(1),
            ];
            let update = |(at, act)| Instruction { guard: None, act, next: [at + 1; 2] };
            for code in &mut code[..2] {
                *code = updates.into_iter().enumerate().map(update).collect();
            }
            forbidden = vec![(0, 1), (1, 2)];
            if random.below(2) == 0 {
                forbidden.push((2, 1));
            }
        }
        let starts = (0..1 + random.below(4) / 3).map(|start| start as u8).collect();
        let within = (random.below(6) == 0).then_some(4);
        let may_end = random.below(4) > 0;
        Program {
            code,
            starts,
            forbidden,
            within,
            may_end,
            temporal: false,
            mistake: Mistake::None,
        }
    }

    fn is_forbidden(&self, state: &State) -> bool {
        self.forbidden.iter().all(|(variable, value)| state.variables[*variable] == *value)
    }

    fn moves(&self, state: &State) -> Vec<(usize, State)> {
        let all = (0..PROCESSES).flat_map(|process| [(process, 0), (process, 1)]);
        let moves = all.filter_map(|action| Some((action.0, self.next(state, &action)?)));
        moves.filter(|(_, next)| self.is_within(next)).collect()
    }

    /// The fewest preemptions of an execution to a forbidden or deadlocked state.
    fn least_preemptions(&self) -> Option<u32> {
        let mut least: HashMap<(State, Option<usize>), u32> = HashMap::new();
        let mut work: VecDeque<(State, Option<usize>, u32)> =
            self.initial_states().into_iter().map(|state| (state, None, 0)).collect();
        while let Some((state, last, cost)) = work.pop_front() {
            let known = least.get(&(state.clone(), last)).copied();
            if known.is_some_and(|known| known <= cost) {
                continue;
            }
            least.insert((state.clone(), last), cost);
            let moves = self.moves(&state);
            let could_go_on = last.is_some_and(|last| moves.iter().any(|(who, _)| *who == last));
            for (who, next) in moves {
                let is_preemption = could_go_on && last != Some(who);
                match is_preemption {
                    true => work.push_back((next, Some(who), cost + 1)),
                    false => work.push_front((next, Some(who), cost)),
                }
            }
        }
        let is_bad = |state: &State| {
            let cut = (0..PROCESSES)
                .flat_map(|process| [(process, 0), (process, 1)])
                .any(|action| self.next(state, &action).is_some());
            self.is_forbidden(state)
                || (self.moves(state).is_empty() && !self.may_end(state) && !cut)
        };
        let bad = least.iter().filter(|((state, _), _)| is_bad(state));
        bad.map(|(_, cost)| *cost).min()
    }
}

fn cases() -> u64 {
    std::env::var("PREEMPT_TEST_SYSTEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

#[test]
fn reduced_searches_within_a_bound_lose_nothing() {
    let (mut violated, mut full, mut reduced) = ([0; 4], 0, 0);
    for seed in 1..=cases() {
        let program = Program::random(seed);
        let least = program.least_preemptions();
        if let Some(least) = least {
            violated[least.min(3) as usize] += 1;
        }
        for bound in [0, 1, 2, 4] {
            let usual = Request { preemptions: Preemptions::AtMost(bound), ..Request::default() };
            for request in [
                Request { reduction: Reduction::None, ..usual.clone() },
                Request { reduction: Reduction::Full, ..usual.clone() },
                Request { search: Search::Depth, ..usual.clone() },
                Request { storage: Storage::Tree, ..usual.clone() },
                Request { threads: 2, ..usual.clone() },
                Request {
                    preemptions: Preemptions::Iterate { last: Some(bound) },
                    ..usual.clone()
                },
            ] {
                let what = || format!("seed {seed}, least {least:?}: {program:?}\n{request:?}");
                let claims = verify_model(&program, &request, &Control::new()).expect("a model");
                let claim = &claims[0];
                let within = least.is_some_and(|least| least <= bound);
                assert_eq!(claim.verdict == Verdict::Violated, within, "{}", what());
                if let Some(found) = &claim.violation {
                    assert_eq!(Some(found.trace.cost().preemptions), least, "{}", what());
                } else if claim.verdict == Verdict::Holds {
                    assert_eq!(least, None, "{}", what());
                }
                if least.is_none() && bound == 4 && request.preemptions == usual.preemptions {
                    match request.reduction {
                        Reduction::None => full += claim.statistics.states,
                        _ => reduced += claim.statistics.states / 4,
                    }
                }
            }
        }
    }
    println!("least preemptions {violated:?}, states {full} and reduced {reduced}");
    assert!(violated[..3].iter().all(|count| *count > 0), "{violated:?}");
    assert!(reduced * 10 < full * 9, "reduction reduces: {reduced} of {full}");
}

#[test]
fn reduced_searches_without_a_bound_give_the_same_answers() {
    for seed in 1..=cases() {
        let program = Program { temporal: true, ..Program::random(seed) };
        let usual = Request { reduction: Reduction::None, ..Request::default() };
        let expected = verify_model(&program, &usual, &Control::new()).expect("a model");
        assert_eq!(
            expected[0].verdict == Verdict::Violated,
            program.least_preemptions().is_some(),
            "seed {seed}: {program:?}"
        );
        for request in [
            Request::default(),
            Request { search: Search::Breadth, ..Request::default() },
            Request { threads: 2, ..Request::default() },
        ] {
            let claims = verify_model(&program, &request, &Control::new()).expect("a model");
            assert_eq!(claims.len(), expected.len());
            for (claim, expected) in claims.iter().zip(&expected) {
                assert_eq!(
                    claim.verdict, expected.verdict,
                    "seed {seed}: {}\n{}\n{program:?}\n{request:?}",
                    claim.sentence, expected.sentence
                );
            }
        }
    }
}

const SENTENCES: [&str; 5] = [
    "makes a difference",
    "writes nothing observed",
    "does not name",
    "there are 21",
    "there are 14",
];

#[test]
fn footprints_that_promise_too_much_are_noticed() {
    let mut noticed = HashMap::new();
    let mistakes = [
        (Mistake::Write(3), SENTENCES[0]),
        (Mistake::Read(3), SENTENCES[0]),
        (Mistake::NothingObserved, SENTENCES[1]),
        (Mistake::NoJumps, SENTENCES[2]),
        (Mistake::NoSuchPoint, SENTENCES[3]),
        (Mistake::TooFewPoints, SENTENCES[4]),
    ];
    for seed in 1..=60 {
        for (mistake, sentence) in mistakes {
            let program = Program { mistake, ..Program::random(seed) };
            let request = Request { reduction: Reduction::None, ..Request::default() };
            if let Err(error) = verify_model(&program, &request, &Control::new()) {
                let message = error.to_string();
                // One mistake may show in several ways.
                let said = SENTENCES.into_iter().find(|said| message.contains(said));
                let said = said.unwrap_or_else(|| panic!("{seed}: {message}"));
                *noticed.entry((sentence, said)).or_insert(0) += 1;
            }
        }
    }
    println!("{noticed:?}");
    for (_, sentence) in mistakes {
        let times: u32 = SENTENCES.iter().filter_map(|said| noticed.get(&(sentence, *said))).sum();
        let as_expected = noticed.contains_key(&(sentence, sentence));
        assert!(as_expected && times >= 10, "{sentence}: {noticed:?}");
    }
}
