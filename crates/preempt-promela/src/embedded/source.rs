//! The C text of a model: Spin's names for the state, the pieces of C, and one function that runs them.
//!
//! Globals are the fields of `now`, with the C types that Spin gives them, bit-fields included; the
//! parameters and variables of the executing process are the fields behind `Pname->`. Values come and go as
//! one `int` per scalar, in the order of declaration, so the text needs to know nothing about the state
//! vector. Bytes of C (`c_state`, `c_track`) are copied as they are.

use super::{Embedded, Fragment, Scope, Text, TrackedDeclaration};
use crate::model::{Model, Type, Variable, Visibility};
use crate::syntax::span::Span;
use std::fmt::Write;

/// The function that runs a piece of C.
pub const ENTRY: &str = "preempt_call";
/// The function that says how many bytes of C there are.
pub const SIZES: &str = "preempt_size";
/// In place of a process type: only the bytes that tell states apart are counted.
pub const MATCHED: i32 = -2;
/// The function that gives the bytes of C at the start.
pub const INITIAL: &str = "preempt_initial";

/// What every text begins with.
const RUNTIME: &str = include_str!("runtime.c");

/// Writes the C text of a model.
pub fn source(model: &Model) -> String {
    let mut writer = Writer { model, embedded: &model.embedded, out: String::from(RUNTIME) };
    writer.declarations();
    writer.state();
    writer.processes();
    writer.functions();
    writer.tracked();
    writer.fragments();
    writer.entry();
    writer.out
}

struct Writer<'a> {
    model: &'a Model,
    embedded: &'a Embedded,
    out: String,
}

/// Appends formatted text; writing to a string cannot fail.
macro_rules! put {
    ($writer:expr, $($argument:tt)*) => { _ = write!($writer.out, $($argument)*) };
}

