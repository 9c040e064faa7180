//! What the words of Promela mean, for hovers and completion.

/// Keywords and predefined names, each with a line or two.
pub(crate) const WORDS: &[(&str, &str)] = &[
    ("active", "`active [N] proctype p()`: N processes of this type are there from the start."),
    ("assert", "`assert(e)`: a violation if e is 0. Always executable."),
    ("atomic", "`atomic { … }`: others do not move in between, unless a statement inside blocks."),
    ("bit", "A variable of one bit: 0 or 1."),
    ("bool", "A variable that is true or false."),
    ("break", "Leaves the innermost `do` loop."),
    ("byte", "A variable from 0 to 255."),
    (
        "chan",
        "`chan c = [N] of { byte, mtype }`: a channel for N messages; with 0 it is a rendezvous.",
    ),
    ("d_step", "`d_step { … }`: one deterministic step; must not block after its first statement."),
    (
        "do",
        "`do :: guard -> … :: … od`: takes an executable option again and again, until `break`.",
    ),
    ("else", "Executable if no other option of the `if` or `do` is."),
    ("empty", "`empty(c)`: the channel holds no message. See also `nempty`, `full`, `nfull`."),
    ("enabled", "`enabled(pid)`: whether that process has an executable statement."),
    ("eval", "`c?eval(x)`: receives only a message whose field equals x."),
    ("for", "`for (i : 1 .. n) { … }`, or `for (i in array) { … }`."),
    ("full", "`full(c)`: the channel holds as many messages as fit."),
    ("goto", "`goto label`: jumps within the process."),
    ("hidden", "The variable is no part of the state."),
    (
        "if",
        "`if :: guard -> … :: … fi`: takes one of the executable options, waits if there is none.",
    ),
    ("init", "The process that is started first."),
    (
        "inline",
        "`inline f(a, b) { … }`: a text that is inserted where it is used; no scope of its own for parameters.",
    ),
    ("int", "A variable of 32 bits with a sign."),
    ("len", "`len(c)`: how many messages the channel holds."),
    ("ltl", "`ltl name { [] (p -> <> q) }`: a property of all executions."),
    (
        "mtype",
        "`mtype = { a, b, c }`: symbolic constants; also the type of variables that hold them.",
    ),
    ("never", "`never { … }`: an automaton for executions that must not happen."),
    ("nempty", "`nempty(c)`: the channel holds a message."),
    ("nfull", "`nfull(c)`: there is room for a message."),
    ("np_", "In a claim: no process is at a `progress` label."),
    ("pid", "The type of process ids, 0 to 255."),
    ("printf", "`printf(\"x is %d\\n\", x)`: shown in traces and simulations."),
    ("priority", "Processes of a lower priority move only if none of a higher one can."),
    ("proctype", "`proctype p(byte x) { … }`: a type of processes; `run p(1)` starts one."),
    ("provided", "`proctype p() provided (e)`: its processes move only while e holds."),
    ("run", "`run p(…)`: starts a process; the value is its id."),
    ("select", "`select (x : 1 .. 3)`: gives x any value of the range."),
    ("short", "A variable of 16 bits with a sign."),
    ("skip", "Always executable, does nothing."),
    ("timeout", "Executable if nothing else in the whole model is."),
    ("typedef", "`typedef T { byte a; bool b }`: a structure."),
    ("unless", "`{ main } unless { escape }`: the escape takes over as soon as it is executable."),
    ("unsigned", "`unsigned x : 5`: a variable of so many bits."),
    ("xr", "`xr c`: a promise that only this process receives from c. Reduction relies on it."),
    ("xs", "`xs c`: a promise that only this process sends to c. Reduction relies on it."),
    ("_pid", "The id of this process."),
    ("_nr_pr", "How many processes there are."),
    ("_last", "The id of the process that moved last."),
    ("true", "1."),
    ("false", "0."),
];

/// What a word means.
pub(crate) fn meaning(word: &str) -> Option<&'static str> {
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
}
