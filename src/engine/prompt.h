/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.h - chat template and tokenization of prompts. */
#ifndef QR_ENGINE_PROMPT_H
#define QR_ENGINE_PROMPT_H
#include "engine/types.h"

/* Compiles `source`, or the model's own chat template when source is NULL. Fails for a bad source;
 * a model template that is absent or does not compile is no failure: its error is kept for chat
 * requests. */
quire_status qr_prompt_open_template(struct quire_engine *e, const char *source,
                                     struct quire_error *err);
void qr_prompt_close_template(struct quire_engine *e);

/* Validated token ids of a prompt. */
struct qr_prompt {
    int32_t *tokens;   /* [capacity]; QR_EMBEDDING_TOKEN for each row of embeddings */
    int32_t *type_ids; /* [n] token types; NULL: all 0 */
    uint32_t n, capacity;
    uint32_t n_with_output; /* prompt and longest possible output */
    int32_t *source;        /* [source_capacity] tokens to encode (source.h), else NULL */
    uint32_t n_source, source_capacity;
};

/* Renders, tokenizes and validates the prompt of a request; freed by qr_prompt_free. On failure
 * there is nothing to free. */
quire_status qr_prompt_create(const struct quire_engine *e, const struct quire_request_params *r,
                              struct qr_prompt *p, struct quire_error *err);

void qr_prompt_free(const struct quire_engine *e, struct qr_prompt *p);

/* Counts the tokens of the prompt, which may exceed the context. */
quire_status qr_prompt_count(const struct quire_engine *e, const struct quire_request_params *r,
                             size_t *n_tokens, struct quire_error *err);

/* Renders the messages of a request: with add_generation_prompt the prompt that is computed,
 * otherwise the conversation alone. *out is written on success. */
quire_status qr_prompt_render(const struct quire_engine *e, const struct quire_request_params *r,
                              bool add_generation_prompt, struct quire_chat_prompt **out,
                              struct quire_error *err);

/* Tokenizes one text into *p. */
quire_status qr_prompt_encode_text(const struct quire_engine *e, const char *text, size_t size,
                                   uint32_t flags, struct qr_prompt *p, struct quire_error *err);

/* The same for a text with parts of the user, in which no special tokens are recognized. */
quire_status qr_prompt_encode_spans(const struct quire_engine *e, const char *text, size_t size,
                                    const struct quire_text_span *spans, size_t n_spans,
                                    struct qr_prompt *p, struct quire_error *err);

/* Checks that a request without an answer (QUIRE_REQUEST_PROMPT_ONLY) has no field that describes
 * one. */
quire_status qr_prompt_check_only(const struct quire_request_params *p, struct quire_error *err);

/* The last message if the request continues it: an assistant's. Otherwise NULL. */
const struct quire_chat_message *qr_prompt_answer(const struct quire_request_params *r);

#endif
