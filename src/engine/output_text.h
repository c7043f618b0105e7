/* SPDX-License-Identifier: Apache-2.0 */
/* output_text.h - incremental detokenization of the output, with stop strings. */
#ifndef QR_ENGINE_OUTPUT_TEXT_H
#define QR_ENGINE_OUTPUT_TEXT_H
#include "engine/stop_strings.h"
#include <quire/tokenizer.h>

struct qr_output_text {
    const struct quire_allocator *allocator;
    struct quire_detokenizer *detokenizer;
    struct qr_stop_strings stops;
    char *text; /* [capacity]; begins with the bytes taken since the last push */
    size_t size, capacity;
    size_t n_taken;    /* leading bytes that the caller has taken */
    size_t n_released; /* leading bytes that may be taken; the rest may begin a stop string */
};

/* flags: QUIRE_DETOKENIZE_*. On failure there is nothing to free. */
quire_status qr_output_text_init(struct qr_output_text *o, const struct quire_tokenizer *tokenizer,
                                 uint32_t flags, const char *const *stop, uint32_t n_stop,
                                 const struct quire_allocator *allocator, struct quire_error *err);
void qr_output_text_free(struct qr_output_text *o); /* safe on zeroes */

/* Appends a token. *stopped: a stop string is complete; the text ends before it, and no token may
 * follow. */
quire_status qr_output_text_push(struct qr_output_text *o, int32_t token, bool *stopped,
                                 struct quire_error *err);

/* Makes `to` continue the text of `from`, with the part that is not taken. Both were initialized
 * alike. */
quire_status qr_output_text_copy(struct qr_output_text *to, const struct qr_output_text *from,
                                 struct quire_error *err);

/* Flushes the detokenizer and releases a partial stop string. No token may follow. */
quire_status qr_output_text_flush(struct qr_output_text *o, struct quire_error *err);

/* Growing text between the step and the consumer of events. */
struct qr_text_buffer {
    char *text;
    size_t size, capacity;
};

/* Bytes that qr_output_text_move() would move; drops them instead. */
size_t qr_output_text_pending(const struct qr_output_text *o);
void qr_output_text_drop(struct qr_output_text *o);

/* Moves the text released so far to the end of a buffer, which grows by the same allocator. */
quire_status qr_output_text_move(struct qr_output_text *o, struct qr_text_buffer *to,
                                 struct quire_error *err);

#endif
