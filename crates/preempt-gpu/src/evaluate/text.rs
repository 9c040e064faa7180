//! The text of a module, read line by line into functions and instructions.

use std::collections::HashMap;

#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Register(usize),
    Number(u64),
    /// So far into the thread's own memory that a call has.
    Local(u64),
    /// The two halves of a vector.
    Pair(usize, usize),
    /// A register and an offset.
    Memory(usize, u64),
    Parameter(usize),
    Back,
    Result,
    /// `%tid.x`, `%ntid.x`, `%ctaid.x`, `%nctaid.x`, `%laneid`
    Special(usize),
    Label(usize),
    Function(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Instruction {
    /// A register, and whether it has to hold.
    pub(super) guard: Option<(usize, bool)>,
    pub(super) name: String,
    pub(super) operands: Vec<Operand>,
}

#[derive(Default, Debug)]
pub(super) struct Function {
    pub(super) registers: HashMap<String, usize>,
    pub(super) locals: HashMap<String, u64>,
    pub(super) local_bytes: u64,
    pub(super) code: Vec<Instruction>,
    pub(super) labels: Vec<usize>,
}

const SPECIALS: [&str; 5] = ["%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x", "%laneid"];

/// A module: its functions by name, and where its tables lie.
#[derive(Default)]
pub(super) struct Module {
    pub(super) functions: Vec<Function>,
    pub(super) names: HashMap<String, usize>,
    pub(super) symbols: HashMap<String, u64>,
}

impl Module {
    /// Reads a module; `place` gives a table an address.
    pub(super) fn read(text: &str, mut place: impl FnMut(Vec<u8>) -> u64) -> Self {
        let mut module = Module::default();
        let heading = |line: &str| line.starts_with(".func") || line.starts_with(".visible");
        for line in text.lines().filter(|line| heading(line)) {
            let name = line.rsplit_once(") ").map_or(line, |(_, rest)| rest);
            let name = name.trim_start_matches(".visible .entry ");
            let name = name.split('(').next().unwrap_or_default().to_owned();
            if !module.names.contains_key(&name) {
                module.names.insert(name, module.functions.len());
                module.functions.push(Function::default());
            }
        }
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(rest) = line.strip_prefix(".global .align 16 .b8 ") {
                let (name, rest) = rest.split_once('[').expect("a table");
                let bytes = rest.split_once('{').expect("bytes").1.trim_end_matches("};");
                let bytes: Vec<u8> = bytes.split(',').map(|b| b.parse().expect("a byte")).collect();
                module.symbols.insert(name.into(), place(bytes));
            } else if heading(line) && !line.ends_with(';') {
                let before = line.split('(').next().unwrap_or_default();
                let name = match before.starts_with(".visible") {
                    true => before.trim_start_matches(".visible .entry ").to_owned(),
                    false => {
                        let rest = line.split_once(") ").expect("a name").1;
                        rest.split('(').next().unwrap_or_default().to_owned()
                    }
                };
                let body: Vec<&str> =
                    lines.by_ref().skip(1).take_while(|line| *line != "}").collect();
                let number = module.names[&name];
                module.functions[number] = module.function(&body);
            }
        }
        module
    }

    fn function(&self, body: &[&str]) -> Function {
        let mut function = Function::default();
        let mut labels: HashMap<String, usize> = HashMap::new();
        for line in body.iter().map(|line| line.trim()) {
            if let Some(label) = line.strip_suffix(':') {
                labels.insert(label.into(), labels.len());
            } else if let Some(rest) = line.strip_prefix(".reg ") {
                let names = rest.split_once(' ').expect("names").1.trim_end_matches(';');
                for name in names.split(',').map(str::trim) {
                    match name.split_once('<') {
                        None => {
                            let number = function.registers.len();
                            function.registers.insert(name.into(), number);
                        }
                        Some((stem, count)) => {
                            let count = count.trim_end_matches('>').parse().expect("a count");
                            for at in 0..count {
                                let number = function.registers.len();
                                function.registers.insert(format!("{stem}{at}"), number);
                            }
                        }
                    }
                }
            } else if let Some(rest) = line.strip_prefix(".local .align 16 .b8 ") {
                let (name, size) = rest.trim_end_matches("];").split_once('[').expect("a size");
                let size: u64 = size.parse().expect("a size");
                function.locals.insert(name.into(), function.local_bytes);
                function.local_bytes += size.next_multiple_of(16) + 16;
            }
        }
        function.labels = vec![0; labels.len()];
        for line in body.iter().map(|line| line.trim()) {
            if let Some(label) = line.strip_suffix(':') {
                function.labels[labels[label]] = function.code.len();
            } else if !line.starts_with('.') && line != "{" && line != "}" && !line.is_empty() {
                let instruction = self.instruction(&function, &labels, line);
                function.code.push(instruction);
            }
        }
        function
    }

    fn instruction(
        &self,
        function: &Function,
        labels: &HashMap<String, usize>,
        line: &str,
    ) -> Instruction {
        let line = line.trim_end_matches(';');
        let (guard, line) = match line.strip_prefix('@') {
            Some(rest) => {
                let (guard, rest) = rest.split_once(' ').expect("a guard");
                let name = guard.trim_start_matches('!');
                (Some((function.registers[name], name == guard)), rest)
            }
            None => (None, line),
        };
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut operands = Vec::new();
        if name == "call" {
            let callee = rest.split(", ").nth(1).expect("a name");
            operands.push(Operand::Function(self.names[callee]));
            return Instruction { guard, name: name.into(), operands };
        }
        let mut rest = rest.trim();
        while !rest.is_empty() {
            let (word, after) = if let Some(inner) = rest.strip_prefix('{') {
                let (pair, after) = inner.split_once('}').expect("a pair");
                let (a, b) = pair.split_once(", ").expect("two");
                operands.push(Operand::Pair(function.registers[a], function.registers[b]));
                rest = after.trim_start_matches(',').trim();
                continue;
            } else {
                rest.split_once(',').unwrap_or((rest, ""))
            };
            operands.push(self.operand(function, labels, word.trim()));
            rest = after.trim();
        }
        Instruction { guard, name: name.into(), operands }
    }

    fn operand(&self, function: &Function, labels: &HashMap<String, usize>, word: &str) -> Operand {
        if let Some(inner) = word.strip_prefix('[') {
            let inner = inner.trim_end_matches(']');
            return match inner.split_once('+') {
                Some((base, offset)) => {
                    Operand::Memory(function.registers[base], offset.parse().expect("an offset"))
                }
                None if inner == "back" => Operand::Back,
                None if inner == "result" => Operand::Result,
                None if inner == "parameters" => Operand::Parameter(0),
                None => Operand::Parameter(inner[1..].parse().expect("a parameter")),
            };
        }
        if let Some(register) = function.registers.get(word) {
            return Operand::Register(*register);
        }
        if let Some(special) = SPECIALS.iter().position(|name| *name == word) {
            return Operand::Special(special);
        }
        if let Some(label) = labels.get(word) {
            return Operand::Label(*label);
        }
        if let Some(offset) = function.locals.get(word) {
            return Operand::Local(*offset);
        }
        if let Some(address) = self.symbols.get(word) {
            return Operand::Number(*address);
        }
        if let Some(hex) = word.strip_prefix("0x") {
            return Operand::Number(u64::from_str_radix(hex, 16).expect("a number"));
        }
        match word.parse::<i64>() {
            Ok(number) => Operand::Number(number as u64),
            Err(_) => panic!("what is {word}?"),
        }
    }
}
