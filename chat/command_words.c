/* SPDX-License-Identifier: Apache-2.0 */
#include "command_words.h"
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/* Copies the word at *from to out and advances both. False: a quote is not closed. */
static bool copy_word(const char **from, char **out)
{
    const char *p = *from;
    char *to = *out, quote = 0;
    for (; *p && (quote || !is_blank(*p)); p++) {
        const bool escapes =
            *p == '\\' && quote != '\'' && (quote ? p[1] == '"' || p[1] == '\\' : p[1] != 0);
        if (escapes)
            *to++ = *++p;
        else if (quote ? *p == quote : *p == '\'' || *p == '"')
            quote = quote ? 0 : *p;
        else
            *to++ = *p;
    }
    *to++ = 0;
    *from = p;
    *out = to;
    return !quote;
}

char **command_words(const char *command, const char **problem)
{
    const size_t size = strlen(command);
    const size_t n_max = size / 2 + 2; /* words are apart by a blank; and the NULL */
    char **words = malloc(n_max * sizeof *words + size + 1);
    char *out = (char *)(words + n_max);
    size_t n = 0;
    *problem = words ? NULL : "out of memory";
    while (!*problem && command[strspn(command, " \t\n")]) {
        command += strspn(command, " \t\n");
        words[n++] = out;
        if (!copy_word(&command, &out))
            *problem = "a quote is not closed";
    }
    if (!*problem && (n == 0 || !*words[0]))
        *problem = "there is no program";
    if (*problem) {
        free(words);
        return NULL;
    }
    words[n] = NULL;
    return words;
}

static int check_file(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    return S_ISDIR(st.st_mode) ? EISDIR : access(path, X_OK) == 0 ? 0 : errno;
}

int command_check(const char *program)
{
    char path[PATH_MAX];
    const char *folders = getenv("PATH");
    int error = ENOENT;
    if (strchr(program, '/'))
        return check_file(program);
    for (const char *p = folders ? folders : "/usr/bin:/bin"; *p && error;) {
        const size_t n = strcspn(p, ":");
        const int length = snprintf(path, sizeof path, "%.*s%s%s", (int)(n < PATH_MAX ? n : 0), p,
                                    n ? "/" : "./", program);
        const int found = length < (int)sizeof path ? check_file(path) : ENAMETOOLONG;
        error = found == ENOENT || found == ENOTDIR ? error : found;
        p += n + (p[n] == ':');
    }
    return error;
}
