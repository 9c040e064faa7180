//! The assembler of [`super::code`] as PTX, the text that the driver of a graphics card takes.
//!
//! Values are virtual registers, which may be assigned more than once, so a block receives its value by a move before the
//! jump. All addresses are generic. A card traps on accesses that are not aligned: what is known of an address decides
//! how wide an access may be, and the rest is put together from bytes.

mod copies;

pub(crate) use copies::{BLOCK, COPY_REGISTERS, LOOP, copy_text};

use super::code::{Arithmetic, Block, Code, Compare, Memory, Parameter, Register, Value};
use super::dead_blocks::reachable;
use std::fmt::Write;

/// A function that other functions of a module call.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) result: Parameter,
}

/// What all functions of a module share.
#[derive(Debug)]
pub(crate) struct Module {
    /// By the number that a call names.
    pub(crate) callees: Vec<Callee>,
    /// Memory of the generator whose contents the module has under [`TABLES`]: where it begins, its length, and
    /// where it lies in the tables.
    pub(crate) ranges: Vec<(usize, usize, u32)>,
    /// Bytes of a state, all of which are copied.
    pub(crate) stride: u32,
    /// The function that copies a state, if that is not done in place.
    pub(crate) copier: Option<Callee>,
}

/// A function that copies a state.
pub(crate) fn copier() -> Callee {
    Callee {
        name: "copy_state".into(),
        parameters: vec![Parameter::Address; 2],
        result: Parameter::Number,
    }
}

/// The name of the tables of a module.
pub(crate) const TABLES: &str = "tables";

/// States, their copies and working memory begin at multiples of this.
pub(crate) const ALIGNMENT: u32 = 16;

/// A value: its register, and what its address is a multiple of.
#[derive(Clone, Copy, Debug)]
struct Operand {
    register: u32,
    wide: bool,
    alignment: u32,
}

/// One function under construction, as text.
pub(crate) struct Text<'m> {
    module: &'m Module,
    body: String,
    values: Vec<Operand>,
    /// The register of the value that each block receives.
    blocks: Vec<Option<u32>>,
    numbers: u32,
    addresses: u32,
    conditions: u32,
    /// Copies of states, so far.
    copies: u32,
    result: Parameter,
}

/// Makes the text of a function; `alignments` of its parameters, 1 where nothing is known.
pub(crate) fn function(
    module: &Module,
    callee: &Callee,
    alignments: &[u32],
    body: impl FnOnce(&mut dyn Code, &[Value]),
) -> String {
    let mut text = Text {
        module,
        body: String::new(),
        values: Vec::new(),
        blocks: Vec::new(),
        numbers: 0,
        addresses: 0,
        conditions: 0,
        copies: 0,
        result: callee.result,
    };
    let mut parameters = Vec::new();
    for (at, parameter) in callee.parameters.iter().enumerate() {
        let wide = *parameter == Parameter::Address;
        let value = text.value(wide, alignments.get(at).copied().unwrap_or(1));
        let name = text.name(value);
        text.line(&format!("ld.param.{} {name}, [p{at}]", kind(*parameter)));
        parameters.push(value);
    }
    body(&mut text, &parameters);
    let body = reachable(&text.body);
    let mut whole = heading(callee);
    let _ = write!(
        whole,
        "\n{{\n\t.reg .b32 %r<{}>;\n\t.reg .b64 %d<{}>;\n\t.reg .pred %p<{}>;\n{COPY_REGISTERS}{}}}\n\n",
        text.numbers + 1,
        text.addresses + 1,
        text.conditions + 1,
        body
    );
    whole
}

/// The line that declares a function.
pub(crate) fn heading(callee: &Callee) -> String {
    let parameters: Vec<String> = callee
        .parameters
        .iter()
        .enumerate()
        .map(|(at, parameter)| format!(".param .{} p{at}", kind(*parameter)))
        .collect();
    format!(
        ".func (.param .{} result) {}({})",
        kind(callee.result),
        callee.name,
        parameters.join(", ")
    )
}

fn kind(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Number => "b32",
        Parameter::Address => "b64",
    }
}

