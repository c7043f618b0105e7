/* SPDX-License-Identifier: Apache-2.0 */
#include "prompt.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

static bool begins_with_system(const struct prompt *p)
{
    return p->n && strcmp(p->conversation->messages[0].role, "system") == 0;
}

bool prompt_open(struct prompt *p, const struct conversation *c, size_t n, const char *note)
{
    struct text system = { 0 };
    *p = (struct prompt){ .conversation = c, .n = n, .note = note };
    p->messages = calloc(n + 1, sizeof *p->messages);
    if (!note)
        return p->messages != NULL;
    if (begins_with_system(p)) {
        text_add(&system, c->messages[0].content, strlen(c->messages[0].content));
        text_add(&system, "\n\n", 2);
    }
    text_add(&system, note, strlen(note));
    p->system = system.data;
    return p->messages && !system.failed;
}

void prompt_close(struct prompt *p)
{
    free(p->messages);
    free(p->system);
    *p = (struct prompt){ 0 };
}

size_t prompt_fill(struct prompt *p, size_t first)
{
    const bool inserts = p->note && !begins_with_system(p);
    const size_t count =
        conversation_prompt(p->conversation, first, p->n, p->messages + inserts) + inserts;
    if (p->note)
        p->messages[0] = (struct quire_chat_message){ .role = "system",
                                                      .content = p->system,
                                                      .content_len = QUIRE_NUL_TERMINATED };
    return count;
}
