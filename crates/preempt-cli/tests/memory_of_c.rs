//! Memory that C programs must not use: behind a block, after `free`, of a function that has returned. And what is
//! left out of a search is part of its sentence.

mod c_programs;

use c_programs::{compile, has, program, root, run};

/// Bytes of a block of ten are used: those of it, and those around it.
#[test]
fn what_lies_around_a_block_is_not_used() {
    if !has("gcc") {
        return;
    }
    let uses = [
        ("last", "p[9] = 1; memset(p, 0, 10); sink = memcmp(p, p, 10)", None),
        ("resized", "p = realloc(p, 100); p[99] = 1", None),
        ("aligned", "p = aligned_alloc(64, 64); p[63] = 1; free(p)", None),
        ("behind", "p[10] = 1", Some("behind a block of 10 bytes")),
        ("reads_behind", "sink = p[10]", Some("behind a block of 10 bytes")),
        ("far_behind", "p[40] = 1", Some("behind a block of 10 bytes")),
        ("before", "p[-1] = 1", Some("memory outside of all blocks")),
        ("sets_behind", "memset(p, 0, 11)", Some("behind a block of 10 bytes")),
        ("copies_behind", "char own[64]; memcpy(own, p, 20)", Some("behind a block of 10 bytes")),
        (
            "in_between",
            "p = malloc(40); char *q = malloc(8); *q = 1; memset(p, 0, 60)",
            Some("behind a block of 40 bytes"),
        ),
        ("of_nothing", "p = malloc(0); *p = 1", Some("behind a block of 0 bytes")),
        ("a_number", "*(int *)(p + 8) = 1", Some("behind a block of 10 bytes")),
        ("string", "memset(p, 'x', 10); sink = strlen(p)", Some("behind a block of 10 bytes")),
    ];
    for (name, text, expected) in uses {
        let text = format!(
            "#include <string.h>\nstatic volatile int sink;\nint main(void) {{ char *p = malloc(10); {text}; return 0; }}\n"
        );
        let (_, report) = run(&program(&format!("block_{name}"), &text), &[]);
        match expected {
            None => assert_eq!(report["verdict"], "holds", "{name}: {report}"),
            Some(words) => {
                assert_eq!(report["violation"]["kind"], "misuse", "{name}: {report}");
                assert!(report["claim"].to_string().contains(words), "{name}: {report}");
            }
        }
    }
}

/// A thread looks at a variable of the function that has started it, which may have returned.
#[test]
fn variables_of_functions_that_have_returned_are_not_used() {
    if !has("gcc") {
        return;
    }
    let text = |number: &str, joins: &str| {
        format!(
            "#include <stdatomic.h>\nstatic pthread_t t; static atomic_int go; static volatile int sink;\n\
             static void *work(void *p) {{ atomic_load(&go); sink = *({number} *)p; return 0; }}\n\
             static void start(void) {{ {number} own = 5; pthread_create(&t, 0, work, &own); {joins} }}\n\
             int main(void) {{ start(); atomic_store(&go, 1); return 0; }}\n"
        )
    };
    for (backend, number) in [("restart", "int"), ("restart", "atomic_int"), ("fork", "int")] {
        let options = ["--backend", backend];
        let keeps = program(&format!("keeps_its_{number}"), &text(number, "pthread_join(t, 0);"));
        let (_, report) = run(&keeps, &options);
        assert_eq!(report["verdict"], "holds", "{report}");
        let (_, report) =
            run(&program(&format!("loses_its_{number}"), &text(number, "")), &options);
        assert_eq!(report["violation"]["kind"], "misuse", "{report}");
        assert!(report["claim"].to_string().contains("has returned"), "{report}");
    }
    // The thread itself has ended.
    let text = "#include <stdatomic.h>\nstatic _Atomic(atomic_int *) shared;\n\
        static void *gives(void *p) { atomic_int own = 42; atomic_store(&shared, &own); return p; }\n\
        static void *takes(void *p) { atomic_int *it = atomic_load(&shared); if (it) atomic_load(it); return p; }\n\
        int main(void) { pthread_t a, b; pthread_create(&a, 0, gives, 0); pthread_create(&b, 0, takes, 0);\n\
          pthread_join(a, 0); pthread_join(b, 0); return 0; }\n";
    let (_, report) = run(&program("loses_its_stack", text), &[]);
    assert_eq!(report["violation"]["kind"], "misuse", "{report}");
}

