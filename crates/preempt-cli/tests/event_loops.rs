//! Event loops in C programs: descriptors of the program itself are objects that threads wait for, and what lies outside
//! of it is refused by name.

mod c_programs;

use c_programs::{has, program, run};

const USES: &str = "#include <errno.h>\n#include <fcntl.h>\n#include <poll.h>\n#include <stdatomic.h>\n#include <string.h>\n\
    #include <sys/epoll.h>\n#include <sys/eventfd.h>\n#include <sys/select.h>\n#include <sys/socket.h>\n\
    #include <sys/timerfd.h>\n#include <netinet/in.h>\n\
    static int set, event, ends[2]; static int data; static atomic_int flag;\n\
    static void watch(int descriptor) { struct epoll_event wanted = {.events = EPOLLIN, .data.fd = descriptor};\n\
      assert(epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &wanted) == 0); }\n\
    static int next(int limit) { struct epoll_event found; int count = epoll_wait(set, &found, 1, limit);\n\
      return count == 1 ? found.data.fd : -1; }\n";

/// What the other thread does, what the main one does before it and beside it, and the answer.
#[rustfmt::skip]
const LOOPS: &[(&str, &str, &str, &str, &str)] = &[
    ("woken", "data = 1; eventfd_write(event, 1);",
     "event = eventfd(0, 0); watch(event);", "assert(next(-1) == event); assert(data == 1);", "holds"),
    ("never_woken", "data = 1;",
     "event = eventfd(0, 0); watch(event);", "next(-1);", "deadlock"),
    // The flag is set before anything is written, and the loop looks only once.
    ("lost", "if (atomic_exchange(&flag, 1) == 2) eventfd_write(event, 1);",
     "event = eventfd(0, 0); watch(event);", "if (!flag) { flag = 2; next(-1); }", "deadlock"),
    ("kept", "if (atomic_exchange(&flag, 1) == 2) eventfd_write(event, 1);",
     "event = eventfd(0, 0); watch(event);",
     "int none = 0; if (atomic_compare_exchange_strong(&flag, &none, 2)) assert(next(-1) == event);", "holds"),
    ("timeout", "data = 1;",
     "event = eventfd(0, 0); watch(event);", "assert(next(50) == -1);", "holds"),
    ("timer", "data = 1;",
     "event = timerfd_create(CLOCK_MONOTONIC, 0); struct itimerspec in = {.it_value.tv_sec = 1};\n\
      timerfd_settime(event, 0, &in, 0); watch(event);", "assert(next(-1) == event);", "holds"),
    ("poll_of_a_pipe", "char c = 'x'; write(ends[1], &c, 1);",
     "pipe(ends);", "char c; struct pollfd one = {.fd = ends[0], .events = POLLIN};\n\
      assert(poll(&one, 1, -1) == 1); assert(read(ends[0], &c, 1) == 1 && c == 'x');", "holds"),
    ("select_of_a_pair", "char c = 'x'; write(ends[1], &c, 1);",
     "socketpair(AF_UNIX, SOCK_STREAM, 0, ends);", "char c; fd_set some; FD_ZERO(&some); FD_SET(ends[0], &some);\n\
      assert(select(ends[0] + 1, &some, 0, 0, 0) == 1); assert(read(ends[0], &c, 1) == 1);", "holds"),
    ("end_of_a_pipe", "close(ends[1]);",
     "pipe(ends);", "char c; assert(read(ends[0], &c, 1) == 0);", "holds"),
    ("both_read", "uint64_t n; read(event, &n, 8);",
     "event = eventfd(1, 0);", "eventfd_t n; eventfd_read(event, &n);", "deadlock"),
    // The kernel does not watch files.
    ("a_file", "data = 1;",
     "struct epoll_event wanted = {.events = EPOLLIN}; int file = open(\"/dev/null/..\", O_RDONLY);\n\
      if (file < 0) file = open(\"/\", O_RDONLY);\n\
      assert(epoll_ctl(set, EPOLL_CTL_ADD, file, &wanted) == -1 && errno == EPERM);\n\
      assert(epoll_ctl(set, EPOLL_CTL_ADD, 999, &wanted) == -1 && errno == EBADF);", "", "holds"),
    ("a_socket", "data = 1;",
     "struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};\n\
      int own = socket(AF_INET, SOCK_STREAM, 0); bind(own, (struct sockaddr *)&at, sizeof at); listen(own, 8); watch(own);", "",
     "epoll_ctl waits for something outside of the program"),
];

#[test]
fn descriptors_are_objects() {
    if !has("gcc") {
        return;
    }
    for (name, other, before, beside, expected) in LOOPS {
        let text = format!(
            "{USES}static void *other(void *p) {{ {other} return p; }}\n\
             int main(void) {{ set = epoll_create1(0); {before}\n\
             pthread_t t; pthread_create(&t, 0, other, 0); {beside}\npthread_join(t, 0); return 0; }}\n"
        );
        let (_, report) = run(&program(&format!("loop_{name}"), &text), &[]);
        let kind = report["violation"]["kind"].as_str();
        let found = kind.unwrap_or_else(|| report["verdict"].as_str().unwrap_or_default());
        match found {
            "inconclusive" => {
                let claim = report["claim"].as_str().unwrap_or_default();
                assert!(claim.contains(expected), "{name}: {report}");
            }
            _ => assert_eq!(found, *expected, "{name}: {report}"),
        }
    }
}

/// A call is one step in a report, whatever it takes: with what it is about and what it returns, in two parts if it waits.
#[test]
fn calls_are_steps_of_reports() {
    if !has("gcc") {
        return;
    }
    let text = format!(
        "{USES}static void *other(void *p) {{ eventfd_write(event, 2); data = 1; return p; }}\n\
         int main(void) {{ set = epoll_create1(0); event = eventfd(0, EFD_NONBLOCK); watch(event);\n\
         pthread_t t; pthread_create(&t, 0, other, 0); eventfd_t n; eventfd_read(event, &n);\n\
         int found = next(-1); srand(1); FILE *f = fopen(\"/dev/null\", \"r\"); fgetc(f);\n\
         assert(found != event); pthread_join(t, 0); return 0; }}\n"
    );
    let (_, report) = run(&program("loop_report", &text), &[]);
    let steps = report["violation"]["trace"].as_array().expect("steps");
    let texts: Vec<&str> = steps.iter().filter_map(|step| step["text"].as_str()).collect();
    let expected = [
        "epoll_create -> 3",
        "eventfd -> 4",
        "epoll_ctl 3 adds eventfd 4 -> 0",
        "read eventfd 4 -> EAGAIN",
        "epoll_wait 3: waits",
        "write eventfd 4 -> 8",
        "epoll_wait 3 -> 1",
        "srand",
        "open -> 5",
        "fgetc",
    ];
    assert_eq!(texts, expected, "{report}");

    let text = format!(
        "{USES}int main(void) {{ set = epoll_create1(0); event = eventfd(0, 0); watch(event); next(-1); return 0; }}\n"
    );
    let (_, report) = run(&program("loop_deadlock", &text), &[]);
    let why = report["violation"]["message"].as_str().expect("a message");
    assert!(why.starts_with("deadlock: main waits in epoll_wait 3 at "), "{why}");
}
