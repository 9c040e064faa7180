//! The system calls on descriptors.

use super::polling;
use super::step::{When, lock, now, step, unlock};
use super::transfer::{Buffers, Transfer};
use crate::descriptor_table::resource::{Body, End, Stream};
use crate::descriptor_table::{Descriptors, TABLE, close_number, take_number};
use crate::raw;
use crate::runtime::runtime;

const BAD: isize = -(libc::EBADF as isize);
const INVALID: isize = -(libc::EINVAL as isize);

/// Executes a system call if it is about descriptors of ours, or makes some. Returns what the kernel would.
pub(crate) fn call(number: i64, arguments: &[usize; 6], pc: usize) -> Option<isize> {
    let &[a, b, _, d, ..] = arguments;
    let first = a as i32;
    let flags = |bits: usize, flag: i32| bits as i32 & flag != 0;
    let result = match number {
        libc::SYS_eventfd | libc::SYS_eventfd2 => {
            let bits = if number == libc::SYS_eventfd { 0 } else { b };
            let semaphore = flags(bits, libc::EFD_SEMAPHORE);
            let counter = Body::Counter { count: a as u32 as u64, semaphore };
            open_one(counter, flags(bits, libc::EFD_NONBLOCK), pc)
        }
        libc::SYS_pipe | libc::SYS_pipe2 => {
            let bits = if number == libc::SYS_pipe { 0 } else { b };
            let pipe = Body::Pipe { stream: Stream::default(), open: [1, 1] };
            open_two(pipe, flags(bits, libc::O_NONBLOCK), a, pc)
        }
        libc::SYS_socketpair if first == libc::AF_UNIX => {
            let kind = b as i32 & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
            let streams = [(); 2].map(|()| Stream::of_messages(kind != libc::SOCK_STREAM));
            let pair = Body::Pair { streams, sends: [true; 2], open: [true; 2] };
            open_two(pair, flags(b, libc::SOCK_NONBLOCK), d, pc)
        }
        libc::SYS_timerfd_create => {
            let timer = Body::Timer { expiry: None, period: 0 };
            open_one(timer, flags(b, libc::TFD_NONBLOCK), pc)
        }
        libc::SYS_epoll_create | libc::SYS_epoll_create1 => {
            open_one(Body::Set(Vec::new()), false, pc)
        }
        libc::SYS_poll | libc::SYS_ppoll | libc::SYS_select | libc::SYS_pselect6 => {
            return polling::call(number, arguments, pc);
        }
        _ => {
            let file = runtime().descriptors.file(first)?;
            on_file(number, arguments, file, pc)?
        }
    };
    Some(result)
}

/// A call on a descriptor of ours, its first argument. `None` if it can be left to the kernel.
fn on_file(number: i64, arguments: &[usize; 6], file: usize, pc: usize) -> Option<isize> {
    let &[a, b, c, d, ..] = arguments;
    let first = a as i32;
    let transfer = |buffers: Buffers, write: bool, flags: i32| {
        let peek = flags & libc::MSG_PEEK != 0;
        let at_once = flags & libc::MSG_DONTWAIT != 0;
        let quiet = flags & libc::MSG_NOSIGNAL != 0;
        Transfer { file, buffers, write, peek, at_once, quiet }.run(pc)
    };
    Some(match number {
        libc::SYS_read => transfer(Buffers::one(b, c), false, 0),
        libc::SYS_write => transfer(Buffers::one(b, c), true, 0),
        libc::SYS_readv => transfer(Buffers::list(b, c), false, 0),
        libc::SYS_writev => transfer(Buffers::list(b, c), true, 0),
        libc::SYS_recvfrom => transfer(Buffers::one(b, c), false, d as i32),
        libc::SYS_sendto => transfer(Buffers::one(b, c), true, d as i32),
        libc::SYS_recvmsg => transfer(Buffers::of_message(b, pc), false, c as i32),
        libc::SYS_sendmsg => transfer(Buffers::of_message(b, pc), true, c as i32),
        libc::SYS_close => close(first, pc),
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 => duplicate(number, arguments, file, pc),
        libc::SYS_fcntl => control(arguments, file, pc)?,
        libc::SYS_ioctl if b as u64 == libc::FIONBIO => {
            // SAFETY: the program's own variable.
            let on = unsafe { *(c as *const i32) } != 0;
            runtime().descriptors.files[file].nonblocking = on;
            0
        }
        libc::SYS_ioctl if b as u64 == libc::FIONREAD => {
            let available = with(file, pc, |d, at| d.resources[at].available(d.files[file].end));
            // SAFETY: the program's own variable.
            unsafe { *(c as *mut i32) = available as i32 };
            0
        }
        libc::SYS_shutdown => shutdown(file, b as i32, pc),
        libc::SYS_getsockopt | libc::SYS_setsockopt => socket_option(number, arguments, file),
        libc::SYS_timerfd_settime => set_timer(file, arguments, pc),
        libc::SYS_timerfd_gettime => timer(file, b, pc),
        libc::SYS_epoll_ctl => polling::control(file, arguments, pc),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => {
            let limit = d as i32;
            let limit = (limit >= 0).then(|| limit as u64 * 1_000_000);
            polling::wait_for_set(file, b, c as i32, limit, pc)
        }
        libc::SYS_epoll_pwait2 => {
            polling::wait_for_set(file, b, c as i32, polling::nanoseconds_at(d, 1), pc)
        }
        _ => return None,
    })
}

