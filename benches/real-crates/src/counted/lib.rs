//! loom with a count: every model writes one line of JSON, as preempt does for `PREEMPT_REPORT`.

pub use loom::*;
pub use model::model;

/// `loom::model`, counting.
pub mod model {
    use std::io::Write;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::{Duration, Instant};

    /// loom's `Builder`.
    #[derive(Debug)]
    #[non_exhaustive]
    pub struct Builder {
        pub max_threads: usize,
        pub max_branches: usize,
        pub max_permutations: Option<usize>,
        pub max_duration: Option<Duration>,
        pub preemption_bound: Option<usize>,
        pub checkpoint_file: Option<PathBuf>,
        pub checkpoint_interval: usize,
        pub expect_explicit_explore: bool,
        pub location: bool,
        pub log: bool,
    }

    impl Default for Builder {
        fn default() -> Self {
            Builder::new()
        }
    }

    impl Builder {
        pub fn new() -> Self {
            let real = loom::model::Builder::new();
            Builder {
                max_threads: real.max_threads,
                max_branches: real.max_branches,
                max_permutations: real.max_permutations,
                max_duration: real.max_duration,
                preemption_bound: real.preemption_bound,
                checkpoint_file: None,
                checkpoint_interval: real.checkpoint_interval,
                expect_explicit_explore: real.expect_explicit_explore,
                location: real.location,
                log: real.log,
            }
        }

        pub fn check<F>(&self, f: F)
        where
            F: Fn() + Sync + Send + 'static,
        {
            let mut real = loom::model::Builder::new();
            real.max_threads = self.max_threads;
            real.max_branches = self.max_branches;
            real.max_permutations = self.max_permutations;
            real.max_duration = self.max_duration;
            real.preemption_bound = self.preemption_bound;
            real.checkpoint_interval = self.checkpoint_interval;
            real.expect_explicit_explore = self.expect_explicit_explore;
            let line = Line {
                executions: Arc::default(),
                begin: Instant::now(),
                limit: self.max_duration,
                bound: self.preemption_bound,
            };
            let count = line.executions.clone();
            real.check(move || {
                count.fetch_add(1, Relaxed);
                f();
            });
        }
    }

    pub fn model<F>(f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        Builder::new().check(f);
    }

    /// Written when the model has ended, by a panic or not.
    struct Line {
        executions: Arc<AtomicU64>,
        begin: Instant,
        limit: Option<Duration>,
        bound: Option<usize>,
    }

    impl Drop for Line {
        fn drop(&mut self) {
            let Ok(path) = std::env::var("PREEMPT_REPORT") else { return };
            let time = self.begin.elapsed();
            let verdict = if std::thread::panicking() {
                "violated"
            } else if self.limit.is_some_and(|limit| time >= limit) {
                "inconclusive"
            } else if self.bound.is_some() {
                "holds_within_bound"
            } else {
                "holds"
            };
            let asked = self.bound.map_or("null".to_string(), |bound| bound.to_string());
            // Time was up: no bound was finished.
            let bound = if verdict == "inconclusive" { "null" } else { &asked };
            let executions = self.executions.load(Relaxed);
            let seconds = time.as_secs_f64();
            let line = format!(
                "{{\"verdict\":\"{verdict}\",\"bound\":{bound},\"asked\":{asked},\"executions\":{executions},\
                 \"seconds\":{seconds:.6}}}\n"
            );
            if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path) {
                let _ = file.write_all(line.as_bytes());
            }
        }
    }
}
