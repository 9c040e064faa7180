//! What `preempt cc` links into a C or C++ program.
//!
//! The compiler's `-fsanitize=thread` marks every access to memory by a call, and this library
//! defines those calls, the functions of pthread, C11 threads and semaphores, and `malloc`. A
//! program that is started by itself runs as usual: everything is handed on to the C library. One
//! that is started by `preempt run` searches its own schedules instead of calling `main` once:
//!
//! - each thread is a coroutine with a real thread-local block of its own (`context.rs`, `task.rs`),
//!   and runs until it stands before a visible operation (`control.rs`);
//! - which thread runs next is decided by the strategies of `preempt-explore`, as for Rust tests;
//! - an execution is repeated in the same process, in a forked one, or on real threads
//!   (`launch.rs`); the three must agree on every count, which the tests check.
//!
//! Invariants: the search keeps all it knows in memory that forked children share (`heap.rs`), so
//! what a child learns is known to its parent. Whatever a thread does between two operations is a
//! function of what it has observed: addresses come from arenas of its own (`arena.rs`), time from a
//! clock of its own (`clock.rs`), and every call of the kernel that could break this is noticed
//! (`kernel.rs`).
#![cfg(all(feature = "library", target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod access;
mod arena;
mod atomic_calls;
mod atomics;
mod backend;
mod backtrace;
mod barrier;
mod board;
mod c11;
mod caller;
mod clock;
mod condition;
mod constructors;
mod context;
mod control;
mod copies;
mod descriptor_table;
mod descriptors;
mod destructors;
mod dispositions;
mod ending;
mod entry;
mod equip;
mod exempt;
mod explorer;
mod futex;
mod heap;
mod idle;
mod kernel;
mod keys;
mod launch;
mod library;
mod limits;
mod main_function;
mod malloc;
mod mappings;
mod mutex;
mod objects;
mod observers;
mod once;
mod options;
mod panics;
mod pause_entry;
mod pauses;
mod places;
mod plain;
mod progress;
mod races;
mod raising;
mod raw;
mod record;
mod redirect;
mod references;
mod report;
mod runtime;
mod rwlock;
mod sampling;
mod sanitizer_calls;
mod sections;
mod semaphore;
mod served;
mod shadow;
mod signal_numbers;
mod signals;
mod snapshot;
mod spinning;
mod start;
mod stop_flag;
mod switch;
mod syscall_entry;
mod syscall_names;
mod task;
mod thread_attributes;
mod thread_exit;
mod threads;
mod token;
mod trouble;
mod unwritten;
mod verifier;
mod weak_failures;
mod workers;
