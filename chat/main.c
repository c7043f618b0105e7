/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - quire-chat: chats with a language model. */
#include "commands.h"
#include "exit_code.h"
#include "file_faults.h"
#include "input.h"
#include "interrupt.h"
#include "report.h"
#include "session.h"
#include "terminal.h"
#include "terminal_mode.h"
#include "turn.h"
#include "vectors.h"
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <quire/cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

enum { MAX_PROMPT = 64 << 20 }; /* bytes */

/* Exit code after the last output: lost output turns success into failure. */
static int final_code(const struct output *out, int code)
{
    if (out->error == EPIPE)
        exit_by_sigpipe();
    if (out->error && !interrupts_count()) {
        print_message("cannot write the answer: %s", strerror(out->error));
        return EX_IOERR;
    }
    return code;
}

static int print_cpu(const char *isa, struct output *out)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t size = 0;
    quire_status s = quire_cpu_describe(isa, NULL, 0, &size, &err);
    char *text = s == QUIRE_OK ? malloc(size) : NULL;
    if (text)
        s = quire_cpu_describe(isa, text, size, NULL, &err);
    if (s != QUIRE_OK || !text) {
        output_error(out, s, s == QUIRE_OK ? "out of memory" : err.msg);
        return s == QUIRE_OK ? EX_TEMPFAIL : exit_code_of_isa(s, isa);
    }
    output_print(out, text);
    free(text);
    return 0;
}

/* Reads the file of -f; "-" is standard input. */
static int read_prompt(const char *path, struct text *out)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "re");
    if (!f) {
        print_message("cannot read %s: %s", path, strerror(errno));
        return EX_NOINPUT;
    }
    char buf[65536];
    size_t n;
    while (out->size <= MAX_PROMPT && (n = fread(buf, 1, sizeof buf, f)) > 0)
        text_add(out, buf, n);
    if (out->size && out->data[out->size - 1] == '\n')
        out->size--; /* the newline at the end of a file is not part of the prompt */
    text_add(out, "", 0);
    int code = 0;
    if (ferror(f)) {
        code = interrupts_count() ? EXIT_INTERRUPTED : errno == EISDIR ? EX_NOINPUT : EX_IOERR;
        print_message("cannot read %s: %s", path, strerror(errno));
    } else if (out->failed || out->size > MAX_PROMPT) {
        code = EX_DATAERR;
        print_message("%s exceeds the maximum prompt of 64 MiB", path);
    }
    if (!standard)
        fclose(f);
    return code;
}

static int exit_code_of_turn(enum turn_result result, quire_status status)
{
    const struct quire_error none = QUIRE_ERROR_INIT;
    return result == TURN_DONE        ? 0
           : result == TURN_CANCELLED ? EXIT_INTERRUPTED
                                      : exit_code_of_status(status, &none, false);
}

/* Runs a turn whose failure ends the program. */
static int run_turn(struct session *s, const char *text, size_t size)
{
    quire_status status;
    const enum turn_result result = turn_run(s, text, size, &status);
    return exit_code_of_turn(result, status);
}

/* Prints why reading standard input failed and returns the exit code; 0 = it did not fail. */
static int report_input(enum input_result got)
{
    if (got == INPUT_TOO_LONG) {
        print_message("a turn of standard input exceeds the maximum of 16 MiB");
        return EX_DATAERR;
    }
    if (got == INPUT_FAILED) {
        print_message("cannot read standard input");
        return EX_IOERR;
    }
    return 0;
}

/* Takes every line of standard input as a turn. */
static int chat_with_pipe(struct session *s)
{
    struct input in;
    struct text line = { 0 };
    int code = 0;
    enum input_result got = INPUT_LINE;
    input_open(&in, false, s);
    while (code == 0 && !s->out->error && (got = input_turn(&in, &line)) == INPUT_LINE)
        if (line.data[strspn(line.data, " \t")]) /* skips blank lines */
            code = run_turn(s, line.data, line.size);
    if (got == INPUT_INTERRUPTED)
        code = EXIT_INTERRUPTED;
    if (code == 0)
        code = report_input(got);
    input_close(&in);
    text_free(&line);
    return code;
}

