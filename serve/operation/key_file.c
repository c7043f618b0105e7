/* SPDX-License-Identifier: Apache-2.0 */
/* key_file.c - reads the file of API keys. */
#include "key_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINE = 1024, MAX_RATE = 1000000000, MAX_CONCURRENT = 65536, MAX_PRIORITY = 1000000 };

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@"
#define SPACES          " \t\r"

/* Where an error is. */
struct line {
    const char *path;
    unsigned number;
    struct api_error *error;
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool fail(const struct line *l, const char *what)
{
    return api_fail(l->error, 500, NULL, NULL, "%s line %u: %s", l->path, l->number, what);
}

/* Digits with at most one point between them, 0 .. MAX_RATE. Independent of the locale. */
static bool parse_rate(const char *s, double *out)
{
    double value = 0, unit = 1;
    bool fraction = false;
    if (!is_digit(*s))
        return false;
    for (; *s != '\0'; s++) {
        if (*s == '.' && !fraction && is_digit(s[1])) {
            fraction = true;
            continue;
        }
        if (!is_digit(*s))
            return false;
        unit = fraction ? unit / 10 : 1;
        value = fraction ? value + (*s - '0') * unit : value * 10 + (*s - '0');
        if (value > MAX_RATE)
            return false;
    }
    *out = value;
    return true;
}

static bool parse_integer(const char *s, long min, long max, long *out)
{
    char *end;
    if (!is_digit(*s) && !(*s == '-' && is_digit(s[1])))
        return false;
    errno = 0;
    *out = strtol(s, &end, 10);
    return errno == 0 && *end == '\0' && *out >= min && *out <= max;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hash(const char *s, uint8_t digest[KEY_DIGEST_BYTES])
{
    const size_t n = strlen(KEY_HASH_PREFIX);
    if (strncmp(s, KEY_HASH_PREFIX, n) != 0 || strlen(s + n) != 2 * KEY_DIGEST_BYTES)
        return false;
    s += n;
    for (int i = 0; i < KEY_DIGEST_BYTES; i++) {
        const int high = hex_digit(s[2 * i]), low = hex_digit(s[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        digest[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

enum setting { RPM, TPM, CONCURRENT, PRIORITY, SALT, N_SETTINGS };
static const char *const settings[N_SETTINGS] = { "rpm", "tpm", "concurrent", "priority", "salt" };

/* Reads one SETTING=VALUE. *seen has a bit per setting. */
static bool read_setting(struct key_entry *e, char *word, unsigned *seen, const struct line *l)
{
    char *value = strchr(word, '=');
    if (value == NULL)
        return fail(l, "expected SETTING=VALUE after the hash");
    *value++ = '\0';
    unsigned which = 0;
    while (which < N_SETTINGS && strcmp(settings[which], word) != 0)
        which++;
    if (which == N_SETTINGS)
        return fail(l, "unknown setting; there are rpm, tpm, concurrent, priority and salt");
    if (*seen >> which & 1)
        return fail(l, "a setting is given twice");
    *seen |= 1u << which;
    long n = 0;
    switch ((enum setting)which) {
    case RPM:
        return parse_rate(value, &e->requests_per_minute) ||
               fail(l, "rpm must be a number from 0 to 1000000000");
    case TPM:
        return parse_rate(value, &e->tokens_per_minute) ||
               fail(l, "tpm must be a number from 0 to 1000000000");
    case CONCURRENT:
        if (!parse_integer(value, 0, MAX_CONCURRENT, &n))
            return fail(l, "concurrent must be an integer from 0 to 65536");
        e->max_concurrent = (uint32_t)n;
        return true;
    case PRIORITY:
        if (!parse_integer(value, -MAX_PRIORITY, MAX_PRIORITY, &n))
            return fail(l, "priority must be an integer from -1000000 to 1000000");
        e->priority = (int32_t)n;
        return true;
    default:
        if (*value == '\0' || strlen(value) >= sizeof e->salt)
            return fail(l, "salt must have 1 to 64 bytes");
        memcpy(e->salt, value, strlen(value) + 1);
        return true;
    }
}

static bool read_entry(struct key_entry *e, char *text, const struct line *l)
{
    char *rest = NULL;
    const char *name = strtok_r(text, SPACES, &rest);
    if (strspn(name, NAME_CHARACTERS) != strlen(name) || strlen(name) >= sizeof e->name)
        return fail(l, "a name has 1 to 64 letters, digits and -_.@");
    memcpy(e->name, name, strlen(name) + 1);
    const char *hash = strtok_r(NULL, SPACES, &rest);
    /* The word may be a key in plain text: it is not repeated. */
    if (hash == NULL || !parse_hash(hash, e->digest))
        return fail(l, "expected NAME sha256: and 64 hexadecimal digits (quire-server --hash-key "
                       "prints them)");
    unsigned seen = 0;
    char *word;
    while ((word = strtok_r(NULL, SPACES, &rest)) != NULL)
        if (!read_setting(e, word, &seen, l))
            return false;
    return true;
}

static bool add_entry(struct key_file *f, const struct key_entry *e, const struct line *l)
{
    for (uint32_t i = 0; i < f->n; i++) {
        if (strcmp(f->entries[i].name, e->name) == 0)
            return fail(l, "the name is used on an earlier line");
        if (memcmp(f->entries[i].digest, e->digest, KEY_DIGEST_BYTES) == 0)
            return fail(l, "the key is used on an earlier line");
    }
    if (f->n == MAX_KEYS)
        return fail(l, "more than 10000 keys");
    if ((f->n & (f->n - 1)) == 0) { /* capacities are powers of two */
        struct key_entry *grown =
            realloc(f->entries, (f->n == 0 ? 1 : 2 * (size_t)f->n) * sizeof *grown);
        if (grown == NULL)
            return fail(l, "out of memory");
        f->entries = grown;
    }
    f->entries[f->n++] = *e;
    return true;
}

/* Reads a line without its end. False: *end tells the end of the file from an error. */
static bool read_line(FILE *file, char text[MAX_LINE], const struct line *l, bool *end)
{
    size_t n = 0;
    int c;
    *end = false;
    while ((c = fgetc(file)) != EOF && c != '\n') {
        if (c == '\0')
            return fail(l, "has a NUL byte");
        if (n == MAX_LINE - 1)
            return fail(l, "longer than 1023 bytes");
        text[n++] = (char)c;
    }
    text[n] = '\0';
    if (ferror(file))
        return fail(l, strerror(errno));
    *end = c == EOF && n == 0;
    return !*end;
}

static bool read_lines(struct key_file *f, FILE *file, struct line *l)
{
    char text[MAX_LINE];
    bool end;
    for (l->number = 1; read_line(file, text, l, &end); l->number++) {
        const char *start = text + strspn(text, SPACES);
        struct key_entry e = { .name = "" };
        if (*start == '\0' || *start == '#')
            continue;
        if (!read_entry(&e, text, l) || !add_entry(f, &e, l))
            return false;
    }
    if (end && f->n == 0)
        return api_fail(l->error, 500, NULL, NULL, "%s has no keys", l->path);
    return end;
}

/* Opens a regular file that only its owner may access. */
static FILE *open_private(const char *path, struct api_error *error)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    FILE *file = NULL;
    if (fd < 0 || fstat(fd, &st) != 0)
        api_fail(error, 500, NULL, NULL, "cannot open %s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        api_fail(error, 500, NULL, NULL, "%s is not a file", path);
    else if ((st.st_mode & 077) != 0)
        api_fail(error, 500, NULL, NULL,
                 "%s is accessible to others than its owner (mode %03o): chmod 600 it", path,
                 (unsigned)st.st_mode & 0777);
    else if ((file = fdopen(fd, "r")) == NULL)
        api_fail(error, 500, NULL, NULL, "cannot read %s: %s", path, strerror(errno));
    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

bool key_file_read(struct key_file *f, const char *path, struct api_error *error)
{
    FILE *file = open_private(path, error);
    if (file == NULL)
        return false;
    struct line line = { .path = path, .error = error };
    const bool ok = read_lines(f, file, &line);
    fclose(file);
    if (!ok)
        key_file_free(f);
    return ok;
}

void key_file_free(struct key_file *f)
{
    free(f->entries);
    *f = (struct key_file){ .n = 0 };
}
