/* SPDX-License-Identifier: Apache-2.0 */
/* test_terminal.c - quire-chat on a pseudo-terminal: editing, commands, signals.
 * Usage: test_terminal PROGRAM [ARGUMENT...]. The arguments select a chat model;
 * default: the bundled one. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { SHORT_ANSWER, LONG_ANSWER };
enum { TIMEOUT = 120 }; /* seconds; generous, because test machines are busy */

static char **program; /* argv of the program under test, without the options of start() */
static int n_program;
static char folder[] = "/tmp/quire_terminal_XXXXXX";
static int failures;

struct screen {
    pid_t pid;
    int fd;
    char text[1 << 20]; /* all output, without carriage returns */
    bool dumb;          /* without cursor movement */
    size_t size, seen;  /* seen: end of the part that expect() has matched */
};
static struct screen screen;

static void failed(const char *what)
{
    failures++;
    const size_t n = screen.size < 600 ? screen.size : 600;
    printf("FAILED: %s\n--- end of the screen:\n%.*s\n---\n", what, (int)n,
           screen.text + screen.size - n);
}

static void check(bool ok, const char *what)
{
    if (!ok)
        failed(what);
}

/* Starts the program with answers of the given length. */
static void start(int length, const char *term)
{
    char *args[64] = { 0 };
    int n = 0;
    for (; n < n_program && n < 50; n++)
        args[n] = program[n];
    args[n++] = "--ignore-eos";
    args[n++] = "-c";
    args[n++] = length == LONG_ANSWER ? "40000" : "2000";
    args[n++] = "--kv-mem";
    args[n++] = "4G";
    args[n++] = "-n";
    args[n++] = length == LONG_ANSWER ? "-1" : "8";
    screen.size = screen.seen = 0;
    screen.dumb = strcmp(term, "dumb") == 0;
    screen.pid = forkpty(&screen.fd, NULL, NULL, &(struct winsize){ 24, 80, 0, 0 });
    if (screen.pid < 0) {
        printf("skipped: no pseudo-terminal here (%s)\n", strerror(errno));
        exit(failures != 0);
    }
    if (screen.pid == 0) {
        setenv("TERM", term, 1);
        setenv("XDG_STATE_HOME", folder, 1);
        execv(args[0], args);
        _exit(127);
    }
}

/* Reads output for at most 0.2 s; false after the program has exited. */
static bool read_more(void)
{
    struct pollfd p = { .fd = screen.fd, .events = POLLIN };
    if (poll(&p, 1, 200) <= 0)
        return true;
    if (screen.size == sizeof screen.text) /* keep the newer half */
        memmove(screen.text, screen.text + sizeof screen.text / 2,
                screen.size = screen.seen = sizeof screen.text / 2);
    char *begin = screen.text + screen.size;
    const ssize_t got = read(screen.fd, begin, sizeof screen.text - screen.size);
    for (ssize_t i = 0; i < got; i++)
        if (begin[i] != '\r') /* their number depends on the mode of the terminal */
            screen.text[screen.size++] = begin[i];
    return got > 0;
}

/* Reads until `text` appears after the previous match; false after TIMEOUT. */
static bool expect(const char *text)
{
    const time_t limit = time(NULL) + TIMEOUT;
    for (;;) {
        const char *found =
            memmem(screen.text + screen.seen, screen.size - screen.seen, text, strlen(text));
        if (found) {
            screen.seen = (size_t)(found - screen.text) + strlen(text);
            return true;
        }
        if (!read_more() || time(NULL) > limit)
            return false;
    }
}

static void check_shown(const char *text)
{
    char what[200];
    snprintf(what, sizeof what, "no '%s' on the screen", text);
    check(expect(text), what);
}

/* Waits before typing: the line editor prints the prompt before it sets up the terminal, and keys
 * in between can be lost. */
static void type(const char *keys)
{
    nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
    check(write(screen.fd, keys, strlen(keys)) == (ssize_t)strlen(keys), "typing");
}

/* Waits for 300 bytes of an answer: more than the echo of typed keys. */
static void wait_for_answer(void)
{
    const size_t wanted_size = screen.size + 300;
    const time_t limit = time(NULL) + TIMEOUT;
    while (screen.size < wanted_size && time(NULL) <= limit && read_more())
        ;
    check(screen.size >= wanted_size, "an answer appears");
    screen.seen = screen.size;
}

/* Whether the last change of bracketed paste mode (2004) was to `on`. */
static bool paste_mode_is(bool on)
{
    static const char mode[] = "\033[?2004";
    const char *last = NULL, *p = screen.text, *end = screen.text + screen.size;
    while ((p = memmem(p, (size_t)(end - p), mode, strlen(mode))) != NULL)
        last = p += strlen(mode);
    return last && last < end && (*last == 'h') == on;
}

/* Waits for the exit of the program and returns its status as a shell does. Checks that the
 * terminal is restored. Types `again` every 0.2 s after 5 s, in case a key was lost. */
