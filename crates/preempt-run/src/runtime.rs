//! The library that programs are linked with: carried inside the command, unpacked once per version.
//!
//! A program needs it where it was when the program was linked, so it goes to a folder that stays: the
//! user's cache, or what `PREEMPT_RUNTIME_DIR` names. The folder's name holds a hash of the content,
//! so versions do not meet.

use object::{Object, ObjectSymbol};
use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(has_runtime)]
static LIBRARY: &[u8] = include_bytes!(env!("PREEMPT_C_RUNTIME"));
#[cfg(not(has_runtime))]
static LIBRARY: &[u8] = &[];

/// The library's name.
pub const NAME: &str = "libpreempt_c_runtime.so";
/// The name under which gcc asks for the sanitizer's library.
const ALIAS: &str = "libtsan.so";

/// Stands before the header of libstdc++ that says which templates are in its shared library: none. So strings and
/// streams are compiled with the program, and what they do to memory is marked.
const CONFIGURATION: (&str, &str) = (
    "include/bits/c++config.h",
    "#pragma GCC system_header\n#include_next <bits/c++config.h>\n\
     #undef _GLIBCXX_EXTERN_TEMPLATE\n#define _GLIBCXX_EXTERN_TEMPLATE 0\n",
);

/// The folder of headers in front of the compiler's own, in the folder of the library.
pub(crate) const HEADERS: &str = "include";

/// Whether C programs can be run on this kind of machine.
pub fn is_supported() -> bool {
    !LIBRARY.is_empty()
}

/// The functions of the C library that it stands in front of where the linker is told so: those that it has as
/// `__wrap_NAME`.
pub fn wrapped() -> Vec<String> {
    let Ok(library) = object::File::parse(LIBRARY) else { return Vec::new() };
    let own = |symbol: object::Symbol<'_, '_>| {
        let name = symbol.name().ok()?.strip_prefix("__wrap_")?;
        symbol.is_definition().then(|| name.to_string())
    };
    library.dynamic_symbols().filter_map(own).collect()
}

/// Where everything is kept that programs are linked with.
pub fn base() -> PathBuf {
    let base = std::env::var_os("PREEMPT_RUNTIME_DIR").map(PathBuf::from);
    base.or_else(cache).unwrap_or_else(|| std::env::temp_dir().join("preempt"))
}

/// The folder with the library, made if necessary.
pub fn folder() -> io::Result<PathBuf> {
    let folder = base().join(format!("runtime-{:016x}", fingerprint(LIBRARY)));
    let library = folder.join(NAME);
    if fs::metadata(&library).is_ok_and(|known| known.len() == LIBRARY.len() as u64)
        && folder.join(ALIAS).exists()
        && folder.join(CONFIGURATION.0).exists()
    {
        return Ok(folder);
    }
    fs::create_dir_all(folder.join(HEADERS).join("bits"))?;
    install(&folder, NAME, |path| fs::write(path, LIBRARY))?;
    install(&folder, ALIAS, link)?;
    install(&folder, CONFIGURATION.0, |path| fs::write(path, CONFIGURATION.1))?;
    Ok(folder)
}

#[cfg(unix)]
fn link(path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(NAME, path)
}

#[cfg(not(unix))]
fn link(path: &Path) -> io::Result<()> {
    fs::write(path, LIBRARY)
}

/// Makes a file under another name and moves it into place: compilers run in parallel.
fn install(
    folder: &Path,
    name: &str,
    make: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let draft = folder.join(format!("{name}.{}", std::process::id()));
    let _ = fs::remove_file(&draft);
    make(&draft)?;
    fs::rename(&draft, folder.join(name))
}

fn cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("preempt"))
}

fn fingerprint(bytes: &[u8]) -> u64 {
    // The same in every build of the standard library that we use to find the folder again; a
    // different one merely unpacks the library once more.
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
