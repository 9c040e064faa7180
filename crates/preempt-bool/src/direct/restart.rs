//! A class of threads with recursion: each context re-runs the thread from its start, through the
//! boundaries of its earlier contexts, which are known.
//!
//! At a switch node where the shared values equal the recorded end b_j, the thread may go on with
//! a_{j+1}. The registers are never written, so a procedure needs no entry copies of them, and a
//! state in the middle of a recursive call still knows which boundaries it belongs to: nothing has
//! to be unwound to read off an end.

use super::registers::Registers;
use super::resume::{equals, interruptible};
use super::{Class, Encoding};
use crate::flow::{Expr, VariableId};
use crate::symbolic::code::{Code, CodeOperation, Origin, add_edge};
use crate::symbolic::diagram::{Diagram, Diagrams};
use crate::symbolic::engine::Engine;
use crate::symbolic::levels::{Levels, Moment};
use preempt_core::Stop;

/// Which context runs, which is the last, and whether the first starts from the initial states.
pub(crate) struct Control {
    pub(crate) current: VariableId,
    pub(crate) last: VariableId,
    pub(crate) first: VariableId,
    width: u8,
}

impl Control {
    /// Adds the variables, and to every switch node the edges on which a thread resumes.
    pub(crate) fn new(code: &mut Code, registers: &Registers) -> Self {
        let contexts = registers.starts.len() as u64;
        let width = (u64::BITS - contexts.leading_zeros()) as u8;
        let current = code.add("context".into(), width);
        let last = code.add("last".into(), width);
        let first = code.add("first".into(), 1);
        let number = |value: u64| Box::new(Expr::Constant { value, width });
        let is =
            |v: VariableId, value: u64| Expr::Equal(Box::new(Expr::Variable(v)), number(value));
        let atomic = code.atomic;
        for procedure in &mut code.procedures {
            for node in 0..procedure.out.len() {
                if !procedure.switches[node] {
                    continue;
                }
                let to = procedure.edges[procedure.out[node][0]].to;
                for (j, end) in registers.ends.iter().enumerate() {
                    let context = j as u64 + 1;
                    let is_last = Expr::Less(
                        Box::new(Expr::Variable(current)),
                        Box::new(Expr::Variable(last)),
                    );
                    let mut guard = Expr::And(Box::new(is(current, context)), Box::new(is_last));
                    if let Some(flag) = atomic {
                        let outside = Expr::Variable(flag).not();
                        guard = Expr::And(Box::new(guard), Box::new(outside));
                    }
                    for (v, r) in registers.shared.iter().zip(end) {
                        let same =
                            Expr::Equal(Box::new(Expr::Variable(*v)), Box::new(Expr::Variable(*r)));
                        guard = Expr::And(Box::new(guard), Box::new(same));
                    }
                    let mut lhs = vec![current];
                    let mut rhs = vec![Expr::Constant { value: context + 1, width }];
                    lhs.extend(&registers.shared);
                    rhs.extend(registers.starts[j + 1].iter().map(|r| Expr::Variable(*r)));
                    let operation = CodeOperation::Step {
                        guard: Some(guard),
                        lhs,
                        rhs,
                        constrain: None,
                        forget: Vec::new(),
                    };
                    add_edge(procedure, node, to, operation, Origin::Resume);
                }
            }
        }
        // An end that is read off in the middle of a call belongs to boundaries, and perhaps to an
        // atomic section, that the procedure itself may never look at.
        code.carried = registers.starts.iter().chain(&registers.ends).flatten().copied().collect();
        code.carried.extend(registers.shared.iter().chain(&[current, last, first]).chain(&atomic));
        Control { current, last, first, width }
    }

    pub(crate) fn variables(&self) -> [VariableId; 3] {
        [self.current, self.last, self.first]
    }

    /// The state in which the given context is the present one.
    pub(crate) fn is(
        &self,
        engine: &Engine<'_, '_>,
        variable: VariableId,
        value: u64,
    ) -> Result<Diagram, Stop> {
        let width = if variable == self.first { 1 } else { self.width };
        engine.condition(&Expr::Equal(
            Box::new(Expr::Variable(variable)),
            Box::new(Expr::Constant { value, width }),
        ))
    }
}

pub(super) struct Restart<'a, 'w> {
    code: &'a Code,
    diagrams: &'a Diagrams<'w>,
    levels: &'a Levels,
    registers: &'a Registers,
    control: &'a Control,
    root: usize,
    initial: Diagram,
    engine: Engine<'a, 'w>,
    asked: Diagram,
    /// Boundaries, `last`, `first` and the shared values at the end.
    ends: Diagram,
    hits: Diagram,
    /// Ends outside atomic sections, in the last context.
    ending: Diagram,
    in_last: Diagram,
    not_ends: Diagram,
    not_hits: Diagram,
    control_cube: Diagram,
}

