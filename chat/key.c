/* SPDX-License-Identifier: Apache-2.0 */
/* key.c - keys and pastes from the bytes of a terminal. */
#include "key.h"
#include "interrupt.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { NO_BYTE = -1 };
enum { ESCAPE = 0x1B, DELETE_CHARACTER = 0x7F };

/* The bytes of an escape sequence arrive together; a later byte belongs to another key. */
enum { ESCAPE_TIMEOUT = 50 }; /* milliseconds */

bool key_pending(const struct key_reader *r, int timeout)
{
    struct pollfd p = { .fd = r->fd, .events = POLLIN };
    return r->begin < r->end || poll(&p, 1, timeout) != 0; /* a signal is something to do */
}

/* The next byte, which stays in the buffer, or NO_BYTE after Ctrl-C or at the end of input. */
static int peek_byte(struct key_reader *r)
{
    while (r->begin == r->end) {
        if (!wait_readable(r->fd, r->on_screen_change, r->user)) {
            r->interrupted = true;
            return NO_BYTE;
        }
        const ssize_t n = read(r->fd, r->bytes, sizeof r->bytes);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return NO_BYTE;
        r->begin = 0;
        r->end = (size_t)n;
    }
    return (unsigned char)r->bytes[r->begin];
}

static int take_byte(struct key_reader *r)
{
    const int c = peek_byte(r);
    r->begin += c != NO_BYTE;
    return c;
}

/* As take_byte(), or NO_BYTE if no byte follows at once. */
static int take_byte_of_sequence(struct key_reader *r)
{
    if (!key_pending(r, ESCAPE_TIMEOUT))
        return NO_BYTE;
    return take_byte(r);
}

/* Takes printable characters, the last one whole. */
static enum key take_text(struct key_reader *r)
{
    int missing = 0; /* continuation bytes of the character */
    do {
        const int c = peek_byte(r);
        if (c == NO_BYTE || (missing && (c & 0xC0) != 0x80))
            break; /* the character is ill-formed */
        if (c < 0x20 || c == DELETE_CHARACTER)
            break;
        missing = missing ? missing - 1 : c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : c >= 0xC0 ? 1 : 0;
        text_add(&r->text, r->bytes + r->begin++, 1);
    } while (missing || r->begin < r->end);
    return KEY_TEXT;
}

static enum key take_paste(struct key_reader *r, size_t max_paste)
{
    static const char end[] = "\033[201~";
    enum { END = sizeof end - 1 };
    char tail[END] = { 0 }; /* the last bytes, so that a cut paste still ends */
    size_t dropped = 0;
    for (;;) {
        const int c = take_byte(r);
        if (c == NO_BYTE)
            return KEY_IGNORED;
        const char byte = (char)c;
        memmove(tail, tail + 1, END - 1);
        tail[END - 1] = byte;
        if (r->text.size < max_paste + END)
            text_add(&r->text, &byte, 1);
        else
            dropped++;
        if (memcmp(tail, end, END) == 0)
            break;
    }
    if (!r->text.failed) {
        r->text.size -= dropped < END ? END - dropped : 0;
        r->text.data[r->text.size] = 0;
    }
    return KEY_PASTE;
}

/* The key of the sequence ESC [ parameters final, without the modifiers Shift and Meta. */
static enum key key_of_sequence(int final, int parameter, bool control)
{
    switch (final) {
    case 'A':
        return KEY_UP;
    case 'B':
        return KEY_DOWN;
    case 'C':
        return control ? KEY_WORD_RIGHT : KEY_RIGHT;
    case 'D':
        return control ? KEY_WORD_LEFT : KEY_LEFT;
    case 'H':
        return KEY_LINE_BEGIN;
    case 'F':
        return KEY_LINE_END;
    case '~':
        break;
    default:
        return KEY_IGNORED;
    }
    switch (parameter) {
    case 1:
    case 7:
        return KEY_LINE_BEGIN;
    case 4:
    case 8:
        return KEY_LINE_END;
    case 3:
        return control ? KEY_KILL_WORD_RIGHT : KEY_DELETE;
    default:
        return KEY_IGNORED;
    }
}

