//! The index of states on a card: a state is inserted, or found there; and what all kernels need of a process.
//!
//! States lie in an arena, by number; a level is a range of numbers. An entry of the index holds 24 bits of a hash and the
//! number of a state plus one. A thread that has a successor probes the index; where the bits are equal it compares
//! whole states. In an empty slot it takes a number, writes the state, and exchanges the entry into the slot. If it loses
//! against an equal state, its number is dead. No thread ever waits for another.
//!
//! **Invariant:** an entry is visible only after the state that it names. It is read, as the states are, past the cache that
//! is not coherent (`ld.global.cg`), and the address of the state depends on it.

use super::layout::{Counter, Field, ROOT_BYTES, counter, field};
use super::monitor::Observed;
use super::range::{FIRST_NUMBER, NEXT_NUMBER, locate};
use super::{bounded, folded};
use crate::generate::ptx::{ALIGNMENT, BLOCK, COPY_REGISTERS, Callee, LOOP, call_text, copy_text};
use std::fmt::Write;
use std::ops::Range;

/// What the kernel knows of a program.
pub(super) struct Kernel<'a> {
    pub(super) stride: u32,
    pub(super) globals_end: u32,
    /// Most headers and copies of one process.
    pub(super) most_headers: u32,
    /// Bytes that one step may add beyond the stride before that is noticed.
    pub(super) growth: u32,
    /// How many states of indivisible sequences can wait; 0 without such sequences.
    pub(super) most_waiting: u32,
    pub(super) uses_timeout: bool,
    /// Whether preemptions are counted, see `bounded.rs`.
    pub(super) counts: bool,
    /// Whether the states in the arena are folded, see `folded.rs`.
    pub(super) folded: bool,
    pub(super) pc_width: u32,
    /// The functions that expand a process, by type.
    pub(super) expand: &'a [Callee],
    pub(super) frame_lengths: u32,
    pub(super) points: u32,
    pub(super) ends: u32,
    /// The property that runs beside the model, if there is one.
    pub(super) observed: Option<Observed<'a>>,
}

/// States of so many words are hashed and compared without a loop.
const UNROLLED: u32 = 16;

/// How a thread takes part in an insertion of its warp: it has no state, it has one, or it is on its own.
pub(super) const PRESENT: u32 = 0;
pub(super) const ARRIVES: u32 = 1;
pub(super) const ALONE: u32 = 2;

/// So many slots are probed before the index counts as full.
const MOST_PROBES: u32 = 4096;

const START: u64 = 0x9e37_79b9_7f4a_7c15;
const FACTOR: u64 = 0xa076_1d64_78bd_642f;

/// The hash of a state as the card computes it.
pub(super) fn hash_of(state: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * u128::from(FACTOR);
        product as u64 ^ (product >> 64) as u64
    };
    let words = state.chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    });
    mix(words.fold(START, mix), FACTOR)
}

/// Mixes a word into the hash.
fn mix(text: &mut String, word: &str) {
    let _ = writeln!(
        text,
        "\txor.b64 hash, hash, {word};\n\tmul.lo.u64 low, hash, factor;\n\tmul.hi.u64 high, hash, factor;\n\
         \txor.b64 hash, low, high;"
    );
}

