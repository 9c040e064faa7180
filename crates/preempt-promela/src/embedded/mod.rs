//! C inside a model: what the text says, and what it takes to run it.
//!
//! Spin copies the pieces of C into the program it generates. We compile them apart, to a library that is
//! loaded ([`Library`]). Around each call the variables of the state are copied to where C sees them
//! (`now.x`, `Pname->y`) and back; memory of C that the model tracks lies in the state as bytes and is
//! copied likewise. So a piece of C is a function from state to state like any other step: whatever order a
//! search visits states in, and however it stores them, C finds the memory that belongs to its state.
//!
//! [`source`] writes the C text. It follows from the model alone; where things lie in the state vector is the
//! matter of [`Mirror`](crate::ir::Mirror), which lowering makes.

mod source;

pub use source::{ENTRY, INITIAL, MATCHED, SIZES, source};

use crate::syntax::span::Span;
use std::fmt;
use std::sync::Arc;

/// All C of a model.
#[derive(Clone, Debug, Default)]
pub struct Embedded {
    /// `c_decl`, in order.
    pub declarations: Vec<Text>,
    /// `c_code` outside of all bodies, in order.
    pub functions: Vec<Text>,
    /// `c_state`, in order.
    pub states: Vec<TrackedDeclaration>,
    /// `c_track`, in order.
    pub tracks: Vec<TrackedMemory>,
    /// `c_code` and `c_expr` inside of bodies and formulas.
    pub fragments: Vec<Fragment>,
    /// What was made of it.
    pub compiled: Option<Compiled>,
}

impl Embedded {
    /// The tracked memory in the order in which it lies in the state: what tells states apart comes first.
    pub fn tracks_in_order(&self) -> impl Iterator<Item = &TrackedMemory> {
        let of = |matched: bool| self.tracks.iter().filter(move |track| track.matched == matched);
        of(true).chain(of(false))
    }

    /// The names that `c_track` and `c_state` with the scope `Hidden` speak of.
    pub fn names_in_tracks(&self) -> Vec<String> {
        let hidden = self.states.iter().filter(|state| state.scope == Scope::Hidden);
        let texts = self.tracks.iter().map(|track| &track.address);
        let texts = texts.chain(hidden.map(|state| &state.declaration));
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = texts.flat_map(|text| text.split(move |c| !is_word(c)));
        words.filter(|word| !word.is_empty()).map(String::from).collect()
    }

    /// Whether the model contains no C.
    pub fn is_empty(&self) -> bool {
        self.declarations.is_empty()
            && self.functions.is_empty()
            && self.states.is_empty()
            && self.tracks.is_empty()
            && self.fragments.is_empty()
    }
}

/// A piece of C.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text between the braces.
    pub text: String,
    /// The line on which it begins.
    pub line: u32,
    /// Where it stands.
    pub span: Span,
}

/// A piece of C that is executed.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// What is executed or evaluated.
    pub text: Text,
    /// The precondition in brackets, which must hold.
    pub guard: Option<String>,
    /// `c_expr`.
    pub is_expression: bool,
    /// The process type in whose body it stands: index into [`crate::model::Model::proctypes`].
    pub proctype: Option<u32>,
}

/// Index into [`Embedded::fragments`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FragmentId(pub u32);

/// `c_state`: a variable of a C type.
#[derive(Clone, Debug)]
pub struct TrackedDeclaration {
    /// `int *p`, `struct T t`, `int a[4]`.
    pub declaration: String,
    /// Where it lives.
    pub scope: Scope,
    /// The initial value.
    pub init: Option<String>,
    /// Where it stands.
    pub span: Span,
}

impl TrackedDeclaration {
    /// The name that it declares: the last word outside of brackets.
    pub fn name(&self) -> &str {
        let head = self.declaration.split('[').next().unwrap_or("").trim_end();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        head.rfind(|c| !is_word(c)).map_or(head, |at| &head[at + 1..])
    }
}

/// Where a variable of `c_state` lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A field of `now`.
    Global,
    /// A field of the processes of this type.
    Local(u32),
    /// A variable of C outside of the state.
    Hidden,
}

/// `c_track`: memory of C that belongs to the state.
#[derive(Clone, Debug)]
pub struct TrackedMemory {
    /// An expression for its address.
    pub address: String,
    /// An expression for its size.
    pub size: String,
    /// States that differ in it differ. Otherwise it is restored only.
    pub matched: bool,
    /// Where it stands.
    pub span: Span,
}

/// What is wrong with a call of a piece of C, in the order of [`Ending::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The precondition in brackets is false.
    Precondition,
    /// `assert` failed.
    Assertion,
    /// Memory that is not there was used.
    InvalidMemory,
    /// A division by zero, or another arithmetic exception.
    Arithmetic,
    /// `abort` was called.
    Abort,
    /// An instruction that does not exist was executed.
    IllegalInstruction,
    /// `exit` was called.
    Exit,
    /// It came to its end, and called `uerror` on the way.
    Reported,
}

impl Ending {
    /// All of them; the library names them by their place here, counted from 1.
    pub const ALL: [Ending; 8] = [
        Ending::Precondition,
        Ending::Assertion,
        Ending::InvalidMemory,
        Ending::Arithmetic,
        Ending::Abort,
        Ending::IllegalInstruction,
        Ending::Exit,
        Ending::Reported,
    ];
}

/// A process, as C knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its number.
    pub id: u32,
    /// Its type: index into [`crate::model::Model::proctypes`].
    pub proctype: u32,
}

/// What a piece of C works on.
pub struct Call<'a> {
    /// Which one.
    pub fragment: FragmentId,
    /// The number of the executing process.
    pub process: Option<u32>,
    /// How many processes are alive, with a claim that runs beside them.
    pub process_count: u32,
    /// The variables of the model, one number per scalar.
    pub globals: &'a mut [i32],
    /// The bytes of `c_state` with the scope `Global`, and of `c_track`.
    pub tracked: &'a mut [u8],
    /// The processes with memory that C may reach: all, or only the one that executes.
    pub processes: &'a [Identity],
    /// The parameters and variables of these processes, one after the other.
    pub locals: &'a mut [i32],
    /// The bytes of `c_state` with the scope `Local` in them, likewise.
    pub local_tracked: &'a mut [u8],
    /// Takes what C prints, if that is wanted.
    pub output: Option<&'a mut String>,
}

/// The pieces of C of one model, compiled and loaded.
pub trait Library: Send + Sync {
    /// The bytes of `c_state` with the scope `Global` and of `c_track`, as they are at the start.
    fn initial(&self) -> &[u8];

    /// The variables of C that the model does not track, and whether they are part of the initial bytes all the same.
    fn untracked(&self) -> (&[String], bool);

    /// How many of the [initial](Library::initial) bytes tell states apart; those behind them are `UnMatched`.
    fn matched(&self) -> usize;

    /// The bytes of `c_state` in a new process of this type.
    fn initial_local(&self, proctype: usize) -> &[u8];

    /// Runs a piece of C, and returns its value. Of all endings only [`Ending::Reported`] leaves what C changed.
    fn call(&self, call: Call<'_>) -> Result<i32, Ending>;
}

/// A [`Library`] that clones share.
#[derive(Clone)]
pub struct Compiled(pub Arc<dyn Library>);

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("compiled")
    }
}
