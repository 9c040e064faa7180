//! Prints a Boolean program as a Promela model: `cargo run --example to_promela -- FILE.bp [K]`.
//! With K, the model counts context switches and allows so many.

use preempt_bool::{Dialect, parse, to_promela};

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: to_promela FILE.bp [K]");
        std::process::exit(2);
    };
    let switches = std::env::args().nth(2).and_then(|k| k.parse().ok());
    let source = std::fs::read_to_string(&path).unwrap_or_else(|e| {
        eprintln!("{path}: {e}");
        std::process::exit(2);
    });
    match parse(&source, &path, Dialect::Slam) {
        Ok((program, _)) => match to_promela(&program, switches) {
            Some(model) => print!("{model}"),
            None => {
                eprintln!("{path}: recursive programs and atomic sections have no Promela form")
            }
        },
        Err(errors) => {
            errors.iter().for_each(|e| eprintln!("{e}"));
            std::process::exit(2);
        }
    }
}
