//! The program's memory, kept at the beginning and put back before each execution in the process.
//!
//! Writable data of the program is copied back as a whole if there is little of it. Data of
//! libraries, and of programs that have much, is write-protected at first: the first write to a page
//! faults, and from then on the page is one of those that are copied back. So an execution pays for
//! the pages that executions change, and none is forgotten.
//!
//! Thread-local blocks are put back module by module, all but this library's own part.

use crate::arena::Arena;
use crate::raw;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{addr_of, addr_of_mut};

const PAGE: usize = 4096;
/// Data up to this size is copied back without looking for changes.
const LITTLE: usize = 128 << 10;

/// A part of the program or of a library.
#[derive(Clone, Default)]
pub(crate) struct Module {
    pub(crate) path: String,
    pub(crate) base: usize,
    text: Vec<(usize, usize)>,
    data: Vec<(usize, usize)>,
    /// Offset of its thread-local part below the block's base, and its size.
    local: Option<(usize, usize)>,
    is_program: bool,
    is_ours: bool,
    is_loader: bool,
}

struct Segment {
    start: usize,
    end: usize,
    saved: *const u8,
    /// For a segment that is watched: pages that were written to.
    changed: Option<Vec<u32>>,
}

#[derive(Default)]
struct Memory {
    modules: Vec<Module>,
    segments: Vec<Segment>,
    blocks: FxHashMap<usize, Vec<u8>>,
    kept_heap: Vec<u8>,
    kept_states: Vec<u8>,
    program_text: (usize, usize),
    own_text: (usize, usize),
}

static mut MEMORY: Option<Memory> = None;

fn memory() -> &'static mut Memory {
    // SAFETY: one thread at a time; handlers of signals run instead of, not beside, the program.
    unsafe { (*addr_of_mut!(MEMORY)).get_or_insert_with(Memory::default) }
}

/// Finds out what the process is made of.
pub(crate) fn look() {
    let block = crate::context::block();
    unsafe extern "C" fn add(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        block: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's own structure, valid during the call.
        let module = unsafe { module(&*info, block as usize, memory().modules.is_empty()) };
        memory().modules.push(module);
        0
    }
    // SAFETY: the callback only reads what it is given.
    unsafe { libc::dl_iterate_phdr(Some(add), block as *mut c_void) };
    let range = |module: Option<&Module>| {
        let text = module.and_then(|module| module.text.first()).copied();
        text.unwrap_or_default()
    };
    let memory = memory();
    memory.program_text = range(memory.modules.iter().find(|module| module.is_program));
    memory.own_text = range(memory.modules.iter().find(|module| module.is_ours));
}

/// # Safety
/// `info` is the loader's.
unsafe fn module(info: &libc::dl_phdr_info, block: usize, first: bool) -> Module {
    let base = info.dlpi_addr as usize;
    // SAFETY: a terminated name and a table of so many entries.
    let (name, headers) = unsafe {
        let name = match info.dlpi_name.is_null() {
            true => String::new(),
            false => CStr::from_ptr(info.dlpi_name).to_string_lossy().into_owned(),
        };
        (name, std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)))
    };
    let mut module = Module { base, is_program: first, ..Module::default() };
    module.is_loader = name.contains("ld-linux") || name.contains("vdso");
    module.path = name;
    let mut constant = 0;
    for header in headers.iter().filter(|header| header.p_type == libc::PT_GNU_RELRO) {
        let end = base + header.p_vaddr as usize + header.p_memsz as usize;
        constant = end.next_multiple_of(PAGE);
    }
    for header in headers {
        let start = base + header.p_vaddr as usize;
        let end = start + header.p_memsz as usize;
        match header.p_type {
            libc::PT_LOAD if header.p_flags & libc::PF_X != 0 => module.text.push((start, end)),
            libc::PT_LOAD if header.p_flags & libc::PF_W != 0 => {
                let start = start.max(constant);
                if start < end {
                    module.data.push((start, end));
                }
            }
            libc::PT_TLS if !info.dlpi_tls_data.is_null() => {
                let at = info.dlpi_tls_data as usize;
                if at < block {
                    module.local = Some((block - at, header.p_memsz as usize));
                }
            }
            _ => {}
        }
    }
    let here = look as *const () as usize;
    module.is_ours = module.text.iter().any(|&(start, end)| (start..end).contains(&here));
    module
}

/// The parts of the process, for reports.
pub(crate) fn modules() -> &'static [Module] {
    &memory().modules
}

/// Where this library's code is: start and length.
pub(crate) fn own_text() -> (usize, usize) {
    let (start, end) = memory().own_text;
    (start, end - start)
}

/// Whether an address is of this library's own code.
pub(crate) fn is_own_text(address: usize) -> bool {
    let (start, end) = memory().own_text;
    (start..end).contains(&address)
}

/// An address as an offset into the program.
#[inline]
pub(crate) fn relative(address: usize) -> usize {
    let memory = memory();
    address.wrapping_sub(memory.modules.first().map_or(0, |program| program.base))
}

/// The address that has this offset into the program.
pub(crate) fn absolute(offset: usize) -> usize {
    offset.wrapping_add(memory().modules.first().map_or(0, |program| program.base))
}

