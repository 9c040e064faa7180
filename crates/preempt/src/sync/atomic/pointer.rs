//! Atomic pointers.

use super::access::*;
use super::methods::shared_methods;
use crate::rt::{self, Slot};
use preempt_explore::{Action, Update};
use std::panic::Location;
use std::sync::atomic::Ordering::{self, SeqCst};

/// `std::sync::atomic::AtomicPtr` under control.
pub struct AtomicPtr<T> {
    slot: Slot,
    inner: std::sync::atomic::AtomicPtr<T>,
}

impl<T> AtomicPtr<T> {
    const BITS: u8 = 64;

    fn pack(value: *mut T) -> u64 {
        value.expose_provenance() as u64
    }

    fn unpack(value: u64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(value as usize)
    }
}

shared_methods!(AtomicPtr<T>, *mut T);
