/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - completes slash commands, and the file names and conversations after them. */
#include "completion.h"
#include "commands.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add(struct completion *c, struct text *candidate)
{
    char *copy = candidate->failed || c->n == MAX_CANDIDATES ? NULL : strdup(candidate->data);
    if (copy)
        c->candidates[c->n++] = copy;
    else
        c->more = true;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_commands(const char *word, size_t n, struct completion *out)
{
    const char *name, *argument;
    for (size_t i = 0; (name = command_name(i, &argument)) != NULL; i++) {
        struct text candidate = { 0 };
        if (strncmp(name, word, n) != 0)
            continue;
        text_add(&candidate, name, strlen(name));
        if (argument)
            text_add(&candidate, " ", 1);
        add(out, &candidate);
        text_free(&candidate);
    }
}

/* Path of the folder of a file name; "~/" begins a name in the home folder. */
static struct text folder_of(const char *name, size_t n)
{
    struct text path = { 0 };
    const char *home = getenv("HOME");
    if (n >= 2 && strncmp(name, "~/", 2) == 0 && home && *home) {
        text_add(&path, home, strlen(home));
        name++;
        n--;
    }
    text_add(&path, name, n);
    if (!path.size)
        text_add(&path, ".", 1);
    return path;
}

static bool is_folder(const struct text *folder, const struct dirent *entry)
{
    struct text path = { 0 };
    struct stat st;
    text_add(&path, folder->data, folder->size);
    text_add(&path, "/", 1);
    text_add(&path, entry->d_name, strlen(entry->d_name));
    const bool yes = !path.failed && stat(path.data, &st) == 0 && S_ISDIR(st.st_mode);
    text_free(&path);
    return yes;
}

/* Hidden files are candidates for words that begin with a dot. */
static void add_files(const char *name, size_t n, struct completion *out)
{
    size_t base = n; /* offset of the last component */
    while (base && name[base - 1] != '/')
        base--;
    struct text folder = folder_of(name, base);
    DIR *d = folder.failed ? NULL : opendir(folder.data);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        const bool special = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        const bool hidden = e->d_name[0] == '.' && (base == n || name[base] != '.');
        struct text candidate = { 0 };
        if (special || hidden || strncmp(e->d_name, name + base, n - base) != 0)
            continue;
        text_add(&candidate, name, base);
        text_add(&candidate, e->d_name, strlen(e->d_name));
        if (is_folder(&folder, e))
            text_add(&candidate, "/", 1);
        add(out, &candidate);
        text_free(&candidate);
    }
    if (d)
        closedir(d);
    text_free(&folder);
}

static void add_conversations(const struct conversation_list *list, const char *word, size_t n,
                              struct completion *out)
{
    for (size_t i = 0; i < list->n; i++) {
        struct text name = { 0 };
        conversation_add_name(list->items[i], &name);
        if (name.failed || strncmp(name.data, word, n) == 0)
            add(out, &name);
        text_free(&name);
    }
}

void complete_command(const void *user, const char *line, size_t cursor, struct completion *out)
{
    const struct session *s = user;
    const char *argument, *name;
    *out = (struct completion){ 0 };
    if (line[0] != '/')
        return;
    const size_t command = strcspn(line, " \t");
    if (cursor <= command) {
        add_commands(line, cursor, out);
    } else {
        size_t i = 0;
        while ((name = command_name(i, &argument)) != NULL &&
               (strlen(name) != command || strncmp(name, line, command) != 0))
            i++;
        out->begin = command + strspn(line + command, " \t");
        const char *word = line + out->begin;
        const bool takes_word = name && argument && cursor >= out->begin;
        if (takes_word && strcmp(argument, "FILE") == 0)
            add_files(word, cursor - out->begin, out);
        else if (takes_word && strcmp(argument, "NAME|NUMBER") == 0)
            add_conversations(&s->conversations, word, cursor - out->begin, out);
    }
    qsort(out->candidates, out->n, sizeof out->candidates[0], compare);
}

void completion_free(struct completion *c)
{
    while (c->n)
        free(c->candidates[--c->n]);
}

size_t completion_common(const struct completion *c)
{
    const char *first = c->candidates[0];
    size_t n = strlen(first);
    for (size_t i = 1; i < c->n; i++) {
        size_t same = 0;
        while (same < n && first[same] == c->candidates[i][same])
            same++;
        n = same;
    }
    while (n && ((unsigned char)first[n] & 0xC0) == 0x80)
        n--;
    return n;
}
