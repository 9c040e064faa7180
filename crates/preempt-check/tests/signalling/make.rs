//! Random programs, and known counterexamples to [HF] Theorem 2, changed a little.

use super::chance::Random;
use super::{Contact, Location, Move, Program};

fn to(target: usize) -> Move {
    Move { target: target as u8, ..Move::default() }
}

fn when(bit: usize, value: u8, m: Move) -> Move {
    Move { guard: vec![(bit, value)], ..m }
}

fn set(bit: usize, value: u8, m: Move) -> Move {
    Move { sets: vec![(bit, value)], ..m }
}

fn with(contact: Contact, m: Move) -> Move {
    Move { contact, ..m }
}

fn fail(m: Move) -> Move {
    Move { fails: true, ..m }
}

/// A random program.
pub(crate) fn random(seed: u64) -> Program {
    let mut r = Random::new(seed + 1);
    let bits = 1 + r.below(3);
    let channels = r.below(3);
    let count = 2 + if r.chance(70) { r.below(2) } else { r.below(3) };
    let (meets, atomic, end) = (r.chance(25), r.chance(25), r.chance(20));
    let (loops, exclusive, signals) = (r.chance(30), r.chance(70), r.chance(50));
    let local = [10, 25, 40][r.below(3)];
    let fails = [4, 10, 20][r.below(3)];
    let capacities = (0..channels).map(|_| 1 + r.bit()).collect();
    let ends: Vec<(usize, usize)> = (0..channels)
        .map(|_| {
            let sender = r.below(count);
            (sender, (sender + 1 + r.below(count - 1)) % count)
        })
        .collect();
    let owners: Vec<usize> = (0..bits).map(|_| r.below(count)).collect();
    let processes = (0..count).map(|process| {
        let size = 2 + r.below(4);
        let locations = (0..size).map(|at| {
            let is_last = at + 1 == size && r.chance(80);
            let is_local = r.chance(local);
            let moves = (0..if is_last { 0 } else { 1 + usize::from(r.chance(40)) }).map(|_| {
                let back = loops && r.chance(25);
                let mut m = to(if back { r.below(size) } else { (at + 1).min(size - 1) });
                m.local_guard = r.chance(15).then(|| r.bit());
                m.local_set = r.chance(20).then(|| r.bit());
                m.fails = r.chance(2);
                if is_local {
                    return m;
                }
                let kind = r.below(100);
                if channels > 0 && kind < 45 {
                    let at = r.below(channels);
                    let (channel, value) = (at as u8, r.bit());
                    let receive = Contact::Receive(channel, r.chance(50).then_some(value));
                    let send = Contact::Send(channel, value);
                    m.contact = match exclusive {
                        true if process == ends[at].0 => send,
                        true if process == ends[at].1 => receive,
                        true => Contact::None,
                        false if r.chance(50) => send,
                        false => receive,
                    };
                } else if meets && kind < 65 {
                    let channel = r.bit();
                    let half = [Contact::Meet(channel), Contact::Answer(channel)];
                    m.contact = half[r.below(2)];
                }
                if r.chance(40) {
                    m.guard.push((r.below(bits), r.bit()));
                    m.fails |= r.chance(fails);
                }
                if r.chance(12) {
                    m.guard.push((r.below(bits), r.bit()));
                }
                if r.chance(45) {
                    let bit = r.below(bits);
                    if !signals || owners[bit] == process || r.chance(25) {
                        m.sets.push((bit, r.bit()));
                    }
                }
                m
            });
            let moves = moves.collect();
            Location { atomic: atomic && at > 0 && r.chance(25), valid_end: r.chance(80), moves }
        });
        locations.collect()
    });
    let processes = processes.collect();
    Program { bits: (0..bits).map(|_| r.bit()).collect(), capacities, processes, end }
}

fn any_move(r: &mut Random, target: usize) -> Move {
    let bit = |r: &mut Random| (r.below(3), r.bit());
    let mut m = to(target);
    match r.below(6) {
        0 => {}
        1 => m.sets.push(bit(r)),
        2 => m.guard.push(bit(r)),
        3 => {
            m.guard.push(bit(r));
            m.sets.push(bit(r));
        }
        4 => m.contact = Contact::Send(r.bit(), r.bit()),
        _ => m.contact = Contact::Receive(r.bit(), None),
    }
    m.fails = r.chance(6);
    m
}

