//! Small programs, one per construct, with the answer that their meaning demands.

use preempt_bool::{Dialect, Method, Options, Switches, check, parse};
use preempt_core::Verdict;

/// `None` holds for every number of switches; otherwise the smallest number that violates.
type Case = (&'static str, Dialect, Option<u32>, &'static str);

use Dialect::{Bopp, Boppo, Slam};

const CASES: &[Case] = &[
    (
        "arguments",
        Boppo,
        None,
        "void f(a, b) begin assert(a != b); end void main() begin f(T, F); end",
    ),
    (
        "arguments swapped",
        Boppo,
        Some(0),
        "void f(a, b) begin assert(a & !b); end void main() begin f(F, T); end",
    ),
    (
        "arguments are copies",
        Slam,
        None,
        "decl x; void f(a) begin a := !a; end void main() begin x := T; f(x); assert(x); end",
    ),
    ("constrain 1", Boppo, None, "decl x; void main() begin x := * constrain 'x; assert(x); end"),
    (
        "constrain 2",
        Boppo,
        None,
        "decl x, y; void main() begin x, y := *, * constrain ('x != 'y); assert(x != y); end",
    ),
    (
        "constrain 3",
        Boppo,
        None,
        "decl x; void main() begin x := F; x := * constrain ('x = x); assert(!x); end",
    ),
    (
        "constrain 4",
        Boppo,
        Some(0),
        "decl x; void main() begin x := * constrain (x | !x); assert(x); end",
    ),
    (
        "constrain that blocks",
        Boppo,
        None,
        "decl x; void main() begin x := T constrain (!'x); assert(F); end",
    ),
    (
        "constrain statement",
        Slam,
        None,
        "decl x; void main() begin x := *; constrain(x); assert(x); end",
    ),
    ("enforce", Boppo, None, "void main() begin decl x; enforce !x; x := *; assert(!x); end"),
    (
        "enforce after a call",
        Boppo,
        None,
        "decl g; void f() begin g := *; end void main() begin enforce g; f(); assert(g); end",
    ),
    (
        "fixpoint",
        Slam,
        None,
        "decl a, b, c; void main() begin a, b, c := F, T, *; while (*) do a, b, c := b, c, a; od assert(a | b | c); end",
    ),
    (
        "fixpoint reached",
        Slam,
        Some(0),
        "decl a, b, c; void main() begin a, b, c := F, T, F; while (*) do a, b, c := b, c, a; od assert(!(a & !b & !c)); end",
    ),
    (
        "function",
        Slam,
        None,
        "bool<2> f(a) begin return a, !a; end void main() begin decl x, y; x, y := f(*); assert(x != y); end",
    ),
    (
        "function swap",
        Slam,
        None,
        "bool<2> swap(a, b) begin return b, a; end void main() begin decl x, y; x, y := T, F; x, y := swap(x, y); assert(!x & y); end",
    ),
    (
        "return",
        Slam,
        Some(0),
        "bool f() begin return; end void main() begin decl x; x := f(); assert(x); end",
    ),
    (
        "return at the end",
        Slam,
        Some(0),
        "bool f() begin skip; end void main() begin decl x; x := f(); assert(!x); end",
    ),
    (
        "return stops",
        Slam,
        None,
        "decl g; void f() begin return; g := T; end void main() begin g := F; f(); assert(!g); end",
    ),
    ("uninitialised", Slam, Some(0), "decl g; void main() begin assert(g); end"),
    (
        "schoose",
        Slam,
        None,
        "decl g, x; void main() begin g := T; x := schoose[g, !g]; assert(x); x := schoose[!g, g]; assert(!x); end",
    ),
    ("schoose free", Slam, Some(0), "decl x; void main() begin x := schoose[F, F]; assert(x); end"),
    ("dead", Boppo, Some(0), "decl x; void main() begin x := T; dead x; assert(x); end"),
    ("abortif", Boppo, None, "decl x; void main() begin x := *; abortif x; assert(!x); end"),
    (
        "elsif",
        Slam,
        None,
        "decl a, x; void main() begin if (a) then x := T; elsif (!a) then x := T; else x := F; fi; assert(x); end",
    ),
    (
        "goto",
        Boppo,
        Some(0),
        "void main() begin goto A, B; A: skip; goto C; B: assert(F); C: skip; end",
    ),
    ("goto one way", Slam, None, "void main() begin goto A; assert(F); A: skip; end"),
    (
        "backward goto",
        Slam,
        Some(0),
        "decl int<2> n; void main() begin n := 0; L: n := n + 1; if (n != 3) then goto L; fi; Target: skip; end",
    ),
    (
        "integer labels",
        Bopp,
        Some(0),
        "decl x := 0; void main() begin 1: x := 1; 2: goto 4; 3: skip; 4: assert(!x); end",
    ),
    (
        "initial values",
        Bopp,
        None,
        "decl g := 1; decl h := 0; void main() begin assert(g & !h); end",
    ),
    (
        "braces",
        Slam,
        None,
        "decl {x>0}, {y==x}; void main() begin {x>0} := T; {y==x} := {x>0}; assert({y==x}); end",
    ),
    (
        "grouping in slam",
        Slam,
        Some(0),
        "decl a, b, c; void main() begin a, b, c := F, T, F; assert(a = b & c); end",
    ),
    (
        "grouping in boppo",
        Boppo,
        None,
        "decl a, b, c; void main() begin a, b, c := F, T, F; assert(a = b & c); end",
    ),
    (
        "integers",
        Slam,
        None,
        "decl int<3> n; void main() begin n := 7; n := n + 1; assert(n = 0); n := n - 1; assert(n > 6 & n >= 7 & !(n < 7) & n <= 7); end",
    ),
    ("any integer", Slam, Some(0), "decl int<3> n; void main() begin n := *; assert(n != 5); end"),
    (
        "recursion",
        Slam,
        None,
        "decl g; void f() begin if (*) then g := !g; f(); g := !g; fi; end void main() begin g := F; f(); assert(!g); end",
    ),
    (
        "recursion odd",
        Slam,
        Some(0),
        "decl g; void f() begin if (*) then g := !g; f(); fi; end void main() begin g := F; f(); assert(!g); end",
    ),
    (
        "mutual recursion",
        Slam,
        None,
        "decl g; bool even(x) begin decl r; if (*) then r := odd(!x); return !r; fi; return x; end bool odd(x) begin decl r; if (*) then r := even(!x); return !r; fi; return x; end void main() begin decl r; r := even(T); assert(r); end",
    ),
    (
        "shadowing",
        Slam,
        None,
        "decl x; void f() begin decl x; x := F; end void main() begin x := T; f(); assert(x); end",
    ),
    (
        "threads 1",
        Boppo,
        Some(1),
        "decl g; void f() begin assert(!g); end void main() begin g := F; start_thread f(); g := T; end",
    ),
    (
        "threads 2",
        Boppo,
        None,
        "decl g; void f() begin assert(g); end void main() begin g := T; start_thread f(); end",
    ),
    (
        "threads 3",
        Boppo,
        None,
        "void f(a, b) begin assert(a & !b); end void main() begin start_thread f(T, F); end",
    ),
    (
        "threads 4",
        Boppo,
        Some(1),
        "decl g; void main() begin decl l; g, l := F, T; start_thread goto child; g := T; end_thread; child: assert(l); assert(!g); end",
    ),
    (
        "threads 5",
        Boppo,
        None,
        "decl g; void f() begin assert(!g); end void main() begin g := F; start_thread f(); atomic_begin; g := T; g := F; atomic_end; end",
    ),
    (
        "threads 6",
        Boppo,
        Some(1),
        "decl g; void f() begin assert(!g); end void main() begin g := F; start_thread f(); g := T; g := F; end",
    ),
    (
        "threads 7",
        Boppo,
        None,
        "void f() begin end_thread; assert(F); end void main() begin start_thread f(); end",
    ),
    (
        "threads 8",
        Boppo,
        Some(4),
        "decl a, b; decl int<2> n; void f() begin decl int<2> l; l := n; n := l + 1; a := T; end void h() begin decl int<2> l; l := n; n := l + 1; b := T; end void main() begin a, b, n := F, F, 0; start_thread f(); start_thread h(); assume(a & b); assert(n = 2); end",
    ),
    (
        "a started thread waits",
        Boppo,
        None,
        "decl g; void f() begin assert(g); end void main() begin g := F; if (*) then g := T; start_thread f(); fi; end",
    ),
    (
        "thread variables",
        Slam,
        None,
        "thread_local decl p; decl g; void init() begin g := F; end thread a() begin p := T; g := T; assert(p); end thread b() begin p := F; assume(g); assert(!p); end",
    ),
    (
        "thread variables after init",
        Slam,
        Some(0),
        "decl g; void init() begin g := F; end decl p; thread a() begin assert(p); end thread b() begin p := T; end",
    ),
    (
        "numbered threads",
        Slam,
        Some(1),
        "decl g; void init() begin g := F; end void thread1() begin g := T; end void thread2() begin assume(g); Target: skip; end",
    ),
    ("slic error", Slam, Some(0), "void main() begin SLIC_ERROR: skip; end"),
    (
        "init",
        Slam,
        None,
        "decl g; void set(x) begin g := x; end void init() begin set(T); end thread a() begin assert(g); end thread b() begin g := g; end",
    ),
    (
        "recursion in an atomic section",
        Slam,
        None,
        "decl g; void init() begin g := F; end void h() begin g := T; if (*) then h(); fi; g := F; end thread a() begin atomic_begin; h(); atomic_end; end thread b() begin assert(!g); end",
    ),
    (
        "interrupted between argument and recursive procedure",
        Slam,
        Some(4),
        "decl a, b, c; void init() begin a, b, c := F, F, F; end void f(x) begin assume(x & a); if (*) then f(F); fi; assume(b); end thread p() begin f(!a); assert(a | !b | !c); end thread q() begin a := T; end thread r() begin c := T; a, b := F, T; end",
    ),
    ("peterson", Slam, None, PETERSON),
    (
        "atomic section in main",
        Slam,
        Some(0),
        "decl a; void main() begin atomic_begin; a := T; atomic_end; assert(F); end",
    ),
    (
        "thread variable with a value in main",
        Slam,
        Some(0),
        "thread_local decl p := T; void main() begin assert(!p); end",
    ),
    (
        "main calls itself",
        Slam,
        Some(0),
        "decl a, b; void init() begin a, b := F, F; end void main() begin if (!a) then a := T; main(); assert(!b); else b := T; fi end",
    ),
    (
        "a thread calls init",
        Slam,
        Some(0),
        "decl g; void init() begin g := F; end void main() begin assert(!g); g := T; init(); assert(g); end",
    ),
    (
        "a variable with the name of our flag",
        Slam,
        Some(1),
        "decl in_atomic_section, g; void init() begin in_atomic_section, g := F, F; end thread a() begin in_atomic_section := T; g := T; end thread b() begin assert(!g); end",
    ),
    (
        "dollar in names",
        Slam,
        Some(0),
        "decl $a, b$1; void f$() begin $a := T; end void main() begin f$(); assert(!$a); end",
    ),
    (
        "no semicolon before the end",
        Slam,
        Some(0),
        "decl a; bool f() begin return T end void main() begin while (F) do skip od; if (T) then a := f() else skip fi; assert(!a) end",
    ),
    (
        "underscore takes what nobody wants",
        Slam,
        Some(0),
        "decl a; decl int<2> n; (bool, int<2>, bool) f() begin return T, 3, F; end void main() begin a, n := F, 0; a, _, _ := f(); assert(n = 0); _, n := *, 2; _ := T; assert(!(a & n = 2)); end",
    ),
    (
        "a variable named underscore",
        Slam,
        Some(0),
        "decl _; void main() begin _ := T; assert(!_); end",
    ),
    ("main with a result", Slam, Some(0), "bool<2> main() begin assert(F); return T, F; end"),
    (
        "repeated labels",
        Slam,
        Some(0),
        "decl a; void main() begin a := F; L: L: skip; if (a) then SLIC_ERROR: skip; else SLIC_ERROR: skip; fi; end",
    ),
    (
        "repeated labels are places of their own",
        Slam,
        None,
        "decl a; void main() begin a := F; if (a) then SLIC_ERROR: skip; SLIC_ERROR: skip; fi; end",
    ),
    (
        "async",
        Slam,
        Some(1),
        "decl g0; void t1() begin end void t2() begin assert(g0); end void main() begin g0 := T; ASYNC_1: t1(); ASYNC_2: t2(); g0 := F; end",
    ),
    (
        "async among labels",
        Slam,
        Some(2),
        "decl g; void t() begin g := T; end void main() begin g := F; here: ASYNC_1: there: t(); assert(!g); end",
    ),
    (
        "async is no call",
        Slam,
        None,
        "decl g, e; void t() begin assume(e); g := T; end void main() begin g, e := F, F; ASYNC_1: t(); assert(!g); end",
    ),
    (
        "async of an assignment",
        Boppo,
        Some(2),
        "decl g; void main() begin g := F; ASYNC_1: g := T; assert(!g); end",
    ),
    (
        "async of a jump",
        Slam,
        Some(2),
        "decl g; void main() begin g := F; ASYNC_1: goto set; assert(!g); end_thread; set: g := T; end",
    ),
    (
        "a thread jumps before its start",
        Slam,
        Some(2),
        "decl g; void main() begin g := F; goto run; set: g := T; end_thread; run: start_thread goto child; assert(!g); end_thread; child: goto set; end",
    ),
    (
        "a thread starts inside an if",
        Slam,
        Some(2),
        "decl g; void main() begin decl l; g, l := F, T; start_thread goto child; assert(!g); end_thread; if (*) then child: if (l) then g := T; fi; fi; end",
    ),
    (
        "a place runs twice because its function does",
        Slam,
        Some(3),
        "decl a, b; void g() begin if (a) then b := T; fi; a := T; end void f() begin start_thread g(); end void main() begin a, b := F, F; f(); f(); assume(a); assert(!b); end",
    ),
    (
        "a place runs twice because its thread does",
        Slam,
        Some(5),
        "decl a, b; void g() begin if (a) then b := T; fi; a := T; end void f() begin start_thread g(); end void main() begin a, b := F, F; start_thread f(); start_thread f(); assume(a); assert(!b); end",
    ),
    (
        "threads started in a loop",
        Slam,
        Some(2),
        "decl g0; void t1() begin decl l; l, g0 := g0, F; if l then skip; else assert(F); fi; end void main() begin g0 := T; loop: ASYNC_1: t1(); goto loop; end",
    ),
    (
        "threads started in a loop with arguments",
        Slam,
        Some(3),
        "decl a, b; void t(x) begin if (x) then a := T; else b := T; fi; end void main() begin decl l; a, b, l := F, F, F; while (*) do start_thread t(l); l := !l; od; assert(!(a & b)); end",
    ),
    (
        "a thread that starts its like",
        Slam,
        Some(3),
        "decl int<2> n; void t() begin n := n + 1; start_thread t(); end void main() begin n := 0; start_thread t(); assert(n != 2); end",
    ),
    (
        "peterson without turn",
        Slam,
        Some(2),
        "decl a, b, ina, inb; void init() begin a, b, ina, inb := F, F, F, F; end thread p() begin assume(!b); a := T; ina := T; assert(!inb); ina := F; end thread q() begin assume(!a); b := T; inb := T; assert(!ina); inb := F; end",
    ),
];

