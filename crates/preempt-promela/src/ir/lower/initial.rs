//! Initial values: the global part of the first state, new frames, and what runs at a start.

use super::storage::{Home, element_kind};
use super::{LowerError, Lowering, element};
use crate::ir::{Op, Place, Space};
use crate::model::{self, ExprKind, Initializer, Type, Variable};
use std::collections::HashMap;

impl Lowering<'_> {
    /// Writes the global part of the initial state.
    pub(super) fn initial_globals(&mut self) -> Result<(), LowerError> {
        let mut bytes = vec![0; self.program.layout.globals_end as usize];
        // Spin initialises type by type; only an initialiser that reads a global can tell.
        let rank = |ty: &Type| match ty {
            Type::Unsigned(_) => 0,
            Type::Bit | Type::Bool => 1,
            Type::Byte | Type::Pid => 2,
            Type::Chan => 3,
            Type::Mtype(_) => 4,
            Type::Short => 5,
            Type::Int => 6,
            Type::Struct(_) => 7,
        };
        let mut order: Vec<usize> = (0..self.model.globals.len()).collect();
        order.sort_by_key(|at| rank(&self.model.globals[*at].ty));
        let mut known: HashMap<(usize, u32), i32> = HashMap::new();
        for at in order {
            let variable = &self.model.globals[at];
            let values = self.constant_values(variable, &known);
            for (element, value) in values.iter().enumerate() {
                known.insert((at, element as u32), *value);
            }
            if let Home::At(offset) = self.storage.globals[at] {
                self.fill(variable, offset, &values, &mut bytes);
            }
        }
        for (cell, id) in &self.storage.global_cells {
            bytes[*cell as usize] = *id as u8;
        }
        if let (Some(at), Some(trace)) = (self.program.layout.trace_offset, &self.program.trace) {
            bytes[at as usize] = trace.entry;
        }
        if let Some(library) = self.compiled() {
            let tracked = self.storage.tracked.clone();
            bytes[tracked.start as usize..tracked.end as usize].copy_from_slice(library.initial());
        }
        self.program.initial_globals = bytes;
        Ok(())
    }

    /// The initial value of each element of a scalar or array of scalars.
    fn constant_values(&self, variable: &Variable, known: &HashMap<(usize, u32), i32>) -> Vec<i32> {
        let length = variable.array.unwrap_or(1) as usize;
        let kind = element_kind(&variable.ty, variable.array.is_some());
        let evaluate = |e: &model::Expr| kind.cut(self.evaluate(e, known).unwrap_or(0));
        match &variable.init {
            Some(Initializer::Expr(e)) => vec![evaluate(e); length],
            Some(Initializer::List(list)) => {
                let mut values: Vec<i32> = list.iter().take(length).map(evaluate).collect();
                // A list that is too short repeats its last value.
                let last = values.last().copied().unwrap_or(0);
                values.resize(length, last);
                values
            }
            _ => vec![0; length],
        }
    }

    /// Stores initial values, also those that structures give their fields.
    fn fill(&self, variable: &Variable, offset: u32, values: &[i32], bytes: &mut [u8]) {
        let stride = self.storage.size(&variable.ty);
        for element in 0..variable.array.unwrap_or(1) {
            let at = offset + element * stride;
            if let Type::Struct(id) = &variable.ty {
                let typedef = &self.model.typedefs[id.0 as usize];
                for (index, field) in typedef.fields.iter().enumerate() {
                    let values = self.constant_values(field, &HashMap::new());
                    let at = at + self.storage.field(*id, index as u32);
                    self.fill(field, at, &values, bytes);
                }
            } else if variable.ty != Type::Chan
                && let Some(value) = values.get(element as usize)
            {
                let kind = element_kind(&variable.ty, variable.array.is_some());
                kind.store(bytes, at as usize, *value);
            }
        }
    }

    /// The value of an expression over constants and globals that have their first values.
    fn evaluate(&self, e: &model::Expr, known: &HashMap<(usize, u32), i32>) -> Option<i32> {
        Some(match &e.kind {
            ExprKind::Const(value) => *value,
            ExprKind::Mtype(index) => i32::from(self.model.mtypes[*index as usize].value),
            ExprKind::Read(place) => {
                let model::Base::Global(id) = place.base else { return None };
                let element = match &place.path[..] {
                    [] => 0,
                    [model::Selector::Index(e, _)] => self.evaluate(e, known)? as u32,
                    _ => return None,
                };
                *known.get(&(id.0 as usize, element)).unwrap_or(&0)
            }
            ExprKind::Unary(op, a) => op.apply(self.evaluate(a, known)?),
            ExprKind::Binary(op, a, b) => {
                op.apply(self.evaluate(a, known)?, self.evaluate(b, known)?)?
            }
            ExprKind::Conditional(c, a, b) => {
                let chosen = if self.evaluate(c, known)? != 0 { a } else { b };
                self.evaluate(chosen, known)?
            }
            _ => return None,
        })
    }

    /// The bytes of a new frame (type and control state are left 0), and what runs at the start.
    pub(super) fn initial_frame(&mut self, index: usize) -> Result<(Vec<u8>, Vec<Op>), LowerError> {
        let mut bytes = vec![0; self.storage.frames[index].length as usize];
        let mut ops = Vec::new();
        if let Some(library) = self.compiled() {
            let tracked = &self.storage.local_tracked[index];
            bytes[tracked.start as usize..tracked.end as usize]
                .copy_from_slice(library.initial_local(index));
        }
        let parameters = self.model.proctypes[index].parameter_count;
        let locals = self.locals[index].clone();
        for (at, variable) in locals.iter().enumerate().skip(parameters) {
            let Home::At(offset) = self.storage.locals[index][at] else { continue };
            if self.late[index].contains(&(at as u32)) {
                continue;
            }
            match &variable.init {
                Some(Initializer::Expr(e)) if element::constant(e).is_none() => {
                    let value = self.value(e, Some(index))?;
                    let kind = element_kind(&variable.ty, variable.array.is_some());
                    for element in 0..variable.array.unwrap_or(1) {
                        let offset = offset + element * kind.width().bytes();
                        let place =
                            Place { space: Space::Local, offset, kind, indices: Vec::new() };
                        ops.push(Op::Store { place, value });
                    }
                }
                _ => {
                    let values = self.constant_values(variable, &HashMap::new());
                    self.fill(variable, offset, &values, &mut bytes);
                }
            }
        }
        Ok((bytes, ops))
    }
}
