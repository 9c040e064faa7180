//! Makes small random models that use much of the language, prints them, and makes smaller ones.
//!
//! Values stay small, indices in bounds, divisors away from zero, and nothing blocks inside a
//! `d_step`: what Spin leaves undefined or ends its search for is not asked.

// Each test uses one of the generators.
#[allow(dead_code)]
mod features;
#[allow(dead_code)]
pub(crate) mod flow;
#[allow(dead_code)]
mod make;
#[allow(dead_code)]
pub(crate) mod overflow;
#[allow(dead_code)]
pub(crate) mod properties;
#[allow(dead_code)] // not all tests make models smaller
mod smaller;

#[allow(unused_imports)] // not all tests make models of every kind
pub(crate) use make::make;
pub(crate) use preempt_testing::Random;

/// A statement.
#[derive(Clone, Debug)]
enum Node {
    Line(String),
    /// `if` or `do`.
    Choice(&'static str, Vec<Vec<Node>>),
    /// `atomic`, `d_step`, or nothing for a block.
    Group(&'static str, Vec<Node>),
    Unless(Vec<Node>, Vec<Node>),
    For(String, Vec<Node>),
    Labelled(String, Box<Node>),
}

/// A process type.
#[derive(Clone, Debug)]
struct Process {
    header: String,
    body: Vec<Node>,
}

/// A model.
#[derive(Clone, Debug)]
pub(crate) struct RandomModel {
    globals: Vec<String>,
    processes: Vec<Process>,
    /// Claims and the like.
    tail: Vec<String>,
}

impl RandomModel {
    /// The model as text.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for global in &self.globals {
            out.push_str(global);
            out.push('\n');
        }
        for process in &self.processes {
            let mut body = String::new();
            print(&process.body, 1, &mut body);
            out.push_str(&format!("{} {{\n{}}}\n", process.header, with_labels(&body)));
        }
        for unit in &self.tail {
            out.push_str(unit);
            out.push('\n');
        }
        out
    }
}

/// Names of labels get the prefix they are defined with; jumps to nowhere become `skip`.
fn with_labels(body: &str) -> String {
    let mut out = String::new();
    for line in body.lines() {
        match line.split_once("goto ?_") {
            Some((before, number)) => {
                let number: String = number.chars().take_while(char::is_ascii_digit).collect();
                let found = ["L", "end", "progress"]
                    .iter()
                    .map(|prefix| format!("{prefix}_{number}"))
                    .find(|label| body.contains(&format!("{label}:")));
                match found {
                    Some(label) => out.push_str(&format!("{before}goto {label};\n")),
                    None => out.push_str(&format!("{before}skip;\n")),
                }
            }
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

fn print(body: &[Node], depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    for node in body {
        match node {
            Node::Line(line) => out.push_str(&format!("{indent}{line};\n")),
            Node::Choice(kind, options) => {
                out.push_str(&format!("{indent}{kind}\n"));
                for option in options {
                    out.push_str(&format!("{indent}::\n"));
                    print(option, depth + 1, out);
                }
                let end = if *kind == "if" { "fi" } else { "od" };
                out.push_str(&format!("{indent}{end};\n"));
            }
            Node::Group(kind, inner) => {
                out.push_str(&format!("{indent}{kind} {{\n"));
                print(inner, depth + 1, out);
                out.push_str(&format!("{indent}}};\n"));
            }
            Node::Unless(main, escape) => {
                out.push_str(&format!("{indent}{{\n"));
                print(main, depth + 1, out);
                out.push_str(&format!("{indent}}} unless {{\n"));
                print(escape, depth + 1, out);
                out.push_str(&format!("{indent}}};\n"));
            }
            Node::For(head, inner) => {
                out.push_str(&format!("{indent}{head} {{\n"));
                print(inner, depth + 1, out);
                out.push_str(&format!("{indent}}};\n"));
            }
            Node::Labelled(label, node) => {
                out.push_str(&format!("{indent}{label}:\n"));
                print(std::slice::from_ref(node), depth, out);
            }
        }
    }
}
