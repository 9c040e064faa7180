//! Gives the library its name for the dynamic loader.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpreempt_c_runtime.so");
}
