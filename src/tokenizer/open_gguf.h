/* SPDX-License-Identifier: Apache-2.0 */
/* open_gguf.h - opens the tokenizer of a GGUF file. */
#ifndef QR_TOKENIZER_OPEN_GGUF_H
#define QR_TOKENIZER_OPEN_GGUF_H
#include <quire/tokenizer.h>

struct qr_gguf;

/* Opens a tokenizer from the metadata of an open GGUF file, which may be closed afterwards.
 * a: NULL is the C library's; must outlive the call, the tokenizer copies it. */
quire_status qr_tokenizer_from_gguf(const struct qr_gguf *file, const struct quire_allocator *a,
                                    struct quire_tokenizer **out, struct quire_error *err);

/* Opens a tokenizer from a GGUF image in memory, which is not used after the call.
 * params: may be NULL; the caller has checked struct_size. On failure *out is NULL. */
quire_status qr_tokenizer_open_gguf_memory(const void *data, size_t size,
                                           const struct quire_tokenizer_params *params,
                                           struct quire_tokenizer **out, struct quire_error *err);

#endif
