//! What a random model may be made of beyond the basics: one table entry per part of the language.
//!
//! A model takes some of them; everything in the table fits everywhere the basics do.

/// Declarations and pieces that use one part of the language.
pub(super) struct Feature {
    pub(super) name: &'static str,
    pub(super) globals: &'static [&'static str],
    /// Declarations at the start of every body.
    pub(super) locals: &'static [&'static str],
    /// Statements that may block or do anything; `$` makes a label the use's own.
    pub(super) statements: &'static [&'static str],
    /// Statements that may stand inside a `d_step`: they never block.
    pub(super) steps: &'static [&'static str],
    pub(super) conditions: &'static [&'static str],
    pub(super) values: &'static [&'static str],
    /// What follows `active proctype P()`.
    pub(super) headers: &'static [&'static str],
    /// Declarations behind the processes.
    pub(super) tail: &'static [&'static str],
}

const NONE: Feature = Feature {
    name: "",
    globals: &[],
    locals: &[],
    statements: &[],
    steps: &[],
    conditions: &[],
    values: &[],
    headers: &[],
    tail: &[],
};

pub(super) const FEATURES: &[Feature] = &[
    Feature {
        name: "timeout",
        statements: &[
            "timeout",
            "timeout; g = 0",
            "if :: timeout :: c?x fi",
            "{ c?x } unless { timeout }",
        ],
        conditions: &["timeout", "timeout && g < 2", "timeout || x == 1", "g == 2 || timeout"],
        ..NONE
    },
    Feature {
        name: "unless",
        statements: &[
            "{ c?x } unless { (g == 1) }",
            "{ g = 1; c!1 } unless { c?x }",
            "{ x = 1; { y = 1; g = 2 } unless { (h == 1) -> x = 2 } } unless { (g == 2) }",
            "{ (h == 2) -> g = 0 } unless { atomic { (g == 1) -> h = 2; x = 1 } }",
            "{ x = 2; g = 1 } unless { d_step { (h == 1) -> h = 0 } }",
            "{ c!2; c?y } unless { if :: (g == 1) :: (h == 1) -> h = 2 fi }",
            "do :: { g = (g + 1) % 3 } unless { (h == 1) -> break } :: break od",
            "atomic { { g = 1; c!1; h = 1 } unless { (flag == 1) } }",
            "{ atomic { g = 1; h = 2; c?x; g = 0 } } unless { (flag == 1) -> flag = 0 }",
            "{ d_step { g = 2; h = 1 }; (g == 0) } unless { timeout }",
            "{ if :: (g == 1) -> x = 1 :: c?x -> h = 1 fi } unless { flag == 1 }",
        ],
        ..NONE
    },
    Feature {
        name: "structures",
        globals: &["typedef U { byte k; T n[2] };", "U u;", "chan ct = [1] of { T };"],
        locals: &["U lu", "T lt"],
        statements: &[
            "ct!t",
            "ct?t",
            "ct!u.n[1]",
            "ct?u.n[0]",
            "ct?lt",
            "ct?1, _, _",
            "ct!lu.n[h % 2]",
        ],
        steps: &[
            "u.n[h % 2].x = g % 3",
            "lu.k = u.n[1].x",
            "u.k = lu.k",
            "u.n[0].y[g % 2] = 1",
            "lt.y[1] = flag",
        ],
        conditions: &["u.k == lu.k", "u.n[0].x != 1", "lt.y[0] == 1", "ct?[1, _, _]"],
        values: &["u.n[g % 2].x", "lu.k", "lt.x"],
        ..NONE
    },
    Feature {
        name: "channel arrays",
        globals: &["chan ca[2] = [1] of { byte };"],
        statements: &[
            "ca[h % 2]!x",
            "ca[0]?x",
            "ca[x % 2]?<y>",
            "ca[1]?eval(g)",
            "ca[g % 2]!!1",
            "ca[1]??2",
            "ca[h % 2]?y",
            "ca[1]!0",
        ],
        conditions: &[
            "nempty(ca[0])",
            "ca[1]?[1]",
            "len(ca[h % 2]) == 1",
            "full(ca[0])",
            "nfull(ca[h % 2])",
            "empty(ca[1])",
        ],
        values: &["len(ca[0])", "len(ca[x % 2])"],
        ..NONE
    },
    Feature {
        name: "rendezvous arrays",
        globals: &["chan ra[2] = [0] of { byte, bit };"],
        statements: &[
            "ra[h % 2]!x, 1",
            "ra[0]?x, _",
            "ra[1]?1, y",
            "ra[1]!2, flag",
            "ra[x % 2]?eval(x), y",
            "atomic { ra[0]!1, 0; g = 1; h = 2 }",
            "atomic { ra[0]?x, y; g = x % 3 }",
            "d_step { ra[1]?x, y; g = 0; h = 1 }",
            "atomic { g = 1; ra[h % 2]?x, 0; h = 1 }",
            "if :: ra[0]!1, 1 :: ra[1]?x, y fi",
        ],
        ..NONE
    },
    Feature {
        name: "sorted",
        globals: &["chan so = [3] of { byte, byte };"],
        statements: &[
            "so!!x, 1",
            "so!!g, x",
            "so!!2, y",
            "so??1, y",
            "so??eval(x), _",
            "so?x, y",
            "so??<1, x>",
            "so??x, eval(y)",
            "so!!h, g",
            "so??_, 1",
            "so?<x, y>",
        ],
        conditions: &["so??[1, 2]", "so??[eval(x), _]", "len(so) > 1", "so?[_, 1]"],
        values: &["len(so)"],
        ..NONE
    },
    Feature {
        name: "channel messages",
        globals: &["chan cc = [1] of { chan };", "chan cm = [1] of { byte, chan };"],
        locals: &["chan q = [1] of { byte }"],
        statements: &[
            "cc!c",
            "cc?q",
            "cc!q",
            "q!1",
            "q?x",
            "q?eval(x)",
            "q = c",
            "cm!1, q",
            "cm?x, q",
            "cc?eval(q)",
            "cm??1, q",
            "cc?<q>",
            "q!x; q?y",
        ],
        steps: &["q = c"],
        conditions: &["q == c", "nempty(q)", "len(q) == 0", "cc?[c]"],
        ..NONE
    },
    Feature {
        name: "runs",
        statements: &[
            "if :: (_nr_pr < 4) -> run R(x, c, 1) :: (_nr_pr >= 4) fi",
            "if :: (_nr_pr < 4) -> x = run R(g, c, flag) :: else fi",
            "atomic { (_nr_pr < 5) -> run R(1, c, 0); run R(2, c, 1) }",
            "(_nr_pr == 2)",
        ],
        tail: &[
            "proctype R(byte p; chan k; bit f) { byte x; if :: f -> k!p :: k?x -> g = x :: (p == 2) fi; p = g; h = p % 3 }",
        ],
        ..NONE
    },
    Feature {
        name: "provided",
        headers: &[
            " provided (g != 1)",
            " provided (h == g)",
            " provided (_pid != 1 || h != 2)",
            " provided (len(c) == 0)",
        ],
        ..NONE
    },
    Feature {
        name: "priority",
        headers: &[" priority 1", " priority 2", " priority 3"],
        statements: &[
            "set_priority(_pid, 2)",
            "set_priority(0, 1 + g % 3)",
            // A process that is gone: Spin's backtracking restores a priority it never saved.
            "if :: atomic { (_nr_pr > 1) -> set_priority(1, 3) } :: else fi",
            "_priority = 1",
        ],
        conditions: &["get_priority(0) == 2", "_priority == 1", "get_priority(_pid) > 1"],
        values: &["get_priority(1)", "_priority"],
        ..NONE
    },
    Feature {
        name: "remote",
        statements: &["S[0]@first", "(S:s > 1)", "S[0]@last -> g = 1", "!(S@last)"],
        conditions: &["S[0]@first", "S@last", "S[0]:s == 1", "S:s != g", "!S[0]@last"],
        values: &["S[0]:s", "S:s"],
        globals: &[
            "active proctype S() { byte s; first: if :: (g == 1) -> s = 1 :: (h == 1) -> s = 2; c!s :: timeout fi; last: s = s + g; end: (h == 2) -> goto last }",
        ],
        ..NONE
    },
    Feature {
        name: "loops",
        globals: &["typedef F { byte f };", "chan cf = [2] of { F };"],
        locals: &["F lf"],
        statements: &[
            "for (y : g .. 2) { c!y }",
            "for (y : 0 .. len(c)) { x = y }",
            "select (x : g .. 2)",
            "select (x : 0 .. h)",
            "for (lf in cf) { g = lf.f % 3 }",
            "lf.f = 1; cf!lf",
            "cf?lf",
            "for (x in a) { a[x] = g }",
            "for (x : 0 .. 2) { if :: (x == 1) -> break :: else fi; g = x }",
            "do :: (g < 2) -> g++ :: else -> break od",
            "do :: c?x :: empty(c) -> break od",
        ],
        ..NONE
    },
    Feature {
        name: "steps",
        statements: &[
            "d_step { x = 0; do :: (x < 2) -> x++; g = x :: else -> break od; h = g }",
            "d_step { if :: (g == 1) -> goto inside$ :: else fi; h = 1; inside$: g = 2 }",
            "d_step { c?x; g = x % 3 }",
            "d_step { c!1; h = 1 }",
            "d_step { nfull(c) -> c!x; c?y }",
            "d_step { if :: c?x -> g = 1 :: nfull(c) -> h = 1 fi }",
            "d_step { y = 0; do :: (y == 1) -> break :: (y < 1) -> y++ od }",
            "d_step { if :: (g > 0) -> h = 0 :: (h > 0) -> g = 2 fi; x = g }",
            "atomic { d_step { g = 1; h = 2 }; (x == 1) -> y = 2 }",
            "d_step { for (x : 0 .. 1) { g = (g + x) % 3 } }",
            "d_step { (x < 9); select (x : 0 .. 2); g = x }",
            // Without the condition in front, Spin runs it in the middle of another process's rendezvous.
            "d_step { (x < 9); printf(\"%d\\n\", g); assert(g < 3); x = 1 }",
        ],
        ..NONE
    },
    Feature {
        name: "else",
        statements: &[
            "else",
            "{ else -> g = 1 }",
            "if :: else fi",
            "do :: else -> break od",
            "if :: (g == 1) :: else -> if :: (h == 1) :: else -> x = 1 fi fi",
            "{ (g == 1) } unless { else -> h = 1 }",
            "atomic { if :: (g == 1) -> (h == 1) :: else fi; x = 1 }",
            "if :: atomic { (g == 1) -> h = 1 } :: d_step { (h == 1) -> g = 1 } :: else fi",
            "if :: { (g == 1) -> x = 1 } :: else -> y = 1 fi",
            "if :: if :: (g == 1) :: (h == 2) fi :: else fi",
            "if :: (g == 1) -> skip :: else; goto over$ fi; h = 1; over$: x = 0",
        ],
        ..NONE
    },
    Feature {
        name: "numbers",
        globals: &["unsigned u2 : 2;", "short sh;", "int i;"],
        steps: &[
            "u2++",
            "u2 = u2 + 1",
            "u2--",
            "flag++",
            "flag = g + 1",
            "u2 = -1",
            "sh = -g",
            "i = sh - 1",
            "sh = (i < 0 -> 1 : i % 3)",
            "flag--",
            "i = ~g & 3",
            "u2 = g ^ h",
            "sh = x << 2 >> 1",
            "i = g * h - x",
        ],
        statements: &["c!u2 + 3", "d!u2, u2", "c!-1"],
        conditions: &["u2 > 2", "sh < 0", "i == -1", "flag + u2 > 2", "!(g && h)", "-sh >= i"],
        values: &["u2", "(sh + 4)", "(i & 3)"],
        ..NONE
    },
    Feature {
        name: "inline",
        globals: &[
            "inline bump(v, n) { v = (v + n) % 3; if :: v == 1 -> h = n % 3 :: else fi }",
            "inline twice(v) { bump(v, 1); bump(v, 2) }",
            "inline hop(v) { byte tmp = v; if :: tmp == 1 -> goto off :: else fi; v = 2; off: skip }",
            "inline both(ch, v) { atomic { nfull(ch) -> ch!v } }",
        ],
        statements: &[
            "bump(g, 1)",
            "bump(x, y)",
            "twice(g)",
            "twice(a[h % 2])",
            "hop(g)",
            "both(c, 1)",
            "atomic { twice(x) }",
        ],
        steps: &["bump(x, 1)"],
        ..NONE
    },
    Feature {
        name: "built-ins",
        // Spin ends a search where a process asks `enabled` about itself, or two about each other.
        globals: &[
            "active proctype E() { end: do :: (g == 1) -> h = 1 :: c?2 :: (h == 2) -> break od }",
        ],
        conditions: &["enabled(0)", "_last == 1", "_nr_pr == 2", "_pid == 1", "_last != _pid"],
        values: &["_last", "_nr_pr", "pc_value(0) % 3"],
        ..NONE
    },
    Feature {
        name: "locals",
        locals: &["byte la[3]", "byte li[2] = { 1, 2 }", "short ls = 2", "byte lg = g", "T lz[2]"],
        steps: &[
            "la[x % 3] = g",
            "li[1] = la[0]",
            "ls = ls - 1",
            "ls = 1",
            "lg = x % 3",
            "lz[g % 2].x = 1",
            "x = lz[1].x",
        ],
        statements: &[
            "{ byte b1 = g; c!b1 }",
            "{ byte b1 = 1; byte b2; b2 = b1; g = b2 }",
            "c?la[1]",
            "d?li[0], lz[1].y[0]",
            "{ short b3; c?b3; g = b3 % 3 }",
        ],
        conditions: &["la[g % 3] == 1", "li[0] == 1", "ls > 1", "lz[0].x == g"],
        values: &["la[h % 3]", "li[1]", "lg", "(ls + 3)"],
        ..NONE
    },
    Feature {
        name: "jumps",
        statements: &[
            "again$: if :: (g == 1) -> g = 2; goto again$ :: (g != 1) fi",
            "do :: (g == 1) -> goto out$ :: g = (g + 1) % 3; break :: (h == 1) -> h = 0 od; out$: x = 1",
            "atomic { g = 1; goto mid$; x = 2; mid$: h = 1 }; y = 1",
            "goto into$; atomic { x = 1; into$: g = 2; h = 1 }",
            "if :: (g == 1) -> goto tail2$ :: else fi; y = 1; tail2$: skip",
            "if :: goto j1$ :: x = 1 fi; j1$: g = 1",
            "do :: break :: goto j2$ od; j2$: h = 0",
            "accept_a$: do :: (g == 2) -> break :: g = (g + 1) % 3; progress_b$: skip od",
        ],
        ..NONE
    },
    Feature {
        name: "messages that do not fit",
        // Spin refuses to send more fields than the widest channel has.
        globals: &["chan mf = [1] of { byte, bit };", "chan wide = [1] of { byte, bit, byte };"],
        statements: &[
            "mf!1",
            "mf!x, 1",
            "mf?x",
            "mf?x, y",
            "mf?1",
            "mf??y",
            "mf?<x>",
            "mf!!g",
            "mf!x, 1, g",
            "mf?x, y, g",
            "mf?x, y, 0",
            "mf??x, y, 1",
            "mf?<x, y, g>",
            "d_step { nfull(mf) -> mf!x; mf?y }",
            "atomic { mf?y; g = y % 3 }",
        ],
        conditions: &["mf?[1]", "mf??[x]", "mf?[eval(g)]", "mf?[x, y, 0]", "mf?[x, y, 1]"],
        values: &["len(mf)"],
        ..NONE
    },
    Feature {
        name: "offers that do not fit",
        globals: &["chan rf = [0] of { byte, bit };"],
        statements: &["rf!1", "rf!x, 1", "rf?x", "rf?x, y", "rf?1", "d_step { rf?x; g = x % 3 }"],
        ..NONE
    },
    Feature {
        name: "rendezvous polls",
        globals: &["chan rp = [0] of { byte };"],
        statements: &["rp!1", "rp?x", "if :: rp?[1] -> g = 1 :: else fi", "rp?<x>"],
        conditions: &["rp?[1]", "rp??[x]", "nfull(rp)", "len(rp) == 0"],
        ..NONE
    },
    Feature {
        name: "long steps",
        // The oldest process runs when all others have ended: once or a few times per model.
        globals: &[
            "active proctype W() { int n; end: (_nr_pr == 1 && g == h) -> d_step { do :: (n < 600000) -> n++ :: else -> break od; n = 0; g = (g + 1) % 3 } }",
        ],
        ..NONE
    },
    Feature {
        name: "hidden writes",
        globals: &["hidden byte unseen;", "hidden byte heap[2];"],
        steps: &["unseen = g", "heap[h % 2] = x"],
        statements: &["c?unseen", "d?unseen, y"],
        ..NONE
    },
    Feature {
        name: "claim",
        // Once all processes are gone Spin lets a claim at its end die like a process, and counts the
        // state without it; here one process always stays.
        globals: &["active proctype Z() { end: (g == 77) }"],
        tail: &[
            "never { do :: (g == 1) -> break :: else od; do :: (h == 1) -> break :: true od }",
            "never { T0: if :: (g == 2) -> goto accept_all :: true -> goto T0 fi; accept_all: skip }",
            "never { do :: assert(g < 3) :: (len(c) > 0 && flag == 1) -> goto over$ od; over$: (h == 2) }",
            "never { T0: if :: (g == 2 && h == 1) -> goto acc :: 1 -> goto T0 fi; acc: (g == 0) }",
            "never { do :: _last == 1 -> (g == 1) :: _last != 1 od }",
        ],
        ..NONE
    },
    Feature {
        name: "trace",
        tail: &[
            "trace { do :: c!1 :: c!0 od }",
            "notrace { if :: c!1 -> c?1 :: c!0; c!2 fi }",
            "trace { do :: c!_; c?_ od }",
            "trace { end: do :: d!1, _ :: d!0, 1; d!_, 0 od }",
            "notrace { c?1; c?1 }",
        ],
        ..NONE
    },
];
