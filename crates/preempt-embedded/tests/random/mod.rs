//! Random models with random pieces of C.

use preempt_testing::Random;
use std::fmt::Write;

/// A model in the making. Values stay small: everything is taken modulo a small number.
struct Maker {
    random: Random,
    /// The process type being written.
    name: String,
    /// C keeps addresses, also of variables of processes, and writes through them.
    addresses: bool,
}

impl Maker {
    /// Something that C can assign to.
    fn target(&mut self) -> String {
        let mine = format!("P{}->", self.name);
        match self.random.below(if self.addresses { 13 } else { 9 }) {
            9 | 10 => "(*(now.to_byte ? now.to_byte : &now.g))".into(),
            11 | 12 => "(*(now.to_int ? now.to_int : &tracked))".into(),
            0 => "now.g".into(),
            1 => "now.b".into(),
            2 => format!("now.a[{}]", self.random.below(2)),
            3 => "now.u".into(),
            4 => format!("now.t.{}", self.random.pick(&["l", "r[0]", "r[1]", "f"])),
            5 => "now.c_field".into(),
            6 => "tracked".into(),
            7 => format!("{mine}c_local"),
            _ => format!("{mine}{}", self.random.pick(&["x", "y", "z"])),
        }
    }

    /// An expression of C.
    fn value(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.below(3) == 0 {
            return match self.random.below(5) {
                0 => self.random.below(4).to_string(),
                1 => format!("P{}->_pid", self.name),
                2 if depth > 0 => format!("bumped({})", self.value(0)),
                _ => self.target(),
            };
        }
        let operator = self.random.pick(&["+", "*", "|", "&", "^", "<", "==", ">=", "&&", "||"]);
        format!("({} {operator} {})", self.value(depth - 1), self.value(depth - 1))
    }

    fn assignment(&mut self) -> String {
        let (target, value) = (self.target(), self.value(2));
        if self.addresses && self.random.below(3) == 0 {
            let mine = format!("P{}->", self.name);
            return match self.random.below(6) {
                0 => "now.to_byte = &now.t.l;".into(),
                1 | 2 => format!("now.to_byte = &{mine}x;"),
                3 => format!("if ({value}) now.to_int = 0; else now.to_int = &tracked;"),
                _ => format!("now.to_int = &{mine}c_local;"),
            };
        }
        match self.random.below(4) {
            0 => format!("if ({value}) {target} = {};", self.random.below(3)),
            1 => format!("{{ int old = {target}; {target} = (old + {value}) & 1; }}"),
            _ => format!("{target} = ({value}) & {};", self.random.pick(&["1", "3"])),
        }
    }

    fn code(&mut self) -> String {
        let guard = match self.random.below(8) {
            0 => format!(" [{} < 6]", self.target()),
            _ => String::new(),
        };
        let mut body = self.assignment();
        if self.random.below(3) == 0 {
            body = format!("{body} {}", self.assignment());
        }
        format!("c_code{guard} {{ {body} }}")
    }

    fn condition(&mut self) -> String {
        // Spin takes a call in an expression for a side effect, and refuses it.
        loop {
            let value = self.value(2);
            if !value.contains("bumped") && value.contains(['n', 't', 'P']) {
                return format!("c_expr {{ {value} }}");
            }
        }
    }

    fn plain(&mut self) -> String {
        let target = self.random.pick(&["g", "b", "a[1]", "u", "t.l", "x", "y", "z"]);
        let value = self.random.pick(&["1 - b", "(g + 1) % 3", "x", "t.r[0]", "z & 1", "a[0]"]);
        format!("{target} = {value}")
    }

    fn statement(&mut self, depth: u32) -> String {
        match self.random.below(if depth > 0 { 13 } else { 7 }) {
            0..=2 => self.code(),
            3 => self.plain(),
            4 => format!("assert({} || true)", self.condition()),
            5 => match self.random.below(6) {
                0 => format!("assert({})", self.condition()),
                _ => self.code(),
            },
            6 => match self.random.below(3) {
                0 => "q!g".into(),
                1 => "q?x".into(),
                _ => self.condition(),
            },
            7 | 8 => {
                let (first, second) = (self.condition(), self.condition());
                let last = if self.random.below(2) == 0 { "else".into() } else { self.condition() };
                let [a, b, c] = [(); 3].map(|()| self.statement(depth - 1));
                format!("if :: {first} -> {a} :: {second} -> {b} :: {last} -> {c} fi")
            }
            9 => {
                let (condition, inside) = (self.condition(), self.sequence(depth - 1));
                format!("do :: {condition} -> {inside} :: {} -> break :: else -> break od", {
                    self.condition()
                })
            }
            10 => format!("atomic {{ {} }}", self.sequence(depth - 1)),
            11 => format!("skip; d_step {{ {}; {}; {} }}", self.code(), self.plain(), self.code()),
            _ => format!("{{ {} }} unless {{ {} -> {} }}", self.code(), self.condition(), {
                self.plain()
            }),
        }
    }

