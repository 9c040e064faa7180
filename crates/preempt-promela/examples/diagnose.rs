//! Prints every diagnostic of the models named on the command line: `cargo run --example diagnose FILE…`.

use std::path::Path;

use preempt_promela::syntax::{ParseOptions, parse, render::render_all};

fn main() {
    let loader = |including: &str, path: &str| {
        std::fs::read(Path::new(including).parent().unwrap_or(Path::new("")).join(path))
    };
    for file in std::env::args().skip(1) {
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{file}: {error}");
                continue;
            }
        };
        let parsed = parse(&file, text, &ParseOptions { defines: Vec::new(), loader: &loader });
        let verdict = if parsed.model.is_some() { "accepted" } else { "refused" };
        print!("{}", render_all(&parsed.diagnostics, &parsed.sources, false));
        println!("{file}: {verdict}");
    }
}
