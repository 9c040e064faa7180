//! An evaluator of the text that a card is given, in place of a card: slow, and strict.
//!
//! It knows the instructions that the kernels use and no others. Threads are executed one instruction at a time; after
//! an access to global memory another one goes on, by a random choice from a seed, so that the races for slots and
//! numbers come out in many ways. An access that is not aligned, or outside of what was allocated, ends the test, and memory
//! that was not written holds no zeros. The threads of a block are one warp: a vote waits for all of them, and ends the test if they are not
//! all at the same one; so does what one thread says to all.

mod text;

use crate::device::{Device, Trouble};
use std::collections::{BTreeMap, BTreeSet};
use text::{Instruction, Module, Operand};

const GLOBAL: u64 = 1 << 32;
const LOCAL: u64 = 1 << 48;
/// Bytes of address space for each thread's own memory.
const LOCAL_EACH: u64 = 1 << 24;
/// What memory holds before it is written.
const POISON: u8 = 0xa5;
/// Threads of a block, and most blocks.
const BLOCK: u64 = 4;
const BLOCKS: u64 = 3;

struct Frame {
    function: usize,
    at: usize,
    registers: Vec<u64>,
    parameters: Vec<u64>,
    outgoing: Vec<u64>,
    back: u64,
    result: u64,
    /// Where its part of the thread's own memory begins.
    local: u64,
}

struct Thread {
    frames: Vec<Frame>,
    local: Vec<u8>,
    specials: [u64; 5],
    /// What it says where it waits for its warp.
    vote: Option<u64>,
}

impl Thread {
    /// The function and the place in it where it is.
    fn place(&self) -> (usize, usize) {
        self.frames.last().map_or((usize::MAX, 0), |frame| (frame.function, frame.at))
    }

    fn warp(&self) -> u64 {
        self.specials[2]
    }
}

/// A card that is none.
#[derive(Default)]
pub(crate) struct Evaluator {
    module: Module,
    memory: BTreeMap<u64, Vec<u8>>,
    /// Which of it stands for the machine's.
    outside: BTreeSet<u64>,
    next: u64,
    seed: u64,
    limit: u64,
    pub(crate) launches: u64,
}

impl Evaluator {
    pub(crate) fn new(seed: u64, limit: u64) -> Self {
        Evaluator { next: GLOBAL, seed, limit, ..Evaluator::default() }
    }

