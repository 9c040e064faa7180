//! Text of a function for a graphics card without the blocks that nothing leads to.
//!
//! The generator begins a block for each outcome of a guard before it is known which of them there are. On the processor Cranelift
//! drops those that are not reached; the assembler of a card would do so as well, after most of its work.

use std::collections::HashMap;

/// The text without the blocks that no other leads to. Blocks begin with a label, and end where the next one does.
pub(crate) fn reachable(text: &str) -> String {
    let mut blocks: Vec<(&str, Vec<&str>)> = vec![("", Vec::new())];
    for line in text.lines() {
        match line.strip_suffix(':').filter(|label| label.starts_with('$')) {
            Some(label) => blocks.push((label, vec![line])),
            None => blocks.last_mut().expect("the first one").1.push(line),
        }
    }
    let numbers: HashMap<&str, usize> =
        blocks.iter().enumerate().map(|(number, (label, _))| (*label, number)).collect();
    let mut is_reached = vec![false; blocks.len()];
    let mut waiting = vec![0];
    while let Some(number) = waiting.pop() {
        if std::mem::replace(&mut is_reached[number], true) {
            continue;
        }
        let lines = &blocks[number].1;
        let targets = lines.iter().filter_map(|line| Some(line.split_once("bra ")?.1));
        waiting.extend(targets.map(|target| numbers[target.trim_end_matches(';')]));
        let goes_on = |line: &&str| !line.starts_with("\tbra ") && !line.starts_with("\tret");
        if lines.last().is_none_or(goes_on) && number + 1 < blocks.len() {
            waiting.push(number + 1);
        }
    }
    let mut text = String::new();
    for ((_, lines), _) in blocks.iter().zip(is_reached).filter(|(_, is_reached)| *is_reached) {
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::reachable;

    #[test]
    fn what_is_jumped_to_and_what_follows_stays() {
        let text = "\tmov.b32 %r0, 1;\n\t@%p0 bra $B1;\n\tbra $B3;\n$B2:\n\tbra $B4;\n$B1:\n\tadd.s32 %r0, %r0, %r0;\n$B3:\n\tret;\n$B4:\n\tret;\n";
        let kept = "\tmov.b32 %r0, 1;\n\t@%p0 bra $B1;\n\tbra $B3;\n$B1:\n\tadd.s32 %r0, %r0, %r0;\n$B3:\n\tret;\n";
        assert_eq!(reachable(text), kept);
    }
}
