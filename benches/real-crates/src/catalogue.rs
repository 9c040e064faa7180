//! The published crates whose loom tests are run, and how each wants to be built.

/// One published crate with loom tests.
pub(crate) struct Crate {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// The `--cfg` that switches it to loom.
    pub(crate) cfg: &'static str,
    pub(crate) features: &'static [&'static str],
    /// The integration test with the models; the library's own tests if there is none.
    pub(crate) test: Option<&'static str>,
    /// Only tests whose names begin so.
    pub(crate) prefixes: &'static [&'static str],
    /// Crates it depends on that use loom themselves, with their versions.
    pub(crate) with: &'static [(&'static str, &'static str)],
    /// What distinguishes it from another entry for the same crate.
    pub(crate) part: &'static str,
}

impl Crate {
    /// Its name in the table, and on the command line.
    pub(crate) fn label(&self) -> String {
        format!("{}{}", self.name, self.part)
    }
}

const UTILS: (&str, &str) = ("crossbeam-utils", "0.8.23");
const PARKING: (&str, &str) = ("parking", "2.2.1");
const LISTENER: (&str, &str) = ("event-listener", "5.4.2");
const QUEUE: (&str, &str) = ("concurrent-queue", "2.5.0");

const PLAIN: Crate = Crate {
    name: "",
    version: "",
    cfg: "loom",
    features: &[],
    test: None,
    prefixes: &[],
    with: &[],
    part: "",
};

/// loom itself: its own integration tests, over either tool.
pub(crate) const LOOM: &str = "loom";

/// shuttle itself, likewise.
pub(crate) const SHUTTLE: &str = "shuttle";

/// In the order of the table.
pub(crate) const CRATES: &[Crate] = &[
    Crate {
        name: "tokio",
        version: "1.53.1",
        features: &["full", "test-util"],
        prefixes: &["sync::"],
        ..PLAIN
    },
    Crate {
        name: "tokio",
        version: "1.53.1",
        features: &["full", "test-util"],
        prefixes: &["runtime::"],
        part: "-runtime",
        ..PLAIN
    },
    Crate { name: "sharded-slab", version: "0.1.7", features: &["loom"], ..PLAIN },
    Crate {
        name: "concurrent-queue",
        version: "2.5.0",
        features: &["loom"],
        test: Some("loom"),
        ..PLAIN
    },
    Crate { name: "bytes", version: "1.12.1", ..PLAIN },
    Crate { name: "left-right", version: "0.11.8", test: Some("loom"), ..PLAIN },
    Crate {
        name: "oneshot",
        version: "0.1.13",
        cfg: "oneshot_loom",
        features: &["loom", "async"],
        test: Some("loom"),
        ..PLAIN
    },
    Crate { name: "parking", version: "2.2.1", features: &["loom"], test: Some("loom"), ..PLAIN },
    Crate {
        name: "crossbeam-epoch",
        version: "0.9.21",
        cfg: "crossbeam_loom",
        features: &["loom"],
        test: Some("loom"),
        with: &[UTILS],
        ..PLAIN
    },
    Crate {
        name: "crossbeam-utils",
        version: "0.8.23",
        cfg: "crossbeam_loom",
        features: &["loom"],
        ..PLAIN
    },
    Crate {
        name: "event-listener",
        version: "5.4.2",
        features: &["loom"],
        test: Some("loom"),
        with: &[PARKING, QUEUE],
        ..PLAIN
    },
    Crate { name: "thingbuf", version: "0.1.6", ..PLAIN },
    Crate {
        name: "async-lock",
        version: "3.5.0",
        features: &["loom"],
        test: Some("loom"),
        with: &[LISTENER, PARKING, QUEUE],
        ..PLAIN
    },
    Crate { name: LOOM, version: "0.7.2", features: &["futures"], ..PLAIN },
    Crate { name: SHUTTLE, version: "0.9.9", cfg: "shuttle_tests", ..PLAIN },
];
