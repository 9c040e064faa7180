//! JSON of plain data, written without a serialiser: `preempt` is a dev-dependency of other
//! projects, and its pages must not cost them the compilation of one.
//!
//! The text is what `serde_json` writes for the same data, but for the exponents of very large and
//! very small numbers.

use std::fmt::Write;

/// Data that can be written as JSON.
pub(crate) trait PlainJson {
    fn write(&self, out: &mut String);
}

/// The text of some data.
pub(crate) fn to_text(data: &impl PlainJson) -> String {
    let mut out = String::new();
    data.write(&mut out);
    out
}

/// Implements [`PlainJson`] for a struct as an object with these fields.
macro_rules! plain_object {
    ($type:ident $(<$life:lifetime>)? { $($field:ident),* $(,)? }) => {
        impl $(<$life>)? $crate::plain_json::PlainJson for $type $(<$life>)? {
            fn write(&self, out: &mut String) {
                out.push('{');
                let mut separator = "";
                $(
                    out.push_str(separator);
                    out.push_str(concat!("\"", stringify!($field), "\":"));
                    $crate::plain_json::PlainJson::write(&self.$field, out);
                    separator = ",";
                )*
                let _ = separator;
                out.push('}');
            }
        }
    };
}
pub(crate) use plain_object;

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl PlainJson for $type {
            fn write(&self, out: &mut String) {
                let _ = write!(out, "{self}");
            }
        })*
    };
}
numbers!(bool u8 i8 u32 u64 usize i64);

impl PlainJson for f64 {
    fn write(&self, out: &mut String) {
        // JSON has no infinities; the shortest text that reads back as the same number.
        let _ = if self.is_finite() { write!(out, "{self:?}") } else { write!(out, "null") };
    }
}

impl PlainJson for str {
    fn write(&self, out: &mut String) {
        out.push('"');
        for c in self.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' => {
                    let _ = write!(out, "\\u{:04x}", c as u32);
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

impl PlainJson for String {
    fn write(&self, out: &mut String) {
        self.as_str().write(out);
    }
}

impl<T: PlainJson + ?Sized> PlainJson for &T {
    fn write(&self, out: &mut String) {
        (**self).write(out);
    }
}

impl<T: PlainJson> PlainJson for Option<T> {
    fn write(&self, out: &mut String) {
        match self {
            Some(value) => value.write(out),
            None => out.push_str("null"),
        }
    }
}

impl<T: PlainJson> PlainJson for [T] {
    fn write(&self, out: &mut String) {
        out.push('[');
        for (index, item) in self.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            item.write(out);
        }
        out.push(']');
    }
}

impl<T: PlainJson, const N: usize> PlainJson for [T; N] {
    fn write(&self, out: &mut String) {
        self.as_slice().write(out);
    }
}

impl<T: PlainJson> PlainJson for Vec<T> {
    fn write(&self, out: &mut String) {
        self.as_slice().write(out);
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),*);)*) => {
        $(impl<$($name: PlainJson),*> PlainJson for ($($name),*) {
            fn write(&self, out: &mut String) {
                $(
                    out.push(if $index == 0 { '[' } else { ',' });
                    self.$index.write(out);
                )*
                out.push(']');
            }
        })*
    };
}
tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
}

#[cfg(all(test, feature = "json"))]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_a_serialiser() {
        let strings = vec!["a \"b\" \\ <c>\n\r\t\u{8}\u{c}\u{1}\u{7f}é\u{2028}", ""];
        assert_eq!(to_text(&strings), serde_json::to_string(&strings).unwrap());
        for number in [0.0, 1.0, 0.1, 1e-9, 123_456.789, f64::NAN] {
            assert_eq!(to_text(&number), serde_json::to_string(&number).unwrap());
        }
        let tuple = (1_u32, Some(-2_i64), None::<u8>, vec![(true, "x"), (false, "y")]);
        assert_eq!(to_text(&tuple), serde_json::to_string(&tuple).unwrap());
    }
}