/* Takes what follows ESC [ (control sequences) or ESC O (keypad). */
static enum key take_sequence(struct key_reader *r, size_t max_paste)
{
    enum { PASTE_BEGIN = 200, MODIFIER_CONTROL = 4 };
    int parameters[2] = { 0 }, n = 0, c;
    while ((c = take_byte_of_sequence(r)) != NO_BYTE && c < 0x40) {
        if (c == ';')
            n++;
        else if (c >= '0' && c <= '9' && n < 2 && parameters[n] < 1000)
            parameters[n] = 10 * parameters[n] + c - '0';
    }
    if (c == '~' && parameters[0] == PASTE_BEGIN)
        return take_paste(r, max_paste);
    if (c == 'R' && parameters[0]) {
        r->row = (unsigned)parameters[0] - 1;
        return KEY_POSITION;
    }
    const bool control = n == 1 && parameters[1] && ((parameters[1] - 1) & MODIFIER_CONTROL);
    return key_of_sequence(c, parameters[0], control);
}

static enum key take_escape(struct key_reader *r, size_t max_paste)
{
    const int c = take_byte_of_sequence(r);
    switch (c) {
    case NO_BYTE:
    case ESCAPE:
        return KEY_CANCEL;
    case '[':
    case 'O':
        return take_sequence(r, max_paste);
    case '\r':
    case '\n':
        return KEY_NEWLINE;
    case 'b':
        return KEY_WORD_LEFT;
    case 'f':
        return KEY_WORD_RIGHT;
    case 'd':
        return KEY_KILL_WORD_RIGHT;
    case '\b':
    case DELETE_CHARACTER:
        return KEY_KILL_WORD_LEFT;
    default:
        return KEY_IGNORED;
    }
}

#define CTRL(letter) ((letter)&0x1F)

static enum key key_of_control(int c)
{
    static const unsigned char keys[0x20] = {
        ['\r'] = KEY_ENTER,
        ['\n'] = KEY_ENTER, /* typed before the editor ran: the terminal translated it */
        ['\t'] = KEY_TAB,
        [CTRL('A')] = KEY_LINE_BEGIN,
        [CTRL('B')] = KEY_LEFT,
        [CTRL('D')] = KEY_DELETE_OR_END,
        [CTRL('E')] = KEY_LINE_END,
        [CTRL('F')] = KEY_RIGHT,
        [CTRL('G')] = KEY_CANCEL,
        [CTRL('H')] = KEY_BACKSPACE,
        [CTRL('K')] = KEY_KILL_LINE_END,
        [CTRL('L')] = KEY_CLEAR_SCREEN,
        [CTRL('N')] = KEY_DOWN,
        [CTRL('P')] = KEY_UP,
        [CTRL('R')] = KEY_SEARCH,
        [CTRL('U')] = KEY_KILL_TEXT,
        [CTRL('W')] = KEY_KILL_WORD_LEFT,
        [CTRL('Y')] = KEY_YANK,
    };
    return c == DELETE_CHARACTER ? KEY_BACKSPACE : (enum key)keys[c];
}

enum key key_read(struct key_reader *r, size_t max_paste)
{
    enum key key;
    r->interrupted = false;
    text_clear(&r->text);
    const int c = peek_byte(r);
    if (c == NO_BYTE)
        return r->interrupted ? KEY_INTERRUPT : KEY_CLOSED;
    if (c >= 0x20 && c != DELETE_CHARACTER) {
        key = take_text(r);
    } else {
        r->begin++;
        key = c == ESCAPE ? take_escape(r, max_paste) : key_of_control(c);
    }
    return r->interrupted ? KEY_INTERRUPT : key;
}
