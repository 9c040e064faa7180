//! The names of a model with their types, values and places, as `spin -d` prints them for scripts and front ends.
//!
//! One line for each symbol, tabs between its columns: type, name, value, where it belongs, what it is. Spin also prints a scope, which
//! is left out, and numbers the labels of claims, for which there is a dash here.

use crate::arguments::NamesArguments;
use crate::failure::Failure;
use crate::output::print_exactly;
use crate::promela;
use preempt_ltl::write_never;
use preempt_promela::ir::{LowerOptions, Program, lower};
use preempt_promela::model::{Initializer, Model, Proctype, Stmt, StmtKind, Type, Variable};
use preempt_promela::syntax::evaluate_in;
use preempt_verify::promela::{Property, violating};
use std::fmt::Write;
use std::process::ExitCode;

/// Runs `preempt symbols`.
pub(crate) fn run(arguments: &NamesArguments) -> Result<ExitCode, Failure> {
    let claim = arguments.claim_file.as_deref();
    let model = promela::load_with(&arguments.model, claim, true)?;
    let options = LowerOptions { merge: false, ..LowerOptions::default() };
    let program = lower(&model, options).map_err(|error| {
        let diagnostic = error.diagnostic();
        Failure::Input(format!("{}: {}", diagnostic.code, diagnostic.message))
    })?;
    print_exactly(&table(&model, &program));
    Ok(ExitCode::SUCCESS)
}

fn table(model: &Model, program: &Program) -> String {
    let mut table = Table { model, text: String::new() };
    for constant in &model.mtypes {
        let (name, value) = (&constant.name, constant.value);
        table.row(["mtype ", name, &value.to_string(), "<:global:>", "<constant>"], None);
    }
    let mut declared: Vec<(usize, Declared<'_>)> = Vec::new();
    declared.extend(model.globals.iter().map(|v| (v.span.start as usize, Declared::Global(v))));
    declared.extend(model.proctypes.iter().map(|p| (p.span.start as usize, Declared::Proctype(p))));
    for typedef in &model.typedefs {
        for field in &typedef.fields {
            declared.push((typedef.span.start as usize, Declared::Field(&typedef.name, field)));
        }
    }
    declared.sort_by_key(|(start, _)| *start);
    for (_, symbol) in declared {
        match symbol {
            Declared::Global(variable) => table.variable("", variable, "<:global:>", None),
            Declared::Field(owner, field) => {
                table.variable(&format!("{owner}."), field, "<:struct-field:>", None);
            }
            Declared::Proctype(proctype) => table.proctype(proctype),
        }
    }
    table.labels(program);
    table.text
}

enum Declared<'a> {
    Global(&'a Variable),
    /// Of a structure with this name.
    Field(&'a str, &'a Variable),
    Proctype(&'a Proctype),
}

struct Table<'a> {
    model: &'a Model,
    text: String,
}

impl Table<'_> {
    /// Type, name, value, place and kind; of a channel also what its messages are.
    fn row(&mut self, columns: [&str; 5], more: Option<&str>) {
        let more = more.map_or(String::new(), |more| format!("\t{more}"));
        let _ = writeln!(self.text, "{}{more}", columns.join("\t"));
    }

    /// `number`: of a parameter, from 1 on.
    fn variable(&mut self, owner: &str, variable: &Variable, place: &str, number: Option<usize>) {
        let length = variable.array.map_or(String::new(), |length| format!("[{length}]"));
        let name = format!("{owner}{}{length}", variable.name);
        let kind = match (number, &variable.ty) {
            (Some(number), _) => format!("<parameter {number}>"),
            (None, Type::Mtype(_)) => "<constant>".into(),
            (None, _) if variable.array.is_some() => "<array>".into(),
            (None, _) => "<variable>".into(),
        };
        let channel = match &variable.init {
            Some(Initializer::Channel(channel)) => Some(channel),
            _ => None,
        };
        let value = match (&variable.ty, &variable.init) {
            (Type::Struct(typedef), _) => self.model.typedefs[typedef.0 as usize].name.clone(),
            (Type::Chan, _) => channel.map_or(0, |channel| channel.capacity).to_string(),
            (_, Some(Initializer::Expr(expression))) => {
                evaluate_in(Some(0), expression, self.model).unwrap_or(0).to_string()
            }
            _ => "0".into(),
        };
        let message = (variable.ty == Type::Chan).then(|| {
            let fields = channel.map_or(&[][..], |channel| &channel.fields);
            let types: Vec<String> = fields.iter().map(|ty| self.field(ty)).collect();
            format!("{}\t{}", fields.len(), types.join("\t"))
        });
        let ty = match &variable.ty {
            Type::Struct(_) => "struct".into(),
            ty => self.field(ty),
        };
        self.row([&ty, &name, &value, place, &kind], message.as_deref());
    }

    /// A type as Spin writes it in a message.
    fn field(&self, ty: &Type) -> String {
        match ty {
            Type::Bit | Type::Bool => "bit   ".into(),
            Type::Byte | Type::Pid => "byte  ".into(),
            Type::Short => "short ".into(),
            Type::Int => "int   ".into(),
            Type::Unsigned(_) => "unsigned ".into(),
            Type::Mtype(_) => "mtype ".into(),
            Type::Chan => "chan  ".into(),
            Type::Struct(typedef) => {
                format!("struct {}", self.model.typedefs[typedef.0 as usize].name)
            }
        }
    }

    fn proctype(&mut self, proctype: &Proctype) {
        if !proctype.name.starts_with(':') {
            let active = proctype.active.to_string();
            self.row(["proctype", &proctype.name, &active, "<:global:>", "<variable>"], None);
        }
        let place = format!("<{}>", proctype.name);
        for (index, variable) in proctype.locals.iter().enumerate() {
            let number = (index < proctype.parameter_count).then_some(index + 1);
            self.variable("", variable, &place, number);
        }
    }

    /// The last one first, as in Spin.
    fn labels(&mut self, program: &Program) {
        let mut lines = Vec::new();
        for proctype in &program.proctypes {
            for (name, pc) in &proctype.labels {
                let number = proctype.states[usize::from(pc.0)].number;
                lines.push(format!("label\t{name}\t{number}\t<{}>\n", proctype.name));
            }
        }
        for claim in &self.model.claims {
            let name = claim.name.as_deref().unwrap_or(":never:");
            let mut labels = Vec::new();
            collect(&claim.body, &mut labels);
            lines.extend(labels.iter().map(|label| format!("label\t{label}\t-\t<{name}>\n")));
        }
        for index in 0..self.model.formulas.len() {
            let Ok(found) = violating(self.model, program, index) else { continue };
            let name = Property::formula_name(self.model, index);
            let claim = write_never(&found.automaton, &found.names, "");
            let labels = claim.lines().filter_map(|line| line.strip_suffix(':'));
            lines.extend(labels.map(|label| format!("label\t{label}\t-\t<{name}>\n")));
        }
        self.text.extend(lines.into_iter().rev());
    }
}

/// The labels of statements and of what they contain.
fn collect<'a>(body: &'a [Stmt], labels: &mut Vec<&'a str>) {
    for statement in body {
        labels.extend(statement.labels.iter().map(|label| label.name.as_str()));
        match &statement.kind {
            StmtKind::If(branches) | StmtKind::Do(branches) => {
                branches.iter().for_each(|branch| collect(&branch.body, labels));
            }
            StmtKind::Atomic(body) | StmtKind::DStep(body) | StmtKind::Block(body) => {
                collect(body, labels);
            }
            _ => {}
        }
    }
}
