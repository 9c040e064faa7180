//! preempt's searches on many machines.
//!
//! Every process runs the same command on the same model. States belong to the worker that their hash names; levels
//! and buckets of preemptions are timestamps of [timely dataflow](https://docs.rs/timely), so that the end of a level, of a bound and
//! of the search is timely's progress and not a protocol of ours. Process 0 reports; the others know the answer as
//! well and end with the same exit code.
//!
//! 1. `hosts.rs`: where processes listen; `connect.rs`: how they meet; `handshake.rs`: how they prove that they belong
//!    together; `stream.rs`: connections that say when they are lost.
//! 2. `port.rs` and `mailbox.rs`: timely, as a worker sees it.
//! 3. `workers.rs`: the threads; `team.rs`: a pass over all states; `job.rs`: a search made of passes; what is done with states is
//!    [`preempt_partitioned`].
//!
//! Invariant: nothing is read from a connection before its other end has proved that it knows the secret, and every
//! process makes the same calls in the same order.

mod connect;
mod handshake;
mod hosts;
mod job;
mod mailbox;
mod port;
mod refused;
mod saving;
mod stream;
mod team;
mod workers;

pub use hosts::Hosts;
pub use refused::Refused;
pub use saving::Plan;

use connect::Mesh;
use handshake::Terms;
use preempt_check::search::nested::NestedOptions;
use preempt_check::{Budget, Finding, Options, RemoteSearch};
use preempt_core::{Stop, System, ViolationKind};
use preempt_partitioned::{
    Cycles, Outcome, Owner, Partition, PartitionResult, finite_options, note_reduction, partition,
};
use saving::Saving;
use sha2::{Digest, Sha256};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use stream::{Line, Lines};
use team::Team;
use timely::communication::allocator::zero_copy::initialize::{
    CommsGuard, initialize_networking_from_sockets,
};
use timely::communication::allocator::{AllocatorBuilder, ProcessBuilder};
use timely::worker::Worker;

/// How a process takes part.
#[derive(Clone)]
pub struct Membership {
    /// Where all processes listen.
    pub hosts: Hosts,
    /// Which of them this is.
    pub process: usize,
    /// What all of them know.
    pub secret: Vec<u8>,
    /// What all of them check: the model and the options, in any form.
    pub job: Vec<u8>,
    /// Workers per process.
    pub threads: usize,
    /// How many of the processes share this machine's memory.
    pub on_this_machine: usize,
    /// How long to wait for the others.
    pub patience: Duration,
    /// Where searches are written down, if they are.
    pub checkpoints: Option<Plan>,
    /// Told at once about each connection that was refused.
    pub log: fn(&str),
}

/// A process of a search on many machines, connected with all others.
pub struct Cluster {
    membership: Membership,
    listener: TcpListener,
    job: [u8; 32],
    /// How many searches were made.
    searches: AtomicU64,
    /// The connections for the next search, once they are there.
    ready: Mutex<Option<Vec<Option<TcpStream>>>>,
    notes: Mutex<Vec<String>>,
}

impl std::fmt::Debug for Cluster {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("hosts", &self.membership.hosts)
            .field("process", &self.membership.process)
            .finish_non_exhaustive()
    }
}

/// A secret is guessed less easily if it is not shorter.
pub const SHORTEST_SECRET: usize = 8;

