//! How text should look: how wide, with or without colour, with or without line-drawing characters.
//!
//! Colour only ever repeats what words and marks already say, so that a pipe, a black-and-white
//! terminal and a colour-blind reader lose nothing.

use anstyle::{AnsiColor, Style};

/// What the terminal can do and what its user wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Columns to fill at most.
    pub width: usize,
    /// Whether to write colour escapes.
    pub color: bool,
    /// Whether line-drawing characters may be used; otherwise plain ASCII.
    pub unicode: bool,
    /// Runs of one process longer than this are shortened; `None` shows everything.
    pub collapse: Option<usize>,
    /// Of longer traces the middle is left out; `None` shows everything.
    pub most_steps: Option<usize>,
}

impl Look {
    /// Unicode, no colour, nothing collapsed.
    pub fn plain(width: usize) -> Self {
        Look { width, color: false, unicode: true, collapse: None, most_steps: None }
    }

    /// ASCII, no colour, nothing collapsed.
    pub fn ascii(width: usize) -> Self {
        Look { unicode: false, ..Look::plain(width) }
    }

    /// The same with colour or without.
    pub fn with_color(self, color: bool) -> Self {
        Look { color, ..self }
    }

    /// The same with long runs of one process shortened.
    pub fn with_collapse(self, longest: usize) -> Self {
        Look { collapse: Some(longest), ..self }
    }

    /// The same with the middle of long traces left out.
    pub fn with_most_steps(self, most: usize) -> Self {
        Look { most_steps: Some(most), ..self }
    }

    /// `text` in a style, if colours are wanted.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_string();
        }
        let style = tone.style();
        format!("{}{text}{}", style.render(), style.render_reset())
    }

    /// The first in Unicode, the second in ASCII.
    pub(crate) fn glyph(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}

/// What a piece of text means.
#[derive(Clone, Copy)]
pub(crate) enum Tone {
    Good,
    Bad,
    Warning,
    Faint,
    Strong,
    Change,
    /// A process, by its place among the others.
    Lane(usize),
}

impl Tone {
    fn style(self) -> Style {
        const LANES: [AnsiColor; 6] = [
            AnsiColor::Cyan,
            AnsiColor::Green,
            AnsiColor::Magenta,
            AnsiColor::Blue,
            AnsiColor::BrightCyan,
            AnsiColor::BrightGreen,
        ];
        let color = |c: AnsiColor| c.on_default();
        match self {
            Tone::Good => color(AnsiColor::Green).bold(),
            Tone::Bad => color(AnsiColor::Red).bold(),
            Tone::Warning => color(AnsiColor::Yellow).bold(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Strong => Style::new().bold(),
            Tone::Change => color(AnsiColor::Yellow),
            Tone::Lane(n) => color(LANES[n % LANES.len()]),
        }
    }
}