    fn take(&mut self, bytes: u64) -> u64 {
        let address = self.next;
        // Nothing lies between two allocations.
        self.next += bytes.next_multiple_of(256) + 256;
        self.memory.insert(address, vec![POISON; bytes as usize]);
        address
    }

    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ (z >> 29)
    }

    /// The bytes at an address, of the thread's own memory or of all.
    fn place<'a>(&'a mut self, thread: &'a mut Thread, address: u64, bytes: u64) -> &'a mut [u8] {
        assert_eq!(address % bytes, 0, "{bytes} bytes at {address:#x} are not aligned");
        if address >= LOCAL {
            let at = (address % LOCAL_EACH) as usize;
            let own = &mut thread.local;
            assert!(at + bytes as usize <= own.len(), "outside of local memory: {address:#x}");
            return &mut own[at..at + bytes as usize];
        }
        let found = self.memory.range_mut(..=address).next_back();
        let (start, memory) = found.unwrap_or_else(|| panic!("nothing is at {address:#x}"));
        let at = (address - start) as usize;
        assert!(at + bytes as usize <= memory.len(), "outside of what was allocated: {address:#x}");
        &mut memory[at..at + bytes as usize]
    }

    fn load(&mut self, thread: &mut Thread, address: u64, bytes: u64) -> u64 {
        let mut word = [0; 8];
        word[..bytes as usize].copy_from_slice(self.place(thread, address, bytes));
        u64::from_le_bytes(word)
    }

    fn store(&mut self, thread: &mut Thread, address: u64, bytes: u64, value: u64) {
        let place = self.place(thread, address, bytes);
        place.copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
    }

    /// Executes one instruction; says whether it touched memory that others see.
    fn step(&mut self, thread: &mut Thread) -> bool {
        let frame = thread.frames.last_mut().expect("a frame");
        let function = frame.function;
        let instruction = self.module.functions[function].code[frame.at].clone();
        frame.at += 1;
        let holds = |guard: usize| frame.registers[guard] != 0;
        if instruction.guard.is_some_and(|(guard, expected)| holds(guard) != expected) {
            return false;
        }
        let operands = &instruction.operands;
        let value = |frame: &Frame, specials: &[u64; 5], at: usize| match operands[at] {
            Operand::Register(number) => frame.registers[number],
            Operand::Number(number) => number,
            Operand::Local(offset) => LOCAL + frame.local + offset,
            Operand::Special(number) => specials[number],
            other => panic!("no value: {other:?}"),
        };
        let specials = thread.specials;
        let parts: Vec<&str> = instruction.name.split('.').collect();
        let wide = parts.last().is_some_and(|kind| kind.ends_with("64"));
        let mask = if wide { u64::MAX } else { u64::from(u32::MAX) };
        let signed = |value: u64| if wide { value as i64 } else { i64::from(value as i32) };
        let target = |operands: &[Operand]| match operands[0] {
            Operand::Register(number) => number,
            other => panic!("no target: {other:?}"),
        };
        let address = |frame: &Frame, at: usize| match operands[at] {
            Operand::Memory(base, offset) => frame.registers[base].wrapping_add(offset),
            other => panic!("no address: {other:?}"),
        };
        match parts[0] {
            "bra" => {
                let Operand::Label(label) = operands[0] else { panic!("no label") };
                frame.at = self.module.functions[function].labels[label];
            }
            "call" => {
                let Operand::Function(callee) = operands[0] else { panic!("no function") };
                let parameters = std::mem::take(&mut frame.outgoing);
                let registers = vec![0xdead_beef; self.module.functions[callee].registers.len()];
                let local = thread.local.len() as u64;
                let more = self.module.functions[callee].local_bytes;
                thread.local.resize((local + more) as usize, POISON);
                thread.frames.push(Frame {
                    function: callee,
                    at: 0,
                    registers,
                    parameters,
                    outgoing: Vec::new(),
                    back: 0,
                    result: 0,
                    local,
                });
            }
            "ret" => {
                let (result, local) = (frame.result, frame.local);
                thread.local.truncate(local as usize);
                thread.frames.pop();
                if let Some(caller) = thread.frames.last_mut() {
                    caller.back = result;
                }
            }
            "ld" if parts[1] == "param" => {
                let loaded = match operands[1] {
                    Operand::Parameter(number) => frame.parameters[number],
                    _ => frame.back,
                };
                frame.registers[target(operands)] = loaded;
            }
            "st" if parts[1] == "param" => {
                let stored = value(frame, &specials, 1);
                match operands[0] {
                    Operand::Result => frame.result = stored,
                    _ => frame.outgoing.push(stored),
                }
            }
            "ld" => {
                let from = address(frame, 1);
                let kind = *parts.last().expect("a kind");
                let bytes = kind[1..].parse::<u64>().expect("bits") / 8;
                if let Operand::Pair(low, high) = operands[0] {
                    assert_eq!(from % 16, 0, "a pair at {from:#x} is not aligned");
                    let (a, b) = (self.load(thread, from, 8), self.load(thread, from + 8, 8));
                    let frame = thread.frames.last_mut().expect("a frame");
                    (frame.registers[low], frame.registers[high]) = (a, b);
                } else {
                    let to = target(operands);
                    let loaded = self.load(thread, from, bytes);
                    let loaded = match kind {
                        "s16" => u64::from(i32::from(loaded as u16 as i16) as u32),
                        _ => loaded,
                    };
                    thread.frames.last_mut().expect("a frame").registers[to] = loaded;
                }
                return from < LOCAL;
            }
            "st" => {
                let to = address(frame, 0);
                let kind = *parts.last().expect("a kind");
                let bytes = kind[1..].parse::<u64>().expect("bits") / 8;
                if let Operand::Pair(low, high) = operands[1] {
                    assert_eq!(to % 16, 0, "a pair at {to:#x} is not aligned");
                    let (a, b) = (frame.registers[low], frame.registers[high]);
                    self.store(thread, to, 8, a);
                    self.store(thread, to + 8, 8, b);
                } else {
                    let stored = value(frame, &specials, 1);
                    self.store(thread, to, bytes, stored);
                }
                return to < LOCAL;
            }
            "atom" => {
                let (to, place) = (target(operands), address(frame, 1));
                let given = value(frame, &specials, 2);
                let other = (operands.len() > 3).then(|| value(frame, &specials, 3));
                let bytes = if wide { 8 } else { 4 };
                let before = self.load(thread, place, bytes);
                let after = match parts[2] {
                    "add" => before.wrapping_add(given) & mask,
                    "min" => before.min(given),
                    "max" => before.max(given),
                    "or" => before | given,
                    "cas" if before == given => other.expect("a value"),
                    "cas" => before,
                    name => panic!("atom.{name}"),
                };
                self.store(thread, place, bytes, after);
                thread.frames.last_mut().expect("a frame").registers[to] = before;
                return true;
            }
            "membar" => {}
            "vote" | "shfl" => {
                thread.vote = Some(value(frame, &specials, 1));
                return true;
            }
            "setp" => {
                let (a, b) = (value(frame, &specials, 1) & mask, value(frame, &specials, 2) & mask);
                let unsigned = parts[2].starts_with('u');
                let (x, y) = (signed(a), signed(b));
                let holds = match (parts[1], unsigned) {
                    ("eq", _) => a == b,
                    ("ne", _) => a != b,
                    ("lt", true) => a < b,
                    ("le", true) => a <= b,
                    ("gt", true) => a > b,
                    ("ge", true) => a >= b,
                    ("lt", false) => x < y,
                    ("le", false) => x <= y,
                    ("gt", false) => x > y,
                    ("ge", false) => x >= y,
                    (name, _) => panic!("setp.{name}"),
                };
                frame.registers[target(operands)] = u64::from(holds);
            }
            "selp" => {
                let Operand::Register(test) = operands[3] else { panic!("no condition") };
                let which = if frame.registers[test] != 0 { 1 } else { 2 };
                frame.registers[target(operands)] = value(frame, &specials, which) & mask;
            }
            name => {
                let a = value(frame, &specials, 1);
                let second = || value(frame, &specials, 2);
                let result = match name {
                    "mov" | "cvta" => a & mask,
                    "cvt" if parts[1] == "u32" => a & u64::from(u32::MAX),
                    "cvt" => a & u64::from(u32::MAX),
                    "neg" => a.wrapping_neg() & mask,
                    "not" => !a & mask,
                    "popc" => (a & mask).count_ones().into(),
                    "bfind" => u64::from(31 - (a as u32).leading_zeros()),
                    "add" => a.wrapping_add(second()) & mask,
                    "sub" => a.wrapping_sub(second()) & mask,
                    "mul" if parts[1] == "wide" => u64::from(a as u32) * u64::from(second() as u32),
                    "mul" if parts[1] == "hi" => {
                        ((u128::from(a) * u128::from(second())) >> 64) as u64
                    }
                    "mul" => a.wrapping_mul(second()) & mask,
                    "div" => (a as i32).wrapping_div(second() as i32) as u32 as u64,
                    "rem" => (a as i32).wrapping_rem(second() as i32) as u32 as u64,
                    "and" => a & second() & mask,
                    "or" => (a | second()) & mask,
                    "xor" => (a ^ second()) & mask,
                    // A card gives 0, or all bits of the sign, for amounts beyond the width.
                    "shl" => {
                        let width = if wide { 64 } else { 32 };
                        if second() >= width { 0 } else { (a << second()) & mask }
                    }
                    "shr" if parts[1].starts_with('s') => {
                        assert!(second() < 32);
                        ((a as i32) >> second()) as u32 as u64
                    }
                    "shr" => {
                        let width = if wide { 64 } else { 32 };
                        if second() >= width { 0 } else { (a & mask) >> second() }
                    }
                    other => panic!("unknown instruction {other}"),
                };
                frame.registers[target(operands)] = result;
            }
        }
        false
    }
}

