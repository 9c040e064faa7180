//! Any text as a saved trace, and as a schedule: what is read is written the same way.
#![no_main]

use libfuzzer_sys::fuzz_target;
use preempt_explore::Schedule;
use preempt_report::SavedTrace;

fuzz_target!(|text: &str| {
    if let Ok(saved) = SavedTrace::from_json(text) {
        let again = SavedTrace::from_json(&saved.to_json());
        assert_eq!(again.as_ref(), Ok(&saved));
    }
    let _ = text.parse::<Schedule>();
});