/// Bits of the mutated programs.
const G: usize = 0;
const S: usize = 1;
const X: usize = 2;
const Y: usize = 3;
const Z: usize = 4;
const L: usize = 5;
/// How many of them there are.
const BITS: usize = 6;
/// How many originals there are.
const ORIGINALS: usize = 10;

fn both(m: Move, (bit, value): (usize, u8)) -> Move {
    let mut m = m;
    m.guard.push((bit, value));
    m
}

/// The seeds of mutation: three or four processes each.
fn original(kind: usize) -> Vec<Vec<Vec<Move>>> {
    let last = vec![fail(when(X, 1, to(3))), when(X, 0, to(3))];
    let follower = vec![vec![set(X, 1, when(S, 1, to(1)))], vec![]];
    match kind {
        // The last mover goes on by a receive that it owes to an early send.
        5 => vec![
            vec![
                vec![set(S, 1, to(1))],
                vec![with(Contact::Receive(0, None), to(2))],
                last,
                vec![],
            ],
            vec![vec![with(Contact::Send(0, 1), to(1))], vec![]],
            follower,
        ],
        // The last mover takes part in a rendezvous.
        6 => vec![
            vec![vec![set(S, 1, to(1))], vec![with(Contact::Meet(0), to(2))], last, vec![]],
            vec![vec![with(Contact::Answer(0), to(1))], vec![when(G, 1, to(2))], vec![]],
            follower,
        ],
        // The same, and it need not.
        7 => vec![
            vec![vec![set(S, 1, to(1))], vec![with(Contact::Meet(0), to(2)), to(3)], last, vec![]],
            vec![vec![with(Contact::Answer(0), to(1))], vec![when(G, 1, to(2))], vec![]],
            follower,
        ],
        // Two last movers at one count, of which one must go on, where a third process runs ahead.
        8 => vec![
            vec![
                vec![set(G, 1, to(1)), when(S, 1, to(2))],
                vec![set(X, 1, when(S, 1, to(2)))],
                vec![],
            ],
            vec![
                vec![set(S, 1, to(1)), when(G, 1, to(2))],
                vec![fail(both(when(G, 1, to(2)), (X, 1))), both(when(G, 1, to(2)), (X, 0))],
                vec![],
            ],
            vec![vec![with(Contact::Send(0, 1), both(when(G, 1, to(1)), (S, 1)))], vec![]],
        ],
        // A state is reached first where no process ran ahead, and later, on a longer way, where one did.
        9 => {
            let other = || set(G, 0, to(8));
            let short = set(Y, 1, both(when(G, 1, to(7)), (Z, 1)));
            let mut long: Vec<Vec<Move>> = (0..6).map(|at| vec![other(), to(at + 1)]).collect();
            long[0] = vec![short, other(), set(L, 1, when(Z, 0, to(1)))];
            long.push(vec![other(), Move { sets: vec![(Y, 1), (L, 0)], ..to(7) }]);
            long.extend([vec![], vec![other()]]);
            let goes_on = || set(S, 1, when(Y, 1, to(1)));
            let clears = Move { sets: vec![(S, 1), (Z, 0)], ..when(Y, 1, to(1)) };
            let receive = with(Contact::Receive(0, None), to(2));
            vec![
                vec![
                    vec![goes_on(), set(Z, 1, when(L, 0, to(4)))],
                    vec![receive],
                    last,
                    vec![],
                    vec![clears],
                ],
                vec![vec![with(Contact::Send(0, 1), set(G, 1, to(1)))], vec![]],
                long,
                follower,
            ]
        }
        // An early signal, of one kind or another, unblocks the setter.
        _ => {
            let (signal, wait) = match kind {
                0 | 1 => (with(Contact::Send(0, 1), to(1)), with(Contact::Receive(0, None), to(3))),
                2 => (with(Contact::Answer(0), to(1)), with(Contact::Meet(0), to(3))),
                _ => (set(S, 1, to(1)), when(S, 1, to(3))),
            };
            let reader = vec![
                vec![when(G, 1, to(1))],
                vec![when(G, 1, to(2)), fail(when(G, 0, to(2)))],
                vec![],
            ];
            let mut signaller = vec![vec![signal], vec![]];
            if kind == 2 {
                signaller.insert(0, vec![to(1)]);
                signaller[1][0].target = 2;
            }
            let setter = vec![
                vec![to(1)],
                vec![set(G, 1, to(2))],
                vec![Move { sets: vec![(G, 0)], ..wait }],
                vec![],
            ];
            vec![reader, signaller, setter]
        }
    }
}

