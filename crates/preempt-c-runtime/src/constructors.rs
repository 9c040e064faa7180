//! Functions of the program that run before `main` and after it.
//!
//! Constructors of static objects may start threads, initialise locks and write what threads will read, so they
//! belong to each execution. The C library would call them once, before the search begins. So their
//! addresses are taken out of the program's table while it starts, and each execution calls them itself.
//! Those of shared libraries run as usual, once.

use crate::main_function::{Main, started_with};
use crate::raw;
use std::ffi::{c_int, c_void};
use std::ptr::addr_of_mut;

/// The program's functions, in the order in which they stand in its tables.
#[derive(Default)]
struct Tables {
    constructors: Vec<usize>,
    destructors: Vec<usize>,
}

static mut TABLES: Option<Tables> = None;

fn tables() -> &'static mut Tables {
    // SAFETY: written once, before there are threads; callers keep no reference while the program runs.
    unsafe { (*addr_of_mut!(TABLES)).get_or_insert_with(Tables::default) }
}

extern "C" fn nothing() {}

/// Takes the program's constructors out of its tables. Called once, before any of them has run.
pub(crate) fn take_over() {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        _: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's own structure, valid during the call. The program itself comes first.
        unsafe { take_over_of(&*info) };
        1
    }
    // SAFETY: the callback only uses what it is given.
    unsafe { libc::dl_iterate_phdr(Some(first), std::ptr::null_mut()) };
}

/// # Safety
/// `info` is the loader's, of the program itself.
unsafe fn take_over_of(info: &libc::dl_phdr_info) {
    const PREINIT: [i64; 2] = [32, 33];
    const INIT: [i64; 2] = [25, 27];
    const FINI: [i64; 2] = [26, 28];
    let base = info.dlpi_addr as usize;
    // SAFETY: a table of so many entries.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else {
        return;
    };
    let entry = |tag: i64| {
        let mut at = (base + dynamic.p_vaddr as usize) as *const [i64; 2];
        // SAFETY: the section is a list of pairs that ends with a tag of zero.
        unsafe {
            while (*at)[0] != 0 {
                if (*at)[0] == tag {
                    return Some((*at)[1] as usize);
                }
                at = at.add(1);
            }
        }
        None
    };
    let table = |[start, size]: [i64; 2]| {
        let (start, size) = (base + entry(start)?, entry(size)?);
        Some((start, size / size_of::<usize>()))
    };
    for [start, size] in [PREINIT, INIT] {
        let Some((at, count)) = table([start, size]) else { continue };
        let page = at & !4095;
        let length = (at + count * 8 - page).next_multiple_of(4096);
        raw::protect(page, length, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the table is the program's own, and writable now.
        let functions = unsafe { std::slice::from_raw_parts_mut(at as *mut usize, count) };
        for function in functions {
            tables().constructors.push(std::mem::replace(function, nothing as *const () as usize));
        }
        // It stays writable: the page may hold data besides it.
    }
    if let Some((at, count)) = table(FINI) {
        // SAFETY: the table is the program's own.
        tables().destructors =
            unsafe { std::slice::from_raw_parts(at as *const usize, count) }.to_vec();
    }
}

/// Calls a function of a table unless there is none: 0 and -1 mark its ends in some programs.
fn call(function: usize) {
    if function == 0 || function == usize::MAX {
        return;
    }
    let (count, arguments, environment) = started_with();
    // SAFETY: the program's own function; one that takes no arguments does not look at them.
    unsafe { std::mem::transmute::<usize, Main>(function)(count, arguments, environment) };
}

/// Runs the constructors, as the program.
pub(crate) fn construct() {
    (0..tables().constructors.len()).for_each(|nth| call(tables().constructors[nth]));
}

/// Runs the destructors, as the program.
pub(crate) fn destroy() {
    (0..tables().destructors.len()).rev().for_each(|nth| call(tables().destructors[nth]));
}