const PETERSON: &str = "decl a, b, turn, ina, inb;
void init() begin a, b, turn, ina, inb := F, F, *, F, F; end
thread p() begin
  while (T) do a := T; turn := T; assume(!b | !turn); ina := T; assert(!inb); ina := F; a := F; od
end
thread q() begin
  while (T) do b := T; turn := F; assume(!a | turn); inb := T; assert(!ina); inb := F; b := F; od
end";

#[test]
fn every_construct_means_what_it_should() {
    for (name, dialect, expected, source) in CASES {
        let (program, _) =
            parse(source, name, *dialect).unwrap_or_else(|e| panic!("{name}: {}", e[0]));
        for method in [None, Some(Method::Direct), Some(Method::Lazy)] {
            let switches = Switches::Iterate(5);
            let report =
                check(&program, &Options { method, switches, ..Options::default() }).unwrap();
            let claim = &report.claim;
            // One number of switches alone must give what the series gives.
            for method in [method, Some(Method::Eager), Some(Method::Explicit)] {
                let alone = Options { method, switches: Switches::AtMost(1), ..Options::default() };
                let verdict = check(&program, &alone).unwrap().claim.verdict;
                if verdict == Verdict::Inconclusive(preempt_core::Stop::Depth) {
                    continue; // Recursion beyond what explicit search follows.
                }
                let is_violated = verdict == Verdict::Violated;
                assert_eq!(is_violated, expected.is_some_and(|k| k <= 1), "{name} {method:?}");
            }
            match expected {
                Some(k) => {
                    assert_eq!(
                        claim.verdict,
                        Verdict::Violated,
                        "{name} {method:?}: {}",
                        claim.sentence
                    );
                    assert_eq!(report.switches, Some(*k), "{name} {method:?}");
                }
                None => {
                    let holds =
                        matches!(claim.verdict, Verdict::Holds | Verdict::HoldsWithinBound(5));
                    assert!(holds, "{name} {method:?}: {}", claim.sentence);
                    // Without a method the answer is for every number of switches.
                    if method.is_none() {
                        assert_eq!(claim.verdict, Verdict::Holds, "{name}: {}", claim.sentence);
                    }
                }
            }
        }
    }
}