impl Writer<'_> {
    /// Text of the author: the compiler's messages about it point into the model.
    fn text(&mut self, text: &Text) {
        let name = self.file_of(text.span);
        put!(self, "\n#line {} \"{name}\"\n{}\n", text.line, text.text);
    }

    /// A declaration of `c_state`.
    fn tracked_declaration(&mut self, state: &TrackedDeclaration) {
        let line = self.model.sources.line_column(self.model.sources.use_site(state.span)).0;
        let name = self.file_of(state.span);
        put!(self, "\n#line {line} \"{name}\"\n{};\n", state.declaration);
    }

    /// The name of a file, as it stands between quotes.
    fn file_of(&self, span: Span) -> String {
        let file = self.model.sources.file(self.model.sources.use_site(span));
        file.name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
    }

    /// Back to text of our own. A bracket that is not closed shows here first.
    fn our_own(&mut self, behind: Option<&Text>) {
        match behind {
            Some(text) => {
                let end = text.line as usize + text.text.matches('\n').count();
                let name = self.file_of(text.span);
                put!(
                    self,
                    "\n#line 1 \"<behind the C at {name}:{end}>\"\nextern int preempt_here;\n"
                );
            }
            None => put!(self, "\n#line 1 \"<generated>\"\n"),
        }
    }

    fn declarations(&mut self) {
        for text in &self.embedded.declarations {
            self.text(text);
            self.our_own(Some(text));
        }
    }

    fn functions(&mut self) {
        for state in self.embedded.states.iter().filter(|state| state.scope == Scope::Hidden) {
            self.tracked_declaration(state);
        }
        for text in &self.embedded.functions {
            self.text(text);
            self.our_own(Some(text));
        }
    }

    /// Structures, and the globals as the fields of `now`.
    fn state(&mut self) {
        for typedef in &self.model.typedefs {
            put!(self, "struct {} {{\n", typedef.name);
            for field in &typedef.fields {
                self.field(&field.name, field);
            }
            put!(self, "}};\n");
            for (verb, from, to) in DIRECTIONS {
                put!(
                    self,
                    "static {from}int *preempt_{verb}_{0}(struct {0} *p, {from}int *v) {{\n",
                    typedef.name
                );
                for field in &typedef.fields {
                    self.copy(&format!("p->{}", field.name), field, verb, to);
                }
                put!(self, "return v; }}\n");
            }
        }
        put!(self, "typedef struct State {{\nuchar _nr_pr;\n");
        for global in self.model.globals.iter().filter(|global| !is_hidden(global)) {
            self.field(&global.name, global);
        }
        put!(self, "uchar preempt_begin[0];\n");
        for state in self.embedded.states.iter().filter(|state| state.scope == Scope::Global) {
            self.tracked_declaration(state);
        }
        self.our_own(None);
        put!(self, "uchar preempt_behind[0];\n}} State;\nState now;\n");
        for global in self.model.globals.iter().filter(|global| is_hidden(global)) {
            self.field(&global.name, global);
        }
        for (verb, from, to) in DIRECTIONS {
            put!(self, "static void preempt_{verb}_globals({from}int *v) {{\n(void) v;\n");
            for global in &self.model.globals {
                let name = match is_hidden(global) {
                    true => global.name.clone(),
                    false => format!("now.{}", global.name),
                };
                self.copy(&name, global, verb, to);
            }
            put!(self, "}}\n");
        }
    }

    /// The declaration of a variable or field. A hidden variable has no bits to share a word with.
    fn field(&mut self, name: &str, variable: &Variable) {
        let hidden = is_hidden(variable);
        let (ty, bits) = match &variable.ty {
            Type::Bit | Type::Bool if variable.array.is_none() && !hidden => {
                ("unsigned".to_string(), Some(1))
            }
            Type::Bit | Type::Bool | Type::Byte | Type::Pid | Type::Mtype(_) | Type::Chan => {
                ("uchar".into(), None)
            }
            Type::Short => ("short".into(), None),
            Type::Int => ("int".into(), None),
            Type::Unsigned(bits) if variable.array.is_none() && !hidden => {
                ("unsigned".into(), Some(*bits))
            }
            Type::Unsigned(_) => ("unsigned".into(), None),
            Type::Struct(id) => {
                (format!("struct {}", self.model.typedefs[id.0 as usize].name), None)
            }
        };
        put!(self, "{ty} {name}");
        if let Some(bits) = bits {
            put!(self, " : {bits}");
        }
        if let Some(length) = variable.array {
            put!(self, "[{length}]");
        }
        put!(self, ";\n");
    }

    /// Copies a variable to where C sees it, or back.
    fn copy(&mut self, name: &str, variable: &Variable, verb: &str, to: bool) {
        let element = match variable.array {
            Some(length) => {
                put!(self, "for (int i = 0; i < {length}; i++) ");
                format!("{name}[i]")
            }
            None => name.to_string(),
        };
        match &variable.ty {
            Type::Struct(id) => {
                let ty = &self.model.typedefs[id.0 as usize].name;
                put!(self, "v = preempt_{verb}_{ty}(&{element}, v);\n");
            }
            _ if to => put!(self, "{element} = *v++;\n"),
            _ => put!(self, "*v++ = {element};\n"),
        }
    }

    /// A structure per process type, and the names by which C finds the fields.
    fn processes(&mut self) {
        for (index, proctype) in self.model.proctypes.iter().enumerate() {
            let names = field_names(&proctype.locals);
            put!(self, "typedef struct P{index} {{\nunsigned _pid : 8;\nunsigned _t : 8;\n");
            for (name, local) in names.iter().zip(&proctype.locals) {
                self.field(name, local);
            }
            put!(self, "uchar preempt_begin[0];\n");
            for state in &self.embedded.states {
                if state.scope == Scope::Local(index as u32) {
                    self.tracked_declaration(state);
                }
            }
            self.our_own(None);
            put!(self, "uchar preempt_behind[0];\n}} P{index};\n");
            put!(self, "#define P{} ((P{index} *) _this)\n", proctype.name.trim_matches(':'));
        }
        put!(self, "static union preempt_memory {{ int none;\n");
        for index in 0..self.model.proctypes.len() {
            put!(self, "P{index} p{index};\n");
        }
        put!(self, "}} preempt_memory[257];\nuchar *_this = (uchar *) preempt_memory;\n");
        for (verb, from, to) in DIRECTIONS {
            put!(
                self,
                "static {from}int *preempt_{verb}_locals(union preempt_memory *p, int type, {from}int *v) {{\n"
            );
            put!(self, "(void) p;\nswitch (type) {{\n");
            for (index, proctype) in self.model.proctypes.iter().enumerate() {
                put!(self, "case {index}: {{\n");
                for (name, local) in field_names(&proctype.locals).iter().zip(&proctype.locals) {
                    self.copy(&format!("p->p{index}.{name}"), local, verb, to);
                }
                put!(self, "}} break;\n");
            }
            put!(self, "}}\nreturn v; }}\n");
        }
    }

    /// How many bytes of C there are, what they are at the start, and how they come and go.
    fn tracked(&mut self) {
        let size = |ty: &str| {
            format!("(long) (offsetof({ty}, preempt_behind) - offsetof({ty}, preempt_begin))")
        };
        put!(self, "enum {{ PREEMPT_MATCHED = {MATCHED} }};\n");
        put!(self, "static long preempt_own_size(int type) {{\nswitch (type) {{\n");
        put!(self, "case -1: case PREEMPT_MATCHED: return {};\n", size("State"));
        for index in 0..self.model.proctypes.len() {
            put!(self, "case {index}: return {};\n", size(&format!("P{index}")));
        }
        put!(self, "}}\nreturn 0; }}\n");
        put!(
            self,
            "static uchar *preempt_own(union preempt_memory *p, int type) {{\n(void) p;\nswitch (type) {{\n"
        );
        for index in 0..self.model.proctypes.len() {
            put!(self, "case {index}: return p->p{index}.preempt_begin;\n");
        }
        put!(self, "}}\nreturn 0; }}\n");
        put!(self, "long {SIZES}(int type) {{\nlong size = preempt_own_size(type);\n");
        put!(self, "if (type >= 0) return size;\n");
        for track in self.embedded.tracks_in_order() {
            let counts = if track.matched { "" } else { "if (type != PREEMPT_MATCHED) " };
            put!(self, "{counts}size += (long) ({});\n", track.size);
        }
        put!(self, "return size; }}\n");
        for (verb, to) in [("load", true), ("store", false)] {
            put!(self, "static void preempt_{verb}_tracked(uchar *b) {{\n");
            put!(self, "long size = preempt_own_size(-1);\n");
            match to {
                true => put!(self, "memcpy(now.preempt_begin, b, size); b += size;\n"),
                false => put!(self, "memcpy(b, now.preempt_begin, size); b += size;\n"),
            }
            for track in self.embedded.tracks_in_order() {
                put!(self, "size = (long) ({}); {{ void *p = (void *) ({}); ", track.size, {
                    &track.address
                });
                match to {
                    true => put!(self, "if (p) memcpy(p, b, size);"),
                    false => put!(self, "if (p) memcpy(b, p, size); else memset(b, 0, size);"),
                }
                put!(self, " }} b += size;\n");
            }
            put!(self, "}}\n");
        }
        put!(self, "void {INITIAL}(int type, uchar *bytes) {{\n");
        put!(self, "memset(preempt_memory, 0, sizeof *preempt_memory);\nswitch (type) {{\n");
        put!(self, "case -1:\n");
        for state in &self.embedded.states {
            if let Some(init) = &state.init {
                match state.scope {
                    Scope::Global => put!(self, "now.{} = {init};\n", state.name()),
                    Scope::Hidden => put!(self, "{} = {init};\n", state.name()),
                    Scope::Local(_) => {}
                }
            }
        }
        put!(self, "preempt_store_tracked(bytes); break;\n");
        for index in 0..self.model.proctypes.len() {
            put!(self, "case {index}:\n");
            for state in &self.embedded.states {
                if let (Scope::Local(proctype), Some(init)) = (state.scope, &state.init)
                    && proctype as usize == index
                {
                    put!(self, "preempt_memory->p{index}.{} = {init};\n", state.name());
                }
            }
            put!(
                self,
                "memcpy(bytes, preempt_own(preempt_memory, {index}), preempt_own_size({index})); break;\n"
            );
        }
        put!(self, "}}\n}}\n");
    }

    fn fragments(&mut self) {
        for (index, fragment) in self.embedded.fragments.iter().enumerate() {
            put!(self, "static void preempt_fragment_{index}(int *preempt_value) {{\n");
            put!(self, "(void) preempt_value;\n");
            let Fragment { text, guard, is_expression, .. } = fragment;
            if let Some(guard) = guard {
                put!(self, "if (!(");
                self.text(&Text { text: guard.clone(), ..text.clone() });
                put!(self, ")) preempt_end(PRECONDITION);\n");
            }
            if *is_expression {
                // Any scalar counts as true if it is not zero, also one that is wider than `int`.
                put!(self, "__typeof__((");
                self.text(text);
                put!(self, ") + 0) preempt_wide = (");
                self.text(text);
                put!(self, ") + 0;\nint preempt_low = (int) (long) preempt_wide;\n");
                put!(self, "*preempt_value = preempt_wide ? preempt_low ? preempt_low : 1 : 0;\n");
            } else {
                put!(self, "{{\n");
                self.text(text);
                put!(self, "}}\n");
            }
            self.our_own(Some(text));
            put!(self, "}}\n");
        }
    }

    fn entry(&mut self) {
        put!(self, "static void (*const preempt_fragments[])(int *) = {{\n");
        for index in 0..self.embedded.fragments.len() {
            put!(self, "preempt_fragment_{index},\n");
        }
        put!(self, "0 }};\n");
        self.out.push_str(CALL);
    }
}

