//! Any text as a formula; small ones are translated as well.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(parsed) = preempt_ltl::parse(text)
        && text.len() < 40
    {
        let _ = preempt_ltl::translate(&parsed.formula);
    }
});