#[test]
fn a_counterexample_tells_its_story() {
    let source = "decl g;\nvoid init() begin g := F; end\nvoid set() begin g := T; end\n\
                  thread a() begin set(); end\nthread b() begin assume(g); assert(!g); end\n";
    let (program, _) = parse(source, "story.bp", Slam).unwrap();
    for method in [Method::Explicit, Method::Direct] {
        let options = Options { method: Some(method), ..Options::default() };
        let report = check(&program, &options).unwrap();
        let violation = report.claim.violation.unwrap();
        assert_eq!(
            (violation.line, violation.message.as_str()),
            (5, "assertion violated: assert(!g)")
        );
        let names: Vec<&str> = report.contexts.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(report.contexts[1].shared[0].1.to_string(), "T");
        assert_eq!(report.contexts[1].stack, [("b".to_string(), 0)]);
        let texts: Vec<&str> = violation.trace.steps.iter().map(|s| s.text.as_str()).collect();
        assert!(texts.contains(&"call set()") && texts.contains(&"g := T"), "{texts:?}");
        assert_eq!(violation.trace.cost().switches, 1);
    }
}

#[test]
fn printed_translations_are_sequential_programs() {
    let (program, _) = parse(PETERSON, "peterson.bp", Slam).unwrap();
    for method in [Method::Lazy, Method::Eager] {
        let text = preempt_bool::sequentialize(&program, method, 2, None).unwrap();
        assert!(text.contains("void main() begin") && text.contains("contextSwitch"), "{text}");
        let (again, warnings) = parse(&text, "printed.bp", Slam).unwrap();
        assert!(warnings.is_empty());
        let report = check(&again, &Options::default()).unwrap();
        assert!(matches!(report.claim.verdict, Verdict::Holds), "{}", report.claim.sentence);
    }
}

/// The program of the first page of the manual.
#[test]
fn the_example_of_the_manual_behaves_as_described() {
    let page = include_str!("../../../docs/src/boolean.md");
    let source = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let (program, _) = parse(source, "transfer.bp", Slam).unwrap();
    let report = check(&program, &Options::default()).unwrap();
    assert_eq!((report.claim.verdict, report.switches), (Verdict::Violated, Some(2)));
    let repaired = source
        .replace("  enough :=", "  atomic_begin;\n  enough :=")
        .replace("  fi;\n", "  fi;\n  atomic_end;\n");
    let (program, _) = parse(&repaired, "transfer.bp", Slam).unwrap();
    let report = check(&program, &Options::default()).unwrap();
    assert_eq!(report.claim.verdict, Verdict::Holds, "{}", report.claim.sentence);
}
