/* SPDX-License-Identifier: Apache-2.0 */
/* hash_key.c - --hash-key. */
#include "hash_key.h"
#include "keys.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <termios.h>
#include <unistd.h>

enum { MAX_KEY_BYTES = 1024 };

/* Turns the echo of a terminal off; false if standard input is none. */
static bool hide_input(struct termios *before)
{
    if (tcgetattr(0, before) != 0)
        return false;
    struct termios hidden = *before;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    fputs("API key: ", stderr);
    return tcsetattr(0, TCSAFLUSH, &hidden) == 0;
}

static int fail(const char *reason, int code)
{
    fprintf(stderr, "quire-server: --hash-key: %s\n", reason);
    return code;
}

/* Prints the hash of a key with the newline that ended it. */
static int print_hash(const char *key, size_t n)
{
    char hash[KEYS_HASH_SIZE];
    n -= n > 0 && key[n - 1] == '\n';
    n -= n > 0 && key[n - 1] == '\r';
    if (n == 0)
        return fail("standard input has no key", EX_DATAERR);
    if (n > MAX_KEY_BYTES)
        return fail("the key is longer than 1024 bytes", EX_DATAERR);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)key[i] <= ' ' || (unsigned char)key[i] >= 0x7F)
            return fail("the key has other bytes than printable ASCII, or a space: clients could "
                        "not send it",
                        EX_DATAERR);
    if (!keys_hash(key, n, hash))
        return fail("out of memory", EX_TEMPFAIL);
    printf("%s\n", hash);
    return fflush(stdout) == 0 ? 0 : fail("cannot write to standard output", EX_IOERR);
}

int hash_key_from_input(void)
{
    char key[MAX_KEY_BYTES + 3]; /* and \r\n, and one byte more than allowed */
    struct termios before;
    const bool hidden = hide_input(&before);
    size_t n = 0;
    int c;
    while (n < sizeof key && (c = getchar()) != EOF) {
        key[n++] = (char)c;
        if (c == '\n')
            break;
    }
    if (hidden) {
        tcsetattr(0, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    const int code =
        ferror(stdin) ? fail("cannot read standard input", EX_IOERR) : print_hash(key, n);
    explicit_bzero(key, sizeof key);
    return code;
}
