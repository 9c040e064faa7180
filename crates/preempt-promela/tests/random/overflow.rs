//! Makes models in which values do not fit where they go: assigned, sent, received, compared, passed to processes, counted
//! with, sorted by.

use super::{Node, Process, Random, RandomModel};

const GLOBALS: &[&str] = &[
    "bit b;",
    "byte y;",
    "short s;",
    "int i;",
    "unsigned u : 3;",
    "mtype = { red, green };",
    "mtype m;",
    "byte a[2];",
    "bit ab[2];",
    "typedef T { bit f; unsigned g : 2; byte h };",
    "T t;",
    "chan cb = [2] of { byte };",
    "chan c1 = [2] of { bit };",
    "chan cs = [2] of { short };",
    "chan ci = [2] of { int };",
    "chan c2 = [2] of { byte, bit };",
    // Spin allows no `unsigned` in messages.
    "typedef M { bit f; short g; byte h };",
    "chan ct = [1] of { M };",
];

/// A variable, and how many bits it has.
const VARIABLES: &[(&str, u32)] = &[
    ("b", 1),
    ("y", 8),
    ("s", 16),
    ("i", 32),
    ("u", 3),
    ("a[1]", 8),
    ("a[b]", 8),
    ("ab[b]", 1),
    ("t.f", 1),
    ("t.g", 2),
    ("t.h", 8),
    ("lb", 1),
    ("ly", 8),
    ("ls", 16),
];

/// A channel with the bits of its fields.
const CHANNELS: &[(&str, &[u32])] = &[
    ("cb", &[8]),
    // The only field of a message is a byte, also if it is declared as a bit.
    ("c1", &[8]),
    ("cs", &[16]),
    ("ci", &[32]),
    ("c2", &[8, 1]),
    ("ct", &[1, 16, 8]),
];

/// A model that overflows everywhere. `narrow`: it also receives into variables that are narrower than the field, which
/// Spin takes back wrongly.
pub(crate) fn make_overflow(random: &mut Random, narrow: bool) -> RandomModel {
    let rendezvous = !narrow && random.one_in(3);
    let mut globals: Vec<String> = GLOBALS.iter().map(|g| g.to_string()).collect();
    if rendezvous {
        globals.push("chan r = [0] of { byte, short };".into());
    }
    let mut maker = Maker { random, narrow, rendezvous, runs: false };
    let mut processes = Vec::new();
    for index in 0..2 {
        let mut body = vec![Node::Line("bit lb; byte ly; short ls".into())];
        body.extend(maker.statements(0));
        processes.push(Process { header: format!("active proctype P{index}()"), body });
    }
    if maker.runs {
        let body = vec![
            Node::Line("bit lb; byte ly; short ls".into()),
            Node::Line("i = p + q + r1".into()),
            Node::Line("assert(p < 3 || q == 1 || r1 > 5)".into()),
        ];
        let header = "proctype Q(byte p; bit q; short r1)".into();
        processes.push(Process { header, body });
    }
    RandomModel { globals, processes, tail: Vec::new() }
}

struct Maker<'r> {
    random: &'r mut Random,
    narrow: bool,
    rendezvous: bool,
    runs: bool,
}

