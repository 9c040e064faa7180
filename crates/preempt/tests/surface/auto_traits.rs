//! Which auto traits the types have: once with std's names and once with the facade's.

use super::{cell, sync, task, thread, time};

/// For every type: `Send`, `Sync`, `Unpin`, `UnwindSafe`, `RefUnwindSafe`.
pub(crate) fn auto_traits() -> Vec<(&'static str, [bool; 5])> {
    use std::panic::{RefUnwindSafe, UnwindSafe};

    struct Has<T: ?Sized>(std::marker::PhantomData<T>);
    #[allow(dead_code, reason = "all types have some of them")]
    trait Not {
        const SEND: bool = false;
        const SYNC: bool = false;
        const UNPIN: bool = false;
        const UNWIND: bool = false;
        const REF_UNWIND: bool = false;
    }
    impl<T: ?Sized> Not for T {}
    impl<T: ?Sized + Send> Has<T> {
        const SEND: bool = true;
    }
    impl<T: ?Sized + Sync> Has<T> {
        const SYNC: bool = true;
    }
    impl<T: ?Sized + Unpin> Has<T> {
        const UNPIN: bool = true;
    }
    impl<T: ?Sized + UnwindSafe> Has<T> {
        const UNWIND: bool = true;
    }
    impl<T: ?Sized + RefUnwindSafe> Has<T> {
        const REF_UNWIND: bool = true;
    }
    macro_rules! of {
        ($($type:ty),* $(,)?) => {
            vec![$((
                stringify!($type),
                [
                    Has::<$type>::SEND,
                    Has::<$type>::SYNC,
                    Has::<$type>::UNPIN,
                    Has::<$type>::UNWIND,
                    Has::<$type>::REF_UNWIND,
                ],
            )),*]
        };
    }

    /// Sent but not shared.
    type Sent = std::cell::Cell<u8>;
    /// Shared but not sent.
    type Shared = std::sync::MutexGuard<'static, u8>;
    /// Neither.
    type Bound = *const u8;

    macro_rules! of_each {
        ($($($path:ident)::+),* $(,)?) => {
            [$(of![$($path)::+<u8>, $($path)::+<Sent>, $($path)::+<Shared>, $($path)::+<Bound>]),*]
        };
    }

    let mut list = of![
        sync::Barrier,
        sync::BarrierWaitResult,
        sync::Condvar,
        sync::Once,
        sync::OnceState,
        sync::WaitTimeoutResult,
        sync::atomic::AtomicBool,
        sync::atomic::AtomicI8,
        sync::atomic::AtomicU64,
        sync::atomic::AtomicUsize,
        thread::Builder,
        thread::Thread,
        thread::ThreadId,
        thread::AccessError,
        thread::Scope<'static, 'static>,
        thread::ScopedJoinHandle<'static, u8>,
        time::Instant,
        time::SystemTime,
        task::Waker,
        task::Context<'static>,
        sync::MutexGuard<'static, u8>,
        sync::MutexGuard<'static, Sent>,
        sync::MutexGuard<'static, Shared>,
        sync::MutexGuard<'static, Bound>,
        sync::RwLockReadGuard<'static, u8>,
        sync::RwLockReadGuard<'static, Sent>,
        sync::RwLockReadGuard<'static, Shared>,
        sync::RwLockReadGuard<'static, Bound>,
        sync::RwLockWriteGuard<'static, u8>,
        sync::RwLockWriteGuard<'static, Sent>,
        sync::RwLockWriteGuard<'static, Shared>,
        sync::RwLockWriteGuard<'static, Bound>,
        sync::LazyLock<u8>,
        sync::LazyLock<Sent>,
        sync::LazyLock<Bound>,
    ];
    list.extend(
        of_each![
            sync::Arc,
            sync::Weak,
            sync::Mutex,
            sync::RwLock,
            sync::OnceLock,
            sync::atomic::AtomicPtr,
            sync::mpsc::Sender,
            sync::mpsc::SyncSender,
            sync::mpsc::Receiver,
            sync::mpsc::IntoIter,
            cell::UnsafeCell,
            cell::Cell,
            cell::RefCell,
            cell::OnceCell,
            thread::JoinHandle,
            thread::LocalKey,
        ]
        .into_iter()
        .flatten(),
    );
    list
}
