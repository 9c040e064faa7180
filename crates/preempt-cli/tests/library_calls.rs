//! What functions of the C library do to memory is seen: each of them races with a plain access of another thread to
//! what it reads or writes, and does not if a lock keeps the two apart.

mod c_programs;

use c_programs::{compile, folder, has, preempt, program, run};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

const READ: &str = "sink = text[2]";
const WRITE: &str = "text[2] = 'x'";

/// A call of a function, and what another thread does to the same memory.
#[rustfmt::skip]
const CALLS: &[(&str, &str, &str)] = &[
    ("memcpy to", "memcpy(text, own, size)", READ),
    ("memcpy from", "memcpy(own, text, size)", WRITE),
    ("mempcpy to", "mempcpy(text, own, size)", READ),
    ("mempcpy from", "mempcpy(own, text, size)", WRITE),
    ("memmove to", "memmove(text, own, size)", READ),
    ("memmove from", "memmove(own, text, size)", WRITE),
    ("memccpy to", "memccpy(text, own, 'q', size)", READ),
    ("memccpy from", "memccpy(own, text, 'q', size)", WRITE),
    ("memset", "memset(text, byte, size)", READ),
    ("bzero", "bzero(text, size)", READ),
    ("explicit_bzero", "explicit_bzero(text, size)", READ),
    ("bcopy from", "bcopy(text, own, size)", WRITE),
    ("bcopy to", "bcopy(own, text, size)", READ),
    ("swab from", "swab(text, own, 8)", WRITE),
    ("swab to", "swab(own, text, 8)", READ),
    ("memcmp first", "sink = memcmp(text, own, size)", WRITE),
    ("memcmp second", "sink = memcmp(own, text, size)", WRITE),
    ("memcmp for equality", "sink = memcmp(own, text, 8) == 0", WRITE),
    ("bcmp", "sink = bcmp(own, text, size)", WRITE),
    ("memchr", "sink = memchr(text, 'q', size) != 0", WRITE),
    ("memrchr", "sink = memrchr(text, 'q', size) != 0", WRITE),
    ("rawmemchr", "sink = rawmemchr(text, ',') != 0", WRITE),
    ("memmem", "sink = memmem(text, 10, \"beta\", 4) != 0", WRITE),
    ("qsort", "qsort(text, 8, 1, by_value)", READ),
    ("strlen", "sink = strlen(text)", WRITE),
    ("strnlen", "sink = strnlen(text, size)", WRITE),
    ("strcpy from", "strcpy(own, text)", WRITE),
    ("strcpy to", "strcpy(text, own)", READ),
    ("stpcpy from", "stpcpy(own, text)", WRITE),
    ("stpcpy to", "stpcpy(text, own)", READ),
    ("strncpy from", "strncpy(own, text, size)", WRITE),
    ("strncpy to", "strncpy(text, own, size)", READ),
    ("stpncpy to", "stpncpy(text, own, size)", READ),
    ("strcat first", "strcat(text, own)", WRITE),
    ("strcat second", "strcat(own, text)", WRITE),
    ("strcat end", "strcat(text, own)", "sink = text[12]"),
    ("strncat second", "strncat(own, text, size)", WRITE),
    ("strncat end", "strncat(text, own, size)", "sink = text[12]"),
    ("strdup", "sink = strdup(text) != 0", WRITE),
    ("strndup", "sink = strndup(text, size) != 0", WRITE),
    ("strcmp", "sink = strcmp(same, text)", WRITE),
    ("strcmp for equality", "sink = strcmp(text, \"alpha\") == 0", WRITE),
    ("strncmp", "sink = strncmp(same, text, size)", WRITE),
    ("strcasecmp", "sink = strcasecmp(same, text)", WRITE),
    ("strncasecmp", "sink = strncasecmp(same, text, size)", WRITE),
    ("strcoll", "sink = strcoll(same, text)", WRITE),
    ("strxfrm", "sink = strxfrm(own, text, size)", WRITE),
    ("strchr", "sink = strchr(text, byte) != 0", WRITE),
    ("strchrnul", "sink = *strchrnul(text, byte)", WRITE),
    ("strrchr", "sink = strrchr(text, byte) != 0", WRITE),
    ("strstr first", "sink = strstr(text, same) != 0", WRITE),
    ("strstr second", "sink = strstr(same, text) != 0", WRITE),
    ("strcasestr", "sink = strcasestr(text, same) != 0", WRITE),
    ("strspn", "sink = strspn(text, same)", WRITE),
    ("strcspn", "sink = strcspn(text, \",\")", WRITE),
    ("strpbrk", "sink = strpbrk(text, \",\") != 0", WRITE),
    ("strsep end", "{ char *at = text; sink = *strsep(&at, \",\"); }", "sink = text[5]"),
    ("strtok end", "sink = *strtok(text, \",\")", "sink = text[5]"),
    ("strtok itself", "sink = *strtok(own, \",\")", "sink = *strtok(same, \",\")"),
    ("strtok_r end", "{ char *at; sink = *strtok_r(text, \",\", &at); }", "sink = text[5]"),
    ("atoi", "sink = atoi(digits)", "digits[1] = '7'"),
    ("atol", "sink = atol(digits)", "digits[1] = '7'"),
    ("atof", "sink = atof(digits)", "digits[1] = '7'"),
    ("strtol", "sink = strtol(digits, 0, 10)", "digits[1] = '7'"),
    ("strtoul end", "strtoul(digits, &kept, 10)", "sink = kept != 0"),
    ("strtoll", "sink = strtoll(digits, 0, 10)", "digits[1] = '7'"),
    ("strtoull", "sink = strtoull(digits, 0, 10)", "digits[1] = '7'"),
    ("strtod", "sink = strtod(digits, 0)", "digits[1] = '7'"),
    ("strtof", "sink = strtof(digits, 0)", "digits[1] = '7'"),
    ("wcslen", "sink = wcslen(wide)", "wide[1] = 'x'"),
    ("wcscpy", "wcscpy(wide, L\"new\")", "sink = wide[1]"),
    ("wcscat", "wcscat(wide, L\"new\")", "wide[1] = 'x'"),
    ("wcscmp", "sink = wcscmp(wide, L\"wide\")", "wide[1] = 'x'"),
    ("wmemcpy", "wmemcpy(wide, L\"new\", 3)", "sink = wide[1]"),
    ("wmemset", "wmemset(wide, 'a', 3)", "sink = wide[1]"),
    ("printf", "printf(\"%d %.2f %s %Lf %*d %s\\n\", 1, 2.0, own, 3.0L, 4, 5, text)", WRITE),
    ("printf with a precision", "printf(\"%.3s\\n\", text)", WRITE),
    ("printf of many", "printf(\"%d%d%d%d%d%d%f%f%f%f%f%f%f%f%f%s\\n\", 1, 2, 3, 4, 5, 6, 1., 2., 3., 4., 5., 6., 7., 8., 9., text)", WRITE),
    ("puts", "puts(text)", WRITE),
    ("fputs", "fputs(text, stdout)", WRITE),
    ("fprintf", "fprintf(stderr, \"%s\", text)", WRITE),
    ("dprintf", "dprintf(1, \"%s\", text)", WRITE),
    ("sprintf to", "sprintf(text, \"%d%s\", 1, own)", READ),
    ("sprintf from", "sprintf(own, \"%d%s\", 1, text)", WRITE),
    ("snprintf to", "snprintf(text, size, \"%d%s\", 1, own)", READ),
    ("snprintf from", "snprintf(own, size, \"%d%s\", 1, text)", WRITE),
    ("asprintf", "{ char *made; sink = asprintf(&made, \"%s\", text); }", WRITE),
    ("vsnprintf", "by_list(own, size, \"%d%s\", 1, text)", WRITE),
    ("%n", "printf(\"abc%n\\n\", &numbers[0])", "sink = numbers[0]"),
    ("sscanf from", "sscanf(digits, \"%d\", &numbers[1])", "digits[1] = '7'"),
    ("sscanf to", "sscanf(digits, \"%*1d%d\", &numbers[0])", "sink = numbers[0]"),
    ("sscanf to a string", "sscanf(same, \"%[^,],%s\", own, text)", READ),
    ("fwrite", "fwrite(text, 1, 8, stdout)", WRITE),
    ("fread", "fread(text, 1, 8, source)", READ),
    ("fgets", "sink = fgets(text, 8, source) != 0", READ),
    ("getline", "getline(&kept, &room, source)", "sink = kept != 0"),
    ("read", "sink = read(fileno(source), text, 8)", READ),
    ("pread", "sink = pread(fileno(source), text, 8, 1)", READ),
    ("readv", "{ struct iovec v[2] = {{own, 2}, {text, 8}}; sink = readv(fileno(source), v, 2); }", READ),
    ("write", "sink = write(1, text, 8)", WRITE),
    ("writev", "{ struct iovec v[2] = {{own, 2}, {text, 8}}; sink = writev(1, v, 2); }", WRITE),
    ("getenv", "sink = getenv(\"HOME\") != 0", "setenv(\"OTHER\", \"1\", 1)"),
    ("setenv from", "setenv(\"OTHER\", text, 1)", WRITE),
    ("localtime", "sink = localtime(&moment)->tm_mday", "sink = localtime(&moment)->tm_mday"),
    ("gmtime and reading it", "gmtime(&moment)", "sink = moment_parts->tm_mday"),
    ("ctime", "sink = *ctime(&moment)", "sink = *ctime(&moment)"),
    ("localtime_r", "localtime_r(&moment, &parts)", "sink = parts.tm_mday"),
    ("mktime", "mktime(&parts)", "sink = parts.tm_mday"),
    ("asctime", "sink = *asctime(moment_parts)", "sink = *asctime(moment_parts)"),
    ("ctime_r", "ctime_r(&moment, text)", READ),
    ("strftime", "strftime(text, size, \"%Y\", moment_parts)", READ),
    ("rand_r", "rand_r(&seed)", "rand_r(&seed)"),
    ("drand48", "sink = drand48()", "sink = lrand48()"),
];

