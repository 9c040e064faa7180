//! Numbers and bytes in a buffer. What is read may have been damaged, or made up: every length is checked.

use preempt_core::{ProcessId, Step};

/// What was read is not what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damaged;

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it is damaged")
    }
}

impl std::error::Error for Damaged {}

/// Writes.
#[derive(Default, Debug, Clone)]
pub struct Writer {
    /// What was written.
    pub bytes: Vec<u8>,
}

impl Writer {
    /// A number, in as few bytes as it needs.
    #[inline]
    pub fn number(&mut self, number: u64) {
        match number < 0x80 {
            true => self.bytes.push(number as u8),
            false => self.long_number(number),
        }
    }

    fn long_number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// A number that may be missing.
    pub fn option(&mut self, number: Option<u64>) {
        match number {
            None => self.number(0),
            Some(number) => {
                self.number(1);
                self.number(number);
            }
        }
    }

    /// Bytes, with their length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Steps.
    pub fn steps(&mut self, steps: &[Step]) {
        self.number(steps.len() as u64);
        for step in steps {
            self.number(step.process.0.into());
            self.option(step.partner.map(|partner| partner.0.into()));
            self.number(step.transition.into());
            self.number(step.partner_transition.into());
            self.number(step.choice.into());
        }
    }
}

/// Reads.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// Whether everything was read.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// A number.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Damaged> {
        match *self.rest {
            [byte, ref rest @ ..] if byte < 0x80 => {
                self.rest = rest;
                Ok(byte.into())
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Damaged)?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Damaged);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damaged)
    }

    /// A number that fits into a smaller type.
    #[inline]
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Damaged> {
        T::try_from(self.number()?).map_err(|_| Damaged)
    }

    /// A number that may be missing.
    pub fn option<T: TryFrom<u64>>(&mut self) -> Result<Option<T>, Damaged> {
        match self.number()? {
            0 => Ok(None),
            1 => self.small().map(Some),
            _ => Err(Damaged),
        }
    }

    /// So many bytes.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Damaged> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Damaged)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// So many bytes, where it is known how many.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Damaged> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Damaged)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Bytes with their length.
    pub fn bytes(&mut self) -> Result<&'a [u8], Damaged> {
        let length = self.small()?;
        self.take(length)
    }

    /// How many things follow, each of which takes at least one byte.
    pub fn count(&mut self) -> Result<usize, Damaged> {
        let count: usize = self.small()?;
        if count > self.rest.len() { Err(Damaged) } else { Ok(count) }
    }

    /// Steps.
    pub fn steps(&mut self) -> Result<Vec<Step>, Damaged> {
        let count = self.count()?;
        let step = |_| {
            Ok(Step {
                process: ProcessId(self.small()?),
                partner: self.option()?.map(ProcessId),
                transition: self.small()?,
                partner_transition: self.small()?,
                choice: self.small()?,
            })
        };
        (0..count).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let numbers = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::MAX / 2, u64::MAX];
        let mut writer = Writer::default();
        numbers.iter().for_each(|number| writer.number(*number));
        writer.bytes(b"state");
        let step = Step { partner: Some(ProcessId(7)), choice: 9, ..Step::new(ProcessId(3), 500) };
        writer.steps(&[step, Step::new(ProcessId::PROPERTY, 0)]);
        let mut reader = Reader::new(&writer.bytes);
        numbers.iter().for_each(|number| assert_eq!(reader.number(), Ok(*number)));
        assert_eq!(reader.bytes(), Ok(&b"state"[..]));
        assert_eq!(reader.steps(), Ok(vec![step, Step::new(ProcessId::PROPERTY, 0)]));
        assert!(reader.is_at_end());
        assert_eq!(reader.number(), Err(Damaged));
    }

    #[test]
    fn lengths_beyond_the_end_are_refused() {
        for bytes in [&[5, 1, 2][..], &[0x80], &[0xff; 11], &[0xff, 0xff, 0xff, 0x7f, 0]] {
            assert_eq!(Reader::new(bytes).bytes(), Err(Damaged), "{bytes:?}");
            assert_eq!(Reader::new(bytes).steps(), Err(Damaged), "{bytes:?}");
        }
    }
}
