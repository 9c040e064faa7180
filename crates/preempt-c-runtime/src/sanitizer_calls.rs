//! What programs tell the thread sanitizer by themselves: that something orders accesses, or that a lock of their own making is
//! taken. Programs link with these names; what they say is not needed, because the operations behind them are seen, and an
//! order that no operation makes would hide a race.

/// Defines functions that do nothing, whatever they are called with.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> usize {
            0
        }
    )*};
}

nothing! {
    AnnotateHappensBefore AnnotateHappensAfter
    AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait
    AnnotateRWLockCreate AnnotateRWLockCreateStatic AnnotateRWLockDestroy
    AnnotateRWLockAcquired AnnotateRWLockReleased
    AnnotateBenignRace AnnotateBenignRaceSized
    AnnotateIgnoreReadsBegin AnnotateIgnoreReadsEnd AnnotateIgnoreWritesBegin AnnotateIgnoreWritesEnd
    AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd
    AnnotateNewMemory AnnotateFlushState AnnotateThreadName AnnotateMemoryIsInitialized
    AnnotateMemoryIsUninitialized AnnotateNoOp AnnotateMutexIsNotPHB AnnotateMutexIsUsedAsCondVar
    AnnotatePublishMemoryRange AnnotateUnpublishMemoryRange AnnotateExpectRace AnnotateFlushExpectedRaces
    AnnotateEnableRaceDetection AnnotatePCQCreate AnnotatePCQDestroy AnnotatePCQGet AnnotatePCQPut
    AnnotateTraceMemory
    __tsan_mutex_create __tsan_mutex_destroy __tsan_mutex_pre_lock __tsan_mutex_post_lock
    __tsan_mutex_pre_unlock __tsan_mutex_post_unlock __tsan_mutex_pre_signal __tsan_mutex_post_signal
    __tsan_mutex_pre_divert __tsan_mutex_post_divert
    __tsan_external_register_tag __tsan_external_register_header __tsan_external_assign_tag
    __tsan_external_read __tsan_external_write
    __tsan_flush_memory __tsan_on_report
}

/// Defines functions that cannot be modelled: contexts that the program switches by itself.
macro_rules! refused {
    ($($name:ident)*) => {$(
        crate::entry::entry! { $name / 3 => refuse; }
    )*};
}

refused! {
    __tsan_create_fiber __tsan_destroy_fiber __tsan_switch_to_fiber __tsan_set_fiber_name
}

unsafe extern "C" fn refuse(_: usize, _: usize, _: usize, pc: usize) -> usize {
    if crate::entry::is_program() {
        let message =
            "the program switches between contexts of its own (fibers), which is not modelled";
        crate::runtime::inside(|runtime| {
            runtime.stop(crate::trouble::Trouble::unsupported(pc, message))
        });
    }
    0
}

/// The fiber of the running thread: each thread has one, itself.
#[unsafe(no_mangle)]
extern "C" fn __tsan_get_current_fiber() -> usize {
    crate::context::block()
}
