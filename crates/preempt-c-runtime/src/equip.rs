//! What a thread needs before it can run: a task, a stack, a thread-local block.

use crate::backend::Backend;
use crate::runtime::Runtime;
use crate::task::{MOST, Task};
use crate::trouble::Trouble;
use crate::{context, snapshot};
use preempt_explore::ThreadId;

/// Makes sure that there is a task for this thread.
pub(crate) fn make_task(runtime: &mut Runtime, thread: ThreadId) {
    if thread.index() >= MOST {
        let pc = runtime.me().call_site.pc;
        let message = format!("the program has more than {MOST} threads in one execution");
        runtime.stop(Trouble::unsupported(pc, message));
    }
    while runtime.tasks.len() <= thread.index() {
        runtime.tasks.push(Task::new());
    }
}

/// Gives a thread a stack and, unless it is the main thread, a thread-local block.
pub(crate) fn equip(runtime: &mut Runtime, thread: ThreadId) {
    let main = runtime.tasks[0].block;
    let task = &mut runtime.tasks[thread.index()];
    if task.stack == 0 {
        task.stack = context::stack(false);
        let (start, end) = runtime.stacks;
        runtime.stacks = (start.min(task.stack - context::STACK), end.max(task.stack));
    }
    if task.block == 0 {
        match context::new_block(main) {
            Ok(block) => task.block = block,
            Err(why) => {
                let message = format!("threads cannot be made here: {why}");
                runtime.stop(Trouble::unsupported(0, message));
            }
        }
        if runtime.backend == Backend::Restart {
            snapshot::keep_block(runtime.tasks[thread.index()].block);
        }
    }
}
