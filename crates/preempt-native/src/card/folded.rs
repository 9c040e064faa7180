//! States as trees of pairs, for a card that is full: parts that states have in common are stored once.
//!
//! The words of a state, of four bytes each, are the leaves of a tree. A *node* is a pair of two leaves or of the numbers of two nodes,
//! eight bytes; it lies in a table, and its number is its slot. The pair at the top, the *root*, stands for the whole state in
//! the arena. Nodes have the numbers of a heap: those below node `n` are `2n` and `2n + 1`, the root is 1, and of `w` leaves the
//! first is `w`. So the pair of a node lies at its number times eight bytes in a thread's own memory.
//!
//! A successor has most of its parts from its predecessor. Where a pair is the same as there, so is the number of its node, and
//! the table is not asked.
//!
//! **Invariant:** a node is claimed by one atomic exchange and never changes, so equal pairs have equal numbers, and two
//! states are equal if their roots are. A pair of zeros, which would be an empty slot, has the number -1.
//!
//! These are the tree tables of Laarman, van de Pol and Weber, but for roots, which have no table of their own: the index of states
//! names them, as it names whole states.

use super::layout::{
    Counter, FOLD, Field, GROUP_WORDS, GROUPS, ROOT_BYTES, UNFOLD, counter, field,
};
use super::range::{FIRST_NUMBER, NEXT_NUMBER, locate};
use crate::generate::code::Parameter::{Address, Number};
use crate::generate::ptx::{COPY_REGISTERS, Callee, LOOP, call_text, copy_text};
use std::fmt::Write;

/// So many slots, a cache line, are probed one after the other before another line is.
pub const LINE: u32 = 16;
/// So many slots are probed before the table counts as full. If nine of ten are taken, four lines of five still have a free one, so
/// that one pair in a billion looks at a dozen lines.
const MOST_PROBES: u32 = 24 * LINE;

const FACTOR: u64 = 0xa076_1d64_78bd_642f;

/// How many leaves a state has.
fn leaves(stride: u32) -> u32 {
    stride / 4
}

/// Bytes of a tree in a thread's own memory: for each number of the heap a number, or a leaf.
pub(super) fn tree_bytes(stride: u32) -> u32 {
    2 * stride
}

/// `(tree, like, block) -> full`: finds the nodes above the leaves of a tree, of which `like` is another one, or 0.
pub(super) fn fold() -> Callee {
    Callee { name: "fold_tree".into(), parameters: vec![Address; 3], result: Number }
}

/// `(tree, root, block) -> nothing`: finds the leaves below a root, which lies in global memory.
pub(super) fn unfold() -> Callee {
    Callee { name: "unfold_tree".into(), parameters: vec![Address; 3], result: Number }
}