/// A secret that cannot be guessed, in letters and digits.
pub fn random_secret() -> Result<String, Refused> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Refused(format!("no random numbers are available: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Cluster {
    /// Meets the other processes. `give_up` says why not to wait any longer.
    pub fn join(
        membership: Membership,
        give_up: &dyn Fn() -> Option<String>,
    ) -> Result<Self, Refused> {
        let processes = membership.hosts.len();
        if membership.process >= processes {
            return Err(Refused(format!(
                "--process {} does not exist: the hosts file lists processes 0 to {}",
                membership.process,
                processes - 1
            )));
        }
        if membership.secret.len() < SHORTEST_SECRET {
            return Err(Refused(format!(
                "the secret is too short: it needs {SHORTEST_SECRET} bytes or more"
            )));
        }
        let listener = connect::listen(&membership.hosts, membership.process)?;
        let job = Sha256::digest(&membership.job).into();
        let cluster = Cluster {
            membership,
            listener,
            job,
            searches: AtomicU64::new(0),
            ready: Mutex::new(None),
            notes: Mutex::default(),
        };
        let streams = cluster.connect(give_up)?;
        *cluster.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(streams);
        Ok(cluster)
    }

    /// Whether this process reports.
    pub fn is_first(&self) -> bool {
        self.membership.process == 0
    }

    /// Connections with all others for the next search.
    fn connect(
        &self,
        give_up: &dyn Fn() -> Option<String>,
    ) -> Result<Vec<Option<TcpStream>>, Refused> {
        let Membership { hosts, process, secret, threads, patience, log, .. } = &self.membership;
        let number = self.searches.load(Ordering::SeqCst);
        let terms = Terms { secret, job: self.job, number, threads: *threads };
        let mut refusals = Vec::new();
        let mesh = Mesh {
            hosts,
            me: *process,
            listener: &self.listener,
            terms: &terms,
            patience: *patience,
            give_up,
        };
        let streams = connect::connect(&mesh, *log, &mut refusals);
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.extend(refusals.into_iter().map(|why| format!("a connection was refused: {why}")));
        streams
    }

    /// Runs a search on all workers of all processes.
    fn search(&self, work: &Work<'_>, budget: &mut Budget<'_>) -> (Outcome, Vec<String>) {
        let plan = self.membership.checkpoints.as_ref();
        if let Some(found) = plan.and_then(|plan| plan.finished(&self.searches)) {
            return (found, vec![preempt_disk::FINISHED_BEFORE.into()]);
        }
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let streams = match ready.map_or_else(|| self.connect(&|| None), Ok) {
            Ok(streams) => streams,
            Err(Refused(why)) => return (lost(), vec![why]),
        };
        let search = self.searches.fetch_add(1, Ordering::SeqCst);
        let lines = Arc::new(Lines::default());
        let (builders, guard) = match self.network(streams, &lines) {
            Ok(network) => network,
            Err(error) => return (lost(), vec![format!("the network cannot be used: {error}")]),
        };
        let Membership { process, threads, hosts, on_this_machine, .. } = &self.membership;
        let memory = budget.memory_limit() / on_this_machine.max(&1) / threads.max(&1);
        let of = hosts.len() * threads;
        let mut budgets: Vec<Option<Budget<'_>>> =
            (1..*threads).map(|_| Some(budget.part(memory))).collect();
        budgets.insert(0, Some(budget.with_memory(memory)));
        let budgets = Mutex::new(budgets);
        let results = Mutex::new(Vec::new());
        let body = |worker: &mut Worker| {
            let owner = Owner { me: worker.index(), of };
            let own = {
                let mut budgets = budgets.lock().unwrap_or_else(PoisonError::into_inner);
                budgets.get_mut(owner.me - process * threads).and_then(Option::take)
            };
            let mut budget = own.unwrap_or_else(Budget::unlimited);
            let mut team = Team::new(worker, lines.clone(), work.options.max_errors);
            let saving = plan.map(|plan| Saving::new(plan, owner.me, search, &self.notes));
            let outcome = work.run(&mut team, owner, &mut budget, saving);
            team.close();
            results.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
        };
        let complete = workers::run(builders, &lines, *process, &body);
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !complete {
            results.push(lost());
        }
        match lines.lost() {
            // Its threads wait for what will never come.
            Some(_) => std::mem::forget(guard),
            None => drop(guard),
        }
        let found = together(results);
        let mut notes = self.network_notes(&lines);
        if let (Some(plan), true) = (plan, *process == 0)
            && let Err(error) = plan.finish(search, &found)
        {
            notes.push(format!("what was found could not be written: {error}"));
        }
        notes.append(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        (found, notes)
    }

    /// What workers are made of that send through these connections, and what ends the threads of the network.
    fn network(
        &self,
        streams: Vec<Option<TcpStream>>,
        lines: &Arc<Lines>,
    ) -> std::io::Result<(Vec<AllocatorBuilder>, CommsGuard)> {
        let Membership { process, threads, .. } = &self.membership;
        let line = |(peer, stream): (usize, Option<TcpStream>)| {
            stream.map(|stream| Line::new(stream, peer, lines.clone()))
        };
        let sockets = streams.into_iter().enumerate().map(line).collect();
        let hooks = || timely::communication::Hooks::default();
        let local = ProcessBuilder::new_typed_vector(*threads, hooks().refill, hooks().spill);
        let (builders, guard) =
            initialize_networking_from_sockets(local, sockets, *process, *threads, hooks())?;
        Ok((builders.into_iter().map(AllocatorBuilder::Tcp).collect(), guard))
    }

    /// Which process was lost, and how much was sent.
    fn network_notes(&self, lines: &Lines) -> Vec<String> {
        let Membership { process, threads, hosts, .. } = &self.membership;
        let mut notes = Vec::new();
        if let Some(peer) = lines.lost() {
            notes.push(format!("process {peer} ({}) was lost", hosts.line(peer)));
        }
        let bytes = lines.sent.load(Ordering::Relaxed) + lines.received.load(Ordering::Relaxed);
        if *process == 0 && hosts.len() > 1 {
            notes.push(format!(
                "{} processes of {}; process 0 sent and received {} KiB",
                hosts.len(),
                if *threads == 1 { "one thread".into() } else { format!("{threads} threads") },
                bytes >> 10
            ));
        }
        notes
    }
}

/// Nothing is known.
fn lost() -> Outcome {
    let all = PartitionResult { stop: Some(Stop::PeerLost), ..PartitionResult::default() };
    Outcome { all, steps: None, cycle_start: None }
}

/// What the workers of this process found: all the same, unless a process was lost.
fn together(results: Vec<Outcome>) -> Outcome {
    if results.iter().any(|outcome| outcome.all.stop == Some(Stop::PeerLost)) {
        let mut all = lost();
        results.iter().for_each(|outcome| all.all.add(&outcome.all));
        return all;
    }
    results.into_iter().next().unwrap_or_else(lost)
}

/// What is searched, and for what.
struct Work<'a> {
    system: &'a dyn System,
    options: &'a Options,
    /// For infinite executions, of this kind.
    infinite: Option<ViolationKind>,
}

impl Work<'_> {
    /// The part of one worker. If a process is lost, what is known so far.
    fn run(
        &self,
        team: &mut Team<'_>,
        owner: Owner,
        budget: &mut Budget<'_>,
        mut saving: Option<Saving<'_>>,
    ) -> Outcome {
        let Work { system, options, infinite } = *self;
        let result = match infinite {
            None => {
                let mut part = partition(system, options, owner, budget);
                begin(&mut *part, saving.as_ref());
                let result = job::safety(team, &mut *part, budget, saving.as_mut());
                result.map_err(|_| part.share())
            }
            Some(kind) => {
                let mut part = Cycles::new(system, options, owner, budget);
                begin(&mut part, saving.as_ref());
                let result = job::cycles(team, &mut part, (system, kind), budget, saving.as_mut());
                result.map_err(|_| part.share())
            }
        };
        saving.into_iter().for_each(Saving::end);
        result.unwrap_or_else(|share| {
            let progress = team.progress();
            // What the others had, as far as they have said.
            let mut all = PartitionResult { stop: Some(Stop::PeerLost), site: None, ..share };
            if owner.me == 0 {
                all.states = progress.states.max(all.states);
                all.matched = progress.transitions.saturating_sub(all.states);
            }
            Outcome { all, steps: None, cycle_start: None }
        })
    }
}

