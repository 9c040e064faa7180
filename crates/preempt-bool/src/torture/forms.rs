//! Random programs of the other forms: `main` alone, and `main` that starts threads, once or in
//! loops.
//!
//! A loop that does nothing but start threads means, for k context switches, the same as k places
//! one behind the other; that program is the judge's, and shares nothing of how slots are made.

use super::Generator;
use std::fmt::Write;

/// Copies of a loop's body in the unrolled program: enough for as many switches.
pub(super) const UNROLLED: u32 = 3;

/// A program, and one that means the same without threads started in loops.
pub(super) struct Pair {
    pub(super) source: String,
    pub(super) unrolled: String,
}

/// What `main` does with other threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// It is alone.
    Main,
    /// It starts them once each.
    Starts,
    /// It starts some in a loop.
    Loops,
}

pub(super) fn program(seed: u64, form: Form, recursive: bool) -> Pair {
    let mut g = Generator::new(seed ^ 0x5DEE_CE66, 0);
    let with_int = g.random.chance(30);
    let with_private = g.random.chance(30);
    g.atomic = g.random.chance(60);
    let mut head = format!("// seed {seed} {form:?}\ndecl bool a, b, c;\n");
    if with_int {
        head.push_str("decl int<2> n;\n");
        g.ints.push("n");
    }
    if with_private {
        // With a value, the function of the thread gets a wrapper.
        head.push_str(["thread_local decl p := F;\n", "thread_local decl p;\n"][g.random.below(2)]);
        g.bools.push("p");
    }
    g.functions_of(recursive);
    let names: &[&str] = if form == Form::Main { &[] } else { &["t", "u"] };
    let threads: Vec<_> = names.iter().map(|name| (*name, g.thread(name))).collect();
    let returns = g.random.chance(20);
    if form == Form::Main && recursive && g.random.chance(40) {
        g.functions.push(("main", false));
    }
    let _ =
        writeln!(g.out, "{} main() begin\n  decl bool l;", if returns { "bool" } else { "void" });
    g.bools.push("l");
    let start = ["F", "F", "T", "*"];
    let values: Vec<&str> = (0..3).map(|_| start[g.random.below(4)]).collect();
    g.line(&format!("a, b, c, l := {}, F;", values.join(", ")));
    if with_int {
        g.line("n := 0;");
    }
    let mut unrolled = g.out.clone();
    let mut part = false;
    let mut looped = form == Form::Loops;
    for (number, thread) in threads.iter().enumerate() {
        if g.random.chance(40) {
            g.both(&mut unrolled, |g| g.statement(1));
        }
        let what = g.start(*thread, number, &mut part);
        if std::mem::take(&mut looped) {
            g.looped(&what, &mut unrolled);
        } else {
            g.both(&mut unrolled, |g| g.line(&what));
        }
    }
    let rest = if form == Form::Main { 3 } else { 1 };
    for _ in 0..1 + g.random.below(rest) {
        g.both(&mut unrolled, |g| {
            g.waits(30);
            g.statement(2);
        });
    }
    g.both(&mut unrolled, Generator::target);
    if part {
        g.both(&mut unrolled, |g| {
            g.line("end_thread;");
            g.line("Part: skip;");
            g.statement(1);
        });
    }
    if returns {
        g.both(&mut unrolled, |g| g.line("return *;"));
    }
    g.out.push_str("end\n");
    unrolled.push_str("end\n");
    Pair { source: head.clone() + &g.out, unrolled: head + &unrolled }
}

impl Generator {
    /// The function of a thread; whether it takes a value.
    fn thread(&mut self, name: &str) -> bool {
        let takes = self.random.chance(50);
        let _ = writeln!(self.out, "void {name}({}) begin", if takes { "bool x" } else { "" });
        if takes {
            self.bools.push("x");
        }
        self.waits(40);
        for _ in 0..1 + self.random.below(2) {
            self.statement(1);
        }
        if self.random.chance(30) {
            self.target();
        }
        if takes {
            self.bools.pop();
        }
        self.out.push_str("end\n");
        takes
    }

    /// Writes to both programs.
    fn both(&mut self, other: &mut String, write: impl FnOnce(&mut Generator)) {
        let before = self.out.len();
        write(self);
        other.push_str(&self.out[before..]);
    }

    /// One `start_thread`.
    fn start(&mut self, thread: (&'static str, bool), number: usize, part: &mut bool) -> String {
        let (name, takes) = thread;
        let argument = if takes { self.condition(0) } else { String::new() };
        match self.random.below(5) {
            0 | 1 => format!("start_thread {name}({argument});"),
            2 => format!("ASYNC_{number}: {name}({argument});"),
            3 => {
                *part = true;
                "start_thread goto Part;".into()
            }
            _ => format!("ASYNC_{number}: a := {};", ["T", "F", "l", "!b"][self.random.below(4)]),
        }
    }

    /// A loop around the statement here, and its body again and again in the other program.
    fn looped(&mut self, what: &str, unrolled: &mut String) {
        if self.random.chance(50) {
            self.line(&format!("while (*) do {what} od;"));
        } else {
            self.line(&format!("Again: goto More, Enough; More: {what} goto Again; Enough: skip;"));
        }
        for _ in 0..UNROLLED {
            let _ = write!(unrolled, "  if (*) then {what} ");
        }
        let _ = writeln!(unrolled, "{}", "fi; ".repeat(UNROLLED as usize));
    }
}
