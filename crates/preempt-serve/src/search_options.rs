//! Options of a search that the page offers besides the property and the bound: which there are, what they mean and what
//! goes together is known to the caller of the server, which has them as options of a command.

use preempt_verify::Request;
use serde_json::{Value, json};

/// One option.
#[derive(Clone, Debug)]
pub struct SearchOption {
    /// Its name, such as `--store`.
    pub name: String,
    /// What it means.
    pub about: String,
    /// What it may be, if that is a list.
    pub values: Vec<String>,
    /// What its value is called, if it has one: without a value it is on or off.
    pub value_name: Option<String>,
}

/// What a check is about, as far as options depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// A Boolean program.
    Boolean,
    /// What finite executions can show.
    Finite,
    /// Whether a never claim can be completed.
    Completion,
    /// Infinite executions.
    Infinite,
}

/// Reads options and their values as a command would; the error is what it would say.
type Read = dyn Fn(&[String], About) -> Result<Request, String> + Send + Sync;

/// The options of a search.
pub struct SearchOptions {
    /// Those that are offered.
    pub list: Vec<SearchOption>,
    /// Reads what was chosen.
    pub read: Box<Read>,
}

impl SearchOptions {
    /// What the page shows.
    pub(crate) fn shown(&self) -> Value {
        let one = |option: &SearchOption| {
            json!({
                "name": option.name, "about": option.about, "values": option.values,
                "value_name": option.value_name,
            })
        };
        self.list.iter().map(one).collect()
    }

    /// The request behind what was chosen: options, each with its value if it has one. `words` are those of what the page
    /// asks for elsewhere, such as a bound, which has to go together with them.
    pub(crate) fn request(
        &self,
        chosen: &[(String, Option<String>)],
        mut words: Vec<String>,
        about: About,
    ) -> Result<Request, String> {
        for (name, value) in chosen {
            if !self.list.iter().any(|option| option.name == *name) {
                return Err(format!("`{name}` is not offered here"));
            }
            // A value never becomes another option.
            words.push(
                value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}")),
            );
        }
        (self.read)(&words, about)
    }
}
