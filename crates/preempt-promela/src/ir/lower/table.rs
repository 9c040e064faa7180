//! From elements to transitions per control state.
//!
//! First every element gets its own transitions; selections and blocks get pointers to where
//! their options start. Then pointers are replaced by what they point at, so that all options
//! of a selection, however nested, start from one control state. Last, the transitions of `unless`
//! escapes are put in front.

use super::dataflow::Flow;
use super::element::{
    ATOMIC, Action, GLOBAL, Graph, Id, Jump, Kind, LAST_OF_ATOMIC, OBSERVED, SequenceId, constant,
};
use super::merge::Merges;
use super::safety::{Globals, Need, add_need, needs_of};
use super::{LowerError, Lowering, jumps};
use std::collections::{HashMap, VecDeque};

/// What a transition executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// Points at a control state whose transitions are meant.
    Pointer,
    /// Nothing, and it never blocks.
    Skip,
    Else,
    /// The statement of an element, with what is chained to it.
    Element,
}

#[derive(Clone, Debug)]
pub(super) struct Transition {
    /// The element it comes from.
    pub(super) element: Id,
    pub(super) code: Code,
    /// Number of the control state it leads to; 0 is none.
    pub(super) target: u32,
    /// The process stays inside its atomic block.
    pub(super) keeps_control: bool,
    /// Touches global data.
    pub(super) global: bool,
    pub(super) needs: Vec<Need>,
    /// Where the escapes of its element start.
    escapes: Vec<u32>,
    /// The escape it belongs to, by the number of the state where it starts; 0 for none.
    pub(super) escape: u32,
}

pub(super) struct Table {
    /// By number: the transitions.
    pub(super) rows: Vec<Vec<Transition>>,
    /// By number: whether the row consists of pointers.
    choice: Vec<bool>,
    pub(super) entry: u32,
    pub(super) is_end: Vec<bool>,
    pub(super) is_accept: Vec<bool>,
    pub(super) is_progress: Vec<bool>,
    pub(super) merges: Merges,
    pub(super) dead: HashMap<Id, Vec<u32>>,
}

/// Builds the table of a body.
pub(super) fn build(lowering: &Lowering<'_>, graph: &mut Graph) -> Result<Table, LowerError> {
    let mut globals = Globals::new(lowering, graph.process);
    let mut merges = Merges::default();
    let mut dead = HashMap::new();
    if let Some(process) = graph.process {
        let flow = Flow::of(graph, &lowering.locals[process]);
        if lowering.options.reset_dead {
            dead = flow.dead_after(graph);
        }
        if lowering.options.merge {
            merges = Merges::find(graph, &flow, &globals, lowering.options.safe_as_spin);
        }
        globals.provided = lowering.model.proctypes[process].provided.is_some();
    } else if lowering.options.merge {
        let flow = Flow::of(graph, &[]);
        merges = Merges::find(graph, &flow, &globals, lowering.options.safe_as_spin);
    }
    globals.strict = !lowering.options.safe_as_spin;
    let size = graph.elements.len() + 1;
    let first = graph.sequences[graph.body].first;
    let entry = Graph::number(graph.resolve(first, graph.at(first).status, None));
    let table = Table {
        rows: vec![Vec::new(); size],
        choice: vec![false; size],
        entry,
        is_end: vec![false; size],
        is_accept: vec![false; size],
        is_progress: vec![false; size],
        merges,
        dead,
    };
    let mut filler = Filler { graph, globals, table, done: vec![false; size], wrong_jump: None };
    filler.labels();
    let body = filler.graph.body;
    filler.sequence(body, None);
    if let Some(wrong) = filler.wrong_jump {
        return Err(wrong);
    }
    let mut table = filler.table;
    table.flatten();
    table.pull();
    table.add_escapes();
    table.end_through_jumps(graph);
    Ok(table)
}

struct Filler<'a> {
    graph: &'a mut Graph,
    globals: Globals<'a>,
    table: Table,
    done: Vec<bool>,
    wrong_jump: Option<LowerError>,
}

