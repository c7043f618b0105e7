/* SPDX-License-Identifier: Apache-2.0 */
#include "json_memory.h"
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Precedes every block, so that one that the parser frees is found at once. */
struct block {
    struct block *previous, *next; /* of a running json_memory_load() */
    max_align_t data[];
};

/* A running json_memory_load() of this thread and its blocks. Jansson's allocation functions have
 * no user pointer, hence the variable of the thread. */
static _Thread_local struct {
    bool active;
    jmp_buf failed; /* leaves the parser: it holds nothing but these blocks */
    struct block *first;
} parse;

static void *allocate(size_t size)
{
    struct block *b = size < SIZE_MAX - sizeof *b ? malloc(sizeof *b + size) : NULL;
    if (!parse.active)
        return b ? b->data : NULL;
    if (b == NULL)
        longjmp(parse.failed, 1);
    b->previous = NULL;
    b->next = parse.first;
    if (b->next != NULL)
        b->next->previous = b;
    parse.first = b;
    return b->data;
}

static void release(void *data)
{
    if (data == NULL)
        return;
    struct block *b = (struct block *)(void *)((char *)data - offsetof(struct block, data));
    if (parse.active) {
        *(b->previous ? &b->previous->next : &parse.first) = b->next;
        if (b->next != NULL)
            b->next->previous = b->previous;
    }
    free(b);
}

void json_memory_init(void) { json_set_alloc_funcs(allocate, release); }

json_t *json_memory_load(const char *text, size_t size, size_t flags, json_error_t *error,
                         bool *no_memory)
{
    json_t *volatile value = NULL;
    parse.active = true;
    *no_memory = setjmp(parse.failed) != 0;
    if (!*no_memory)
        value = json_loadb(text, size, flags, error);
    parse.active = false;
    for (struct block *b = *no_memory ? parse.first : NULL; b != NULL;) {
        struct block *next = b->next;
        free(b);
        b = next;
    }
    parse.first = NULL;
    return value;
}