/// Looks at the resource of a file as one step.
fn with<R>(file: usize, pc: usize, look: impl FnOnce(&mut Descriptors, usize) -> R) -> R {
    let resource = runtime().descriptors.files[file].resource;
    step(resource, When::Scheduled, pc, |descriptors| (look(descriptors, resource), false))
}

/// Executes something that changes the table of descriptors.
fn on_table<R>(pc: usize, act: impl FnOnce() -> R) -> R {
    lock(TABLE, When::Scheduled, pc);
    let result = act();
    unlock(TABLE, pc);
    result
}

fn open_one(body: Body, nonblocking: bool, pc: usize) -> isize {
    on_table(pc, || {
        let number = take_number();
        let thread = runtime().current().index();
        if number >= 0 {
            let descriptors = &mut runtime().descriptors;
            let resource = descriptors.add_resource(thread, body);
            let file = descriptors.add_file(resource, End::First, nonblocking);
            descriptors.set_slot(number as i32, Some(file));
        }
        number
    })
}

fn open_two(body: Body, nonblocking: bool, into: usize, pc: usize) -> isize {
    on_table(pc, || {
        let numbers = [take_number(), take_number()];
        if let Some(&error) = numbers.iter().find(|&&number| number < 0) {
            numbers.into_iter().filter(|&number| number >= 0).for_each(|n| close_number(n as i32));
            return error;
        }
        let thread = runtime().current().index();
        let descriptors = &mut runtime().descriptors;
        let resource = descriptors.add_resource(thread, body);
        for (number, end) in numbers.into_iter().zip([End::First, End::Second]) {
            let file = descriptors.add_file(resource, end, nonblocking);
            descriptors.set_slot(number as i32, Some(file));
        }
        // SAFETY: the program's own array.
        unsafe { *(into as *mut [i32; 2]) = numbers.map(|number| number as i32) };
        0
    })
}

fn close(number: i32, pc: usize) -> isize {
    lock(TABLE, When::Scheduled, pc);
    let descriptors = &mut runtime().descriptors;
    let Some(file) = descriptors.file(number) else {
        unlock(TABLE, pc);
        return BAD;
    };
    descriptors.set_slot(number, None);
    close_number(number);
    drop_reference(file, pc);
    unlock(TABLE, pc);
    0
}

/// One descriptor less stands for a file: the last one closes it.
fn drop_reference(file: usize, pc: usize) {
    let descriptors = &mut runtime().descriptors;
    descriptors.files[file].references -= 1;
    if descriptors.files[file].references > 0 {
        return;
    }
    let resource = descriptors.files[file].resource;
    step(resource, When::AtOnce, pc, |descriptors| {
        let end = descriptors.files[file].end;
        descriptors.resources[resource].close(end);
        polling::forget(descriptors, file);
        ((), true)
    });
}

fn duplicate(number: i64, arguments: &[usize; 6], file: usize, pc: usize) -> isize {
    on_table(pc, || {
        if number == libc::SYS_dup2 && arguments[0] == arguments[1] {
            return arguments[0] as isize;
        }
        // SAFETY: the descriptor is an open file that is never used.
        let new = unsafe { raw::syscall(number, *arguments) };
        if new >= 0 {
            if let Some(before) = runtime().descriptors.file(new as i32) {
                drop_reference(before, pc);
            }
            let descriptors = &mut runtime().descriptors;
            descriptors.files[file].references += 1;
            descriptors.set_slot(new as i32, Some(file));
        }
        new
    })
}

