//! The only file that names Cranelift: the assembler of [`super::code`] for the processor.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, BlockArg, FuncRef, Function, InstBuilder, MemFlagsData, Signature, UserFuncName,
    types,
};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module};

use super::code::{
    Arithmetic, Block, Code, CodeError, Compare, Memory, Parameter, Register, Value,
};
use crate::execute::workspace::PIECE;
use cranelift_codegen::ir;

fn wrong(error: impl std::fmt::Display) -> CodeError {
    CodeError(error.to_string())
}

fn ty(parameter: Parameter) -> types::Type {
    match parameter {
        Parameter::Number => types::I32,
        Parameter::Address => types::I64,
    }
}

/// Cranelift's value behind one of ours.
fn ir(value: Value) -> ir::Value {
    ir::Value::from_u32(value.0)
}

/// Our value for one of Cranelift's.
fn ours(value: ir::Value) -> Value {
    Value(value.as_u32())
}

fn block(block: Block) -> ir::Block {
    ir::Block::from_u32(block.0)
}

/// A Rust function that the code may call.
pub(crate) struct Helper {
    pub(crate) name: &'static str,
    pub(crate) address: *const u8,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) result: Parameter,
}

/// What is done to make the code good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// For code that is called again and again: common parts are found, and so on.
    Usual,
    /// A third less time to compile, up to a tenth more to run: for much code, of which each part runs
    /// seldom.
    Quick,
}

/// Functions being compiled, then executable.
pub(crate) struct Assembly {
    module: JITModule,
    helpers: Vec<FuncId>,
    context: FunctionBuilderContext,
    functions: usize,
}

/// A compiled function.
#[derive(Clone, Copy)]
pub(crate) struct FunctionId(FuncId);

impl Assembly {
    pub(crate) fn new(helpers: &[Helper], effort: Effort) -> Result<Self, CodeError> {
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", if effort == Effort::Quick { "none" } else { "speed" }),
            ("is_pic", "false"),
            ("use_colocated_libcalls", "false"),
            ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ] {
            flags.set(name, value).map_err(wrong)?;
        }
        let isa = cranelift_native::builder()
            .map_err(wrong)?
            .finish(settings::Flags::new(flags))
            .map_err(wrong)?;
        let mut builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
        for helper in helpers {
            builder.symbol(helper.name, helper.address);
        }
        let mut module = JITModule::new(builder);
        let mut declared = Vec::new();
        for helper in helpers {
            let signature = signature(&module, helper.parameters, helper.result);
            let id =
                module.declare_function(helper.name, Linkage::Import, &signature).map_err(wrong)?;
            declared.push(id);
        }
        Ok(Assembly {
            module,
            helpers: declared,
            context: FunctionBuilderContext::new(),
            functions: 0,
        })
    }

    /// Compiles a function; `body` gets its parameters and must end every path with a return.
    pub(crate) fn function(
        &mut self,
        parameters: &[Parameter],
        result: Parameter,
        body: impl FnOnce(&mut dyn Code, &[Value]),
    ) -> Result<FunctionId, CodeError> {
        let signature = signature(&self.module, parameters, result);
        let name = format!("f{}", self.functions);
        self.functions += 1;
        let id = self.module.declare_function(&name, Linkage::Local, &signature).map_err(wrong)?;
        let mut context = self.module.make_context();
        context.func = Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature);
        let mut builder = FunctionBuilder::new(&mut context.func, &mut self.context);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let arguments: Vec<Value> = builder.block_params(entry).iter().copied().map(ours).collect();
        let helpers = vec![None; self.helpers.len()];
        let mut code = Builder { builder, helpers, module: &mut self.module, known: &self.helpers };
        body(&mut code, &arguments);
        code.builder.seal_all_blocks();
        let target = code.module.target_config();
        code.builder.finalize(target);
        self.module.define_function(id, &mut context).map_err(wrong)?;
        self.module.clear_context(&mut context);
        Ok(FunctionId(id))
    }

    /// Makes the functions until now executable; gives where one of them starts.
    pub(crate) fn publish(&mut self, function: FunctionId) -> Result<*const u8, CodeError> {
        self.module.finalize_definitions().map_err(wrong)?;
        Ok(self.module.get_finalized_function(function.0))
    }

    /// Frees all functions.
    ///
    /// # Safety
    /// None of them may be called any more.
    pub(crate) unsafe fn free(self) {
        // SAFETY: the caller's promise.
        unsafe { self.module.free_memory() };
    }

    /// Makes all functions executable.
    pub(crate) fn finish(mut self) -> Result<Executable, CodeError> {
        self.module.finalize_definitions().map_err(wrong)?;
        Ok(Executable { module: Some(self.module) })
    }
}

