//! Waiting for several descriptors: `epoll`, `poll` and `select`.
//!
//! A call of `poll` or `select` is a set that lives as long as the call: it is made when nothing is ready, and
//! watches its files until something is.

use super::step::{When, lock, now, step, unlock, wait};
use crate::descriptor_table::resource::{Body, Interest, Resource};
use crate::descriptor_table::{ALWAYS, Descriptors, ONCE, name};
use crate::raw;
use crate::runtime::runtime;
use crate::trouble::Trouble;

/// As the kernel has it on this processor: without a gap between the two.
#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Event {
    events: u32,
    data: u64,
}

impl Descriptors {
    fn interests(&mut self, set: usize) -> Option<&mut Vec<Interest>> {
        match &mut self.resources[set].body {
            Body::Set(interests) => Some(interests),
            _ => None,
        }
    }

    /// The earliest expiry of a timer that a set watches.
    fn next_expiry(&self, set: usize) -> Option<u64> {
        let Body::Set(interests) = &self.resources[set].body else { return None };
        let expiry =
            |interest: &Interest| match self.resources[self.files[interest.file].resource].body {
                Body::Timer { expiry, .. } => expiry,
                _ => None,
            };
        interests.iter().filter_map(expiry).min()
    }

    /// What a set has to report, at most so much. What is reported comes last the next time.
    fn collect(&mut self, set: usize, most: usize) -> Vec<Event> {
        let now = now();
        let mut found = Vec::new();
        let Some(interests) = self.interests(set) else { return found };
        let (mut kept, mut last) = (Vec::new(), Vec::new());
        for mut interest in std::mem::take(interests) {
            let events = if found.len() < most { self.reported(&interest, now) } else { 0 };
            if events == 0 {
                kept.push(interest);
                continue;
            }
            found.push(Event { events, data: interest.data });
            interest.armed = false;
            if interest.events & ONCE != 0 {
                interest.events = ONCE;
            }
            last.push(interest);
        }
        kept.append(&mut last);
        if let Some(interests) = self.interests(set) {
            *interests = kept;
        }
        found
    }
}

/// A file is closed: sets forget it.
pub(super) fn forget(descriptors: &mut Descriptors, file: usize) {
    for set in std::mem::take(&mut descriptors.files[file].watchers) {
        if let Some(interests) = descriptors.interests(set) {
            interests.retain(|interest| interest.file != file);
        }
    }
}

/// `epoll_ctl`.
pub(super) fn control(file: usize, arguments: &[usize; 6], pc: usize) -> isize {
    let [_, operation, number, event, ..] = *arguments;
    let (operation, number) = (operation as i32, number as i32);
    let descriptors = &runtime().descriptors;
    let set = descriptors.files[file].resource;
    let Some(target) = descriptors.file(number) else { return outside(number, pc) };
    let resource = descriptors.files[target].resource;
    if resource == set || !matches!(descriptors.resources[set].body, Body::Set(_)) {
        return -(libc::EINVAL as isize);
    }
    let address = descriptors.resources[resource].address;
    step(set, When::Scheduled, pc, |_| {
        lock(address, When::AtOnce, pc);
        let result = change(set, target, number, operation, event);
        unlock(address, pc);
        (result, result == 0)
    })
}

/// A set would watch a descriptor that is not of this program alone.
fn outside(number: i32, pc: usize) -> isize {
    // SAFETY: numbers only; the call writes to the structure.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    let arguments = [number as usize, &raw mut status as usize, 0, 0, 0, 0];
    // SAFETY: the structure is valid for writing.
    let result = unsafe { raw::syscall(libc::SYS_fstat, arguments) };
    if result < 0 {
        return result;
    }
    // Files are ready whenever they are asked, so the kernel refuses to watch them.
    if matches!(status.st_mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR) {
        return -(libc::EPERM as isize);
    }
    let message = "epoll_ctl waits for something outside of the program, such as a socket, which cannot be \
                   scheduled: replace it in the test, by a socketpair for example";
    runtime().stop(Trouble::unsupported(pc, message))
}

