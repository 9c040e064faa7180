//! The models of one server: each with its newest version, the walks through it, and its watches.
//!
//! **Invariant:** walks and compiled expressions belong to the current version of their model; a reload
//! drops them. The version before it is kept, so that a path through it can be carried over.

use crate::drawing::{self, Picture};
use crate::path;
use crate::search_options::SearchOptions;
use crate::subject::{Evaluate, Mistake, Origin, Subject};
use crate::walk::{OutOfTime, Walk};
use preempt_core::System;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::broadcast;

/// What a request may take to follow a path.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// How many walks of a model are remembered: those that are being compared, and a few more.
const MOST_WALKS: usize = 4;

/// Steps that are quicker taken again than kept.
const NEAR: usize = 64;

/// How many results of checks of a model are remembered.
const MOST_RESULTS: usize = 40;

/// How many compiled expressions of a model are remembered.
const MOST_EXPRESSIONS: usize = 64;

/// A request that cannot be answered.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// As HTTP has it.
    pub(crate) status: u16,
    /// One sentence.
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Refusal { status: 400, message: message.into() }
    }
}

impl From<OutOfTime> for Refusal {
    fn from(_: OutOfTime) -> Self {
        Refusal { status: 503, message: "the path takes too long to follow".into() }
    }
}

/// A path as a request names it: some steps of a walk that is known here, and more. A long path is sent
/// once, and then called by the name of its walk.
#[derive(Deserialize, Default)]
pub(crate) struct Route {
    /// The choices, see [`path`]; those behind the steps of `onto` if that is given.
    #[serde(default)]
    pub(crate) path: String,
    onto: Option<Onto>,
}

#[derive(Deserialize, Clone, Copy)]
struct Onto {
    /// The name of a walk.
    trail: u64,
    /// How many of its steps.
    keep: usize,
}

impl Route {
    /// A path in full.
    pub(crate) fn whole(path: &str) -> Self {
        Route { path: path.into(), onto: None }
    }

    /// How many steps are named by their walk: answers give paths from there on.
    pub(crate) fn kept(&self) -> usize {
        self.onto.map_or(0, |onto| onto.keep)
    }
}

/// See the module's text.
pub(crate) struct Explorer {
    models: Vec<Slot>,
    /// Events for open pages: changes of files, progress of checks.
    events: broadcast::Sender<String>,
    running: Mutex<HashMap<u64, Running>>,
    next_check: AtomicU64,
    /// Graphs in the making, by the numbers that pages gave them.
    graphs: Mutex<HashMap<u64, Arc<AtomicBool>>>,
    options: OnceLock<SearchOptions>,
}

/// A check under way.
struct Running {
    model: usize,
    /// What was asked, for the page.
    asked: Value,
    /// Ends it when it is set.
    flag: Arc<AtomicBool>,
}

struct Slot {
    origin: Box<dyn Origin>,
    loaded: Mutex<Loaded>,
}

/// A model as it was last read.
pub(crate) struct Loaded {
    pub(crate) version: u64,
    stamp: u64,
    pub(crate) subject: Result<Arc<dyn Subject>, Vec<Mistake>>,
    /// The last version that could be read, before this one.
    previous: Option<(u64, Arc<dyn Subject>)>,
    walks: Vec<Walk>,
    expressions: Vec<(String, Result<Evaluate, String>)>,
    /// What the page keeps here, so that it survives being closed.
    pub(crate) bookmarks: Value,
    /// What checks have found, the newest last.
    pub(crate) results: Vec<Value>,
    /// The text that was changed on the page, and not saved.
    pub(crate) draft: Option<String>,
    /// How the user draws a state.
    pub(crate) picture: Option<Arc<Picture>>,
}

impl Explorer {
    /// Reads all models. One that cannot be read is shown with its mistakes.
    pub(crate) fn new(origins: Vec<Box<dyn Origin>>) -> Self {
        let slot = |origin: Box<dyn Origin>| {
            let subject = origin.load();
            let loaded = Loaded {
                version: 1,
                stamp: stamp(&*origin),
                subject,
                previous: None,
                walks: Vec::new(),
                expressions: Vec::new(),
                bookmarks: json!([]),
                results: Vec::new(),
                draft: None,
                picture: Picture::beside(origin.file()).map(Arc::new),
            };
            Slot { origin, loaded: Mutex::new(loaded) }
        };
        Explorer {
            models: origins.into_iter().map(slot).collect(),
            events: broadcast::channel(256).0,
            running: Mutex::default(),
            next_check: AtomicU64::new(1),
            graphs: Mutex::default(),
            options: OnceLock::new(),
        }
    }

