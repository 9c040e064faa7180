//! How wide a value in a vector is, and whether it has a sign.

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// 0 or 1 in a byte: stores `v & 1`.
    Bit,
    /// A byte without sign (byte, pid, mtype, chan).
    Byte,
    /// Two bytes with sign.
    Short,
    /// Four bytes with sign.
    Int,
    /// The low `bits` (1 to 32) bits, without sign (32 bits: read as signed), in 1, 2 or 4 bytes.
    Unsigned(u8),
}

/// Bytes that a value takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 1
    One,
    /// 2
    Two,
    /// 4
    Four,
}

impl Width {
    /// As a number.
    pub fn bytes(self) -> u32 {
        match self {
            Width::One => 1,
            Width::Two => 2,
            Width::Four => 4,
        }
    }
}

impl ValueKind {
    /// The room it takes.
    pub fn width(self) -> Width {
        match self {
            ValueKind::Bit | ValueKind::Byte => Width::One,
            ValueKind::Short => Width::Two,
            ValueKind::Int => Width::Four,
            ValueKind::Unsigned(bits) if bits <= 8 => Width::One,
            ValueKind::Unsigned(bits) if bits <= 16 => Width::Two,
            ValueKind::Unsigned(_) => Width::Four,
        }
    }

    /// How many bits it keeps.
    pub fn bits(self) -> u8 {
        match self {
            ValueKind::Bit => 1,
            ValueKind::Byte => 8,
            ValueKind::Short => 16,
            ValueKind::Int => 32,
            ValueKind::Unsigned(bits) => bits,
        }
    }

    /// The value that is read back after `value` was stored.
    pub fn cut(self, value: i32) -> i32 {
        match self {
            ValueKind::Bit => value & 1,
            ValueKind::Byte => i32::from(value as u8),
            ValueKind::Short => i32::from(value as i16),
            ValueKind::Int => value,
            ValueKind::Unsigned(bits) if bits >= 32 => value,
            ValueKind::Unsigned(bits) => value & ((1u32 << bits) - 1) as i32,
        }
    }

    /// Reads a value at an offset.
    pub fn load(self, bytes: &[u8], at: usize) -> i32 {
        match (self.width(), self) {
            (Width::One, _) => i32::from(bytes[at]),
            (Width::Two, ValueKind::Short) => {
                i32::from(i16::from_le_bytes([bytes[at], bytes[at + 1]]))
            }
            (Width::Two, _) => i32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])),
            (Width::Four, _) => {
                i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
            }
        }
    }

    /// Stores a value at an offset, cut to the kind.
    pub fn store(self, bytes: &mut [u8], at: usize, value: i32) {
        let value = self.cut(value).to_le_bytes();
        let width = self.width().bytes() as usize;
        bytes[at..at + width].copy_from_slice(&value[..width]);
    }
}
