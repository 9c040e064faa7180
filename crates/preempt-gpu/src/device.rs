//! What a search needs of a card: memory, a module, launches. Behind it is the driver, or in tests an evaluator.

use std::fmt;

/// What a card or its driver refused, in its words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble(pub String);

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Trouble {}

/// A card. Addresses are its own.
pub trait Device {
    /// Takes the text of a module in place of the one before.
    fn load(&mut self, text: &str) -> Result<(), Trouble>;

    /// Takes so many bytes.
    fn allocate(&mut self, bytes: u64) -> Result<u64, Trouble>;

    /// Gives back what was taken.
    fn free(&mut self, address: u64);

    /// Takes so many bytes of the machine's memory, which the card reads over the bus, at an address of the card's.
    fn allocate_outside(&mut self, bytes: u64) -> Result<u64, Trouble>;

    /// Gives back what was taken there.
    fn free_outside(&mut self, address: u64);

    /// Copies from one place to another, which do not overlap.
    fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<(), Trouble>;

    /// Fills with one byte.
    fn fill(&mut self, address: u64, bytes: u64, byte: u8) -> Result<(), Trouble>;

    /// Writes to the card's memory.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Trouble>;

    /// Reads from it, or from what was taken outside.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Trouble>;

    /// Where the module has a variable.
    fn symbol(&mut self, name: &str) -> Result<u64, Trouble>;

    /// Executes a kernel with one parameter on so many threads at most, and waits for its end.
    fn launch(&mut self, kernel: &str, threads: u64, parameter: u64) -> Result<(), Trouble>;

    /// Bytes that can be taken now.
    fn available(&mut self) -> Result<u64, Trouble>;
}
