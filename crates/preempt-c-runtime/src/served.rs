//! Calls of the kernel and of the C library that take the search several operations, as reports name them.
//!
//! `write` on an eventfd is a lock, a notification and a release; the program has called `write`. So an execution that keeps its
//! steps keeps for each of them which call it belongs to, and what the call returned.

use crate::descriptor_table::Descriptors;
use crate::record::Call;
use crate::runtime::Runtime;

/// The steps that the running thread takes from here on belong to one call, if steps are kept and it is not in the middle of
/// another call. Returns what [`end`] has to be given.
pub(crate) fn begin(
    runtime: &mut Runtime,
    describe: impl FnOnce(&Descriptors) -> String,
) -> Option<usize> {
    if runtime.record.is_none() || runtime.me().call.is_some() {
        return None;
    }
    let text = describe(&runtime.descriptors);
    let calls = &mut runtime.record.as_mut()?.calls;
    let call = calls.len();
    calls.push(Call { text, result: None });
    runtime.me().call = Some(call);
    Some(call)
}

/// The call is over.
pub(crate) fn end(runtime: &mut Runtime, call: Option<usize>, result: Option<isize>) {
    let Some(call) = call else { return };
    runtime.me().call = None;
    if let Some(record) = &mut runtime.record {
        record.calls[call].result = result;
    }
}
