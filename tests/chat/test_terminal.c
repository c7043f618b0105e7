/* SPDX-License-Identifier: Apache-2.0 */
/* test_terminal.c PROGRAM [ARGUMENT...] - quire-chat on a terminal of its own: editing,
 * commands, signals. The arguments name a model that can chat; without them the bundled one is
 * used. */
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
enum { PATIENCE = 120 }; /* seconds to wait for something: machines that run tests are busy */

static char **program; /* argv of the program under test, its options still to come */
static int n_program;
static char folder[] = "/tmp/quire_terminal_XXXXXX";
static int failures;

struct screen {
    pid_t pid;
    int fd;
    char text[1 << 20]; /* everything that was shown */
    size_t size, seen;  /* seen: up to where it was searched */
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

/* Starts the program; length is that of its answers. */
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

/* Reads what comes within a fifth of a second; false when the program has gone. */
static bool read_more(void)
{
    struct pollfd p = { .fd = screen.fd, .events = POLLIN };
    if (poll(&p, 1, 200) <= 0)
        return true;
    if (screen.size == sizeof screen.text) /* long answers: keep the newer half */
        memmove(screen.text, screen.text + sizeof screen.text / 2,
                screen.size = screen.seen = sizeof screen.text / 2);
    const ssize_t got =
        read(screen.fd, screen.text + screen.size, sizeof screen.text - screen.size);
    screen.size += got > 0 ? (size_t)got : 0;
    return got > 0;
}

/* Reads until `text` was shown after what was expected before; PATIENCE seconds at most. */
static bool expect(const char *text)
{
    const time_t limit = time(NULL) + PATIENCE;
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

static void wanted(const char *text)
{
    char what[200];
    snprintf(what, sizeof what, "no '%s' on the screen", text);
    check(expect(text), what);
}

/* A prompt is shown a moment before the line editor takes the terminal over; keys typed in between can be lost. */
static void type(const char *keys)
{
    nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
    check(write(screen.fd, keys, strlen(keys)) == (ssize_t)strlen(keys), "typing");
}

/* Some of an answer is there: a good deal more than was typed. */
static void wait_for_answer(void)
{
    const size_t wanted_size = screen.size + 300;
    const time_t limit = time(NULL) + PATIENCE;
    while (screen.size < wanted_size && time(NULL) <= limit && read_more())
        ;
    check(screen.size >= wanted_size, "an answer comes");
    screen.seen = screen.size;
}

/* Waits for the end of the program; its status as a shell would tell it. The terminal must be
 * as it was. */
static int end_typing(const char *again)
{
    struct termios t;
    int status = 0;
    const time_t limit = time(NULL) + PATIENCE;
    /* asked before the last reader of the other side is gone */
    const bool known = tcgetattr(screen.fd, &t) == 0;
    while (waitpid(screen.pid, &status, WNOHANG) == 0) {
        (void)read_more();
        if (again && time(NULL) > limit - PATIENCE + 5) /* it was lost all the same */
            (void)!write(screen.fd, again, strlen(again));
        if (time(NULL) > limit) {
            failed("the program does not end");
            kill(screen.pid, SIGKILL);
            waitpid(screen.pid, &status, 0);
            break;
        }
    }
    if (tcgetattr(screen.fd, &t) == 0 || known)
        check((t.c_lflag & ICANON) && (t.c_lflag & ECHO), "the terminal is as it was");
    close(screen.fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int end(void) { return end_typing(NULL); }

/* ---- The scenes */

static void scene_commands(void)
{
    start(SHORT_ANSWER, "xterm");
    wanted("/help lists");
    wanted(">");
    type("Hello\r");
    wanted("Hello");
    wanted(">");
    type("/stats\r");
    wanted("seed");
    wanted(">");
    type("\"\"\"first line\r");
    wanted("...");
    type("second line\"\"\"\r");
    wanted(">");
    type("/nonsense\r");
    wanted("no command /nonsense");
    type("\x1b[A\x1b[A"); /* the arrow upwards, twice: back to the turn before */
    wanted("second line");
    type("\x15/quit\r"); /* Ctrl-U clears the line */
    check(end() == 0, "/quit leaves with 0");
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "%s/quire/history", folder);
    check(stat(path, &st) == 0 && (st.st_mode & 077) == 0, "the history is kept and private");
}

static void scene_end_of_input(void)
{
    start(SHORT_ANSWER, "xterm");
    wanted(">");
    type("\x04");
    check(end_typing("\x04") == 0, "Ctrl-D leaves with 0");
}

static void scene_stop_and_go_on(void)
{
    start(LONG_ANSWER, "xterm");
    wanted(">");
    type("Hello\r");
    wait_for_answer();
    type("\x03");
    wanted(">");
    type("/stats\r");
    wanted("1 answers");
    wanted(">");
    type("Hello\r"); /* the session goes on, and Ctrl-C counts from the start again */
    wait_for_answer();
    type("\x03");
    wanted(">");
    type("\x03");
    check(end() == 130, "the second Ctrl-C leaves with 130");
}

static void scene_interrupted_typing(void)
{
    start(SHORT_ANSWER, "xterm");
    wanted(">");
    type("half a li");
    wanted("half a li");
    type("\x03");
    wanted("again leaves");
    type("/stats\r");
    wanted("session"); /* the half line is gone; the key may come before or after the prompt does */
    type("\x03");
    wanted("again leaves");
    type("\x03");
    check(end() == 130, "two at the prompt leave with 130");
}

static void scene_terminated(void)
{
    start(SHORT_ANSWER, "xterm");
    wanted(">");
    type("abc");
    wanted("abc");
    kill(screen.pid, SIGTERM);
    check(end() == 128 + SIGTERM, "SIGTERM ends it");
}

/* Without cursor movement there is no editing and no colour, and nothing of an answer reaches
 * the terminal raw. */
static void scene_dumb_terminal(void)
{
    start(LONG_ANSWER, "dumb");
    wanted(">");
    type("Hello\r");
    for (int i = 0; i < 10; i++)
        wait_for_answer();
    type("\x03");
    wanted(">");
    type("/quit\r");
    check(end() == 0, "a dumb terminal will do");
    size_t raw = 0;
    for (size_t i = 0; i < screen.size; i++) {
        const unsigned char c = (unsigned char)screen.text[i];
        raw += (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
    }
    check(raw == 0, "control characters are shown, not sent");
}

int main(int argc, char **argv)
{
    if (argc < 2 || !mkdtemp(folder))
        return 2;
    program = argv + 1;
    n_program = argc - 1;
    scene_commands();
    scene_end_of_input();
    scene_stop_and_go_on();
    scene_interrupted_typing();
    scene_terminated();
    scene_dumb_terminal();
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    if (system(command) != 0)
        return 2;
    printf("%d failed\n", failures);
    return failures != 0;
}
