//! What `preempt run` asks for, read from the environment (`preempt-exchange` says what there is).

use preempt_exchange::{Request, VARIABLE};
use std::ffi::{CStr, c_char};

/// What is asked in this environment, if the process was started by `preempt run`. `Err` if it was written by another version.
pub(crate) fn from_environment(environment: *const *const c_char) -> Result<Option<Request>, ()> {
    let mut at = environment;
    // SAFETY: an environment is a list of terminated strings that ends with a null pointer.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            let entry = CStr::from_ptr(*at).to_bytes();
            let value =
                entry.strip_prefix(VARIABLE.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
            if let Some(value) = value {
                return serde_json::from_slice(value).map(Some).map_err(drop);
            }
            at = at.add(1);
        }
    }
    Ok(None)
}
