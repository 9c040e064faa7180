//! Values as people see them.

use std::fmt;

/// The value of a variable at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Value {
    /// A number.
    Int(i64),
    /// A named constant, or anything else that is shown as it is.
    Name(String),
    /// The content of a channel, oldest message first.
    Queue(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(n) => write!(f, "{n}"),
            Value::Name(s) => f.write_str(s),
            Value::Queue(messages) => {
                f.write_str("[")?;
                for (i, message) in messages.iter().enumerate() {
                    if i > 0 {
                        f.write_str(" | ")?;
                    }
                    f.write_str(message)?;
                }
                f.write_str("]")
            }
        }
    }
}
