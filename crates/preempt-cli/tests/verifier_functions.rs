//! Programs written for verifiers: assumptions, values that may be any, errors, indivisible sections.

mod c_programs;

use c_programs::{has, program, run, run_plain};

const DECLARATIONS: &str = "#include <stdatomic.h>\nvoid __VERIFIER_assume(int); int __VERIFIER_nondet_int(void);\n\
    unsigned __VERIFIER_nondet_uint(void); _Bool __VERIFIER_nondet_bool(void); void __VERIFIER_error(void);\n\
    void reach_error(void); void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);\n\
    static int x; static atomic_int y; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n";

fn verdict(name: &str, text: &str, options: &[&str]) -> (String, String) {
    let (_, report) = run(&program(name, &format!("{DECLARATIONS}{text}")), options);
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
    let kind = word(&report["violation"]["kind"]);
    let verdict = word(&report["verdict"]);
    (if kind.is_empty() { verdict } else { kind }, word(&report["claim"]))
}

#[test]
fn verifier_functions_mean_what_they_mean() {
    if !has("gcc") {
        return;
    }
    let thread = |body: &str, main: &str| {
        format!(
            "static void *work(void *p) {{ {body} return p; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, work, 0); {main} pthread_join(t, 0); return 0; }}\n"
        )
    };
    let alone = |main: &str| format!("int main(void) {{ {main} return 0; }}\n");
    let section = "__VERIFIER_atomic_begin(); x++; __VERIFIER_atomic_end();";
    let cases = [
        // Executions with a false assumption do not count.
        (
            "assumes",
            thread("y = 1;", "int now = y; __VERIFIER_assume(now == 1); assert(y == 1);"),
            "holds",
        ),
        (
            "assumes_wrongly",
            thread("y = 1; y = 2;", "int now = y; __VERIFIER_assume(now >= 1); assert(now == 1);"),
            "assertion",
        ),
        ("assumes_nothing_true", alone("__VERIFIER_assume(0); assert(0);"), "holds"),
        // What happens before another thread's false assumption counts.
        ("fails_before", thread("__VERIFIER_assume(0);", "y = 1; assert(y == 0);"), "assertion"),
        // All values are tried.
        ("any_value", alone("assert(__VERIFIER_nondet_int() != 3);"), "assertion"),
        (
            "no_other_value",
            alone("int v = __VERIFIER_nondet_int(); assert(v >= 0 && v <= 3);"),
            "holds",
        ),
        ("either_value", alone("assert(!__VERIFIER_nondet_bool());"), "assertion"),
        (
            "a_sum",
            alone("assert(__VERIFIER_nondet_int() + __VERIFIER_nondet_uint() != 6);"),
            "assertion",
        ),
        (
            "restricted",
            alone("int v = __VERIFIER_nondet_int(); __VERIFIER_assume(v == 2); assert(v == 2);"),
            "holds",
        ),
        ("errs", alone("__VERIFIER_error();"), "assertion"),
        ("reaches", alone("if (__VERIFIER_nondet_bool()) reach_error();"), "assertion"),
        // Nothing comes in between, and sections are in order with each other.
        ("sections", thread(section, section), "holds"),
        ("section_and_access", thread(section, "x++;"), "data_race"),
        (
            "indivisible",
            thread(
                "__VERIFIER_atomic_begin(); y = 1; y = 2; __VERIFIER_atomic_end();",
                "assert(y != 1);",
            ),
            "holds",
        ),
        ("divisible", thread("y = 1; y = 2;", "assert(y != 1);"), "assertion"),
        (
            "waits_inside",
            thread(
                "__VERIFIER_atomic_begin(); pthread_mutex_lock(&m); y = 1; pthread_mutex_unlock(&m); __VERIFIER_atomic_end();",
                "pthread_mutex_lock(&m); y = 2; pthread_mutex_unlock(&m);",
            ),
            "holds",
        ),
        ("ends_nothing", alone("__VERIFIER_atomic_end();"), "misuse"),
    ];
    for (name, text, expected) in cases {
        let (found, claim) = verdict(&format!("verifier_{name}"), &text, &[]);
        assert_eq!(found, expected, "{name}: {claim}");
        let chooses = text.contains("nondet_int") && expected == "holds";
        assert_eq!(claim.contains("only those from 0 to 3"), chooses, "{name}: {claim}");
    }
    let text = alone("assert(__VERIFIER_nondet_int() != -2);");
    assert_eq!(verdict("verifier_range", &text, &[]).0, "holds");
    assert_eq!(verdict("verifier_range", &text, &["--values", "-2..1"]).0, "assertion");
    let program = program("verifier_refused", &format!("{DECLARATIONS}{text}"));
    for range in ["3..1", "1", "0..1000000", "a..b"] {
        assert_eq!(
            run_plain(&program, &["--values", range], &[]).status.code(),
            Some(2),
            "{range}"
        );
    }
}
