//! Types, variables, structures, symbolic constants, and the constants they need.

use super::super::ast;
use super::super::codes;
use super::super::diagnostic::Diagnostic;
use super::super::span::Span;
use super::super::suggest;
use super::constant::{MAXIMAL_MESSAGE, evaluate};
use super::scope::Usage;
use super::types::Transfer;
use super::{Checked, Checker};
use crate::model::{
    Base, ChannelInit, ExprKind, GlobalId, Initializer, LocalId, Mtype, Type, Typedef, TypedefId,
    Variable,
};

/// Structures with more elements than this are refused.
const MAXIMAL_FIELDS: usize = 100_000;
impl Checker<'_> {
    pub(super) fn mtype_set(&mut self, set: ast::MtypeSet) {
        let kind = set.kind.map(|k| k.name.to_string());
        let before = self.model.mtypes.iter().filter(|m| m.kind == kind).count();
        let count = set.names.len();
        if before + count > 255 {
            let span = set.names[count - 1].span;
            self.error(
                codes::TOO_MANY_MTYPES,
                span,
                "a set of symbolic constants holds at most 255",
            );
            return;
        }
        for (i, name) in set.names.into_iter().enumerate() {
            if self.mtypes.contains_key(&name.name) || self.globals.contains_key(&name.name) {
                self.error(
                    codes::REDECLARED,
                    name.span,
                    format!("`{}` is declared twice", name.name),
                );
                continue;
            }
            let value = (before + count - i) as u8;
            self.mtypes.insert(name.name.clone(), self.model.mtypes.len() as u32);
            self.model.mtypes.push(Mtype {
                name: name.name.to_string(),
                kind: kind.clone(),
                value,
            });
        }
    }

    pub(super) fn typedef(&mut self, typedef: ast::Typedef) {
        let mut fields: Vec<Variable> = Vec::new();
        for declaration in &typedef.fields {
            for variable in self.variables(declaration, false) {
                if let Some(first) = fields.iter().find(|f| f.name == variable.name) {
                    let diagnostic = Diagnostic::error(
                        codes::REDECLARED,
                        variable.span,
                        format!("field `{}` is declared twice", variable.name),
                    )
                    .label(first.span, "first declared here");
                    self.report(diagnostic);
                    continue;
                }
                fields.push(variable);
            }
        }
        if self.typedefs.contains_key(&typedef.name.name) {
            let name = &typedef.name;
            self.error(
                codes::REDECLARED,
                name.span,
                format!("structure `{}` is declared twice", name.name),
            );
        }
        let id = TypedefId(self.model.typedefs.len() as u32);
        self.typedefs.insert(typedef.name.name.clone(), id);
        self.model.typedefs.push(Typedef {
            name: typedef.name.name.to_string(),
            fields,
            span: typedef.name.span,
        });
        if self.scalar_count(&Type::Struct(id)) > MAXIMAL_FIELDS {
            self.error(
                codes::BAD_ARRAY_SIZE,
                typedef.name.span,
                format!(
                    "structure `{}` has more than {MAXIMAL_FIELDS} elements",
                    typedef.name.name
                ),
            );
        }
    }

    pub(super) fn global_declaration(&mut self, declaration: ast::Declaration) {
        // One by one: an initialiser may use the variable declared just before it.
        for variable in &declaration.variables {
            let one = ast::Declaration { variables: vec![variable.clone()], ..declaration.clone() };
            for resolved in self.variables(&one, false) {
                let name = &variable.name;
                if let Some(old) = self.globals.get(&name.name) {
                    let first = self.model.globals[old.0 as usize].span;
                    self.redeclared(name, first);
                    continue;
                }
                if self.is_reserved(name) {
                    continue;
                }
                let id = GlobalId(self.model.globals.len() as u32);
                self.globals.insert(name.name.clone(), id);
                self.model.globals.push(resolved);
                self.usage.push(Usage::default());
            }
        }
    }

    pub(super) fn local_declaration(&mut self, declaration: &ast::Declaration) -> Vec<LocalId> {
        let mut ids = Vec::new();
        for variable in &declaration.variables {
            let one = ast::Declaration { variables: vec![variable.clone()], ..declaration.clone() };
            for resolved in self.variables(&one, self.body.is_nested()) {
                let name = &variable.name;
                // No hiding: Spin 6.5.2 refuses a name that is visible already, from whatever block.
                let visible = match (self.body.find(&name.name), self.globals.get(&name.name)) {
                    (Some(id), _) => Some(self.body.variables[id.0 as usize].span),
                    (None, Some(id)) => Some(self.model.globals[id.0 as usize].span),
                    (None, None) => None,
                };
                if let Some(first) = visible {
                    self.redeclared(name, first);
                    continue;
                }
                if self.is_reserved(name) {
                    continue;
                }
                if matches!(resolved.init, Some(Initializer::Channel(_))) && self.body.started {
                    let message = format!(
                        "channel `{}` must be created at the start of the process, before any statement",
                        name.name
                    );
                    self.error(codes::CHANNEL_PLACEMENT, name.span, message);
                    continue;
                }
                ids.push(self.body.declare(name.name.clone(), resolved));
            }
        }
        ids
    }

    fn redeclared(&mut self, name: &ast::Ident, first: Span) {
        self.report(
            Diagnostic::error(
                codes::REDECLARED,
                name.span,
                format!("`{}` is declared twice", name.name),
            )
            .label(first, "first declared here"),
        );
    }

    /// Reports a variable that takes the name of a symbolic constant or of something built in.
    fn is_reserved(&mut self, name: &ast::Ident) -> bool {
        if self.mtypes.contains_key(&name.name) {
            self.error(
                codes::REDECLARED,
                name.span,
                format!("`{}` is a symbolic constant and cannot name a variable", name.name),
            );
            return true;
        }
        let kind = if self.typedefs.contains_key(&name.name) {
            Some("a structure")
        } else if self.proctypes.get(&name.name).is_some_and(|id| id.0 < self.proctypes_seen) {
            Some("a process type")
        } else {
            None
        };
        if let Some(kind) = kind {
            let message = format!("`{}` already names {kind}", name.name);
            self.error(codes::REDECLARED, name.span, message);
            return true;
        }
        if matches!(&*name.name, "_" | "_pid" | "_nr_pr" | "_last" | "_priority") {
            self.error(codes::READ_ONLY, name.span, format!("`{}` is built in", name.name));
            return true;
        }
        false
    }

    /// The variables of one declaration, not yet in any scope.
    fn variables(&mut self, declaration: &ast::Declaration, nested: bool) -> Vec<Variable> {
        let Ok(base) = self.resolve_type(&declaration.ty) else { return Vec::new() };
        let mut result = Vec::new();
        for variable in &declaration.variables {
            let span = variable.name.span;
            let ty = self.with_width(&base, variable);
            let array = variable.size.as_ref().and_then(|size| {
                let value = self.array_size(size)?;
                if !(1..=65_535).contains(&value) {
                    self.error(
                        codes::BAD_ARRAY_SIZE,
                        size.span,
                        format!("an array has 1 to 65535 elements, not {value}"),
                    );
                    return None;
                }
                Some(value as u32)
            });
            let init = variable.init.as_ref().and_then(|init| self.initializer(init, &ty, array));
            result.push(Variable {
                name: variable.name.name.to_string(),
                ty,
                array,
                init,
                visibility: declaration.visibility,
                nested,
                span,
            });
        }
        result
    }

    fn with_width(&mut self, base: &Type, variable: &ast::Variable) -> Type {
        let Some(bits) = &variable.bits else {
            if let Type::Unsigned(_) = base {
                self.report(
                    Diagnostic::error(
                        codes::BAD_WIDTH,
                        variable.name.span,
                        format!("unsigned `{}` needs its number of bits", variable.name.name),
                    )
                    .suggest(format!("write `unsigned {} : 5`", variable.name.name)),
                );
            }
            return base.clone();
        };
        let Ok(width) = self.constant(bits, "a number of bits") else { return base.clone() };
        let Type::Unsigned(_) = base else {
            self.error(
                codes::BAD_WIDTH,
                bits.span,
                format!("only an unsigned has a number of bits, `{}` is none", variable.name.name),
            );
            return base.clone();
        };
        if !(1..=31).contains(&width) {
            self.error(
                codes::BAD_WIDTH,
                bits.span,
                format!("`{}` can be 1 to 31 bits wide, not {width}", variable.name.name),
            );
            return base.clone();
        }
        Type::Unsigned(width as u8)
    }

    pub(super) fn resolve_type(&mut self, ty: &ast::TypeName) -> Checked<Type> {
        Ok(match &ty.base {
            ast::BaseType::Bit => Type::Bit,
            ast::BaseType::Bool => Type::Bool,
            ast::BaseType::Byte => Type::Byte,
            ast::BaseType::Pid => Type::Pid,
            ast::BaseType::Short => Type::Short,
            ast::BaseType::Int => Type::Int,
            ast::BaseType::Unsigned => Type::Unsigned(32),
            ast::BaseType::Mtype(kind) => Type::Mtype(kind.as_ref().map(|k| k.name.to_string())),
            ast::BaseType::Chan => Type::Chan,
            ast::BaseType::Named(name) => match self.typedefs.get(&name.name) {
                Some(id) => Type::Struct(*id),
                None => {
                    let near = suggest::nearest(&name.name, self.typedefs.keys().map(|n| &**n));
                    let near = near.map(str::to_string);
                    let mut diagnostic = Diagnostic::error(
                        codes::UNKNOWN_TYPE,
                        name.span,
                        format!("there is no type named `{}`", name.name),
                    );
                    if let Some(near) = near {
                        diagnostic = diagnostic.suggest(format!("did you mean `{near}`?"));
                    }
                    return Err(self.report(diagnostic));
                }
            },
        })
    }

    fn initializer(
        &mut self,
        init: &ast::Initializer,
        ty: &Type,
        array: Option<u32>,
    ) -> Option<Initializer> {
        match init {
            ast::Initializer::Channel { capacity, fields, span } => {
                if *ty != Type::Chan {
                    self.error(
                        codes::NOT_A_CHANNEL,
                        *span,
                        "only a `chan` can be initialised with a channel",
                    );
                    return None;
                }
                let most = i32::from(u16::MAX);
                let capacity =
                    self.constant_within(capacity, 0, most, "the capacity of a channel").ok()?;
                let mut types = Vec::new();
                for field in fields {
                    types.push(self.resolve_type(field).ok()?);
                }
                let length =
                    types.iter().map(|t| self.scalar_count(t)).fold(0, usize::saturating_add);
                if length > MAXIMAL_MESSAGE {
                    self.error(
                        codes::MESSAGE_LENGTH,
                        *span,
                        format!("a message has at most {MAXIMAL_MESSAGE} fields, not {length}"),
                    );
                    return None;
                }
                Some(Initializer::Channel(ChannelInit {
                    capacity: capacity as u32,
                    fields: types,
                    span: *span,
                }))
            }
            ast::Initializer::List(values, span) => {
                let Some(length) = array else {
                    self.error(
                        codes::NOT_AN_ARRAY,
                        *span,
                        "only an array can be initialised with a list",
                    );
                    return None;
                };
                if let Type::Struct(_) = ty {
                    return self.ignore_initializer(*span);
                }
                if values.len() > length as usize {
                    self.findings.push(Diagnostic::warning(
                        codes::LONG_LIST,
                        *span,
                        format!(
                            "{} values for an array of {length}; the rest is ignored",
                            values.len()
                        ),
                    ));
                }
                let mut list = Vec::new();
                for value in values.iter().take(length as usize) {
                    let value = self.expression(value).ok()?;
                    self.check_fit(ty, &value, Transfer::Assigned).ok()?;
                    list.push(value);
                }
                Some(Initializer::List(list))
            }
            ast::Initializer::Expr(value) => {
                let value = self.expression(value).ok()?;
                if let Type::Struct(_) = ty {
                    return self.ignore_initializer(value.span);
                }
                self.check_fit(ty, &value, Transfer::Assigned).ok()?;
                Some(Initializer::Expr(value))
            }
        }
    }

    fn ignore_initializer(&mut self, span: Span) -> Option<Initializer> {
        self.findings.push(Diagnostic::warning(
            codes::IGNORED_INITIALIZER,
            span,
            "an initial value for a whole structure is ignored, as in Spin",
        ));
        None
    }

    /// An expression that must be constant.
    pub(super) fn constant(&mut self, expression: &ast::Expr, what: &str) -> Checked<i32> {
        let resolved = self.expression(expression)?;
        match evaluate(&resolved, &self.model) {
            Some(value) => Ok(value),
            None => Err(self.error(
                codes::NOT_CONSTANT,
                expression.span,
                format!("{what} must be constant"),
            )),
        }
    }

    pub(super) fn constant_within(
        &mut self,
        expression: &ast::Expr,
        from: i32,
        to: i32,
        what: &str,
    ) -> Checked<i32> {
        let value = self.constant(expression, what)?;
        if (from..=to).contains(&value) {
            return Ok(value);
        }
        Err(self.error(
            codes::CONSTANT_RANGE,
            expression.span,
            format!("{what} must lie between {from} and {to}, not {value}"),
        ))
    }

    /// A constant, or a scalar with a constant initialiser, which stands for its first value.
    fn array_size(&mut self, size: &ast::Expr) -> Option<i32> {
        let resolved = self.expression(size).ok()?;
        if let ExprKind::Read(place) = &resolved.kind
            && place.path.is_empty()
        {
            let variable = match place.base {
                Base::Global(id) => self.model.globals.get(id.0 as usize),
                Base::Local(id) => self.body.variables.get(id.0 as usize),
                Base::Scratch => None,
            };
            if let Some(Initializer::Expr(init)) = variable.and_then(|v| v.init.as_ref())
                && let Some(value) = evaluate(init, &self.model)
            {
                return Some(value);
            }
        }
        match evaluate(&resolved, &self.model) {
            Some(value) => Some(value),
            None => {
                self.error(codes::NOT_CONSTANT, size.span, "the size of an array must be constant");
                None
            }
        }
    }

    /// The scalars a type consists of.
    pub(super) fn flatten_type(&self, ty: &Type, into: &mut Vec<Type>) {
        let Type::Struct(id) = ty else {
            into.push(ty.clone());
            return;
        };
        let Some(typedef) = self.model.typedefs.get(id.0 as usize) else { return };
        for field in &typedef.fields {
            for _ in 0..field.array.unwrap_or(1) {
                if into.len() > MAXIMAL_FIELDS {
                    return;
                }
                self.flatten_type(&field.ty, into);
            }
        }
    }

    /// How many scalars a type consists of.
    pub(super) fn scalar_count(&self, ty: &Type) -> usize {
        let Type::Struct(id) = ty else { return 1 };
        let fields = &self.model.typedefs[id.0 as usize].fields;
        fields
            .iter()
            .map(|f| (f.array.unwrap_or(1) as usize).saturating_mul(self.scalar_count(&f.ty)))
            .fold(0, usize::saturating_add)
    }
}
