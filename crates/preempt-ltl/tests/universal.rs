//! States that are said to accept every word, against complementation.

mod random;

use preempt_ltl::{Automaton, complement, translate};
use random::{Random, cases, formula};

#[test]
fn universal_states_accept_every_word() {
    let mut random = Random::multiplied(3, 8);
    let (mut universal, mut missed) = (0, 0);
    for _ in 0..cases(400) {
        let size = 2 + (random.next_number() % 9) as usize;
        let candidate = formula(&mut random, size, 3, true);
        let automaton = translate(&candidate).unwrap();
        let states = 0..automaton.len() as u32;
        let edges: Vec<_> = states.clone().map(|state| automaton.edges(state).to_vec()).collect();
        let accepting: Vec<_> = states.clone().map(|state| automaton.accepting(state)).collect();
        let found = automaton.universal();
        for state in states {
            let from = Automaton::new(vec![state], edges.clone(), accepting.clone());
            let Some(others) = complement(&from) else { continue };
            let is_universal = others.is_language_empty();
            assert!(!found[state as usize] || is_universal, "{candidate}, state {state}");
            universal += u32::from(is_universal);
            missed += u32::from(is_universal && !found[state as usize]);
        }
    }
    println!("{universal} universal states, {missed} of them not seen");
    assert!(universal > 50 && missed * 20 < universal, "{missed} of {universal}");
}
