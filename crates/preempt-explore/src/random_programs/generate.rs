//! Random programs for the interpreter.

use super::interpreter::{ATOMICS, Instruction, Interpreter, MUTEXES};
use crate::random::Random;

/// A body of a few instructions; locks nest properly.
fn body(random: &mut Random, own: usize, length: usize, may_spawn: &[usize]) -> Vec<Instruction> {
    let mut out = Vec::new();
    let mut spawned = 0;
    for &child in may_spawn {
        out.push(Instruction::Spawn(child));
        spawned += 1;
    }
    for _ in 0..length {
        let x = random.below(ATOMICS);
        match random.below(19) {
            0 | 1 => out.push(Instruction::Load(x)),
            2 | 3 => out.push(Instruction::Store(x, 1 + random.below(2) as u64)),
            4 => out.push(Instruction::Add(x)),
            5 => out.push(Instruction::Compare(x, random.below(2) as u64, 1)),
            6..=8 => critical_section(random, x, &mut out),
            9 => out.push(Instruction::NotifyOne),
            10 => out.push(Instruction::NotifyAll),
            // Only in some executions does another thread use an object that seemed to be private.
            11 if random.below(2) == 0 => {
                let skip = Instruction::SkipIf(random.below(2) as u64);
                out.extend([Instruction::Load(x), skip, Instruction::Own((own + 1) % 4)]);
            }
            11 => {
                out.extend([Instruction::Load(x), Instruction::SkipIf(0), Instruction::Add(1 - x)])
            }
            12 if random.below(3) == 0 => {
                out.extend([Instruction::Load(x), Instruction::PanicIf(2)])
            }
            12 => out.push(Instruction::Choose),
            13 if random.below(2) == 0 => out.extend(waiting_loop(random, x)),
            13 => {
                let m = random.below(MUTEXES);
                out.extend([
                    Instruction::TryLock(m),
                    Instruction::SkipIf(0),
                    Instruction::Unlock(m),
                ]);
            }
            14 => out.push(Instruction::Join(random.below(2))),
            15 => out.extend([Instruction::Read, Instruction::Load(x), Instruction::ReadUnlock]),
            16 => {
                out.extend([Instruction::Write, Instruction::Store(x, 2), Instruction::WriteUnlock])
            }
            17 => out.push(Instruction::Own(own)),
            _ => match random.below(3) {
                0 => out.push(Instruction::Take(random.below(2) == 0)),
                _ => out.push(Instruction::Give),
            },
        }
    }
    for child in 0..spawned {
        if random.below(3) > 0 {
            out.push(Instruction::Join(child));
            if random.below(2) == 0 {
                out.extend([Instruction::SkipIf(0), Instruction::Add(1)]);
            }
        }
    }
    match random.below(3) {
        0 if may_spawn.is_empty() => out.push(Instruction::Own(own)),
        1 if may_spawn.is_empty() => {}
        _ => out.push(Instruction::Load(0)),
    }
    out
}

/// What is done while a mutex is held.
fn critical_section(random: &mut Random, x: usize, out: &mut Vec<Instruction>) {
    let m = random.below(MUTEXES);
    out.push(Instruction::Lock(m));
    match random.below(6) {
        0 if random.below(3) == 0 => out.push(Instruction::WaitTimed(m)),
        0 => out.push(Instruction::Wait(m)),
        1 => out.push(Instruction::NotifyOne),
        2 if m == 0 => {
            out.extend([Instruction::Plain, Instruction::SkipIf(1), Instruction::Load(x)])
        }
        3 => out.extend([Instruction::Lock(1 - m), Instruction::Unlock(1 - m)]),
        4 => out.push(Instruction::Store(x, 1)),
        _ => {}
    }
    out.push(Instruction::Unlock(m));
}

/// A loop that waits for an atomic to be 1, or one round of another that changes nothing.
fn waiting_loop(random: &mut Random, x: usize) -> Vec<Instruction> {
    match random.below(4) {
        0 => vec![Instruction::Spin(x, 1)],
        1 => vec![Instruction::SpinTwice(x, 1)],
        2 => vec![Instruction::Poll(x, 1)],
        _ => vec![Instruction::Lock(1), Instruction::UnlockUnchanged(1), Instruction::Yield],
    }
}

/// The program of a seed.
pub(super) fn program(seed: u64) -> Vec<Vec<Instruction>> {
    let mut random = Random::new(seed);
    let shape = random.below(4);
    let mut length = || 1 + random.below(if shape == 3 { 2 } else { 3 });
    let lengths = [length() - 1, length(), length(), length()];
    let children: [&[usize]; 4] = match shape {
        0 => [&[1, 2], &[], &[], &[]],
        1 => [&[1], &[2], &[], &[]],
        2 => [&[1, 2], &[], &[], &[]],
        _ => [&[1, 2, 3], &[], &[], &[]],
    };
    let bodies = (0..4).map(|i| body(&mut random, i, lengths[i], children[i])).collect();
    if seed % 4 == 3 { with_locks_of_numbers(bodies) } else { bodies }
}

/// The same with atomics that are taken as locks, let go, and used otherwise.
fn with_locks_of_numbers(mut bodies: Vec<Vec<Instruction>>) -> Vec<Vec<Instruction>> {
    for instruction in bodies.iter_mut().flatten() {
        match *instruction {
            Instruction::Compare(x, ..) => *instruction = Instruction::Acquire(x),
            Instruction::Store(x, 1) => *instruction = Instruction::Acquire(x),
            Instruction::Add(x) | Instruction::Store(x, _) => {
                *instruction = Instruction::Store(x, 0)
            }
            _ => {}
        }
    }
    bodies
}

impl Interpreter {
    /// The random program of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Interpreter::of(program(seed))
    }
}