static void print_welcome(const struct session *s)
{
    if (!s->options->model)
        fputs("This is the bundled model, a small demonstration. quire-chat -m FILE.gguf loads "
              "another one.\n",
              stderr);
    fputs("/help lists the commands, Ctrl-D exits\n", stderr);
}

/* Reads turns and commands until the end of input. Ctrl-C without a running request prints a hint;
 * the next one exits. */
static int chat_interactively(struct session *s)
{
    struct input in;
    struct text turn = { 0 };
    int code = 0;
    bool quit = false;
    input_open(&in, true, s);
    if (isatty(0) && !s->options->quiet)
        print_welcome(s);
    while (!quit && !s->out->error) {
        quire_status status;
        const enum input_result got = input_turn(&in, &turn);
        if (got == INPUT_INTERRUPTED) {
            fputs("Ctrl-C again exits\n", stderr);
            continue;
        }
        quit = got != INPUT_LINE;
        code = report_input(got);
        if (quit || !turn.data[strspn(turn.data, " \t\n")])
            continue;
        interrupts_reset();
        if (is_command(turn.data))
            quit = run_command(s, turn.data);
        else
            (void)turn_run(s, turn.data, turn.size, &status);
    }
    input_close(&in);
    text_free(&turn);
    return code;
}

static int run(struct session *s, const char *prompt, size_t size)
{
    const struct options *o = s->options;
    if (o->dry_run) {
        struct text sizes = { 0 };
        report_sizes(s, &sizes);
        output_print(s->out, sizes.failed ? "" : sizes.data);
        text_free(&sizes);
        return 0;
    }
    if (vectors_wanted(o))
        return prompt ? vectors_of_text(s, prompt, size) : vectors_of_lines(s);
    if (prompt) {
        const int code = run_turn(s, prompt, size);
        if (!o->interactive || (code != 0 && code != EXIT_INTERRUPTED))
            return code;
    }
    return session_is_interactive(o) ? chat_interactively(s) : chat_with_pipe(s);
}

static int chat(const struct options *o, struct output *out)
{
    struct text prompt = { 0 };
    int code = 0;
    if (o->prompt)
        text_add(&prompt, o->prompt, strlen(o->prompt));
    else if (o->file)
        code = read_prompt(o->file, &prompt);
    const bool given = o->prompt || o->file;
    if (code == 0 && given && !prompt.size) {
        output_error(out, QUIRE_E_INVALID_ARG, "the prompt is empty");
        code = EX_USAGE;
    }
    struct session s = { 0 };
    if (code == 0)
        code = session_open(&s, o, out);
    if (code == 0) {
        code = run(&s, given ? prompt.data : NULL, prompt.size);
        session_save_cache(&s);
    }
    session_close(&s);
    text_free(&prompt);
    return code;
}

/* Assumes UTF-8 if the environment sets no locale, as in many containers. */
static void set_encoding(void)
{
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

/* --help, --version and --list-options. */
static void print_information(const struct options *o, struct output *out)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (memory && o->help)
        options_help(memory);
    else if (memory && o->list_options)
        options_list(memory);
    else if (memory)
        fprintf(memory, "quire-chat %s\n", quire_version());
    const bool complete = memory && fclose(memory) == 0;
    output_print(out, complete ? text : "");
    free(text);
}

int main(int argc, char **argv)
{
    struct options o;
    struct output out;
    struct quire_error no_amx = QUIRE_ERROR_INIT;
    (void)quire_cpu_allow_amx(&no_amx); /* on failure the levels below remain */
    terminal_open();
    set_encoding();
    if (!options_parse(&o, argc, argv))
        return EX_USAGE;
    interrupts_install();
    file_faults_install("quire-chat", terminal_mode_suspend);
    output_open(&out, o.json, !o.no_wrap, o.show_thinking);
    int code = 0;
    if (o.help || o.version || o.list_options)
        print_information(&o, &out);
    else
        code = o.cpu ? print_cpu(o.isa, &out) : chat(&o, &out);
    code = final_code(&out, code);
    output_close(&out);
    return code;
}
