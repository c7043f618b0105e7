/* SPDX-License-Identifier: Apache-2.0 */
#include "json_memory.h"
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

/* Blocks that a running json_memory_load() of this thread has allocated. Jansson's allocation
 * functions have no user pointer, hence the variable of the thread. */
static _Thread_local struct {
    bool active;
    jmp_buf failed; /* leaves the parser: it holds nothing but these blocks */
    void **blocks;
    size_t n, capacity;
} parse;

static bool record(void *block)
{
    if (parse.n == parse.capacity) {
        const size_t capacity = parse.capacity ? 2 * parse.capacity : 64;
        void **grown = realloc(parse.blocks, capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        parse.blocks = grown;
        parse.capacity = capacity;
    }
    parse.blocks[parse.n++] = block;
    return true;
}

static void *allocate(size_t size)
{
    void *block = malloc(size);
    if (!parse.active || (block != NULL && record(block)))
        return block;
    free(block);
    longjmp(parse.failed, 1);
}

static void release(void *block)
{
    if (parse.active)
        for (size_t i = parse.n; i-- > 0;) /* most blocks that the parser frees are young */
            if (parse.blocks[i] == block) {
                parse.blocks[i] = parse.blocks[--parse.n];
                break;
            }
    free(block);
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
    for (size_t i = 0; *no_memory && i < parse.n; i++)
        free(parse.blocks[i]);
    free(parse.blocks);
    parse.blocks = NULL;
    parse.n = parse.capacity = 0;
    return value;
}