fn change(set: usize, target: usize, number: i32, operation: i32, event: usize) -> isize {
    let descriptors = &mut runtime().descriptors;
    let Some(interests) = descriptors.interests(set) else { return -(libc::EINVAL as isize) };
    let known = interests.iter().position(|i| i.file == target && i.descriptor == number);
    let wanted = || {
        // SAFETY: the program's own structure.
        let Event { events, data } = unsafe { (event as *const Event).read_unaligned() };
        Interest { descriptor: number, file: target, events, data, armed: true }
    };
    match (operation, known) {
        (libc::EPOLL_CTL_ADD, Some(_)) => return -(libc::EEXIST as isize),
        (libc::EPOLL_CTL_ADD, None) => {
            interests.push(wanted());
            descriptors.files[target].watchers.push(set);
        }
        (libc::EPOLL_CTL_MOD, Some(at)) => interests[at] = wanted(),
        (libc::EPOLL_CTL_DEL, Some(at)) => {
            interests.remove(at);
            let others = interests.iter().any(|i| i.file == target);
            if !others {
                descriptors.files[target].watchers.retain(|&known| known != set);
            }
        }
        (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, None) => return -(libc::ENOENT as isize),
        _ => return -(libc::EINVAL as isize),
    }
    0
}

/// Waits, holding the lock of a set, until `ready` or until the time is up.
fn until(set: usize, limit: Option<u64>, pc: usize, mut ready: impl FnMut() -> bool) {
    let address = runtime().descriptors.resources[set].address;
    let deadline = limit.map(|limit| now().saturating_add(limit));
    while !ready() && deadline.is_none_or(|deadline| now() < deadline) {
        let expiry = runtime().descriptors.next_expiry(set);
        let next = deadline.into_iter().chain(expiry).min();
        wait(address, next, pc);
    }
}

/// `epoll_wait` with a limit in nanoseconds.
pub(super) fn wait_for_set(
    file: usize,
    into: usize,
    most: i32,
    limit: Option<u64>,
    pc: usize,
) -> isize {
    let descriptors = &runtime().descriptors;
    let set = descriptors.files[file].resource;
    if most <= 0 || !matches!(descriptors.resources[set].body, Body::Set(_)) {
        return -(libc::EINVAL as isize);
    }
    let address = descriptors.resources[set].address;
    lock(address, When::Scheduled, pc);
    let mut found = Vec::new();
    until(set, limit, pc, || {
        found = runtime().descriptors.collect(set, most as usize);
        !found.is_empty()
    });
    unlock(address, pc);
    for (at, event) in found.iter().enumerate() {
        // SAFETY: the program's own array of at least `most` entries.
        unsafe { (into as *mut Event).add(at).write_unaligned(*event) };
    }
    found.len() as isize
}

/// One descriptor of a call of `poll` or `select`.
struct Polled {
    number: i32,
    events: u32,
    found: u32,
}

/// Nanoseconds at an address that holds seconds and a fraction in this unit; `None` without an address.
pub(super) fn nanoseconds_at(at: usize, unit: u64) -> Option<u64> {
    if at == 0 {
        return None;
    }
    // SAFETY: the program's own structure.
    let [seconds, fraction] = unsafe { *(at as *const [u64; 2]) };
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(fraction.saturating_mul(unit)))
}

/// `poll`, `ppoll`, `select` or `pselect6`. `None` if it is about nothing of ours.
pub(super) fn call(number: i64, arguments: &[usize; 6], pc: usize) -> Option<isize> {
    let [a, b, c, d, e, _] = *arguments;
    if number == libc::SYS_poll || number == libc::SYS_ppoll {
        let limit = match number {
            libc::SYS_poll => (c as i32 >= 0).then(|| c as u64 * 1_000_000),
            _ => nanoseconds_at(c, 1),
        };
        let start = if b == 0 { std::ptr::NonNull::dangling().as_ptr() } else { a as *mut _ };
        // SAFETY: the program's own array of so many entries.
        let files: &mut [libc::pollfd] = unsafe { std::slice::from_raw_parts_mut(start, b) };
        let polled = files.iter().map(|file| Polled {
            number: file.fd,
            events: u32::from(file.events as u16),
            found: 0,
        });
        let mut polled: Vec<Polled> = polled.collect();
        poll(&mut polled, limit, pc)?;
        for (file, polled) in files.iter_mut().zip(&polled) {
            file.revents = polled.found as i16;
        }
        return Some(polled.iter().filter(|polled| polled.found != 0).count() as isize);
    }
    let limit = nanoseconds_at(e, if number == libc::SYS_select { 1000 } else { 1 });
    let sets = [
        (b, libc::EPOLLIN as u32, (libc::EPOLLIN | libc::EPOLLHUP | libc::EPOLLERR) as u32),
        (c, libc::EPOLLOUT as u32, (libc::EPOLLOUT | libc::EPOLLERR) as u32),
        (d, libc::EPOLLPRI as u32, libc::EPOLLPRI as u32),
    ];
    let is_in = |set: usize, number: usize| {
        // SAFETY: the program's own sets, which are long enough for the number that it gave.
        set != 0 && unsafe { *((set + number / 8) as *const u8) } & 1 << (number % 8) != 0
    };
    let mut polled: Vec<Polled> = (0..a)
        .map(|number| {
            let wanted = sets.iter().filter(|set| is_in(set.0, number)).map(|set| set.1).sum();
            Polled { number: number as i32, events: wanted, found: 0 }
        })
        .filter(|polled| polled.events != 0)
        .collect();
    poll(&mut polled, limit, pc)?;
    let mut count = 0;
    for (set, wanted, reported) in sets {
        for polled in polled.iter().filter(|polled| polled.events & wanted != 0) {
            let (byte, bit) = (set + polled.number as usize / 8, 1 << (polled.number % 8));
            let ready = polled.found & reported != 0;
            count += isize::from(ready);
            // SAFETY: as above.
            unsafe {
                let byte = byte as *mut u8;
                *byte = if ready { *byte | bit } else { *byte & !bit };
            }
        }
    }
    Some(count)
}

