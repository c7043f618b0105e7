/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - the turns typed before, in memory and in a file. */
#include "history.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ENTRIES = 1000, MAX_LINE = 1 << 20 /* bytes of an entry in the file */ };

struct history {
    char *entries[MAX_ENTRIES];
    size_t n;
    char path[PATH_MAX]; /* "" = in memory only */
};

/* One entry per line, with backslashes and control characters as \ and three octal digits. libedit
 * reads and writes the same format after this line. */
static const char header[] = "_HiStOrY_V2_\n";

/* Finds the file and creates missing folders. */
static bool find_file(char *path, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (state && *state == '/')
        n = snprintf(path, size, "%s/quire/history", state);
    else if (home && *home == '/')
        n = snprintf(path, size, "%s/.local/state/quire/history", home);
    if (n < 0 || (size_t)n >= size)
        return false;
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        const bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *p = '/';
        if (!ok)
            return false;
    }
    return true;
}

static void append(struct history *h, char *entry)
{
    if (h->n == MAX_ENTRIES) {
        free(h->entries[0]);
        memmove(h->entries, h->entries + 1, --h->n * sizeof h->entries[0]);
    }
    h->entries[h->n++] = entry;
}

static bool is_octal(const char *s)
{
    return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' && s[2] <= '7';
}

static void decode_in_place(char *line)
{
    char *out = line;
    for (const char *s = line; *s && *s != '\n'; s++) {
        char c = *s;
        if (c == '\\' && is_octal(s + 1)) {
            c = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + s[3] - '0');
            s += 3;
        }
        if (c)
            *out++ = c;
    }
    *out = 0;
}

/* Returns the number of entries in the file. */
static size_t load(struct history *h)
{
    size_t n = 0;
    FILE *f = fopen(h->path, "re");
    char *line = f ? malloc(MAX_LINE) : NULL;
    while (line && fgets(line, MAX_LINE, f)) {
        if (strcmp(line, header) == 0)
            continue;
        decode_in_place(line);
        char *entry = *line ? strdup(line) : NULL;
        if (entry)
            append(h, entry);
        n++;
    }
    free(line);
    if (f)
        fclose(f);
    return n;
}

static void encode(const char *entry, struct text *out)
{
    const size_t begin = out->size;
    for (const char *s = entry; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c < 0x20 || c == 0x7F || c == '\\')
            text_addf(out, "\\%03o", c);
        else
            text_add(out, s, 1);
    }
    if (out->size - begin < MAX_LINE - 1)
        text_add(out, "\n", 1);
    else
        out->size = begin; /* load() could not read it */
}

/* Writes the entries from `first` on to the file, at its end or in place of its contents. A failure
 * leaves them in memory only. O_NONBLOCK: a FIFO without a reader is refused. */
static void save(const struct history *h, size_t first, bool replace)
{
    struct text lines = { 0 };
    struct stat st;
    const int fd = open(h->path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        if (replace || st.st_size == 0)
            text_add(&lines, header, strlen(header));
        for (size_t i = first; i < h->n; i++)
            encode(h->entries[i], &lines);
        if (!lines.failed && (!replace || ftruncate(fd, 0) == 0))
            (void)!write(fd, lines.data, lines.size);
    }
    if (fd >= 0)
        close(fd);
    text_free(&lines);
}

struct history *history_open(void)
{
    struct history *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    if (!find_file(h->path, sizeof h->path))
        h->path[0] = 0;
    else if (load(h) > 2 * MAX_ENTRIES)
        save(h, 0, true);
    return h;
}

void history_close(struct history *h)
{
    if (!h)
        return;
    while (h->n)
        free(h->entries[--h->n]);
    free(h);
}

void history_add(struct history *h, const char *entry)
{
    if (h->n && strcmp(h->entries[h->n - 1], entry) == 0)
        return;
    char *copy = strdup(entry);
    if (!copy)
        return;
    append(h, copy);
    if (h->path[0])
        save(h, h->n - 1, false);
}

size_t history_size(const struct history *h) { return h->n; }

const char *history_entry(const struct history *h, size_t i) { return h->entries[i]; }

bool history_find(const struct history *h, size_t end, const char *text, size_t *found)
{
    while (end-- > 0)
        if (strstr(h->entries[end], text)) {
            *found = end;
            return true;
        }
    return false;
}