impl Evaluator {
    /// Ends the vote of a warp if all its threads take part.
    fn count_votes(&self, running: &mut [Thread], warp: u64) {
        let members = || running.iter().filter(|thread| thread.warp() == warp);
        if members().any(|thread| thread.vote.is_none()) {
            return;
        }
        let place = members().next().map(Thread::place);
        assert!(
            members().all(|thread| Some(thread.place()) == place),
            "they are at different votes"
        );
        let mut said = [0; BLOCK as usize];
        members().for_each(|thread| said[thread.specials[4] as usize] = thread.vote.unwrap_or(0));
        let ballot =
            (0..).zip(said).fold(0, |ballot, (lane, said)| ballot | u64::from(said != 0) << lane);
        for thread in running.iter_mut().filter(|thread| thread.warp() == warp) {
            thread.vote = None;
            let frame = thread.frames.last_mut().expect("a frame");
            let Instruction { name, operands, .. } =
                &self.module.functions[frame.function].code[frame.at - 1];
            let Operand::Register(target) = operands[0] else { panic!("no target") };
            frame.registers[target] = match name.as_str() {
                "vote.sync.any.pred" => u64::from(ballot != 0),
                "vote.sync.ballot.b32" => ballot,
                "shfl.sync.idx.b32" => {
                    let Operand::Register(lane) = operands[2] else { panic!("no lane") };
                    said[frame.registers[lane] as usize]
                }
                name => panic!("{name} for a warp"),
            };
        }
    }
}