impl Kernel<'_> {
    /// Bytes of a state in the arena.
    pub(super) fn element(&self) -> u32 {
        if self.folded { ROOT_BYTES } else { self.stride }
    }

    fn words(&self) -> u32 {
        self.stride / 8
    }

    /// Compares the state at `p` with the one in global memory at `there`; jumps to `unequal`.
    fn compare(&self, text: &mut String, label: &str, unequal: &str) {
        if self.words() <= UNROLLED {
            text.push_str("\tmov.b64 differs, 0;\n");
            for word in (0..self.words()).step_by(2) {
                let _ = writeln!(
                    text,
                    "\tld.global.cg.v2.b64 {{other0, other1}}, [there+{}];\n\
                     \txor.b64 other0, other0, s{word};\n\txor.b64 other1, other1, s{};\n\
                     \tor.b64 differs, differs, other0;\n\tor.b64 differs, differs, other1;",
                    8 * word,
                    word + 1
                );
            }
            let _ = writeln!(text, "\tsetp.ne.u64 test, differs, 0;\n\t@test bra {unequal};");
            return;
        }
        let differ = |text: &mut String, bytes: Range<u32>| {
            text.push_str("\tmov.b64 differs, 0;\n");
            for (piece, at) in bytes.clone().step_by(ALIGNMENT as usize).enumerate() {
                let (a, b) = (2 * piece, 2 * piece + 1);
                let _ = writeln!(
                    text,
                    "\tld.global.cg.v2.b64 {{other{a}, other{b}}}, [there+{at}];\n\
                     \tld.v2.b64 {{part{a}, part{b}}}, [own+{at}];"
                );
            }
            for word in 0..bytes.len() / 8 {
                let _ = writeln!(
                    text,
                    "\txor.b64 other{word}, other{word}, part{word};\n\tor.b64 differs, differs, other{word};"
                );
            }
            let _ = writeln!(text, "\tsetp.ne.u64 test, differs, 0;\n\t@test bra {unequal};");
        };
        let blocks = self.stride / BLOCK;
        let _ =
            writeln!(text, "\tmov.b64 own, state;\n\tmov.b32 left, {blocks};\n{label}:\n{LOOP}");
        differ(text, 0..BLOCK);
        let _ = writeln!(
            text,
            "\tadd.s64 there, there, {BLOCK};\n\tadd.s64 own, own, {BLOCK};\n\tsub.s32 left, left, 1;\n\
             \tsetp.ne.s32 test, left, 0;\n\t@test bra {label};"
        );
        if !self.stride.is_multiple_of(BLOCK) {
            differ(text, 0..self.stride % BLOCK);
        }
    }

    /// Reads the state, into registers if it is short, and hashes it.
    fn hash(&self, text: &mut String) {
        let _ = writeln!(text, "\tmov.b64 hash, {START:#x};\n\tmov.b64 factor, {FACTOR:#x};");
        if self.words() <= UNROLLED {
            for word in (0..self.words()).step_by(2) {
                let _ =
                    writeln!(text, "\tld.v2.b64 {{s{word}, s{}}}, [state+{}];", word + 1, 8 * word);
            }
            for word in 0..self.words() {
                mix(text, &format!("s{word}"));
            }
        } else {
            let read = |text: &mut String, bytes: Range<u32>| {
                for (piece, at) in bytes.clone().step_by(ALIGNMENT as usize).enumerate() {
                    let (a, b) = (2 * piece, 2 * piece + 1);
                    let _ = writeln!(text, "\tld.v2.b64 {{part{a}, part{b}}}, [own+{at}];");
                }
                (0..bytes.len() / 8).for_each(|word| mix(text, &format!("part{word}")));
            };
            let blocks = self.stride / BLOCK;
            let _ =
                writeln!(text, "\tmov.b64 own, state;\n\tmov.b32 left, {blocks};\n$HASH:\n{LOOP}");
            read(text, 0..BLOCK);
            let _ = writeln!(
                text,
                "\tadd.s64 own, own, {BLOCK};\n\tsub.s32 left, left, 1;\n\tsetp.ne.s32 test, left, 0;\n\t@test bra $HASH;"
            );
            read(text, 0..self.stride % BLOCK);
        }
        mix(text, "factor");
    }

    /// Folds the state, whose root then is in `root`; leads to `$END` where there is no room for a node, which is noted.
    fn fold(&self, text: &mut String) {
        text.push_str(&folded::begin(self.stride));
        text.push_str(&copy_text("state", "leaves", self.stride, "FOLD"));
        text.push_str(&call_text(
            &folded::fold(),
            &["tree", "like", "block"].map(String::from),
            "narrow",
        ));
        text.push_str(
            "\tsetp.ne.s32 test, narrow, 0;\n\t@test bra $NOTHING;\n\tld.b64 root, [tree+8];\n",
        );
    }

    /// Writes the state to the arena, at `there`.
    fn write(&self, text: &mut String) {
        if self.folded {
            text.push_str("\tst.global.b64 [there+0], root;\n");
            return;
        }
        if self.words() <= UNROLLED {
            for word in (0..self.words()).step_by(2) {
                let _ = writeln!(
                    text,
                    "\tst.global.v2.b64 [there+{}], {{s{word}, s{}}};",
                    8 * word,
                    word + 1
                );
            }
            return;
        }
        text.push_str(&copy_text("state", "there", self.stride, "WRITE"));
    }

    /// `(state, block, seek, origin, how) -> nothing`: inserts a state, or compares it with the one that is looked for, whose
    /// predecessor `origin` then is. Where preemptions are counted the last mover comes behind these; where states are folded, the
    /// tree of the predecessor. `how` is one of [`PRESENT`], [`ARRIVES`] and [`ALONE`].
    ///
    /// The threads of a warp that have found an empty slot take their numbers together, behind a vote in which all of them take part.
    pub(super) fn insert(&self, callee: &Callee) -> String {
        let mut text = crate::generate::ptx::heading(callee);
        text.push_str("\n{\n");
        text.push_str(COPY_REGISTERS);
        if self.words() <= UNROLLED {
            for word in 0..self.words() {
                let _ = writeln!(text, "\t.reg .b64 s{word};");
            }
        }
        text.push_str(
            "\t.reg .b64 state, block, hash, low, high, factor, differs, other<8>, part<8>, own, there;\n\
             \t.reg .b64 arena, base, index, mask, tag, slot, entry, known, number, place, counters, wide, capacity, mine, origin;\n\
             \t.reg .b32 has_number, probes, active, lane, leader, ahead, bit, seek, narrow, left, how;\n\t.reg .pred test, is_leader, needs;\n\
             \tld.param.b64 state, [p0];\n\tld.param.b64 block, [p1];\n\tld.param.b32 seek, [p2];\n\tld.param.b64 origin, [p3];\n\
             \tld.param.b32 how, [p4];\n",
        );
        let _ = writeln!(text, "\tld.global.b64 counters, [block+{}];", field(Field::Counters));
        if self.counts {
            text.push_str(&bounded::insert_head());
        }
        if self.folded {
            text.push_str(&folded::declare(self.stride));
            let tree = 5 + u32::from(self.counts);
            let _ = writeln!(text, "\t.reg .b64 like, root;\n\tld.param.b64 like, [p{tree}];");
        }
        let _ = writeln!(
            text,
            "\tmov.b32 has_number, 0;\n\tsetp.eq.s32 test, how, {PRESENT};\n\t@test bra $NOTHING;"
        );
        self.hash(&mut text);
        let _ = writeln!(
            text,
            "\tsetp.eq.s32 test, seek, 0;\n\t@test bra $INSERT;\n\tld.global.b64 there, [block+{}];",
            field(Field::Target)
        );
        self.compare(&mut text, "$SOUGHT", "$END");
        let _ = writeln!(
            text,
            "\tatom.global.min.u64 wide, [counters+{}], origin;\n\tbra $END;\n$INSERT:",
            counter(Counter::Found)
        );
        if self.folded {
            self.fold(&mut text);
        }
        let _ = writeln!(
            text,
            "\tld.global.b64 arena, [block+{}];\n\tld.global.b64 index, [block+{}];\n\tld.global.b64 mask, [block+{}];\n\
             \tld.global.b64 capacity, [block+{}];\n\tld.global.b64 base, [block+{}];\n\
             \tshr.u64 tag, hash, 40;\n\tand.b64 slot, hash, mask;\n\tmov.b32 probes, 0;\n\
             $PROBE:\n\tshl.b64 place, slot, 3;\n\tadd.s64 place, index, place;\n\tld.global.cg.b64 entry, [place+0];\n\
             $LOOK:\n\tsetp.eq.u64 test, entry, 0;\n\t@test bra $EMPTY;\n\
             \tshr.u64 wide, entry, 40;\n\tsetp.ne.u64 test, wide, tag;\n\t@test bra $NEXT;\n\
             \tand.b64 known, entry, {};\n\tsub.s64 known, known, 1;",
            field(Field::Arena),
            field(Field::Index),
            field(Field::Mask),
            field(Field::Capacity),
            field(Field::Base),
            (1_u64 << 40) - 1,
        );
        text.push_str(&locate("known", "there", self.element(), "KNOWN"));
        if self.folded {
            text.push_str(
                "\tld.global.cg.b64 differs, [there+0];\n\tsetp.ne.u64 test, differs, root;\n\t@test bra $NEXT;\n",
            );
        } else {
            self.compare(&mut text, "$SAME", "$NEXT");
        }
        if self.counts {
            text.push_str(&bounded::visit_known());
        }
        let _ = writeln!(
            text,
            "$WASTE:\n\tsetp.eq.s32 test, has_number, 0;\n\t@test bra $NOTHING;\n\
             \tld.global.b64 there, [block+{}];\n\tshr.u64 wide, number, 5;\n\tshl.b64 wide, wide, 2;\n\tadd.s64 there, there, wide;\n\
             \tcvt.u32.u64 narrow, number;\n\tand.b32 narrow, narrow, 31;\n\tmov.b32 bit, 1;\n\tshl.b32 bit, bit, narrow;\n\
             \tatom.global.or.b32 bit, [there+0], bit;\n\tmov.b64 wide, 1;\n\tatom.global.add.u64 wide, [counters+{}], wide;\n\tbra $END;\n\
             $NEXT:\n\tadd.s64 slot, slot, 1;\n\tand.b64 slot, slot, mask;\n\tadd.s32 probes, probes, 1;\n\
             \tsetp.lt.u32 test, probes, {MOST_PROBES};\n\t@test bra $PROBE;\n\
             \tmov.b64 wide, 1;\n\tst.global.b64 [counters+{}], wide;\n\tbra $WASTE;\n\
             $EMPTY:\n\tsetp.ne.s32 test, has_number, 0;\n\t@test bra $CLAIM;",
            field(Field::Dead),
            counter(Counter::Dead),
            counter(Counter::Full),
        );
        // One of the threads that need a number takes the numbers of all.
        let _ = writeln!(
            text,
            "\tsetp.eq.s32 needs, has_number, 0;\n\tbra $NUMBER;\n\
             $NOTHING:\n\tsetp.ne.s32 test, seek, 0;\n\t@test bra $END;\n\tsetp.ne.s32 needs, has_number, 0;\n\
             $NUMBER:\n\tsetp.eq.s32 test, how, {ALONE};\n\t@test bra $ALONE;\n\
             \tvote.sync.ballot.b32 active, needs, 0xffffffff;\n\tsetp.eq.s32 test, active, 0;\n\t@test bra $END;\n\
             \tmov.u32 lane, %laneid;\n\tbfind.u32 leader, active;\n\tsetp.eq.u32 is_leader, lane, leader;\n\
             \tmov.b32 bit, 1;\n\tshl.b32 bit, bit, lane;\n\tsub.s32 bit, bit, 1;\n\tand.b32 bit, bit, active;\n\tpopc.b32 ahead, bit;\n\
             \tpopc.b32 narrow, active;\n\tcvt.u64.u32 wide, narrow;\n\tmov.b64 number, 0;\n\
             \t@is_leader atom.global.add.u64 number, [counters+{}], wide;\n\
             \tcvt.u32.u64 narrow, number;\n\tshfl.sync.idx.b32 narrow, narrow, leader, 31, 0xffffffff;\n\tcvt.u64.u32 low, narrow;\n\
             \tshr.u64 high, number, 32;\n\tcvt.u32.u64 narrow, high;\n\tshfl.sync.idx.b32 narrow, narrow, leader, 31, 0xffffffff;\n\
             \tcvt.u64.u32 high, narrow;\n\tshl.b64 high, high, 32;\n\tor.b64 number, low, high;\n\
             \tcvt.u64.u32 wide, ahead;\n\tadd.s64 number, number, wide;\n\t@needs bra $NUMBERED;\n\tbra $END;\n\
             $ALONE:\n\t@!needs bra $END;\n\tmov.b64 wide, 1;\n\tatom.global.add.u64 number, [counters+{}], wide;\n\
             $NUMBERED:\n\tsetp.ge.u64 test, number, capacity;\n\t@test bra $FULL;\n\
             \tmov.b32 has_number, 1;\n\tmul.lo.u64 there, number, {};\n\tadd.s64 there, arena, there;",
            counter(Counter::Next),
            counter(Counter::Next),
            self.element()
        );
        self.write(&mut text);
        if self.counts {
            text.push_str(&bounded::visit_new());
        }
        let _ = writeln!(
            text,
            "\tmembar.gl;\n\tadd.s64 mine, number, 1;\n\tshl.b64 wide, tag, 40;\n\tor.b64 mine, mine, wide;\n\
             $CLAIM:\n\tmov.b64 wide, 0;\n\tatom.global.cas.b64 entry, [place+0], wide, mine;\n\
             \tsetp.ne.u64 test, entry, 0;\n\t@test bra $LOOK;\n\tbra $END;\n\
             $FULL:\n\tmov.b64 wide, 1;\n\tst.global.b64 [counters+{}], wide;\n\
             $END:\n\tst.param.b32 [result], seek;\n\tret;\n}}\n",
            counter(Counter::Full)
        );
        text
    }

    /// Puts the states of a range of numbers, which differ, into an index that does not have them.
    pub(super) fn rebuild(&self) -> String {
        let mut text = String::from(".visible .entry rebuild(.param .u64 parameters)\n{\n");
        if self.words() <= UNROLLED {
            for word in 0..self.words() {
                let _ = writeln!(text, "\t.reg .b64 s{word};");
            }
        }
        if self.folded {
            text.push_str(&folded::declare(self.stride));
            text.push_str("\t.reg .b64 root;\n");
        }
        let _ = writeln!(
            text,
            "\t.reg .b64 state, block, hash, low, high, factor, part<8>, own, arena, base, index, mask, dead;\n\
             \t.reg .b64 number, end, step, wide, place, slot, entry, mine;\n\t.reg .b32 narrow, bits, left;\n\t.reg .pred test;\n\
             \tld.param.u64 block, [parameters];\n\
             \tld.global.b64 arena, [block+{}];\n\tld.global.b64 index, [block+{}];\n\tld.global.b64 mask, [block+{}];\n\
             \tld.global.b64 dead, [block+{}];\n\tld.global.b64 number, [block+{}];\n\tld.global.b64 end, [block+{}];\n\
             \tld.global.b64 base, [block+{}];\n{FIRST_NUMBER}{NEXT_NUMBER}",
            field(Field::Arena),
            field(Field::Index),
            field(Field::Mask),
            field(Field::Dead),
            field(Field::First),
            field(Field::End),
            field(Field::Base),
        );
        if self.folded {
            text.push_str(&folded::begin(self.stride));
            text.push_str(&locate("number", "root", ROOT_BYTES, "STATE"));
            text.push_str(&folded::unfolded("root", "narrow"));
            text.push_str("\tmov.b64 state, leaves;\n");
        } else {
            text.push_str(&locate("number", "state", self.stride, "STATE"));
        }
        self.hash(&mut text);
        text.push_str(
            "\tshr.u64 wide, hash, 40;\n\tshl.b64 wide, wide, 40;\n\tadd.s64 mine, number, 1;\n\tor.b64 mine, mine, wide;\n\
             \tand.b64 slot, hash, mask;\n\
             $PROBE:\n\tshl.b64 place, slot, 3;\n\tadd.s64 place, index, place;\n\tmov.b64 wide, 0;\n\
             \tatom.global.cas.b64 entry, [place+0], wide, mine;\n\tsetp.eq.u64 test, entry, 0;\n\t@test bra $SKIP;\n\
             \tadd.s64 slot, slot, 1;\n\tand.b64 slot, slot, mask;\n\tbra $PROBE;\n\
             $SKIP:\n\tadd.s64 number, number, step;\n\tbra $STATE;\n$DONE:\n\tret;\n}\n",
        );
        text
    }

    /// Calls the function that expands a process of the present type, and goes on behind all of them; `name` tells the labels
    /// of one place from those of another.
    pub(super) fn dispatch(&self, text: &mut String, name: &str) {
        for ty in 0..self.expand.len() {
            let _ = writeln!(text, "\tsetp.eq.s32 test, type, {ty};\n\t@test bra ${name}{ty};");
        }
        let _ = writeln!(text, "\tmov.b32 found, 0;\n\tbra ${name}_DONE;");
        let arguments = ["current", "frame", "pid", "timeout", "work"].map(String::from);
        for (ty, callee) in self.expand.iter().enumerate() {
            let _ = writeln!(text, "${name}{ty}:");
            text.push_str(&call_text(callee, &arguments, "found"));
            let _ = writeln!(text, "\tbra ${name}_DONE;");
        }
        let _ = writeln!(text, "${name}_DONE:");
    }

    /// Has the state know the state of the property beside it.
    pub(super) fn add_own(&self, text: &mut String, state: &str) {
        if self.observed.is_some() {
            let _ = writeln!(text, "\tst.b8 [{state}+{}], own;", self.stride - 1);
        }
    }

    /// Calls the function that inserts a state; `how` is a register.
    pub(super) fn call_insert(&self, text: &mut String, insert: &Callee, state: &str, how: &str) {
        let mut arguments = [state, "block", "seek", "number", how].map(String::from).to_vec();
        if self.counts {
            arguments.push("mover".into());
        }
        if self.folded {
            arguments.push("tree".into());
        }
        text.push_str(&call_text(insert, &arguments, "nothing"));
    }

    /// Goes on to the next process of the state, behind the frame of the present one.
    pub(super) fn next_process(&self, label: &str) -> String {
        format!(
            "\tadd.s32 pid, pid, 1;\n\tmul.wide.u32 wide, type, 4;\n\tadd.s64 place, table, wide;\n\
             \tld.global.b32 length, [place+{}];\n\tadd.s32 at, at, length;\n\tbra {label};\n",
            self.frame_lengths
        )
    }
}