fn control(arguments: &[usize; 6], file: usize, pc: usize) -> Option<isize> {
    let command = arguments[1] as i32;
    match command {
        libc::F_GETFL => {
            let nonblocking = runtime().descriptors.files[file].nonblocking;
            let bits = if nonblocking { libc::O_NONBLOCK } else { 0 };
            Some((libc::O_RDWR | bits) as isize)
        }
        libc::F_SETFL => {
            let on = arguments[2] as i32 & libc::O_NONBLOCK != 0;
            runtime().descriptors.files[file].nonblocking = on;
            Some(0)
        }
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            Some(duplicate(libc::SYS_fcntl, arguments, file, pc))
        }
        // What concerns the number alone is the kernel's business.
        _ => None,
    }
}

fn shutdown(file: usize, how: i32, pc: usize) -> isize {
    let resource = runtime().descriptors.files[file].resource;
    step(resource, When::Scheduled, pc, |descriptors| {
        let end = descriptors.files[file].end;
        let Body::Pair { sends, .. } = &mut descriptors.resources[resource].body else {
            return (-(libc::ENOTSOCK as isize), false);
        };
        if how != libc::SHUT_RD {
            sends[end.index()] = false;
        }
        if how != libc::SHUT_WR {
            sends[end.other()] = false;
        }
        (0, true)
    })
}

/// Sockets of a pair have no error and no options that matter.
fn socket_option(number: i64, arguments: &[usize; 6], file: usize) -> isize {
    let descriptors = &runtime().descriptors;
    let resource = descriptors.files[file].resource;
    if !matches!(descriptors.resources[resource].body, Body::Pair { .. }) {
        return -(libc::ENOTSOCK as isize);
    }
    let [_, level, option, value, length, _] = *arguments;
    if number == libc::SYS_setsockopt || level as i32 != libc::SOL_SOCKET {
        return 0;
    }
    let answer = match option as i32 {
        libc::SO_TYPE => libc::SOCK_STREAM,
        libc::SO_SNDBUF | libc::SO_RCVBUF => 65_536,
        _ => 0,
    };
    // SAFETY: the program's own variables.
    unsafe {
        *(value as *mut i32) = answer;
        *(length as *mut u32) = 4;
    }
    0
}

fn set_timer(file: usize, arguments: &[usize; 6], pc: usize) -> isize {
    let resource = runtime().descriptors.files[file].resource;
    let [_, flags, new, old, ..] = *arguments;
    step(resource, When::Scheduled, pc, |descriptors| {
        let Body::Timer { expiry, period } = &mut descriptors.resources[resource].body else {
            return (INVALID, false);
        };
        // SAFETY: the program's own structures: period, then the time until or of the first expiry.
        let [seconds, nanoseconds, value_seconds, value_nanoseconds] =
            unsafe { *(new as *const [u64; 4]) };
        if old != 0 {
            write_timer(old, *expiry, *period);
        }
        let value = value_seconds * 1_000_000_000 + value_nanoseconds;
        let absolute = flags as i32 & libc::TFD_TIMER_ABSTIME != 0;
        // All clocks of the program show the same time.
        let beginning = crate::clock::BEGINNING;
        let at = if absolute { value.saturating_sub(beginning) } else { now() + value };
        *expiry = (value > 0).then_some(at);
        *period = seconds * 1_000_000_000 + nanoseconds;
        (0, true)
    })
}

fn timer(file: usize, into: usize, pc: usize) -> isize {
    with(file, pc, |descriptors, resource| match descriptors.resources[resource].body {
        Body::Timer { expiry, period, .. } => {
            write_timer(into, expiry, period);
            0
        }
        _ => INVALID,
    })
}

fn write_timer(into: usize, expiry: Option<u64>, period: u64) {
    let left = expiry.map_or(0, |at| at.saturating_sub(now()).max(1));
    let parts = |time: u64| [time / 1_000_000_000, time % 1_000_000_000];
    let ([a, b], [c, d]) = (parts(period), parts(left));
    // SAFETY: the program's own structure.
    unsafe { *(into as *mut [u64; 4]) = [a, b, c, d] };
}
