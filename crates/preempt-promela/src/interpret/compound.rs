//! Runs a `d_step`, which is one step however long it takes.
//!
//! There is no limit on its length. A `d_step` is deterministic: if it comes to the same block with
//! the same state a second time it never ends, and that is reported. Brent's algorithm finds the
//! repetition with one copy of the state. One that counts for very long is given up when the search
//! [is asked to stop](preempt_core::Cancellation).

use super::apply::{Broken, Execution};
use super::enabled::Offer;
use super::evaluate::View;
use super::process::Process;
use crate::ir::{Block, BlockGuard, FaultId};

/// So many rounds pass between two looks at the request to give up.
const ROUNDS_PER_LOOK: u64 = 1 << 10;

/// Looks out for a state that comes back.
#[derive(Default)]
struct Repetition {
    rounds: u64,
    /// The round in which a state was last kept; twice as many rounds later the next one is.
    kept_in: u64,
    kept: Option<(u32, Vec<u8>)>,
}

impl Repetition {
    /// Whether the block was entered with this state before. Says so at the latest when the loop was
    /// passed three times.
    fn is_again(&mut self, at: u32, state: &[u8]) -> bool {
        self.rounds += 1;
        // Most loops are short: they pay nothing.
        if self.rounds < ROUNDS_PER_LOOK {
            return false;
        }
        if self.kept.as_ref().is_some_and(|(block, kept)| *block == at && kept == state) {
            return true;
        }
        if self.rounds >= 2 * self.kept_in {
            self.kept_in = self.rounds;
            let mut memory = self.kept.take().map(|(_, memory)| memory).unwrap_or_default();
            memory.clear();
            memory.extend_from_slice(state);
            self.kept = Some((at, memory));
        }
        false
    }
}

impl<'a> Execution<'a, '_> {
    /// Runs a `d_step`; `offer` is the message that it answers.
    pub(super) fn compound(
        &mut self,
        me: Process,
        blocks: &'a [Block],
        endless: Option<FaultId>,
        mut offer: Option<&Offer>,
    ) -> Result<(), Broken> {
        let mut at = 0;
        let mut repetition = Repetition::default();
        // What has no first statement without a timeout was listed because no process could move.
        let first = blocks.first().map_or(&[][..], |block| &block.options);
        let timeout = self.interpreter.program.uses_timeout
            && offer.is_none()
            && self.view(me).first_option(first, false)?.is_none();
        while let Some(block) = blocks.get(at as usize) {
            if let Some(fault) = endless {
                if repetition.is_again(at, self.state) {
                    return Err(Broken(fault));
                }
                let looks = repetition.rounds.is_multiple_of(ROUNDS_PER_LOOK);
                if looks && self.interpreter.cancellation().requested().is_some() {
                    return Err(Broken(self.interpreter.given_up()));
                }
            }
            let view = View { timeout, ..self.view(me) };
            let chosen = match offer {
                Some(offer) => block.options.iter().find(|o| view.option_answers(o, offer)),
                None => view.first_option(&block.options, false)?,
            };
            let Some(option) = chosen else { return Err(Broken(block.blocked)) };
            match (&option.kind, offer.take()) {
                (BlockGuard::Receive { pattern, misfit, .. }, Some(offer)) => {
                    self.take_offer(me, *pattern, offer, *misfit)?;
                }
                (BlockGuard::Send { channel, sorted, values, misfit }, _) => {
                    if self.view(me).channel(channel)?.is_rendezvous() {
                        return Err(Broken(block.blocked));
                    }
                    self.send(me, channel, *sorted, *values, *misfit)?;
                }
                (BlockGuard::Receive { channel, random, copy, pattern, misfit }, None) => {
                    self.receive(me, channel, (*random, *copy), *pattern, *misfit)?;
                }
                (BlockGuard::Condition(guard), _) => self.look(me, *guard),
                (BlockGuard::Else, _) => {}
            }
            self.ops(me, &option.ops)?;
            match option.next {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds until a loop is found that is entered after `before` rounds and is `length` long.
    fn rounds(before: u64, length: u64) -> u64 {
        let mut repetition = Repetition::default();
        let state =
            |round: u64| if round < before { round } else { before + (round - before) % length };
        (0..).find(|round| repetition.is_again(0, &state(*round).to_le_bytes())).unwrap()
    }

    #[test]
    fn every_loop_is_found_and_nothing_else() {
        for before in [0, 1, 1000, 5000] {
            for length in [1, 2, 7, 1000, 70_000] {
                let found = rounds(before, length);
                assert!(found > before, "{before} {length}");
                assert!(found <= 3 * (before + length) + 4 * ROUNDS_PER_LOOK, "{before} {length}");
            }
        }
        let mut counter = Repetition::default();
        assert!((0..100_000u64).all(|round| !counter.is_again(0, &round.to_le_bytes())));
    }
}