/// The function that runs a piece of C, the same for all models. A process has its memory always at the same address, so
/// that an address which another process keeps means what it means in Spin; memory of processes that are gone is zero.
const CALL: &str = r"
int preempt_call(const int *what, int *globals, uchar *tracked, int *locals, uchar *own, int *value,
                 const char **text, size_t *length) {
    static int preempt_used;
    sigjmp_buf way_out;
    int me = what[1], count = what[4];
    const int *identity = what + 5;
    int *v = locals;
    uchar *b = own;
    preempt_prints = what[3];
    preempt_length = 0;
    preempt_reported = 0;
    *text = preempt_text;
    *length = 0;
    int ending = sigsetjmp(way_out, 0);
    if (ending) return ending;
    preempt_way_out = &way_out;
    preempt_load_globals(globals);
    now._nr_pr = what[2];
    preempt_load_tracked(tracked);
    memset(preempt_memory, 0, preempt_used * sizeof *preempt_memory);
    preempt_used = 0;
    for (int i = 0; i < count; i++) {
        int id = identity[2 * i], type = identity[2 * i + 1];
        union preempt_memory *p = &preempt_memory[id];
        v = (int *) preempt_load_locals(p, type, v);
        long size = preempt_own_size(type);
        memcpy(preempt_own(p, type), b, size);
        b += size;
        ((P0 *) p)->_pid = id;
        ((P0 *) p)->_t = type;
        preempt_used = id + 1;
    }
    _this = (uchar *) &preempt_memory[me < 0 ? 256 : me];
    preempt_fragments[what[0]](value);
    preempt_store_globals(globals);
    preempt_store_tracked(tracked);
    v = locals;
    b = own;
    for (int i = 0; i < count; i++) {
        int id = identity[2 * i], type = identity[2 * i + 1];
        union preempt_memory *p = &preempt_memory[id];
        v = preempt_store_locals(p, type, v);
        long size = preempt_own_size(type);
        memcpy(b, preempt_own(p, type), size);
        b += size;
    }
    preempt_way_out = 0;
    *length = preempt_length;
    return preempt_reported ? REPORTED : 0;
}
";

/// How values are copied: the verb, a qualifier of the numbers, and whether C receives them.
const DIRECTIONS: [(&str, &str, bool); 2] = [("load", "const ", true), ("store", "", false)];

fn is_hidden(variable: &Variable) -> bool {
    variable.visibility == Visibility::Hidden
}

/// The fields of a process. A name that a nested block uses again gets a number.
fn field_names(locals: &[Variable]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, local) in locals.iter().enumerate() {
        let earlier = locals[..at].iter().filter(|other| other.name == local.name).count();
        names.push(match earlier {
            0 => local.name.clone(),
            _ => format!("{}__{}", local.name, earlier + 1),
        });
    }
    names
}
