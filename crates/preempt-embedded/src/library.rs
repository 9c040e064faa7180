//! A shared object with the C of a model, loaded.

use crate::Trouble;
use libloading::Library as Object;
use preempt_promela::embedded::{Call, ENTRY, Ending, INITIAL, Library, MATCHED, SIZES};
use std::ffi::{c_char, c_int, c_long};
use std::path::Path;
use std::ptr::null;
use std::sync::{Mutex, PoisonError};

/// More bytes of C than this in a state are a mistake.
const MOST_BYTES: usize = 1 << 20;

type Entry = unsafe extern "C" fn(
    *const c_int,
    *mut c_int,
    *mut u8,
    *mut c_int,
    *mut u8,
    *mut c_int,
    *mut *const c_char,
    *mut usize,
) -> c_int;

/// The C of a model. It is never unloaded, because its handlers of signals stay.
pub(crate) struct Loaded {
    /// Held during a call.
    entry: Mutex<Entry>,
    initial: Vec<u8>,
    matched: usize,
    initial_local: Vec<Vec<u8>>,
}

impl Loaded {
    /// Loads an object that was made of the text for a model with so many process types.
    pub(crate) fn open(path: &Path, proctypes: usize) -> Result<Self, Trouble> {
        let trouble = |error: libloading::Error| Trouble::Load(error.to_string());
        // SAFETY: the object was made of the text that this project writes around the model's C. The C
        // itself may do anything, which the caller was told and asked for.
        let object = unsafe { Object::new(path) }.map_err(trouble)?;
        let object: &'static Object = Box::leak(Box::new(object));
        // SAFETY: the text defines these functions with these signatures.
        let (install, size, initial, entry) = unsafe {
            (
                *object.get::<unsafe extern "C" fn()>(b"preempt_install\0").map_err(trouble)?,
                *object
                    .get::<unsafe extern "C" fn(c_int) -> c_long>(SIZES.as_bytes())
                    .map_err(trouble)?,
                *object
                    .get::<unsafe extern "C" fn(c_int, *mut u8)>(INITIAL.as_bytes())
                    .map_err(trouble)?,
                *object.get::<Entry>(ENTRY.as_bytes()).map_err(trouble)?,
            )
        };
        // SAFETY: it only replaces handlers of signals, and the object stays.
        unsafe { install() };
        let bytes = |ty: c_int| {
            // SAFETY: it adds sizes up.
            let length = usize::try_from(unsafe { size(ty) });
            let length = length.ok().filter(|length| *length <= MOST_BYTES).ok_or_else(|| {
                Trouble::Load("c_state and c_track make a state of more than a megabyte".into())
            })?;
            let mut bytes = vec![0; length];
            // SAFETY: it writes as many bytes as `size` says.
            unsafe { initial(ty, bytes.as_mut_ptr()) };
            Ok(bytes)
        };
        let initial = bytes(-1)?;
        // SAFETY: it adds sizes up.
        let matched = usize::try_from(unsafe { size(MATCHED) }).unwrap_or(0).min(initial.len());
        let initial_local: Result<_, Trouble> = (0..proctypes as c_int).map(bytes).collect();
        Ok(Loaded { entry: Mutex::new(entry), initial, matched, initial_local: initial_local? })
    }
}

impl Library for Loaded {
    fn initial(&self) -> &[u8] {
        &self.initial
    }

    fn matched(&self) -> usize {
        self.matched
    }

    fn initial_local(&self, proctype: usize) -> &[u8] {
        &self.initial_local[proctype]
    }

    fn call(&self, call: Call<'_>) -> Result<i32, Ending> {
        let (proctype, pid) = match call.process {
            Some((proctype, pid)) => (proctype as c_int, pid as c_int),
            None => (-1, 0),
        };
        let what = [
            call.fragment.0 as c_int,
            proctype,
            pid,
            call.process_count as c_int,
            c_int::from(call.output.is_some()),
        ];
        let (mut value, mut text, mut length) = (0, null(), 0);
        let entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the numbers and bytes are as many as the text was written for: both follow from the model.
        // Nothing of ours is on the stack between here and where a call that fails continues. Only one call
        // is made at a time.
        let ending = unsafe {
            (*entry)(
                what.as_ptr(),
                call.globals.as_mut_ptr(),
                call.tracked.as_mut_ptr(),
                call.locals.as_mut_ptr(),
                call.local_tracked.as_mut_ptr(),
                &mut value,
                &mut text,
                &mut length,
            )
        };
        if let Some(output) = call.output
            && length > 0
        {
            // SAFETY: the text belongs to the object and holds so many bytes; the lock is still held.
            let printed = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
            output.push_str(&String::from_utf8_lossy(printed));
        }
        match usize::try_from(ending).ok().and_then(|ending| ending.checked_sub(1)) {
            None => Ok(value),
            Some(at) => Err(Ending::ALL.get(at).copied().unwrap_or(Ending::Abort)),
        }
    }
}
