//! What one model did, and how it is kept between runs.

/// What one model did.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) test: String,
    pub(crate) outcome: Outcome,
    pub(crate) executions: u64,
    pub(crate) seconds: f64,
    /// Processor seconds of its process, a share of them if there are several models in it.
    pub(crate) processor: f64,
}

/// How a model ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Holds,
    /// Time was up.
    WithinBound(Option<u64>),
    /// The bound that the test asks for was completed.
    AskedBound(u64),
    /// Failed, with the kind and the preemptions if known. `expected` by `#[should_panic]`.
    Failed {
        kind: String,
        preemptions: Option<u64>,
        expected: bool,
    },
    /// The test failed, but no model of it did: it asked for more than its models' verdicts.
    TestFailed,
    /// A test without models of its own passed.
    Passed,
    /// The process died, or did not end.
    Crashed(String),
}

impl Row {
    /// As JSON, to be kept for later runs.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let (word, number, expected) = match &self.outcome {
            Outcome::Holds => ("holds".to_string(), None, false),
            Outcome::WithinBound(bound) => ("bound".to_string(), *bound, false),
            Outcome::AskedBound(bound) => ("asked".to_string(), Some(*bound), false),
            Outcome::Failed { kind, preemptions, expected } => {
                (format!("failed {kind}"), *preemptions, *expected)
            }
            Outcome::TestFailed => ("test failed".to_string(), None, false),
            Outcome::Passed => ("passed".to_string(), None, false),
            Outcome::Crashed(how) => (format!("crashed {how}"), None, false),
        };
        serde_json::json!({
            "test": self.test, "outcome": word, "number": number, "expected": expected,
            "executions": self.executions, "seconds": self.seconds, "processor": self.processor,
        })
    }

    /// What [`Row::to_json`] wrote.
    pub(crate) fn from_json(value: &serde_json::Value) -> Option<Row> {
        let word = value["outcome"].as_str()?;
        let number = value["number"].as_u64();
        let outcome = match word.split_once(' ') {
            None if word == "holds" => Outcome::Holds,
            None if word == "passed" => Outcome::Passed,
            None if word == "asked" => Outcome::AskedBound(number.unwrap_or(0)),
            Some(("failed", kind)) => Outcome::Failed {
                kind: kind.to_string(),
                preemptions: number,
                expected: value["expected"].as_bool()?,
            },
            Some(("crashed", how)) => Outcome::Crashed(how.to_string()),
            Some(_) => Outcome::TestFailed,
            None => Outcome::WithinBound(number),
        };
        Some(Row {
            test: value["test"].as_str()?.to_string(),
            outcome,
            executions: value["executions"].as_u64()?,
            seconds: value["seconds"].as_f64()?,
            processor: value["processor"].as_f64().unwrap_or(0.0),
        })
    }
}
