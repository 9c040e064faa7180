//! Counting preemptions on a card: which processes are run from a state, and in which bucket.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! Beside each state lies a word, its *record*: the last movers of the visits to it at its least count, and the processes that were
//! run from it. States that are reached first in a bucket have the numbers from [`Field::Bucket`] on, so the least count of a
//! state follows from its number, and a visit to an earlier one is covered.
//!
//! A bucket is searched in *rounds*. A round looks at all states that were visited since the last one: if all last movers can go
//! on, they are run, and otherwise all processes are. What was run is noted in a word of its own, and becomes part of the
//! record only when a range is done (`commit`), so that a range can be expanded again after the index has grown. When no state is
//! visited any more, the next bucket begins with the processes that had to wait.
//!
//! A move of a property alone preempts no process: the state behind it has the same last mover. So it is made once for each last mover
//! of the visits that are looked at.
//!
//! **Invariant:** each process is run from a state once, in the bucket in which that is possible first. So what is counted is
//! the same in whatever order states are expanded and visits arrive.

use super::layout::{Counter, Field, MOST_MOVERS, PEEK, REST, counter, field};
use super::range::{FIRST_NUMBER, NEXT_NUMBER};
use preempt_core::engine::SuccessorHeader;
use std::mem::offset_of;

/// All last movers that a record can hold.
const MOVERS: u64 = (1 << MOST_MOVERS) - 1;
/// In a record: no process has moved before the state.
const UNMOVED: u64 = 1 << 30;
/// In a record: all processes were run. In the word beside it, of what was run: the same.
const ALL_RUN: u64 = 1 << 62;
/// Where the processes that were run begin.
const RUN: u32 = 32;

/// A record that says that no process has moved before the state, which the round of this mark looks at.
pub(super) fn first_record(mark: u64) -> u64 {
    UNMOVED | mark
}

/// What a thread needs beside the rest.
pub(super) fn registers(waiting: u32) -> String {
    format!(
        "\t.local .align 16 .b8 mover_bytes[{}];\n\
         \t.reg .b64 records, pendings, dirty, record, arrived, ran, due, pending, movers;\n\
         \t.reg .b32 filtered, mover, last, rest, peek, visits, again;\n",
        4 * waiting.max(4)
    )
}

pub(super) fn parameters() -> String {
    format!(
        "\tld.global.b64 records, [block+{}];\n\tld.global.b64 pendings, [block+{}];\n\tld.global.b64 dirty, [block+{}];\n\
         \tand.b32 rest, flags, {REST};\n\tand.b32 peek, flags, {PEEK};\n\
         \tmov.b64 movers, mover_bytes;\n\tcvta.local.u64 movers, movers;\n",
        field(Field::Records),
        field(Field::Pending),
        field(Field::Dirty)
    )
}

/// Passes over states from which nothing is to be run.
pub(super) fn is_open() -> String {
    format!(
        "\tshl.b64 wide, number, 3;\n\tadd.s64 wide, records, wide;\n\tld.global.cg.b64 record, [wide+0];\n\
         \tand.b64 wide, record, {ALL_RUN};\n\tsetp.ne.u64 test, wide, 0;\n\t@test bra $SKIP;\n\
         \tsetp.ne.s32 test, rest, 0;\n\t@test bra $OPEN;\n\
         \tand.b64 wide, record, dirty;\n\tsetp.eq.u64 test, wide, 0;\n\t@test bra $SKIP;\n$OPEN:\n"
    )
}

/// Goes from process to process of the state, to each last mover that was not run yet; those that were could move. Where a
/// property has no move with the model (`is_held`), none can.
pub(super) fn before_movers(globals_end: u32, is_held: &str) -> String {
    format!(
        "\tld.u8 alive, [current+1];\n\tsetp.gt.u32 test, alive, {MOST_MOVERS};\n\t@test bra $ASK;\n\
         \tand.b64 arrived, record, {MOVERS};\n\tshr.u64 ran, record, {RUN};\n\tand.b64 ran, ran, {MOVERS};\n\
         \txor.b64 due, ran, {MOVERS};\n\tmov.b64 pending, {};\n\
         \tmov.b32 visits, 0;\n\tsetp.ne.s32 test, rest, 0;\n\t@test bra $DECIDED;\n\
         \tnot.b64 low, ran;\n\tand.b64 low, low, arrived;\n\tand.b64 wide, record, {UNMOVED};\n\tor.b64 low, low, wide;\n\
         \tcvt.u32.u64 visits, low;\n{is_held}\
         \tsetp.ne.u64 test, wide, 0;\n\t@test bra $DECIDED;\n\
         \tshr.u64 wide, arrived, alive;\n\tsetp.ne.u64 test, wide, 0;\n\t@test bra $DECIDED;\n\
         \tmov.b32 pid, 0;\n\tmov.b32 timeout, 0;\n\tmov.b32 at, {globals_end};\n\
         $LOOK:\n\tsetp.ge.u32 test, pid, alive;\n\t@test bra $ALL_MOVE;\n\
         \tcvt.u64.u32 wide, at;\n\tadd.s64 frame, current, wide;\n\tld.u8 type, [frame+0];\n\
         \tshr.u64 wide, arrived, pid;\n\tand.b64 wide, wide, 1;\n\tsetp.eq.u64 test, wide, 0;\n\t@test bra $LOOKED;\n\
         \tshr.u64 wide, ran, pid;\n\tand.b64 wide, wide, 1;\n\tsetp.ne.u64 test, wide, 0;\n\t@test bra $LOOKED;\n",
        ALL_RUN >> RUN
    )
}