/// Whether an address is of the program's own code.
#[inline]
pub(crate) fn is_program_text(address: usize) -> bool {
    let (start, end) = memory().program_text;
    (start..end).contains(&address)
}

/// Whether an address is of data that is there from the beginning.
pub(crate) fn is_static(address: usize) -> bool {
    let within = |&(start, end): &(usize, usize)| (start..end).contains(&address);
    memory().modules.iter().any(|module| module.data.iter().any(within))
}

/// The data of libraries with this in their names.
pub(crate) fn data_of(name: &str) -> Vec<(usize, usize)> {
    let named = memory().modules.iter().filter(|module| module.path.contains(name));
    named.flat_map(|module| module.data.iter().copied()).collect()
}

/// Keeps the memory as it is now.
pub(crate) fn take(arena: &Arena) {
    let memory = memory();
    for module in memory.modules.iter().filter(|module| !module.is_ours && !module.is_loader) {
        for &(start, end) in &module.data {
            let copy_all = module.is_program && end - start <= LITTLE;
            let (start, end) = match copy_all {
                true => (start, end),
                false => (start & !(PAGE - 1), end.next_multiple_of(PAGE)),
            };
            let saved = raw::map(end - start, false);
            // SAFETY: both are mapped and do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(start as *const u8, saved, end - start) };
            let changed = (!copy_all).then(Vec::new);
            memory.segments.push(Segment { start, end, saved, changed });
        }
    }
    memory.kept_heap = bytes(arena.kept()).to_vec();
    memory.kept_states = bytes(arena.kept_states()).to_vec();
    keep_block(crate::context::block());
    for segment in memory.segments.iter().filter(|segment| segment.changed.is_some()) {
        raw::protect(segment.start, segment.end - segment.start, libc::PROT_READ);
    }
}

fn bytes((at, length): (usize, usize)) -> &'static [u8] {
    // SAFETY: callers pass memory that is mapped and not written to meanwhile.
    unsafe { std::slice::from_raw_parts(at as *const u8, length) }
}

/// A page that was not written to before is written to: from now on it is copied back.
pub(crate) fn is_first_write(address: usize) -> bool {
    // SAFETY: see `memory`; nothing is created here, as this is called in a handler.
    let Some(memory) = (unsafe { (*addr_of_mut!(MEMORY)).as_mut() }) else { return false };
    let within = |segment: &&mut Segment| (segment.start..segment.end).contains(&address);
    let Some(segment) = memory.segments.iter_mut().find(within) else { return false };
    let Some(changed) = &mut segment.changed else { return false };
    let page = ((address - segment.start) / PAGE) as u32;
    if changed.contains(&page) {
        return false;
    }
    changed.push(page);
    let at = segment.start + page as usize * PAGE;
    raw::protect(at, PAGE, libc::PROT_READ | libc::PROT_WRITE);
    true
}

/// Executions do not take place in this process any more: nothing is watched or put back. A child must
/// not note what it writes, because its notes would be in memory that it shares with the next child.
pub(crate) fn give_up() {
    for segment in memory().segments.drain(..).filter(|segment| segment.changed.is_some()) {
        let all = libc::PROT_READ | libc::PROT_WRITE;
        raw::protect(segment.start, segment.end - segment.start, all);
    }
}

/// Puts everything back but thread-local blocks.
pub(crate) fn restore(arena: &mut Arena) {
    let memory = memory();
    for segment in &memory.segments {
        let length = segment.end - segment.start;
        // SAFETY: saved from there; pages that changed are writable.
        unsafe {
            match &segment.changed {
                None => {
                    std::ptr::copy_nonoverlapping(segment.saved, segment.start as *mut u8, length)
                }
                Some(pages) => {
                    for &page in pages {
                        let at = page as usize * PAGE;
                        let to = (segment.start + at) as *mut u8;
                        std::ptr::copy_nonoverlapping(segment.saved.add(at), to, PAGE);
                    }
                }
            }
        }
    }
    arena.clear();
    let put = |saved: &[u8], to: usize| {
        // SAFETY: saved from there.
        unsafe { std::ptr::copy_nonoverlapping(saved.as_ptr(), to as *mut u8, saved.len()) };
    };
    put(&memory.kept_heap, arena.kept().0);
    put(&memory.kept_states, arena.kept_states().0);
}

/// The parts of a thread-local block that are the program's.
fn locals() -> impl Iterator<Item = (usize, usize)> {
    // SAFETY: see `memory`.
    let modules = unsafe { (*addr_of!(MEMORY)).as_ref() }.map_or(&[][..], |m| &m.modules);
    modules.iter().filter(|module| !module.is_ours).filter_map(|module| module.local)
}

/// Keeps a thread-local block as it is now.
pub(crate) fn keep_block(block: usize) {
    let mut saved = Vec::new();
    for (offset, size) in locals() {
        saved.extend_from_slice(bytes((block - offset, size)));
    }
    memory().blocks.insert(block, saved);
}

/// Puts a thread-local block back.
pub(crate) fn restore_block(block: usize) {
    let Some(saved) = memory().blocks.get(&block) else { return };
    let mut rest = &saved[..];
    for (offset, size) in locals() {
        let (part, more) = rest.split_at(size);
        // SAFETY: saved from there; no thread runs on this block now.
        unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), (block - offset) as *mut u8, size) };
        rest = more;
    }
}