impl Text<'_> {
    fn line(&mut self, line: &str) {
        self.body.push('\t');
        self.body.push_str(line);
        self.body.push_str(";\n");
    }

    fn value(&mut self, wide: bool, alignment: u32) -> Value {
        let counter = if wide { &mut self.addresses } else { &mut self.numbers };
        let register = *counter;
        *counter += 1;
        self.values.push(Operand { register, wide, alignment });
        Value(self.values.len() as u32 - 1)
    }

    fn number_value(&mut self) -> (Value, String) {
        let value = self.value(false, 1);
        (value, self.name(value))
    }

    fn wide_value(&mut self, alignment: u32) -> (Value, String) {
        let value = self.value(true, alignment);
        (value, self.name(value))
    }

    fn name(&self, value: Value) -> String {
        let Operand { register, wide, .. } = self.values[value.0 as usize];
        format!("%{}{register}", if wide { 'd' } else { 'r' })
    }

    fn condition(&mut self) -> String {
        self.conditions += 1;
        format!("%p{}", self.conditions - 1)
    }

    /// The greatest power of two, up to 16, that an address is known to be a multiple of.
    fn alignment(&self, base: Value, offset: u32) -> u32 {
        let known = self.values[base.0 as usize].alignment;
        let of_offset = if offset == 0 { ALIGNMENT } else { 1 << offset.trailing_zeros().min(4) };
        known.min(of_offset)
    }

    /// Loads so many bytes from an address that may not be a multiple of them, as one number.
    fn load_parts(&mut self, base: Value, offset: u32, bytes: u32) -> String {
        let base = self.name(base);
        let (_, sum) = self.number_value();
        self.line(&format!("ld.u8 {sum}, [{base}+{offset}]"));
        for at in 1..bytes {
            let (_, part) = self.number_value();
            self.line(&format!("ld.u8 {part}, [{base}+{}]", offset + at));
            self.line(&format!("shl.b32 {part}, {part}, {}", 8 * at));
            self.line(&format!("or.b32 {sum}, {sum}, {part}"));
        }
        sum
    }

    fn jump_to(&mut self, block: Block) {
        self.line(&format!("bra $B{}", block.0));
    }

    /// Branches to one of the blocks with sorted numbers by halving.
    fn search(&mut self, value: &str, blocks: &[(u32, Block)], otherwise: Block) {
        if blocks.len() <= 3 {
            for (number, block) in blocks {
                let condition = self.condition();
                self.line(&format!("setp.eq.s32 {condition}, {value}, {number}"));
                self.line(&format!("@{condition} bra $B{}", block.0));
            }
            self.jump_to(otherwise);
            return;
        }
        let (low, high) = blocks.split_at(blocks.len() / 2);
        let upper = self.block();
        let condition = self.condition();
        self.line(&format!("setp.ge.u32 {condition}, {value}, {}", high[0].0));
        self.line(&format!("@{condition} bra $B{}", upper.0));
        self.search(value, low, otherwise);
        self.begin(upper);
        self.search(value, high, otherwise);
    }
}

