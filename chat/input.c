/* SPDX-License-Identifier: Apache-2.0 */
/* input.c - turns of a conversation from standard input. */
#include "input.h"
#include "interrupt.h"
#include "line_buffer.h"
#include "terminal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void input_open(struct input *in, bool interactive, const struct session *s)
{
    *in = (struct input){ .interactive = interactive };
    if (interactive && isatty(0))
        in->editor = line_editor_open(terminal_has_color(2), complete_command, s);
}

void input_close(struct input *in) { line_editor_close(in->editor); }

static enum input_result plain_line(const struct input *in, const char *prompt, struct text *line)
{
    if (in->interactive && isatty(0)) {
        fprintf(stderr, "%s ", prompt);
        fflush(stderr);
    }
    char chunk[4096];
    size_t n = 0;
    int c = 0;
    errno = 0;
    while (line->size <= MAX_TURN && (c = getc(stdin)) != EOF && c != '\n') {
        chunk[n++] = (char)c;
        if (n == sizeof chunk) {
            text_add(line, chunk, n);
            n = 0;
        }
    }
    text_add(line, chunk, n);
    if (c == EOF && errno == EINTR && interrupts_consume()) {
        clearerr(stdin);
        return INPUT_INTERRUPTED;
    }
    if (line->failed || ferror(stdin))
        return INPUT_FAILED;
    if (c == EOF && line->size == 0)
        return INPUT_END;
    if (line->size && line->data[line->size - 1] == '\r')
        line->data[--line->size] = 0;
    return line->size > MAX_TURN ? INPUT_TOO_LONG : INPUT_LINE;
}

enum input_result input_line(struct input *in, const char *prompt, struct text *line)
{
    text_clear(line);
    text_add(line, "", 0);
    return in->editor ? line_editor_read(in->editor, prompt, line) : plain_line(in, prompt, line);
}

static bool ends_with(const struct text *t, const char *end)
{
    const size_t n = strlen(end);
    return t->size >= n && memcmp(t->data + t->size - n, end, n) == 0;
}

#define QUOTES "\"\"\""

/* Reads lines up to the closing quotes; `turn` holds the text after the opening ones. */
static enum input_result quoted_lines(struct input *in, struct text *turn)
{
    struct text line = { 0 };
    enum input_result result = INPUT_LINE;
    while (result == INPUT_LINE && !ends_with(turn, QUOTES)) {
        result = input_line(in, "...", &line);
        if (turn->size)
            text_add(turn, "\n", 1);
        if (result == INPUT_LINE)
            text_add(turn, line.data, line.size);
        if (turn->failed)
            result = INPUT_FAILED;
        else if (turn->size > MAX_TURN)
            result = INPUT_TOO_LONG;
    }
    text_free(&line);
    if (result != INPUT_LINE)
        return result;
    turn->size -= strlen(QUOTES);
    turn->size -= turn->size && turn->data[turn->size - 1] == '\n';
    turn->data[turn->size] = 0;
    return INPUT_LINE;
}

enum input_result input_turn(struct input *in, struct text *turn)
{
    enum input_result result = input_line(in, ">", turn);
    if (result != INPUT_LINE || !in->interactive)
        return result;
    if (strncmp(turn->data, QUOTES, strlen(QUOTES)) == 0) {
        turn->size -= strlen(QUOTES);
        memmove(turn->data, turn->data + strlen(QUOTES), turn->size + 1);
        result = quoted_lines(in, turn);
    }
    if (result == INPUT_LINE && in->editor && turn->size)
        line_editor_add_history(in->editor, turn->data);
    return result;
}
