//! Makes one random model.

use super::features::{FEATURES, Feature};
use super::{Node, Process, Random, RandomModel};

/// What may stand in the body being made.
#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    in_loop: bool,
    in_d_step: bool,
    in_atomic: bool,
    has_parameter: bool,
}

/// Makes a model; `wanted` names a feature that it must have.
pub(crate) fn make(random: &mut Random, wanted: Option<&str>) -> RandomModel {
    let mut features: Vec<&'static Feature> = Vec::new();
    for feature in FEATURES {
        // The basics alone must stay frequent enough, and models small enough.
        if wanted == Some(feature.name) || random.one_in(10) {
            features.push(feature);
        }
    }
    let mut globals: Vec<String> = vec![
        "byte g, h;".into(),
        "bit flag;".into(),
        "byte a[2];".into(),
        format!("chan c = [{}] of {{ byte }};", 1 + random.below(2)),
        format!("chan d = [{}] of {{ byte, bit }};", 1 + random.below(2)),
        "chan r = [0] of { byte };".into(),
        if random.one_in(4) { "short never_read;".into() } else { "byte never_read;".into() },
        "mtype = { red, green };".into(),
        "mtype m = red;".into(),
        "typedef T { byte x; bit y[2] };".into(),
        "T t;".into(),
    ];
    // Spin refuses rendezvous channels beside priorities and `enabled`.
    let excluded = features.iter().any(|f| matches!(f.name, "priority" | "built-ins"));
    features.retain(|f| !excluded || f.name != "rendezvous arrays");
    let rendezvous = random.one_in(2) && !excluded;
    globals.retain(|g| rendezvous || !g.starts_with("chan r "));
    for feature in &features {
        globals.extend(feature.globals.iter().map(|g| g.to_string()));
    }
    let mut tail = Vec::new();
    for feature in features.iter().filter(|f| !f.tail.is_empty()) {
        tail.push(random.pick(feature.tail).replace('$', ""));
    }
    let mut maker = Maker { random, rendezvous, labels: 0, runs: false, features };
    let mut processes = Vec::new();
    let count = 2 + maker.random.below(2);
    for index in 0..count {
        maker.labels = 0;
        let more = maker.piece(|f| f.headers).unwrap_or("");
        let kind = if maker.random.one_in(12) { "D_proctype" } else { "proctype" };
        let header = format!("active {kind} P{index}(){more}");
        let body = maker.body(false);
        processes.push(Process { header, body });
    }
    if maker.runs {
        maker.labels = 0;
        maker.runs = false;
        let body = maker.body(true);
        processes.push(Process { header: "proctype Q(byte p)".into(), body });
    }
    RandomModel { globals, processes, tail }
}

struct Maker<'r> {
    random: &'r mut Random,
    rendezvous: bool,
    labels: u32,
    runs: bool,
    features: Vec<&'static Feature>,
}

