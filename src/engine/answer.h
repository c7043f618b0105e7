/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the text of one answer: from token ids to pieces that may be shown. */
#ifndef QR_ENGINE_ANSWER_H
#define QR_ENGINE_ANSWER_H
#include "engine/stop.h"
#include <quire/tokenizer.h>

struct qr_answer {
    const struct quire_allocator *allocator;
    struct quire_detokenizer *detokenizer;
    struct qr_stops stops;
    char *text; /* what was not taken yet, and before it what was taken since the last push */
    size_t size, capacity;
    size_t taken; /* bytes handed out */
    size_t safe;  /* bytes that may be handed out; the rest may begin a stop text */
};

/* On failure there is nothing to free. flags: QUIRE_DETOKENIZE_*. */
quire_status qr_answer_init(struct qr_answer *a, const struct quire_tokenizer *tokenizer,
                            uint32_t flags, const char *const *stop, uint32_t n_stop,
                            const struct quire_allocator *allocator, struct quire_error *err);
void qr_answer_free(struct qr_answer *a); /* safe on zeroes */

/* Adds a token. *stopped: a stop text is complete; the answer ends before it and takes no more
 * tokens. */
quire_status qr_answer_push(struct qr_answer *a, int32_t token, bool *stopped,
                            struct quire_error *err);

/* The answer ends here: everything held back becomes text. */
quire_status qr_answer_finish(struct qr_answer *a, struct quire_error *err);

/* Text that became safe since the last call; valid until the next push, finish or free. */
void qr_answer_take(struct qr_answer *a, const char **text, size_t *size);

#endif
