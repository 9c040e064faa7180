//! Values that are made when first used, once per execution.

pub use crate::lazy_static;
pub use preempt::facade::{Lazy, LazyStatic, initialize};
