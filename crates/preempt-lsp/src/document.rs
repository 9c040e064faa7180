//! A text that an editor has open: bytes, lines, and the positions that the protocol counts in.
//!
//! The protocol counts columns in UTF-16 units; we count bytes. A position behind the end of a line is its end,
//! as the protocol wants it.

use lsp_types::{Position, Range as LspRange};
use std::ops::Range;

/// See the module's text.
pub(crate) struct Document {
    pub(crate) text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl Document {
    pub(crate) fn new(text: String) -> Self {
        let begins = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(begins).collect();
        Document { text, lines }
    }

    /// The position of a byte.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines.partition_point(|begin| *begin <= offset) - 1;
        let column = self.text[self.lines[line]..offset].encode_utf16().count();
        Position::new(line as u32, column as u32)
    }

    /// The byte at a position.
    pub(crate) fn offset(&self, position: Position) -> usize {
        let Some(&begin) = self.lines.get(position.line as usize) else { return self.text.len() };
        let line = self.text[begin..].split('\n').next().unwrap_or("");
        let mut units = 0;
        for (at, letter) in line.char_indices() {
            if units >= position.character as usize {
                return begin + at;
            }
            units += letter.len_utf16();
        }
        begin + line.len()
    }

    pub(crate) fn range(&self, bytes: Range<usize>) -> LspRange {
        LspRange::new(self.position(bytes.start), self.position(bytes.end))
    }

    /// A line without the blanks at its sides; lines count from 0.
    pub(crate) fn line(&self, number: usize) -> LspRange {
        let begin = self.lines.get(number).copied().unwrap_or(self.text.len());
        let line = self.text[begin..].split('\n').next().unwrap_or("");
        let blanks = line.len() - line.trim_start().len();
        self.range(begin + blanks..begin + line.trim_end().len().max(blanks))
    }

    /// All of it.
    pub(crate) fn whole(&self) -> LspRange {
        self.range(0..self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf16_units() {
        let document = Document::new("a\nbäc😀d\n".into());
        for offset in (0..=document.text.len()).filter(|at| document.text.is_char_boundary(*at)) {
            assert_eq!(document.offset(document.position(offset)), offset);
        }
        assert_eq!(document.position(document.text.find('d').unwrap()), Position::new(1, 5));
        assert_eq!(document.offset(Position::new(1, 99)), document.text.len() - 1);
        assert_eq!(document.offset(Position::new(99, 0)), document.text.len());
    }
}