    fn sequence(&mut self, depth: u32) -> String {
        let count = 1 + self.random.below(3);
        let list: Vec<String> = (0..count).map(|_| self.statement(depth)).collect();
        list.join(";\n  ")
    }
}

/// The model of a seed.
pub(crate) fn model(seed: u64) -> String {
    written(Maker { random: Random::multiplied(seed, 33), name: String::new(), addresses: false })
}

/// The model of a seed: its processes keep addresses, and write to variables of others by them.
pub(crate) fn model_with_addresses(seed: u64) -> String {
    written(Maker { random: Random::multiplied(seed, 37), name: String::new(), addresses: true })
}

fn written(mut maker: Maker) -> String {
    for _ in 0..5 {
        maker.random.below(2);
    }
    let mut text = String::from(
        "c_decl { int tracked; }\nc_track \"&tracked\" \"sizeof(int)\"\n\
         c_state \"short c_field\" \"Global\" \"1\"\n\
         c_code { static int bumped(int by) { return (now.g + by) & 3; } }\n\
         typedef T { byte l; short r[2]; bit f };\n\
         byte g = 1; bit b; bool a[2]; unsigned u : 2; T t; chan q = [1] of { byte };\n",
    );
    if maker.addresses {
        text.push_str(
            "c_state \"unsigned char *to_byte\" \"Global\"\nc_state \"int *to_int\" \"Global\"\n",
        );
    }
    let processes = 1 + maker.random.below(2);
    for process in 0..processes {
        maker.name = format!("p{process}");
        _ = writeln!(
            text,
            "c_state \"int c_local\" \"Local p{process}\" \"{}\"",
            maker.random.below(2)
        );
        let mut body = maker.sequence(2);
        if maker.addresses {
            // In Spin the memory of a process that has ended holds whatever lies there by then.
            body.push_str(";\n  end: false");
        }
        let instances = 1 + maker.random.below(if processes == 1 { 3 } else { 2 });
        _ = writeln!(
            text,
            "active [{instances}] proctype p{process}() {{\n  byte x; bit y; unsigned z : 2;\n  {body}\n}}"
        );
    }
    if maker.random.below(5) == 0 {
        text.push_str(
            "never { do :: c_expr { now.g < 2 } :: c_expr { now.g >= 2 && now.b } -> break od }\n",
        );
    }
    text
}

/// The model of a seed, with a claim whose C changes it.
pub(crate) fn model_with_changing_claim(seed: u64) -> String {
    let mut text = model(seed);
    if let Some(at) = text.find("never {") {
        text.truncate(at);
    }
    let mut claim = ClaimMaker { random: Random::multiplied(seed, 35) };
    for _ in 0..5 {
        claim.random.below(2);
    }
    text.push_str(&claim.claim());
    text
}

/// A never claim in the making.
struct ClaimMaker {
    random: Random,
}

impl ClaimMaker {
    fn condition(&mut self) -> String {
        let c = [
            "now.g < 2",
            "now.g >= 1",
            "now.b",
            "tracked == 0",
            "tracked != 1 && now.g",
            "now.t.l != now.c_field",
            "now._nr_pr > 1",
            "now.u > 0",
        ];
        match self.random.below(6) {
            0 => "b || g == 1".into(),
            1 => "(g != 2)".into(),
            _ => format!("c_expr {{ {} }}", self.random.pick(&c)),
        }
    }

    fn code(&mut self) -> String {
        let target = self.random.pick(&[
            "now.g",
            "now.b",
            "now.a[1]",
            "now.u",
            "now.t.l",
            "now.t.r[0]",
            "now.c_field",
            "tracked",
        ]);
        let value = self.random.pick(&[
            "now.g + 1",
            "tracked + now.b",
            "1 - now.b",
            "tracked + 1",
            "0",
            "now.t.l ^ 1",
            "bumped(1)",
        ]);
        let more = match self.random.below(4) {
            0 => " tracked = now.g & 1;",
            _ => "",
        };
        format!("c_code {{ {target} = ({value}) & 1;{more} }}")
    }

    /// What a choice of the loop does. There are no atomic sequences: where nothing can move but the claim, Spin stores
    /// states inside of them, or repeats them up to its limit of depth.
    fn branch(&mut self) -> String {
        match self.random.below(6) {
            0 => self.condition(),
            1 => self.code(),
            2 => format!("{} -> {}; assert(g < 2)", self.condition(), self.code()),
            3 => format!("{} -> {}; {}", self.condition(), self.code(), self.condition()),
            _ => format!("{} -> {}", self.condition(), self.code()),
        }
    }

    fn claim(&mut self) -> String {
        let branches = 1 + self.random.below(3);
        let mut list: Vec<String> = (0..branches).map(|_| self.branch()).collect();
        if self.random.below(2) == 0 {
            list.push("else".into());
        }
        if self.random.below(3) == 0 {
            list.push(format!("{} -> break", self.condition()));
        }
        format!("never {{ do :: {} od }}\n", list.join(" :: "))
    }
}
