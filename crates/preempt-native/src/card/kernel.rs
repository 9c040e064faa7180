//! The kernel around the code of a model: states are taken from a level, their successors inserted.
//!
//! States lie in an arena, by number; a level is a range of numbers. An entry of the index holds 24 bits of a hash and the
//! number of a state plus one. A thread that has a successor probes the index; where the bits are equal it compares
//! whole states. In an empty slot it takes a number, writes the state, and exchanges the entry into the slot. If it loses
//! against an equal state, its number is dead. No thread ever waits for another.
//!
//! **Invariant:** an entry is visible only after the state that it names. It is read, as the states are, past the cache that
//! is not coherent (`ld.global.cg`), and the address of the state depends on it.

use super::bounded;
use super::layout::{Counter, Field, GROUP_WORDS, GROUPS, counter, field};
use super::monitor::{self, Observed};
use super::range::{FIRST_NUMBER, NEXT_NUMBER, locate};
use crate::execute::workspace::{HEADER, Workspace};
use crate::generate::ptx::{ALIGNMENT, Callee, LOOP, TABLES, call_text, copy_text};
use preempt_core::engine::SuccessorHeader;
use std::fmt::Write;
use std::mem::offset_of;

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
    pub(super) pc_width: u32,
    /// The functions that expand a process, by type.
    pub(super) expand: &'a [Callee],
    pub(super) frame_lengths: u32,
    pub(super) points: u32,
    pub(super) ends: u32,
    /// The property that runs beside the model, if there is one.
    pub(super) observed: Option<Observed<'a>>,
}

/// So many steps inside indivisible sequences behind one state are taken on a card; more are left to the processor, which
/// notices circles.
const MOST_INNER: u32 = 1 << 12;

