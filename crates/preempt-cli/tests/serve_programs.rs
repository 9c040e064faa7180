//! `preempt serve` on C programs and a Rust package, in a real browser: crates/preempt-serve/tests/browser/programs.mjs.

mod c_programs;

use preempt_testing::{have, peer};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

const ACCOUNT: &str = "#include <pthread.h>
#include <assert.h>

static int balance;

static void *deposit(void *unused) {
    balance = balance + 10;
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, deposit, 0);
    pthread_create(&b, 0, deposit, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(balance == 20);
}
";

const SLOW: &str = "#include <pthread.h>
#include <stdatomic.h>

static atomic_int cells[4];

static void *work(void *unused) {
    for (int i = 0; i < 40; i++) atomic_fetch_add(&cells[atomic_load(&cells[i % 4]) % 4], 1);
    return 0;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
}
";

const COUNTERS: &str = "//! Two counters.

#[cfg(test)]
mod tests {
    use preempt::sync::Arc;
    use preempt::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use preempt::thread;

    #[preempt::test]
    fn loses_an_update() {
        let counter = Arc::new(AtomicU32::new(0));
        let other = counter.clone();
        let adder = thread::spawn(move || {
            let seen = other.load(SeqCst);
            other.store(seen + 1, SeqCst);
        });
        let seen = counter.load(SeqCst);
        counter.store(seen + 1, SeqCst);
        adder.join().unwrap();
        assert_eq!(counter.load(SeqCst), 2);
    }

    #[preempt::test]
    fn adds() {
        let counter = Arc::new(AtomicU32::new(0));
        let other = counter.clone();
        let adder = thread::spawn(move || other.fetch_add(1, SeqCst));
        counter.fetch_add(1, SeqCst);
        adder.join().unwrap();
        assert_eq!(counter.load(SeqCst), 2);
    }
}
";

const STD: &str = "use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

#[test]
fn loses_one() {
    let counter = Arc::new(AtomicU32::new(0));
    let other = counter.clone();
    let adder = thread::spawn(move || {
        let seen = other.load(SeqCst);
        other.store(seen + 1, SeqCst);
    });
    let seen = counter.load(SeqCst);
    counter.store(seen + 1, SeqCst);
    adder.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2);
}
";

/// A server that ends with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn programs_and_tests_in_a_real_browser() {
    if !c_programs::has("cc") {
        return;
    }
    let root = c_programs::root().canonicalize().unwrap();
    let Some(browser) = peer(&["chromium", "chromium-browser", "google-chrome"]) else { return };
    let Some(node) = peer(&["node"]) else { return };
    let driver = root.join("crates/preempt-report/tests/browser/node_modules/playwright-core");
    if !have("`npm install` in crates/preempt-report/tests/browser", driver.exists()) {
        return;
    }
    // The package stays, so that it is not built from nothing each time; outside of this repository's workspace.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    let manifest = format!(
        "[package]\nname = \"counters\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dev-dependencies]\npreempt = {{ path = {:?} }}\n",
        root.join("crates/preempt")
    );
    for (name, text) in [
        ("account.c", ACCOUNT),
        ("slow.c", SLOW),
        ("counters/Cargo.toml", manifest.as_str()),
        ("counters/src/lib.rs", COUNTERS),
        ("counters/tests/std.rs", STD),
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let _ = std::fs::copy(root.join("Cargo.lock"), folder.join("counters/Cargo.lock"));
    let child = c_programs::preempt()
        .args(["serve", "--no-open", "account.c", "counters", "slow.c"])
        .current_dir(&folder)
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("CARGO_TARGET_DIR")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut served = Served(child);
    let mut url = String::new();
    BufReader::new(served.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let output = std::process::Command::new(node)
        .arg("programs.mjs")
        .arg(&browser)
        .arg(url.trim())
        .arg(&folder)
        .current_dir(root.join("crates/preempt-serve/tests/browser"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_is_for_models_is_refused_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("account.c");
    std::fs::write(&path, ACCOUNT).unwrap();
    for option in [&["-D", "N=1"][..], &["--no-merge"], &["--trust"]] {
        let mut command = c_programs::preempt();
        let output =
            command.arg("serve").arg("--no-open").args(option).arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("are for Promela models"), "{said}");
    }
}
