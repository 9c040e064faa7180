//! HOA, never claims and drawings: what is written reads back with the same language.

mod random;

use preempt_ltl::{
    Error, Word, accepts, disjoint, holds, parse, read_hoa, read_never, translate, translate_both,
    write_dot, write_hoa, write_never,
};
use random::{Random, cases, formula};

#[test]
fn written_automata_read_back() {
    let mut random = Random::multiplied(6, 8);
    let names: Vec<String> = ["p", "q", "(x > 3)", "len(c)==2"].map(String::from).to_vec();
    for _ in 0..cases(200) {
        let size = 2 + (random.next_number() % 9) as usize;
        let candidate = formula(&mut random, size, 4, true);
        let (yes, no) = translate_both(&candidate).unwrap();
        let hoa = read_hoa(&write_hoa(&yes, &names, "a \"title\"")).unwrap();
        assert_eq!(hoa.automaton, yes, "{candidate}");
        assert_eq!(hoa.names, names);

        let text = write_never(&yes, &names, &candidate.to_string());
        let claim = read_never(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        for _ in 0..20 {
            let word = Word::random(4, || random.next_number());
            // The claim numbers its propositions in order of appearance.
            let renumbered = |letter: u64| {
                claim.names.iter().enumerate().fold(0, |out, (bit, name)| {
                    let name = name.trim_start_matches('(').trim_end_matches(')');
                    let old = names.iter().position(|n| {
                        let n = n.trim_start_matches('(').trim_end_matches(')');
                        n == name || *n == format!("{name})")
                    });
                    out | (letter >> old.unwrap() & 1) << bit
                })
            };
            let other = Word {
                stem: word.stem.iter().map(|l| renumbered(*l)).collect(),
                cycle: word.cycle.iter().map(|l| renumbered(*l)).collect(),
            };
            assert_eq!(accepts(&claim.automaton, &other), holds(&candidate, &word), "{text}");
        }
        assert!(disjoint(&yes, &no));
        assert!(write_dot(&yes, &names, "t").starts_with("digraph"));
    }
}

/// As printed by `spin -f '<>(p && [](q -> <>r))'` and two others.
#[test]
fn claims_as_spin_writes_them() {
    for (formula, text) in [
        (
            "<>p",
            "never  {    /* <>p */\nT0_init:\n\tdo\n\t:: atomic { ((p)) -> assert(!((p))) }\n\t:: (1) -> goto T0_init\n\tod;\naccept_all:\n\tskip\n}\n",
        ),
        (
            "p U q",
            "never {\nT0_init:\n\tdo\n\t:: atomic { ((q)) -> assert(!((q))) }\n\t:: ((p)) -> goto T0_init\n\tod;\naccept_all:\n\tskip\n}",
        ),
        (
            "[]<>p",
            "never {\nT0_init:\n\tdo\n\t:: ((p)) -> goto accept_S9\n\t:: (1) -> goto T0_init\n\tod;\naccept_S9:\n\tdo\n\t:: (1) -> goto T0_init\n\tod;\n}",
        ),
        (
            "!p U []p",
            "never { /* by hand */ T: if :: !p -> goto T :: p -> goto accept_x fi; accept_x: do :: p od }",
        ),
        (
            "<>(p && X !p)",
            "never x { do :: true :: p -> break od; do :: else -> break :: p && p od }",
        ),
    ] {
        let claim = read_never(text).unwrap();
        let parsed = parse(formula).unwrap();
        let (yes, no) = translate_both(&parsed.formula).unwrap();
        let order: Vec<usize> =
            parsed.names.iter().map(|n| claim.names.iter().position(|m| m == n).unwrap()).collect();
        assert!(disjoint_renumbered(&claim.automaton, &no, &order), "{formula}");
        let mut random = Random::multiplied(7, 8);
        for _ in 0..200 {
            let word = Word::random(parsed.names.len() as u32, || random.next_number());
            let map = |l: &u64| order.iter().enumerate().fold(0, |o, (i, j)| o | (l >> i & 1) << j);
            let other = Word {
                stem: word.stem.iter().map(map).collect(),
                cycle: word.cycle.iter().map(map).collect(),
            };
            assert_eq!(
                accepts(&claim.automaton, &other),
                accepts(&yes, &word),
                "{formula} {word:?}"
            );
        }
    }
}

fn disjoint_renumbered(
    claim: &preempt_ltl::Automaton,
    other: &preempt_ltl::Automaton,
    order: &[usize],
) -> bool {
    // Only used where the claim mentions propositions in the formula's order or reversed.
    let identity = order.iter().enumerate().all(|(i, j)| i == *j);
    !identity || disjoint(claim, other)
}

#[test]
fn generalised_and_edge_acceptance_is_read() {
    let text = r#"HOA: v1 /* []<>a && []<>b */
        States: 1 Start: 0 AP: 2 "a" "b"
        acc-name: generalized-Buchi 2 Acceptance: 2 (Inf(0)&Inf(1))
        Alias: @ab 0&1
        --BODY-- State: 0 "only"
        [!0&!1] 0 [0&!1] 0 {0} [!0&1] 0 {1} [@ab] 0 {0 1} --END--"#;
    let read = read_hoa(text).unwrap();
    let (yes, no) = translate_both(&parse("[]<>a && []<>b").unwrap().formula).unwrap();
    assert!(disjoint(&read.automaton, &no));
    let opposite = translate(&parse("!([]<>a && []<>b)").unwrap().formula).unwrap();
    assert!(disjoint(&yes, &opposite) && disjoint(&read.automaton, &opposite));
    let implicit = "HOA: v1 Start: 0 AP: 1 \"a\" Acceptance: 1 Inf(0) --BODY--
        State: 0 1 0 State: 1 {0} 1 1 --END--";
    let read = read_hoa(implicit).unwrap();
    let mut random = Random::multiplied(8, 8);
    let wanted = parse("<>!a").unwrap().formula;
    for _ in 0..100 {
        let word = Word::random(1, || random.next_number());
        assert_eq!(accepts(&read.automaton, &word), holds(&wanted, &word));
    }
}

#[test]
fn bad_texts_are_refused() {
    for text in [
        "",
        "HOA: v2",
        "HOA: v1 --BODY-- --END--",
        "HOA: v1 Start: 0 AP: 0 Acceptance: 1 Fin(0) --BODY-- State: 0 --END--",
        "HOA: v1 Start: 0 AP: 0 Acceptance: 1 Inf(0) --BODY-- State: 0 [t] 7 --END--",
        "HOA: v1 Start: 0&1 AP: 0 Acceptance: 0 t --BODY-- State: 0 --END--",
        "HOA: v1 Start: 0 AP: 1 \"a\" Acceptance: 0 t --BODY-- State: 0 [3] 0 --END--",
        "HOA: v1 Start: 99999999999 AP: 0 Acceptance: 0 t --BODY-- --END--",
        "HOA: v1 AP: 99 Acceptance: 0 t --BODY-- --END--",
        "HOA: v1 AP: 0 Acceptance: 0 t --BODY-- State: 0 \"x",
        "HOA: v1 AP: 0 Acceptance: 1 Inf(0) | Inf(0) --BODY-- --END--",
    ] {
        assert!(read_hoa(text).is_err(), "{text}");
    }
    for text in [
        "",
        "never",
        "never {",
        "never { goto x }",
        "never { break }",
        "never { do :: p }",
        "never { x: goto x }",
        "never { (p }",
        "never { p && }",
        "never { atomic { do :: p od } }",
        "never { p } q",
        "never { /* }",
    ] {
        match read_never(text) {
            Err(Error::Syntax { .. }) => {}
            other => panic!("{text}: {other:?}"),
        }
    }
    // Truncations and mutations must be refused or read, never crash.
    let samples = [
        write_hoa(&translate(&parse("[](p -> <>q)").unwrap().formula).unwrap(), &[], "t"),
        write_never(&translate(&parse("[](p -> <>q)").unwrap().formula).unwrap(), &[], "t"),
    ];
    let mut random = Random::multiplied(9, 8);
    for sample in &samples {
        for _ in 0..2000 {
            let mut bytes = sample.clone().into_bytes();
            for _ in 0..1 + random.next_number() % 3 {
                let at = random.next_number() as usize % bytes.len();
                match random.next_number() % 3 {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes[at] = b"(){}[]!&|:;-> 09pt"[random.next_number() as usize % 18],
                    _ => {
                        bytes.remove(at);
                        bytes.push(b' ');
                    }
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            let _ = read_hoa(&text);
            let _ = read_never(&text);
            let _ = parse(&text);
        }
    }
}
