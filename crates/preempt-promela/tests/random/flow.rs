//! Makes models whose control flow is random: jumps, labels, loops, `atomic`, `d_step`, `unless` nested in any way that
//! the grammar allows. Most combinations are refused by Spin, and exactly those must be refused here.
//!
//! How often each piece occurs differs from model to model, so that enough models are accepted and run.

use super::{Node, Process, Random, RandomModel};

/// How often pieces occur, in the weights of one draw.
struct Rates {
    jump: u64,
    label: u64,
    atomic: u64,
    d_step: u64,
    unless: u64,
    block: u64,
    choice: u64,
}

struct Maker<'r> {
    random: &'r mut Random,
    rates: Rates,
    labels: u64,
}

/// Makes a model.
pub(crate) fn make_flow(random: &mut Random) -> RandomModel {
    let mut rate = |rates: &[u64]| rates[random.below(rates.len() as u64) as usize];
    let rates = Rates {
        jump: rate(&[0, 1, 2, 5]),
        label: rate(&[0, 1, 1, 3]),
        atomic: rate(&[0, 1, 3]),
        d_step: rate(&[0, 1, 1, 3]),
        unless: rate(&[0, 1, 3]),
        block: rate(&[0, 1]),
        choice: rate(&[2, 4]),
    };
    let mut maker = Maker { random, rates, labels: 0 };
    let count = 1 + maker.random.below(2);
    let mut processes = Vec::new();
    for index in 0..count {
        maker.labels = 0;
        let mut body = vec![Node::Line("byte x".into())];
        body.extend(maker.sequence(0, 2, false));
        processes.push(Process { header: format!("active proctype P{index}()"), body });
    }
    let globals = vec!["byte g, h;".into(), "chan c = [1] of { byte };".into()];
    RandomModel { globals, processes, tail: Vec::new() }
}

impl RandomModel {
    /// Whether some part of the control flow is one that Spin gets wrong; `tests/spin_mistakes.rs` shows each.
    /// `only_we_refuse`: Spin accepts the model.
    pub(crate) fn flow_mistake(&self, only_we_refuse: bool) -> Option<&'static str> {
        let any = |test: &dyn Fn(&Node) -> bool| self.processes.iter().any(|p| has(&p.body, test));
        let nested = |node: &Node| match node {
            Node::Group("d_step", inner) => has(inner, &|n| matches!(n, Node::Group("d_step", _))),
            _ => false,
        };
        let ignored_guard = |node: &Node| match node {
            Node::Group("d_step", inner) => {
                let starts = starts_of(&inner[0]);
                starts.len() > 1
                    && starts.iter().any(|s| is_asked(s))
                    && !starts.iter().all(|s| is_asked(s))
            }
            _ => false,
        };
        let jumps_only = |node: &Node| match node {
            Node::Unless(main, _) => !has(main, &|n| matches!(n, Node::Line(l) if !is_jump(l))),
            _ => false,
        };
        if only_we_refuse {
            let forgotten = "behind a `d_step` inside of another one, the outer one is forgotten";
            return any(&nested).then_some(forgotten);
        }
        if any(&ignored_guard) {
            return Some("options at the start of a `d_step` that always can be taken are ignored");
        }
        if any(&jumps_only) {
            return Some("an escape from nothing but jumps is taken for unreachable");
        }
        None
    }
}

fn has(body: &[Node], test: &dyn Fn(&Node) -> bool) -> bool {
    body.iter().any(|node| {
        test(node)
            || match node {
                Node::Line(_) => false,
                Node::Choice(_, options) => options.iter().any(|option| has(option, test)),
                Node::Group(_, inner) | Node::For(_, inner) => has(inner, test),
                Node::Unless(main, escape) => has(main, test) || has(escape, test),
                Node::Labelled(_, inner) => has(std::slice::from_ref(inner), test),
            }
    })
}

/// The statements that a statement starts with.
fn starts_of(node: &Node) -> Vec<&str> {
    match node {
        Node::Line(line) => vec![line],
        Node::Choice(_, options) => options.iter().flat_map(|o| starts_of(&o[0])).collect(),
        Node::Group(_, inner) | Node::Unless(inner, _) => starts_of(&inner[0]),
        Node::For(..) => vec!["x = 0"],
        Node::Labelled(_, inner) => starts_of(inner),
    }
}

