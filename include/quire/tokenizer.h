/* SPDX-License-Identifier: Apache-2.0 */
/** Tokenizer: text to token ids and back, by the rules stored in a model's own files.
 *
 *      struct quire_error err = QUIRE_ERROR_INIT;
 *      struct quire_tokenizer *tok;
 *      if (quire_tokenizer_open("model.gguf", NULL, &tok, &err) != QUIRE_OK)
 *          return fail(err.msg);
 *      int32_t ids[512];
 *      size_t n;
 *      if (quire_tokenizer_encode(tok, "Hello", 5, QUIRE_ENCODE_ADD_BOS, ids, 512, &n, &err) ==
 *          QUIRE_OK)
 *          use(ids, n);
 *      quire_tokenizer_close(tok);
 *
 *  A tokenizer is immutable after open: any number of threads may use it concurrently. */
#ifndef QUIRE_TOKENIZER_H
#define QUIRE_TOKENIZER_H
#include <quire/status.h>
#include <quire/text_span.h>

#ifdef __cplusplus
extern "C" {
#endif

struct quire_tokenizer;
struct quire_detokenizer;

/** No such token, wherever an id is returned. */
#define QUIRE_TOKEN_NONE (-1)

struct quire_tokenizer_params {
    uint32_t struct_size; /**< sizeof(struct quire_tokenizer_params) */
    /** Copied; NULL: the C library. JSON trees, which exist during open only, and the machine code
     *  of regular expressions do not use it. */
    const struct quire_allocator *allocator;
    const struct quire_logger *logger; /**< used during open only; NULL: silent */
};
QUIRE_API void quire_tokenizer_params_init(struct quire_tokenizer_params *params,
                                           size_t struct_size);

/** Opens a tokenizer.
 *  path    a GGUF file (of a model, or with the vocabulary only); a Hugging Face folder with
 *          tokenizer.json, tokenizer.model, tokenizer.jsonl (PLaMo) or rwkv_vocab_v20230424.txt
 *          (RWKV), the first that exists; or one of these files.
 *          tokenizer_config.json, special_tokens_map.json, generation_config.json, config.json and
 *          chat_template.jinja in the same folder are read if they exist
 *  params  NULL = defaults
 *  out     receives the tokenizer; NULL on failure
 *  Returns QUIRE_E_IO; QUIRE_E_FORMAT and QUIRE_E_LIMIT for bad contents; QUIRE_E_UNSUPPORTED for a
 *  tokenizer kind, pre-tokenizer or normalizer that this build does not support (there is no
 *  fallback); QUIRE_E_NOMEM; QUIRE_E_INVALID_ARG; QUIRE_E_MISUSE for a wrong struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_tokenizer_open(const char *path, const struct quire_tokenizer_params *params,
                     struct quire_tokenizer **out, struct quire_error *err);

/** Opens a tokenizer from memory, which need not outlive the call.
 *  data    a GGUF image (of a model, or with the vocabulary only), or the `size` bytes of a
 *          tokenizer.json, tokenizer.jsonl or rwkv_vocab_v20230424.txt of at most 256 MiB
 *  config  the config_size bytes of the tokenizer_config.json that belongs to one of these
 *          (special tokens, chat templates), at most 16 MiB; or NULL. NULL with a GGUF image
 *  Otherwise as quire_tokenizer_open. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_tokenizer_open_memory(const void *data, size_t size, const void *config, size_t config_size,
                            const struct quire_tokenizer_params *params,
                            struct quire_tokenizer **out, struct quire_error *err);

/** Frees the tokenizer; its detokenizers must be destroyed first. NULL is a no-op. */
QUIRE_API void quire_tokenizer_close(struct quire_tokenizer *tok);

/** Flags of encode; combined with |. */
enum {
    /** Prepend the model's beginning-of-sequence token (BOS or CLS), if its settings have one. */
    QUIRE_ENCODE_ADD_BOS = 1,
    /** Append the model's end-of-sequence token (EOS or SEP), if its settings have one. */
    QUIRE_ENCODE_ADD_EOS = 2,
    /** Text such as "<|im_end|>" becomes the special token; without this flag it is ordinary text.
     *  Never set it for user data. */
    QUIRE_ENCODE_PARSE_SPECIAL = 4,
};

/** Encodes UTF-8 text.
 *  text     `size` bytes, may be NULL when size is 0. Ill-formed UTF-8 is read as U+FFFD, one per
 *           maximal ill-formed sequence. At most INT32_MAX bytes (else QUIRE_E_LIMIT)
 *  ids      capacity of ids_max ids; may be NULL when ids_max is 0
 *  n_ids    receives the number of ids of the text, also if they exceed the capacity
 *  Returns QUIRE_OK; QUIRE_E_LIMIT when ids_max is neither 0 nor large enough (ids then holds the
 *  first ids_max of them); QUIRE_E_NOMEM. ids_max 0 counts only.
 *  Time is O(n log n) in the size of the text. A run of more than 64 KiB of letters, digits, spaces
 *  or other characters is split every 64 KiB; real text is unaffected. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_tokenizer_encode(const struct quire_tokenizer *tok,
                                                               const char *text, size_t size,
                                                               uint32_t flags, int32_t *ids,
                                                               size_t ids_max, size_t *n_ids,
                                                               struct quire_error *err);

/** Encodes a rendered conversation: QUIRE_ENCODE_PARSE_SPECIAL applies outside user data only, and
 *  no special token is recognized that contains a byte of user data. Otherwise the spans are
 *  encoded as one text: the result equals that of quire_tokenizer_encode if user data contains no
 *  special tokens.
 *  spans    cover the text from 0 to size in order, without gap or overlap (else
 *           QUIRE_E_INVALID_ARG) */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_tokenizer_encode_spans(const struct quire_tokenizer *tok, const char *text, size_t size,
                             const struct quire_text_span *spans, size_t n_spans, uint32_t flags,
                             int32_t *ids, size_t ids_max, size_t *n_ids, struct quire_error *err);

/* ---- Vocabulary. Each function states its result for an id out of range. */

/** Number of tokens; ids are 0 .. n-1. A model's logits may have more rows, which have no text. */
QUIRE_API size_t quire_tokenizer_vocab_size(const struct quire_tokenizer *tok);

/** Token types, numbered as in GGUF files. */
enum quire_token_type {
    QUIRE_TOKEN_UNDEFINED,
    QUIRE_TOKEN_NORMAL,
    QUIRE_TOKEN_UNKNOWN,
    QUIRE_TOKEN_CONTROL,
    QUIRE_TOKEN_USER_DEFINED, /**< matched in any text before pre-tokenization and merges */
    QUIRE_TOKEN_UNUSED,
    QUIRE_TOKEN_BYTE,
};
/** Type of a token; QUIRE_TOKEN_UNDEFINED out of range. Control tokens of a chat format
 *  ("<|user|>", "</s>") are CONTROL here, regardless of their type in the file. */
QUIRE_API enum quire_token_type quire_tokenizer_token_type(const struct quire_tokenizer *tok,
                                                           int32_t token);

/** Whether the token is a control token of a chat format rather than text. */
QUIRE_API bool quire_tokenizer_is_special(const struct quire_tokenizer *tok, int32_t token);

/** Whether the token ends generation: EOS, EOT, EOM and all tokens of the same meaning. */
QUIRE_API bool quire_tokenizer_is_eog(const struct quire_tokenizer *tok, int32_t token);

enum quire_special_token {
    QUIRE_SPECIAL_BOS,
    QUIRE_SPECIAL_EOS,
    QUIRE_SPECIAL_EOT, /**< end of a turn */
    QUIRE_SPECIAL_EOM, /**< end of a message that is followed by a tool call */
    QUIRE_SPECIAL_UNK,
    QUIRE_SPECIAL_PAD,
    QUIRE_SPECIAL_SEP,
    QUIRE_SPECIAL_CLS,
    QUIRE_SPECIAL_MASK,
    QUIRE_N_SPECIAL
};
/** Id of a special token, QUIRE_TOKEN_NONE if the model has none. */
QUIRE_API int32_t quire_tokenizer_special(const struct quire_tokenizer *tok,
                                          enum quire_special_token which);

/** Whether QUIRE_ENCODE_ADD_BOS / QUIRE_ENCODE_ADD_EOS add a token for this model. */
QUIRE_API bool quire_tokenizer_adds_bos(const struct quire_tokenizer *tok);
QUIRE_API bool quire_tokenizer_adds_eos(const struct quire_tokenizer *tok);

/** Id of the token with this stored text, in the vocabulary's own escapes; QUIRE_TOKEN_NONE if
 *  there is none. */
QUIRE_API int32_t quire_tokenizer_find(const struct quire_tokenizer *tok, const char *text,
                                       size_t size);

/** Stored text of a token, e.g. "<0x0A>" or "the" after U+2581. (WordPiece texts are stored as in
 *  GGUF files: U+2581 begins a word, continuations are unmarked.) Not NUL-terminated; lives as long
 *  as the tokenizer. NULL and *size = 0 out of range. */
QUIRE_API const char *quire_tokenizer_token_text(const struct quire_tokenizer *tok, int32_t token,
                                                 size_t *size);

/** Bytes of a token in decoded text, e.g. " the", "\n"; may be part of a character. Special tokens
 *  give their stored text. Same lifetime; NULL and *size = 0 out of range. */
QUIRE_API const char *quire_tokenizer_token_bytes(const struct quire_tokenizer *tok, int32_t token,
                                                  size_t *size);

/** Chat template (Jinja source, NUL-terminated, lives as long as the tokenizer), or NULL if the
 *  model has none of that name. name: NULL for the default template, else e.g. "tool_use". */
QUIRE_API const char *quire_tokenizer_chat_template(const struct quire_tokenizer *tok,
                                                    const char *name);

/* ---- Incremental detokenization */

enum {
    /** Special tokens give their text instead of nothing. */
    QUIRE_DETOKENIZE_SPECIAL = 1,
    /** The text continues an earlier one: keep the leading space that some vocabularies add at the
     *  start of every text. */
    QUIRE_DETOKENIZE_CONTINUES = 2,
};

/** Creates the state of one text stream and allocates all its memory. One thread at a time; the
 *  tokenizer must outlive it. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_detokenizer_create(const struct quire_tokenizer *tok,
                                                                 uint32_t flags,
                                                                 struct quire_detokenizer **out,
                                                                 struct quire_error *err);
QUIRE_API void quire_detokenizer_destroy(struct quire_detokenizer *d); /**< NULL is a no-op */

/** Adds a token and returns the text completed by this token: well-formed UTF-8, possibly empty. An
 *  incomplete character (at most 3 bytes) is held back until its remaining bytes arrive; bytes that
 *  cannot become a character give U+FFFD. *text is not NUL-terminated and lives until the next call
 *  with this object.
 *  QUIRE_E_RANGE an id outside the vocabulary; the stream is unchanged then. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_detokenizer_push(struct quire_detokenizer *d,
                                                               int32_t token, const char **text,
                                                               size_t *size,
                                                               struct quire_error *err);

/** Ends the stream: returns held-back bytes as U+FFFD and resets the stream. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_detokenizer_finish(struct quire_detokenizer *d,
                                                                 const char **text, size_t *size,
                                                                 struct quire_error *err);

/** Decodes a whole sequence to well-formed UTF-8.
 *  buf      capacity of buf_max bytes; may be NULL when buf_max is 0. No terminator is written
 *  size     receives the number of bytes of the text, also if it exceeds the capacity
 *  Returns QUIRE_OK; QUIRE_E_LIMIT when buf_max is neither 0 nor large enough; QUIRE_E_RANGE;
 *  QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_tokenizer_decode(const struct quire_tokenizer *tok,
                                                               const int32_t *ids, size_t n_ids,
                                                               uint32_t flags, char *buf,
                                                               size_t buf_max, size_t *size,
                                                               struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