impl Filler<'_> {
    fn labels(&mut self) {
        for (id, element) in self.graph.elements.iter().enumerate() {
            let number = id + 1;
            for label in element.labels.iter().map(|label| &label.name) {
                self.table.is_end[number] |= label.starts_with("end");
                self.table.is_accept[number] |= label.starts_with("accept");
                self.table.is_progress[number] |= label.starts_with("progress");
            }
        }
        let stop = self.graph.sequences[self.graph.body].last;
        self.table.is_end[stop + 1] = true;
    }

    fn sequence(&mut self, sequence: SequenceId, needs: Option<&[Need]>) {
        for id in self.graph.chain(sequence) {
            if std::mem::replace(&mut self.done[id], true) {
                continue;
            }
            let element = self.graph.at(id);
            match (&element.kind, element.inner) {
                (Kind::Unless, _) => {
                    let main = element.options[0];
                    self.sequence(main, needs);
                }
                (Kind::If | Kind::Do, _) => self.selection(id, needs),
                (Kind::DStep, Some(inner)) => self.d_step(id, inner),
                (_, Some(inner)) => self.block(id, inner, needs),
                (_, None) => self.simple(id, needs),
            }
        }
    }

    fn selection(&mut self, id: Id, needs: Option<&[Need]>) {
        let options = self.graph.at(id).options.clone();
        let mut row = Vec::new();
        for option in &options {
            let first = self.graph.start_of(self.graph.sequences[*option].first);
            if !self.graph.is_dead_option(first) {
                row.push(self.pointer(id, first));
            }
        }
        self.table.rows[id + 1] = row;
        self.table.choice[id + 1] = true;
        for option in options {
            self.sequence(option, needs);
        }
    }

    fn pointer(&self, id: Id, to: Id) -> Transition {
        Transition {
            element: id,
            code: Code::Pointer,
            target: Graph::number(to),
            keeps_control: self.graph.at(id).status & ATOMIC != 0,
            global: false,
            needs: Vec::new(),
            escapes: Vec::new(),
            escape: 0,
        }
    }

    fn block(&mut self, id: Id, inner: SequenceId, needs: Option<&[Need]>) {
        self.patch_atomic(inner);
        let is_atomic = matches!(self.graph.at(id).kind, Kind::Atomic);
        if is_atomic && self.globals.sequence(self.graph, inner) {
            self.mark_global(inner);
        }
        let first = self.graph.start_of(self.graph.sequences[inner].first);
        let observed = self.graph.at(id).status | self.graph.at(first).status;
        if observed & OBSERVED != 0 {
            let first = self.graph.sequences[inner].first;
            self.graph.elements[first].status |= GLOBAL;
        }
        self.table.rows[id + 1] = vec![self.pointer(id, first)];
        self.table.choice[id + 1] = true;
        if is_atomic {
            let inside = self.needs_of_sequence(inner);
            self.sequence(inner, Some(&inside));
        } else {
            self.sequence(inner, needs);
        }
    }

    fn d_step(&mut self, id: Id, inner: SequenceId) {
        self.patch_atomic(inner);
        if self.globals.sequence(self.graph, inner) {
            self.mark_global(inner);
        }
        let element = self.graph.at(id);
        let target =
            element.next.map_or(0, |n| Graph::number(self.graph.resolve(n, element.status, None)));
        let first = self.graph.sequences[inner].first;
        let transition = Transition {
            element: id,
            code: Code::Element,
            target,
            keeps_control: element.status & ATOMIC != 0,
            global: self.graph.at(first).status & GLOBAL != 0,
            needs: self.needs_of_sequence(inner),
            escapes: self.escapes_of(id),
            escape: 0,
        };
        self.table.rows[id + 1] = vec![transition];
        self.put_escapes(id);
    }

    /// A jump out of an atomic block ends it; one from its end into another bridges the two.
    fn patch_atomic(&mut self, sequence: SequenceId) {
        let extent = self.graph.sequences[sequence].extent;
        for id in self.graph.chain(sequence) {
            if let Kind::Goto(Jump::To(target)) = self.graph.at(id).kind {
                let inside = self.graph.at(target).status & (ATOMIC | LAST_OF_ATOMIC) != 0;
                let status = &mut self.graph.elements[id].status;
                if *status & (ATOMIC | LAST_OF_ATOMIC) != 0 && !inside {
                    *status = (*status & !ATOMIC) | LAST_OF_ATOMIC;
                }
                if *status & LAST_OF_ATOMIC != 0 && inside {
                    *status = (*status & !LAST_OF_ATOMIC) | ATOMIC;
                }
            } else {
                for option in self.graph.at(id).options.clone() {
                    self.patch_atomic(option);
                }
            }
            if id == extent {
                break;
            }
        }
    }

    fn mark_global(&mut self, sequence: SequenceId) {
        for id in self.graph.chain(sequence) {
            self.graph.elements[id].status |= GLOBAL;
            if let Some(inner) = self.graph.at(id).inner {
                self.mark_global(inner);
            }
            for option in self.graph.at(id).options.clone() {
                self.mark_global(option);
            }
        }
    }

    /// The needs of all statements of an atomic sequence together.
    fn needs_of_sequence(&self, sequence: SequenceId) -> Vec<Need> {
        let mut needs = Vec::new();
        self.collect_needs(sequence, &mut needs);
        if needs.len() > 2 { vec![Need::Mixed] } else { needs }
    }

    fn collect_needs(&self, sequence: SequenceId, needs: &mut Vec<Need>) {
        for id in self.graph.chain(sequence) {
            for need in needs_of(self.graph, id) {
                add_need(needs, need);
            }
            for option in &self.graph.at(id).options {
                self.collect_needs(*option, needs);
            }
        }
    }

    fn simple(&mut self, id: Id, needs: Option<&[Need]>) {
        let successor = self.graph.successor(id);
        if let Some(successor) = successor
            && (self.graph.at(successor).status | self.graph.at(id).status) & OBSERVED != 0
        {
            self.graph.elements[id].status |= GLOBAL;
        }
        if self.wrong_jump.is_none() {
            self.wrong_jump = successor.and_then(|s| jumps::to_d_step(self.graph, id, s).err());
        }
        let element = self.graph.at(id);
        let mut target = successor.map_or(0, Graph::number);
        let mut keeps_control = element.status & ATOMIC != 0;
        let code = match &element.kind {
            Kind::Else => Code::Else,
            Kind::Join | Kind::Goto(_) | Kind::Exit => Code::Skip,
            Kind::Basic(Action::Condition(e)) if constant(e) == Some(1) => Code::Skip,
            _ => Code::Element,
        };
        let merged = self.table.merges.end_of(id);
        let code = if merged.is_some() { Code::Element } else { code };
        if let Some(end) = merged {
            target = end;
            if let Some(last) = self.chain_of(id, end).last() {
                keeps_control = self.graph.at(*last).status & ATOMIC != 0;
            }
        }
        let needs = match needs {
            Some(needs) if !needs.is_empty() => needs.to_vec(),
            _ => needs_of(self.graph, id),
        };
        let global = element.status & GLOBAL != 0 || self.globals.element(self.graph, id);
        let escapes = self.escapes_of(id);
        let transition = Transition {
            element: id,
            code,
            target,
            keeps_control,
            global,
            needs,
            escapes,
            escape: 0,
        };
        self.table.rows[id + 1] = vec![transition];
        self.put_escapes(id);
    }

    fn chain_of(&self, id: Id, end: u32) -> Vec<Id> {
        chained_elements(self.graph, &self.table.merges, id, end)
    }

    fn escapes_of(&self, id: Id) -> Vec<u32> {
        let element = self.graph.at(id);
        if matches!(element.kind, Kind::Join) {
            return Vec::new();
        }
        let start = |e: &SequenceId| {
            let first = self.graph.sequences[*e].first;
            Graph::number(self.graph.resolve(first, element.status, None))
        };
        element.escapes.iter().map(start).collect()
    }

    fn put_escapes(&mut self, id: Id) {
        if matches!(self.graph.at(id).kind, Kind::Join) {
            return;
        }
        for escape in self.graph.at(id).escapes.clone() {
            self.sequence(escape, None);
        }
    }
}

