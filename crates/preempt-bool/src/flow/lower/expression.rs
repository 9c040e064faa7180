//! Expressions: names are resolved, and every part gets the type that its place demands.

use super::Lowering;
use super::graph::Graph;
use crate::flow::{Expr, VariableId};
use crate::syntax::ast::{self, ExprKind, Operator, Span, Type};

impl Lowering<'_> {
    pub(super) fn variable(
        &mut self,
        name: &str,
        span: &Span,
        graph: &Graph,
    ) -> Option<VariableId> {
        let found = graph.scope.get(name).or_else(|| self.globals.get(name)).copied();
        if found.is_none() {
            self.error("B0006", span, format!("the variable `{name}` is not declared"));
        }
        found
    }

    pub(super) fn condition(&mut self, expr: &ast::Expr, graph: &Graph) -> Expr {
        self.expression(expr, Type::Bool, false, graph)
    }

    pub(super) fn expression(
        &mut self,
        expr: &ast::Expr,
        ty: Type,
        primed: bool,
        graph: &Graph,
    ) -> Expr {
        if let (ExprKind::Nondet, Type::Int(width)) = (&expr.kind, ty) {
            return Expr::Any { width };
        }
        self.typed(expr, ty, primed, graph)
    }

    /// The type that an expression has by itself; `None` for constants and `*`.
    pub(super) fn own_type(&self, expr: &ast::Expr, graph: &Graph) -> Option<Type> {
        match &expr.kind {
            ExprKind::Bool(_) | ExprKind::Not(_) | ExprKind::Choose(..) => Some(Type::Bool),
            ExprKind::Int(_) | ExprKind::Nondet => None,
            ExprKind::Variable(name) | ExprKind::Next(name) => {
                let found = graph.scope.get(name).or_else(|| self.globals.get(name));
                found.map(|v| self.types[*v])
            }
            ExprKind::Binary(Operator::Plus | Operator::Minus, a, b) => {
                self.own_type(a, graph).or_else(|| self.own_type(b, graph))
            }
            ExprKind::Binary(..) => Some(Type::Bool),
        }
    }

    fn typed(&mut self, expr: &ast::Expr, ty: Type, primed: bool, graph: &Graph) -> Expr {
        let mismatch = |this: &mut Self, found: &str| {
            let message = format!("{} is needed here, this is {found}", ty.in_words());
            this.error("B0009", &expr.span, message);
            Expr::Constant { value: 0, width: ty.width() }
        };
        match &expr.kind {
            ExprKind::Bool(_) if ty != Type::Bool => mismatch(self, "a truth value"),
            ExprKind::Bool(value) => Expr::truth(*value),
            ExprKind::Int(value) => {
                if *value >= 1 << ty.width() {
                    let message = match ty {
                        Type::Bool => format!("{value} is not a truth value: T, F, 1 or 0 is"),
                        Type::Int(width) => format!("{value} does not fit into {width} bits"),
                    };
                    self.error("B0004", &expr.span, message);
                }
                Expr::Constant { value: *value, width: ty.width() }
            }
            ExprKind::Nondet if ty != Type::Bool => {
                let message =
                    "`*` of an integer type must stand alone; assign it to a variable first";
                self.error("B0015", &expr.span, message);
                Expr::Constant { value: 0, width: ty.width() }
            }
            ExprKind::Nondet => Expr::Any { width: 1 },
            ExprKind::Variable(name) | ExprKind::Next(name) => {
                let Some(v) = self.variable(name, &expr.span, graph) else {
                    return Expr::Constant { value: 0, width: ty.width() };
                };
                if self.types[v] != ty {
                    return mismatch(self, &self.types[v].in_words());
                }
                if matches!(expr.kind, ExprKind::Variable(_)) {
                    return Expr::Variable(v);
                }
                if !primed {
                    let message = format!("`'{name}` has a meaning in `constrain` only");
                    self.error("B0016", &expr.span, message);
                }
                Expr::Next(v)
            }
            ExprKind::Not(inner) if ty == Type::Bool => {
                self.typed(inner, Type::Bool, primed, graph).not()
            }
            ExprKind::Not(_) => mismatch(self, "a truth value"),
            ExprKind::Choose(..) => mismatch(self, "a choice"),
            ExprKind::Binary(operator @ (Operator::Plus | Operator::Minus), a, b) => {
                let Type::Int(width) = ty else { return mismatch(self, "a number") };
                let a = Box::new(self.typed(a, ty, primed, graph));
                let b = Box::new(self.typed(b, ty, primed, graph));
                match operator {
                    Operator::Plus => Expr::Plus(a, b, width),
                    _ => Expr::Minus(a, b, width),
                }
            }
            ExprKind::Binary(..) if ty != Type::Bool => mismatch(self, "a truth value"),
            ExprKind::Binary(operator, a, b) => {
                self.boolean_operator(*operator, a, b, primed, graph)
            }
        }
    }

    fn boolean_operator(
        &mut self,
        operator: Operator,
        a: &ast::Expr,
        b: &ast::Expr,
        primed: bool,
        graph: &Graph,
    ) -> Expr {
        use Operator::*;
        let both = |this: &mut Self, ty: Type| {
            let a = Box::new(this.typed(a, ty, primed, graph));
            (a, Box::new(this.typed(b, ty, primed, graph)))
        };
        match operator {
            And => {
                let (a, b) = both(self, Type::Bool);
                Expr::And(a, b)
            }
            Or => {
                let (a, b) = both(self, Type::Bool);
                Expr::Or(a, b)
            }
            Implies => {
                let (a, b) = both(self, Type::Bool);
                Expr::Or(Box::new(a.not()), b)
            }
            Xor => {
                let (a, b) = both(self, Type::Bool);
                Expr::Equal(a, b).not()
            }
            Equal | Unequal => {
                let own = self.own_type(a, graph).or_else(|| self.own_type(b, graph));
                let (a, b) = both(self, own.unwrap_or(Type::Bool));
                let equal = Expr::Equal(a, b);
                if operator == Equal { equal } else { equal.not() }
            }
            Less | LessEqual | Greater | GreaterEqual | Plus | Minus => {
                let own = self.own_type(a, graph).or_else(|| self.own_type(b, graph));
                let (a, b) = both(self, own.unwrap_or(Type::Int(32)));
                match operator {
                    Less => Expr::Less(a, b),
                    Greater => Expr::Less(b, a),
                    LessEqual => Expr::Less(b, a).not(),
                    _ => Expr::Less(a, b).not(),
                }
            }
        }
    }
}
