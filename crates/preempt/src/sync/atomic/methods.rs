//! The operations that all atomics have, over two functions of each type: `pack`, from a value to the number that
//! the explorer works with, and `unpack`, its inverse; `first` is what `pack` is for a new atomic.
//!
//! A macro and not a generic type, because `std`'s atomics have no trait in common. It uses the imports of the
//! module that calls it.

macro_rules! shared_methods {
    ($name:ident $(<$parameter:ident>)?, $type:ty) => {
        impl $(<$parameter>)? $name $(<$parameter>)? {
            const_fn! {
                /// A new atomic.
                #[track_caller]
                pub fn new(value: $type) -> Self {
                    Self {
                        slot: Slot::of(Self::first(value)),
                        inner: std::sync::atomic::$name::new(value),
                    }
                }
            }

            fn initial(&self) -> u64 {
                Self::pack(self.inner.load(SeqCst))
            }

            #[track_caller]
            fn operate(
                &self,
                action: Action,
                first: u64,
                second: u64,
                order: Orders,
            ) -> Option<u64> {
                let (slot, initial, shown) = (&self.slot, || self.initial(), Self::SHOWN);
                let atomic = Atomic { slot, initial, shown };
                match Self::BITS {
                    64 => operate_wide(atomic, action, (first, second), order),
                    _ => operate(atomic, action, (first, second), order),
                }
            }

            /// Reads.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $type {
                check_load(order);
                match self.operate(Action::Load, 0, 0, order.into()) {
                    Some(value) => Self::unpack(value),
                    None => self.inner.load(order),
                }
            }

            /// Writes.
            #[track_caller]
            pub fn store(&self, value: $type, order: Ordering) {
                check_store(order);
                if self.operate(Action::Store, Self::pack(value), 0, order.into()).is_none() {
                    self.inner.store(value, order);
                }
            }

            /// Writes and returns the value before.
            #[track_caller]
            pub fn swap(&self, value: $type, order: Ordering) -> $type {
                let action = Action::Update(Update::Swap, Self::BITS);
                match self.operate(action, Self::pack(value), 0, order.into()) {
                    Some(before) => Self::unpack(before),
                    None => self.inner.swap(value, order),
                }
            }

            /// Writes `new` if the value is `expected`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                expected: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                self.compare(expected, new, success, failure, false)
            }

            #[track_caller]
            fn compare(
                &self,
                expected: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
                may_fail: bool,
            ) -> Result<$type, $type> {
                check_load(failure);
                let (a, b) = (Self::pack(expected), Self::pack(new));
                let orders = Orders::comparing(success, failure, may_fail);
                match self.operate(Action::CompareExchange, a, b, orders) {
                    Some(before) if before == a && !(may_fail && rt::has_failed()) => {
                        Ok(Self::unpack(before))
                    }
                    Some(before) => Err(Self::unpack(before)),
                    None => self.inner.compare_exchange(expected, new, success, failure),
                }
            }

            /// As [`Self::compare_exchange`], but it may fail although the value is `expected`, which counts as
            /// a stale choice.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                expected: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                self.compare(expected, new, success, failure, true)
            }

            /// Reads and updates until no other thread interferes. A failure for no reason would only
            /// repeat it, so there is none.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut update: impl FnMut($type) -> Option<$type>,
            ) -> Result<$type, $type> {
                let mut before = self.load(fetch_order);
                while let Some(next) = update(before) {
                    match self.compare_exchange(before, next, set_order, fetch_order) {
                        Ok(value) => return Ok(value),
                        Err(value) => before = value,
                    }
                }
                Err(before)
            }

            /// The same under its newer name.
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                update: impl FnMut($type) -> Option<$type>,
            ) -> Result<$type, $type> {
                self.fetch_update(set_order, fetch_order, update)
            }

            /// The same for an update that always has a result. Returns the value before.
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut update: impl FnMut($type) -> $type,
            ) -> $type {
                match self.fetch_update(set_order, fetch_order, |before| Some(update(before))) {
                    Ok(before) | Err(before) => before,
                }
            }

            /// The value, through exclusive access: no other thread can look.
            pub fn get_mut(&mut self) -> &mut $type {
                let Some(runtime) = rt::current() else { return self.inner.get_mut() };
                let initial = self.initial();
                let object = self.slot.object(runtime, || initial);
                rt::take_back(runtime, object);
                match rt::lend(object) {
                    // SAFETY: the low bytes of the number are a valid value of the type (of a
                    // pointer: an exposed address), and only valid values can be written through
                    // the reference, whose lifetime is that of the exclusive borrow.
                    Some(value) => unsafe { &mut *std::ptr::from_mut(value).cast::<$type>() },
                    None => self.inner.get_mut(),
                }
            }

            /// The value, ending the atomic.
            pub fn into_inner(mut self) -> $type {
                *self.get_mut()
            }

            /// The value, read as plain memory: no operation, and a data race with atomic writes that are
            /// not ordered before or after it.
            ///
            /// # Safety
            /// No thread may write at the same time.
            #[doc(hidden)]
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $type {
                let value = peek(&self.slot, || self.initial());
                if let Some(runtime) = rt::current() {
                    rt::touch_atomic(runtime, &self.slot, Location::caller());
                }
                Self::unpack(value)
            }
        }

        impl $(<$parameter>)? Default for $name $(<$parameter>)? {
            #[track_caller]
            fn default() -> Self {
                Self::from(Self::unpack(0))
            }
        }

        impl $(<$parameter>)? From<$type> for $name $(<$parameter>)? {
            #[track_caller]
            fn from(value: $type) -> Self {
                Self::new(value)
            }
        }

        impl $(<$parameter>)? std::fmt::Debug for $name $(<$parameter>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                Self::unpack(peek(&self.slot, || self.initial())).fmt(f)
            }
        }
    };
}

pub(super) use shared_methods;