/// Takes the initial state, or what is this worker's of a checkpoint.
fn begin(part: &mut dyn Partition, saving: Option<&Saving<'_>>) {
    match saving {
        None => part.begin(),
        Some(saving) => {
            if let Err(broken) = saving.begin(part) {
                saving.complain(broken);
                part.stop(Some(Stop::Disk));
            }
        }
    }
}

impl RemoteSearch for Cluster {
    fn safety(&self, system: &dyn System, options: &Options, budget: &mut Budget<'_>) -> Finding {
        let (outcome, notes) = self.search(&Work { system, options, infinite: None }, budget);
        let mut finding = outcome.finding(system, options, ViolationKind::AcceptanceCycle);
        finding.statistics.seconds = budget.elapsed().as_secs_f64();
        note_reduction(system, options, budget, &mut finding);
        finding.notes.extend(notes);
        finding
    }

    fn cycles(
        &self,
        system: &dyn System,
        nested: NestedOptions,
        budget: &mut Budget<'_>,
    ) -> Finding {
        let options = finite_options(&nested);
        let work = Work { system, options: &options, infinite: Some(nested.kind) };
        let (outcome, notes) = self.search(&work, budget);
        let mut finding = outcome.finding(system, &options, nested.kind);
        finding.statistics.seconds = budget.elapsed().as_secs_f64();
        finding.notes.extend(notes);
        finding
    }

    fn simplifies(&self) -> bool {
        self.is_first()
    }
}
