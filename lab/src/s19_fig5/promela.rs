//! A counterexample as a Promela model with its never claim.
//!
//! One process per operation. An operation that is always enabled and changes
//! nothing becomes a loop on a local variable, so that a reduction which looks at
//! statements, as Spin's does, sees what the ample sets of the instance use.

use super::instance::Instance;
use std::fmt::Write;

/// The model's text.
pub(crate) fn model(instance: &Instance, title: &str) -> String {
    let mut out = format!(
        "/* {title}\n   Found by `lab s19-fig5`; the claim is the property automaton. */\n"
    );
    out.push_str("byte q = 0;\n");
    for letter in 0..instance.property.letters {
        let places: Vec<String> = (0..instance.label.len())
            .filter(|q| instance.label[*q] == letter)
            .map(|q| format!("q == {q}"))
            .collect();
        let condition = if places.is_empty() { "false".to_owned() } else { places.join(" || ") };
        let _ = writeln!(out, "#define letter{letter} ({condition})");
    }
    for (operation, next) in instance.next.iter().enumerate() {
        if next.iter().all(Option::is_none) {
            continue;
        }
        let idle = next.iter().enumerate().all(|(q, z)| *z == Some(q));
        if idle {
            let _ = writeln!(
                out,
                "\nactive proctype operation{operation}() {{ bit x = 0; do :: x = 0 od }}"
            );
            continue;
        }
        let _ = writeln!(out, "\nactive proctype operation{operation}() {{\n\tdo");
        for (q, target) in next.iter().enumerate() {
            if let Some(target) = target {
                let _ = writeln!(out, "\t:: d_step {{ q == {q} -> q = {target} }}");
            }
        }
        out.push_str("\tod\n}\n");
    }
    out.push_str("\nnever {\n");
    let property = &instance.property;
    let name = |s: usize| {
        let prefix = if property.accepting[s] { "accept" } else { "T0" };
        format!("{prefix}_S{s}")
    };
    for state in 0..property.states {
        let _ = writeln!(out, "{}:\n\tdo", name(state));
        let mut any = false;
        for (_, letter, target) in property.edges.iter().filter(|e| e.0 == state) {
            let _ = writeln!(out, "\t:: letter{letter} -> goto {}", name(*target));
            any = true;
        }
        if !any {
            let _ = writeln!(out, "\t:: false -> goto {}", name(state));
        }
        out.push_str("\tod;\n");
    }
    out.push_str("}\n");
    out
}
