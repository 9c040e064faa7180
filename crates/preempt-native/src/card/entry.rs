//! The kernel around the code of a model: states are taken from a level, their successors are judged and inserted.
//!
//! A thread takes every so many-th state of a range, and expands one process after the other. Successors in the middle of an
//! indivisible sequence wait, and are expanded before the next state is taken.
//!
//! Thirty-two threads, a *warp*, share one instruction pointer as long as they take the same way. So all of them go through the
//! loops together: over states, rounds, processes and successors. At the head of each loop they vote whether any of them has something
//! to do there ([`together`]); those that have not pass over the body and wait at its end. Thus most threads of a warp compute the
//! successors of their processes at the same time, and insert them at the same time, which is most of the work.
//!
//! **Invariant:** every thread of a warp takes part in every vote, in the same order. So nothing leads out of a loop but its head: a thread
//! that is done with a state says that it has no more rounds, processes and successors.

use super::kernel::{ALONE, ARRIVES, Kernel, PRESENT};
use super::layout::{Counter, Field, GROUP_WORDS, GROUPS, counter, field};
use super::range::{FIRST_NUMBER, NEXT_NUMBER, locate};
use super::{bounded, folded, monitor};
use crate::execute::workspace::{HEADER, Workspace};
use crate::generate::ptx::{COPY_REGISTERS, Callee, TABLES, copy_text};
use preempt_core::engine::SuccessorHeader;
use std::fmt::Write;
use std::mem::offset_of;

/// So many steps inside indivisible sequences behind one state are taken on a card; more are left to the processor, which
/// notices circles.
const MOST_INNER: u32 = 1 << 12;

