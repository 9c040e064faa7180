//! Random formulas and never claims over two propositions, `p` and `q`.

use preempt_testing::Random;
use std::fmt::Write;

/// A formula of this depth.
pub(crate) fn formula(random: &mut Random, depth: u32) -> String {
    if depth == 0 {
        return random.pick(&["p", "q", "!p", "!q"]).to_string();
    }
    let (a, b) = (formula(random, depth - 1), formula(random, depth - 1));
    match random.below(8) {
        0 | 1 => format!("[] ({a})"),
        2 => format!("<> ({a})"),
        3 => format!("(({a}) U ({b}))"),
        4 => format!("(({a}) V ({b}))"),
        5 => format!("(({a}) -> ({b}))"),
        6 => format!("(({a}) && ({b}))"),
        _ => format!("(({a}) || ({b}))"),
    }
}

const GUARDS: &[&str] = &["p", "q", "!p", "!q", "p && q", "p && !q", "!p && !q", "true", "else"];

/// A claim of some states with random moves, some of which assert something, and one that may be left for its end.
pub(crate) fn claim(random: &mut Random) -> String {
    let states = 2 + random.below(2);
    let accepting = random.below(states);
    let name = |at: u64| if at == accepting { format!("accept_{at}") } else { format!("n{at}") };
    let mut text = String::from("never {\n");
    for at in 0..states {
        let _ = write!(text, "{}: do", name(at));
        for number in 0..1 + random.below(3) {
            let guard = match random.pick(GUARDS) {
                "else" if number == 0 => "p",
                guard => guard,
            };
            let guard = if guard == "else" { guard.to_string() } else { format!("({guard})") };
            let _ = match random.below(5) {
                0 => write!(text, " :: {guard} -> break"),
                1 if guard != "else" => {
                    write!(text, " :: atomic {{ {guard} -> assert(!{guard}) }}")
                }
                _ => write!(text, " :: {guard} -> goto {}", name(random.below(states))),
            };
            if guard == "else" {
                break;
            }
        }
        text += " od;\n";
    }
    text + "}\n"
}