/// One last mover that cannot go on is enough to have all processes run.
pub(super) fn behind_mover() -> String {
    "\tsetp.lt.s32 test, found, 0;\n\t@test bra $ASK;\n\tsetp.eq.s32 test, found, 0;\n\t@test bra $DECIDED;\n$LOOKED:\n".into()
}

/// Notes what is going to be run. A state from which several last movers were run keeps one of them back behind another, as far as
/// the processor's search looks.
pub(super) fn decide() -> String {
    format!(
        "$ALL_MOVE:\n\tnot.b64 due, ran;\n\tand.b64 due, due, arrived;\n\tmov.b64 pending, due;\n\
     $DECIDED:\n\tmov.b32 filtered, 1;\n\tmov.b32 last, 0;\n\tsetp.eq.s32 test, rest, 0;\n\t@test bra $NOTE;\n\
     \tpopc.b64 narrow, ran;\n\tsetp.le.u32 test, narrow, 1;\n\t@test bra $NOTE;\n\
     \tmov.b64 wide, 1;\n\tst.global.b64 [counters+{}], wide;\n\
     $NOTE:\n\tsetp.ne.s32 test, peek, 0;\n\t@test bra $RUN;\n\
     \tshl.b64 wide, number, 2;\n\tadd.s64 wide, pendings, wide;\n\tcvt.u32.u64 narrow, pending;\n\tst.global.b32 [wide+0], narrow;\n\
     $RUN:\n",
        counter(Counter::Left)
    )
}

/// Passes over a process that is not to be run; one that was run could move.
pub(super) const IS_DUE: &str = "\tsetp.eq.s32 test, filtered, 0;\n\t@test bra $DUE;\n\
    \tshr.u64 wide, due, pid;\n\tand.b64 wide, wide, 1;\n\tsetp.ne.u64 test, wide, 0;\n\t@test bra $DUE;\n\
    \tshr.u64 wide, ran, pid;\n\tand.b64 wide, wide, 1;\n\tcvt.u32.u64 narrow, wide;\n\tadd.s32 all, all, narrow;\n\
    \tbra $HEADER;\n$DUE:\n";

/// Notes that a process that had to wait has steps. To know this may be all that is wanted.
pub(super) fn note_left() -> String {
    format!(
        "\tsetp.eq.s32 test, found, 0;\n\t@test bra $HEADER;\n\tsetp.eq.s32 test, rest, 0;\n\t@test bra $HEADER;\n\
         \tmov.b64 wide, 1;\n\tst.global.b64 [counters+{}], wide;\n\tsetp.ne.s32 test, peek, 0;\n\t@test bra $OVER_AT_PROCESS;\n",
        counter(Counter::Left)
    )
}

/// The process that counts as the last mover behind a step: after a rendezvous the receiver.
pub(super) fn mover_of_step() -> String {
    format!(
        "\tld.b32 narrow, [header+{}];\n\tshr.u32 mover, narrow, 16;\n\tand.b32 narrow, narrow, 65535;\n\
         \tsetp.ne.s32 test, mover, 0;\n\t@test sub.s32 narrow, mover, 1;\n\tmov.b32 mover, narrow;\n",
        offset_of!(SuccessorHeader, who)
    )
}

/// A state inside of an indivisible sequence waits together with its last mover.
pub(super) const KEEP_MOVER: &str = "\tmul.wide.u32 wide, depth, 4;\n\tadd.s64 place, movers, wide;\n\
    \tsetp.lt.u32 test, depth, 16;\n\t@test st.b32 [place+0], mover;\n";

pub(super) const TAKE_MOVER: &str = "\tmul.wide.u32 wide, depth, 4;\n\tadd.s64 frame, movers, wide;\n\tld.b32 last, [frame+0];\n\
    \tmov.b32 filtered, 0;\n";

