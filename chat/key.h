/* SPDX-License-Identifier: Apache-2.0 */
/* key.h - keys and pastes from the bytes of a terminal. */
#ifndef QUIRE_CHAT_KEY_H
#define QUIRE_CHAT_KEY_H
#include "text.h"
#include <stdbool.h>

enum key {
    KEY_IGNORED, /* unknown, or not for a line editor */
    KEY_TEXT,    /* typed text is in key_reader.text */
    KEY_PASTE,   /* pasted text is in key_reader.text; it may have several lines */
    KEY_ENTER,
    KEY_NEWLINE, /* Alt-Enter */
    KEY_TAB,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_WORD_LEFT,
    KEY_WORD_RIGHT,
    KEY_UP,
    KEY_DOWN,
    KEY_LINE_BEGIN,
    KEY_LINE_END,
    KEY_BACKSPACE,
    KEY_DELETE,
    KEY_DELETE_OR_END, /* Ctrl-D: the end of input on an empty line */
    KEY_KILL_WORD_LEFT,
    KEY_KILL_WORD_RIGHT,
    KEY_KILL_TEXT,
    KEY_KILL_LINE_END,
    KEY_YANK,
    KEY_CLEAR_SCREEN,
    KEY_SEARCH,
    KEY_CANCEL,    /* Ctrl-G or Escape */
    KEY_POSITION,  /* the answer to POSITION_QUERY: key_reader.row */
    KEY_INTERRUPT, /* SIGINT */
    KEY_CLOSED,    /* the terminal has gone */
};

/* Asks a terminal for the row of its cursor (DSR 6). */
#define POSITION_QUERY "\033[6n"

struct key_reader {
    int fd;
    void (*on_screen_change)(void *user); /* as in wait_readable() */
    void *user;
    char bytes[4096]; /* read and not yet taken */
    size_t begin, end;
    struct text text;
    unsigned row; /* 0 = the top of the screen */
    bool interrupted;
};

/* Waits for a key. Keeps a few bytes more than max_paste of a longer paste, so that its size tells.
 * A failed allocation sets text.failed. */
enum key key_read(struct key_reader *r, size_t max_paste);

/* Whether key_read() has something to do within a time in milliseconds. */
bool key_pending(const struct key_reader *r, int timeout);

#endif
