//! What channels order between threads: preempt's against std's own, unmodified.
//!
//! Where std's channels order more than they promise, the programs do not rely on it.

mod rust_crates;

mod library {
    pub(crate) use preempt::cell::UnsafeCell;
    pub(crate) use preempt::sync::{Arc, atomic, mpsc};
    pub(crate) use preempt::thread;
}
#[path = "channels/programs.rs"]
mod programs;

use preempt::{Check, FailureKind, Outcome};
use programs::PROGRAMS;
use rust_crates::Crate;
use std::time::Duration;

const MAIN: &str = r#"
mod library {
    pub use std::sync::{Arc, atomic, mpsc};
    pub use std::thread;
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);
    impl<T> UnsafeCell<T> {
        pub fn new(value: T) -> Self { UnsafeCell(std::cell::UnsafeCell::new(value)) }
        pub fn with<R>(&self, look: impl FnOnce(*const T) -> R) -> R { look(self.0.get()) }
        pub fn with_mut<R>(&self, change: impl FnOnce(*mut T) -> R) -> R { change(self.0.get()) }
    }
}
mod programs;
fn main() {
    let number: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    programs::PROGRAMS[number].2();
}
"#;

#[test]
fn a_channel_orders_what_it_promises() {
    for (name, races, body) in PROGRAMS {
        let report = Check::new().time(Duration::from_secs(60)).run(body);
        let failure = report.failure().map(|failure| &failure.kind);
        match (races, failure) {
            (true, Some(FailureKind::DataRace)) => {}
            (false, None) => assert!(matches!(report.outcome, Outcome::Holds), "{name}: {report}"),
            _ => panic!("{name}: {report}"),
        }
    }
}

#[test]
fn std_s_own_channels_do_so_too() {
    let text = include_str!("channels/programs.rs");
    let subject = Crate::new("", &[("src/main.rs", MAIN), ("src/programs.rs", text)]);
    let mut different = Vec::new();
    for (number, (name, races, _)) in PROGRAMS.iter().enumerate() {
        let number = number.to_string();
        let words = ["run", "--", "--json", "-q", "--time", "3s", "--", &number];
        let ended = subject.run(&words);
        let (_, value) = ended.tests().pop().unwrap_or_else(|| panic!("{}", ended.stderr));
        let kind = value["violation"]["kind"].as_str();
        let verdict = value["verdict"].as_str().unwrap_or_default();
        match (races, kind) {
            (true, Some("data_race")) => {}
            (false, None) if verdict.starts_with("holds") => {}
            _ => different.push(format!("{name}: {}", value["claim"])),
        }
    }
    assert!(different.is_empty(), "{different:#?}");
}
