/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - quire-chat: what to do, in which order, and with which exit code. */
#include "commands.h"
#include "input.h"
#include "interrupt.h"
#include "session.h"
#include "terminal.h"
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <quire/cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

enum { MAX_PROMPT = 64 << 20 };

/* The code to leave with once everything is done: output that got lost makes a success a
 * failure. */
static int final_code(const struct output *out, int code)
{
    if (out->error == EPIPE)
        die_of_broken_pipe();
    if (out->error && !interrupts()) {
        complain("cannot write the answer: %s", strerror(out->error));
        return EX_IOERR;
    }
    return code;
}

static int show_cpu(const char *isa, struct output *out)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t size = 0;
    quire_status s = quire_cpu_describe(isa, NULL, 0, &size, &err);
    char *text = s == QUIRE_OK ? malloc(size) : NULL;
    if (text)
        s = quire_cpu_describe(isa, text, size, NULL, &err);
    if (s != QUIRE_OK || !text) {
        output_error(out, s, s == QUIRE_OK ? "out of memory" : err.msg);
        return s == QUIRE_E_UNSUPPORTED ? EX_UNAVAILABLE
               : s == QUIRE_OK          ? EX_TEMPFAIL
               : isa                    ? EX_USAGE
                                        : EX_CONFIG;
    }
    output_print(out, text);
    free(text);
    return 0;
}

/* Reads -f; "-" is standard input. */
static int read_prompt(const char *path, struct text *out)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "re");
    if (!f) {
        complain("cannot read %s: %s", path, strerror(errno));
        return EX_NOINPUT;
    }
    char buf[65536];
    size_t n;
    while (out->size <= MAX_PROMPT && (n = fread(buf, 1, sizeof buf, f)) > 0)
        text_add(out, buf, n);
    if (out->size && out->data[out->size - 1] == '\n')
        out->size--; /* the end of the last line is no part of the prompt */
    text_add(out, "", 0);
    int code = 0;
    if (ferror(f)) {
        code = interrupts() ? 130 : errno == EISDIR ? EX_NOINPUT : EX_IOERR;
        complain("cannot read %s: %s", path, strerror(errno));
    } else if (out->failed || out->size > MAX_PROMPT) {
        code = EX_DATAERR;
        complain("%s is longer than a prompt may be", path);
    }
    if (!standard)
        fclose(f);
    return code;
}

static int code_of_answer(enum answer_result result, quire_status status)
{
    const struct quire_error none = QUIRE_ERROR_INIT;
    return result == ANSWER_GIVEN       ? 0
           : result == ANSWER_CANCELLED ? 130
                                        : exit_code_of(status, &none, false);
}

/* One turn outside a conversation between people: its failure is the program's. */
static int answer_once(struct session *s, const char *text, size_t size)
{
    quire_status status;
    const enum answer_result result = session_turn(s, text, size, &status);
    return code_of_answer(result, status);
}

/* Every line of standard input is a turn; a failure ends the program. */
static int talk_to_pipe(struct session *s)
{
    struct input in;
    struct text line = { 0 };
    int code = 0;
    enum input_result got = INPUT_LINE;
    input_open(&in, false);
    while (code == 0 && !s->out->error && (got = input_turn(&in, &line)) == INPUT_LINE)
        if (line.data[strspn(line.data, " \t")]) /* an empty line asks nothing */
            code = answer_once(s, line.data, line.size);
    if (got == INPUT_INTERRUPTED)
        code = 130;
    if (got == INPUT_FAILED) {
        complain("cannot read standard input");
        code = EX_IOERR;
    }
    input_close(&in);
    text_free(&line);
    return code;
}

/* After Ctrl-C without an answer to stop: the next one leaves. */
static int talk_to_person(struct session *s)
{
    struct input in;
    struct text turn = { 0 };
    int code = 0;
    bool leave = false;
    input_open(&in, true);
    if (isatty(0))
        fprintf(stderr, "/help lists the commands, Ctrl-D leaves\n");
    while (!leave && !s->out->error) {
        quire_status status;
        const enum input_result got = input_turn(&in, &turn);
        if (got == INPUT_INTERRUPTED) {
            fputs("Ctrl-C again leaves\n", stderr);
            continue;
        }
        leave = got != INPUT_LINE;
        if (got == INPUT_FAILED) {
            complain("cannot read standard input");
            code = EX_IOERR;
        }
        if (leave || !turn.data[strspn(turn.data, " \t\n")])
            continue;
        interrupts_forget();
        if (turn.data[0] == '/')
            leave = run_command(s, turn.data);
        else
            (void)session_turn(s, turn.data, turn.size, &status);
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
    const bool person = o->interactive || (!prompt && isatty(0));
    if (prompt) {
        const int code = answer_once(s, prompt, size);
        if (!o->interactive || (code != 0 && code != 130))
            return code;
    }
    return person ? talk_to_person(s) : talk_to_pipe(s);
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
    if (code == 0)
        code = run(&s, given ? prompt.data : NULL, prompt.size);
    session_close(&s);
    text_free(&prompt);
    return code;
}

/* Containers often name no locale: then text is UTF-8 all the same. */
static void set_characters(void)
{
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

int main(int argc, char **argv)
{
    struct options o;
    struct output out;
    struct quire_error no_amx = QUIRE_ERROR_INIT;
    (void)quire_cpu_allow_amx(&no_amx); /* refused: the levels below remain */
    terminal_open();
    set_characters();
    if (!options_parse(&o, argc, argv))
        return EX_USAGE;
    interrupts_install();
    output_open(&out, o.json, !o.no_wrap);
    int code;
    if (o.help) {
        struct text help = { 0 };
        options_help(&help);
        output_print(&out, help.failed ? "" : help.data);
        text_free(&help);
        code = 0;
    } else if (o.version) {
        output_print(&out, "quire-chat ");
        output_print(&out, quire_version());
        output_print(&out, "\n");
        code = 0;
    } else {
        code = o.cpu ? show_cpu(o.isa, &out) : chat(&o, &out);
    }
    code = final_code(&out, code);
    output_close(&out);
    return code;
}