/// The elements that are executed together with `id`, up to the one numbered `end`.
pub(super) fn chained_elements(graph: &Graph, merges: &Merges, id: Id, end: u32) -> Vec<Id> {
    let mut chain = Vec::new();
    let mut at = id;
    while chain.len() <= graph.elements.len() {
        let element = graph.at(at);
        let next = match &element.kind {
            Kind::Goto(Jump::To(target)) if Graph::number(*target) == end => Some(*target),
            Kind::Goto(Jump::To(target)) => Some(graph.resolve(*target, element.status, Some(end))),
            _ => element.next,
        };
        match next {
            Some(next)
                if Graph::number(next) != end
                    && (merges.chained.contains_key(&next)
                        || merges.single.contains_key(&next)) =>
            {
                chain.push(next);
                at = next;
            }
            _ => break,
        }
    }
    chain
}

impl Table {
    /// Replaces pointers to rows of pointers by what those point at.
    fn flatten(&mut self) {
        loop {
            let mut changed = false;
            for number in 1..self.rows.len() {
                if !self.choice[number] {
                    continue;
                }
                let nested = |t: &Transition| self.choice[t.target as usize];
                if !self.rows[number].iter().any(nested) {
                    continue;
                }
                let mut row = Vec::new();
                for pointer in std::mem::take(&mut self.rows[number]) {
                    let through = pointer.target as usize;
                    if !self.choice[through] || through == number {
                        self.pass_labels(through, pointer.target);
                        row.push(pointer);
                        continue;
                    }
                    for inner in self.rows[through].clone() {
                        self.pass_labels(through, inner.target);
                        row.push(inner);
                    }
                    changed = true;
                }
                self.rows[number] = row;
            }
            if !changed {
                break;
            }
        }
    }

