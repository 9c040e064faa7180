//! How structs and enums of this crate are written and read with `serde`.
//!
//! The derive macros would do the same. But this crate is compiled once more for the library that is linked into programs, and there
//! they would take longer to compile than everything else.
//!
//! **Invariant:** every field is written, and a field that is missing or unknown is an error: both sides are of one version.

/// Makes a struct whose fields are written and read under their names.
macro_rules! record {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$meta:meta])* pub $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$meta])* pub $field: $type,)*
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;
                const FIELDS: &[&str] = &[$(stringify!($field)),*];
                let mut out = serializer.serialize_struct(stringify!($name), FIELDS.len())?;
                $(out.serialize_field(stringify!($field), &self.$field)?;)*
                out.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Fields;

                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name;

                    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        out.write_str(stringify!($name))
                    }

                    fn visit_map<M: serde::de::MapAccess<'de>>(
                        self,
                        mut map: M,
                    ) -> Result<$name, M::Error> {
                        use serde::de::Error;
                        $(let mut $field: Option<$type> = None;)*
                        while let Some(key) = map.next_key::<String>()? {
                            match key.as_str() {
                                $(stringify!($field) => $field = Some(map.next_value()?),)*
                                other => return Err(Error::custom(format!("unknown: {other}"))),
                            }
                        }
                        Ok($name {
                            $($field: $field
                                .ok_or_else(|| Error::missing_field(stringify!($field)))?,)*
                        })
                    }
                }

                from.deserialize_struct(stringify!($name), &[$(stringify!($field)),*], Fields)
            }
        }
    };
}

/// Makes an enum without fields whose variants are written and read under their names.
macro_rules! choice {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $($(#[$meta:meta])* $variant:ident,)*
        }
    ) => {
        $(#[$about])*
        pub enum $name {
            $($(#[$meta])* $variant,)*
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(match self {
                    $($name::$variant => stringify!($variant),)*
                })
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let name = <String as serde::Deserialize>::deserialize(from)?;
                match name.as_str() {
                    $(stringify!($variant) => Ok($name::$variant),)*
                    other => Err(serde::de::Error::custom(format!("unknown: {other}"))),
                }
            }
        }
    };
}

pub(crate) use {choice, record};
