//! Hints, with the shapes of `std::hint`.

pub use preempt::hint::spin_loop;

/// Says that this place cannot be reached. A model that reaches it fails.
///
/// # Safety
/// Safe here; unsafe in std, whose behaviour is then undefined.
///
/// # Panics
/// Always.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    unreachable!("unreachable_unchecked was reached!");
}
