//! A shared object with the C of a model, loaded.

use crate::Trouble;
use crate::variables::{can_be_restored, offset_of, variables};
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
    /// How many of the initial bytes C copies itself; those behind them are of its untracked variables.
    copied: usize,
    /// Where the untracked variables lie, and how long they are.
    places: Vec<(usize, usize)>,
    untracked: Vec<String>,
    initial_local: Vec<Vec<u8>>,
}

impl Loaded {
    /// Loads an object that was made of the text for a model with so many process types.
    /// Variables that are named here are not restored.
    pub(crate) fn open(path: &Path, proctypes: usize, but: &[String]) -> Result<Self, Trouble> {
        let bytes = std::fs::read(path)?;
        let file =
            object::File::parse(&*bytes).map_err(|error| Trouble::Load(error.to_string()))?;
        let found = variables(&file, but);
        let entry_offset = offset_of(&file, ENTRY).filter(|_| can_be_restored(&file, &found));
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
        let mut initial = bytes(-1)?;
        let copied = initial.len();
        let base = entry_offset.map(|offset| (entry as usize).wrapping_sub(offset as usize));
        let places: Vec<(usize, usize)> = match base {
            Some(base) => {
                found.iter().map(|v| (base.wrapping_add(v.offset as usize), v.size)).collect()
            }
            None => Vec::new(),
        };
        for (at, size) in &places {
            // SAFETY: a variable of the object, which stays loaded; the symbol table says where and how long it is.
            initial
                .extend_from_slice(unsafe { std::slice::from_raw_parts(*at as *const u8, *size) });
        }
        let untracked = found.into_iter().map(|v| v.name).collect();
        // SAFETY: it adds sizes up.
        let matched = usize::try_from(unsafe { size(MATCHED) }).unwrap_or(0).min(copied);
        let initial_local: Result<_, Trouble> = (0..proctypes as c_int).map(bytes).collect();
        let (entry, initial_local) = (Mutex::new(entry), initial_local?);
        Ok(Loaded { entry, initial, matched, copied, places, untracked, initial_local })
    }
}

impl Library for Loaded {
    fn initial(&self) -> &[u8] {
        &self.initial
    }

    fn untracked(&self) -> (&[String], bool) {
        (&self.untracked, !self.places.is_empty())
    }

    fn matched(&self) -> usize {
        self.matched
    }

    fn initial_local(&self, proctype: usize) -> &[u8] {
        &self.initial_local[proctype]
    }

    fn call(&self, call: Call<'_>) -> Result<i32, Ending> {
        let mut what = vec![
            call.fragment.0 as c_int,
            call.process.map_or(-1, |id| id as c_int),
            call.process_count as c_int,
            c_int::from(call.output.is_some()),
            call.processes.len() as c_int,
        ];
        what.extend(call.processes.iter().flat_map(|it| [it.id as c_int, it.proctype as c_int]));
        let (mut value, mut text, mut length) = (0, null(), 0);
        let entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        let (tracked, variables) = call.tracked.split_at_mut(self.copied);
        let mut from = &*variables;
        for (at, size) in &self.places {
            let (bytes, rest) = from.split_at(*size);
            // SAFETY: as in `open`; the lock keeps other calls away.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), *at as *mut u8, *size) };
            from = rest;
        }
        // SAFETY: the numbers and bytes are as many as the text was written for: both follow from the model.
        // Nothing of ours is on the stack between here and where a call that fails continues. Only one call
        // is made at a time.
        let ending = unsafe {
            (*entry)(
                what.as_ptr(),
                call.globals.as_mut_ptr(),
                tracked.as_mut_ptr(),
                call.locals.as_mut_ptr(),
                call.local_tracked.as_mut_ptr(),
                &mut value,
                &mut text,
                &mut length,
            )
        };
        let mut to = variables;
        for (at, size) in &self.places {
            let (bytes, rest) = to.split_at_mut(*size);
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(*at as *const u8, bytes.as_mut_ptr(), *size) };
            to = rest;
        }
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