impl Maker<'_> {
    /// Something out of the features this model has.
    fn piece(&mut self, part: fn(&Feature) -> &'static [&'static str]) -> Option<&'static str> {
        let all: Vec<&'static [&'static str]> =
            self.features.iter().map(|f| part(f)).filter(|list| !list.is_empty()).collect();
        if all.is_empty() {
            return None;
        }
        let list = all[self.random.below(all.len() as u64) as usize];
        Some(self.random.pick(list))
    }

    /// Such a piece half of the time.
    fn maybe(&mut self, part: fn(&Feature) -> &'static [&'static str]) -> Option<&'static str> {
        if self.random.one_in(2) { self.piece(part) } else { None }
    }

    fn body(&mut self, has_parameter: bool) -> Vec<Node> {
        let mut body = vec![Node::Line("byte x, y".into())];
        for feature in &self.features {
            body.extend(feature.locals.iter().map(|l| Node::Line(l.to_string())));
        }
        if self.random.one_in(6) {
            body.push(Node::Line("chan own = [1] of { byte }".into()));
            body.push(Node::Line("own!1".into()));
            body.push(Node::Line("own?x".into()));
        }
        let place =
            Place { depth: 0, in_loop: false, in_d_step: false, in_atomic: false, has_parameter };
        body.extend(self.statements(place, 1));
        body
    }

    fn statements(&mut self, place: Place, least: u64) -> Vec<Node> {
        let count = least + self.random.below(if place.depth == 0 { 4 } else { 3 });
        let mut nodes = Vec::new();
        for _ in 0..count {
            let node = self.statement(place);
            nodes.push(node);
        }
        nodes
    }

    fn deeper(place: Place) -> Place {
        Place { depth: place.depth + 1, ..place }
    }

    fn statement(&mut self, place: Place) -> Node {
        let inner = Self::deeper(place);
        if place.depth < 3 {
            match self.random.below(16) {
                0 | 1 => return self.choice("if", inner),
                2 if !place.in_d_step => {
                    return self.choice("do", Place { in_loop: true, ..inner });
                }
                3 if !place.in_atomic && !place.in_d_step => {
                    let body = self.statements(Place { in_atomic: true, ..inner }, 1);
                    return Node::Group("atomic", body);
                }
                4 if !place.in_d_step => return self.d_step(inner),
                5 if !place.in_d_step && place.depth < 2 => {
                    let main = self.statements(inner, 1);
                    let mut escape = vec![Node::Line(self.guard(place))];
                    escape.extend(self.statements(inner, 0));
                    return Node::Unless(main, escape);
                }
                6 if !place.in_d_step => {
                    let body = self.statements(inner, 1);
                    return Node::Group("", body);
                }
                7 if !place.in_d_step && self.random.one_in(2) => {
                    let head = if self.random.one_in(2) {
                        "for (y : 0 .. 1)".to_string()
                    } else {
                        "for (y in a)".to_string()
                    };
                    let body = self.statements(inner, 1);
                    return Node::For(head, body);
                }
                _ => {}
            }
        }
        Node::Line(self.simple(place))
    }

    fn d_step(&mut self, place: Place) -> Node {
        let place = Place { in_d_step: true, ..place };
        let mut body = Vec::new();
        if self.random.one_in(2) {
            body.push(Node::Line(self.guard(place)));
        } else if self.random.one_in(3) {
            body.push(Node::Line(self.receive()));
        }
        let count = 1 + self.random.below(3);
        for _ in 0..count {
            if self.random.one_in(4) {
                // `else` keeps it from blocking.
                let mut options: Vec<Vec<Node>> = Vec::new();
                for _ in 0..1 + self.random.below(2) {
                    let guard = self.condition(place);
                    let then = self.assignment(place);
                    options.push(vec![Node::Line(guard), Node::Line(then)]);
                }
                options.push(vec![Node::Line("else".into())]);
                body.push(Node::Choice("if", options));
            } else {
                body.push(Node::Line(self.assignment(place)));
            }
        }
        Node::Group("d_step", body)
    }

    fn choice(&mut self, kind: &'static str, place: Place) -> Node {
        let mut options = Vec::new();
        let count = 1 + self.random.below(3);
        for _ in 0..count {
            let mut option = Vec::new();
            match self.random.below(12) {
                0 => option.push(Node::Line("timeout".into())),
                1 if !place.in_d_step => option.push(Node::Line("skip".into())),
                2 if place.depth < 3 && !place.in_d_step => {
                    let nested = self.statement(place);
                    option.push(nested);
                }
                3 | 4 if !place.in_d_step => option.push(Node::Line(self.send())),
                5 | 6 if !place.in_d_step => option.push(Node::Line(self.receive())),
                _ => option.push(Node::Line(self.guard(place))),
            }
            let more = self.statements(place, 0);
            option.extend(more.into_iter().take(2));
            if kind == "do" && self.random.one_in(3) {
                option.push(Node::Line("break".into()));
            }
            options.push(option);
        }
        if place.in_d_step || self.random.one_in(3) {
            let mut option = vec![Node::Line("else".into())];
            if self.random.one_in(2) {
                option.push(Node::Line(self.assignment(place)));
            }
            if kind == "do" {
                option.push(Node::Line("break".into()));
            }
            options.push(option);
        }
        Node::Choice(kind, options)
    }

    fn value(&mut self, place: Place) -> String {
        if self.random.one_in(2)
            && let Some(value) = self.maybe(|f| f.values)
        {
            return value.into();
        }
        match self.random.below(12) {
            0..=3 => self.random.below(3).to_string(),
            4 => "g".into(),
            5 => "h".into(),
            6 => "x".into(),
            7 => "y".into(),
            8 => "a[h % 2]".into(),
            9 => if place.has_parameter { "p" } else { "_pid" }.into(),
            10 => "t.x".into(),
            _ => "(g > 0 -> x : 1)".into(),
        }
    }

    fn assignment(&mut self, place: Place) -> String {
        if let Some(step) = self.maybe(|f| f.steps) {
            return step.into();
        }
        let target = self.random.pick(&[
            "g",
            "g",
            "h",
            "x",
            "x",
            "y",
            "flag",
            "a[1]",
            "a[h % 2]",
            "t.x",
            "t.y[1]",
            "never_read",
            "m",
        ]);
        if target == "m" {
            return format!("m = {}", self.random.pick(&["red", "green"]));
        }
        let value = self.value(place);
        match self.random.below(4) {
            0 => format!("{target} = ({value} + 1) % 3"),
            1 => format!("{target} = {}", self.random.below(3)),
            _ => format!("{target} = {value} % 3"),
        }
    }

    fn condition(&mut self, place: Place) -> String {
        if let Some(condition) = self.maybe(|f| f.conditions) {
            return condition.into();
        }
        let value = self.value(place);
        let operator = self.random.pick(&["==", "!=", "<", ">"]);
        let left = self.random.pick(&["g", "h", "x", "y", "flag", "a[0]", "t.y[0]", "len(c)"]);
        match self.random.below(14) {
            0 => "m == green".into(),
            1 => "empty(c)".into(),
            2 => "nfull(d)".into(),
            3 => "nempty(c)".into(),
            4 => "full(d)".into(),
            5 => "c?[1]".into(),
            6 => "d?[eval(x), 1]".into(),
            7 => "c??[2]".into(),
            8 => format!("{left} {operator} {value} && g < 2"),
            9 => "_nr_pr > 2".into(),
            _ => format!("{left} {operator} {value}"),
        }
    }

    fn guard(&mut self, place: Place) -> String {
        format!("({})", self.condition(place))
    }

    fn send(&mut self) -> String {
        let rendezvous = self.rendezvous && self.random.one_in(2);
        if rendezvous {
            return self.random.pick(&["r!1", "r!x", "r!g % 2", "r!0"]).into();
        }
        self.random
            .pick(&["c!1", "c!x", "c!g % 2", "d!1, 0", "d!x, flag", "c!!x", "d!!g, 1", "d!0, 1"])
            .into()
    }

    fn receive(&mut self) -> String {
        let rendezvous = self.rendezvous && self.random.one_in(2);
        if rendezvous {
            return self.random.pick(&["r?x", "r?1", "r?g", "r?eval(x)", "r?_"]).into();
        }
        self.random
            .pick(&[
                "c?x",
                "c?y",
                "c?1",
                "c?g",
                "c?eval(x)",
                "c?_",
                "d?x, y",
                "d?1, y",
                "d?x, 0",
                "c??1",
                "d??x, 1",
                "c?<x>",
                "c??<1>",
                "d??<eval(x), y>",
            ])
            .into()
    }

    fn simple(&mut self, place: Place) -> String {
        if place.in_d_step {
            return self.assignment(place);
        }
        if let Some(statement) = self.maybe(|f| f.statements) {
            self.labels += 1;
            return statement.replace('$', &format!("_{}", self.labels));
        }
        match self.random.below(30) {
            0..=9 => self.assignment(place),
            10..=13 => self.guard(place),
            14..=16 => self.send(),
            17..=19 => self.receive(),
            20 => "skip".into(),
            21 => format!("assert({})", self.condition(place)),
            22 => "printf(\"%d\\n\", x)".into(),
            23 if place.in_loop => "break".into(),
            24 => {
                self.labels += 1;
                let prefix = self.random.pick(&["L", "L", "end", "progress"]);
                let statement = self.assignment(place);
                format!("{prefix}_{}: {statement}", self.labels)
            }
            25 if self.labels > 0 => {
                let label = 1 + self.random.below(u64::from(self.labels));
                // The prefix is put right when the model is printed.
                format!("goto ?_{label}")
            }
            26 if !place.has_parameter => {
                self.runs = true;
                "if :: (_nr_pr < 4) -> run Q(1) :: (_nr_pr >= 4) fi".into()
            }
            27 => self.random.pick(&["x = (x + 1) % 4", "g = (g + 1) % 4", "y = 0"]).into(),
            28 => "byte z = g; x = z".into(),
            _ => self.random.pick(&["select (x : 0 .. 2)", "select (y : 0 .. (1))"]).into(),
        }
    }
}