/// A program that makes the call of the number in its argument, and with a second argument under a lock.
fn text() -> String {
    let mut text = String::from(
        "#define _GNU_SOURCE\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
         #include <strings.h>\n#include <stdarg.h>\n#include <time.h>\n#include <unistd.h>\n#include <wchar.h>\n\
         #include <sys/uio.h>\n\
         static char text[64] = \"alpha,beta\", own[64] = \"gamma\", same[64] = \"alpha,beta\", digits[64] = \"1234\";\n\
         static wchar_t wide[64] = L\"wide\"; static int numbers[2]; static char *kept; static size_t room, size = 12;\n\
         static unsigned seed; static time_t moment; static struct tm parts, *moment_parts; static FILE *source;\n\
         static int byte = 'b'; volatile double sink; static int number, locked;\n\
         static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
         static int by_value(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }\n\
         static void by_list(char *to, size_t room, const char *format, ...) {\n\
         va_list list; va_start(list, format); vsnprintf(to, room, format, list); va_end(list); }\n",
    );
    for (name, first) in [("call", true), ("other", false)] {
        writeln!(text, "static void {name}(void) {{ switch (number) {{").unwrap();
        for (number, (_, call, other)) in CALLS.iter().enumerate() {
            let what = if first { call } else { other };
            writeln!(text, "case {number}: {what}; break;").unwrap();
        }
        text += "}}\n";
    }
    text + "static void *work(void *p) { if (locked) pthread_mutex_lock(&lock); call();\n\
            if (locked) pthread_mutex_unlock(&lock); return p; }\n\
            int main(int count, char **words) { pthread_t t; number = atoi(words[1]); locked = count > 2;\n\
            moment_parts = gmtime(&moment); source = fopen(\"/proc/self/exe\", \"r\");\n\
            pthread_create(&t, 0, work, 0); if (locked) pthread_mutex_lock(&lock); other();\n\
            if (locked) pthread_mutex_unlock(&lock); pthread_join(t, 0); return 0; }\n"
}