/// A thread reads a variable of another one, which may not have written it.
#[test]
fn variables_of_other_threads_are_written_before_they_are_read() {
    if !has("gcc") {
        return;
    }
    let text = "#include <stdatomic.h>\nstruct pair { int first, second; };\n\
        static _Atomic(TYPE *) shared; static atomic_int done; static volatile int sink;\n\
        static void *gives(void *p) { TYPE own; FIRST; atomic_store(&shared, &own); while (!done) ; return p; }\n\
        static void *takes(void *p) { TYPE *it; while (!(it = atomic_load(&shared))) ; sink = READ; done = 1; return p; }\n\
        int main(void) { pthread_t a, b; pthread_create(&a, 0, gives, 0); pthread_create(&b, 0, takes, 0);\n\
          pthread_join(a, 0); pthread_join(b, 0); return 0; }\n";
    for (name, kind, first, read, expected) in [
        ("number", "int", "own = 1", "*it", None),
        ("no_number", "int", "", "*it", Some("never written")),
        ("pair", "struct pair", "own.second = 1", "it->second", None),
        ("half_a_pair", "struct pair", "own.first = 1", "it->second", Some("never written")),
        ("copied", "struct pair", "own.first = 1", "({ struct pair all = *it; all.first; })", None),
        ("by_the_library", "int", "sscanf(\"7\", \"%d\", &own)", "*it", None),
    ] {
        let text = text.replace("TYPE", kind).replace("FIRST", first).replace("READ", read);
        let text = format!("#include <stdio.h>\n{text}");
        let (_, report) = run(&program(&format!("written_{name}"), &text), &[]);
        match expected {
            None => assert_eq!(report["verdict"], "holds", "{name}: {report}"),
            Some(words) => assert!(report["claim"].to_string().contains(words), "{name}: {report}"),
        }
    }
}

/// Two threads free the same list, unordered: what the first leaves in its memory is nothing that the second does.
#[test]
fn blocks_are_freed_by_several_threads() {
    if !has("gcc") {
        return;
    }
    let text = "struct node { struct node *next; long words[4]; };\nstatic struct node *list;\n\
        static void drop(void) {\n\
          for (struct node *at = list, *next; at; at = next) { next = at->next; list = next; free(at); } }\n\
        static void *work(void *p) { drop(); return p; }\n\
        int main(void) { for (int i = 0; i < 3; i++) {\n\
            struct node *new = malloc(sizeof *new); new->next = list; new->words[0] = i; list = new; }\n\
          pthread_t t; pthread_create(&t, 0, work, 0); drop(); pthread_join(t, 0); return 0; }\n";
    let program = program("freed_by_several", text);
    let (_, report) = run(&program, &["--races", "off"]);
    let kind = report["violation"]["kind"].as_str().unwrap_or_default();
    assert!(["double_free", "use_after_free"].contains(&kind), "{report}");
    let (_, report) = run(&program, &[]);
    assert_eq!(report["violation"]["kind"], "data_race", "{report}");
}

#[test]
fn what_is_left_out_is_in_the_sentence() {
    if !has("gcc") {
        return;
    }
    let text = |rounds: u32| {
        format!(
            "#include <stdatomic.h>\nstatic atomic_int flag;\n\
             static void *work(void *p) {{ for (int i = 0; i < {rounds} && !atomic_load(&flag); i++) {{ }} return p; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, work, 0); atomic_store(&flag, 1);\n\
             pthread_join(t, 0); return 0; }}\n"
        )
    };
    for (rounds, words) in [(200, "of loops that give up"), (100_000, "of loops that count")] {
        let (_, report) = run(&program(&format!("gives_up_after_{rounds}"), &text(rounds)), &[]);
        assert_eq!(report["verdict"], "holds", "{report}");
        assert!(report["claim"].to_string().contains(words), "{report}");
    }
    let text = "#include <time.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c;\n\
        static void *work(void *p) { struct timespec soon = {1, 0}; pthread_mutex_lock(&m);\n\
        for (int i = 0; i < 3; i++) pthread_cond_timedwait(&c, &m, &soon); pthread_mutex_unlock(&m); return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); for (int i = 0; i < 3; i++) {\n\
        pthread_mutex_lock(&m); pthread_cond_signal(&c); pthread_mutex_unlock(&m); } pthread_join(t, 0); return 0; }\n";
    let (_, report) = run(&program("times_out_often", text), &[]);
    assert_eq!(report["verdict"], "holds", "{report}");
    assert!(report["claim"].to_string().contains("of timeouts"), "{report}");
    let (_, report) =
        run(&compile(&root().join("models/native/spin_wait.c"), &[], ["gcc", "g++"]), &[]);
    assert!(!report["claim"].to_string().contains("of loops"), "{report}");
}

/// A program whose assertions are compiled out says so.
#[test]
fn missing_assertions_are_noted() {
    if !has("gcc") {
        return;
    }
    let source = c_programs::folder().join("no_assertions.c");
    let text = "#include <assert.h>\nint main(void) { assert(0); return 0; }\n";
    std::fs::write(&source, text).expect("a program");
    for compilers in
        [["gcc", "g++"], ["clang", "clang++"]].into_iter().filter(|names| has(names[0]))
    {
        let (_, report) = run(&compile(&source, &["-DNDEBUG", "-O2"], compilers), &[]);
        assert_eq!(report["verdict"], "holds", "{report}");
        assert!(report["notes"].to_string().contains("-DNDEBUG"), "{compilers:?}: {report}");
        let (_, report) = run(&compile(&source, &[], compilers), &[]);
        assert_eq!(report["violation"]["kind"], "assertion", "{report}");
        assert!(!report["notes"].to_string().contains("-DNDEBUG"), "{report}");
    }
}

