//! Atomic pointers.

use super::access::*;
use super::methods::shared_methods;
use crate::rt::{self, Initial, Shown, Slot};
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
    const SHOWN: Option<Shown> = None;

    fn pack(value: *mut T) -> u64 {
        value.expose_provenance() as u64
    }

    fn unpack(value: u64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(value as usize)
    }

    const fn first(value: *mut T) -> Initial {
        Initial::Pointer(value.cast_const().cast())
    }
}

shared_methods!(AtomicPtr<T>, *mut T);

impl<T> std::fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Pointer::fmt(&Self::unpack(peek(&self.slot, || self.initial())), f)
    }
}

/// Arithmetic on addresses, by comparing and exchanging: what is kept inside is not the address itself.
impl<T> AtomicPtr<T> {
    #[track_caller]
    fn change(&self, order: Ordering, change: impl FnMut(*mut T) -> *mut T) -> *mut T {
        let fetch_order = match order {
            Ordering::AcqRel => Ordering::Acquire,
            Ordering::Release => Ordering::Relaxed,
            order => order,
        };
        self.update(order, fetch_order, change)
    }

    /// Moves the pointer on by so many values; returns the one before.
    #[track_caller]
    pub fn fetch_ptr_add(&self, count: usize, order: Ordering) -> *mut T {
        self.change(order, |pointer| pointer.wrapping_add(count))
    }

    /// Moves the pointer back by so many values; returns the one before.
    #[track_caller]
    pub fn fetch_ptr_sub(&self, count: usize, order: Ordering) -> *mut T {
        self.change(order, |pointer| pointer.wrapping_sub(count))
    }

    /// Moves the pointer on by so many bytes; returns the one before.
    #[track_caller]
    pub fn fetch_byte_add(&self, count: usize, order: Ordering) -> *mut T {
        self.change(order, |pointer| pointer.wrapping_byte_add(count))
    }

    /// Moves the pointer back by so many bytes; returns the one before.
    #[track_caller]
    pub fn fetch_byte_sub(&self, count: usize, order: Ordering) -> *mut T {
        self.change(order, |pointer| pointer.wrapping_byte_sub(count))
    }

    /// Sets bits of the address; returns the pointer before.
    #[track_caller]
    pub fn fetch_or(&self, bits: usize, order: Ordering) -> *mut T {
        self.change(order, |pointer| pointer.map_addr(|address| address | bits))
    }

    /// Keeps these bits of the address only; returns the pointer before.
    #[track_caller]
    pub fn fetch_and(&self, bits: usize, order: Ordering) -> *mut T {
        self.change(order, |pointer| pointer.map_addr(|address| address & bits))
    }

    /// Flips bits of the address; returns the pointer before.
    #[track_caller]
    pub fn fetch_xor(&self, bits: usize, order: Ordering) -> *mut T {
        self.change(order, |pointer| pointer.map_addr(|address| address ^ bits))
    }
}