/// A known counterexample, with a few changes and now and then one process more.
pub(crate) fn mutated(seed: u64) -> Program {
    let mut r = Random::new(seed.wrapping_mul(77) + 5);
    let kind = r.below(ORIGINALS);
    let meets = [2, 6, 7].contains(&kind);
    let mut processes = original(kind);
    if r.chance(40) {
        let size = 1 + r.below(3);
        let mut locations: Vec<Vec<Move>> = (0..size)
            .map(|at| (0..1 + r.below(2)).map(|_| any_move(&mut r, at + 1)).collect())
            .collect();
        locations.push(Vec::new());
        processes.push(locations);
    }
    for _ in 0..r.below(6) {
        let process = r.below(processes.len());
        change(&mut r, &mut processes[process], meets);
    }
    for at in (1..processes.len()).rev() {
        processes.swap(at, r.below(at + 1));
    }
    let atomic = r.chance(15);
    let location = |at: usize, moves: Vec<Move>, r: &mut Random| Location {
        atomic: atomic && at > 0 && r.chance(20),
        valid_end: r.chance(80),
        moves,
    };
    let processes = processes
        .into_iter()
        .map(|locations| {
            let numbered = locations.into_iter().enumerate();
            numbered.map(|(at, moves)| location(at, moves, &mut r)).collect()
        })
        .collect();
    let x = if kind < 5 { r.bit() } else { 0 };
    let capacities = vec![1 + r.bit(), 1 + r.bit()];
    let mut bits = vec![0; BITS];
    bits[X] = x;
    Program { bits, capacities, processes, end: r.chance(15) }
}

/// The known counterexamples as they are, with their processes in all orders.
pub(crate) fn known(seed: u64) -> Program {
    let (kind, mut order) = (seed as usize % ORIGINALS, seed as usize / ORIGINALS);
    let mut processes = original(kind);
    for at in (1..processes.len()).rev() {
        processes.swap(at, order % (at + 1));
        order /= at + 1;
    }
    let location = |moves| Location { atomic: false, valid_end: true, moves };
    let locations = |process: Vec<Vec<Move>>| process.into_iter().map(location).collect();
    let processes = processes.into_iter().map(locations).collect();
    Program { bits: vec![0; BITS], capacities: vec![1, 1], processes, end: false }
}

/// So many seeds make all of them.
pub(crate) const KNOWN: u64 = 24 * ORIGINALS as u64;

fn change(r: &mut Random, process: &mut Vec<Vec<Move>>, meets: bool) {
    let at = r.below(process.len());
    if meets && r.chance(20) {
        let channel = r.bit();
        let half = [Contact::Meet(channel), Contact::Answer(channel)][r.below(2)];
        let target = (at + 1).min(process.len() - 1);
        process[at].push(with(half, to(target)));
    }
    let count = process[at].len();
    let kind = r.below(7);
    match kind {
        0 => {
            let target = r.below(process.len());
            let m = any_move(r, target);
            process[at].push(m);
        }
        2 if process.len() < 7 => {
            // A location of its own in front of this one.
            for m in process.iter_mut().flatten().filter(|m| usize::from(m.target) > at) {
                m.target += 1;
            }
            if at == 0 {
                let first = process.iter_mut().flatten().filter(|m| m.target == 0);
                first.for_each(|m| m.target = 1);
            }
            let m = if r.chance(40) { to(at + 1) } else { any_move(r, at + 1) };
            process.insert(at, vec![m]);
        }
        1 if count > 1 => {
            process[at].remove(r.below(count));
        }
        3..=6 if count > 0 => {
            let m = &mut process[at][r.below(count)];
            match kind {
                3 => m.guard.push((r.below(3), r.bit())),
                4 => m.sets.push((r.below(3), r.bit())),
                5 => {
                    m.guard.pop();
                }
                _ => {
                    let (channel, value) = (r.bit(), r.bit());
                    m.contact = match r.chance(50) {
                        true => Contact::Send(channel, value),
                        false => Contact::Receive(channel, r.chance(30).then_some(value)),
                    };
                }
            }
        }
        _ => {}
    }
}