impl Maker<'_> {
    fn statements(&mut self, depth: u32) -> Vec<Node> {
        let count = 2 + self.random.below(if depth == 0 { 4 } else { 2 });
        (0..count).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> Node {
        match self.random.below(12) {
            0 if depth < 2 => {
                let options = 1 + self.random.below(3);
                let mut all: Vec<Vec<Node>> = Vec::new();
                for _ in 0..options {
                    let mut option = vec![Node::Line(self.blocking())];
                    option.extend(self.statements(depth + 1));
                    all.push(option);
                }
                Node::Choice("if", all)
            }
            1 if depth < 2 => Node::Group("atomic", self.statements(depth + 1)),
            2 if depth < 2 => {
                let assignments = (0..2).map(|_| Node::Line(self.assignment())).collect();
                // No loop may end right in front of it.
                Node::Group("", vec![Node::Line("skip".into()), Node::Group("d_step", assignments)])
            }
            3 if depth < 2 => {
                let (from, to) = self.bounds();
                let variable = self.random.pick(&["y", "s", "ly", "ls", "u", "lb"]);
                let leave = "if :: (i > 3) -> break :: else fi; i++".into();
                let body = vec![Node::Line(leave), Node::Line(self.assignment())];
                Node::For(format!("i = 0; for ({variable} : {from} .. {to})"), body)
            }
            4 => {
                let variable = self.random.pick(&["y", "s", "ly", "ls", "u", "lb"]);
                let low = self.random.pick(&["254", "255", "7", "0", "65534", "32766"]);
                let more = 1 + self.random.below(3);
                Node::Line(format!("select ({variable} : {low} .. {low} + {more})"))
            }
            5 => Node::Line(format!("assert({})", self.condition())),
            6 => {
                self.runs = true;
                let (p, q, r) = (self.value(), self.value(), self.value());
                Node::Line(format!(
                    "if :: (_nr_pr < 4) -> run Q({p}, {q}, {r}) :: (_nr_pr >= 4) fi"
                ))
            }
            7 | 8 => Node::Line(self.blocking()),
            9 => {
                let value = self.value();
                Node::Line(format!("printf(\"%d\\n\", {value})"))
            }
            _ => Node::Line(self.assignment()),
        }
    }

    fn bounds(&mut self) -> (&'static str, &'static str) {
        let bounds = [("254", "257"), ("0", "300"), ("-1", "1"), ("6", "9"), ("32766", "32769")];
        bounds[self.random.below(bounds.len() as u64) as usize]
    }

    fn constant(&mut self) -> &'static str {
        self.random.pick(&[
            "0",
            "1",
            "2",
            "3",
            "4",
            "7",
            "8",
            "255",
            "256",
            "257",
            "300",
            "-1",
            "-2",
            "32767",
            "32768",
            "65535",
            "65536",
            "65537",
            "70000",
            "2147483647",
        ])
    }

    fn variable(&mut self) -> (&'static str, u32) {
        VARIABLES[self.random.below(VARIABLES.len() as u64) as usize]
    }

    fn value(&mut self) -> String {
        let variable = self.variable().0;
        match self.random.below(6) {
            0 | 1 => self.constant().into(),
            2 => variable.into(),
            3 => format!("{variable} + {}", self.constant()),
            4 => format!("{variable} * {}", self.constant()),
            _ => format!("-{variable}"),
        }
    }

    fn condition(&mut self) -> String {
        let (variable, value) = (self.variable().0, self.value());
        let operator = self.random.pick(&["==", "!=", "<", ">="]);
        format!("{variable} {operator} {value}")
    }

    fn assignment(&mut self) -> String {
        let variable = self.variable().0;
        match self.random.below(5) {
            0 => format!("{variable}++"),
            1 => format!("{variable}--"),
            2 => format!("m = {}", self.value()),
            _ => format!("{variable} = {}", self.value()),
        }
    }

    /// A message, or a condition.
    fn blocking(&mut self) -> String {
        if self.rendezvous && self.random.one_in(3) {
            let (one, two) = (self.value(), self.value());
            return match self.random.below(3) {
                0 => format!("r!{one}, {two}"),
                1 => format!("r?eval({one}), ls"),
                _ => "r?ly, ls".into(),
            };
        }
        let (channel, fields) = CHANNELS[self.random.below(CHANNELS.len() as u64) as usize];
        let mut list = |part: &mut dyn FnMut(&mut Self, u32) -> String| {
            let parts: Vec<String> = fields.iter().map(|bits| part(self, *bits)).collect();
            parts.join(", ")
        };
        let sent = list(&mut |this, _| this.value());
        let asked = list(&mut |this, bits| this.pattern(bits));
        match self.random.below(10) {
            0..=2 => format!("{channel}!{sent}"),
            3 => format!("{channel}!!{sent}"),
            4 => format!("{channel}??{asked}"),
            5 => format!("{channel}?<{asked}>"),
            6 => format!("{channel}?[{asked}]"),
            7 => format!("({})", self.condition()),
            _ => format!("{channel}?{asked}"),
        }
    }

    fn pattern(&mut self, bits: u32) -> String {
        match self.random.below(5) {
            0 => "_".into(),
            1 => self.constant().into(),
            2 => format!("eval({})", self.value()),
            _ => {
                // Every field needs a variable of its own: one per width and process.
                let wide = match bits {
                    0..=1 => "lb",
                    2..=8 => "ly",
                    9..=16 => "ls",
                    _ => "i",
                };
                let narrow = if bits > 8 { "u" } else { "b" };
                if self.narrow && bits > 3 { narrow.into() } else { wide.into() }
            }
        }
    }
}
