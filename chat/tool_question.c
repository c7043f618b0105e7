/* SPDX-License-Identifier: Apache-2.0 */
#include "tool_question.h"
#include "interrupt.h"
#include "text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static void write_text(int fd, const char *data, size_t size)
{
    while (size) {
        const ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* then the read fails, too */
        data += n;
        size -= (size_t)n;
    }
}

static void show_call(int fd, const char *name, const char *arguments)
{
    struct text line = { 0 }, safe = { 0 };
    text_add_call(&line, name, arguments, true);
    if (!line.failed)
        text_add_escaped(&safe, line.data, line.size);
    if (!safe.failed)
        write_text(fd, safe.data, safe.size);
    text_free(&line);
    text_free(&safe);
}

static void ignore(void *user) { (void)user; }

/* Reads one line without blanks around it; what does not fit is dropped. False: Ctrl-C, the end of
 * input, or a failure. */
static bool read_answer(int fd, char *out, size_t max)
{
    size_t size = 0;
    char c = 0;
    while (c != '\n') {
        if (!wait_readable(fd, ignore, NULL))
            return false;
        const ssize_t n = read(fd, &c, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        if (c != '\n' && (size || c != ' ') && size + 1 < max)
            out[size++] = c;
    }
    while (size && out[size - 1] == ' ')
        size--;
    out[size] = 0;
    return true;
}

static bool is_word(const char *answer, const char *word)
{
    return strcmp(answer, word) == 0 || (answer[0] == word[0] && !answer[1]);
}

enum tool_consent tool_question_ask(int fd, bool is_shown, const char *name, const char *arguments)
{
    static const char question[] = "run it? (y)es, (n)o, (a)lways: ";
    char answer[16];
    tcflush(fd, TCIFLUSH);
    if (!is_shown)
        show_call(fd, name, arguments);
    for (;;) {
        write_text(fd, question, sizeof question - 1);
        if (!read_answer(fd, answer, sizeof answer)) {
            write_text(fd, "\n", 1);
            return TOOL_STOP;
        }
        if (is_word(answer, "yes"))
            return TOOL_YES;
        if (is_word(answer, "no"))
            return TOOL_NO;
        if (is_word(answer, "always"))
            return TOOL_ALWAYS;
    }
}