/// Looks at descriptors of the outside, which are ready or not whatever the program does.
fn look_outside(polled: &mut Polled) {
    let mut file = libc::pollfd { fd: polled.number, events: polled.events as i16, revents: 0 };
    // SAFETY: the structure is valid for reading and writing; the call does not wait.
    unsafe { raw::syscall(libc::SYS_poll, [&raw mut file as usize, 1, 0, 0, 0, 0]) };
    polled.found = u32::from(file.revents as u16);
}

/// Waits until one of the descriptors is ready or the time is up. `None` if none of them is ours.
fn poll(polled: &mut [Polled], limit: Option<u64>, pc: usize) -> Option<()> {
    let descriptors = &runtime().descriptors;
    let files: Vec<Option<usize>> = polled.iter().map(|p| descriptors.file(p.number)).collect();
    if files.iter().all(Option::is_none) {
        if !polled.is_empty() || limit.is_none() {
            return None;
        }
        // Waiting for nothing is sleeping.
        crate::clock::pass(limit?, pc);
        return Some(());
    }
    let mut addresses: Vec<usize> = files
        .iter()
        .flatten()
        .map(|&file| descriptors.resources[descriptors.files[file].resource].address)
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    let mut look = || {
        let now = now();
        for (polled, file) in polled.iter_mut().zip(&files) {
            match file {
                Some(file) => {
                    let ready = runtime().descriptors.readiness(*file, now);
                    polled.found = ready & (polled.events | ALWAYS);
                }
                None if polled.number >= 0 => look_outside(polled),
                None => {}
            }
        }
        polled.iter().any(|polled| polled.found != 0)
    };
    let lock_all = |first: When| {
        for (nth, &address) in addresses.iter().enumerate() {
            lock(address, if nth == 0 { first } else { When::AtOnce }, pc);
        }
    };
    let unlock_all = || addresses.iter().rev().for_each(|&address| unlock(address, pc));
    lock_all(When::Scheduled);
    if look() || limit == Some(0) {
        unlock_all();
        return Some(());
    }
    let set = watch(&files);
    let address = runtime().descriptors.resources[set].address;
    lock(address, When::AtOnce, pc);
    unlock_all();
    until(set, limit, pc, &mut look);
    lock_all(When::AtOnce);
    look();
    for &file in files.iter().flatten() {
        runtime().descriptors.files[file].watchers.retain(|&known| known != set);
    }
    unlock_all();
    unlock(address, pc);
    Some(())
}

/// The set that stands for the running thread's call of `poll`, watching these files.
fn watch(files: &[Option<usize>]) -> usize {
    let descriptors = &mut runtime().descriptors;
    let address = name(runtime().current().index(), 0);
    let known = descriptors.resources.iter().position(|resource| resource.address == address);
    let set = known.unwrap_or_else(|| {
        descriptors.resources.push(Resource { address, body: Body::Set(Vec::new()) });
        descriptors.resources.len() - 1
    });
    let interest =
        |&file: &usize| Interest { descriptor: -1, file, events: 0, data: 0, armed: true };
    let interests = files.iter().flatten().map(interest).collect();
    descriptors.resources[set].body = Body::Set(interests);
    for &file in files.iter().flatten() {
        descriptors.files[file].watchers.push(set);
    }
    set
}