impl Code for Text<'_> {
    fn number(&mut self, value: i32) -> Value {
        let (result, name) = self.number_value();
        self.line(&format!("mov.b32 {name}, {value}"));
        result
    }

    fn address(&mut self, address: *const u8) -> Value {
        let at = address as usize;
        let inside =
            |(start, length, _): &&(usize, usize, u32)| (*start..start + length).contains(&at);
        match self.module.ranges.iter().find(inside) {
            Some((start, _, place)) => {
                let offset = *place + (at - start) as u32;
                let alignment =
                    if offset == 0 { ALIGNMENT } else { 1 << offset.trailing_zeros().min(3) };
                let (result, name) = self.wide_value(alignment);
                self.line(&format!("mov.b64 {name}, {TABLES}"));
                self.line(&format!("cvta.global.u64 {name}, {name}"));
                self.line(&format!("add.s64 {name}, {name}, {offset}"));
                result
            }
            // Nothing that a card reads.
            None => {
                let (result, name) = self.wide_value(1);
                self.line(&format!("mov.b64 {name}, 0"));
                result
            }
        }
    }

    fn load(&mut self, memory: Memory, base: Value, offset: u32) -> Value {
        let (value, name) = self.number_value();
        let from = self.name(base);
        if self.alignment(base, offset) >= memory.bytes() {
            let kind = match memory {
                Memory::Byte => "u8",
                Memory::UnsignedTwo => "u16",
                Memory::SignedTwo => "s16",
                Memory::Four => "b32",
            };
            self.line(&format!("ld.{kind} {name}, [{from}+{offset}]"));
            return value;
        }
        let loaded = self.load_parts(base, offset, memory.bytes());
        match memory {
            Memory::SignedTwo => {
                self.line(&format!("shl.b32 {name}, {loaded}, 16"));
                self.line(&format!("shr.s32 {name}, {name}, 16"));
            }
            _ => self.line(&format!("mov.b32 {name}, {loaded}")),
        }
        value
    }

    fn load_wide(&mut self, base: Value, offset: u32) -> Value {
        let (value, name) = self.wide_value(ALIGNMENT);
        let from = self.name(base);
        self.line(&format!("ld.b64 {name}, [{from}+{offset}]"));
        value
    }

    fn store(&mut self, memory: Memory, value: Value, base: Value, offset: u32) {
        let (value, to) = (self.name(value), self.name(base));
        if self.alignment(base, offset) >= memory.bytes() {
            let kind = ["b8", "b16", "b32"][memory.bytes().trailing_zeros() as usize];
            self.line(&format!("st.{kind} [{to}+{offset}], {value}"));
            return;
        }
        let (_, part) = self.number_value();
        for at in 0..memory.bytes() {
            self.line(&format!("shr.u32 {part}, {value}, {}", 8 * at));
            self.line(&format!("st.b8 [{to}+{}], {part}", offset + at));
        }
    }

    fn arithmetic(&mut self, operation: Arithmetic, a: Value, b: Value) -> Value {
        let (a, b) = (self.name(a), self.name(b));
        let (value, name) = self.number_value();
        let operator = match operation {
            Arithmetic::Add => "add.s32",
            Arithmetic::Subtract => "sub.s32",
            Arithmetic::Multiply => "mul.lo.s32",
            Arithmetic::Divide => "div.s32",
            Arithmetic::Remainder => "rem.s32",
            Arithmetic::And => "and.b32",
            Arithmetic::Or => "or.b32",
            Arithmetic::Xor => "xor.b32",
            // A processor takes the amount modulo 32, a card does not.
            Arithmetic::ShiftLeft | Arithmetic::ShiftRight => {
                let (_, amount) = self.number_value();
                self.line(&format!("and.b32 {amount}, {b}, 31"));
                let left = operation == Arithmetic::ShiftLeft;
                let operator = if left { "shl.b32" } else { "shr.s32" };
                self.line(&format!("{operator} {name}, {a}, {amount}"));
                return value;
            }
        };
        self.line(&format!("{operator} {name}, {a}, {b}"));
        value
    }

    fn compare(&mut self, comparison: Compare, a: Value, b: Value) -> Value {
        let (a, b) = (self.name(a), self.name(b));
        let (value, name) = self.number_value();
        let operator = match comparison {
            Compare::Equal => "eq.s32",
            Compare::NotEqual => "ne.s32",
            Compare::Less => "lt.s32",
            Compare::LessEqual => "le.s32",
            Compare::Greater => "gt.s32",
            Compare::GreaterEqual => "ge.s32",
            Compare::Below => "lt.u32",
        };
        let condition = self.condition();
        self.line(&format!("setp.{operator} {condition}, {a}, {b}"));
        self.line(&format!("selp.b32 {name}, 1, 0, {condition}"));
        value
    }

    fn negate(&mut self, value: Value) -> Value {
        let from = self.name(value);
        let (value, name) = self.number_value();
        self.line(&format!("neg.s32 {name}, {from}"));
        value
    }

    fn complement(&mut self, value: Value) -> Value {
        let from = self.name(value);
        let (value, name) = self.number_value();
        self.line(&format!("not.b32 {name}, {from}"));
        value
    }

    fn element(&mut self, base: Value, index: Value, stride: u32) -> Value {
        let known = self.values[base.0 as usize].alignment;
        let alignment = known.min(1 << stride.max(1).trailing_zeros().min(4));
        let (base, index) = (self.name(base), self.name(index));
        let (value, name) = self.wide_value(alignment);
        self.line(&format!("mul.wide.u32 {name}, {index}, {stride}"));
        self.line(&format!("add.s64 {name}, {base}, {name}"));
        value
    }

    fn distance(&mut self, from: Value, to: Value) -> (Value, Value) {
        let (from, to) = (self.name(from), self.name(to));
        let (wide, name) = self.wide_value(1);
        self.line(&format!("sub.s64 {name}, {to}, {from}"));
        let (narrow, low) = self.number_value();
        self.line(&format!("cvt.u32.u64 {low}, {name}"));
        (wide, narrow)
    }

    fn further(&mut self, base: Value, bytes: Value) -> Value {
        let (base, bytes) = (self.name(base), self.name(bytes));
        let (value, name) = self.wide_value(1);
        self.line(&format!("add.s64 {name}, {base}, {bytes}"));
        value
    }

    fn store_wide(&mut self, value: Value, base: Value, offset: u32) {
        let (value, to) = (self.name(value), self.name(base));
        self.line(&format!("st.b64 [{to}+{offset}], {value}"));
    }

    /// All states have the same length on a card. Where the copy follows its original at once, the threads of a warp have made it
    /// together before they went their own ways: see `card/entry.rs`.
    fn copy(&mut self, from: Value, to: Value, _length: Value) {
        let (from, to) = (self.name(from), self.name(to));
        self.copies += 1;
        let name = format!("B{}", self.copies);
        self.line(&format!("sub.s64 copy_from, {to}, {from}"));
        self.line(&format!("setp.eq.u64 copy_more, copy_from, {}", self.module.stride));
        self.line(&format!("@copy_more bra ${name}_COPIED"));
        if let Some(copier) = &self.module.copier {
            let (_, nothing) = self.number_value();
            let call = call_text(copier, &[from, to], &nothing);
            self.body.push_str(&call);
        } else {
            self.body.push_str(&copy_text(&from, &to, self.module.stride, &name));
        }
        let _ = writeln!(self.body, "${name}_COPIED:");
    }

    fn move_bytes(&mut self, base: Value, from: u32, to: u32, length: u32) {
        let name = self.name(base);
        let mut loaded = Vec::new();
        for at in 0..length {
            let (_, part) = self.number_value();
            self.line(&format!("ld.u8 {part}, [{name}+{}]", from + at));
            loaded.push(part);
        }
        for (at, part) in loaded.iter().enumerate() {
            self.line(&format!("st.b8 [{name}+{}], {part}", to + at as u32));
        }
    }

    fn note_word(&mut self, _: Value, _: (Value, u32), _: (Value, u32)) {
        unreachable!("a card takes steps on copies, which need no undo log")
    }

    fn set_bit(&mut self, _: Value, _: Value, _: Value, _: u32) {
        unreachable!("a card has no sleep sets")
    }

    fn store_nothing(&mut self, base: Value, offset: u32) {
        let to = self.name(base);
        let (_, zero) = self.wide_value(1);
        self.line(&format!("mov.b64 {zero}, 0"));
        self.line(&format!("st.b64 [{to}+{offset}], {zero}"));
    }

    fn store_widened(&mut self, number: Value, base: Value, offset: u32) {
        let (number, to) = (self.name(number), self.name(base));
        let (_, wide) = self.wide_value(1);
        self.line(&format!("cvt.u64.u32 {wide}, {number}"));
        self.line(&format!("st.b64 [{to}+{offset}], {wide}"));
    }

    fn halves(&mut self, wide: Value) -> (Value, Value) {
        let wide = self.name(wide);
        let ((low, low_name), (high, high_name)) = (self.number_value(), self.number_value());
        let (_, shifted) = self.wide_value(1);
        self.line(&format!("cvt.u32.u64 {low_name}, {wide}"));
        self.line(&format!("shr.u64 {shifted}, {wide}, 32"));
        self.line(&format!("cvt.u32.u64 {high_name}, {shifted}"));
        (low, high)
    }

    fn block(&mut self) -> Block {
        self.blocks.push(None);
        Block(self.blocks.len() as u32 - 1)
    }

    fn cold_block(&mut self) -> Block {
        self.block()
    }

    fn block_with_number(&mut self) -> (Block, Value) {
        let value = self.value(false, 1);
        self.blocks.push(Some(value.0));
        (Block(self.blocks.len() as u32 - 1), value)
    }

    fn block_with_address(&mut self) -> (Block, Value) {
        let value = self.value(true, 1);
        self.blocks.push(Some(value.0));
        (Block(self.blocks.len() as u32 - 1), value)
    }

    fn begin(&mut self, block: Block) {
        let _ = writeln!(self.body, "$B{}:", block.0);
    }

    fn jump(&mut self, block: Block) {
        self.jump_to(block);
    }

    fn jump_with(&mut self, block: Block, value: Value) {
        if let Some(target) = self.blocks[block.0 as usize] {
            let (target, value) = (self.name(Value(target)), self.name(value));
            let kind = if target.starts_with("%d") { "b64" } else { "b32" };
            self.line(&format!("mov.{kind} {target}, {value}"));
        }
        self.jump_to(block);
    }

    fn branch(&mut self, condition: Value, then: Block, otherwise: Block) {
        let value = self.name(condition);
        let condition = self.condition();
        self.line(&format!("setp.ne.s32 {condition}, {value}, 0"));
        self.line(&format!("@{condition} bra $B{}", then.0));
        self.jump_to(otherwise);
    }

    fn select_block(&mut self, value: Value, blocks: &[(u32, Block)], otherwise: Block) {
        let name = self.name(value);
        let mut sorted = blocks.to_vec();
        sorted.sort_unstable_by_key(|(number, _)| *number);
        self.search(&name, &sorted, otherwise);
    }

    fn register(&mut self, initial: Value) -> Register {
        let from = self.name(initial);
        let (value, name) = self.number_value();
        self.line(&format!("mov.b32 {name}, {from}"));
        Register(value.0)
    }

    /// A copy: the register may be set before the value is used.
    fn get(&mut self, register: Register) -> Value {
        let from = self.name(Value(register.0));
        let (value, name) = self.number_value();
        self.line(&format!("mov.b32 {name}, {from}"));
        value
    }

    fn set(&mut self, register: Register, value: Value) {
        let (to, from) = (self.name(Value(register.0)), self.name(value));
        self.line(&format!("mov.b32 {to}, {from}"));
    }

    fn call(&mut self, helper: usize, arguments: &[Value]) -> Value {
        let callee = self.module.callees[helper].clone();
        let value = self.value(callee.result == Parameter::Address, 1);
        let result = self.name(value);
        let names: Vec<String> = arguments.iter().map(|a| self.name(*a)).collect();
        let text = call_text(&callee, &names, &result);
        self.body.push_str(&text);
        value
    }

    fn give(&mut self, value: Value) {
        let value = self.name(value);
        let kind = kind(self.result);
        self.line(&format!("st.param.{kind} [result], {value}"));
        self.line("ret");
    }
}

/// A call of a function.
pub(crate) fn call_text(callee: &Callee, arguments: &[String], result: &str) -> String {
    let mut text = String::from("\t{\n");
    let mut names = Vec::new();
    for (at, (parameter, argument)) in callee.parameters.iter().zip(arguments).enumerate() {
        let kind = kind(*parameter);
        let _ = writeln!(text, "\t.param .{kind} a{at};\n\tst.param.{kind} [a{at}], {argument};");
        names.push(format!("a{at}"));
    }
    let kind = kind(callee.result);
    let _ = writeln!(
        text,
        "\t.param .{kind} back;\n\tcall (back), {}, ({});\n\tld.param.{kind} {result}, [back];\n\t}}",
        callee.name,
        names.join(", ")
    );
    text
}
