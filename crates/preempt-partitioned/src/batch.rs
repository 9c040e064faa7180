//! States on their way to their owners.
//!
//! A batch holds many states for one owner. Each is written as its difference to the one before: what follows upon
//! each other mostly has the same parent, or parents that are alike, and differs in a few words, some here and some
//! there. A batch can be read without any other.
//!
//! A state is two numbers that travel with it; its length plus one, or 0 if that is as before; and its chunks of eight words of
//! four bytes: how many are as before, then which words of the next one are not, in a byte, and these words. The last
//! chunk is filled up with zeros.

use super::sent_filter::SentFilter;
use super::wire::{Damaged, Reader, Writer};

/// Bytes of a batch that is sent at once.
const FULL: usize = 1 << 15;

/// Takes batches: the number of the owner that each is for, and its bytes.
pub type SendBatch<'a> = &'a mut dyn FnMut(usize, Vec<u8>);

/// Batches that are being filled, one for each owner.
pub struct Outbox<'a> {
    send: SendBatch<'a>,
    batches: &'a mut Batches,
}

/// Batches that are not full yet, with what the filter knows.
#[derive(Debug)]
pub struct Batches {
    open: Vec<Open>,
    sent: SentFilter,
}

#[derive(Debug, Default)]
struct Open {
    writer: Writer,
    last: Last,
}

/// The last state of a batch.
#[derive(Debug, Default)]
struct Last {
    chunks: Vec<Chunk>,
    /// Bytes of it.
    length: usize,
}

type Chunk = [u8; CHUNK];
const CHUNK: usize = 32;
const WORD: usize = 4;

impl Last {
    fn clear(&mut self) {
        self.chunks.clear();
        self.length = 0;
    }

    fn set_length(&mut self, length: usize) {
        self.length = length;
        self.chunks.resize(length.div_ceil(CHUNK), [0; CHUNK]);
    }

    fn bytes(&self) -> &[u8] {
        self.chunks.as_flattened().get(..self.length).unwrap_or_default()
    }
}

impl Open {
    /// Writes a state as its difference to the last one, which it becomes.
    #[inline]
    fn push(&mut self, extra: (u64, u64), state: &[u8]) {
        let Open { writer, last } = self;
        writer.number(extra.0);
        writer.number(extra.1);
        match state.len() == last.length && !last.chunks.is_empty() {
            true => writer.number(0),
            false => {
                writer.number(state.len() as u64 + 1);
                last.set_length(state.len());
            }
        }
        let (chunks, rest) = state.as_chunks::<CHUNK>();
        let (whole, tail) = last.chunks.split_at_mut(chunks.len());
        let mut same = 0;
        for (before, now) in whole.iter_mut().zip(chunks) {
            if before == now {
                same += 1;
            } else {
                writer.number(same);
                write_chunk(writer, before, now);
                same = 0;
            }
        }
        if let [before] = tail {
            let mut now = [0; CHUNK];
            now[..rest.len()].copy_from_slice(rest);
            if *before == now {
                same += 1;
            } else {
                writer.number(same);
                write_chunk(writer, before, &now);
                same = 0;
            }
        }
        if same > 0 {
            writer.number(same);
        }
    }
}

/// Writes the words of a chunk that are not as before.
#[inline]
fn write_chunk(writer: &mut Writer, before: &mut Chunk, now: &Chunk) {
    let (old, new) = (before.as_chunks::<WORD>().0, now.as_chunks::<WORD>().0);
    let mut changed = 0_u8;
    for (number, (old, new)) in old.iter().zip(new).enumerate() {
        changed |= u8::from(old != new) << number;
    }
    // The whole buffer is written and then cut off: a copy of known length needs no call.
    let mut packed = [0; 1 + CHUNK];
    packed[0] = changed;
    let mut length = 1;
    let mut rest = changed;
    while rest != 0 {
        let word = new[rest.trailing_zeros() as usize & 7];
        packed[length..length + WORD].copy_from_slice(&word);
        length += WORD;
        rest &= rest - 1;
    }
    let end = writer.bytes.len() + length;
    writer.bytes.extend_from_slice(&packed);
    writer.bytes.truncate(end);
    *before = *now;
}

impl Batches {
    /// Batches for so many owners.
    pub fn new(owners: usize) -> Self {
        Batches { open: (0..owners).map(|_| Open::default()).collect(), sent: SentFilter::new() }
    }

    /// Batches that are sent by `send` once they are full.
    pub fn outbox<'a>(&'a mut self, send: SendBatch<'a>) -> Outbox<'a> {
        Outbox { send, batches: self }
    }

    /// Memory in use.
    pub fn bytes(&self) -> usize {
        self.sent.bytes() + self.open.len() * FULL
    }
}

impl Outbox<'_> {
    /// Whether this state was sent lately with this mark.
    #[inline]
    pub(super) fn was_sent(&mut self, hash: impl FnOnce() -> u64, mark: u16, state: &[u8]) -> bool {
        self.batches.sent.was(hash, mark, state)
    }

    /// Adds a state for an owner, with two numbers that travel with it.
    #[inline]
    pub(super) fn push(&mut self, owner: usize, extra: (u64, u64), state: &[u8]) {
        let open = &mut self.batches.open[owner];
        open.push(extra, state);
        if open.writer.bytes.len() >= FULL {
            let batch = std::mem::replace(&mut open.writer.bytes, Vec::with_capacity(FULL + 256));
            open.last.clear();
            (self.send)(owner, batch);
        }
    }

    /// Sends what there is.
    pub fn flush(&mut self) {
        for (owner, open) in self.batches.open.iter_mut().enumerate() {
            if !open.writer.bytes.is_empty() {
                let batch = std::mem::take(&mut open.writer.bytes);
                open.last.clear();
                (self.send)(owner, batch);
            }
        }
    }
}

