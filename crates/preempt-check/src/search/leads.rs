//! Lists of [`Lead`]s, with what does not fit into one beside them.
//!
//! Where its successor is, a lead tells by its range in a second list, in which the successors of all leads
//! lie one behind the other.

use preempt_core::{Lead, Leads, Outcome, ProcessId, Step};

/// Leads to the successors of several states, one behind the other.
#[derive(Default, Debug)]
pub(crate) struct LeadList {
    /// Systems write their leads here.
    pub(crate) leads: Leads,
    /// What does not fit into a lead, by its place in the list.
    odd: Vec<(usize, Step, Outcome)>,
}

impl LeadList {
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.leads.list.len()
    }

    /// The leads from `start` on.
    #[inline(always)]
    pub(crate) fn from(&self, start: usize) -> &[Lead] {
        &self.leads.list[start..]
    }

    /// One of them, which must be there.
    #[inline(always)]
    pub(crate) fn lead(&self, at: usize) -> &Lead {
        &self.leads.list[at]
    }

    /// Whether a lead from `start` on leads beyond steps of an indivisible sequence.
    #[inline(always)]
    pub(crate) fn follows_sequences(&self, start: usize) -> bool {
        self.leads.list[start..].iter().any(|lead| lead.inner_steps() > 0)
    }

    /// The step to a successor, how it went, and whether it leads into an indivisible sequence.
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> (Step, Outcome, bool) {
        let lead = &self.leads.list[at];
        let is_transient = lead.result & Lead::TRANSIENT != 0;
        if !self.odd.is_empty()
            && let Ok(odd) = self.odd.binary_search_by_key(&at, |(at, ..)| *at)
        {
            return (self.odd[odd].1, self.odd[odd].2, is_transient);
        }
        (lead.step(), lead.outcome(), is_transient)
    }

    /// Adds a lead by this step, which went like this, whether it says so or not.
    pub(crate) fn push(&mut self, lead: Lead, step: Step, outcome: Outcome) {
        if (lead.step(), lead.outcome()) != (step, outcome) {
            self.odd.push((self.len(), step, outcome));
        }
        self.leads.list.push(lead);
    }

    /// Memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.len() * size_of::<Lead>() + self.odd.len() * size_of::<(usize, Step, Outcome)>()
    }

    /// Forgets the leads from `start` on.
    #[inline(always)]
    pub(crate) fn truncate<T>(&mut self, start: usize, beside: &mut Vec<T>) {
        if let Some(lead) = self.leads.list.get(start) {
            beside.truncate(lead.start as usize);
            self.leads.list.truncate(start);
        }
        while self.odd.last().is_some_and(|(at, ..)| *at >= start) {
            self.odd.pop();
        }
    }

    /// Forgets the leads before `start`.
    pub(crate) fn forget_before<T>(&mut self, start: usize, beside: &mut Vec<T>) {
        let first = self.leads.list.get(start).map_or(beside.len(), |lead| lead.start as usize);
        self.leads.list.drain(..start);
        beside.drain(..first);
        self.leads.list.iter_mut().for_each(|lead| lead.start -= first as u32);
        self.odd.retain(|(at, ..)| *at >= start);
        self.odd.iter_mut().for_each(|(at, ..)| *at -= start);
    }

    /// Of the leads from `start` on, keeps those by steps of some processes, and closes the gaps that the
    /// others leave.
    pub(crate) fn retain<T: Copy>(
        &mut self,
        start: usize,
        keep: impl Fn(ProcessId) -> bool,
        beside: &mut Vec<T>,
    ) {
        let Some(first) = self.leads.list.get(start) else { return };
        let (mut kept, mut end) = (start, first.start as usize);
        let odd = self.odd.partition_point(|(at, ..)| *at < start);
        let mut kept_odd = odd;
        for at in start..self.len() {
            let lead = self.leads.list[at];
            if !keep(lead.step().process) {
                continue;
            }
            if let Some(found) = self.odd[odd..].iter().position(|(odd, ..)| *odd == at) {
                let (_, step, outcome) = self.odd[odd + found];
                self.odd[kept_odd] = (kept, step, outcome);
                kept_odd += 1;
            }
            let extent = lead.extent();
            beside.copy_within(extent.clone(), end);
            self.leads.list[kept] = Lead { start: end as u32, ..lead };
            kept += 1;
            end += extent.len();
        }
        self.odd.truncate(kept_odd);
        self.leads.list.truncate(kept);
        beside.truncate(end);
    }
}