static int wait_exit_typing(const char *again)
{
    struct termios t;
    int status = 0;
    size_t drained = 0;
    const time_t limit = time(NULL) + TIMEOUT;
    /* read before the exit: afterwards tcgetattr() fails on some systems */
    const bool known = tcgetattr(screen.fd, &t) == 0;
    while (waitpid(screen.pid, &status, WNOHANG) == 0) {
        (void)read_more();
        if (again && time(NULL) > limit - TIMEOUT + 5) /* the key was lost */
            (void)!write(screen.fd, again, strlen(again));
        if (time(NULL) > limit) {
            failed("the program does not exit");
            kill(screen.pid, SIGKILL);
            waitpid(screen.pid, &status, 0);
            break;
        }
    }
    while (read_more() && screen.size > drained) /* the rest of the output */
        drained = screen.size;
    check(screen.dumb || paste_mode_is(false), "bracketed paste is disabled");
    if (tcgetattr(screen.fd, &t) == 0 || known)
        check((t.c_lflag & ICANON) && (t.c_lflag & ECHO), "the terminal is restored");
    close(screen.fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int wait_exit(void) { return wait_exit_typing(NULL); }

/* ---- Scenarios */

static void scenario_commands(void)
{
    start(SHORT_ANSWER, "xterm");
    check_shown("/help lists");
    check_shown(">");
    type("Hello\r");
    check_shown("Hello");
    check_shown(">");
    type("/stats\r");
    check_shown("seed");
    check_shown(">");
    type("\"\"\"first line\r");
    check_shown("...");
    type("second line\"\"\"\r");
    check_shown(">");
    type("/nonsense\r");
    check_shown("unknown command /nonsense");
    type("\x1b[A\x1b[A"); /* arrow up, twice: the previous turn */
    check_shown("second line");
    type("\x15/quit\r"); /* Ctrl-U clears the line */
    check(wait_exit() == 0, "/quit exits with 0");
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "%s/quire/history", folder);
    check(stat(path, &st) == 0 && (st.st_mode & 077) == 0,
          "the history file exists and is private");
}

static void scenario_end_of_input(void)
{
    start(SHORT_ANSWER, "xterm");
    check_shown(">");
    type("\x04");
    check(wait_exit_typing("\x04") == 0, "Ctrl-D exits with 0");
}

static void scenario_cancel_and_continue(void)
{
    start(LONG_ANSWER, "xterm");
    check_shown(">");
    type("Hello\r");
    wait_for_answer();
    type("\x03");
    check_shown(">");
    type("/stats\r");
    check_shown("1 answers");
    check_shown(">");
    type("Hello\r"); /* the conversation continues and the Ctrl-C count is reset */
    wait_for_answer();
    type("\x03");
    check_shown(">");
    type("\x03");
    check(wait_exit() == 130, "the second Ctrl-C exits with 130");
}

static void scenario_interrupt_at_prompt(void)
{
    start(SHORT_ANSWER, "xterm");
    check_shown(">");
    type("half a li");
    check_shown("half a li");
    type("\x03");
    check_shown("again exits");
    type("/stats\r");
    check_shown("session"); /* the partial line was dropped */
    type("\x03");
    check_shown("again exits");
    type("\x03");
    check(wait_exit() == 130, "two Ctrl-C at the prompt exit with 130");
}

static void scenario_terminated(void)
{
    static const int signals[] = { SIGTERM, SIGHUP,  SIGQUIT, SIGABRT, SIGSEGV,
                                   SIGBUS,  SIGALRM, SIGUSR1, SIGXCPU, SIGSYS };
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        start(SHORT_ANSWER, "xterm");
        check_shown(">");
        type("abc");
        check_shown("abc");
        check(paste_mode_is(true), "bracketed paste is enabled");
        kill(screen.pid, signals[i]);
        const int status = wait_exit();
        if (status != 128 + signals[i])
            printf("signal %d: status %d\n", signals[i], status);
        check(status == 128 + signals[i], "a signal ends the program");
    }
}

static void scenario_exit_words(void)
{
    static const char *const words[] = { "exit\r", "quit \r" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        start(SHORT_ANSWER, "xterm");
        check_shown(">");
        type(words[i]);
        check(wait_exit() == 0, "exit and quit alone on a line exit");
    }
}

/* A paste while an answer is written, and one with control characters. */
static void scenario_paste(void)
{
    start(LONG_ANSWER, "xterm");
    check_shown(">");
    type("Hello\r");
    wait_for_answer();
    type("\033[200~/one\rtwo\033[201~");
    kill(screen.pid, SIGINT);  /* the key would discard the paste, which is still unread */
    check_shown(" /one\ntwo"); /* after the prompt: the echo of the paste may be split */
    type("\033[200~ \033[31m\x01red\033[201~");
    check_shown("two [31mred"); /* without escape and Ctrl-A */
    type("\r");                 /* two lines are a message, not the command /one */
    wait_for_answer();
    type("\x03");
    check_shown(">");
    type("/stats\r");
    check_shown("2 answers");
    type("/quit\r");
    check(wait_exit() == 0, "/quit exits with 0");
}

/* Without cursor movement: no editing, no color, and no raw control characters. */
static void scenario_dumb_terminal(void)
{
    start(LONG_ANSWER, "dumb");
    check_shown(">");
    type("Hello\r");
    for (int i = 0; i < 10; i++)
        wait_for_answer();
    type("\x03");
    check_shown(">");
    type("/quit\r");
    check(wait_exit() == 0, "a dumb terminal works");
    size_t raw = 0;
    for (size_t i = 0; i < screen.size; i++) {
        const unsigned char c = (unsigned char)screen.text[i];
        raw += (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    }
    check(raw == 0, "control characters are escaped");
}

int main(int argc, char **argv)
{
    if (argc < 2 || !mkdtemp(folder))
        return 2;
    program = argv + 1;
    n_program = argc - 1;
    scenario_commands();
    scenario_end_of_input();
    scenario_cancel_and_continue();
    scenario_interrupt_at_prompt();
    scenario_terminated();
    scenario_exit_words();
    scenario_paste();
    scenario_dumb_terminal();
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    if (system(command) != 0)
        return 2;
    printf("%d failed\n", failures);
    return failures != 0;
}
