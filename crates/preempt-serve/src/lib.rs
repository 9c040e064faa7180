//! A model's state space in the browser: walk, branch, watch, check.
//!
//! [`Server`] serves one page on the loopback interface. The page shows a state, every step that is
//! possible there and what it would change; a path is a list of choices, so that going back, branching and
//! sharing a link are the same thing. Files that change on disk are read again, and the path is replayed as
//! far as it goes.
//!
//! | module | what |
//! |---|---|
//! | `subject` | what can be walked through: Promela models, Boolean programs, models in Rust, saved executions, the failing executions of C programs and Rust tests |
//! | `walk` | one execution in the making |
//! | `explorer`, `api` | the questions of the page and their answers |
//! | `checks` | checks with progress, on threads of their own |
//! | `files` | what goes into files: executions, and texts that were changed on the page |
//! | `find`, `graph` | searches from the present state: for a condition, and for a picture |
//! | `http`, `guard`, `connections`, `assets` | the server |
//!
//! **Invariants:** only loopback, only with the token of the address, only from the server's own page;
//! the texts of the given files are the only ones that leave the process; texts become text nodes on the
//! page, never markup.
//!
//! ```no_run
//! use preempt_serve::{PromelaFile, Server};
//!
//! let model = PromelaFile::new("models/peterson.pml".into(), Vec::new(), Default::default());
//! let server = Server::bind(vec![Box::new(model)], 0)?;
//! println!("{}", server.url());
//! server.run()?;
//! # Ok::<(), std::io::Error>(())
//! ```

#![forbid(unsafe_code)]

mod api;
mod assets;
mod checks;
mod connections;
mod drawing;
mod explorer;
mod files;
mod find;
mod graph;
mod guard;
mod http;
mod path;
mod search_options;
mod show;
mod subject;
mod walk;

pub use search_options::{About, SearchOption, SearchOptions};
pub use subject::automata;
pub use subject::boolean::BooleanFile;
pub use subject::launched::ProgramFile;
pub use subject::promela::PromelaFile;
pub use subject::recorded::RecordedFile;
pub use subject::typed::RustModel;
pub use subject::{Choice, Evaluate, Mistake, Origin, Question, Recording, Remarks, Subject};

use explorer::Explorer;
use guard::Guard;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often files are looked at for changes.
const LOOK_EVERY: Duration = Duration::from_millis(400);

/// Parsers and translations follow nested input by recursion.
const STACK: usize = 16 << 20;

/// A server that is ready to run.
pub struct Server {
    listener: TcpListener,
    explorer: Arc<Explorer>,
    guard: Guard,
    stop: Arc<AtomicBool>,
}

impl Server {
    /// Reads the models and takes a port of the loopback interface; 0 takes any.
    pub fn bind(models: Vec<Box<dyn Origin>>, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let guard = Guard::new(listener.local_addr()?.port())?;
        let explorer = Arc::new(Explorer::new(models));
        Ok(Server { listener, explorer, guard, stop: Arc::default() })
    }

    /// Where the page is. The address lets in whoever knows it.
    pub fn url(&self) -> String {
        self.guard.url()
    }

    /// Offers options of a search; by default there are none.
    pub fn search_options(self, options: SearchOptions) -> Self {
        self.explorer.offer(options);
        self
    }

    /// Ends [`Server::run`] once it is set.
    pub fn stop(mut self, flag: Arc<AtomicBool>) -> Self {
        self.stop = flag;
        self
    }

    /// Serves until the [flag](Server::stop) is set.
    pub fn run(self) -> io::Result<()> {
        let Server { listener, explorer, guard, stop } = self;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .thread_stack_size(STACK)
            .max_blocking_threads(8)
            .build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let serving = tokio::spawn(http::serve(listener, explorer.clone(), guard));
            while !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(LOOK_EVERY).await;
                let explorer = explorer.clone();
                // A model that cannot be read any more is shown with its mistakes; a panic stays there.
                let _ = tokio::task::spawn_blocking(move || explorer.reload_changed()).await;
            }
            serving.abort();
            explorer.cancel_all();
            Ok::<(), io::Error>(())
        })?;
        runtime.shutdown_timeout(Duration::from_secs(1));
        Ok(())
    }
}

/// A model written in Rust, about to be explored: `explore(LostUpdate).serve()`.
///
/// ```no_run
/// # use preempt_model::{Model, Property};
/// # struct LostUpdate;
/// # impl Model for LostUpdate {
/// #     type State = u8;
/// #     type Action = ();
/// #     fn initial_states(&self) -> Vec<u8> { vec![0] }
/// #     fn actions(&self, _: &u8, actions: &mut Vec<()>) { actions.push(()) }
/// #     fn next(&self, state: &u8, _: &()) -> Option<u8> { state.checked_add(1) }
/// #     fn properties(&self) -> Vec<Property<Self>> { Vec::new() }
/// # }
/// preempt_serve::explore(LostUpdate).name("lost update").serve()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn explore<M: preempt_model::Model + Send + Sync + 'static>(model: M) -> Explore<M> {
    let name = std::any::type_name::<M>().rsplit("::").next().unwrap_or_default().to_string();
    Explore { model, name, port: 0 }
}

/// See [`explore`].
pub struct Explore<M> {
    model: M,
    name: String,
    port: u16,
}

impl<M: preempt_model::Model + Send + Sync + 'static> Explore<M> {
    /// The name to show; by default that of the type.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// A port of the loopback interface; by default any that is free.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// A server that is ready to run.
    pub fn bind(self) -> io::Result<Server> {
        Server::bind(vec![Box::new(RustModel::new(self.name, self.model))], self.port)
    }

    /// Prints the address of the page to standard error, and serves it until the process ends.
    pub fn serve(self) -> io::Result<()> {
        let server = self.bind()?;
        eprintln!("{}", server.url());
        server.run()
    }
}
