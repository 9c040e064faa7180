//! Stutter invariance, the SI normal form and the complement of small automata.

mod random;

use preempt_ltl::{
    Automaton, Cube, Edge, Invariance, Word, accepts, automaton_invariance, complement, disjoint,
    formula_invariance, holds, is_normal_form, normal_form, parse, translate_both,
};
use random::{Random, cases, formula};

/// An automaton over one proposition from (source, value, target) and accepting states.
fn automaton(states: usize, edges: &[(u32, bool, u32)], accepting: &[u32]) -> Automaton {
    let mut lists = vec![Vec::new(); states];
    for (source, value, target) in edges {
        lists[*source as usize].push(Edge { target: *target, label: Cube::literal(0, *value) });
    }
    let accepting = (0..states as u32).map(|s| accepting.contains(&s)).collect();
    Automaton::new(vec![0], lists, accepting)
}

/// The paper's three automata: Figs. 1, 3 and 4.
fn b1() -> Automaton {
    automaton(2, &[(0, false, 0), (0, false, 1), (1, true, 1)], &[1])
}

fn b2() -> Automaton {
    let edges =
        [(0, false, 1), (0, false, 2), (2, false, 1), (1, false, 2), (1, true, 3), (3, true, 3)];
    automaton(4, &edges, &[3])
}

fn b3() -> Automaton {
    let edges = [(0, false, 0), (0, true, 0), (0, false, 1), (1, false, 1)];
    automaton(2, &edges, &[1])
}

#[test]
fn b3_becomes_b4() {
    let b4 = normal_form(&b3()).unwrap();
    assert_eq!((b4.len(), b4.edge_count()), (4, 9));
    assert!(is_normal_form(&b4));
    assert!(!is_normal_form(&b3()));
    assert!(!is_normal_form(&b1()));
}

#[test]
fn hand_written_claims_are_decided() {
    for claim in [b1(), b2(), b3()] {
        assert_eq!(automaton_invariance(&claim), Invariance::Invariant);
    }
    // p exactly in the second position.
    let second = automaton(3, &[(0, false, 1), (1, true, 2), (2, false, 2)], &[2]);
    assert!(matches!(automaton_invariance(&second), Invariance::Sensitive(_)));
    assert_eq!(automaton_invariance(&Automaton::default()), Invariance::Invariant);
}

#[test]
fn formulas_with_next_are_decided() {
    for (text, invariant) in [
        ("X p", false),
        ("[](p -> X p)", true),
        ("<>(p && X !p)", true),
        ("<>(!p && X p)", true),
        ("[]<>(p && X !p)", true),
        ("(Xp U Xq) || !X(p U q)", true),
        ("p U (q && X r)", false),
        ("X X <> p", false),
        ("[](p -> <>q)", true),
        ("[]<> X p", true),
    ] {
        let answer = formula_invariance(&parse(text).unwrap().formula).unwrap();
        assert_eq!(answer == Invariance::Invariant, invariant, "{text}");
        assert!(answer != Invariance::Unknown, "{text}");
    }
}

/// A sensitive formula has a witness; an invariant one has none among random words.
#[test]
fn invariance_agrees_with_stuttered_words() {
    let mut random = Random::multiplied(3, 8);
    let (mut invariant, mut sensitive) = (0, 0);
    for _ in 0..cases(300) {
        let size = 2 + (random.next_number() % 8) as usize;
        let candidate = formula(&mut random, size, 3, true);
        match formula_invariance(&candidate).unwrap() {
            Invariance::Invariant => {
                invariant += 1;
                for _ in 0..50 {
                    let word = Word::random(3, || random.next_number());
                    let position =
                        random.next_number() as usize % (word.stem.len() + word.cycle.len());
                    let longer = word.stutter(position, 2 + random.next_number() as usize % 2);
                    assert_eq!(
                        holds(&candidate, &word),
                        holds(&candidate, &longer),
                        "{candidate} on {word:?}"
                    );
                }
            }
            Invariance::Sensitive(word) => {
                sensitive += 1;
                assert!(differs(&candidate, &word), "{candidate}: {word:?} is no witness");
            }
            Invariance::Unknown => panic!("{candidate}"),
        }
    }
    assert!(invariant > 50 && sensitive > 50, "{invariant} {sensitive}");
}

/// Some repetitions of letters of `word` satisfy the formula and some do not.
fn differs(formula: &preempt_ltl::Formula, word: &Word) -> bool {
    let letters = word.stem.len() + word.cycle.len();
    let twice =
        Word { stem: [word.stem.clone(), word.cycle.clone()].concat(), cycle: word.cycle.clone() };
    let mut answers = [false; 2];
    let mut random = Random::multiplied(letters as u64, 8);
    for base in [word, &twice] {
        for _ in 0..2000 {
            let mut longer = base.clone();
            for position in (0..base.stem.len() + base.cycle.len()).rev() {
                longer = longer.stutter(position, 1 + (random.next_number() % 4) as usize);
            }
            answers[usize::from(holds(formula, &longer))] = true;
        }
        answers[usize::from(holds(formula, base))] = true;
    }
    answers[0] && answers[1]
}

/// Theorem 2: same language, and Definition 12 holds.
#[test]
fn normal_forms_keep_the_language() {
    let mut random = Random::multiplied(4, 8);
    for _ in 0..cases(200) {
        let size = 2 + (random.next_number() % 9) as usize;
        let candidate = formula(&mut random, size, 3, false);
        let (yes, no) = translate_both(&candidate).unwrap();
        let normal = normal_form(&yes).unwrap();
        assert!(is_normal_form(&normal), "{candidate}");
        assert!(disjoint(&normal, &no), "{candidate}");
        let opposite = normal_form(&no).unwrap();
        assert!(disjoint(&normal, &opposite), "{candidate}");
        for _ in 0..40 {
            let word = Word::random(3, || random.next_number());
            let truth = holds(&candidate, &word);
            assert_eq!(accepts(&normal, &word), truth, "{candidate} on {word:?}");
            assert_eq!(accepts(&opposite, &word), !truth, "!{candidate} on {word:?}");
        }
    }
}

#[test]
fn complements_have_the_opposite_words() {
    let mut random = Random::multiplied(5, 8);
    let mut built = 0;
    let total = cases(300);
    for _ in 0..total {
        let states = 1 + (random.next_number() % 4) as usize;
        let mut edges = Vec::new();
        for source in 0..states as u32 {
            for target in 0..states as u32 {
                for value in [false, true] {
                    if random.next_number() % 5 < 2 {
                        edges.push((source, value, target));
                    }
                }
            }
        }
        let accepting: Vec<u32> =
            (0..states as u32).filter(|_| random.next_number().is_multiple_of(2)).collect();
        let original = automaton(states, &edges, &accepting);
        let Some(opposite) = complement(&original) else {
            continue;
        };
        built += 1;
        assert!(disjoint(&original, &opposite), "{original:?}");
        for _ in 0..60 {
            let word = Word::random(1, || random.next_number());
            assert_ne!(accepts(&original, &word), accepts(&opposite, &word), "{original:?}");
        }
    }
    assert!(built * 6 > total * 5, "{built}");
}
