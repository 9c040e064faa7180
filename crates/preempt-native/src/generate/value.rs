//! Expressions and places as machine code.
//!
//! **Invariant:** code for an expression faults exactly where the reference interpreter does. Where a
//! fault leads depends on where the expression stands: inside a guard the move counts as enabled, inside an effect the
//! step is broken ([`OnFault`]).

use super::code::{Arithmetic, Block, Code, Compare, Memory, Value};
use super::scope::{HelperId, OnFault, Scope, Want, broken, deliver};
use preempt_promela::ir::{
    BinaryOp, Expr, ExprId, FaultId, Index, Place, Space, UnaryOp, ValueKind,
};

impl Scope<'_> {
    /// Where to go when a fault happens, and whether that block is still empty.
    fn fault_block(&self, code: &mut dyn Code) -> (Block, bool) {
        match self.on_fault {
            OnFault::Goto(block) => (block, false),
            OnFault::Return | OnFault::Deliver(_) => (code.cold_block(), true),
        }
    }

    /// Goes on only if `condition` is not 0.
    pub(crate) fn require(&self, code: &mut dyn Code, condition: Value, fault: FaultId) {
        let go_on = code.block();
        let (failed, fresh) = self.fault_block(code);
        code.branch(condition, go_on, failed);
        if fresh {
            code.begin(failed);
            let number = code.number(broken(fault));
            deliver(code, self.on_fault, number);
        }
        code.begin(go_on);
    }

    /// The value of an expression.
    pub(crate) fn value(&self, code: &mut dyn Code, id: ExprId) -> Value {
        match self.program.expr(id) {
            Expr::Const(value) => code.number(*value),
            Expr::Load(place) => {
                let (base, offset) = self.place(code, place);
                load(code, place.kind, base, offset)
            }
            Expr::Unary(operator, operand) => {
                let operand = self.value(code, *operand);
                match operator {
                    UnaryOp::Negate => code.negate(operand),
                    UnaryOp::Complement => code.complement(operand),
                    UnaryOp::Not => {
                        let zero = code.number(0);
                        code.compare(Compare::Equal, operand, zero)
                    }
                }
            }
            Expr::Binary(BinaryOp::And | BinaryOp::Or, _, right)
                if self.program.can_fault(*right) =>
            {
                self.decided(code, id)
            }
            Expr::Binary(operator, left, right) => {
                let left = self.value(code, *left);
                let right = self.value(code, *right);
                binary(code, *operator, left, right)
            }
            Expr::Divide { dividend, divisor, remainder, fault } => {
                self.divide(code, *dividend, *divisor, *remainder, *fault)
            }
            Expr::Conditional(condition, then, otherwise) => {
                let (join, value) = code.block_with_number();
                let (yes, no) = (code.block(), code.block());
                self.condition(code, *condition, yes, no);
                for (block, branch) in [(yes, then), (no, otherwise)] {
                    code.begin(block);
                    let value = self.value(code, *branch);
                    code.jump_with(join, value);
                }
                code.begin(join);
                value
            }
            Expr::Bounded(index) => self.index(code, index),
            Expr::Length(channel) => self.channel_length(code, channel).0,
            Expr::ChannelTest(test, channel) => self.channel_test(code, *test, channel),
            Expr::Poll { .. } => self.decided(code, id),
            Expr::Timeout => self.timeout,
            Expr::Pid => self.pid,
            Expr::ProcessCount => code.load(Memory::Byte, self.state, 1),
            Expr::LastMover => {
                let offset = self.program.layout.last_offset.unwrap_or(0);
                code.load(Memory::Byte, self.state, offset)
            }
            Expr::At { proctype, pid, pc } => {
                let width = self.program.layout.pc_width;
                self.remote(code, *proctype, *pid, |_, code, frame| {
                    let here = load_pc(code, width, frame);
                    let there = code.number(i32::from(pc.0));
                    code.compare(Compare::Equal, here, there)
                })
            }
            Expr::RemoteLoad { proctype, pid, place } => {
                self.remote(code, *proctype, *pid, |scope, code, frame| {
                    let (base, offset) = scope.place_from(code, frame, place);
                    load(code, place.kind, base, offset)
                })
            }
            Expr::Enabled(_)
            | Expr::PcValue(_)
            | Expr::PriorityOf(_)
            | Expr::NonProgress
            | Expr::Fragment(_) => {
                unreachable!("expressions without machine code are left to the interpreter")
            }
        }
    }

    /// Evaluates a condition to 0 or 1 by way of branches.
    fn decided(&self, code: &mut dyn Code, id: ExprId) -> Value {
        let (join, value) = code.block_with_number();
        let (yes, no) = (code.block(), code.block());
        self.condition(code, id, yes, no);
        for (block, result) in [(yes, 1), (no, 0)] {
            code.begin(block);
            let result = code.number(result);
            code.jump_with(join, result);
        }
        code.begin(join);
        value
    }

    /// Branches on an expression. The present block is left.
    pub(crate) fn condition(&self, code: &mut dyn Code, id: ExprId, yes: Block, no: Block) {
        match self.program.expr(id) {
            Expr::Const(value) => code.jump(if *value != 0 { yes } else { no }),
            Expr::Unary(UnaryOp::Not, operand) => self.condition(code, *operand, no, yes),
            Expr::Binary(BinaryOp::And, left, right) => {
                let next = code.block();
                self.condition(code, *left, next, no);
                code.begin(next);
                self.condition(code, *right, yes, no);
            }
            Expr::Binary(BinaryOp::Or, left, right) => {
                let next = code.block();
                self.condition(code, *left, yes, next);
                code.begin(next);
                self.condition(code, *right, yes, no);
            }
            Expr::Poll { channel, random, pattern, .. } => {
                let channel = channel.clone();
                let wanted = (&channel, pattern.indices().len(), Want::Buffered);
                let found = self.with_channel(code, wanted, no, |scope, code, at| {
                    scope.find_message(code, &at, *random, *pattern, no);
                    code.jump(yes);
                });
                debug_assert!(found.is_some());
            }
            _ => {
                let value = self.value(code, id);
                code.branch(value, yes, no);
            }
        }
    }

    fn divide(
        &self,
        code: &mut dyn Code,
        dividend: ExprId,
        divisor: ExprId,
        remainder: bool,
        fault: FaultId,
    ) -> Value {
        let dividend = self.value(code, dividend);
        let divisor = self.value(code, divisor);
        self.require(code, divisor, fault);
        // The processor traps on MIN / -1; the language wraps.
        let minus_one = code.number(-1);
        let special = code.compare(Compare::Equal, divisor, minus_one);
        let (join, value) = code.block_with_number();
        let (wraps, divides) = (code.cold_block(), code.block());
        code.branch(special, wraps, divides);
        code.begin(wraps);
        let wrapped = if remainder { code.number(0) } else { code.negate(dividend) };
        code.jump_with(join, wrapped);
        code.begin(divides);
        let operation = if remainder { Arithmetic::Remainder } else { Arithmetic::Divide };
        let quotient = code.arithmetic(operation, dividend, divisor);
        code.jump_with(join, quotient);
        code.begin(join);
        value
    }

    fn index(&self, code: &mut dyn Code, index: &Index) -> Value {
        let value = self.value(code, index.value);
        let length = code.number(index.length as i32);
        let inside = code.compare(Compare::Below, value, length);
        self.require(code, inside, index.fault);
        value
    }

    /// The address of a place, as base and offset.
    pub(crate) fn place(&self, code: &mut dyn Code, place: &Place) -> (Value, u32) {
        let base = match place.space {
            Space::Global => self.state,
            Space::Local => self.frame,
        };
        self.place_from(code, base, place)
    }

    fn place_from(&self, code: &mut dyn Code, mut base: Value, place: &Place) -> (Value, u32) {
        for index in &place.indices {
            let value = self.index(code, index);
            base = code.element(base, value, index.stride);
        }
        (base, place.offset)
    }

    /// Stores a value, cut to the kind of the place.
    pub(crate) fn store(&self, code: &mut dyn Code, place: &Place, value: Value) {
        let (base, offset) = self.place(code, place);
        self.note(code, base, offset, memory(place.kind).bytes());
        store(code, place.kind, value, base, offset);
    }

    /// Asks something of another process; 0 if there is no such process.
    fn remote(
        &self,
        code: &mut dyn Code,
        proctype: preempt_promela::ir::ProctypeIndex,
        pid: Option<ExprId>,
        ask: impl FnOnce(&Self, &mut dyn Code, Value) -> Value,
    ) -> Value {
        let any = code.number(pid.is_none().into());
        let pid = match pid {
            Some(pid) => self.value(code, pid),
            None => code.number(0),
        };
        let shape = code.address(self.tables.shape);
        let proctype = code.number(i32::from(proctype.0));
        let arguments = [shape, self.state, proctype, pid, any];
        let offset = code.call(HelperId::FrameOf as usize, &arguments);
        let nowhere = code.number(-1);
        let missing = code.compare(Compare::Equal, offset, nowhere);
        let (join, value) = code.block_with_number();
        let (found, absent) = (code.block(), code.block());
        code.branch(missing, absent, found);
        code.begin(absent);
        let zero = code.number(0);
        code.jump_with(join, zero);
        code.begin(found);
        let frame = code.element(self.state, offset, 1);
        let answer = ask(self, code, frame);
        code.jump_with(join, answer);
        code.begin(join);
        value
    }
}

