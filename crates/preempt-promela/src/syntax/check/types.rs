//! Whether values fit where they go: the size of constants, sets of symbolic constants, channels.
//!
//! Spin finds some of these when it translates a model, some only while it simulates, and says nothing
//! about others. What it refuses is an error here, the rest a warning.

use super::super::codes;
use super::super::diagnostic::{Diagnostic, count};
use super::super::span::Span;
use super::constant::evaluate;
use super::{Checked, Checker};
use crate::model::{Base, Expr, ExprKind, Place, ReceiveArgument, Type};

/// How a value gets where it goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Transfer {
    Assigned,
    /// To a field of a structure, where Spin lets everything pass.
    InField,
    Sent,
    Passed,
}

/// What is known of a value beyond its number.
enum Nature {
    /// A symbolic constant of this set.
    Symbol(Option<String>),
    Channel,
    Number,
}

impl Checker<'_> {
    /// Warns, or complains where Spin does, when a value does not fit the type it goes to.
    pub(super) fn check_fit(&mut self, ty: &Type, value: &Expr, transfer: Transfer) -> Checked<()> {
        self.warn_if_truncated(ty, value);
        let is_constant = matches!(value.kind, ExprKind::Const(_) | ExprKind::Mtype(_));
        match (ty, self.nature(value)) {
            (Type::Mtype(wanted), Nature::Symbol(given)) if *wanted != given => {
                let message = format!(
                    "this is a symbolic constant of {}, but {} is wanted",
                    set(&given),
                    set(wanted)
                );
                let refused = match transfer {
                    Transfer::Assigned => is_constant && wanted.is_some(),
                    Transfer::Passed => is_constant,
                    Transfer::Sent | Transfer::InField => false,
                };
                if refused {
                    return Err(self.error(codes::WRONG_SET, value.span, message));
                }
                self.warn(codes::WRONG_SET, value.span, message);
            }
            (Type::Chan, Nature::Number | Nature::Symbol(_))
                if is_constant && transfer == Transfer::Assigned =>
            {
                return Err(self.error(
                    codes::NUMBER_AS_CHANNEL,
                    value.span,
                    "a number cannot be assigned to a channel",
                ));
            }
            (Type::Chan, Nature::Number | Nature::Symbol(_)) if transfer != Transfer::Assigned => {
                self.warn(codes::TYPE_CLASH, value.span, "a number where a channel is wanted");
            }
            (wanted, Nature::Channel)
                if *wanted != Type::Chan && transfer != Transfer::Assigned =>
            {
                self.warn(codes::TYPE_CLASH, value.span, "a channel where a number is wanted");
            }
            _ => {}
        }
        Ok(())
    }

    /// The two sides of a comparison should be of one set.
    pub(super) fn warn_about_comparison(&mut self, left: &Expr, right: &Expr) {
        if let (Nature::Symbol(a), Nature::Symbol(b)) = (self.nature(left), self.nature(right))
            && a != b
        {
            let message = format!("compares symbolic constants of {} and {}", set(&a), set(&b));
            self.warn(codes::WRONG_SET, right.span, message);
        }
    }

    /// The fields of a message against what receives them.
    pub(super) fn check_received(&mut self, fields: &[Type], arguments: &[ReceiveArgument]) {
        for (field, argument) in fields.iter().zip(arguments) {
            let (nature, span) = match argument {
                ReceiveArgument::Store(place) => (nature_of(&place.ty), place.span),
                ReceiveArgument::Match(value) => (self.nature(value), value.span),
                ReceiveArgument::Ignore => continue,
            };
            match (nature_of(field), nature) {
                (Nature::Symbol(sent), Nature::Symbol(wanted)) if sent != wanted => {
                    let message = format!(
                        "the field holds a symbolic constant of {}, this is one of {}",
                        set(&sent),
                        set(&wanted)
                    );
                    self.warn(codes::WRONG_SET, span, message);
                }
                (Nature::Channel, Nature::Number | Nature::Symbol(_)) => {
                    self.warn(codes::TYPE_CLASH, span, "the field holds a channel, this is none");
                }
                (Nature::Number | Nature::Symbol(_), Nature::Channel) => {
                    self.warn(codes::TYPE_CLASH, span, "a channel, but the field holds a number");
                }
                _ => {}
            }
        }
    }

    /// A variable can take one field of a message only.
    pub(super) fn refuse_repeated(&mut self, arguments: &[ReceiveArgument]) -> Checked<()> {
        let mut seen: Vec<(Base, Span)> = Vec::new();
        for argument in arguments {
            let ReceiveArgument::Store(place) = argument else { continue };
            if !place.path.is_empty() {
                continue;
            }
            if let Some((_, first)) = seen.iter().find(|(base, _)| *base == place.base) {
                let diagnostic = Diagnostic::error(
                    codes::RECEIVED_TWICE,
                    place.span,
                    "a variable cannot take two fields of one message",
                )
                .label(*first, "takes this one already");
                return Err(self.report(diagnostic));
            }
            seen.push((place.base, place.span));
        }
        Ok(())
    }

    /// Another number of fields than the channel has is an error when the message is sent or received, as in Spin.
    pub(super) fn check_message_length(
        &mut self,
        channel: &Place,
        wanted: usize,
        given: usize,
        last: Span,
        verb: &str,
    ) {
        if given == wanted {
            return;
        }
        let declared = self.variable_of(channel).map_or(channel.span, |v| v.span);
        let is = if given == 1 { "is" } else { "are" };
        let message = format!(
            "messages of this channel have {}, {given} {is} {verb}",
            count(wanted, "field")
        );
        let (code, place) = match given > wanted {
            true => (codes::MESSAGE_LENGTH, last),
            false => (codes::SHORT_MESSAGE, channel.span),
        };
        let diagnostic = Diagnostic::warning(code, place, message);
        self.findings.push(diagnostic.label(declared, "declared here"));
    }

    fn warn(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.findings.push(Diagnostic::warning(code, span, message));
    }

    fn nature(&self, value: &Expr) -> Nature {
        match &value.kind {
            ExprKind::Mtype(index) => match self.model.mtypes.get(*index as usize) {
                Some(symbol) => Nature::Symbol(symbol.kind.clone()),
                None => Nature::Number,
            },
            ExprKind::Read(place) | ExprKind::RemoteVariable { place, .. } => nature_of(&place.ty),
            _ => Nature::Number,
        }
    }

    /// Warns when a constant does not fit into the type it is stored in.
    pub(super) fn warn_if_truncated(&mut self, ty: &Type, value: &Expr) {
        let Some(constant) = evaluate(value, &self.model) else { return };
        let stored = truncate(ty, constant);
        if stored != constant {
            self.findings.push(Diagnostic::warning(
                codes::TRUNCATED,
                value.span,
                format!("{constant} does not fit into {}: it becomes {stored}", describe(ty)),
            ));
        }
    }
}

