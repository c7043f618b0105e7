/* SPDX-License-Identifier: Apache-2.0 */
#include "response_store.h"
#include "keys.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOTAL_BYTES = 64 << 20 };

struct entry {
    struct stored_response stored;
    uint64_t client; /* of the key */
    char id[48];
    size_t bytes;
    struct entry *previous, *next;
};

struct response_store {
    uint32_t max_count, count;
    size_t bytes;
    struct entry *first, *last; /* the one used last is the first */
};

struct response_store *response_store_create(uint32_t max_count)
{
    struct response_store *s = calloc(1, sizeof *s);
    if (s != NULL)
        s->max_count = max_count;
    return s;
}

static void unlink_entry(struct response_store *s, struct entry *e)
{
    *(e->previous ? &e->previous->next : &s->first) = e->next;
    *(e->next ? &e->next->previous : &s->last) = e->previous;
    s->count--;
    s->bytes -= e->bytes;
}

static void link_first(struct response_store *s, struct entry *e)
{
    e->previous = NULL;
    e->next = s->first;
    *(e->next ? &e->next->previous : &s->last) = e;
    s->first = e;
    s->count++;
    s->bytes += e->bytes;
}

static void drop(const struct stored_response *r)
{
    json_decref(r->response);
    json_decref(r->input);
    json_decref(r->conversation);
}

static void remove_entry(struct response_store *s, struct entry *e)
{
    unlink_entry(s, e);
    drop(&e->stored);
    free(e);
}

void response_store_destroy(struct response_store *s)
{
    for (struct entry *e = s ? s->first : NULL, *next; e != NULL; e = next) {
        next = e->next;
        drop(&e->stored);
        free(e);
    }
    free(s);
}

static struct entry *find(struct response_store *s, const struct key *key, const char *id)
{
    for (struct entry *e = s->first; e != NULL; e = e->next)
        if (e->client == key->client && strcmp(e->id, id) == 0)
            return e;
    return NULL;
}

void response_store_add(struct response_store *s, const struct key *key, const char *id,
                        const struct stored_response *response)
{
    const bool complete = response->response && response->input && response->conversation;
    struct entry *e = complete && s->max_count > 0 ? calloc(1, sizeof *e) : NULL;
    if (e == NULL) {
        drop(response);
        return;
    }
    e->stored = *response;
    e->client = key->client;
    snprintf(e->id, sizeof e->id, "%s", id);
    e->bytes = sizeof *e + json_dumpb(response->response, NULL, 0, 0) +
               json_dumpb(response->input, NULL, 0, 0) +
               json_dumpb(response->conversation, NULL, 0, 0);
    link_first(s, e);
    while (s->count > s->max_count || s->bytes > MAX_TOTAL_BYTES)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the list changes */
        remove_entry(s, s->last);
}

const struct stored_response *response_store_find(struct response_store *s, const struct key *key,
                                                  const char *id)
{
    struct entry *e = find(s, key, id);
    if (e == NULL)
        return NULL;
    unlink_entry(s, e);
    link_first(s, e);
    return &e->stored;
}

bool response_store_remove(struct response_store *s, const struct key *key, const char *id)
{
    struct entry *e = find(s, key, id);
    if (e != NULL)
        remove_entry(s, e);
    return e != NULL;
}
