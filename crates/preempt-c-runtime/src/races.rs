//! Accesses that could race, as the strategy gets to know them.

use crate::runtime::{Runtime, Touched};
use crate::shadow::{Learnt, Use};
use crate::task::Frames;
use crate::trouble::Trouble;
use crate::{destructors, raw};
use preempt_explore::{Ending, ObjectId};
use std::panic::Location;

/// Numbers of cells are kept apart from those of objects.
const CELLS: u32 = 1 << 31;

/// Records an access for the strategy if it could race. An atomic one was made by the operation that has just been executed:
/// a thread that acquires what that operation has released comes after the access.
pub(crate) fn note(runtime: &mut Runtime, address: usize, size: usize, how: Use, pc: usize) {
    let atomic = matches!(how, Use::AtomicRead | Use::AtomicWrite);
    record(runtime, address, size, (how, atomic), pc);
}

/// The same of an atomic one that is no operation.
pub(crate) fn note_now(runtime: &mut Runtime, address: usize, size: usize, how: Use, pc: usize) {
    record(runtime, address, size, (how, false), pc);
}

/// `lasted`: the access has lasted until the thread's last operation.
fn record(
    runtime: &mut Runtime,
    address: usize,
    size: usize,
    (how, lasted): (Use, bool),
    pc: usize,
) {
    if runtime.exempt.contains(address) {
        return;
    }
    let me = runtime.current();
    match runtime.shadow.access(address, size, me.0, how) {
        Learnt::Nothing => return,
        Learnt::New => {
            runtime.learnt = true;
            return;
        }
        Learnt::Record => {}
        Learnt::Observes => notice_observer(runtime, address, size, pc),
    }
    if matches!(how, Use::Read | Use::Write) {
        destructors::touched(runtime, address);
    }
    let run = runtime.run();
    if !run.rules.clocks {
        run.rules.clocks = true;
        runtime.learnt = true;
        return;
    }
    let keep = runtime.record.is_some() || !runtime.options.races;
    let frames = if keep { runtime.frames() } else { Frames::default() };
    let step = runtime.record.as_ref().map_or(0, |record| record.steps.len());
    let held = runtime.record.as_ref().and_then(|_| raw::number(address, size));
    let run = runtime.run();
    let touched = &mut runtime.touched;
    let mut touch = |cell: u32, write: bool| {
        let cell = ObjectId(CELLS + cell);
        if keep {
            let frames = frames.clone();
            touched.push(Touched { cell, thread: me, write, pc, address, held, step, frames });
        }
        if lasted {
            run.touch_end(cell, write, Location::caller());
        } else {
            run.touch(cell, write, Location::caller());
        }
    };
    // Atomic accesses do not race with each other: to plain ones they all look like reads.
    runtime.shadow.cells(address, size, how == Use::Write, |cell| touch(cell.0, how == Use::Write));
    match how {
        Use::Read => {
            for cell in runtime.shadow.writer_cells(address, size, None) {
                touch(cell.0, false);
            }
        }
        Use::AtomicWrite => {
            for cell in runtime.shadow.writer_cells(address, size, Some(me.0)) {
                touch(cell.0, true);
            }
        }
        Use::Write | Use::AtomicRead => {}
    }
    if let Some(Ending::Race(race)) = &run.ending {
        found(runtime, race.cell, race.earlier.thread, race.earlier.write, pc);
    }
}

/// A race: the end of the execution, or two more scheduling points.
fn found(
    runtime: &mut Runtime,
    cell: ObjectId,
    thread: preempt_explore::ThreadId,
    write: bool,
    pc: usize,
) {
    if runtime.options.races {
        runtime.end();
    }
    let known = runtime.shadow.racy_places();
    runtime.shadow.add_racy(pc);
    // The thread may have touched the cell at several places, the last of which need not race.
    let Runtime { touched, shadow, .. } = runtime;
    let same = |at: &&Touched| (at.cell, at.thread, at.write) == (cell, thread, write);
    for earlier in touched.iter().filter(same) {
        shadow.add_racy(earlier.pc);
    }
    if shadow.racy_places() == known {
        let message = "a data race between accesses that are scheduling points already, which is a \
                       mistake of preempt's: please report it";
        runtime.stop(Trouble::unsupported(pc, message));
    }
    runtime.restart();
}

/// A plain read of bytes of one granule that several threads are known to store atomically.
#[cold]
fn notice_observer(runtime: &mut Runtime, address: usize, size: usize, pc: usize) {
    let is_told_apart = runtime.objects.stored_by_several(address, size, 0).is_some();
    if is_told_apart && runtime.shadow.add_observer(pc) {
        runtime.restart();
    }
}