impl Device for Evaluator {
    fn load(&mut self, text: &str) -> Result<(), Trouble> {
        self.module = Module::read(text, |bytes| {
            let address = self.take(bytes.len() as u64);
            self.memory.insert(address, bytes);
            address
        });
        Ok(())
    }

    fn allocate(&mut self, bytes: u64) -> Result<u64, Trouble> {
        let own = self.memory.iter().filter(|(address, _)| !self.outside.contains(address));
        let used: u64 = own.map(|(_, memory)| memory.len() as u64).sum();
        if used + bytes > self.limit {
            return Err(Trouble("no memory".into()));
        }
        Ok(self.take(bytes))
    }

    fn allocate_outside(&mut self, bytes: u64) -> Result<u64, Trouble> {
        let address = self.take(bytes);
        self.outside.insert(address);
        Ok(address)
    }

    fn free_outside(&mut self, address: u64) {
        assert!(self.outside.remove(&address), "not outside");
        self.free(address);
    }

    fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<(), Trouble> {
        assert!(from + bytes <= to || to + bytes <= from, "the places overlap");
        let mut copied = vec![0; bytes as usize];
        self.read(from, &mut copied)?;
        self.write(to, &copied)
    }

    fn free(&mut self, address: u64) {
        assert!(self.memory.remove(&address).is_some(), "nothing to free");
    }

    fn fill(&mut self, address: u64, bytes: u64, byte: u8) -> Result<(), Trouble> {
        let (start, memory) = self.memory.range_mut(..=address).next_back().expect("an allocation");
        let at = (address - start) as usize;
        memory[at..at + bytes as usize].fill(byte);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Trouble> {
        let (start, memory) = self.memory.range_mut(..=address).next_back().expect("an allocation");
        let at = (address - start) as usize;
        memory[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Trouble> {
        let (start, memory) = self.memory.range_mut(..=address).next_back().expect("an allocation");
        let at = (address - start) as usize;
        bytes.copy_from_slice(&memory[at..at + bytes.len()]);
        Ok(())
    }

    fn symbol(&mut self, name: &str) -> Result<u64, Trouble> {
        self.module.symbols.get(name).copied().ok_or_else(|| Trouble(format!("no {name}")))
    }

    fn launch(&mut self, kernel: &str, threads: u64, parameter: u64) -> Result<(), Trouble> {
        self.launches += 1;
        let function =
            *self.module.names.get(kernel).ok_or_else(|| Trouble(format!("no {kernel}")))?;
        let blocks = threads.div_ceil(BLOCK).clamp(1, BLOCKS);
        let local = self.module.functions[function].local_bytes as usize;
        let mut running: Vec<Thread> = (0..blocks * BLOCK)
            .map(|number| Thread {
                frames: vec![Frame {
                    function,
                    at: 0,
                    registers: vec![0xdead_beef; self.module.functions[function].registers.len()],
                    parameters: vec![parameter],
                    outgoing: Vec::new(),
                    back: 0,
                    result: 0,
                    local: 0,
                }],
                local: vec![POISON; local],
                specials: [number % BLOCK, BLOCK, number / BLOCK, blocks, number % BLOCK],
                vote: None,
            })
            .collect();
        while !running.is_empty() {
            let chosen = (self.random() % running.len() as u64) as usize;
            let mut accesses = 1 + self.random() % 4;
            let mut thread = running.swap_remove(chosen);
            while accesses > 0 && !thread.frames.is_empty() && thread.vote.is_none() {
                accesses -= u64::from(self.step(&mut thread));
            }
            let (warp, votes) = (thread.warp(), thread.vote.is_some());
            if !thread.frames.is_empty() {
                running.push(thread);
            }
            if votes {
                self.count_votes(&mut running, warp);
            }
        }
        Ok(())
    }

    fn available(&mut self) -> Result<u64, Trouble> {
        Ok(self.limit.saturating_add(crate::SPARE))
    }
}
