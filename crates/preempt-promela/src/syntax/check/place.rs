//! References to variables, elements and fields.

use super::super::ast;
use super::super::codes;
use super::super::diagnostic::{Diagnostic, count};
use super::super::span::Span;
use super::super::suggest;
use super::constant::{MAXIMAL_MESSAGE, evaluate};
use super::scope::Usage;
use super::{Checked, Checker};
use crate::model::{Base, Expr, ExprKind, Initializer, Place, Selector, Type, Variable};

/// How a place is used; decides about warnings, not about meaning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Its value is read.
    Value,
    /// Something is stored in it.
    Store,
    /// It is the channel of a send.
    Send,
    /// It is the channel of a receive, poll or test.
    Receive,
}

impl Checker<'_> {
    /// A place of any type, also a structure.
    pub(super) fn place(&mut self, reference: &ast::Reference, purpose: Use) -> Checked<Place> {
        let first = &reference.parts[0];
        let name = &*first.name.name;
        if name == "_" && reference.parts.len() == 1 {
            return Ok(Place {
                base: Base::Scratch,
                path: Vec::new(),
                ty: Type::Int,
                span: reference.span,
            });
        }
        let (base, shape) = if let Some(id) = self.body.find(name) {
            mark(&mut self.body.usage[id.0 as usize], purpose);
            (Base::Local(id), shape_of(&self.body.variables[id.0 as usize]))
        } else if let Some(id) = self.globals.get(name).copied() {
            mark(&mut self.usage[id.0 as usize], purpose);
            (Base::Global(id), shape_of(&self.model.globals[id.0 as usize]))
        } else {
            return Err(self.unknown_name(&first.name));
        };
        self.path(base, shape, reference)
    }

    /// Follows indices and fields from a variable that is known.
    pub(super) fn path(
        &mut self,
        base: Base,
        (array, mut ty): (Option<u32>, Type),
        reference: &ast::Reference,
    ) -> Checked<Place> {
        let mut path = Vec::new();
        let first = &reference.parts[0];
        self.index(array, first, &mut path)?;
        let mut owner = first.name.name.clone();
        for part in &reference.parts[1..] {
            let Type::Struct(id) = ty else {
                return Err(self.error(
                    codes::UNKNOWN_FIELD,
                    part.name.span,
                    format!("`{owner}` is no structure and has no field `{}`", part.name.name),
                ));
            };
            let fields = &self.model.typedefs[id.0 as usize].fields;
            let Some(position) = fields.iter().position(|f| f.name == *part.name.name) else {
                let structure = self.model.typedefs[id.0 as usize].name.clone();
                let near =
                    suggest::nearest(&part.name.name, fields.iter().map(|f| f.name.as_str()));
                let mut diagnostic = Diagnostic::error(
                    codes::UNKNOWN_FIELD,
                    part.name.span,
                    format!("structure `{structure}` has no field `{}`", part.name.name),
                );
                if let Some(near) = near {
                    diagnostic = diagnostic.suggest(format!("did you mean `{near}`?"));
                }
                return Err(self.report(diagnostic));
            };
            let array = fields[position].array;
            ty = fields[position].ty.clone();
            path.push(Selector::Field(id, position as u32));
            self.index(array, part, &mut path)?;
            owner = part.name.name.clone();
        }
        Ok(Place { base, path, ty, span: reference.span })
    }

    fn index(
        &mut self,
        array: Option<u32>,
        part: &ast::Part,
        path: &mut Vec<Selector>,
    ) -> Checked<()> {
        let name = &part.name.name;
        match (array, &part.index) {
            (None, None) => Ok(()),
            (Some(length), Some(index)) => {
                let resolved = self.expression(index)?;
                if let Some(value) = evaluate(&resolved, &self.model)
                    && !(0..i64::from(length)).contains(&i64::from(value))
                {
                    self.findings.push(Diagnostic::warning(
                        codes::INDEX_OUT_OF_BOUNDS,
                        index.span,
                        format!(
                            "index {value} lies outside of `{name}`, which has {}",
                            count(length as usize, "element")
                        ),
                    ));
                }
                path.push(Selector::Index(Box::new(resolved), length));
                Ok(())
            }
            (Some(length), None) => Err(self.report(
                Diagnostic::error(
                    codes::NOT_AN_ARRAY,
                    part.name.span,
                    format!("array `{name}` needs an index"),
                )
                .note(format!("it has {}, numbered from 0", count(length as usize, "element"))),
            )),
            (None, Some(index)) => {
                let resolved = self.expression(index)?;
                // Spin takes a scalar for an array of one element.
                if evaluate(&resolved, &self.model) == Some(0) {
                    return Ok(());
                }
                Err(self.error(
                    codes::NOT_AN_ARRAY,
                    index.span,
                    format!("`{name}` is no array and has no elements"),
                ))
            }
        }
    }

    /// A place that holds one value.
    pub(super) fn scalar_place(
        &mut self,
        reference: &ast::Reference,
        purpose: Use,
    ) -> Checked<Place> {
        let place = self.place(reference, purpose)?;
        self.demand_scalar(&place)?;
        Ok(place)
    }

    pub(super) fn demand_scalar(&mut self, place: &Place) -> Checked<()> {
        let Type::Struct(id) = place.ty else { return Ok(()) };
        let structure = self.model.typedefs[id.0 as usize].name.clone();
        let field = self.model.typedefs[id.0 as usize].fields.first().map(|f| f.name.clone());
        let mut diagnostic = Diagnostic::error(
            codes::INCOMPLETE_STRUCTURE,
            place.span,
            format!("a whole structure `{structure}` cannot be used here"),
        );
        if let Some(field) = field {
            diagnostic = diagnostic.suggest(format!("name one of its fields, such as `.{field}`"));
        }
        Err(self.report(diagnostic))
    }

    /// A place that can be assigned to.
    pub(super) fn target(&mut self, reference: &ast::Reference) -> Checked<Place> {
        let name = &reference.parts[0].name;
        if matches!(&*name.name, "_pid" | "_nr_pr" | "_last" | "_priority") {
            return Err(self.error(
                codes::READ_ONLY,
                name.span,
                format!("`{}` cannot be assigned to", name.name),
            ));
        }
        if self.mtypes.contains_key(&name.name) {
            let message =
                format!("`{}` is a symbolic constant and cannot be assigned to", name.name);
            return Err(self.error(codes::READ_ONLY, name.span, message));
        }
        self.scalar_place(reference, Use::Store)
    }

    /// A place that holds a channel.
    pub(super) fn channel(&mut self, reference: &ast::Reference, purpose: Use) -> Checked<Place> {
        let name = &reference.parts[0].name;
        if self.mtypes.contains_key(&name.name) {
            return Err(self.error(
                codes::NOT_A_CHANNEL,
                name.span,
                format!("`{}` is no channel", name.name),
            ));
        }
        let place = self.place(reference, purpose)?;
        if place.ty == Type::Chan {
            return Ok(place);
        }
        Err(self.error(codes::NOT_A_CHANNEL, reference.span, "this is no channel"))
    }

    /// The values a message of this channel has, if its declaration says.
    pub(super) fn message_fields(&self, channel: &Place) -> Option<Vec<Type>> {
        let variable = self.variable_of(channel)?;
        let Some(Initializer::Channel(init)) = &variable.init else { return None };
        let mut flat = Vec::new();
        for field in &init.fields {
            self.flatten_type(field, &mut flat);
        }
        Some(flat)
    }

    /// The declaration a place comes from: of the variable or of its last field.
    pub(super) fn variable_of(&self, place: &Place) -> Option<&Variable> {
        let field = place.path.iter().rev().find_map(|s| match s {
            Selector::Field(id, field) => Some((*id, *field)),
            Selector::Index(..) => None,
        });
        if let Some((id, field)) = field {
            return self.model.typedefs.get(id.0 as usize)?.fields.get(field as usize);
        }
        match place.base {
            Base::Global(id) => self.model.globals.get(id.0 as usize),
            Base::Local(id) => self.body.variables.get(id.0 as usize),
            Base::Scratch => None,
        }
    }

    /// The scalars of a place, in order.
    pub(super) fn scalars(&mut self, place: Place) -> Checked<Vec<Place>> {
        if self.scalar_count(&place.ty) > MAXIMAL_MESSAGE {
            let message =
                format!("a structure of more than {MAXIMAL_MESSAGE} elements cannot be passed on");
            return Err(self.error(codes::MESSAGE_LENGTH, place.span, message));
        }
        let mut scalars = Vec::new();
        self.flatten_place(place, &mut scalars);
        Ok(scalars)
    }

    fn flatten_place(&self, place: Place, into: &mut Vec<Place>) {
        let Type::Struct(id) = place.ty else {
            into.push(place);
            return;
        };
        let Some(typedef) = self.model.typedefs.get(id.0 as usize) else { return };
        for (i, field) in typedef.fields.iter().enumerate() {
            let mut inner = place.clone();
            inner.path.push(Selector::Field(id, i as u32));
            inner.ty = field.ty.clone();
            let Some(length) = field.array else {
                self.flatten_place(inner, into);
                continue;
            };
            for element in 0..length {
                let mut inner = inner.clone();
                let index = constant(element as i32, place.span);
                inner.path.push(Selector::Index(Box::new(index), length));
                self.flatten_place(inner, into);
            }
        }
    }
}

/// What a path starts from: the length of an array, and the type.
pub(super) fn shape_of(variable: &Variable) -> (Option<u32>, Type) {
    (variable.array, variable.ty.clone())
}

pub(super) fn constant(value: i32, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(value), span }
}

fn mark(usage: &mut Usage, purpose: Use) {
    usage.used = true;
    match purpose {
        Use::Value | Use::Receive => usage.received = true,
        Use::Store => {
            usage.received = true;
            usage.stored = true;
        }
        Use::Send => usage.sent = true,
    }
}