/// What a value of a type is.
fn nature_of(ty: &Type) -> Nature {
    match ty {
        Type::Mtype(set) => Nature::Symbol(set.clone()),
        Type::Chan => Nature::Channel,
        _ => Nature::Number,
    }
}

/// A set of symbolic constants in words.
fn set(kind: &Option<String>) -> String {
    match kind {
        Some(kind) => format!("`mtype:{kind}`"),
        None => "plain `mtype`".into(),
    }
}

/// What is left of a value once stored.
fn truncate(ty: &Type, value: i32) -> i32 {
    match ty {
        Type::Bit | Type::Bool => value & 1,
        Type::Byte | Type::Pid | Type::Mtype(_) => value & 255,
        Type::Short => i32::from(value as i16),
        Type::Unsigned(bits) if *bits < 32 => (value as u32 & ((1u32 << bits) - 1)) as i32,
        Type::Unsigned(_) | Type::Int | Type::Chan | Type::Struct(_) => value,
    }
}

fn describe(ty: &Type) -> String {
    match ty {
        Type::Bit => "a bit".into(),
        Type::Bool => "a bool".into(),
        Type::Byte => "a byte".into(),
        Type::Pid => "a pid".into(),
        Type::Short => "a short".into(),
        Type::Int => "an int".into(),
        Type::Unsigned(bits) => format!("{bits} bits"),
        Type::Mtype(_) => "an mtype".into(),
        Type::Chan => "a chan".into(),
        Type::Struct(_) => "a structure".into(),
    }
}
