//! Text that copies states, which lie in global memory or a thread's own.

use super::ALIGNMENT;
use std::fmt::Write;
use std::ops::Range;

/// Most bytes that are copied without a loop.
const UNROLLED: u32 = 256;

/// So many bytes are read before anything is done with any of them: a thread waits once for them, and not for each piece.
pub(crate) const BLOCK: u32 = 64;

/// Stands behind the label of a loop. The assembler (12.9, and the driver 580) unrolls a loop over 26 to 29 pieces of a state
/// without asking whether anything is left, and writes on behind the state: loops count down and are not unrolled.
pub(crate) const LOOP: &str = "\t.pragma \"nounroll\";\n";

/// What [`copy_text`] needs in a function.
pub(crate) const COPY_REGISTERS: &str =
    "\t.reg .b64 copied<8>, copy_from, copy_to;\n\t.reg .b32 copy_left;\n\t.reg .pred copy_more;\n";

/// Copies so many bytes, a multiple of [`ALIGNMENT`], to where none of them lies; `name` tells the labels of one place from those
/// of another.
pub(crate) fn copy_text(from: &str, to: &str, bytes: u32, name: &str) -> String {
    let mut text = String::new();
    if bytes <= UNROLLED {
        for at in (0..bytes).step_by(BLOCK as usize) {
            copy_block(&mut text, from, to, at..bytes.min(at + BLOCK));
        }
        return text;
    }
    let _ = writeln!(
        text,
        "\tmov.b64 copy_from, {from};\n\tmov.b64 copy_to, {to};\n\tmov.b32 copy_left, {};\n${name}_COPY:\n{LOOP}",
        bytes / BLOCK
    );
    copy_block(&mut text, "copy_from", "copy_to", 0..BLOCK);
    let _ = writeln!(
        text,
        "\tadd.s64 copy_from, copy_from, {BLOCK};\n\tadd.s64 copy_to, copy_to, {BLOCK};\n\tsub.s32 copy_left, copy_left, 1;\n\
         \tsetp.ne.s32 copy_more, copy_left, 0;\n\t@copy_more bra ${name}_COPY;"
    );
    copy_block(&mut text, "copy_from", "copy_to", 0..bytes % BLOCK);
    text
}

fn copy_block(text: &mut String, from: &str, to: &str, bytes: Range<u32>) {
    let pair = |piece: usize| format!("{{copied{}, copied{}}}", 2 * piece, 2 * piece + 1);
    for (piece, at) in bytes.clone().step_by(ALIGNMENT as usize).enumerate() {
        let _ = writeln!(text, "\tld.v2.b64 {}, [{from}+{at}];", pair(piece));
    }
    for (piece, at) in bytes.step_by(ALIGNMENT as usize).enumerate() {
        let _ = writeln!(text, "\tst.v2.b64 [{to}+{at}], {};", pair(piece));
    }
}
