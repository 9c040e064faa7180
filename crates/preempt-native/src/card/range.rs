//! Which states of a range a thread takes: one after the other, as far apart as there are threads.

/// The number of the first state that a thread looks at, and how far apart those are that it does.
pub(super) const FIRST_NUMBER: &str = "\tmov.u32 narrow, %ctaid.x;\n\tmov.u32 bits, %ntid.x;\n\tmul.wide.u32 wide, narrow, bits;\n\
    \tadd.s64 number, number, wide;\n\tmov.u32 narrow, %tid.x;\n\tcvt.u64.u32 wide, narrow;\n\tadd.s64 number, number, wide;\n\
    \tmov.u32 narrow, %nctaid.x;\n\tmul.wide.u32 step, narrow, bits;\n";

/// Leads to `$DONE` behind the last state, and to `$SKIP` where a number is dead.
pub(super) const NEXT_NUMBER: &str = "$STATE:\n\tsetp.ge.u64 test, number, end;\n\t@test bra $DONE;\n\
    \tshr.u64 wide, number, 5;\n\tshl.b64 wide, wide, 2;\n\tadd.s64 place, dead, wide;\n\tld.global.b32 bits, [place+0];\n\
    \tcvt.u32.u64 narrow, number;\n\tand.b32 narrow, narrow, 31;\n\tshr.u32 bits, bits, narrow;\n\tand.b32 bits, bits, 1;\n\
    \tsetp.ne.s32 test, bits, 0;\n\t@test bra $SKIP;\n";
