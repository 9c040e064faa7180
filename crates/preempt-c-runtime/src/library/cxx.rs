//! What the library of C++ does in functions that are not compiled with the program.

use super::{reads, writes};
use crate::entry::{entry, is_program, real};
use crate::runtime::inside;
use crate::trouble::Trouble;
use std::ffi::{c_char, c_void};

/// The string of libstdc++: where its characters are, how many, and room for a short one.
#[repr(C)]
struct Text {
    at: *const c_char,
    length: usize,
    room: [usize; 2],
}

/// The number of characters that were read last, behind the table of virtual functions of a stream.
const COUNT: usize = 8;

entry! {
    __wrap__ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_ / 3
        => get_line;
    __wrap__ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE / 2
        => get_word;
    // `_State_baseV2::_Make_ready::_M_set`: a shared state is to be made ready when the thread ends.
    _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv / 1 => ready_at_exit;
    // The standard output calls it, with what the program prints.
    fwrite / 4 => write_from;
}

/// A string was read from a stream.
unsafe fn was_read(stream: *const c_void, text: *const Text, pc: usize) {
    writes((stream as usize + COUNT) as *const usize, size_of::<usize>(), pc);
    writes(text, size_of::<Text>(), pc);
    // SAFETY: the caller's string, which ends with a zero.
    unsafe { writes((*text).at, (*text).length + 1, pc) };
}

unsafe extern "C" fn get_line(
    stream: *mut c_void,
    text: *mut Text,
    end: c_char,
    pc: usize,
) -> *mut c_void {
    let real = real!(
        c"_ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_",
        fn(*mut c_void, *mut Text, c_char) -> *mut c_void
    );
    // SAFETY: as the caller's.
    unsafe {
        let result = real(stream, text, end);
        was_read(stream, text, pc);
        result
    }
}

unsafe extern "C" fn get_word(stream: *mut c_void, text: *mut Text, pc: usize) -> *mut c_void {
    let real = real!(
        c"_ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE",
        fn(*mut c_void, *mut Text) -> *mut c_void
    );
    // SAFETY: as the caller's.
    unsafe {
        let result = real(stream, text);
        was_read(stream, text, pc);
        result
    }
}

/// The library does it with atomic operations that are not seen.
unsafe extern "C" fn ready_at_exit(state: *mut c_void, pc: usize) {
    if is_program() {
        let message = "std::promise::set_value_at_thread_exit and its kin are not modelled: set the value as the last thing \
                       that the thread does";
        inside(|runtime| runtime.stop(Trouble::unsupported(pc, message)));
    }
    let real = real!(c"_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv", fn(*mut c_void));
    // SAFETY: as the caller's.
    unsafe { real(state) };
}

unsafe extern "C" fn write_from(
    from: *const c_void,
    size: usize,
    count: usize,
    file: *mut libc::FILE,
    pc: usize,
) -> usize {
    reads(from, size.saturating_mul(count), pc);
    let real = real!(c"fwrite", fn(*const c_void, usize, usize, *mut libc::FILE) -> usize);
    // SAFETY: as the caller's.
    unsafe { real(from, size, count, file) }
}