    /// Offers options of a search. The first to be offered count.
    pub(crate) fn offer(&self, options: SearchOptions) {
        let _ = self.options.set(options);
    }

    /// The options of a search that are offered.
    pub(crate) fn options(&self) -> Option<&SearchOptions> {
        self.options.get()
    }

    /// The events for open pages from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<String> {
        self.events.subscribe()
    }

    /// Tells all open pages.
    pub(crate) fn notify(&self, event: &Value) {
        // The page may have been closed.
        let _ = self.events.send(event.to_string());
    }

    /// The names of the models.
    pub(crate) fn names(&self) -> Vec<String> {
        self.models.iter().map(|slot| slot.origin.name()).collect()
    }

    /// A model by its number.
    pub(crate) fn model(&self, number: usize) -> Result<MutexGuard<'_, Loaded>, Refusal> {
        let slot = self.models.get(number);
        let slot = slot.ok_or(Refusal { status: 404, message: "there is no such model".into() })?;
        Ok(slot.loaded.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads again what changed on disk, and tells the pages.
    pub(crate) fn reload_changed(&self) {
        for (number, slot) in self.models.iter().enumerate() {
            let stamp = stamp(&*slot.origin);
            if stamp == self.model(number).map_or(stamp, |loaded| loaded.stamp) {
                continue;
            }
            if self.model(number).is_ok_and(|loaded| loaded.draft.is_some()) {
                // What is written on the page stays; it is for the user to say which text counts.
                if let Ok(mut loaded) = self.model(number) {
                    loaded.stamp = stamp;
                }
                self.notify(&json!({ "event": "disk", "model": number }));
                continue;
            }
            self.replace(number, None);
        }
    }

    /// Reads a model again, from a text or from its file, and tells the pages.
    fn replace(&self, number: usize, draft: Option<String>) {
        let Some(slot) = self.models.get(number) else { return };
        let subject = match &draft {
            Some(text) => slot.origin.load_text(text),
            None => slot.origin.load(),
        };
        let Ok(mut loaded) = self.model(number) else { return };
        // The files that it includes may be others now.
        loaded.stamp = stamp(&*slot.origin);
        loaded.picture = Picture::beside(slot.origin.file()).map(Arc::new);
        if let Ok(old) = &loaded.subject {
            loaded.previous = Some((loaded.version, old.clone()));
        }
        loaded.version += 1;
        loaded.subject = subject;
        loaded.draft = draft;
        loaded.walks.clear();
        loaded.expressions.clear();
        let version = loaded.version;
        drop(loaded);
        self.notify(&json!({ "event": "changed", "model": number, "version": version }));
    }

    /// The file, if its text can be changed on the page.
    pub(crate) fn file(&self, number: usize) -> Option<&Path> {
        self.models.get(number)?.origin.file()
    }

    /// Takes a text in place of the file's, which stays as it is; without one, the file counts again.
    pub(crate) fn edit(&self, number: usize, draft: Option<String>) -> Result<(), Refusal> {
        self.file(number).ok_or_else(|| Refusal::bad("the text cannot be changed here"))?;
        self.replace(number, draft);
        Ok(())
    }

    /// A number for a new check, and the flag that ends it.
    pub(crate) fn begin_check(&self, model: usize, asked: &Value) -> (u64, Arc<AtomicBool>) {
        let id = self.next_check.fetch_add(1, Ordering::Relaxed);
        let flag = Arc::new(AtomicBool::new(false));
        let running = Running { model, asked: asked.clone(), flag: flag.clone() };
        self.checks().insert(id, running);
        (id, flag)
    }

    /// The check is over.
    pub(crate) fn end_check(&self, id: u64) {
        self.checks().remove(&id);
    }

    /// Keeps what a check has found for pages that are opened later. Walks of programs are begun anew: there may be one
    /// execution more to go along.
    pub(crate) fn keep(&self, model: usize, result: Value, is_program: bool) {
        let Ok(mut loaded) = self.model(model) else { return };
        if is_program {
            loaded.walks.clear();
        }
        loaded.results.push(result);
        let excess = loaded.results.len().saturating_sub(MOST_RESULTS);
        loaded.results.drain(..excess);
    }

    /// The checks of a model that are under way: number and question of each.
    pub(crate) fn under_way(&self, model: usize) -> Value {
        let checks = self.checks();
        let mut here: Vec<_> = checks.iter().filter(|(_, known)| known.model == model).collect();
        here.sort_by_key(|(id, _)| **id);
        here.iter().map(|(id, known)| json!({ "check": id, "asked": known.asked })).collect()
    }

    /// How many checks are running.
    pub(crate) fn running(&self) -> usize {
        self.checks().len()
    }

    /// Asks a check to end; false if it is over already.
    pub(crate) fn cancel(&self, id: u64) -> bool {
        let flag = self.checks().get(&id).map(|known| known.flag.clone());
        flag.inspect(|flag| flag.store(true, Ordering::Relaxed)).is_some()
    }

    /// The flag that ends a graph in the making.
    pub(crate) fn begin_graph(&self, number: u64) -> Arc<AtomicBool> {
        self.graphs().entry(number).or_default().clone()
    }

    /// A graph is made.
    pub(crate) fn end_graph(&self, number: u64) {
        self.graphs().remove(&number);
    }

    /// Asks a graph to end with what there is; false if it is made already.
    pub(crate) fn cancel_graph(&self, number: u64) -> bool {
        let flag = self.graphs().get(&number).cloned();
        flag.inspect(|flag| flag.store(true, Ordering::Relaxed)).is_some()
    }

    fn graphs(&self) -> MutexGuard<'_, HashMap<u64, Arc<AtomicBool>>> {
        self.graphs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks all checks and graphs to end.
    pub(crate) fn cancel_all(&self) {
        self.graphs().values().for_each(|flag| flag.store(true, Ordering::Relaxed));
        self.checks().values().for_each(|known| known.flag.store(true, Ordering::Relaxed));
    }

    fn checks(&self) -> MutexGuard<'_, HashMap<u64, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loaded {
    /// The model, if it could be read.
    pub(crate) fn subject(&self) -> Result<Arc<dyn Subject>, Refusal> {
        self.subject.clone().map_err(|mistakes| {
            let first = mistakes.first().map_or("it cannot be read", |m| m.message.as_str());
            Refusal { status: 409, message: format!("the model has errors: {first}") }
        })
    }

    /// Goes along a path, and calls `visit` at its end, or as far as it can be followed.
    pub(crate) fn at<R>(
        &mut self,
        route: &Route,
        visit: impl FnOnce(&dyn System, &mut Walk, usize) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let more = path::read(&route.path).ok_or_else(|| Refusal::bad("this is not a path"))?;
        let subject = self.subject()?;
        let (best, keep) = self.beginning(route, &more)?;
        // A walk that goes on much further stays as it is, for whoever is there.
        let common = best.map_or(0, |at| self.walks[at].common(keep, &more));
        let near = best.filter(|at| common + NEAR >= self.walks[*at].len());
        let mut walk = near.map(|at| self.walks.remove(at));
        let (mut visit, mut result) = (Some(visit), None);
        subject.explore(&mut |system| {
            let Some(visit) = visit.take() else { return };
            let walk = walk.get_or_insert_with(|| match best.filter(|_| near.is_none()) {
                Some(at) => self.walks[at].copy(system, common),
                None => Walk::new(system),
            });
            let far = walk.go(system, keep, &more, Instant::now() + PATIENCE);
            result = Some(far.map_err(Refusal::from).and_then(|far| visit(system, walk, far)));
        });
        // The one used last is the last one.
        self.walks.extend(walk);
        let excess = self.walks.len().saturating_sub(MOST_WALKS);
        self.walks.drain(..excess);
        result.unwrap_or_else(|| Err(Refusal::bad("the model cannot be executed")))
    }

    /// The walk to begin with, and how many of its steps a route names by it.
    fn beginning(&self, route: &Route, more: &[u32]) -> Result<(Option<usize>, usize), Refusal> {
        let Some(onto) = route.onto else {
            let best = (0..self.walks.len()).max_by_key(|at| self.walks[*at].common(0, more));
            return Ok((best, 0));
        };
        let gone = Refusal { status: 410, message: "this trail is not known any more".into() };
        let at = self.walks.iter().position(|walk| walk.is_trail(onto.trail)).ok_or(gone)?;
        if onto.keep > self.walks[at].len() {
            return Err(Refusal::bad("the trail is not that long"));
        }
        Ok((Some(at), onto.keep))
    }

    /// Expressions, prepared once.
    pub(crate) fn compiled(&mut self, texts: &[String]) -> Vec<Result<Evaluate, String>> {
        let subject = match self.subject() {
            Ok(subject) => subject,
            Err(refusal) => return texts.iter().map(|_| Err(refusal.message.clone())).collect(),
        };
        let mut compiled = Vec::with_capacity(texts.len());
        for text in texts {
            if let Some((_, known)) = self.expressions.iter().find(|(known, _)| known == text) {
                compiled.push(known.clone());
                continue;
            }
            let new = subject.compile(text);
            if self.expressions.len() >= MOST_EXPRESSIONS {
                drop(self.expressions.remove(0));
            }
            self.expressions.push((text.clone(), new.clone()));
            compiled.push(new);
        }
        compiled
    }

    /// Carries a path over from an earlier version: the same processes take the same statements, as far
    /// as that goes. Says how many steps of how many.
    pub(crate) fn carry_over(&mut self, text: &str, version: u64) -> Result<Carried, Refusal> {
        let choices = path::read(text).ok_or_else(|| Refusal::bad("this is not a path"))?;
        let old = match &self.previous {
            _ if version == self.version => Some(self.subject()?),
            Some((known, subject)) if *known == version => Some(subject.clone()),
            _ => None,
        };
        let Some(old) = old else {
            return Ok(Carried { path: String::new(), kept: 0, of: choices.len() });
        };
        let mut signatures_before = Vec::new();
        let mut failed = None;
        old.explore(&mut |system| {
            let mut walk = Walk::new(system);
            match walk.go(system, 0, &choices, Instant::now() + PATIENCE) {
                Ok(_) => signatures_before = signatures(system, &walk),
                Err(OutOfTime) => failed = Some(OutOfTime),
            }
        });
        if let Some(out_of_time) = failed {
            return Err(out_of_time.into());
        }
        let of = choices.len();
        self.at(&Route::default(), |system, walk, _| {
            let kept = follow(system, walk, &signatures_before);
            Ok(Carried { path: path::write(walk.choices()), kept, of })
        })
    }
}

