//! States on their way to their owners.
//!
//! A batch holds many states for one owner. Each is written as its difference to the one before: what follows upon
//! each other mostly has the same parent, or parents that are alike, and differs in a few bytes in the middle. A
//! batch can be read without any other.

use super::sent::Sent;
use super::wire::{Damaged, Reader, Writer};

/// Bytes of a batch that is sent at once.
const FULL: usize = 1 << 15;

/// Takes batches: for whom, and the bytes.
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
    sent: Sent,
}

#[derive(Debug, Default)]
struct Open {
    writer: Writer,
    /// The last state.
    last: Vec<u8>,
}

impl Batches {
    /// Batches for so many owners.
    pub fn new(owners: usize) -> Self {
        Batches { open: (0..owners).map(|_| Open::default()).collect(), sent: Sent::new() }
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
    pub(super) fn was_sent(&mut self, hash: u64, mark: u16, state: &[u8]) -> bool {
        self.batches.sent.was(hash, mark, state)
    }

    /// Adds a state for an owner, with two numbers that travel with it.
    #[inline]
    pub(super) fn push(&mut self, owner: usize, extra: (u64, u64), state: &[u8]) {
        let open = &mut self.batches.open[owner];
        let last = &open.last;
        let prefix = common_prefix(last, state);
        let suffix = common_suffix(&last[prefix..], &state[prefix..]);
        let middle = &state[prefix..state.len() - suffix];
        open.writer.number(extra.0);
        open.writer.number(extra.1);
        open.writer.number(prefix as u64);
        open.writer.number(suffix as u64);
        open.writer.bytes(middle);
        open.last.truncate(prefix);
        open.last.extend_from_slice(&state[prefix..]);
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

/// Reads the states of a batch: `each` gets both numbers and the bytes.
#[inline]
pub(super) fn read_batch(
    batch: &[u8],
    state: &mut Vec<u8>,
    mut each: impl FnMut((u64, u64), &[u8]) -> Result<(), Damaged>,
) -> Result<(), Damaged> {
    let mut reader = Reader::new(batch);
    state.clear();
    while !reader.is_at_end() {
        let extra = (reader.number()?, reader.number()?);
        let (prefix, suffix): (usize, usize) = (reader.small()?, reader.small()?);
        let middle = reader.bytes()?;
        let replaced = state.len().checked_sub(prefix).and_then(|rest| rest.checked_sub(suffix));
        let end = prefix + replaced.ok_or(Damaged)?;
        match middle.len() == end - prefix {
            true => state[prefix..end].copy_from_slice(middle),
            false => drop(state.splice(prefix..end, middle.iter().copied())),
        }
        each(extra, state)?;
    }
    Ok(())
}

/// How many bytes both begin with.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let words = a.chunks_exact(8).zip(b.chunks_exact(8)).take_while(|(a, b)| a == b).count() * 8;
    let bytes = a[words..].iter().zip(&b[words..]);
    words + bytes.take_while(|(a, b)| a == b).count()
}

/// How many bytes both end with.
#[inline]
fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let words = a.rchunks_exact(8).zip(b.rchunks_exact(8)).take_while(|(a, b)| a == b).count() * 8;
    let (a, b) = (&a[..a.len() - words], &b[..b.len() - words]);
    words + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut buffer = Vec::new();
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