fn binary(code: &mut dyn Code, operator: BinaryOp, left: Value, right: Value) -> Value {
    let arithmetic = match operator {
        BinaryOp::Add => Arithmetic::Add,
        BinaryOp::Subtract => Arithmetic::Subtract,
        BinaryOp::Multiply => Arithmetic::Multiply,
        BinaryOp::ShiftLeft => Arithmetic::ShiftLeft,
        BinaryOp::ShiftRight => Arithmetic::ShiftRight,
        BinaryOp::BitAnd => Arithmetic::And,
        BinaryOp::BitOr => Arithmetic::Or,
        BinaryOp::BitXor => Arithmetic::Xor,
        BinaryOp::And | BinaryOp::Or => {
            let zero = code.number(0);
            let left = code.compare(Compare::NotEqual, left, zero);
            let right = code.compare(Compare::NotEqual, right, zero);
            let both = operator == BinaryOp::And;
            let operation = if both { Arithmetic::And } else { Arithmetic::Or };
            return code.arithmetic(operation, left, right);
        }
        BinaryOp::Equal => return code.compare(Compare::Equal, left, right),
        BinaryOp::NotEqual => return code.compare(Compare::NotEqual, left, right),
        BinaryOp::Less => return code.compare(Compare::Less, left, right),
        BinaryOp::LessEqual => return code.compare(Compare::LessEqual, left, right),
        BinaryOp::Greater => return code.compare(Compare::Greater, left, right),
        BinaryOp::GreaterEqual => return code.compare(Compare::GreaterEqual, left, right),
    };
    code.arithmetic(arithmetic, left, right)
}

