//! States as bytes and back.
//!
//! The encoding is postcard's: short, without field names, the same for equal values as long as their
//! types serialise in a fixed order. **Invariant:** equal bytes are equal states, which the stores rely
//! on; [`check`] says where a type breaks it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Appends the encoding of a state.
pub(crate) fn encode<S: Serialize>(state: &S, bytes: &mut Vec<u8>) -> Result<(), String> {
    let taken = std::mem::take(bytes);
    *bytes = postcard::to_extend(state, taken)
        .map_err(|error| format!("a state cannot be serialised: {error}"))?;
    Ok(())
}

/// The state behind an encoding.
pub(crate) fn decode<S: DeserializeOwned>(bytes: &[u8]) -> Result<S, String> {
    postcard::from_bytes(bytes)
        .map_err(|error| format!("a state cannot be read back from its bytes: {error}"))
}

/// Whether a state survives the way to bytes and back.
pub(crate) fn check<S>(state: &S, bytes: &[u8]) -> Result<(), String>
where
    S: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let back: S = decode(bytes)?;
    if back != *state {
        return Err(format!(
            "serialisation loses a part of the state: {state:?} comes back as {back:?}"
        ));
    }
    let mut again = Vec::with_capacity(bytes.len());
    encode(&back, &mut again)?;
    if again != bytes {
        return Err(format!(
            "equal states serialise differently (a hashed map or set inside?): {state:?}"
        ));
    }
    Ok(())
}
