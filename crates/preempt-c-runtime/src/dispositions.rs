//! What the program wants to happen when signals arrive.
//!
//! The table is the program's own view and begins anew with each execution. The kernel never learns of it:
//! signals do not arrive from outside while the program is under control, and those that end an
//! execution are handled by this library (`signals.rs`). Their entries say so, which is why the standard
//! library of Rust, which installs a handler for stack overflows only where there is none, leaves them
//! alone.

use crate::signal_numbers;

/// What is to happen on a signal, as the kernel has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KernelAction {
    pub(crate) handler: usize,
    pub(crate) flags: u64,
    pub(crate) restorer: usize,
    pub(crate) mask: u64,
}

impl KernelAction {
    /// The action of a signal that nothing was said about.
    const DEFAULT: KernelAction = KernelAction { handler: 0, flags: 0, restorer: 0, mask: 0 };
}

/// Signals are numbered from 1.
const COUNT: usize = 65;

static mut TABLE: [KernelAction; COUNT] = [KernelAction::DEFAULT; COUNT];

/// What this library does on signals that are its own.
static mut OURS: KernelAction = KernelAction::DEFAULT;

/// Says what this library does on signals that are its own.
pub(crate) fn set_ours(action: KernelAction) {
    // SAFETY: before there are threads.
    unsafe { OURS = action };
}

/// A new execution begins.
pub(crate) fn begin() {
    // SAFETY: one thread runs at a time.
    let (table, ours) = unsafe { (&mut *std::ptr::addr_of_mut!(TABLE), OURS) };
    for (signal, entry) in table.iter_mut().enumerate() {
        let is_ours = signal_numbers::is_ours(signal as i32);
        *entry = if is_ours { ours } else { KernelAction::DEFAULT };
    }
}

/// `rt_sigaction`: sets an action unless `new` is null, and stores the one before unless `old` is. Returns
/// what the kernel would.
pub(crate) fn change(signal: i32, new: usize, old: usize) -> isize {
    let index = signal as usize;
    if !(1..COUNT).contains(&index) || new != 0 && [libc::SIGKILL, libc::SIGSTOP].contains(&signal)
    {
        return -(libc::EINVAL as isize);
    }
    // SAFETY: the C library's own structures, which the kernel would read and write; one thread runs at
    // a time.
    unsafe {
        let before = TABLE[index];
        if new != 0 {
            TABLE[index] = *(new as *const KernelAction);
        }
        if old != 0 {
            *(old as *mut KernelAction) = before;
        }
    }
    0
}

/// What happens on a signal.
pub(crate) enum Disposition {
    Ignored,
    /// It ends the program.
    Ends,
    /// The program's own function is called, while these signals are blocked.
    Handled {
        handler: usize,
        flags: u64,
        mask: u64,
    },
}

/// What happens on a signal.
pub(crate) fn of(signal: i32) -> Disposition {
    const HARMLESS: [i32; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];
    // SAFETY: one thread runs at a time; callers pass numbers of signals.
    let (KernelAction { handler, flags, mask, .. }, ours) =
        unsafe { (TABLE[signal as usize], OURS.handler) };
    match handler {
        libc::SIG_IGN => Disposition::Ignored,
        libc::SIG_DFL if HARMLESS.contains(&signal) => Disposition::Ignored,
        _ if handler == ours || handler == libc::SIG_DFL => Disposition::Ends,
        _ => Disposition::Handled { handler, flags, mask },
    }
}

/// Nothing is said about a signal any more.
pub(crate) fn reset(signal: i32) {
    // SAFETY: as above.
    unsafe { TABLE[signal as usize] = KernelAction::DEFAULT };
}

/// `sigaltstack`: the program has no stack for handlers, now and before.
pub(crate) fn no_stack(old: usize) -> isize {
    if old != 0 {
        let none =
            libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: the program's own structure.
        unsafe { *(old as *mut libc::stack_t) = none };
    }
    0
}
