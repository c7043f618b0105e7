/* SPDX-License-Identifier: Apache-2.0 */
/* open_huggingface.h - opens the tokenizer of a Hugging Face folder. */
#ifndef QR_TOKENIZER_OPEN_HUGGINGFACE_H
#define QR_TOKENIZER_OPEN_HUGGINGFACE_H
#include <quire/tokenizer.h>

/* Opens tokenizer.json of the folder, or tokenizer.model or tokenizer.jsonl if there is none, with
 * the configuration files of the same folder. */
quire_status qr_tokenizer_from_hf_folder(const char *path, const struct quire_allocator *a,
                                         struct quire_tokenizer **out, struct quire_error *err);

/* Opens one of these files, distinguished by content, with the configuration files of the same
 * folder. */
quire_status qr_tokenizer_from_hf_file(const char *path, const struct quire_allocator *a,
                                       struct quire_tokenizer **out, struct quire_error *err);

/* Opens a tokenizer from the bytes of a tokenizer.json or tokenizer.jsonl, which are not used after
 * the call.
 * config: bytes of tokenizer_config.json (special tokens, chat templates), or NULL
 * params: may be NULL; the caller has checked struct_size
 * QUIRE_E_LIMIT for more than 256 MiB of tokenizer.json or 16 MiB of its configuration. On failure
 * *out is NULL. */
quire_status qr_tokenizer_open_json_memory(const void *json, size_t json_size, const void *config,
                                           size_t config_size,
                                           const struct quire_tokenizer_params *params,
                                           struct quire_tokenizer **out, struct quire_error *err);

#endif