impl<'a, 'w> Restart<'a, 'w> {
    pub(super) fn new(
        Encoding { code, diagrams, levels, registers }: Encoding<'a, 'w>,
        control: &'a Control,
        root: usize,
        initial: &Diagram,
    ) -> Result<Self, Stop> {
        let mut engine = Engine::new(code, diagrams, levels, false)?;
        engine.report_fresh = true;
        let kept: Vec<_> = [control.last, control.first]
            .iter()
            .flat_map(|v| levels.of(*v, Moment::Now).collect::<Vec<_>>())
            .collect();
        let mut gone = registers.unshared_levels(code, levels);
        gone.retain(|level| !kept.contains(level));
        gone.extend(
            (0..code.variables.len()).flat_map(|v| levels.of(v, Moment::Entry).collect::<Vec<_>>()),
        );
        let mut all = gone.clone();
        all.extend(registers.shared_levels(levels));
        let in_last = engine.condition(&Expr::Equal(
            Box::new(Expr::Variable(control.current)),
            Box::new(Expr::Variable(control.last)),
        ))?;
        let ending = diagrams.and(&in_last, &interruptible(code, diagrams, levels)?)?;
        Ok(Restart {
            code,
            diagrams,
            levels,
            registers,
            control,
            root,
            initial: initial.clone(),
            engine,
            asked: diagrams.constant(false),
            ends: diagrams.constant(false),
            hits: diagrams.constant(false),
            ending,
            in_last,
            not_ends: diagrams.cube(gone)?,
            not_hits: diagrams.cube(all)?,
            control_cube: diagrams.cube(kept)?,
        })
    }

    /// The control variables say: m contexts, from the initial states or not.
    fn kind(&self, m: usize, first: bool) -> Result<Diagram, Stop> {
        let last = self.control.is(&self.engine, self.control.last, m as u64)?;
        let first = self.control.is(&self.engine, self.control.first, u64::from(first))?;
        self.diagrams.and(&last, &first)
    }
}

impl Class for Restart<'_, '_> {
    fn ask(&mut self, m: usize, first: bool, asked: &Diagram) -> Result<(), Stop> {
        let d = self.diagrams;
        let kind = self.kind(m, first)?;
        let asked = d.and(asked, &kind)?;
        // Registers that are never read have one value, so that they add nothing to the sets.
        let unused = self.unused(m, first);
        let mut zero = d.constant(true);
        for v in unused {
            for level in self.levels.of(v, Moment::Now) {
                zero = d.and(&zero, &d.not(&d.variable(level)?))?;
            }
        }
        let asked = d.and(&asked, &zero)?;
        let new = d.minus(&asked, &self.asked)?;
        if new.is_false() {
            return Ok(());
        }
        self.asked = d.or(&self.asked, &new)?;
        let start = match first {
            true => self.initial.clone(),
            false => {
                let start = &self.registers.starts[0];
                equals(d, self.levels, &self.registers.shared, start)?
            }
        };
        let current = self.control.is(&self.engine, self.control.current, 1)?;
        let seeds = d.and(&d.and(&new, &start)?, &current)?;
        self.engine.seed(self.root, &seeds)?;
        self.engine.run()?;
        for (procedure, node, set) in std::mem::take(&mut self.engine.fresh) {
            let graph = &self.code.procedures[procedure];
            if graph.switches[node] {
                let set = d.and_exists(&set, &self.ending, &self.not_ends)?;
                self.ends = d.or(&self.ends, &set)?;
            }
            if graph.marks[node].is_some() {
                let set = d.and_exists(&set, &self.in_last, &self.not_hits)?;
                self.hits = d.or(&self.hits, &set)?;
            }
        }
        Ok(())
    }

    fn ends(&self, m: usize, first: bool) -> Result<Diagram, Stop> {
        let d = self.diagrams;
        self.without_unused(
            m,
            first,
            &d.and_exists(&self.ends, &self.kind(m, first)?, &self.control_cube)?,
        )
    }

    fn hits(&self, m: usize, first: bool) -> Result<Diagram, Stop> {
        let d = self.diagrams;
        self.without_unused(
            m,
            first,
            &d.and_exists(&self.hits, &self.kind(m, first)?, &self.control_cube)?,
        )
    }
}

impl Restart<'_, '_> {
    /// The registers that a question about m contexts leaves empty.
    fn unused(&self, m: usize, first: bool) -> Vec<VariableId> {
        let start = first.then_some(&self.registers.starts[0]);
        let rest = self.registers.starts[m..].iter().chain(&self.registers.ends[m - 1..]);
        start.into_iter().chain(rest).flatten().copied().collect()
    }

    fn without_unused(&self, m: usize, first: bool, set: &Diagram) -> Result<Diagram, Stop> {
        let unused = self.unused(m, first);
        let levels =
            unused.iter().flat_map(|v| self.levels.of(*v, Moment::Now).collect::<Vec<_>>());
        self.diagrams.exists(set, &self.diagrams.cube(levels.collect::<Vec<_>>())?)
    }
}
