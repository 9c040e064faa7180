//! What every execution of an exploration has in common.

/// What every execution of an exploration has in common.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Follow what each thread has read, for loops that yield. Costs time; switched on when a
    /// thread yields for the first time.
    pub watch: bool,
    /// Keep vector clocks. Costs time; switched on when a plain cell is touched, or when a creation may race.
    pub clocks: bool,
    /// Some number is read as plain memory, so that atomic writes may race. Needs clocks.
    pub mixed: bool,
    /// How many timeouts may fire in an execution while some thread could move otherwise.
    pub timeouts: u32,
    /// Some thread takes a lock for reading that it holds for reading: writers that wait matter.
    pub recursive: bool,
    /// Channels carry messages: what is received was sent before, and knows nothing of other messages. Otherwise they are
    /// numbers that are raised and lowered, and what lowers one comes after all that has raised it.
    pub messages: bool,
    /// Receivers of rendezvous channels say so before they wait. Switched on by a sender that does not wait.
    pub offers: bool,
    /// Keep virtual time. Switched on when it is looked at.
    pub time: bool,
    /// Executions end with the main thread, whatever others do.
    pub daemons: bool,
    /// A panic ends its thread only, and is a failure if the thread is never joined. Otherwise it ends the execution.
    pub outlives_panics: bool,
    /// The program frees memory with objects in it: only an execution shows whether one of them is used afterwards,
    /// so every complete graph is executed.
    pub frees: bool,
    /// How often a wait may end for no reason.
    pub spurious: u32,
    /// How many rounds of loops that yield make a livelock, where nothing else can move.
    pub patience: u32,
    /// How often in a row a comparison may fail for no reason.
    pub failures: u32,
    /// Try out loops that yield, to know which of them wait. Samples let them go on instead, and are fair.
    pub tries_loops: bool,
    /// Explore all rounds of loops that give up after many, not only that they do.
    pub all_rounds: bool,
    /// Explore what weak memory orders allow, if the program uses them.
    pub rc11: bool,
    /// The program uses them: keep all writes. Switched on by [`Run::weaken`](crate::Run::weaken).
    pub weak: bool,
    /// It also uses sequentially consistent accesses or fences.
    pub strong: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            watch: false,
            clocks: false,
            mixed: false,
            timeouts: 1,
            recursive: false,
            messages: true,
            offers: false,
            time: false,
            daemons: false,
            outlives_panics: false,
            frees: false,
            spurious: 0,
            patience: 1000,
            failures: 1,
            tries_loops: true,
            all_rounds: false,
            rc11: false,
            weak: false,
            strong: false,
        }
    }
}