/// Something that differs after a change on disk, of the model or of its drawing.
fn stamp(origin: &dyn Origin) -> u64 {
    origin.stamp() ^ drawing::stamp(origin.file())
}

/// A path carried over to another version of its model.
pub(crate) struct Carried {
    pub(crate) path: String,
    pub(crate) kept: usize,
    pub(crate) of: usize,
}

/// What a step is recognised by in another version: the process that takes it, what it says, and which of several
/// such steps it is.
pub(crate) struct Signature {
    pub(crate) pid: usize,
    pub(crate) partner: Option<usize>,
    pub(crate) text: String,
    pub(crate) nth: usize,
}

fn signatures(system: &dyn System, walk: &Walk) -> Vec<Signature> {
    let mut list = Vec::with_capacity(walk.len());
    let mut enabled = preempt_core::Enabled::new();
    walk.states(system, 0..walk.len(), &mut |at, state| {
        let step = walk.steps()[at];
        let text = system.describe(state, step).2;
        enabled.clear();
        system.enabled(&mut state.to_vec(), &mut enabled);
        let alike = |other: &&preempt_core::Step| {
            other.process == step.process && system.describe(state, **other).2 == text
        };
        let earlier = enabled.steps().iter().take_while(|other| **other != step);
        let nth = earlier.filter(alike).count();
        let partner = step.partner.map(|partner| partner.index());
        list.push(Signature { pid: step.process.index(), partner, text, nth });
    });
    list
}

/// Takes steps that look like these, as far as there are any; says how many.
pub(crate) fn follow(system: &dyn System, walk: &mut Walk, signatures: &[Signature]) -> usize {
    for (at, wanted) in signatures.iter().enumerate() {
        let fits = |step: &preempt_core::Step| {
            step.process.index() == wanted.pid
                && step.partner.map(|partner| partner.index()) == wanted.partner
                && system.describe(walk.state(), *step).2 == wanted.text
        };
        let steps = walk.enabled().steps().iter().enumerate();
        let fitting: Vec<usize> = steps.filter(|(_, step)| fits(step)).map(|(at, _)| at).collect();
        let choice = fitting.get(wanted.nth).or(fitting.first());
        match choice {
            Some(choice) => walk.take(system, *choice as u32),
            None => return at,
        };
    }
    signatures.len()
}
