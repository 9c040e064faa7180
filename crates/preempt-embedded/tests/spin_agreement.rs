//! Models with every kind of embedded C have as many states, matches and errors as in Spin 6.5.2: what its
//! manual describes under `c_code`, `c_decl`, `c_expr`, `c_state` and `c_track`, in models of our own.

#[path = "../../preempt-promela/tests/naive/mod.rs"]
mod naive;
mod peer;

use peer::{modes, ours, spins, workshop};

/// Name and text of a model.
const MODELS: &[(&str, &str)] = &[
    (
        "a structure of C in the state",
        r#"
        c_decl { typedef struct Point { int x, y; } Point; }
        c_state "Point at" "Global"
        short z = 3;
        active proctype walker() {
            c_code { now.at.x = now.at.y = 0; };
            do
            :: c_expr { now.at.x == now.at.y } -> c_code { now.at.y++; }
            :: else -> c_code { now.at.x++; }
            :: z > 0 -> z--
            :: c_expr { now.at.x > 6 } -> break
            od
        }"#,
    ),
    (
        "variables of the process, of every type",
        r#"
        mtype = { red, green };
        typedef Pair { byte left; short right[3]; bit flag };
        bit b; bool many[3]; byte n; unsigned u : 5; short s; int i[4]; mtype m = red; Pair p[2]; pid who;
        proctype worker(byte step; short start) {
            int x = 3; bit local_bit; unsigned w : 3; Pair mine;
            c_code { Pworker->x += Pworker->step; Pworker->w = 13; Pworker->local_bit = 2; };
            c_code { Pworker->mine.right[2] = Pworker->start; now.u = 37; now.b = 3; now.many[1] = 5; };
            c_code { now.p[1].right[Pworker->step] = -7; now.p[0].flag = 2; now.who = Pworker->_pid; };
            c_code { now.i[3] = 70000 * Pworker->x; now.s = now.i[3]; now.n = now.s; now.m = 1; };
            assert(mine.right[2] == start && w == 5 && local_bit == 0);
            assert(u == 5 && b == 1 && many[1] == 5 && p[0].flag == 0);
            n = n + p[1].right[step]
        }
        init { run worker(1, 300); run worker(2, -300); c_code { now.n = now._nr_pr; } }"#,
    ),
    (
        "memory of C that is tracked",
        r#"
        c_decl { int hits, misses; static char log_of[4]; }
        c_track "&hits" "sizeof(int)"
        c_track "&misses" "sizeof(int)" "Matched"
        c_track "log_of" "sizeof(log_of)"
        active [2] proctype shooter() {
            byte shots;
            do
            :: shots < 2 -> shots++; c_code { hits++; log_of[Pshooter->_pid]++; }
            :: c_expr { misses < 2 } -> c_code { misses = misses + 1; }
            :: c_expr { hits + misses > 3 } -> break
            od
        }"#,
    ),
    (
        "memory of C that is restored and not compared",
        r#"
        c_decl { int steps, seen; }
        c_track "&steps" "sizeof(int)" "UnMatched"
        c_track "&seen" "sizeof(int)"
        byte x;
        active [2] proctype p() {
            do
            :: x < 5 -> x++; c_code { steps++; }
            :: x > 0 -> x--; c_code { steps += 2; if (steps % 7 == 3) seen = steps % 4; }
            od
        }"#,
    ),
    (
        "nothing but memory that is not compared",
        r#"
        c_decl { long rounds[2]; }
        c_track "rounds" "sizeof(rounds)" "UnMatched"
        active [2] proctype p() {
            do
            :: c_code { rounds[Pp->_pid]++; }
            :: c_expr { rounds[1 - Pp->_pid] > 3 } -> break
            :: c_expr { rounds[0] % 2 == 1 } -> c_code { rounds[0] += 3; }
            od
        }"#,
    ),
    (
        "mistakes that C reports, and headers of the verifier",
        r#"
        int x;
        active [2] proctype p() {
            do
            :: x < 3 -> c_code { now.x++; if (now.x == 2) uerror("two"); errno = 0; }
            :: x == 3 -> c_code { if (isdigit('0' + now.x) && INT_MAX > 0) { uerror("three"); now.x = 0; } }; break
            od
        }"#,
    ),
    (
        "variables of C that are not tracked, set before they are read",
        r#"
        c_decl { int guard; char letter; }
        active proctype p() {
            byte which_one;
            select(which_one : 0 .. 2);
            c_code { guard = Pp->which_one; };
            c_code { letter = 'a' + guard; };
            if
            :: c_expr { guard == 1 } -> c_code { if (letter != 'b') uerror("letter"); }
            :: c_expr { guard == 2 } -> c_code { if (letter == 'c') uerror("c"); }
            :: else
            fi
        }"#,
    ),
    (
        "C variables of processes, with initial values",
        r#"
        c_state "int turns" "Local runner" "4"
        c_state "long total" "Global" "100"
        c_state "int unseen" "Hidden" "7"
        proctype runner() {
            do
            :: c_expr { Prunner->turns > 0 } -> c_code { Prunner->turns--; now.total += Prunner->_pid; }
            :: else -> break
            od;
            assert(c_expr { now.total >= 100 && unseen == 7 })
        }
        init { atomic { run runner(); run runner() } }"#,
    ),
    (
        "preconditions that hold, and one that does not",
        r#"
        int x;
        active proctype careful() {
            do
            :: x < 3 -> c_code [now.x >= 0] { now.x++; }
            :: c_expr [now.x < 4] { now.x == 3 } -> break
            od;
            c_code [now.x == 9] { now.x = 0; }
        }"#,
    ),
    (
        "functions, macros and headers",
        r#"
        #define LIMIT 5
        #define NEXT(v) ((v) + 1)
        c_decl {
        \#include <string.h>
#include <limits.h>
        \#define LENGTH 4
            enum { FIRST = 2 };
        }
        c_code {
            static int longer(int by) { char text[LENGTH]; memset(text, 'x', LENGTH - 1);
                text[LENGTH - 1] = '\0'; return now.size + by * (int) strlen(text); }
        }
        byte size = 1;
        active proctype grower() {
            do
            :: c_expr { now.size < LIMIT * FIRST } -> c_code { now.size = longer(NEXT(0)); /* by } */ }
            :: c_expr { now.size >= LIMIT * FIRST } -> break
            od
        }
        active proctype other() { do :: size > 8 -> size = size - 8 :: timeout -> break od }"#,
    ),
    (
        "atomic sequences, d_step, inlines and escapes",
        r#"
        byte x, y;
        inline twice() { c_code { now.x++; }; c_code { now.x++; } }
        active [2] proctype p() {
            atomic { twice(); y++ };
            d_step { c_code { now.y = now.y + now.x; }; y = y % 5; c_code { now.x = now.x % 3; } };
            { do :: c_expr { now.x < 2 } -> x++ :: else -> break od } unless { c_expr { now.y == 4 } -> c_code { now.y = 0; } };
            if :: c_expr { now.x == 2 } -> skip :: else -> c_code { now.x = 2; } fi
        }"#,
    ),
    (
        "a never claim and channels",
        r#"
        chan q = [2] of { byte };
        byte sent;
        active proctype sender() { do :: sent < 4 -> atomic { q!sent; c_code { now.sent++; } } :: else -> break od }
        active proctype receiver() { byte got; do :: q?got -> c_code { Preceiver->got = 2 * Preceiver->got; } :: got == 6 -> break od }
        never { do :: c_expr { now.sent < 4 } :: c_expr { now.sent == 4 } -> break od }"#,
    ),
    (
        "merging around C",
        r#"
        byte g;
        active [2] proctype p() {
            byte a, b;
            a = 1; b = 2; a = b;
            c_expr { Pp->a == 2 } -> a = 3; b = 4;
            c_code { Pp->a = 5; }; b = 6; a = 7;
            atomic { c_expr { Pp->a } -> a = 8; b = 9; g++ };
            c_expr { now.g } -> a = 1; b = 1
        }"#,
    ),
    (
        "variables that only C uses",
        r#"
        byte only_c, never_read; int counter;
        active [2] proctype p() {
            byte mine;
            c_code { now.only_c++; Pp->mine = now.only_c; };
            never_read = 3; never_read = 4;
            if :: c_expr { Pp->mine == 1 } -> counter++ :: c_expr { Pp->mine == 2 } -> counter-- fi;
            mine = 0
        }"#,
    ),
    (
        "addresses of variables of other processes",
        r#"
        c_decl { typedef struct Entry { struct Entry *next; int value; } Entry; }
        c_state "Entry head" "Global"
        c_state "Entry own[2]" "Local putter"
        c_state "unsigned char *counter" "Global"
        byte got;
        active [2] proctype putter() {
            byte at;
            do
            :: at < 1 ->
                c_code { Pputter->own[Pputter->at].value = Pputter->_pid + 1; Pputter->own[Pputter->at].next = now.head.next; };
                c_code { now.head.next = &Pputter->own[Pputter->at]; };
                at++
            :: else -> break
            od;
            assert(at < 5)
        }
        active proctype getter() {
            byte lost;
            c_code { now.counter = &Pgetter->lost; };
            do
            :: c_expr { now.head.next != 0 } ->
                c_code { now.got = now.got * 3 + now.head.next->value & 15; now.head.next = now.head.next->next; }
            :: got > 5 -> break
            od
        }
        active proctype meddler() {
            c_expr { now.counter != 0 && now.head.next != 0 };
            c_code { (*now.counter)++; if (now.head.next) now.head.next->value = 7; }
        }"#,
    ),
    (
        "C about its own process, merged with a condition",
        r#"
        byte g = 1, done;
        active [2] proctype p() {
            byte x;
            atomic { if :: x > 3 -> g = 2 :: else -> g == 1 fi };
            assert(c_expr { Pp->_pid } || true);
            done = g
        }"#,
    ),
    (
        "pointers into tracked memory",
        r#"
        c_decl { struct Node { struct Node *next; int value; }; struct Node nodes[3]; struct Node *head; }
        c_track "nodes" "sizeof(nodes)"
        c_track "&head" "sizeof(head)"
        c_code { static void push(int at) { nodes[at].value = at; nodes[at].next = head; head = &nodes[at]; } }
        active [2] proctype p() {
            c_code { push(Pp->_pid); };
            c_expr { head } -> skip;
            if
            :: c_expr { head && head->next } -> c_code { head = head->next; }
            :: c_expr { !head->next } -> c_code { head->value += 10; }
            fi
        }"#,
    ),
];

