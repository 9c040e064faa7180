//! What is noted beside states where preemptions are counted.

use crate::run::damaged;
use preempt_core::ProcessId;
use preempt_partitioned::Ran;
use std::io;

const FREE: u8 = 1;

/// What is known of a state, as bytes: flags, and the marks of last movers in order.
pub(crate) struct Record;

fn mark_at(pair: &[u8; 2]) -> u16 {
    u16::from_le_bytes(*pair)
}

fn push_marks(bytes: &mut Vec<u8>, marks: &[u16]) {
    marks.iter().for_each(|mark| bytes.extend_from_slice(&mark.to_le_bytes()));
}

impl Record {
    /// A visit that was not looked at yet.
    pub(crate) fn visited(mark: u16) -> [u8; 3] {
        let [low, high] = mark.to_le_bytes();
        [0, low, high]
    }

    pub(crate) fn encode(ran: &Ran) -> Vec<u8> {
        let mut marks = ran.movers.clone();
        marks.sort_unstable();
        marks.dedup();
        let mut bytes = vec![u8::from(ran.is_free) * FREE];
        push_marks(&mut bytes, &marks);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> io::Result<Ran> {
        let (flags, marks) = bytes.split_first().ok_or_else(damaged)?;
        let (pairs, rest) = marks.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(damaged());
        }
        Ok(Ran { movers: pairs.iter().map(mark_at).collect(), is_free: flags & FREE != 0 })
    }
}

/// Both records of a state together.
pub(crate) fn union(record: &mut Vec<u8>, other: &[u8]) {
    let Some((flags, more)) = other.split_first() else { return };
    let Some(own) = record.first_mut() else { return };
    *own |= flags;
    for pair in more.as_chunks::<2>().0 {
        if !record[1..].as_chunks::<2>().0.contains(pair) {
            record.extend_from_slice(pair);
        }
    }
}

/// Of states that wait: any last mover will do.
pub(crate) fn first_mark(_: &mut Vec<u8>, _: &[u8]) {}

/// Visits that wait to be expanded: their last movers, and the processes that were run from the state before.
pub(crate) struct Waiting {
    pub(crate) marks: Vec<u16>,
    pub(crate) ran: Ran,
}

impl Waiting {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = (self.marks.len() as u16).to_le_bytes().to_vec();
        push_marks(&mut bytes, &self.marks);
        bytes.extend_from_slice(&Record::encode(&self.ran));
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> io::Result<Self> {
        let (count, rest) = bytes.split_first_chunk::<2>().ok_or_else(damaged)?;
        let (marks, record) =
            rest.split_at_checked(2 * usize::from(mark_at(count))).ok_or_else(damaged)?;
        let marks = marks.as_chunks::<2>().0.iter().map(mark_at).collect();
        Ok(Waiting { marks, ran: Record::decode(record)? })
    }

    /// The mark beside a state from which a process waits for the next bucket.
    pub(crate) fn mark(note: &[u8]) -> io::Result<u16> {
        let pair: &[u8; 2] = note.try_into().map_err(|_| damaged())?;
        Ok(mark_at(pair))
    }

    /// The last mover, by the mark.
    pub(crate) fn mover(mark: u16) -> Option<ProcessId> {
        mark.checked_sub(1).map(ProcessId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_written_and_united() {
        let ran = |movers: &[u16], is_free| Ran { movers: movers.to_vec(), is_free };
        let mut record = Record::encode(&ran(&[7, 300, 7], false));
        assert_eq!(Record::decode(&record).ok(), Some(ran(&[7, 300], false)));
        union(&mut record, &Record::visited(9));
        union(&mut record, &Record::encode(&ran(&[300], true)));
        assert_eq!(Record::decode(&record).ok(), Some(ran(&[7, 300, 9], true)));
        let waiting = Waiting { marks: vec![0, 65_535], ran: ran(&[3], false) };
        let bytes = waiting.encode();
        let read = Waiting::decode(&bytes).expect("it is whole");
        assert_eq!((read.marks, read.ran), (waiting.marks, waiting.ran));
        for end in 0..5 {
            assert!(Waiting::decode(&bytes[..end]).is_err());
        }
        assert!(Record::decode(&bytes[..2]).is_err() && Record::decode(&[]).is_err());
    }
}