fn signature(module: &JITModule, parameters: &[Parameter], result: Parameter) -> Signature {
    let mut signature = module.make_signature();
    signature.params.extend(parameters.iter().map(|p| AbiParam::new(ty(*p))));
    signature.returns.push(AbiParam::new(ty(result)));
    signature
}

/// Code in executable memory, freed when dropped.
pub(crate) struct Executable {
    module: Option<JITModule>,
}

// SAFETY: after `finish` the code is only read (executed); the module is touched again in `drop`
// alone, which has exclusive access.
unsafe impl Sync for Executable {}
// SAFETY: the memory belongs to the process, not to a thread.
unsafe impl Send for Executable {}

impl Executable {
    /// Where a function starts.
    pub(crate) fn address(&self, function: FunctionId) -> *const u8 {
        match &self.module {
            Some(module) => module.get_finalized_function(function.0),
            None => std::ptr::null(),
        }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the functions are only reachable through the owner of this value, which is
            // being dropped.
            unsafe { module.free_memory() };
        }
    }
}

/// One function under construction.
struct Builder<'a> {
    builder: FunctionBuilder<'a>,
    module: &'a mut JITModule,
    /// The helpers of the module.
    known: &'a [FuncId],
    /// The helpers that this function calls.
    helpers: Vec<Option<FuncRef>>,
}

/// Accesses never trap; nothing is promised about alignment.
fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Builder<'_> {
    fn wide(&mut self, value: i64) -> ir::Value {
        self.builder.ins().iconst(types::I64, value)
    }
}

