//! What to look for, how, and within which limits: plain data.

use preempt_check::RemoteSearch;
use preempt_check::{Compatibility, Options, Preemptions, Reduction, Search, Storage};
use std::sync::Arc;

/// A request, with defaults that suit most models: all executions, every engine choice left to us.
///
/// Which property is meant depends on the subject and is chosen there. How long the answer may take is
/// up to the [`Control`](crate::Control).
#[derive(Clone, Debug)]
pub struct Request {
    /// Which executions are explored, by the preemptions they need.
    pub preemptions: Preemptions,
    /// The order of exploration.
    pub search: Search,
    /// How visited states are remembered.
    pub storage: Storage,
    /// Which interleavings may be skipped.
    pub reduction: Reduction,
    /// Skip them even where that seems to take longer than it saves.
    pub always_reduce: bool,
    /// Whose rules are followed where they differ.
    pub compatibility: Compatibility,
    /// Many searches with different bounds, orders and hash functions at once, from this seed.
    pub swarm: Option<u64>,
    /// Give the first violation as it was found, do not look for the simplest.
    pub first: bool,
    /// Stop after this many violations; 0 counts all.
    pub max_errors: u64,
    /// Cut executions at this depth.
    pub depth: Option<u64>,
    /// Report violated assertions.
    pub assertions: bool,
    /// Report states without steps that are not valid ends.
    pub deadlocks: bool,
    /// Only executions in which no process that can always move is ignored for ever.
    pub fair: bool,
    /// Memory limit in bytes; by default most of what is available.
    pub memory: Option<u64>,
    /// Worker threads; 0, the default, where nothing depends on their number, see [`Options::threads`].
    pub threads: usize,
    /// Say how a search will be made, by an [event](crate::Event::Plan), before it is.
    pub explain_plan: bool,
    /// Where the searches are made, if not here: on several machines, in files.
    pub elsewhere: Option<Arc<dyn RemoteSearch>>,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            preemptions: Preemptions::Any,
            search: Search::Auto,
            storage: Storage::Auto,
            reduction: Reduction::Full,
            always_reduce: false,
            compatibility: Compatibility::None,
            swarm: None,
            first: false,
            max_errors: 1,
            depth: None,
            assertions: true,
            deadlocks: true,
            fair: false,
            memory: None,
            threads: 0,
            explain_plan: false,
            elsewhere: None,
        }
    }
}

impl Request {
    /// Whether executions are explored by their preemptions.
    pub(crate) fn is_bounded(&self) -> bool {
        self.preemptions != Preemptions::Any
    }

    /// Whether another tool is followed also where it is wrong.
    pub(crate) fn imitates(&self) -> bool {
        self.compatibility != Compatibility::None
    }

    /// The options of a search for what finite executions can show. `observed`: a property looks at the
    /// propositions of the system.
    pub(crate) fn options(&self, property: String, observed: bool) -> Options {
        Options {
            property,
            search: match self.search {
                Search::Auto if self.imitates() => Search::Depth,
                search => search,
            },
            storage: self.storage,
            reduction: self.reduction,
            always_reduce: self.always_reduce,
            preemptions: self.preemptions,
            compatibility: self.compatibility,
            swarm: self.swarm,
            first: self.first,
            observed,
            infinite: false,
            assertions: self.assertions,
            deadlocks: self.deadlocks,
            max_errors: self.max_errors,
            depth: self.depth,
            memory: self.memory.map(|bytes| bytes as usize),
            states: None,
            time: None,
            threads: self.threads,
        }
    }
}