/// States of so many words are hashed and compared without a loop.
const UNROLLED: u32 = 16;

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
        let _ = writeln!(
            text,
            "\tmov.b64 own, state;\n\tmov.b32 left, {};\n{label}:\n{LOOP}\
             \tld.global.cg.v2.b64 {{other0, other1}}, [there+0];\n\tld.v2.b64 {{low, high}}, [own+0];\n\
             \txor.b64 other0, other0, low;\n\txor.b64 other1, other1, high;\n\tor.b64 differs, other0, other1;\n\
             \tsetp.ne.u64 test, differs, 0;\n\t@test bra {unequal};\n\
             \tadd.s64 there, there, {ALIGNMENT};\n\tadd.s64 own, own, {ALIGNMENT};\n\tsub.s32 left, left, 1;\n\
             \tsetp.ne.s32 test, left, 0;\n\t@test bra {label};",
            self.stride / ALIGNMENT
        );
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
            let _ = writeln!(
                text,
                "\tmov.b64 own, state;\n\tmov.b32 left, {};\n$HASH:\n{LOOP}\tld.v2.b64 {{other0, other1}}, [own+0];",
                self.stride / ALIGNMENT
            );
            mix(text, "other0");
            mix(text, "other1");
            let _ = writeln!(
                text,
                "\tadd.s64 own, own, {ALIGNMENT};\n\tsub.s32 left, left, 1;\n\tsetp.ne.s32 test, left, 0;\n\t@test bra $HASH;"
            );
        }
        mix(text, "factor");
    }

    /// Writes the state to the arena, at `there`.
    fn write(&self, text: &mut String) {
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
        let _ = writeln!(
            text,
            "\tmov.b64 own, state;\n\tmov.b32 left, {};\n$WRITE:\n{LOOP}\tld.v2.b64 {{other0, other1}}, [own+0];\n\
             \tst.global.v2.b64 [there+0], {{other0, other1}};\n\tadd.s64 own, own, {ALIGNMENT};\n\
             \tadd.s64 there, there, {ALIGNMENT};\n\tsub.s32 left, left, 1;\n\tsetp.ne.s32 test, left, 0;\n\t@test bra $WRITE;",
            self.stride / ALIGNMENT
        );
    }

    /// `(state, block, seek, origin) -> nothing`: inserts a state, or compares it with the one that is looked for, whose
    /// predecessor `origin` then is. Where preemptions are counted the last mover comes behind these.
    pub(super) fn insert(&self, callee: &Callee) -> String {
        let mut text = crate::generate::ptx::heading(callee);
        text.push_str("\n{\n");
        if self.words() <= UNROLLED {
            for word in 0..self.words() {
                let _ = writeln!(text, "\t.reg .b64 s{word};");
            }
        }
        text.push_str(
            "\t.reg .b64 state, block, hash, low, high, factor, differs, other0, other1, own, there;\n\
             \t.reg .b64 arena, base, index, mask, tag, slot, entry, known, number, place, counters, wide, capacity, mine, origin;\n\
             \t.reg .b32 has_number, probes, active, lane, leader, ahead, bit, seek, narrow, left;\n\t.reg .pred test, is_leader;\n\
             \tld.param.b64 state, [p0];\n\tld.param.b64 block, [p1];\n\tld.param.b32 seek, [p2];\n\tld.param.b64 origin, [p3];\n",
        );
        let _ = writeln!(text, "\tld.global.b64 counters, [block+{}];", field(Field::Counters));
        if self.counts {
            text.push_str(&bounded::insert_head());
        }
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
        let _ = writeln!(
            text,
            "\tld.global.b64 arena, [block+{}];\n\tld.global.b64 index, [block+{}];\n\tld.global.b64 mask, [block+{}];\n\
             \tld.global.b64 capacity, [block+{}];\n\tld.global.b64 base, [block+{}];\n\
             \tshr.u64 tag, hash, 40;\n\tand.b64 slot, hash, mask;\n\tmov.b32 has_number, 0;\n\tmov.b32 probes, 0;\n\
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
        text.push_str(&locate("known", "there", self.stride, "KNOWN"));
        self.compare(&mut text, "$SAME", "$NEXT");
        if self.counts {
            text.push_str(&bounded::visit_known());
        }
        let _ = writeln!(
            text,
            "$WASTE:\n\tsetp.eq.s32 test, has_number, 0;\n\t@test bra $END;\n\
             \tld.global.b64 there, [block+{}];\n\tshr.u64 wide, number, 5;\n\tshl.b64 wide, wide, 2;\n\tadd.s64 there, there, wide;\n\
             \tcvt.u32.u64 narrow, number;\n\tand.b32 narrow, narrow, 31;\n\tmov.b32 bit, 1;\n\tshl.b32 bit, bit, narrow;\n\
             \tatom.global.or.b32 bit, [there+0], bit;\n\tmov.b64 wide, 1;\n\tatom.global.add.u64 wide, [counters+{}], wide;\n\tbra $END;\n\
             $NEXT:\n\tadd.s64 slot, slot, 1;\n\tand.b64 slot, slot, mask;\n\tadd.s32 probes, probes, 1;\n\
             \tsetp.lt.u32 test, probes, {MOST_PROBES};\n\t@test bra $PROBE;\n\tbra $FULL;\n\
             $EMPTY:\n\tsetp.ne.s32 test, has_number, 0;\n\t@test bra $CLAIM;",
            field(Field::Dead),
            counter(Counter::Dead),
        );
        // One of the threads that need a number now takes the numbers of all.
        let _ = writeln!(
            text,
            "\tactivemask.b32 active;\n\tmov.u32 lane, %laneid;\n\tbfind.u32 leader, active;\n\tsetp.eq.u32 is_leader, lane, leader;\n\
             \tmov.b32 bit, 1;\n\tshl.b32 bit, bit, lane;\n\tsub.s32 bit, bit, 1;\n\tand.b32 bit, bit, active;\n\tpopc.b32 ahead, bit;\n\
             \tpopc.b32 narrow, active;\n\tcvt.u64.u32 wide, narrow;\n\tmov.b64 number, 0;\n\
             \t@is_leader atom.global.add.u64 number, [counters+{}], wide;\n\
             \tcvt.u32.u64 narrow, number;\n\tshfl.sync.idx.b32 narrow, narrow, leader, 31, active;\n\tcvt.u64.u32 low, narrow;\n\
             \tshr.u64 high, number, 32;\n\tcvt.u32.u64 narrow, high;\n\tshfl.sync.idx.b32 narrow, narrow, leader, 31, active;\n\
             \tcvt.u64.u32 high, narrow;\n\tshl.b64 high, high, 32;\n\tor.b64 number, low, high;\n\
             \tcvt.u64.u32 wide, ahead;\n\tadd.s64 number, number, wide;\n\
             \tsetp.ge.u64 test, number, capacity;\n\t@test bra $FULL;\n\
             \tmov.b32 has_number, 1;\n\tmul.lo.u64 there, number, {};\n\tadd.s64 there, arena, there;",
            counter(Counter::Next),
            self.stride
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
             $FULL:\n\tmov.b64 wide, 1;\n\tst.global.b64 [counters+{}], wide;\n\tbra $WASTE;\n\
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
        let _ = writeln!(
            text,
            "\t.reg .b64 state, block, hash, low, high, factor, other0, other1, own, arena, base, index, mask, dead;\n\
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
        text.push_str(&locate("number", "state", self.stride, "STATE"));
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
    fn dispatch(&self, text: &mut String, name: &str) {
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

    /// Calls the function that inserts a state.
    fn call_insert(&self, text: &mut String, insert: &Callee, state: &str) {
        if self.observed.is_some() {
            let _ = writeln!(text, "\tst.b8 [{state}+{}], own;", self.stride - 1);
        }
        let mut arguments = [state, "block", "seek", "number"].map(String::from).to_vec();
        if self.counts {
            arguments.push("mover".into());
        }
        text.push_str(&call_text(insert, &arguments, "nothing"));
    }

    /// Goes on to the next process of the state, behind the frame of the present one.
    fn next_process(&self, label: &str) -> String {
        format!(
            "\tadd.s32 pid, pid, 1;\n\tmul.wide.u32 wide, type, 4;\n\tadd.s64 place, table, wide;\n\
             \tld.global.b32 length, [place+{}];\n\tadd.s32 at, at, length;\n\tbra {label};\n",
            self.frame_lengths
        )
    }

    /// The kernel itself.
    pub(super) fn entry(&self, insert: &Callee) -> String {
        let mut text = String::new();
        self.declare(&mut text);
        self.load_parameters(&mut text);
        self.take_state(&mut text, insert);
        self.expand_process(&mut text);
        self.judge_successor(&mut text);
        self.arrive(&mut text, insert);
        self.end_round(&mut text, insert);
        self.judge_end(&mut text);
        self.next_item(&mut text);
        finish(&mut text);
        text
    }

    /// The head of the kernel, its memory and registers.
    fn declare(&self, text: &mut String) {
        let Kernel { stride, most_headers, growth, most_waiting: waiting, .. } = *self;
        let _ = write!(
            text,
            ".visible .entry expand(.param .u64 parameters)\n{{\n\
             \t.local .align 16 .b8 current_bytes[{stride}];\n\t.local .align 16 .b8 copies[{}];\n\
             \t.local .align 16 .b8 header_bytes[{}];\n\t.local .align 16 .b8 work_bytes[{}];\n",
            (most_headers + 1) * stride + growth + 64,
            most_headers * HEADER,
            size_of::<Workspace>().next_multiple_of(16)
        );
        if waiting > 0 {
            let _ = writeln!(text, "\t.local .align 16 .b8 waiting_bytes[{}];", waiting * stride);
        }
        if self.counts {
            text.push_str(&bounded::registers(waiting));
        }
        if self.observed.is_some() {
            text.push_str(monitor::REGISTERS);
        }
        text.push_str(
            "\t.reg .b64 block, arena, number, end, step, current, copies_at, headers, work, waiting, frame, wide, place, dead, table;\n\
             \t.reg .b64 base, low, counters, taken, faults, header, copy, arrivals, atomic_steps, errors;\n\t.reg .b64 %d<20>;\n\
             \t.reg .b32 pid, alone, all, found, timeout, at, type, narrow, bits, alive, reach, flags, seek, result, transition, partner, depth, inner, nothing, length, counted;\n\
             \t.reg .b32 %r<4>;\n\t.reg .pred test, %p<4>;\n",
        );
    }

    /// What the block of parameters says.
    fn load_parameters(&self, text: &mut String) {
        let Kernel { stride, most_waiting: waiting, .. } = *self;
        for (name, local) in [
            ("current", "current_bytes"),
            ("copies_at", "copies"),
            ("headers", "header_bytes"),
            ("work", "work_bytes"),
        ] {
            let _ = writeln!(text, "\tmov.b64 {name}, {local};\n\tcvta.local.u64 {name}, {name};");
        }
        if waiting > 0 {
            text.push_str(
                "\tmov.b64 waiting, waiting_bytes;\n\tcvta.local.u64 waiting, waiting;\n",
            );
        }
        let _ = writeln!(
            text,
            "\tmov.b64 table, {TABLES};\n\tld.param.u64 block, [parameters];\n\
             \tld.global.b64 arena, [block+{}];\n\tld.global.b64 number, [block+{}];\n\tld.global.b64 end, [block+{}];\n\
             \tld.global.b64 counters, [block+{}];\n\tld.global.b64 taken, [block+{}];\n\tld.global.b64 faults, [block+{}];\n\
             \tld.global.b64 dead, [block+{}];\n\tld.global.b64 wide, [block+{}];\n\tcvt.u32.u64 flags, wide;\n\tand.b32 seek, flags, 1;\n\
             \tld.global.b64 base, [block+{}];\n{FIRST_NUMBER}\
             \tmov.b64 arrivals, 0;\n\tmov.b64 atomic_steps, 0;\n\tmov.b64 errors, 0;\n\
             \tst.b64 [work+{}], copies_at;\n\tst.b64 [work+{}], headers;\n\tmov.b32 narrow, {stride};\n\tst.b32 [work+{}], narrow;",
            field(Field::Arena),
            field(Field::First),
            field(Field::End),
            field(Field::Counters),
            field(Field::Taken),
            field(Field::Faults),
            field(Field::Dead),
            field(Field::Flags),
            field(Field::Base),
            Workspace::BASE,
            Workspace::HEADERS,
            Workspace::STATE_LENGTH,
        );
        if self.counts {
            text.push_str(&bounded::parameters());
        }
    }

    /// The next state of the level, and the next move of a property beside it.
    fn take_state(&self, text: &mut String, insert: &Callee) {
        let Kernel { stride, globals_end, .. } = *self;
        text.push_str(NEXT_NUMBER);
        if self.counts {
            text.push_str(&bounded::is_open());
        }
        text.push_str("\tmov.b32 depth, 0;\n\tmov.b32 inner, 0;\n");
        text.push_str(&locate("number", "place", stride, "LOAD"));
        text.push_str(&copy_text("place", "current", stride, (&mut 0, &mut 0, &mut 0)));
        if self.counts {
            text.push_str(&bounded::before_movers(globals_end));
            let _ = writeln!(text, "\tst.b64 [work+{}], copies_at;", Workspace::OUT);
            self.dispatch(text, "MOVER");
            text.push_str(&bounded::behind_mover());
            text.push_str(&self.next_process("$LOOK"));
            text.push_str(&bounded::decide());
        }
        if let Some(observed) = &self.observed {
            text.push_str(&observed.moves());
            self.call_insert(text, insert, "current");
            text.push_str(&observed.next_move());
        }
    }

    /// A state: all its processes, or the one that is alone.
    fn expand_process(&self, text: &mut String) {
        let Kernel { globals_end, .. } = *self;
        let _ = writeln!(
            text,
            "$ITEM:\n\tld.u8 alone, [current+0];\n\tmov.b32 all, 0;\n\tmov.b32 timeout, 0;\n\
             $ROUND:\n\tmov.b32 pid, 0;\n\tmov.b32 at, {globals_end};\n\
             $PROCESS:\n\tld.u8 alive, [current+1];\n\tsetp.ge.u32 test, pid, alive;\n\t@test bra $ROUND_END;\n\
             \tcvt.u64.u32 wide, at;\n\tadd.s64 frame, current, wide;\n\tld.u8 type, [frame+0];\n\
             \tsetp.eq.s32 test, alone, 0;\n\t@test bra $EXPAND;\n\tadd.s32 narrow, pid, 1;\n\tsetp.ne.s32 test, narrow, alone;\n\t@test bra $NEXT_PROCESS;\n\
             $EXPAND:"
        );
        if self.counts {
            text.push_str(bounded::IS_DUE);
        }
        let _ = writeln!(text, "\tst.b64 [work+{}], copies_at;", Workspace::OUT);
        self.dispatch(text, "TYPE");
        text.push_str(
            "\tsetp.lt.s32 test, found, 0;\n\t@test bra $ASK;\n\tadd.s32 all, all, found;\n\tmov.b32 reach, 0;\n",
        );
        if self.counts {
            text.push_str(&bounded::note_left());
        }
        if self.observed.is_some() {
            text.push_str(monitor::BEFORE_HEADERS);
        }
    }

    /// A successor: the moves that it took, and what is wrong with it.
    fn judge_successor(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "$HEADER:\n\tsetp.ge.s32 test, reach, found;\n\t@test bra $NEXT_PROCESS;\n\
             \tmul.wide.u32 header, reach, {HEADER};\n\tadd.s64 header, headers, header;\n\tadd.s32 reach, reach, 1;\n\
             \tld.b32 result, [header+{}];\n\tld.b32 transition, [header+{}];\n\tld.b32 partner, [header+{}];\n\
             \tand.b32 bits, result, 3;\n\tsetp.eq.s32 test, bits, 3;\n\t@test bra $ASK;\n\
             \tsetp.ne.s32 test, seek, 0;\n\t@test bra $NOTED;\n\
             \tcvt.u64.u32 wide, transition;\n\tadd.s64 place, taken, wide;\n\tld.global.u8 narrow, [place+0];\n\
             \tsetp.ne.s32 test, narrow, 0;\n\t@test bra $TAKEN;\n\tmov.b32 narrow, 1;\n\tst.global.b8 [place+0], narrow;\n\
             $TAKEN:\n\tld.b32 narrow, [header+{}];\n\tshr.u32 narrow, narrow, 16;\n\tsetp.eq.s32 test, narrow, 0;\n\t@test bra $NOTED;\n\
             \tcvt.u64.u32 wide, partner;\n\tadd.s64 place, taken, wide;\n\tmov.b32 narrow, 1;\n\tst.global.b8 [place+0], narrow;\n\
             $NOTED:\n\tsetp.eq.s32 test, bits, 0;\n\t@test bra $FINE;",
            offset_of!(SuccessorHeader, result),
            offset_of!(SuccessorHeader, transition),
            offset_of!(SuccessorHeader, partner_transition),
            offset_of!(SuccessorHeader, who),
        );
        // A fault counts as a mistake (1), is left to the processor (2), or does not count.
        let _ = writeln!(
            text,
            "\tshr.u32 narrow, result, {};\n\tcvt.u64.u32 wide, narrow;\n\tadd.s64 place, faults, wide;\n\tld.global.u8 narrow, [place+0];\n\
             \tsetp.eq.s32 test, narrow, 2;\n\t@test bra $ASK;\n\tsetp.eq.s32 test, narrow, 0;\n\t@test bra $COUNTED;\n\
             \tadd.s64 errors, errors, 1;\n\tatom.global.min.u64 wide, [counters+{}], number;\n\
             $COUNTED:\n\tsetp.eq.s32 test, bits, {};\n\t@test bra $HEADER;\n$FINE:",
            SuccessorHeader::FAULT_SHIFT,
            counter(Counter::Erroneous),
            SuccessorHeader::BROKEN,
        );
    }

    /// Stores a successor, or has it wait if it is in the middle of an indivisible sequence; then the next one, and the next process.
    fn arrive(&self, text: &mut String, insert: &Callee) {
        let Kernel { stride, most_waiting: waiting, .. } = *self;
        if self.counts {
            text.push_str(&bounded::mover_of_step());
        }
        let _ = writeln!(
            text,
            "\tld.b32 narrow, [header+{}];\n\tcvt.u64.u32 wide, narrow;\n\tadd.s64 copy, copies_at, wide;\n\
             \tand.b32 narrow, result, {};\n\tsetp.eq.s32 test, narrow, 0;\n\t@test bra $ARRIVE;",
            offset_of!(SuccessorHeader, start),
            SuccessorHeader::TRANSIENT,
        );
        if waiting > 0 {
            if self.counts {
                text.push_str(bounded::KEEP_MOVER);
            }
            let _ = writeln!(
                text,
                "\tadd.s64 atomic_steps, atomic_steps, 1;\n\tsetp.ge.u32 test, depth, {waiting};\n\t@test bra $ASK;\n\
                 \tmul.wide.u32 wide, depth, {stride};\n\tadd.s64 place, waiting, wide;\n\tadd.s32 depth, depth, 1;"
            );
            text.push_str(&copy_text("copy", "place", stride, (&mut 5, &mut 1, &mut 1)));
            text.push_str("\tbra $HEADER;\n");
        } else {
            text.push_str("\tbra $ASK;\n");
        }
        text.push_str("$ARRIVE:\n\tadd.s64 arrivals, arrivals, 1;\n");
        self.call_insert(text, insert, "copy");
        text.push_str("\tbra $HEADER;\n$NEXT_PROCESS:\n");
        text.push_str(&self.next_process("$PROCESS"));
    }

    /// All processes were asked: another round if one was alone and cannot move, or if some waits for `timeout`.
    fn end_round(&self, text: &mut String, insert: &Callee) {
        text.push_str("$ROUND_END:\n");
        if self.observed.is_some() {
            text.push_str(&monitor::note_cut());
        }
        text.push_str(
            "\tsetp.ne.s32 test, all, 0;\n\t@test bra $ITEM_END;\n\tsetp.eq.s32 test, alone, 0;\n\t@test bra $ALL_TRIED;\n\
             \tmov.b32 narrow, 0;\n\tst.b8 [current+0], narrow;\n\tadd.s64 arrivals, arrivals, 1;\n",
        );
        if self.counts {
            text.push_str("\tmov.b32 mover, last;\n");
        }
        self.call_insert(text, insert, "current");
        text.push_str("\tbra $ITEM_END;\n$ALL_TRIED:\n");
        if self.uses_timeout {
            text.push_str(
                "\tsetp.ne.s32 test, timeout, 0;\n\t@test bra $STUCK;\n\tmov.b32 timeout, 1;\n\tbra $ROUND;\n$STUCK:\n",
            );
        }
        if self.observed.is_some() {
            // Nothing can move: the state repeats for ever, and the property moves alone.
            text.push_str(monitor::BEFORE_REPEATING);
            self.call_insert(text, insert, "current");
        }
    }

    /// Nothing can move: a mistake unless every process is where it may end.
    fn judge_end(&self, text: &mut String) {
        let Kernel { globals_end, .. } = *self;
        let pc = if self.pc_width == 1 {
            ""
        } else {
            "\tld.u8 bits, [frame+2];\n\tshl.b32 bits, bits, 8;\n\tor.b32 narrow, narrow, bits;\n"
        };
        let _ = writeln!(
            text,
            "\tand.b32 narrow, flags, 2;\n\tsetp.eq.s32 test, narrow, 0;\n\t@test bra $ITEM_END;\n\
             \tmov.b32 pid, 0;\n\tmov.b32 at, {globals_end};\n\
             $ENDS:\n\tld.u8 alive, [current+1];\n\tsetp.ge.u32 test, pid, alive;\n\t@test bra $ITEM_END;\n\
             \tcvt.u64.u32 wide, at;\n\tadd.s64 frame, current, wide;\n\tld.u8 type, [frame+0];\n\tld.u8 narrow, [frame+1];\n{pc}\
             \tmul.wide.u32 wide, type, 4;\n\tadd.s64 place, table, wide;\n\tld.global.b32 bits, [place+{}];\n\
             \tld.global.b32 length, [place+{}];\n\tadd.s32 at, at, length;\n\tadd.s32 pid, pid, 1;\n\
             \tadd.s32 narrow, narrow, bits;\n\tcvt.u64.u32 wide, narrow;\n\tadd.s64 place, table, wide;\n\tld.global.u8 narrow, [place+{}];\n\
             \tsetp.ne.s32 test, narrow, 0;\n\t@test bra $ENDS;\n\
             \tadd.s64 errors, errors, 1;\n\tatom.global.min.u64 wide, [counters+{}], number;",
            self.points,
            self.frame_lengths,
            self.ends,
            counter(Counter::Erroneous),
        );
    }

    /// What waits in the middle of an indivisible sequence, and then the next move of a property beside the model.
    fn next_item(&self, text: &mut String) {
        let Kernel { stride, most_waiting: waiting, .. } = *self;
        text.push_str("$ITEM_END:\n");
        let end = if self.observed.is_some() { "$MOVE_END" } else { "$SKIP" };
        if waiting > 0 {
            let _ = writeln!(
                text,
                "\tsetp.eq.s32 test, depth, 0;\n\t@test bra {end};\n\tadd.s32 inner, inner, 1;\n\
                 \tsetp.gt.u32 test, inner, {MOST_INNER};\n\t@test bra $ASK;\n\
                 \tsub.s32 depth, depth, 1;\n\tmul.wide.u32 wide, depth, {stride};\n\tadd.s64 place, waiting, wide;"
            );
            text.push_str(&copy_text("place", "current", stride, (&mut 10, &mut 2, &mut 2)));
            if self.counts {
                text.push_str(bounded::TAKE_MOVER);
            }
            text.push_str("\tbra $ITEM;\n");
        } else {
            let _ = writeln!(text, "\tbra {end};");
        }
        if let Some(observed) = &self.observed {
            text.push_str(&observed.further_moves());
        }
    }
}

/// Goes on to the next state of the level; behind the last one the thread adds what it has counted.
fn finish(text: &mut String) {
    let _ = writeln!(
        text,
        "$ASK:\n\tadd.s64 wide, number, 1;\n\tatom.global.max.u64 wide, [counters+{}], wide;\n\
         $SKIP:\n\tadd.s64 number, number, step;\n\tbra $STATE;\n\
         $DONE:\n\tmov.u32 narrow, %ctaid.x;\n\tand.b32 narrow, narrow, {};\n\tmul.wide.u32 wide, narrow, {};\n\tadd.s64 place, counters, wide;\n\
         \tatom.global.add.u64 wide, [place+{}], arrivals;\n\tatom.global.add.u64 wide, [place+{}], atomic_steps;\n\
         \tatom.global.add.u64 wide, [place+{}], errors;\n\tret;\n}}\n",
        counter(Counter::Asked),
        GROUPS - 1,
        8 * GROUP_WORDS,
        counter(Counter::Groups),
        counter(Counter::Groups) + 8,
        counter(Counter::Groups) + 16,
    );
}
