//! Functions that are compiled when they are called for the first time.
//!
//! A model with many inlines has many control states, of which a search may never reach half, and most of
//! the others only inside indivisible sequences, which have code of their own ([`super::sequence`]). To compile a
//! function takes about as long as to call it ten thousand times, so each is compiled when it is needed.
//!
//! **Invariant:** an address is published only after its code is complete and executable, and stays valid
//! as long as the table lives.

use super::code::CodeError;
use super::cranelift::{Assembly, Effort, FunctionId, Helper};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A table of functions, by number.
pub(crate) struct OnDemand {
    functions: Vec<AtomicPtr<u8>>,
    assembly: Mutex<Growing>,
    /// Time that compilation took, in nanoseconds.
    compiling: AtomicU64,
}

/// An assembly whose functions are in use already.
struct Growing(Option<Assembly>);

impl Drop for Growing {
    fn drop(&mut self) {
        if let Some(assembly) = self.0.take() {
            // SAFETY: the functions are only reachable through the table, which is being dropped.
            unsafe { assembly.free() };
        }
    }
}

impl OnDemand {
    /// A table of so many functions, none of which is compiled yet.
    pub(crate) fn new(helpers: &[Helper], effort: Effort, count: usize) -> Result<Self, CodeError> {
        Ok(OnDemand {
            functions: (0..count).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(),
            assembly: Mutex::new(Growing(Some(Assembly::new(helpers, effort)?))),
            compiling: AtomicU64::new(0),
        })
    }

    /// Where a function starts. Where it cannot be compiled, `otherwise` is called in its place.
    #[inline(always)]
    pub(crate) fn address(
        &self,
        number: usize,
        otherwise: *const u8,
        make: impl FnOnce(&mut Assembly) -> Result<FunctionId, CodeError>,
    ) -> *const u8 {
        let known = self.functions[number].load(Ordering::Acquire);
        match known.is_null() {
            false => known,
            true => self.compile(number, otherwise, make),
        }
    }

    #[cold]
    #[inline(never)]
    fn compile(
        &self,
        number: usize,
        otherwise: *const u8,
        make: impl FnOnce(&mut Assembly) -> Result<FunctionId, CodeError>,
    ) -> *const u8 {
        let mut growing = self.assembly.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.functions[number].load(Ordering::Acquire);
        if !known.is_null() {
            return known;
        }
        let start = Instant::now();
        let made = growing.0.as_mut().and_then(|assembly| {
            let function = make(assembly).ok()?;
            assembly.publish(function).ok()
        });
        let taken = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.compiling.fetch_add(taken, Ordering::Relaxed);
        let address = made.unwrap_or(otherwise);
        self.functions[number].store(address.cast_mut(), Ordering::Release);
        address
    }

    /// Seconds that compilation took until now.
    pub(crate) fn seconds(&self) -> f64 {
        self.compiling.load(Ordering::Relaxed) as f64 * 1e-9
    }
}