impl Kernel<'_> {
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
        leave(&mut text);
        finish(&mut text);
        text
    }

    /// The head of the kernel, its memory and registers.
    fn declare(&self, text: &mut String) {
        let Kernel { stride, most_headers, growth, most_waiting: waiting, .. } = *self;
        let _ = write!(
            text,
            ".visible .entry expand(.param .u64 parameters)\n{{\n\
             \t.local .align 16 .b8 current_bytes[{}];\n\
             \t.local .align 16 .b8 header_bytes[{}];\n\t.local .align 16 .b8 work_bytes[{}];\n",
            (most_headers + 2) * stride + growth + 64,
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
        if self.folded {
            text.push_str(&folded::declare(stride));
        }
        text.push_str(
            "\t.reg .b64 block, arena, number, end, step, current, copies_at, headers, work, waiting, frame, wide, place, dead, table;\n\
             \t.reg .b64 base, low, counters, taken, faults, header, copy, arrivals, atomic_steps, errors;\n\
             \t.reg .b32 pid, alone, all, found, timeout, at, type, narrow, bits, alive, reach, flags, seek, result, transition, partner, depth, inner, nothing, length, counted, working, processes, arrives;\n\
             \t.reg .pred test, busy, any;\n",
        );
        text.push_str(COPY_REGISTERS);
    }

    /// What the block of parameters says.
    fn load_parameters(&self, text: &mut String) {
        let Kernel { stride, most_waiting: waiting, .. } = *self;
        for (name, local) in
            [("current", "current_bytes"), ("headers", "header_bytes"), ("work", "work_bytes")]
        {
            let _ = writeln!(text, "\tmov.b64 {name}, {local};\n\tcvta.local.u64 {name}, {name};");
        }
        let _ = writeln!(text, "\tadd.s64 copies_at, current, {stride};");
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
        if self.folded {
            text.push_str(&folded::begin(stride));
        }
    }

    /// The next state of the level, and the next move of a property beside it.
    fn take_state(&self, text: &mut String, insert: &Callee) {
        let Kernel { stride, globals_end, .. } = *self;
        text.push_str(NEXT_NUMBER);
        // Once there is no room for a state the range has to be expanded again.
        let _ = writeln!(
            text,
            "\tld.global.cg.b64 wide, [counters+{}];\n\tsetp.ne.u64 test, wide, 0;\n\t@test bra $DONE;",
            counter(Counter::Full)
        );
        if self.counts {
            text.push_str(&bounded::is_open());
        }
        text.push_str(
            "\tmov.b32 working, 1;\n\tbra $CHOSEN;\n$SKIP:\n\tadd.s64 number, number, step;\n\tbra $STATE;\n\
             $DONE:\n\tmov.b32 working, 0;\n$CHOSEN:\n\tsetp.ne.s32 busy, working, 0;\n",
        );
        text.push_str(&together("$FINISH", "$ITEM"));
        text.push_str("\tmov.b32 depth, 0;\n\tmov.b32 inner, 0;\n\tmov.b32 timeout, 0;\n");
        text.push_str(&locate("number", "place", self.element(), "LOAD"));
        if self.folded {
            text.push_str(&folded::unfolded("place", "narrow"));
        }
        let from = if self.folded { "leaves" } else { "place" };
        text.push_str(&copy_text(from, "current", stride, "LOAD"));
        if let Some(observed) = &self.observed {
            text.push_str(&observed.letter());
        }
        if self.counts {
            let is_held = if self.observed.is_some() { monitor::IS_HELD } else { "" };
            text.push_str(&bounded::before_movers(globals_end, is_held));
            self.begin_copies(text, "LOOK");
            self.dispatch(text, "MOVER");
            text.push_str(&bounded::behind_mover());
            text.push_str(&self.next_process("$LOOK"));
            text.push_str(&bounded::decide());
        }
        if let Some(observed) = &self.observed {
            if self.counts {
                text.push_str(bounded::MISTAKES_BY_VISIT);
            }
            text.push_str(&monitor::own_moves());
            self.insert_unmoved(text, insert, "OWN");
            text.push_str(&observed.next_move());
        }
    }

    /// Puts a copy where the first successor of a process will be: together, before the threads of a warp go where the control points of
    /// their processes lead them.
    fn begin_copies(&self, text: &mut String, name: &str) {
        let _ = writeln!(text, "\tst.b64 [work+{}], copies_at;", Workspace::OUT);
        text.push_str(&copy_text("current", "copies_at", self.stride, name));
    }

    /// A state: all its processes, or the one that is alone.
    fn expand_process(&self, text: &mut String) {
        let Kernel { globals_end, .. } = *self;
        let _ = writeln!(
            text,
            "$ITEM:\n\tmov.b32 pid, 0;\n\tmov.b32 all, 0;\n\tmov.b32 processes, 0;\n\tsetp.ne.s32 busy, working, 0;\n{}\
             \tld.u8 alone, [current+0];\n\tld.u8 processes, [current+1];\n\tmov.b32 at, {globals_end};\n\
             $PROCESS:\n\tmov.b32 found, 0;\n\tmov.b32 reach, 0;\n\tsetp.lt.u32 busy, pid, processes;\n{}\
             \tcvt.u64.u32 wide, at;\n\tadd.s64 frame, current, wide;\n\tld.u8 type, [frame+0];\n\
             \tsetp.eq.s32 test, alone, 0;\n\t@test bra $EXPAND;\n\tadd.s32 narrow, pid, 1;\n\tsetp.ne.s32 test, narrow, alone;\n\t@test bra $HEADER;\n\
             $EXPAND:",
            together("$NEXT_STATE", "$PROCESS"),
            together("$ROUND_END", "$HEADER"),
        );
        if self.counts {
            text.push_str(bounded::IS_DUE);
        }
        self.begin_copies(text, "EXPAND");
        self.dispatch(text, "TYPE");
        text.push_str(
            "\tsetp.lt.s32 test, found, 0;\n\t@test bra $ASK_AT_PROCESS;\n\tadd.s32 all, all, found;\n",
        );
        if self.observed.is_some() {
            text.push_str(monitor::BEFORE_HEADERS);
        }
        if self.counts {
            text.push_str(&bounded::note_left());
        }
    }

    /// A successor: the moves that it took, and what is wrong with it.
    fn judge_successor(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "$HEADER:\n\tmov.b32 arrives, {PRESENT};\n\tsetp.lt.s32 busy, reach, found;\n{}\
             \tmul.wide.u32 header, reach, {HEADER};\n\tadd.s64 header, headers, header;\n\tadd.s32 reach, reach, 1;\n\
             \tld.b32 result, [header+{}];\n\tld.b32 transition, [header+{}];\n\tld.b32 partner, [header+{}];\n\
             \tand.b32 bits, result, 3;\n\tsetp.eq.s32 test, bits, 3;\n\t@test bra $ASK_AT_SUCCESSOR;\n\
             \tsetp.ne.s32 test, seek, 0;\n\t@test bra $NOTED;\n\
             \tcvt.u64.u32 wide, transition;\n\tadd.s64 place, taken, wide;\n\tld.global.u8 narrow, [place+0];\n\
             \tsetp.ne.s32 test, narrow, 0;\n\t@test bra $TAKEN;\n\tmov.b32 narrow, 1;\n\tst.global.b8 [place+0], narrow;\n\
             $TAKEN:\n\tld.b32 narrow, [header+{}];\n\tshr.u32 narrow, narrow, 16;\n\tsetp.eq.s32 test, narrow, 0;\n\t@test bra $NOTED;\n\
             \tcvt.u64.u32 wide, partner;\n\tadd.s64 place, taken, wide;\n\tmov.b32 narrow, 1;\n\tst.global.b8 [place+0], narrow;\n\
             $NOTED:\n\tsetp.eq.s32 test, bits, 0;\n\t@test bra $FINE;",
            together("$NEXT_PROCESS", "$JUDGED"),
            offset_of!(SuccessorHeader, result),
            offset_of!(SuccessorHeader, transition),
            offset_of!(SuccessorHeader, partner_transition),
            offset_of!(SuccessorHeader, who),
        );
        // A fault counts as a mistake (1), is left to the processor (2), or does not count.
        let _ = writeln!(
            text,
            "\tshr.u32 narrow, result, {};\n\tcvt.u64.u32 wide, narrow;\n\tadd.s64 place, faults, wide;\n\tld.global.u8 narrow, [place+0];\n\
             \tsetp.eq.s32 test, narrow, 2;\n\t@test bra $ASK_AT_SUCCESSOR;\n\tsetp.eq.s32 test, narrow, 0;\n\t@test bra $COUNTED;\n\
             \tadd.s64 errors, errors, 1;\n\tatom.global.min.u64 wide, [counters+{}], number;\n\
             $COUNTED:\n\tsetp.eq.s32 test, bits, {};\n\t@test bra $JUDGED;\n$FINE:",
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
                "\tadd.s64 atomic_steps, atomic_steps, 1;\n\tsetp.ge.u32 test, depth, {waiting};\n\t@test bra $ASK_AT_SUCCESSOR;\n\
                 \tmul.wide.u32 wide, depth, {stride};\n\tadd.s64 place, waiting, wide;\n\tadd.s32 depth, depth, 1;"
            );
            text.push_str(&copy_text("copy", "place", stride, "WAIT"));
            text.push_str("\tbra $JUDGED;\n");
        } else {
            text.push_str("\tbra $ASK_AT_SUCCESSOR;\n");
        }
        let _ = writeln!(
            text,
            "$ARRIVE:\n\tadd.s64 arrivals, arrivals, 1;\n\tmov.b32 arrives, {ARRIVES};"
        );
        self.add_own(text, "copy");
        // Those that have nothing to insert are present.
        text.push_str("$JUDGED:\n\tsetp.ne.s32 busy, arrives, 0;\n");
        text.push_str(&vote("$HEADER"));
        self.call_insert(text, insert, "copy", "arrives");
        text.push_str(
            "\tbra $HEADER;\n\
             $NEXT_PROCESS:\n\tsetp.lt.u32 busy, pid, processes;\n\t@busy bra $BEHIND;\n\tadd.s32 pid, pid, 1;\n\tbra $PROCESS;\n$BEHIND:\n",
        );
        text.push_str(&self.next_process("$PROCESS"));
    }

    /// All processes were asked: another round if one was alone and cannot move, or if some waits for `timeout`.
    fn end_round(&self, text: &mut String, insert: &Callee) {
        text.push_str("$ROUND_END:\n\tsetp.eq.s32 test, working, 0;\n\t@test bra $ITEM;\n");
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
        self.insert_alone(text, insert);
        text.push_str("\tbra $ITEM_END;\n$ALL_TRIED:\n");
        if self.uses_timeout {
            text.push_str(
                "\tsetp.ne.s32 test, timeout, 0;\n\t@test bra $STUCK;\n\tmov.b32 timeout, 1;\n\tbra $ITEM;\n$STUCK:\n",
            );
        }
        if self.observed.is_some() {
            // Nothing can move: the state repeats for ever, and the property moves alone.
            text.push_str(monitor::BEFORE_REPEATING);
            self.insert_unmoved(text, insert, "REPEATED");
        }
    }

    /// Inserts the present state behind a step of the property alone, which leaves the last mover what it was: where these count,
    /// once for each.
    fn insert_unmoved(&self, text: &mut String, insert: &Callee, name: &str) {
        if self.counts {
            text.push_str(&bounded::each_visit(name));
        }
        text.push_str("\tadd.s64 arrivals, arrivals, 1;\n");
        self.insert_alone(text, insert);
        if self.counts {
            text.push_str(&bounded::visited(name));
        }
    }

    /// Inserts the present state, which other threads of the warp need not do at the same time.
    fn insert_alone(&self, text: &mut String, insert: &Callee) {
        self.add_own(text, "current");
        let _ = writeln!(text, "\tmov.b32 narrow, {ALONE};");
        self.call_insert(text, insert, "current", "narrow");
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
        let end = if self.observed.is_some() { "$MOVE_END" } else { "$OVER" };
        if waiting > 0 {
            let _ = writeln!(
                text,
                "\tsetp.eq.s32 test, depth, 0;\n\t@test bra {end};\n\tadd.s32 inner, inner, 1;\n\
                 \tsetp.gt.u32 test, inner, {MOST_INNER};\n\t@test bra $ASK;\n\
                 \tsub.s32 depth, depth, 1;\n\tmul.wide.u32 wide, depth, {stride};\n\tadd.s64 place, waiting, wide;"
            );
            text.push_str(&copy_text("place", "current", stride, "GO_ON"));
            if self.counts {
                text.push_str(bounded::TAKE_MOVER);
            }
            text.push_str("\tmov.b32 timeout, 0;\n\tbra $ITEM;\n");
        } else {
            let _ = writeln!(text, "\tbra {end};");
        }
        if let Some(observed) = &self.observed {
            text.push_str(&observed.further_moves());
            if self.counts {
                text.push_str(bounded::FILTER);
            }
            if !self.folded {
                text.push_str(&locate("number", "place", stride, "AGAIN"));
            }
            let from = if self.folded { "leaves" } else { "place" };
            text.push_str(&copy_text(from, "current", stride, "AGAIN"));
            text.push_str("\tbra $MOVE;\n");
        }
    }
}