    /// Replaces pointers by the transitions they point at.
    fn pull(&mut self) {
        for number in 1..self.rows.len() {
            if !self.choice[number] {
                continue;
            }
            let mut row = Vec::new();
            for pointer in std::mem::take(&mut self.rows[number]) {
                if let Some(first) = self.rows[pointer.target as usize].first().cloned() {
                    self.pass_labels(pointer.target as usize, first.target);
                    row.push(first);
                }
            }
            self.rows[number] = row;
        }
    }

    /// A label on a point that is passed on the way belongs to where the way leads.
    fn pass_labels(&mut self, through: usize, target: u32) {
        let target = target as usize;
        self.is_end[target] |= self.is_end[through];
        self.is_accept[target] |= self.is_accept[through];
        self.is_progress[target] |= self.is_progress[through];
    }

    fn add_escapes(&mut self) {
        for number in 1..self.rows.len() {
            let own = self.rows[number].clone();
            for transition in &own {
                for start in transition.escapes.iter().rev() {
                    for taken in self.rows[*start as usize].clone() {
                        let known = self.rows[number].iter().any(|t| t.element == taken.element);
                        if !known {
                            self.rows[number].insert(0, Transition { escape: *start, ..taken });
                        }
                    }
                }
            }
        }
    }

    /// A state that only jumps on, and where a process may rest, makes its target such a state.
    fn end_through_jumps(&mut self, graph: &Graph) {
        for number in 1..self.rows.len() {
            if let [only] = &self.rows[number][..]
                && matches!(graph.at(only.element).kind, Kind::Join)
                && self.is_end[number]
            {
                self.is_end[only.target as usize] = true;
            }
        }
    }

    /// The numbers of the control states that can be reached, in increasing order.
    pub(super) fn reachable(&self) -> Vec<u32> {
        let mut seen = vec![false; self.rows.len()];
        let mut queue = VecDeque::from([self.entry]);
        seen[self.entry as usize] = true;
        while let Some(number) = queue.pop_front() {
            for transition in &self.rows[number as usize] {
                let target = transition.target;
                if target != 0 && !std::mem::replace(&mut seen[target as usize], true) {
                    queue.push_back(target);
                }
            }
        }
        (1..self.rows.len() as u32).filter(|n| seen[*n as usize]).collect()
    }
}