impl Code for Builder<'_> {
    fn number(&mut self, value: i32) -> Value {
        ours(self.builder.ins().iconst(types::I32, i64::from(value)))
    }

    fn address(&mut self, address: *const u8) -> Value {
        ours(self.wide(address as i64))
    }

    fn load(&mut self, memory: Memory, base: Value, offset: u32) -> Value {
        let (base, offset) = (ir(base), offset as i32);
        let ins = self.builder.ins();
        ours(match memory {
            Memory::Byte => ins.uload8(types::I32, flags(), base, offset),
            Memory::UnsignedTwo => ins.uload16(types::I32, flags(), base, offset),
            Memory::SignedTwo => ins.sload16(types::I32, flags(), base, offset),
            Memory::Four => ins.load(types::I32, flags(), base, offset),
        })
    }

    fn load_wide(&mut self, base: Value, offset: u32) -> Value {
        ours(self.builder.ins().load(types::I64, flags(), ir(base), offset as i32))
    }

    fn store(&mut self, memory: Memory, value: Value, base: Value, offset: u32) {
        let (value, base, offset) = (ir(value), ir(base), offset as i32);
        let ins = self.builder.ins();
        match memory {
            Memory::Byte => ins.istore8(flags(), value, base, offset),
            Memory::UnsignedTwo | Memory::SignedTwo => ins.istore16(flags(), value, base, offset),
            Memory::Four => ins.store(flags(), value, base, offset),
        };
    }

    fn arithmetic(&mut self, operation: Arithmetic, a: Value, b: Value) -> Value {
        let (a, b) = (ir(a), ir(b));
        let ins = self.builder.ins();
        ours(match operation {
            Arithmetic::Add => ins.iadd(a, b),
            Arithmetic::Subtract => ins.isub(a, b),
            Arithmetic::Multiply => ins.imul(a, b),
            Arithmetic::Divide => ins.sdiv(a, b),
            Arithmetic::Remainder => ins.srem(a, b),
            Arithmetic::And => ins.band(a, b),
            Arithmetic::Or => ins.bor(a, b),
            Arithmetic::Xor => ins.bxor(a, b),
            Arithmetic::ShiftLeft => ins.ishl(a, b),
            Arithmetic::ShiftRight => ins.sshr(a, b),
        })
    }

    fn compare(&mut self, comparison: Compare, a: Value, b: Value) -> Value {
        let condition = match comparison {
            Compare::Equal => IntCC::Equal,
            Compare::NotEqual => IntCC::NotEqual,
            Compare::Less => IntCC::SignedLessThan,
            Compare::LessEqual => IntCC::SignedLessThanOrEqual,
            Compare::Greater => IntCC::SignedGreaterThan,
            Compare::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
            Compare::Below => IntCC::UnsignedLessThan,
        };
        let bit = self.builder.ins().icmp(condition, ir(a), ir(b));
        ours(self.builder.ins().uextend(types::I32, bit))
    }

    fn negate(&mut self, value: Value) -> Value {
        ours(self.builder.ins().ineg(ir(value)))
    }

    fn complement(&mut self, value: Value) -> Value {
        ours(self.builder.ins().bnot(ir(value)))
    }

    fn element(&mut self, base: Value, index: Value, stride: u32) -> Value {
        let index = self.builder.ins().uextend(types::I64, ir(index));
        let offset = match stride {
            1 => index,
            _ => {
                let stride = self.wide(i64::from(stride));
                self.builder.ins().imul(index, stride)
            }
        };
        ours(self.builder.ins().iadd(ir(base), offset))
    }

    fn distance(&mut self, from: Value, to: Value) -> (Value, Value) {
        let wide = self.builder.ins().isub(ir(to), ir(from));
        (ours(wide), ours(self.builder.ins().ireduce(types::I32, wide)))
    }

    fn further(&mut self, base: Value, bytes: Value) -> Value {
        ours(self.builder.ins().iadd(ir(base), ir(bytes)))
    }

    fn store_wide(&mut self, value: Value, base: Value, offset: u32) {
        self.builder.ins().store(flags(), ir(value), ir(base), offset as i32);
    }

    fn copy(&mut self, from: Value, to: Value, length: Value) {
        let length = self.builder.ins().uextend(types::I64, ir(length));
        let head = self.builder.create_block();
        let end = self.builder.create_block();
        let at = self.builder.append_block_param(head, types::I64);
        let zero = self.wide(0);
        self.builder.ins().jump(head, &[BlockArg::Value(zero)]);
        self.builder.switch_to_block(head);
        let source = self.builder.ins().iadd(ir(from), at);
        let target = self.builder.ins().iadd(ir(to), at);
        let parts = [0, 16, 32, 48];
        let loaded =
            parts.map(|offset| self.builder.ins().load(types::I8X16, flags(), source, offset));
        for (part, offset) in loaded.into_iter().zip(parts) {
            self.builder.ins().store(flags(), part, target, offset);
        }
        let piece = self.wide(PIECE as i64);
        let next = self.builder.ins().iadd(at, piece);
        let more = self.builder.ins().icmp(IntCC::UnsignedLessThan, next, length);
        self.builder.ins().brif(more, head, &[BlockArg::Value(next)], end, &[]);
        self.builder.switch_to_block(end);
    }

    fn move_bytes(&mut self, base: Value, from: u32, to: u32, length: u32) {
        let base = ir(base);
        let mut loaded = Vec::new();
        let mut at = 0;
        while at < length {
            let (ty, size) = match length - at {
                8.. => (types::I64, 8),
                4..8 => (types::I32, 4),
                2..4 => (types::I16, 2),
                _ => (types::I8, 1),
            };
            let value = self.builder.ins().load(ty, flags(), base, (from + at) as i32);
            loaded.push((value, to + at));
            at += size;
        }
        for (value, offset) in loaded {
            self.builder.ins().store(flags(), value, base, offset as i32);
        }
    }

    fn note_word(
        &mut self,
        vector: Value,
        (base, offset): (Value, u32),
        (list, end): (Value, u32),
    ) {
        let (word, held) = if base == vector {
            (self.wide(i64::from(offset / 8)), self.load_wide(vector, offset / 8 * 8))
        } else {
            let place = self.builder.ins().iadd_imm_u(ir(base), i64::from(offset));
            let distance = self.builder.ins().isub(place, ir(vector));
            let aligned = self.builder.ins().band_imm_s(distance, !7);
            let at = self.builder.ins().iadd(ir(vector), aligned);
            (self.builder.ins().ushr_imm_u(distance, 3), self.load_wide(ours(at), 0))
        };
        let note = self.load_wide(list, end);
        self.store_wide(ours(word), note, 0);
        self.store_wide(held, note, 8);
        let next = self.builder.ins().iadd_imm_u(ir(note), 16);
        self.store_wide(ours(next), list, end);
    }

    fn set_bit(&mut self, condition: Value, number: Value, base: Value, offset: u32) {
        let condition = self.builder.ins().uextend(types::I64, ir(condition));
        let bit = self.builder.ins().ishl(condition, ir(number));
        let before = self.load_wide(base, offset);
        let after = self.builder.ins().bor(ir(before), bit);
        self.store_wide(ours(after), base, offset);
    }

    fn store_nothing(&mut self, base: Value, offset: u32) {
        let zero = self.wide(0);
        self.store_wide(ours(zero), base, offset);
    }

    fn store_widened(&mut self, number: Value, base: Value, offset: u32) {
        let wide = self.builder.ins().uextend(types::I64, ir(number));
        self.store_wide(ours(wide), base, offset);
    }

    fn halves(&mut self, wide: Value) -> (Value, Value) {
        let low = self.builder.ins().ireduce(types::I32, ir(wide));
        let amount = self.builder.ins().iconst(types::I32, 32);
        let high = self.builder.ins().ushr(ir(wide), amount);
        (ours(low), ours(self.builder.ins().ireduce(types::I32, high)))
    }

    fn block(&mut self) -> Block {
        Block(self.builder.create_block().as_u32())
    }

    fn cold_block(&mut self) -> Block {
        let block = self.builder.create_block();
        self.builder.set_cold_block(block);
        Block(block.as_u32())
    }

    fn block_with_number(&mut self) -> (Block, Value) {
        let block = self.builder.create_block();
        let value = self.builder.append_block_param(block, types::I32);
        (Block(block.as_u32()), ours(value))
    }

    fn block_with_address(&mut self) -> (Block, Value) {
        let block = self.builder.create_block();
        let value = self.builder.append_block_param(block, types::I64);
        (Block(block.as_u32()), ours(value))
    }

    fn begin(&mut self, here: Block) {
        self.builder.switch_to_block(block(here));
    }

    fn jump(&mut self, to: Block) {
        self.builder.ins().jump(block(to), &[]);
    }

    fn jump_with(&mut self, to: Block, value: Value) {
        self.builder.ins().jump(block(to), &[BlockArg::Value(ir(value))]);
    }

    fn branch(&mut self, condition: Value, then: Block, otherwise: Block) {
        self.builder.ins().brif(ir(condition), block(then), &[], block(otherwise), &[]);
    }

    fn select_block(&mut self, value: Value, blocks: &[(u32, Block)], otherwise: Block) {
        let mut switch = Switch::new();
        for (number, to) in blocks {
            switch.set_entry(u128::from(*number), block(*to));
        }
        switch.emit(&mut self.builder, ir(value), block(otherwise));
    }

    fn register(&mut self, initial: Value) -> Register {
        let variable = self.builder.declare_var(types::I32);
        self.builder.def_var(variable, ir(initial));
        Register(variable.as_u32())
    }

    fn get(&mut self, register: Register) -> Value {
        ours(self.builder.use_var(Variable::from_u32(register.0)))
    }

    fn set(&mut self, register: Register, value: Value) {
        self.builder.def_var(Variable::from_u32(register.0), ir(value));
    }

    fn call(&mut self, helper: usize, arguments: &[Value]) -> Value {
        let function = *self.helpers[helper].get_or_insert_with(|| {
            self.module.declare_func_in_func(self.known[helper], self.builder.func)
        });
        let arguments: Vec<_> = arguments.iter().copied().map(ir).collect();
        let call = self.builder.ins().call(function, &arguments);
        ours(self.builder.inst_results(call)[0])
    }

    fn give(&mut self, value: Value) {
        self.builder.ins().return_(&[ir(value)]);
    }
}