/// The head of a loop of the warp: leads to `over` once no thread is `busy`, and to the end of the body, `idle`, those that are not.
fn together(over: &str, idle: &str) -> String {
    format!("{}\t@!busy bra {idle};\n", vote(over))
}

/// Leads to `over` if no thread of the warp is `busy`.
fn vote(over: &str) -> String {
    format!("\tvote.sync.any.pred any, busy, 0xffffffff;\n\t@!any bra {over};\n")
}

/// A thread is done with its state: at the vote about rounds, before the one about successors, or before that about insertions. Where the
/// processor has to look at the state, that is noted.
fn leave(text: &mut String) {
    let ask = format!(
        "\tadd.s64 wide, number, 1;\n\tatom.global.max.u64 wide, [counters+{}], wide;\n",
        counter(Counter::Asked)
    );
    let no_more = "\tmov.b32 working, 0;\n\tmov.b32 processes, 0;\n\tmov.b32 found, 0;\n";
    let _ = write!(
        text,
        "$ASK:\n{ask}$OVER:\n\tmov.b32 working, 0;\n\tbra $ITEM;\n\
         $ASK_AT_PROCESS:\n{ask}$OVER_AT_PROCESS:\n{no_more}\tbra $HEADER;\n\
         $ASK_AT_SUCCESSOR:\n{ask}{no_more}\tmov.b32 arrives, {PRESENT};\n\tbra $JUDGED;\n\
         $NEXT_STATE:\n\tadd.s64 number, number, step;\n\tbra $STATE;\n"
    );
}

/// Behind the last state a thread adds what it has counted.
fn finish(text: &mut String) {
    let _ = writeln!(
        text,
        "$FINISH:\n\tmov.u32 narrow, %ctaid.x;\n\tand.b32 narrow, narrow, {};\n\tmul.wide.u32 wide, narrow, {};\n\tadd.s64 place, counters, wide;\n\
         \tatom.global.add.u64 wide, [place+{}], arrivals;\n\tatom.global.add.u64 wide, [place+{}], atomic_steps;\n\
         \tatom.global.add.u64 wide, [place+{}], errors;\n\tret;\n}}\n",
        GROUPS - 1,
        8 * GROUP_WORDS,
        counter(Counter::Groups),
        counter(Counter::Groups) + 8,
        counter(Counter::Groups) + 16,
    );
}
