//! Smaller models, to find the heart of a difference.

use super::{Node, RandomModel};

impl RandomModel {
    /// All models with one piece less.
    pub(crate) fn smaller(&self) -> Vec<RandomModel> {
        let mut all = Vec::new();
        for at in 0..self.processes.len() {
            let mut model = self.clone();
            model.processes.remove(at);
            if !model.processes.is_empty() {
                all.push(model);
            }
        }
        for at in 0..self.processes.len() {
            for body in smaller_bodies(&self.processes[at].body) {
                let mut model = self.clone();
                model.processes[at].body = body;
                all.push(model);
            }
        }
        for at in 0..self.tail.len() {
            let mut model = self.clone();
            model.tail.remove(at);
            all.push(model);
        }
        for at in 0..self.globals.len() {
            let mut model = self.clone();
            model.globals.remove(at);
            all.push(model);
        }
        all
    }
}

fn smaller_bodies(body: &[Node]) -> Vec<Vec<Node>> {
    let mut all = Vec::new();
    for at in 0..body.len() {
        let mut without = body.to_vec();
        without.remove(at);
        if !without.is_empty() {
            all.push(without);
        }
        let mut replace = |nodes: Vec<Node>| {
            let mut changed = body.to_vec();
            changed.splice(at..=at, nodes);
            all.push(changed);
        };
        match &body[at] {
            Node::Line(_) => {}
            Node::Choice(kind, options) => {
                for option in options {
                    replace(option.iter().filter(|n| !is_jump(n)).cloned().collect());
                }
                for index in 0..options.len() {
                    let mut fewer = options.clone();
                    fewer.remove(index);
                    if !fewer.is_empty() {
                        replace(vec![Node::Choice(kind, fewer)]);
                    }
                    for smaller in smaller_bodies(&options[index]) {
                        let mut changed = options.clone();
                        changed[index] = smaller;
                        replace(vec![Node::Choice(kind, changed)]);
                    }
                }
            }
            Node::Group(kind, inner) => {
                replace(inner.clone());
                for smaller in smaller_bodies(inner) {
                    replace(vec![Node::Group(kind, smaller)]);
                }
            }
            Node::Unless(main, escape) => {
                replace(main.clone());
                replace(escape.clone());
                for smaller in smaller_bodies(main) {
                    replace(vec![Node::Unless(smaller, escape.clone())]);
                }
                for smaller in smaller_bodies(escape) {
                    replace(vec![Node::Unless(main.clone(), smaller)]);
                }
            }
            Node::Labelled(label, node) => {
                replace(vec![Node::clone(node)]);
                for smaller in smaller_bodies(std::slice::from_ref(&**node)) {
                    if let [only] = &smaller[..] {
                        replace(vec![Node::Labelled(label.clone(), Box::new(only.clone()))]);
                    }
                }
            }
            Node::For(head, inner) => {
                replace(inner.iter().filter(|n| !is_jump(n)).cloned().collect());
                for smaller in smaller_bodies(inner) {
                    replace(vec![Node::For(head.clone(), smaller)]);
                }
            }
        }
    }
    all.retain(|body| !body.is_empty());
    all
}

fn is_jump(node: &Node) -> bool {
    matches!(node, Node::Line(line) if line == "break" || line == "else")
}
