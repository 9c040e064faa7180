//! What concerns all elements of a sequence: `unless`, `atomic` and `d_step`.

use super::super::element::{ATOMIC, Id, Kind, LAST_OF_ATOMIC, Sequence, SequenceId};
use super::super::{LowerError, jumps};
use super::{Builder, Node, Open};
use crate::model::Stmt;

impl Builder<'_, '_> {
    pub(super) fn unless(
        &mut self,
        stmt: &Stmt,
        main: &Stmt,
        escape: &Stmt,
    ) -> Result<Node, LowerError> {
        let mut main_node = self.parse(main)?;
        main_node.labels.extend(stmt.labels.iter().cloned());
        // A `break` in the escape of a loop means the loop around it.
        let inner_loop = main_node.exit.and_then(|_| self.loops.pop());
        let escape_node = self.parse(escape)?;
        self.loops.extend(inner_loop);
        let escape_sequence = match (&escape_node.kind, escape_node.labels.is_empty()) {
            (Kind::Block, true) => escape_node.inner,
            _ => {
                self.open.push(Open::default());
                self.add(escape_node);
                let sequence = self.close(escape.span)?;
                self.refuse_labelled(sequence, jumps::ESCAPE)?;
                Some(sequence)
            }
        };
        let labelled_block = !main_node.labels.is_empty()
            && matches!(main_node.kind, Kind::Block | Kind::Atomic | Kind::DStep);
        let mut wrapper = None;
        let main_sequence = match main_node.kind {
            Kind::Block if main_node.labels.is_empty() => main_node.inner,
            _ if labelled_block => {
                wrapper = Some((main_node.kind.clone(), main_node.labels));
                main_node.inner
            }
            _ => {
                self.open.push(Open::default());
                self.add(main_node);
                let sequence = self.close(main.span)?;
                self.refuse_labelled(sequence, jumps::MAIN)?;
                Some(sequence)
            }
        };
        let mut node = self.node(Kind::Unless, stmt.span, "unless".into());
        node.options.extend(main_sequence);
        node.options.extend(escape_sequence);
        let Some((kind, labels)) = wrapper else { return Ok(node) };
        // `L: { … } unless { … }`: the label belongs to the whole.
        self.open.push(Open::default());
        self.add(node);
        let inner = self.close(stmt.span)?;
        let mut node = self.node(kind, stmt.span, "{".into());
        node.inner = Some(inner);
        node.labels = labels;
        Ok(node)
    }

    pub(super) fn add_unless(&mut self, node: Node) {
        let id = self.element(Kind::Unless, node.span, node.text);
        let join = self.element(Kind::Join, node.span, String::new());
        for option in &node.options {
            self.append_to(*option, join);
        }
        if let [main, escape] = node.options[..] {
            self.attach_escape(main, escape);
        }
        self.elements[id].options = node.options;
        self.elements[id].labels = node.labels;
        self.append(id);
        self.append(join);
    }

    pub(super) fn attach_escape(&mut self, sequence: SequenceId, escape: SequenceId) {
        let Sequence { first, extent, .. } = self.sequences[sequence];
        let mut at = Some(first);
        let mut budget = self.elements.len();
        while let Some(id) = at {
            self.escape_element(id, escape);
            if id == extent || budget == 0 {
                break;
            }
            budget -= 1;
            at = self.elements[id].next;
        }
    }

    pub(super) fn escape_element(&mut self, id: Id, escape: SequenceId) {
        if self.elements[id].escapes.contains(&escape) {
            return;
        }
        for inner in self.elements[id].escapes.clone() {
            self.attach_escape(inner, escape);
        }
        self.elements[id].escapes.insert(0, escape);
        let element = &self.elements[id];
        match element.kind {
            Kind::Unless => {
                let main = element.options[0];
                self.attach_escape(main, escape);
            }
            Kind::If | Kind::Do => {
                for option in element.options.clone() {
                    self.attach_escape(option, escape);
                }
            }
            Kind::DStep => {
                if let Some(inner) = element.inner {
                    let first = self.sequences[inner].first;
                    self.escape_element(first, escape);
                }
            }
            Kind::Atomic | Kind::Block => {
                if let Some(inner) = element.inner {
                    self.attach_escape(inner, escape);
                }
            }
            _ => {}
        }
    }

    pub(super) fn make_atomic(&mut self, sequence: SequenceId, added: u8) {
        self.walk_atomic(sequence, added);
        let last = self.sequences[sequence].last;
        let element = &mut self.elements[last];
        match element.kind {
            Kind::Block | Kind::Atomic => {
                if let Some(inner) = element.inner {
                    self.make_atomic(inner, added);
                }
            }
            Kind::Unless => {
                let main = element.options[0];
                self.make_atomic(main, added);
            }
            _ => {
                element.status &= !ATOMIC;
                element.status |= LAST_OF_ATOMIC;
            }
        }
    }

    pub(super) fn walk_atomic(&mut self, sequence: SequenceId, added: u8) {
        let Sequence { first, last, .. } = self.sequences[sequence];
        let mut at = Some(first);
        let mut budget = self.elements.len();
        while let Some(id) = at {
            let element = &mut self.elements[id];
            element.status |= ATOMIC | added;
            let inside = match element.kind {
                Kind::Atomic | Kind::Block => true,
                Kind::DStep => added != 0,
                _ => false,
            };
            if inside {
                element.kind = Kind::Block;
                if let Some(inner) = element.inner {
                    self.walk_atomic(inner, added);
                }
            }
            for option in self.elements[id].options.clone() {
                self.walk_atomic(option, added);
            }
            if id == last || budget == 0 {
                break;
            }
            budget -= 1;
            at = self.elements[id].next;
        }
    }
}