/// The processor's counter cannot be controlled: what a thread does because of it is named, with its line.
#[test]
fn what_is_not_deterministic_is_named() {
    if !has("gcc") {
        return;
    }
    let text = "#include <stdatomic.h>\n#include <pthread.h>\natomic_ullong x;\nstatic void *f(void *p) {\n\
                unsigned long long now = __builtin_ia32_rdtsc();\natomic_store(&x, now);\nreturn p; }\n\
                int main(void) { pthread_t t; pthread_create(&t, 0, f, 0);\n\
                unsigned long long seen = atomic_load(&x); (void)seen;\npthread_join(t, 0); return 0; }\n";
    let path = program("counter", text);
    let (code, report) = run(&path, &[]);
    assert_eq!(code, Some(3), "{report}");
    let claim = report["claim"].as_str().unwrap_or_default();
    assert!(claim.contains("not deterministic"), "{claim}");
    // `program` writes its own includes before the text.
    let line = claim.split("counter.c:").nth(1).and_then(|rest| rest.split(' ').next());
    let source =
        std::fs::read_to_string(c_programs::folder().join("counter.c")).expect("the source");
    let number: usize =
        line.and_then(|line| line.parse().ok()).unwrap_or_else(|| panic!("{claim}"));
    assert!(source.lines().nth(number - 1).expect("a line").contains("atomic_store"), "{claim}");
    assert!(claim.contains("first it came to store, and later to store with "), "{claim}");
    assert!(!claim.contains("c-runtime"), "{claim}");
}

/// The place of atomics on a stack is used for other variables, too, into which a function copies what was never initialised:
/// what it has left there depends on the schedule, and does not matter.
#[test]
fn what_is_left_on_a_stack_does_not_matter() {
    if !has("gcc") {
        return;
    }
    let text = "#include <stdatomic.h>\n\
        struct block { long words[64]; };\n\
        static atomic_long *_Atomic shared; static atomic_long turn, seen;\n\
        __attribute__((noinline)) static void leave(void) {\n\
          struct block from, to; volatile struct block *escaped = &to; *(struct block *)escaped = from;\n\
          atomic_fetch_add(&seen, 1); __asm__ volatile(\"\" : : \"r\"(escaped) : \"memory\"); }\n\
        __attribute__((noinline)) static void share(void) {\n\
          atomic_long flags[64]; for (int i = 0; i < 64; i++) INITIALISE;\n\
          atomic_store(&shared, flags); for (int i = 0; i < 64; i++) atomic_fetch_add(&flags[i], 1);\n\
          while (atomic_load(&turn) == 0); atomic_store(&shared, 0); }\n\
        static void *owner(void *p) { leave(); share(); leave(); return p; }\n\
        static void *user(void *p) { atomic_fetch_add(&seen, 1); atomic_store(&turn, 1); return p; }\n\
        int main(void) { pthread_t a, b; pthread_create(&a, 0, owner, 0); pthread_create(&b, 0, user, 0);\n\
          pthread_join(a, 0); pthread_join(b, 0); return 0; }\n";
    for (how, words) in
        [("stored", "atomic_init(&flags[i], 0)"), ("plain", "*(long *)&flags[i] = 0")]
    {
        let text = program(&format!("left_{how}"), &text.replace("INITIALISE", words));
        let (_, report) = run(&text, &[]);
        assert_eq!(report["verdict"], "holds", "{how}: {report}");
    }
}

/// A variable on the stack of `main` is initialised by a plain write and then stored to; another thread may read either.
#[test]
fn what_a_plain_write_has_initialised_can_be_read() {
    if !has("gcc") {
        return;
    }
    for (condition, expected) in
        [("v == 5 || v == 7", "holds"), ("v == 7", "assertion"), ("v == 5", "assertion")]
    {
        for order in ["memory_order_relaxed", "memory_order_seq_cst"] {
            let text = format!(
                "#include <stdatomic.h>\n\
                 static void *reads(void *p) {{\n\
                   long v = atomic_load_explicit((atomic_long *)p, {order}); assert({condition}); return 0; }}\n\
                 __attribute__((noinline)) static void before(void) {{ volatile long other[8] = {{9, 9, 9, 9, 9, 9, 9, 9}}; }}\n\
                 __attribute__((noinline)) static void uses(void) {{\n\
                   atomic_long x[8]; for (int i = 0; i < 8; i++) *(long *)&x[i] = 5;\n\
                   pthread_t t; pthread_create(&t, 0, reads, &x[3]); atomic_store_explicit(&x[3], 7, {order});\n\
                   pthread_join(t, 0); }}\n\
                 int main(void) {{ before(); uses(); before(); uses(); return 0; }}\n"
            );
            let name =
                format!("plain_{}_{order}", condition.replace([' ', '='], "").replace('|', "_"));
            let (_, report) = run(&program(&name, &text), &[]);
            let kind = report["violation"]["kind"].as_str();
            let found = kind.unwrap_or_else(|| report["verdict"].as_str().unwrap_or_default());
            assert_eq!(found, expected, "{condition}, {order}: {report}");
        }
    }
}