/// As often as there are visits that the state is looked at for: what follows is done with each last mover, or the mark that there
/// is none. `name` tells the labels of one place from those of another.
pub(super) fn each_visit(name: &str) -> String {
    format!(
        "\tmov.b32 again, visits;\n${name}_VISIT:\n\tsetp.eq.s32 test, again, 0;\n\t@test bra ${name}_VISITED;\n\
         \tbfind.u32 mover, again;\n\tmov.b32 bits, 1;\n\tshl.b32 bits, bits, mover;\n\txor.b32 again, again, bits;\n"
    )
}

/// The end of what is done for each visit.
pub(super) fn visited(name: &str) -> String {
    format!("\tbra ${name}_VISIT;\n${name}_VISITED:\n")
}

/// Counts the mistakes of a property once for each visit.
pub(super) const MISTAKES_BY_VISIT: &str =
    "\tpopc.b32 bits, visits;\n\tmul.lo.s32 mistakes, mistakes, bits;\n";

/// Goes back to a state from which processes are run, behind its indivisible sequences.
pub(super) const FILTER: &str = "\tmov.b32 filtered, 1;\n";

/// What the insertion of a state needs beside the rest.
pub(super) fn insert_head() -> String {
    format!(
        "\t.reg .b64 records, record, bit_of_mover, mark, bucket;\n\t.reg .b32 mover;\n\tld.param.b32 mover, [p5];\n\
         \tmov.b64 bit_of_mover, 1;\n\tshl.b64 bit_of_mover, bit_of_mover, mover;\n\
         \tld.global.b64 records, [block+{}];\n\tld.global.b64 mark, [block+{}];\n\tld.global.b64 bucket, [block+{}];\n",
        field(Field::Records),
        field(Field::Mark),
        field(Field::Bucket)
    )
}

/// A visit to a state that is known: covered if it was reached in an earlier bucket, if all its processes were run, or if its
/// last mover is known.
pub(super) fn visit_known() -> String {
    format!(
        "\tand.b64 low, entry, {};\n\tsub.s64 low, low, 1;\n\tsetp.lt.u64 test, low, bucket;\n\t@test bra $WASTE;\n\
         \tshl.b64 low, low, 3;\n\tadd.s64 low, records, low;\n\tld.global.cg.b64 record, [low+0];\n\
         \tor.b64 wide, bit_of_mover, {ALL_RUN};\n\tand.b64 wide, record, wide;\n\tsetp.ne.u64 test, wide, 0;\n\t@test bra $WASTE;\n\
         \tor.b64 wide, bit_of_mover, mark;\n\tatom.global.or.b64 record, [low+0], wide;\n\
         \tmov.b64 wide, 1;\n\tst.global.b64 [counters+{}], wide;\n",
        (1_u64 << 40) - 1,
        counter(Counter::Marked)
    )
}

/// The first visit to a state, whose number no other thread knows yet.
pub(super) fn visit_new() -> String {
    format!(
        "\tshl.b64 wide, number, 3;\n\tadd.s64 wide, records, wide;\n\tor.b64 record, bit_of_mover, mark;\n\
         \tst.global.b64 [wide+0], record;\n\tmov.b64 wide, 1;\n\tst.global.b64 [counters+{}], wide;\n",
        counter(Counter::Marked)
    )
}

/// Makes what was run from the states of a range a part of their records; none of them is to be looked at in this round any more.
pub(super) fn commit() -> String {
    format!(
        ".visible .entry commit(.param .u64 parameters)\n{{\n\
         \t.reg .b64 block, number, end, step, wide, place, dead, records, pendings, dirty, record;\n\t.reg .b32 narrow, bits;\n\
         \t.reg .pred test;\n\tld.param.u64 block, [parameters];\n\
         \tld.global.b64 number, [block+{}];\n\tld.global.b64 end, [block+{}];\n\tld.global.b64 dead, [block+{}];\n\
         \tld.global.b64 records, [block+{}];\n\tld.global.b64 pendings, [block+{}];\n\tld.global.b64 dirty, [block+{}];\n\
         \tnot.b64 dirty, dirty;\n{FIRST_NUMBER}{NEXT_NUMBER}\
         \tshl.b64 wide, number, 2;\n\tadd.s64 place, pendings, wide;\n\tld.global.b32 narrow, [place+0];\n\
         \tmov.b32 bits, 0;\n\tst.global.b32 [place+0], bits;\n\
         \tshl.b64 wide, number, 3;\n\tadd.s64 place, records, wide;\n\tld.global.b64 record, [place+0];\n\
         \tand.b64 record, record, dirty;\n\tcvt.u64.u32 wide, narrow;\n\tshl.b64 wide, wide, {RUN};\n\tor.b64 record, record, wide;\n\
         \tst.global.b64 [place+0], record;\n\
         $SKIP:\n\tadd.s64 number, number, step;\n\tbra $STATE;\n$DONE:\n\tret;\n}}\n",
        field(Field::First),
        field(Field::End),
        field(Field::Dead),
        field(Field::Records),
        field(Field::Pending),
        field(Field::Dirty)
    )
}
