//! A small assembler for 32-bit values and byte vectors, as a trait: what generates code speaks in these terms
//! and knows nothing of the machine behind them. `cranelift.rs` makes code for the processor of it, `ptx.rs` text for a
//! graphics card.
//!
//! Values are either 32-bit integers or addresses.

/// Machine code cannot be produced here; the reference interpreter still can run the model.
#[derive(Debug, Clone)]
pub struct CodeError(pub String);

impl std::fmt::Display for CodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no machine code for this model: {}", self.0)
    }
}

impl std::error::Error for CodeError {}

/// How wide a value in memory is, and whether it has a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    Byte,
    UnsignedTwo,
    SignedTwo,
    Four,
}

impl Memory {
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Memory::Byte => 1,
            Memory::UnsignedTwo | Memory::SignedTwo => 2,
            Memory::Four => 4,
        }
    }
}

/// Comparisons of signed values (`Below` compares without sign).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compare {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Below,
}

/// Arithmetic on 32-bit values, wrapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

/// The type of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parameter {
    Number,
    Address,
}

/// A value: a number or an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value(pub(super) u32);

/// A place in the code that can be jumped to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block(pub(super) u32);

/// A number that changes on the way.
#[derive(Clone, Copy)]
pub(crate) struct Register(pub(super) u32);

/// One function under construction.
pub(crate) trait Code {
    /// A constant.
    fn number(&mut self, value: i32) -> Value;

    /// The address of a table.
    fn address(&mut self, address: *const u8) -> Value;

    /// Loads a number. Nothing is promised about alignment.
    fn load(&mut self, memory: Memory, base: Value, offset: u32) -> Value;

    /// Loads eight bytes, as an address.
    fn load_wide(&mut self, base: Value, offset: u32) -> Value;

    /// Stores a number.
    fn store(&mut self, memory: Memory, value: Value, base: Value, offset: u32);

    /// Computes with two numbers.
    fn arithmetic(&mut self, operation: Arithmetic, a: Value, b: Value) -> Value;

    /// 1 or 0.
    fn compare(&mut self, comparison: Compare, a: Value, b: Value) -> Value;

    /// The negative of a number.
    fn negate(&mut self, value: Value) -> Value;

    /// All bits of a number inverted.
    fn complement(&mut self, value: Value) -> Value;

    /// `base + index · stride` for an index that is not negative.
    fn element(&mut self, base: Value, index: Value, stride: u32) -> Value;

    /// How far apart two addresses are, as an address and as a number.
    fn distance(&mut self, from: Value, to: Value) -> (Value, Value);

    /// An address so many bytes further on.
    fn further(&mut self, base: Value, bytes: Value) -> Value;

    /// Stores eight bytes.
    fn store_wide(&mut self, value: Value, base: Value, offset: u32);

    /// Copies at least `length` bytes, and at least one piece of `PIECE`, in whole pieces.
    fn copy(&mut self, from: Value, to: Value, length: Value);

    /// Moves a few bytes, whose old and new place may overlap.
    fn move_bytes(&mut self, base: Value, from: u32, to: u32, length: u32);

    /// Appends the number of the word of a vector that a place lies in, and what the word holds, to a
    /// list whose end is kept in memory.
    fn note_word(&mut self, vector: Value, place: (Value, u32), list: (Value, u32));

    /// Sets one bit of eight bytes in memory if the condition, 1 or 0, holds.
    fn set_bit(&mut self, condition: Value, number: Value, base: Value, offset: u32);

    /// Stores eight zeros.
    fn store_nothing(&mut self, base: Value, offset: u32);

    /// Stores a number and zeros behind it, eight bytes in all.
    fn store_widened(&mut self, number: Value, base: Value, offset: u32);

    /// The low and the high half of eight bytes.
    fn halves(&mut self, wide: Value) -> (Value, Value);

    /// A block.
    fn block(&mut self) -> Block;

    /// A block that is rarely reached.
    fn cold_block(&mut self) -> Block;

    /// A block that receives a number, and the number.
    fn block_with_number(&mut self) -> (Block, Value);

    /// A block that receives eight bytes, and those.
    fn block_with_address(&mut self) -> (Block, Value);

    /// What follows belongs to this block.
    fn begin(&mut self, block: Block);

    /// Leaves the present block.
    fn jump(&mut self, block: Block);

    /// Leaves the present block for one that receives a value.
    fn jump_with(&mut self, block: Block, value: Value);

    /// Leaves the present block for one of two.
    fn branch(&mut self, condition: Value, then: Block, otherwise: Block);

    /// Leaves the present block for the one with this number.
    fn select_block(&mut self, value: Value, blocks: &[(u32, Block)], otherwise: Block);

    /// A number that changes on the way.
    fn register(&mut self, initial: Value) -> Register;

    /// What it is now.
    fn get(&mut self, register: Register) -> Value;

    /// Changes it.
    fn set(&mut self, register: Register, value: Value);

    /// Calls a helper by its number.
    fn call(&mut self, helper: usize, arguments: &[Value]) -> Value;

    /// Returns from the function.
    fn give(&mut self, value: Value);
}