fn run_with(program: &Path, words: &[&str]) -> Value {
    let mut command = preempt();
    command.args(["run", "--json", "--time", "20s", "--"]).arg(program).args(words);
    let output = command.output().expect("preempt runs");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"))
}

fn check(options: &[&str], compilers: [&str; 2]) {
    let source = folder().join("library_calls.c");
    std::fs::write(&source, text()).expect("a program");
    let program = compile(&source, options, compilers);
    let mut wrong = String::new();
    for (number, (name, ..)) in CALLS.iter().enumerate() {
        let number = number.to_string();
        let races = run_with(&program, &[&number]);
        if races["violation"]["kind"] != "data_race" {
            writeln!(wrong, "{name}: no race: {}", races["claim"]).unwrap();
        }
        let locked = run_with(&program, &[&number, "locked"]);
        if locked["verdict"] != "holds" {
            writeln!(wrong, "{name}: under a lock: {}", locked["claim"]).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{options:?} {compilers:?}:\n{wrong}");
}

#[test]
fn what_library_functions_access_is_seen() {
    if has("gcc") {
        check(&["-w"], ["gcc", "g++"]);
    }
}

#[test]
fn optimised_calls_are_seen() {
    if has("gcc") {
        check(&["-w", "-O2", "-D_FORTIFY_SOURCE=2"], ["gcc", "g++"]);
    }
}

#[test]
fn calls_are_seen_by_clang() {
    if has("clang") {
        check(&["-w", "-O1"], ["clang", "clang++"]);
    }
}

/// What the library keeps for all threads is used in every order, each of which decides what calls return.
#[test]
fn the_order_of_calls_is_searched() {
    if !has("gcc") {
        return;
    }
    let cases = [
        (
            "orders_a_stream",
            "static FILE *f; static void *work(void *p) { fputs(\"b\", f); return p; }\n\
             int main(void) { pthread_t t; char first; f = tmpfile(); setvbuf(f, 0, _IOFBF, 4096);\n\
             pthread_create(&t, 0, work, 0); fputs(\"a\", f); pthread_join(t, 0);\n\
             rewind(f); first = fgetc(f); WANTED(first == 'a'); fclose(f); return 0; }\n",
        ),
        (
            "orders_a_file",
            "static int f; static void *work(void *p) { pwrite(f, \"b\", 1, 0); return p; }\n\
             int main(void) { pthread_t t; char now = 0; f = fileno(tmpfile()); pwrite(f, \"a\", 1, 0);\n\
             pthread_create(&t, 0, work, 0); pread(f, &now, 1, 0); pthread_join(t, 0);\n\
             WANTED(now == 'a'); return 0; }\n",
        ),
        (
            "orders_random_numbers",
            "static void *work(void *p) { rand(); return p; }\n\
             int main(void) { pthread_t t; srand(1); int first = rand(), now; srand(1);\n\
             pthread_create(&t, 0, work, 0); now = rand(); pthread_join(t, 0);\n\
             WANTED(now == first); return 0; }\n",
        ),
        (
            "looks_into_a_pipe",
            "#include <fcntl.h>\nstatic int ends[2];\n\
             static void *work(void *p) { write(ends[1], \"x\", 1); return p; }\n\
             int main(void) { pthread_t t; char got; pipe2(ends, O_NONBLOCK); pthread_create(&t, 0, work, 0);\n\
             int n = read(ends[0], &got, 1); pthread_join(t, 0); WANTED(n == 1); return 0; }\n",
        ),
    ];
    for (name, text) in cases {
        let text = format!("#define _GNU_SOURCE\n{text}");
        // Either outcome happens.
        for (wanted, other) in [("assert(X)", "yes"), ("assert(!(X))", "no")] {
            let text = format!("#define WANTED(X) {wanted}\n{text}");
            let (_, report) = run(&program(&format!("{name}_{other}"), &text), &["--time", "20s"]);
            assert_eq!(report["violation"]["kind"], "assertion", "{name} {wanted}: {report}");
        }
        let text = format!("#define WANTED(X) (void)(X)\n{text}");
        let (_, report) = run(&program(name, &text), &["--time", "20s"]);
        assert_eq!(report["verdict"], "holds", "{name}: {report}");
    }
}

/// A stream that the program locks for several calls belongs to its holder until then; calls that leave the lock to the program
/// race without it.
#[test]
fn streams_are_locked_for_several_calls() {
    if !has("gcc") {
        return;
    }
    let whole = "static FILE *f; static void *work(void *p) { fputs(\"[]\", f); return p; }\n\
                 int main(void) { pthread_t t; char text[8] = \"\"; f = tmpfile(); pthread_create(&t, 0, work, 0);\n\
                 flockfile(f); flockfile(f); putc_unlocked('(', f); funlockfile(f); sched_yield();\n\
                 fputc(')', f); funlockfile(f); pthread_join(t, 0); rewind(f); fgets(text, 8, f);\n\
                 assert(!strcmp(text, \"()[]\") || !strcmp(text, \"[]()\")); fclose(f); return 0; }\n";
    let unlocked = "static FILE *f; static void *work(void *p) { putc_unlocked('b', f); return p; }\n\
                    int main(void) { pthread_t t; f = tmpfile(); setvbuf(f, 0, _IOFBF, 4096); pthread_create(&t, 0, work, 0);\n\
                    fputc('a', f); pthread_join(t, 0); fclose(f); return 0; }\n";
    let printed = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
                   static void *work(void *p) { flockfile(stdout); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);\n\
                   funlockfile(stdout); return p; }\n\
                   int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_mutex_lock(&m); puts(\"x\");\n\
                   pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }\n";
    let tried = "static int held; static void *work(void *p) { if (!ftrylockfile(stdout)) { held++; funlockfile(stdout); } return p; }\n\
                 int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); flockfile(stdout); held++; funlockfile(stdout);\n\
                 pthread_join(t, 0); assert(held == 2); return 0; }\n";
    let other = "int main(void) { funlockfile(stdout); return 0; }\n";
    let cases = [
        ("whole", whole, "holds"),
        ("unlocked", unlocked, "data_race"),
        ("printed", printed, "deadlock"),
        ("tried", tried, "assertion"),
        ("other", other, "misuse"),
    ];
    for (name, text, expected) in cases {
        let text = format!("#define _GNU_SOURCE\n#include <string.h>\n#include <sched.h>\n{text}");
        let (_, report) = run(&program(&format!("stream_{name}"), &text), &["--time", "20s"]);
        let kind = report["violation"]["kind"].as_str();
        let found = kind.unwrap_or_else(|| report["verdict"].as_str().unwrap_or_default());
        assert_eq!(found, expected, "{name}: {report}");
    }
}

/// Each thread has an error number of its own, also while others run.
#[test]
fn error_numbers_are_of_a_thread() {
    if !has("gcc") {
        return;
    }
    let text = "#include <errno.h>\n#include <stdatomic.h>\nstatic atomic_int n;\n\
        static void *work(void *p) { errno = 7; n++; assert(errno == 7); close(-1); n++; assert(errno == EBADF); return p; }\n\
        int main(void) { pthread_t t; errno = 3; pthread_create(&t, 0, work, 0); n++; assert(errno == 3);\n\
        n++; assert(errno == 3); pthread_join(t, 0); return 0; }\n";
    let (_, report) = run(&program("error_numbers", text), &[]);
    assert_eq!(report["verdict"], "holds", "{report}");
}

/// Strings and streams of C++ are compiled with the program: what they do to memory is seen. The standard streams may be
/// used by several threads.
#[test]
fn strings_and_streams_of_cxx_are_seen() {
    if !has("g++") {
        return;
    }
    let cases = [
        ("append", "shared += \"x\"", "shared += \"yy\""),
        ("push_back", "shared.push_back('x')", "std::cout << shared.size()"),
        ("assign", "shared = \"other, and longer than what was there before\"", "own = shared"),
        ("compare", "shared.clear()", "if (shared == \"some\") own = \"is\""),
        (
            "find",
            "shared.insert(1, \"abc\")",
            "if (shared.find('m') != std::string::npos) own = \"m\"",
        ),
        ("number", "shared = std::to_string(14)", "own = shared.substr(1)"),
        ("print", "shared[1] = 'x'", "std::cout << shared"),
        ("stringstream", "stream << 1", "stream << \"two\""),
        ("stringstream str", "stream << 1.5", "own = stream.str()"),
        ("vector", "list.push_back(\"x\")", "own = list.empty() ? \"\" : list[0]"),
        ("map", "map[\"x\"] = 1", "if (map.find(\"y\") != map.end()) own = \"y\""),
        ("getline", "std::getline(stream, shared)", "own = shared"),
    ];
    let mut text = String::from(
        "#include <iostream>\n#include <map>\n#include <mutex>\n#include <sstream>\n#include <string>\n#include <thread>\n\
         #include <vector>\nstatic std::string shared = \"some\"; static std::stringstream stream; static std::mutex lock;\n\
         static std::vector<std::string> list; static std::map<std::string, int> map; static std::string own;\n",
    );
    for name in ["call", "other"] {
        writeln!(text, "static void {name}(int number) {{ switch (number) {{").unwrap();
        for (number, (_, call, other)) in cases.iter().enumerate() {
            let what = if name == "call" { call } else { other };
            writeln!(text, "case {number}: {what}; break;").unwrap();
        }
        writeln!(text, "default: std::cout << \"{name}\" << 1 << 2.5 << '\\n'; }} }}").unwrap();
    }
    text += "int main(int count, char **words) { int number = std::atoi(words[1]); bool locked = count > 2;\n\
        auto guarded = [&](void what(int)) { std::unique_lock<std::mutex> held(lock, std::defer_lock);\n\
        if (locked) held.lock(); what(number); };\n\
        std::thread t([&] { guarded(call); }); guarded(other); t.join(); return 0; }\n";
    let source = folder().join("library_calls_cxx.cc");
    std::fs::write(&source, text).expect("a program");
    let mut wrong = String::new();
    for options in [&[][..], &["-O2"]] {
        let program = compile(&source, options, ["gcc", "g++"]);
        for (number, (name, ..)) in cases.iter().enumerate() {
            let number = number.to_string();
            let races = run_with(&program, &[&number]);
            if races["violation"]["kind"] != "data_race" {
                writeln!(wrong, "{options:?} {name}: no race: {}", races["claim"]).unwrap();
            }
            let locked = run_with(&program, &[&number, "locked"]);
            if locked["verdict"] != "holds" {
                writeln!(wrong, "{options:?} {name}: under a lock: {}", locked["claim"]).unwrap();
            }
        }
        let printed = run_with(&program, &["99"]);
        if printed["verdict"] != "holds" {
            writeln!(wrong, "{options:?} the standard output: {}", printed["claim"]).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A library that was compiled by another compiler is named, with what is called of it.
#[test]
fn libraries_that_are_not_seen_are_named() {
    if !has("gcc") {
        return;
    }
    let source = folder().join("unseen.c");
    std::fs::write(&source, "int unseen_count; void unseen_add(void) { unseen_count++; }\n")
        .expect("a file");
    let library = folder().join("libunseen.so");
    let shared = |command: &mut std::process::Command| {
        let status = command.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
        assert!(status.expect("a compiler").success());
    };
    shared(&mut std::process::Command::new("gcc"));
    let text = "void unseen_add(void); static void *work(void *p) { unseen_add(); return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); unseen_add(); pthread_join(t, 0); return 0; }\n";
    let user = folder().join("uses_unseen.c");
    std::fs::write(&user, format!("#include <pthread.h>\n{text}")).expect("a file");
    let here = folder();
    let options =
        ["-L", &here.to_string_lossy(), "-lunseen", &format!("-Wl,-rpath,{}", here.display())]
            .map(String::from);
    let with = |program: &Path| run(program, &[]).1;
    let words: Vec<&str> =
        ["-Wl,--no-as-needed"].into_iter().chain(options.iter().map(String::as_str)).collect();
    let program = compile(&user, &words, ["gcc", "g++"]);
    let report = with(&program);
    assert_eq!(report["verdict"], "holds", "{report}");
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("libunseen.so was not compiled by preempt cc")
            && notes.contains("unseen_add"),
        "{notes}"
    );
    shared(preempt().arg("cc"));
    let report = with(&program);
    assert_eq!(report["violation"]["kind"], "data_race", "{report}");
    assert!(!report["notes"].to_string().contains("libunseen"), "{report}");
}

/// Every execution has the whole standard input, whichever thread reads it first, and says so if it has none.
#[test]
fn input_is_given_to_each_execution() {
    if !has("gcc") {
        return;
    }
    let text = |read: &str, check: &str| {
        format!(
            "static char a = '-', b = '-'; static void *work(void *p) {{ {}; return p; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, work, 0); {}; pthread_join(t, 0); assert({check}); return 0; }}\n",
            read.replace('?', "a"),
            read.replace('?', "b")
        )
    };
    let input = folder().join("input.txt");
    std::fs::write(&input, "xy").expect("a file");
    let input = input.to_string_lossy().into_owned();
    let both = "a + b == 'x' + 'y'";
    for (name, read) in [("reads", "read(0, &?, 1)"), ("gets", "? = getchar()")] {
        for backend in ["restart", "fork"] {
            let options = ["--backend", backend, "--input", &input];
            let (_, report) = run(&program(&format!("input_{name}"), &text(read, both)), &options);
            assert_eq!(report["verdict"], "holds", "{name} {backend}: {report}");
            // Either thread may be the first.
            for order in ["a == 'x'", "b == 'x'"] {
                let program = program(&format!("input_order_{name}"), &text(read, order));
                let (_, report) = run(&program, &options);
                assert_eq!(
                    report["violation"]["kind"], "assertion",
                    "{name} {backend} {order}: {report}"
                );
            }
        }
    }
    let program = program("input_missing", &text("read(0, &?, 1)", "a == '-' && b == '-'"));
    let (_, report) = run(&program, &[]);
    assert_eq!(report["verdict"], "holds", "{report}");
    assert!(report["notes"].to_string().contains("--input FILE"), "{report}");
    let output = c_programs::run_plain(&program, &["--input", "/no/such/file"], &[]);
    assert_eq!(output.status.code(), Some(2));
}