/// The text of both, in front of what calls them.
pub(super) fn functions(stride: u32) -> String {
    let (last, last_of_line) = (leaves(stride) - 1, LINE - 1);
    let mut text = crate::generate::ptx::heading(&fold());
    let _ = write!(
        text,
        "\n{{\n\t.reg .b64 tree, like, block, nodes, slots, pair, other, slot, place, entry, wide, claimed, low;\n\
         \t.reg .b32 left, number, probes, narrow;\n\t.reg .pred test;\n\
         \tld.param.b64 tree, [p0];\n\tld.param.b64 like, [p1];\n\tld.param.b64 block, [p2];\n\
         \tld.global.b64 nodes, [block+{}];\n\tld.global.b64 slots, [block+{}];\n\tmov.b64 claimed, 0;\n\tmov.b32 left, {last};\n\
         $NODE:\n{LOOP}\tmul.wide.u32 wide, left, 8;\n\tadd.s64 place, tree, wide;\n\tld.b64 pair, [place+0];\n\
         \tsetp.eq.u64 test, like, 0;\n\t@test bra $ASK;\n\
         \tadd.s64 place, like, wide;\n\tld.b64 other, [place+0];\n\tsetp.ne.u64 test, pair, other;\n\t@test bra $ASK;\n\
         \tmul.wide.u32 wide, left, 4;\n\tadd.s64 place, like, wide;\n\tld.b32 number, [place+0];\n\tbra $KNOWN;\n\
         $ASK:\n\tmov.b32 number, -1;\n\tsetp.eq.u64 test, pair, 0;\n\t@test bra $KNOWN;\n\
         \tmov.b64 wide, {FACTOR:#x};\n\tmul.lo.u64 low, pair, wide;\n\tmul.hi.u64 other, pair, wide;\n\txor.b64 other, low, other;\n\
         \tmul.lo.u64 other, other, wide;\n\tmul.hi.u64 slot, other, slots;\n\tmov.b32 probes, 0;\n\
         $PROBE:\n{LOOP}\tshl.b64 place, slot, 3;\n\tadd.s64 place, nodes, place;\n\tld.global.cg.b64 entry, [place+0];\n\
         \tsetp.eq.u64 test, entry, pair;\n\t@test bra $FOUND;\n\tsetp.ne.u64 test, entry, 0;\n\t@test bra $ON;\n\
         \tmov.b64 wide, 0;\n\tatom.global.cas.b64 entry, [place+0], wide, pair;\n\
         \tsetp.eq.u64 test, entry, pair;\n\t@test bra $FOUND;\n\tsetp.ne.u64 test, entry, 0;\n\t@test bra $ON;\n\
         \tadd.s64 claimed, claimed, 1;\n\tbra $FOUND;\n\
         $ON:\n\tadd.s32 probes, probes, 1;\n\tand.b32 narrow, probes, {last_of_line};\n\tsetp.eq.s32 test, narrow, 0;\n\t@test bra $LINE;\n\
         \tadd.s64 wide, slot, 1;\n\tand.b64 wide, wide, {last_of_line};\n\tand.b64 slot, slot, -{LINE};\n\tor.b64 slot, slot, wide;\n\tbra $PROBE;\n\
         $LINE:\n\tmov.b64 wide, {FACTOR:#x};\n\tmul.lo.u64 other, other, wide;\n\tadd.s64 other, other, 1;\n\tmul.hi.u64 slot, other, slots;\n\
         \tsetp.lt.u32 test, probes, {MOST_PROBES};\n\t@test bra $PROBE;\n\
         \tld.global.b64 place, [block+{}];\n\tmov.b64 wide, 1;\n\tst.global.b64 [place+{}], wide;\n\tst.global.b64 [place+{}], wide;\n\
         \tmov.b32 number, 1;\n\tbra $END;\n\
         $FOUND:\n\tcvt.u32.u64 number, slot;\n\
         $KNOWN:\n\tmul.wide.u32 wide, left, 4;\n\tadd.s64 place, tree, wide;\n\tst.b32 [place+0], number;\n\
         \tsub.s32 left, left, 1;\n\tsetp.gt.u32 test, left, 1;\n\t@test bra $NODE;\n\tmov.b32 number, 0;\n\
         $END:\n\tsetp.eq.u64 test, claimed, 0;\n\t@test bra $COUNTED;\n\tld.global.b64 place, [block+{}];\n\
         \tmov.u32 narrow, %ctaid.x;\n\tand.b32 narrow, narrow, {};\n\tmul.wide.u32 wide, narrow, {};\n\tadd.s64 place, place, wide;\n\
         \tatom.global.add.u64 wide, [place+{}], claimed;\n$COUNTED:\n\tst.param.b32 [result], number;\n\tret;\n}}\n\n",
        field(Field::Nodes),
        field(Field::NodeSlots),
        field(Field::Counters),
        counter(Counter::Full),
        counter(Counter::NodesFull),
        field(Field::Counters),
        GROUPS - 1,
        8 * GROUP_WORDS,
        counter(Counter::Groups) + 24,
    );
    text.push_str(&crate::generate::ptx::heading(&unfold()));
    let _ = write!(
        text,
        "\n{{\n\t.reg .b64 tree, root, block, nodes, pair, place, wide;\n\t.reg .b32 at, number, left;\n\t.reg .pred test;\n\
         \tld.param.b64 tree, [p0];\n\tld.param.b64 root, [p1];\n\tld.param.b64 block, [p2];\n\
         \tld.global.b64 nodes, [block+{}];\n\tld.global.cg.b64 pair, [root+0];\n\tst.b64 [tree+8], pair;\n\
         \tmov.b32 at, 2;\n\tmov.b32 left, {};\n\
         $NODE:\n{LOOP}\tmul.wide.u32 wide, at, 4;\n\tadd.s64 place, tree, wide;\n\tld.b32 number, [place+0];\n\tmov.b64 pair, 0;\n\
         \tsetp.eq.s32 test, number, -1;\n\t@test bra $KNOWN;\n\
         \tmul.wide.u32 wide, number, 8;\n\tadd.s64 place, nodes, wide;\n\tld.global.cg.b64 pair, [place+0];\n\
         $KNOWN:\n\tmul.wide.u32 wide, at, 8;\n\tadd.s64 place, tree, wide;\n\tst.b64 [place+0], pair;\n\
         \tadd.s32 at, at, 1;\n\tsub.s32 left, left, 1;\n\tsetp.ne.s32 test, left, 0;\n\t@test bra $NODE;\n\
         \tmov.b32 number, 0;\n\tst.param.b32 [result], number;\n\tret;\n}}\n\n",
        field(Field::Nodes),
        last - 1,
    );
    text
}