/// Reads the states of a batch, one after the other.
#[derive(Debug, Default)]
pub(super) struct BatchReader {
    last: Last,
}

impl BatchReader {
    /// Begins with another batch.
    pub(super) fn begin(&mut self) {
        self.last.clear();
    }

    /// Reads the next state; gives both numbers that travel with it.
    #[inline]
    pub(super) fn next(&mut self, reader: &mut Reader<'_>) -> Result<(u64, u64), Damaged> {
        let extra = (reader.number()?, reader.number()?);
        match reader.small::<usize>()? {
            0 => {}
            length if length - 1 > LONGEST => return Err(Damaged),
            length => self.last.set_length(length - 1),
        }
        let mut rest = &mut self.last.chunks[..];
        while !rest.is_empty() {
            rest = rest.get_mut(reader.small()?..).ok_or(Damaged)?;
            let Some((chunk, behind)) = rest.split_first_mut() else { break };
            let [mut changed] = *reader.array::<1>()?;
            let chunk = chunk.as_chunks_mut::<WORD>().0;
            while changed != 0 {
                chunk[changed.trailing_zeros() as usize & 7] = *reader.array()?;
                changed &= changed - 1;
            }
            rest = behind;
        }
        Ok(extra)
    }

    /// The state that was read last.
    #[inline]
    pub(super) fn state(&self) -> &[u8] {
        self.last.bytes()
    }
}

/// No state is longer: where a length is damaged nothing is allocated for it.
const LONGEST: usize = 1 << 28;

/// Reads the states of a batch: `each` gets both numbers and the bytes.
#[inline]
pub(super) fn read_batch(
    batch: &[u8],
    states: &mut BatchReader,
    mut each: impl FnMut((u64, u64), &[u8]) -> Result<(), Damaged>,
) -> Result<(), Damaged> {
    let mut reader = Reader::new(batch);
    states.begin();
    while !reader.is_at_end() {
        let extra = states.next(&mut reader)?;
        each(extra, states.state())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Successors of a state of 200 bytes that differ in a word, and in another one than the last.
    #[test]
    fn states_are_sent_as_differences() {
        let mut sent = 0;
        let mut send = |_: usize, batch: Vec<u8>| sent += batch.len();
        let mut batches = Batches::new(1);
        let mut outbox = batches.outbox(&mut send);
        for number in 0..1000_usize {
            let mut state = [7; 200];
            state[number % 50 * 4] = 9;
            outbox.push(0, (1, 0), &state);
        }
        outbox.flush();
        assert!(sent < 1000 * 20, "{sent} bytes for 1000 states");
    }

    #[test]
    fn states_come_out_as_they_went_in() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let mut states: Vec<Vec<u8>> = vec![Vec::new(), vec![1; 40], vec![1; 40]];
        for _ in 0..4000 {
            let mut state = states.last().expect("there are some").clone();
            for _ in 0..random(4) {
                match random(8) {
                    0 => state.extend((0..random(30)).map(|byte| byte as u8)),
                    1 => state.truncate(random(80) as usize),
                    _ if state.is_empty() => {}
                    _ => {
                        let at = random(state.len() as u64) as usize;
                        state[at] = random(256) as u8;
                    }
                }
            }
            states.push(state);
        }
        let mut arrived = vec![Vec::new(); 3];
        let mut batches = Batches::new(3);
        let mut read = Vec::new();
        let mut send = |owner: usize, batch: Vec<u8>| read.push((owner, batch));
        let mut outbox = batches.outbox(&mut send);
        for (at, state) in states.iter().enumerate() {
            outbox.push(at % 3, (at as u64, 1 << 40), state);
        }
        outbox.flush();
        assert!(read.len() > 3, "some were full");
        let mut buffer = BatchReader::default();
        for (owner, batch) in &read {
            let each = |extra: (u64, u64), state: &[u8]| {
                assert_eq!(extra.1, 1 << 40);
                arrived[*owner].push((extra.0, state.to_vec()));
                Ok(())
            };
            read_batch(batch, &mut buffer, each).expect("it is whole");
        }
        for (owner, arrived) in arrived.iter().enumerate() {
            for (number, (at, state)) in arrived.iter().enumerate() {
                assert_eq!(*at as usize, number * 3 + owner);
                assert_eq!(*state, states[*at as usize]);
            }
        }
        assert_eq!(arrived.iter().map(Vec::len).sum::<usize>(), states.len());
        // Whatever is cut off or changed, nothing is read beyond the end.
        for (_, batch) in read {
            for end in 0..batch.len().min(300) {
                let _ = read_batch(&batch[..end], &mut buffer, |_, _| Ok(()));
                let mut changed = batch[..300.min(batch.len())].to_vec();
                changed[end] ^= 0x55;
                let _ = read_batch(&changed, &mut buffer, |_, _| Ok(()));
            }
        }
    }
}