#[test]
fn counts_are_spins() {
    let Some(folder) = workshop("embedded") else { return };
    for (name, text) in MODELS {
        for (flags, options) in modes() {
            let wanted = spins(text, flags, &folder).unwrap_or_else(|| panic!("{name}: too large"));
            let found = ours(text, options);
            if found.broken {
                // A false precondition ends an execution; our simple search ends with it.
                assert!(wanted.errors > 0, "{name} {flags:?}: {found:?}, Spin {wanted:?}");
            } else {
                assert_eq!(found, wanted, "{name} {flags:?}");
            }
        }
    }
    _ = std::fs::remove_dir_all(folder);
}

/// Variables of C that are not tracked. Spin leaves in them what the last execution left; with `TRACK`, which stands for
/// a `c_track` that is `"UnMatched"`, it restores them, and then counts what we count without.
const UNTRACKED: &[(&str, &str)] = &[
    (
        "one process that chooses",
        r#"
        c_decl { char kind; int guard; }
        TRACK "&kind" "sizeof(char)"
        TRACK "&guard" "sizeof(int)"
        active proctype chooser() {
            byte t, u;
            select(t : 0 .. 2);
            c_code { guard = Pchooser->t; };
            select(u : 0 .. 2);
            if
            :: u == 0 -> c_code { kind = 'a'; }
            :: u == 1 && c_expr { guard >= 1 } -> c_code { kind = 'b'; }
            :: else -> skip
            fi;
            assert(c_expr { kind != 'a' })
        }"#,
    ),
    (
        "two processes and what one has left for the other",
        r#"
        c_decl { int rest; }
        TRACK "&rest" "sizeof(int)"
        byte x;
        active proctype first() { c_code { rest++; }; x = 1; c_code { now.x = rest; } }
        active proctype second() { x = 2; c_code { rest = rest + 2; }; c_code { now.x = now.x + rest; } }"#,
    ),
];

#[test]
fn memory_that_is_not_tracked_is_as_if_spin_restored_it() {
    let Some(folder) = workshop("untracked") else { return };
    let mut stale = 0;
    for (name, text) in UNTRACKED {
        let plain: String = text.lines().filter(|line| !line.contains("TRACK")).collect();
        let mut tracked = String::new();
        for line in text.lines() {
            let line = line.replace("TRACK", "c_track");
            tracked += &line;
            tracked += if line.contains("c_track") { " \"UnMatched\"\n" } else { "\n" };
        }
        for (flags, options) in modes() {
            let theirs = spins(&tracked, flags, &folder).expect("Spin checks it");
            assert_eq!(ours(&plain, options), theirs, "{name}");
            assert_eq!(ours(&tracked, options), theirs, "{name}, tracked");
            stale += u32::from(spins(&plain, flags, &folder) != Some(theirs));
        }
    }
    assert!(stale > 0, "no model shows what Spin leaves behind");
    let _ = std::fs::remove_dir_all(folder);
}