/// What a function needs that has a tree of its own.
pub(super) fn declare(stride: u32) -> String {
    format!(
        "\t.local .align 16 .b8 tree_bytes[{}];\n\t.reg .b64 tree, leaves;\n",
        tree_bytes(stride)
    )
}

pub(super) fn begin(stride: u32) -> String {
    format!(
        "\tmov.b64 tree, tree_bytes;\n\tcvta.local.u64 tree, tree;\n\tadd.s64 leaves, tree, {stride};\n"
    )
}

/// Finds the leaves of the state whose root lies at `root`.
pub(super) fn unfolded(root: &str, result: &str) -> String {
    call_text(&unfold(), &["tree", root, "block"].map(String::from), result)
}

/// The kernels that fold the states of a range, whose roots they leave at [`Field::Staging`], and that leave states whole
/// there.
pub(super) fn kernels(stride: u32) -> String {
    let mut text = String::new();
    for kernel in [FOLD, UNFOLD] {
        let _ = write!(
            text,
            "\n.visible .entry {kernel}(.param .u64 parameters)\n{{\n{}\
             \t.reg .b64 block, arena, base, dead, number, end, step, first, staging, wide, place, low, root, there;\n\
             \t.reg .b32 narrow, bits, found;\n\t.reg .pred test;\n{COPY_REGISTERS}\tld.param.u64 block, [parameters];\n\
             \tld.global.b64 arena, [block+{}];\n\tld.global.b64 base, [block+{}];\n\tld.global.b64 dead, [block+{}];\n\
             \tld.global.b64 number, [block+{}];\n\tld.global.b64 end, [block+{}];\n\tld.global.b64 staging, [block+{}];\n\
             \tmov.b64 first, number;\n{}{FIRST_NUMBER}{NEXT_NUMBER}",
            declare(stride),
            field(Field::Arena),
            field(Field::Base),
            field(Field::Dead),
            field(Field::First),
            field(Field::End),
            field(Field::Staging),
            begin(stride),
        );
        if kernel == FOLD {
            text.push_str(&locate("number", "there", stride, "STATE"));
            text.push_str(&copy_text("there", "leaves", stride, "WHOLE"));
            text.push_str("\tmov.b64 wide, 0;\n");
            let arguments = ["tree", "wide", "block"].map(String::from);
            text.push_str(&call_text(&fold(), &arguments, "found"));
            let _ = write!(
                text,
                "\tsub.s64 wide, number, first;\n\tmul.lo.u64 wide, wide, {ROOT_BYTES};\n\tadd.s64 place, staging, wide;\n\
                 \tld.b64 root, [tree+8];\n\tst.global.b64 [place+0], root;\n"
            );
        } else {
            text.push_str(&locate("number", "there", ROOT_BYTES, "STATE"));
            text.push_str(&unfolded("there", "found"));
            let _ = write!(
                text,
                "\tsub.s64 wide, number, first;\n\tmul.lo.u64 wide, wide, {stride};\n\tadd.s64 place, staging, wide;\n"
            );
            text.push_str(&copy_text("leaves", "place", stride, "WHOLE"));
        }
        text.push_str(
            "$SKIP:\n\tadd.s64 number, number, step;\n\tbra $STATE;\n$DONE:\n\tret;\n}\n",
        );
    }
    text
}
