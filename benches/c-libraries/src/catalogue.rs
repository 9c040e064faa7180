//! The libraries, what uses them, and the bug that is planted in each.

/// A published library.
pub(crate) struct Library {
    /// Owner and name, as a forge has them; the folder has the name.
    pub(crate) repository: &'static str,
    /// The file in `drivers/`.
    pub(crate) driver: &'static str,
    /// The folder of its headers.
    pub(crate) include: &'static str,
    /// Files that are compiled with the driver.
    pub(crate) sources: &'static [&'static str],
    /// The language, as the compiler's option has it.
    pub(crate) standard: &'static str,
    /// Why the library as it is must fail, if it must.
    pub(crate) known: Option<&'static str>,
    /// The planted bug.
    pub(crate) seed: Option<Seed>,
}

/// A change of one place.
pub(crate) struct Seed {
    pub(crate) file: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) what: &'static str,
}

pub(crate) const LIBRARIES: &[Library] = &[
    Library {
        repository: "cameron314/concurrentqueue",
        driver: "concurrentqueue.cc",
        include: "",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "concurrentqueue.h",
            from: "std::memory_order_release);\n\t\t\treturn true;\n\t\t}\n\t\t\n\t\ttemplate<typename U>\n\t\tbool dequeue(U& element)\n\t\t{\n\t\t\t// See ExplicitProducer::dequeue",
            to: "std::memory_order_relaxed);\n\t\t\treturn true;\n\t\t}\n\t\t\n\t\ttemplate<typename U>\n\t\tbool dequeue(U& element)\n\t\t{\n\t\t\t// See ExplicitProducer::dequeue",
            what: "an element is published without release",
        }),
    },
    Library {
        repository: "cameron314/concurrentqueue",
        driver: "blocking_queue.cc",
        include: "",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "lightweightsemaphore.h",
            from: "ssize_t toRelease = -oldCount < count ? -oldCount : count;",
            to: "ssize_t toRelease = -oldCount < count ? -oldCount : count - 1;",
            what: "the semaphore wakes one thread too few",
        }),
    },
    Library {
        repository: "cameron314/readerwriterqueue",
        driver: "readerwriterqueue.cc",
        include: "",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "readerwriterqueue.h",
            from: "\t\t\tfence(memory_order_release);\n\t\t\ttailBlock_->tail = nextBlockTail;",
            to: "\t\t\ttailBlock_->tail = nextBlockTail;",
            what: "no fence between an element and its index",
        }),
    },
    Library {
        repository: "rigtorp/SPSCQueue",
        driver: "spsc_queue.cc",
        include: "include",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "include/rigtorp/SPSCQueue.h",
            from: "readIdx_.store(nextReadIdx, std::memory_order_release);",
            to: "readIdx_.store(nextReadIdx, std::memory_order_relaxed);",
            what: "a slot is given back without release",
        }),
    },
    Library {
        repository: "rigtorp/MPMCQueue",
        driver: "mpmc_queue.cc",
        include: "include",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "include/rigtorp/MPMCQueue.h",
            from: "slot.turn.store(turn(tail) * 2 + 2, std::memory_order_release);",
            to: "slot.turn.store(turn(tail) * 2 + 2, std::memory_order_relaxed);",
            what: "a slot is given back without release",
        }),
    },
    Library {
        repository: "max0x7ba/atomic_queue",
        driver: "atomic_queue.cc",
        include: "include",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "include/atomic_queue/atomic_queue.h",
            from: "        T element{std::move(elements[index])};\n        state.store(EMPTY, R);",
            to: "        state.store(EMPTY, R);\n        T element{std::move(elements[index])};",
            what: "a slot is given back before its element is moved out",
        }),
    },
    Library {
        repository: "bshoshany/thread-pool",
        driver: "thread_pool.cc",
        include: "include",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "include/BS_thread_pool.hpp",
            from: "                ++tasks_running;\n                tasks_lock.unlock();",
            to: "                tasks_lock.unlock();\n                ++tasks_running;",
            what: "a task that begins is counted behind the lock",
        }),
    },
    Library {
        repository: "preshing/cpp11-on-multicore",
        driver: "auto_reset_event.cc",
        include: "common",
        sources: &[],
        standard: "c++11",
        known: None,
        seed: Some(Seed {
            file: "common/autoresetevent.h",
            from: "std::memory_order_release, std::memory_order_relaxed",
            to: "std::memory_order_relaxed, std::memory_order_relaxed",
            what: "a signal does not release",
        }),
    },
    Library {
        repository: "taskflow/work-stealing-queue",
        driver: "work_stealing.cc",
        include: "",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "wsq.hpp",
            from: "  _bottom.store(b, std::memory_order_relaxed);\n  std::atomic_thread_fence(std::memory_order_seq_cst);",
            to: "  _bottom.store(b, std::memory_order_relaxed);\n  std::atomic_thread_fence(std::memory_order_acq_rel);",
            what: "a weaker fence in taking",
        }),
    },
    Library {
        repository: "progschj/ThreadPool",
        driver: "futures_pool.cc",
        include: "",
        sources: &[],
        standard: "c++14",
        known: None,
        seed: Some(Seed {
            file: "ThreadPool.h",
            from: "if(this->stop && this->tasks.empty())",
            to: "if(this->stop)",
            what: "tasks that wait are dropped when the pool ends",
        }),
    },
    Library {
        repository: "efficient/libcuckoo",
        driver: "cuckoo_map.cc",
        include: "",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "libcuckoo/cuckoohash_map.hh",
            from: "lock_.clear(std::memory_order_release)",
            to: "lock_.clear(std::memory_order_relaxed)",
            what: "a spinlock is given back without release",
        }),
    },
    Library {
        repository: "greg7mdp/parallel-hashmap",
        driver: "hash_map.cc",
        include: "",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "parallel_hashmap/phmap.h",
            from: "            // key found. Call fExists lambda. In case of the set, non \"key\" part of value_type can be changed\n            auto it = this->iterator_at(inner, inner->set_.iterator_at(std::get<1>(res)));",
            to: "            auto it = this->iterator_at(inner, inner->set_.iterator_at(std::get<1>(res)));\n            m = UniqueLock();",
            what: "an entry is changed after its lock was given back",
        }),
    },
    Library {
        repository: "tinycthread/tinycthread",
        driver: "c11_threads.c",
        include: "source",
        sources: &["source/tinycthread.c"],
        standard: "gnu11",
        known: None,
        seed: Some(Seed {
            file: "source/tinycthread.c",
            from: "  if(!*thr)\n  {\n    free(ti);",
            to: "  free(ti);\n  if(!*thr)\n  {",
            what: "what a thread starts with is freed by its creator, too",
        }),
    },
    Library {
        repository: "mbrossard/threadpool",
        driver: "task_pool.c",
        include: "src",
        sources: &["src/threadpool.c"],
        standard: "gnu11",
        known: Some("it destroys a mutex that it holds"),
        seed: None,
    },
    Library {
        repository: "andreiavrammsd/cpp-channel",
        driver: "channel.cc",
        include: "include",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "include/msd/channel.hpp",
            from: "            storage_.pop_front(out);\n        }\n\n        cnd_.notify_one();",
            to: "            storage_.pop_front(out);\n        }",
            what: "a reader does not wake a writer",
        }),
    },
    Library {
        repository: "taskflow/taskflow",
        driver: "tasks.cc",
        include: "",
        sources: &[],
        standard: "c++20",
        known: Some(
            "libstdc++ 12 loses the wakeup of an atomic that is changed with a relaxed order before `notify_one`",
        ),
        seed: None,
    },
    Library {
        repository: "chriskohlhoff/asio",
        driver: "io_context.cc",
        include: "include",
        sources: &[],
        standard: "c++17",
        known: None,
        seed: Some(Seed {
            file: "include/asio/detail/impl/strand_executor_service.ipp",
            from: "    impl->locked_ = true;\n    impl->unlock_mutex();\n    impl->ready_queue_.push(op);",
            to: "    impl->unlock_mutex();\n    impl->ready_queue_.push(op);",
            what: "a strand is not locked when it is scheduled",
        }),
    },
];
