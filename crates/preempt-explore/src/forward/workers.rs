//! Workers that execute the program while the search goes on elsewhere.

use super::Forward;
use crate::segment_table::lost;
use crate::{Ending, Finding, Halt, Move, Program, Session};
use std::time::Duration;

impl Forward {
    /// Takes in what a worker has found out, and goes on where that was missing.
    pub(super) fn hear<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        patience: Duration,
        cost: u32,
    ) -> Result<(), Halt> {
        let Some(pool) = &mut self.pool else { return Ok(()) };
        let Ok(report) = pool.report(patience) else { return Err(lost(session)) };
        let Some(report) = report else { return Ok(()) };
        if report.ending == Ending::Restart {
            // The rules are to be extended: this thread has to see it for itself.
            let path = &report.path;
            self.segments.run(session, &|out: &mut Vec<Move>| out.extend_from_slice(path))?;
        } else {
            session.statistics.executions += 1;
            if let Err(mismatch) = self.segments.absorb(&report) {
                let ending = Ending::Nondeterminism(mismatch);
                return Err(session.check(ending).unwrap_or(Halt::Failure));
            }
        }
        if let Some(finding) = report.finding {
            let fewer = |f: &Finding| f.cost() > finding.cost();
            if session.statistics.failure.as_ref().is_none_or(fewer) {
                session.statistics.failure = Some(finding);
            }
            if let Some(halt) = session.stops_at(&report.ending) {
                return Err(halt);
            }
        }
        if let Some(halt) = session.limit() {
            return Err(halt);
        }
        if self.segments.contradicted {
            return Err(Halt::Restart);
        }
        for mut waiting in std::mem::take(&mut self.suspended) {
            let thread = self.nodes[waiting.node as usize].step.thread;
            if !self.segments.knows(&waiting.state, thread) {
                self.suspended.push(waiting);
                continue;
            }
            self.requested.remove(&waiting.state.thread(thread).history);
            self.reach_next_operation(session, &mut waiting.state, waiting.node)?;
            self.go_on(session, waiting.state, waiting.node, cost, None)?;
        }
        if self.pool.as_ref().is_some_and(|pool| pool.outstanding == 0)
            && !self.suspended.is_empty()
        {
            return Err(lost(session));
        }
        Ok(())
    }
}
