/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_list.c - the conversations of a session and their names. */
#include "conversation_list.h"
#include "grapheme.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum {
    MAX_NAME = 64,       /* bytes */
    FIRST_WORDS = 24,    /* terminal cells: a line of /list fits into 44 columns */
    SCANNED_BYTES = 192, /* of words; FIRST_WORDS cells have fewer */
};

static void free_conversation(struct conversation *c)
{
    conversation_free(c);
    free(c);
}

static bool reserve(struct conversation_list *list)
{
    if (list->n < list->capacity)
        return true;
    const size_t capacity = list->capacity ? 2 * list->capacity : 8;
    struct conversation **grown = realloc(list->items, capacity * sizeof(struct conversation *));
    if (!grown)
        return false;
    list->items = grown;
    list->capacity = capacity;
    return true;
}

struct conversation *conversation_list_add(struct conversation_list *list, const char *name)
{
    struct conversation *c = reserve(list) ? calloc(1, sizeof *c) : NULL;
    if (c && name && !(c->name = strdup(name))) {
        free(c);
        return NULL;
    }
    if (c) {
        c->number = ++list->last_number;
        list->items[list->n++] = c;
    }
    return c;
}

void conversation_list_remove(struct conversation_list *list, struct conversation *c)
{
    size_t i = 0;
    while (list->items[i] != c)
        i++;
    list->n--;
    memmove(list->items + i, list->items + i + 1, (list->n - i) * sizeof(struct conversation *));
    free_conversation(c);
}

void conversation_list_free(struct conversation_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free_conversation(list->items[i]);
    free(list->items);
    *list = (struct conversation_list){ 0 };
}

/* ---- Names */

/* Whether a code point is shown as it is. Format characters may reorder the text around them, but
 * the joiners belong to words and emoji. */
static bool is_printable(utf8proc_int32_t c)
{
    enum { ZERO_WIDTH_NON_JOINER = 0x200C, ZERO_WIDTH_JOINER = 0x200D };
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    case UTF8PROC_CATEGORY_CF:
        return c == ZERO_WIDTH_NON_JOINER || c == ZERO_WIDTH_JOINER;
    default:
        return true;
    }
}

static bool is_blank(utf8proc_int32_t c)
{
    return c == '\t' || c == '\n' || c == '\r' || utf8proc_category(c) == UTF8PROC_CATEGORY_ZS;
}

static void add_first_words(const char *s, struct text *out)
{
    struct text words = { 0 }; /* separated by single spaces */
    bool blank = false;
    utf8proc_int32_t c = 0;
    while (*s && words.size < SCANNED_BYTES && !words.failed) {
        const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s, -1, &c);
        if (n < 1) /* messages are well-formed */
            break;
        if (is_blank(c)) {
            blank = words.size > 0;
        } else if (is_printable(c)) {
            text_add(&words, " ", blank);
            text_add(&words, s, (size_t)n);
            blank = false;
        }
        s += n;
    }
    size_t n = words.size ? text_fit(words.data, words.size, FIRST_WORDS) : 0;
    if (n < words.size) {
        const size_t fits = n;
        while (n && words.data[n] != ' ')
            n--;
        n = n ? n : fits; /* a long word, or a script without spaces, is cut */
    }
    text_add(out, words.failed ? "" : words.data, words.failed ? 0 : n);
    text_free(&words);
}

/* Appends what the conversation is called without a given name and without its number. */
static void add_default_name(const struct conversation *c, struct text *out)
{
    const size_t turn = conversation_next_turn(c, 0);
    if (turn < c->n)
        add_first_words(c->messages[turn].content, out);
}

void conversation_add_name(const struct conversation *c, struct text *out)
{
    const size_t before = out->size;
    if (c->name)
        text_add(out, c->name, strlen(c->name));
    else
        add_default_name(c, out);
    if (out->size == before)
        text_addf(out, "%" PRIu64, c->number);
}

static bool has_default_name(const struct conversation *c, const char *name)
{
    struct text t = { 0 };
    if (!c->name)
        add_default_name(c, &t);
    const bool yes = t.size && !t.failed && strcmp(t.data, name) == 0;
    text_free(&t);
    return yes;
}

static bool is_number(const char *s) { return *s && !s[strspn(s, "0123456789")]; }

struct conversation *conversation_list_find(const struct conversation_list *list, const char *key,
                                            const char **problem)
{
    struct conversation *found = NULL;
    size_t n_found = 0;
    const uint64_t number = is_number(key) ? strtoull(key, NULL, 10) : 0;
    for (size_t i = 0; i < list->n; i++) {
        struct conversation *c = list->items[i];
        if ((number && c->number == number) || (c->name && strcmp(c->name, key) == 0))
            return c;
        if (has_default_name(c, key)) {
            found = c;
            n_found++;
        }
    }
    *problem = n_found ? "several conversations have this name: use the number that /list prints"
                       : "there is no such conversation; /list prints names and numbers";
    return n_found == 1 ? found : NULL;
}

static const char *check_characters(const char *name)
{
    utf8proc_int32_t c = 0;
    if (strlen(name) > MAX_NAME)
        return "the name has more than 64 bytes";
    for (; *name; name += utf8proc_iterate((const utf8proc_uint8_t *)name, -1, &c)) {
        if (utf8proc_iterate((const utf8proc_uint8_t *)name, -1, &c) < 1)
            return "the name is not UTF-8";
        if (!is_printable(c))
            return "the name has a control character";
    }
    return NULL;
}

const char *conversation_list_check_name(const struct conversation_list *list, const char *name)
{
    const char *problem = check_characters(name);
    if (problem)
        return problem;
    if (is_number(name))
        return "a name is not a number; every conversation has one already";
    for (size_t i = 0; i < list->n; i++) {
        const struct conversation *c = list->items[i];
        if ((c->name && strcmp(c->name, name) == 0) || has_default_name(c, name))
            return "another conversation has this name";
    }
    return NULL;
}