fn memory(kind: ValueKind) -> Memory {
    match kind {
        ValueKind::Bit | ValueKind::Byte => Memory::Byte,
        ValueKind::Short => Memory::SignedTwo,
        ValueKind::Int => Memory::Four,
        ValueKind::Unsigned(bits) if bits <= 8 => Memory::Byte,
        ValueKind::Unsigned(bits) if bits <= 16 => Memory::UnsignedTwo,
        ValueKind::Unsigned(_) => Memory::Four,
    }
}

/// Reads a value of a kind.
pub(crate) fn load(code: &mut dyn Code, kind: ValueKind, base: Value, offset: u32) -> Value {
    code.load(memory(kind), base, offset)
}

/// Stores a value, cut to a kind.
pub(crate) fn store(code: &mut dyn Code, kind: ValueKind, value: Value, base: Value, offset: u32) {
    let mask = match kind {
        ValueKind::Bit => Some(1),
        ValueKind::Unsigned(bits) if bits < 32 => Some((1_i32 << bits) - 1),
        _ => None,
    };
    let value = match mask {
        Some(mask) => {
            let mask = code.number(mask);
            code.arithmetic(Arithmetic::And, value, mask)
        }
        None => value,
    };
    code.store(memory(kind), value, base, offset);
}

/// Cuts a value to a kind, as storing and reading it back would.
pub(crate) fn cut(code: &mut dyn Code, kind: ValueKind, value: Value) -> Value {
    let mask = match kind {
        ValueKind::Bit => 1,
        ValueKind::Byte => 255,
        ValueKind::Unsigned(bits) if bits < 32 => (1_i32 << bits) - 1,
        ValueKind::Int | ValueKind::Unsigned(_) => return value,
        ValueKind::Short => {
            let amount = code.number(16);
            let high = code.arithmetic(Arithmetic::ShiftLeft, value, amount);
            return code.arithmetic(Arithmetic::ShiftRight, high, amount);
        }
    };
    let mask = code.number(mask);
    code.arithmetic(Arithmetic::And, value, mask)
}

/// The control state of a frame.
pub(crate) fn load_pc(code: &mut dyn Code, width: u32, frame: Value) -> Value {
    let memory = if width == 1 { Memory::Byte } else { Memory::UnsignedTwo };
    code.load(memory, frame, 1)
}
