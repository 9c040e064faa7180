//! Which states of a range a thread takes, one after the other, as far apart as there are threads; and where a state lies.

use super::layout::{Field, field};

/// The number of the first state that a thread looks at, and how far apart those are that it does.
pub(super) const FIRST_NUMBER: &str = "\tmov.u32 narrow, %ctaid.x;\n\tmov.u32 bits, %ntid.x;\n\tmul.wide.u32 wide, narrow, bits;\n\
    \tadd.s64 number, number, wide;\n\tmov.u32 narrow, %tid.x;\n\tcvt.u64.u32 wide, narrow;\n\tadd.s64 number, number, wide;\n\
    \tmov.u32 narrow, %nctaid.x;\n\tmul.wide.u32 step, narrow, bits;\n";

/// Leads to `$DONE` behind the last state, and to `$SKIP` where a number is dead.
pub(super) const NEXT_NUMBER: &str = "$STATE:\n\tsetp.ge.u64 test, number, end;\n\t@test bra $DONE;\n\
    \tshr.u64 wide, number, 5;\n\tshl.b64 wide, wide, 2;\n\tadd.s64 place, dead, wide;\n\tld.global.b32 bits, [place+0];\n\
    \tcvt.u32.u64 narrow, number;\n\tand.b32 narrow, narrow, 31;\n\tshr.u32 bits, bits, narrow;\n\tand.b32 bits, bits, 1;\n\
    \tsetp.ne.s32 test, bits, 0;\n\t@test bra $SKIP;\n";

/// Puts the address of the state `number` into `there`. Older states lie in blocks of the machine's memory; `name` tells the
/// labels of one place from those of another. Changes `wide`, `narrow` and `low`.
pub(super) fn locate(number: &str, there: &str, stride: u32, name: &str) -> String {
    format!(
        "\tsetp.lt.u64 test, {number}, base;\n\t@test bra ${name}_OUT;\n\tmul.lo.u64 {there}, {number}, {stride};\n\tadd.s64 {there}, arena, {there};\n\
         \tbra ${name}_IN;\n${name}_OUT:\n\tld.global.b64 wide, [block+{}];\n\tcvt.u32.u64 narrow, wide;\n\
         \tshr.u64 wide, {number}, narrow;\n\tshl.b64 low, wide, narrow;\n\tsub.s64 low, {number}, low;\n\tmul.lo.u64 low, low, {stride};\n\
         \tshl.b64 wide, wide, 3;\n\tld.global.b64 {there}, [block+{}];\n\tadd.s64 {there}, {there}, wide;\n\tld.global.b64 {there}, [{there}+0];\n\
         \tadd.s64 {there}, {there}, low;\n${name}_IN:\n",
        field(Field::Shift),
        field(Field::Blocks)
    )
}
