/* What every library of embedded C contains: how a call is guarded, and where its output goes. */

/* Those of Spin's verifier, which models rely on, and our own. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/times.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

/* Where a call continues that cannot come to its end; null outside of calls. */
static __thread sigjmp_buf *preempt_way_out;

/* What was printed during the call, if that is wanted. */
static char preempt_text[65536];
static size_t preempt_length;
static int preempt_prints;

enum { PRECONDITION = 1, ASSERTION, INVALID_MEMORY, ARITHMETIC, ABORT, ILLEGAL_INSTRUCTION, EXIT, REPORTED };

static void preempt_end(int how) {
    sigjmp_buf *way_out = preempt_way_out;
    preempt_way_out = 0;
    siglongjmp(*way_out, how);
}

static const int preempt_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL };
static struct sigaction preempt_before[sizeof preempt_signals / sizeof *preempt_signals];

/* A signal outside of calls is left to whatever handled it before. */
static void preempt_handle(int number, siginfo_t *info, void *context) {
    if (preempt_way_out)
        preempt_end(number == SIGFPE    ? ARITHMETIC
                    : number == SIGABRT ? ABORT
                    : number == SIGILL  ? ILLEGAL_INSTRUCTION
                                        : INVALID_MEMORY);
    for (size_t i = 0; i < sizeof preempt_signals / sizeof *preempt_signals; i++)
        if (preempt_signals[i] == number) {
            struct sigaction *before = &preempt_before[i];
            if (before->sa_flags & SA_SIGINFO)
                before->sa_sigaction(number, info, context);
            else if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN)
                sigaction(number, before, 0);
            else
                before->sa_handler(number);
        }
}

void preempt_install(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = preempt_handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < sizeof preempt_signals / sizeof *preempt_signals; i++)
        sigaction(preempt_signals[i], &action, &preempt_before[i]);
}

/* The linker sends these calls here. */
void __real_exit(int);
void __wrap_exit(int status) { if (preempt_way_out) preempt_end(EXIT); __real_exit(status); }
void __real__exit(int);
void __wrap__exit(int status) { if (preempt_way_out) preempt_end(EXIT); __real__exit(status); }
void __real__Exit(int);
void __wrap__Exit(int status) { if (preempt_way_out) preempt_end(EXIT); __real__Exit(status); }
void __wrap___assert_fail(const char *what, const char *file, unsigned line, const char *where) {
    (void) what, (void) file, (void) line, (void) where;
    if (preempt_way_out) preempt_end(ASSERTION);
    abort();
}

static int preempt_append(const char *format, va_list arguments) {
    char scratch[1];
    size_t room = sizeof preempt_text - preempt_length;
    if (!preempt_prints) return vsnprintf(scratch, 0, format, arguments);
    int wanted = vsnprintf(preempt_text + preempt_length, room, format, arguments);
    if (wanted > 0) preempt_length += (size_t) wanted < room ? (size_t) wanted : room - 1;
    return wanted;
}

int __wrap_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int wanted = preempt_append(format, arguments);
    va_end(arguments);
    return wanted;
}
int __wrap___printf_chk(int flag, const char *format, ...) {
    va_list arguments;
    (void) flag;
    va_start(arguments, format);
    int wanted = preempt_append(format, arguments);
    va_end(arguments);
    return wanted;
}
int __wrap_vprintf(const char *format, va_list arguments) { return preempt_append(format, arguments); }
int __wrap_puts(const char *text) { return __wrap_printf("%s\n", text); }
int __wrap_putchar(int character) { return __wrap_printf("%c", character); }
#define Printf printf

/* Spin's function for mistakes that C notices: the search goes on behind it. */
static int preempt_reported;
static void uerror(const char *text) {
    printf("%s\n", text);
    preempt_reported = 1;
}

