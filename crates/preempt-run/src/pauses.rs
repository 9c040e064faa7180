//! Where a program waits by `pause`: the instruction behind `std::hint::spin_loop` and C's `_mm_pause`.
//!
//! It says that the thread is in a loop that waits, as a call of `sched_yield` does, but no function is called. Its two bytes may
//! also lie within another instruction, so the function that they are in is decoded from its beginning.
//!
//! The loops of std itself are left out: they look a number of times and then sleep, and are searched as they are.
//!
//! Invariant: what is not found is executed as the processor does it. Loops that only read are recognised all the same.

use crate::calls::Known;
use iced_x86::{Code, Decoder, DecoderOptions};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const PAUSE: [u8; 2] = [0xF3, 0x90];

/// The most instructions that are looked at.
const MOST: usize = 2_000;

/// The addresses of `pause` instructions, relative to where the program is loaded, in order.
pub(crate) fn pauses(program: &Path) -> Vec<usize> {
    static KNOWN: Known<Vec<usize>> = Known::new();
    KNOWN.of(program, find)
}

fn find(program: &Path) -> Vec<usize> {
    let bytes = std::fs::read(program).unwrap_or_default();
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    let found = instructions(&file);
    if found.is_empty() {
        return Vec::new();
    }
    let lines = addr2line::Loader::new(program).ok();
    let is_of_std = |at: u64| lines.as_ref().is_some_and(|lines| is_of_std(lines, at));
    let kept = found.into_iter().filter(|&at| !is_of_std(at));
    kept.filter_map(|at| at.try_into().ok()).take(MOST).collect()
}

/// All `pause` instructions, in order.
fn instructions(file: &object::File) -> BTreeSet<u64> {
    let functions: BTreeMap<u64, u64> = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
        .map(|symbol| (symbol.address(), symbol.size()))
        .collect();
    let mut found = BTreeSet::new();
    let mut decoded = BTreeSet::new();
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let (start, code) = (section.address(), section.data().unwrap_or_default());
        let end = start + code.len() as u64;
        for (at, bytes) in (start..).zip(code.windows(PAUSE.len())) {
            if bytes != PAUSE {
                continue;
            }
            let around = functions.range(..=at).next_back();
            let Some((&begin, &size)) = around.filter(|(begin, size)| at - *begin < **size) else {
                continue;
            };
            if begin < start || begin + size > end || !decoded.insert(begin) {
                continue;
            }
            let function = &code[(begin - start) as usize..(begin + size - start) as usize];
            let decoder = Decoder::with_ip(64, function, begin, DecoderOptions::NONE);
            let is_pause = |code: Code| code == Code::Pause;
            found.extend(decoder.into_iter().filter(|i| is_pause(i.code())).map(|i| i.ip()));
        }
    }
    found
}

/// Whether a function of std waits here. What of `core` is inlined into a function belongs to that function.
fn is_of_std(lines: &addr2line::Loader, at: u64) -> bool {
    let Ok(mut frames) = lines.find_frames(at) else { return false };
    while let Ok(Some(frame)) = frames.next() {
        let Some(name) =
            frame.function.and_then(|f| f.demangle().ok().map(|name| name.to_string()))
        else {
            return false;
        };
        let path = name.trim_start_matches('<');
        if !path.starts_with("core::") {
            return path.starts_with("std::");
        }
    }
    false
}