/// Whether Spin asks such a start of a `d_step` if it can be taken.
fn is_asked(line: &str) -> bool {
    line.starts_with('(')
        || line.starts_with("c!")
        || line.starts_with("c?")
        || line == "skip"
        || line == "else"
}

fn is_jump(line: &str) -> bool {
    line == "break" || line.starts_with("goto ")
}

impl Maker<'_> {
    fn sequence(&mut self, depth: u32, least: u64, in_loop: bool) -> Vec<Node> {
        let count = least + self.random.below(3);
        (0..count).map(|_| self.statement(depth, in_loop)).collect()
    }

    fn statement(&mut self, depth: u32, in_loop: bool) -> Node {
        let node = self.unlabelled(depth, in_loop);
        if self.random.below(12) < self.rates.label {
            self.labels += 1;
            let prefix = self.random.pick(&["L", "L", "L", "L", "end", "progress"]);
            return Node::Labelled(format!("{prefix}_{}", self.labels), Box::new(node));
        }
        node
    }

    fn unlabelled(&mut self, depth: u32, in_loop: bool) -> Node {
        let r = &self.rates;
        let weights = match depth {
            0..=3 => {
                [6, r.jump, 1, r.choice, r.choice / 2, r.atomic, r.d_step, r.block, r.unless, 1]
            }
            _ => [6, r.jump, 1, 0, 0, 0, 0, 0, 0, 0],
        };
        let mut at = self.random.below(weights.iter().sum::<u64>());
        let kind = weights.iter().position(|weight| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        });
        let inner = depth + 1;
        match kind.unwrap_or(0) {
            // Labels that are not made yet are jumped to as well.
            1 => Node::Line(format!("goto ?_{}", 1 + self.random.below(self.labels + 2))),
            // Outside of a loop both sides refuse it.
            2 if in_loop || self.random.one_in(40) => Node::Line("break".into()),
            3 => self.choice("if", inner, in_loop),
            4 => self.choice("do", inner, true),
            5 => Node::Group("atomic", self.sequence(inner, 1, in_loop)),
            6 => Node::Group("d_step", self.sequence(inner, 1, in_loop)),
            7 => Node::Group("", self.sequence(inner, 1, in_loop)),
            8 if self.random.one_in(4) => {
                let (main, escape) = (self.simple(), self.simple());
                Node::Line(format!("{main} unless {escape}"))
            }
            8 => {
                let main = self.sequence(inner, 1, in_loop);
                let mut escape = vec![Node::Line(self.guard())];
                if self.random.one_in(6) {
                    escape.clear();
                }
                escape.extend(self.sequence(inner, 1, in_loop));
                Node::Unless(main, escape)
            }
            9 => Node::For("for (x : 0 .. 1)".into(), self.sequence(inner, 1, true)),
            _ => Node::Line(self.simple()),
        }
    }

    fn choice(&mut self, kind: &'static str, depth: u32, in_loop: bool) -> Node {
        let mut options = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let mut option = Vec::new();
            if !self.random.one_in(4) {
                option.push(Node::Line(self.guard()));
            }
            option.extend(self.sequence(depth, u64::from(option.is_empty()), in_loop));
            if kind == "do" && self.random.one_in(3) {
                option.push(Node::Line("break".into()));
            }
            options.push(option);
        }
        if self.random.one_in(3) {
            let mut option = vec![Node::Line("else".into())];
            option.extend(self.sequence(depth, 0, in_loop));
            options.push(option);
        }
        Node::Choice(kind, options)
    }

    fn guard(&mut self) -> String {
        let variable = self.random.pick(&["g", "h", "x"]);
        let operator = self.random.pick(&["==", "!=", "<"]);
        format!("({variable} {operator} {})", self.random.below(3))
    }

    fn simple(&mut self) -> String {
        let variable = self.random.pick(&["g", "g", "h", "x"]);
        match self.random.below(16) {
            0..=3 => format!("{variable} = ({variable} + 1) % 3"),
            4..=7 => format!("{variable} = {}", self.random.below(3)),
            8 => self.guard(),
            9 => "skip".into(),
            10 | 11 => format!("assert{}", self.guard()),
            12 => "c!1".into(),
            13 => "c?x".into(),
            14 => "select (x : 0 .. 1)".into(),
            _ => "printf(\"\\n\")".into(),
        }
    }
}
