//! Published crates with tests for loom or shuttle, and how each is built.

/// The tool that a crate's tests are written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    ForLoom,
    ForShuttle,
}

/// One published crate with tests for loom or shuttle.
pub(crate) struct Crate {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) written: Written,
    /// The `--cfg` that switches it to the tool.
    pub(crate) cfg: &'static str,
    pub(crate) features: &'static [&'static str],
    /// The integration test with the models; the library's own tests if there is none.
    pub(crate) test: Option<&'static str>,
    /// Only tests whose names begin so.
    pub(crate) prefixes: &'static [&'static str],
    /// Crates it depends on that use the tool themselves, with their versions.
    pub(crate) with: &'static [(&'static str, &'static str)],
    /// Crates it depends on that use the tool in their own tests only, and are changed to use it in others', too.
    pub(crate) exposed: &'static [(&'static str, &'static str)],
    /// What distinguishes it from another entry for the same crate.
    pub(crate) part: &'static str,
    /// What has to be known to read its numbers.
    pub(crate) remark: &'static str,
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
    written: Written::ForLoom,
    cfg: "loom",
    features: &[],
    test: None,
    prefixes: &[],
    with: &[],
    exposed: &[],
    part: "",
    remark: "",
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
    Crate {
        name: SHUTTLE,
        version: "0.9.9",
        written: Written::ForShuttle,
        cfg: "shuttle_tests",
        ..PLAIN
    },
];

const TOKIO: (&str, &str) = ("tokio", "1.53.1");
const RESIZE: (&str, &str) = ("mpmc-resize", "0.1.4");
const SAA: (&str, &str) = ("saa", "5.6.2");
const SDD: (&str, &str) = ("sdd", "4.8.11");
const CORDYCEPS: (&str, &str) = ("cordyceps", "0.3.5");

/// Switches of single crates. All of them are on for each of these, so that what they depend on is compiled once.
const OWN: &str = "multishot_loom --cfg diatomic_waker_loom --cfg async_event_loom --cfg st3_loom";

/// Said of a crate with a garbage collector that no tool controls.
const COLLECTOR: &str = "The list of collectors, their states and the epoch are in statics that are atomics of std, also \
    under loom, and are kept from execution to execution. Which thread frees what, and who finds a fence on its way, depends on \
    them. preempt says that threads share something that it does not see, and gives no verdict on two models; loom calls all \
    three explored after one execution each.";

/// Crates that preempt was first tried on when it was otherwise finished, in the order of their table.
pub(crate) const FURTHER: &[Crate] = &[
    Crate { name: "saa", version: "5.6.2", cfg: OWN, features: &["loom"], ..PLAIN },
    Crate { name: "multishot", version: "0.3.2", cfg: OWN, ..PLAIN },
    Crate { name: "diatomic-waker", version: "0.2.3", cfg: OWN, ..PLAIN },
    Crate { name: "async-event", version: "0.2.1", cfg: OWN, ..PLAIN },
    Crate { name: "st3", version: "0.4.1", cfg: OWN, test: Some("integration"), ..PLAIN },
    Crate { name: "haphazard", version: "0.1.8", test: Some("loom"), ..PLAIN },
    Crate {
        name: "nblf-queue",
        version: "0.3.0",
        features: &["std", "dynamic"],
        with: &[RESIZE],
        ..PLAIN
    },
    Crate {
        name: "nblf-queue",
        version: "0.3.0",
        written: Written::ForShuttle,
        cfg: "shuttle",
        features: &["std", "dynamic"],
        with: &[RESIZE],
        part: "-shuttle",
        ..PLAIN
    },
    Crate {
        name: "sdd",
        version: "4.8.11",
        cfg: OWN,
        features: &["loom"],
        with: &[SAA],
        remark: COLLECTOR,
        ..PLAIN
    },
    Crate { name: "cordyceps", version: "0.3.5", ..PLAIN },
    Crate { name: "tachyonix", version: "0.3.1", cfg: "tachyonix_loom", ..PLAIN },
    Crate {
        name: "scc",
        version: "3.8.8",
        cfg: OWN,
        features: &["loom"],
        with: &[SAA, SDD],
        remark: "Built on sdd, whose collector is in atomics of std: see there. The bitmaps of its buckets are atomics of std, \
            too. Where a thread does different things after the same observations, preempt explores schedules one by one and \
            gives no verdict; loom calls all models explored, those of `HashIndex` after one execution each.",
        ..PLAIN
    },
    Crate {
        name: "maitake-sync",
        version: "0.3.0",
        with: &[CORDYCEPS],
        remark: "loom's two failures are its limit of 1,000 branches, reached by threads that wait.",
        ..PLAIN
    },
    Crate {
        name: "arcshift",
        version: "0.4.10",
        written: Written::ForShuttle,
        cfg: "shuttle",
        features: &["shuttle"],
        // One of its others takes minutes, and there are many.
        prefixes: &["tests::simple::"],
        remark: "Only the tests in `simple`: single ones of the others take minutes.",
        ..PLAIN
    },
    Crate { name: "boxcar", version: "0.2.14", features: &["loom"], test: Some("loom"), ..PLAIN },
    Crate {
        name: "relay_channel",
        version: "0.1.2",
        exposed: &[TOKIO],
        remark: "The crate's own instructions ask for a tokio that is under control of loom in the tests of others, too: \
            `all(test, loom)` is replaced by `loom` in the published one, for both tools. tokio counts waiting receivers in \
            an atomic of std there; where two threads come to it, preempt sees that they share something that it does not \
            see, and gives no verdict.",
        ..PLAIN
    },
    Crate { name: "burstq", version: "0.2.0", ..PLAIN },
    Crate { name: "swap-buffer-queue", version: "0.2.1", ..PLAIN },
];
