/* SPDX-License-Identifier: Apache-2.0 */
/** Models: open weights, run one forward pass over a batch.
 *
 *  Three kinds of model: decoders (Llama, GPT), encoders (BERT), and encoder-decoders (T5, BART).
 *
 *  A quire_model is immutable after open and may be shared by any number of contexts and threads. A
 *  quire_context owns everything that one step needs (plan, activations, scratch), reserved at creation, so a
 *  step allocates nothing; one step at a time per context.
 *
 *      struct quire_model *model;
 *      struct quire_model_params mp;
 *      quire_model_params_init(&mp, sizeof mp);
 *      mp.path = "model.gguf";
 *      quire_model_open(&mp, &model, &err);
 *      ... create threads, a pool with quire_model_kv_groups(), a context; then per step fill a
 *      struct quire_forward_args and call quire_context_forward().
 *
 *  Encoders need no pool: fill a struct quire_encode_args with whole sequences and call
 *  quire_context_encode() for their states, embeddings or logits.
 *
 *  Encoder-decoders have one KV group more, quire_model_info.cross_group, for the encoder's keys and values. Per
 *  source take blocks of that group, and call quire_context_encode() with slots in them, once; then
 *  decode with quire_context_forward() as any other model, giving in the batch the block table of that
 *  group and encoder_seq_lens. Many sequences may share a source's blocks; steps only read them.
 */
#ifndef QUIRE_MODEL_H
#define QUIRE_MODEL_H
#include <quire/attention.h>
#include <quire/kv_cache.h>
#include <quire/status.h>
#include <quire/threads.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Who multiplies the f32 and bf16 matrices of a model. Weights of other types are always quire's. */
enum quire_linear_provider {
    /** oneDNN for models that only encode (no KV cache), where it is faster in a short self-test
     *  at open; else quire's kernels */
    QUIRE_LINEAR_AUTO,
    QUIRE_LINEAR_QUIRE, /**< quire's kernels: the same bits in any batch and on any number of threads */
    /** oneDNN, which then owns the layout of these weights and serves every number of rows. Its
     *  sums depend on the batch; it reads its own environment variables and allocates small
     *  objects of its own in every step (docs/numerics.md) */
    QUIRE_LINEAR_ONEDNN,
};

/** Flags of quire_model_params. */
enum {
    /** Of models with latent attention: hold a second form of W_UK too, for contexts with expand_latent_from. */
    QUIRE_MODEL_EXPAND_LATENT = 1u << 0,
};

struct quire_model_params {
    uint32_t struct_size;
    const char *path; /**< a .gguf file or a Hugging Face folder; borrowed during open */
    const void *data; /**< with path NULL: a GGUF image in memory, borrowed until close */
    size_t data_bytes;
    const char *isa; /**< exact level, NULL = best (see quire/cpu.h) */
    enum quire_compute compute;
    /** used during open to pack weights; borrowed; NULL = calling thread */
    struct quire_threads *threads;
    const struct quire_allocator *allocator; /**< borrowed, outlives the model; NULL = C library */
    const struct quire_logger *logger;       /**< borrowed, outlives the model; NULL = silent */
    quire_progress_fn progress;              /**< may be NULL; called from one of the threads */
    void *progress_user;
    /** QUIRE_LINEAR_ONEDNN with a build, compute mode or weights that oneDNN cannot serve is
     *  QUIRE_E_UNSUPPORTED */
    enum quire_linear_provider linear;
    uint32_t flags; /**< QUIRE_MODEL_EXPAND_LATENT */
    /** A file to keep the packed matrices in, or NULL; borrowed during open. If it holds those of this very model (same
     *  files by size, date, tensors and samples of their data; same layout of panels) they are mapped from it, which
     *  takes no time and shares memory between processes. Else the logger is told why, the model is packed as without,
     *  and the file is written anew, to another name first, so that it is never seen half-written; only an existing
     *  file that is no pack cache is left as it is. A file that cannot be read or written is no error. The bits of all
     *  results are the same with and without. While such a model is open the file must not be truncated or written to
     *  (replacing or deleting it is fine): the system would end the process (SIGBUS). What its panels hold is not
     *  checked, so it must come from a trusted writer, as the model itself. Only with path: QUIRE_E_INVALID_ARG with
     *  data. */
    const char *pack_cache;
};

struct quire_model;   /**< shared, immutable */
struct quire_context; /**< one running step at a time */

QUIRE_API void quire_model_params_init(struct quire_model_params *params, size_t struct_size);

/** Opens, checks and packs a model. Weights are read into own memory; no file stays open, and none mapped but
 *  params.pack_cache.
 *  QUIRE_E_INVALID_ARG, QUIRE_E_MISUSE (struct_size), QUIRE_E_IO, QUIRE_E_FORMAT (names file offset, field or
 *  tensor), QUIRE_E_UNSUPPORTED (architecture, tensor type, isa), QUIRE_E_NOMEM, QUIRE_E_CANCELLED. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_model_open(const struct quire_model_params *params,
                                                         struct quire_model **out,
                                                         struct quire_error *err);

/** Frees the model; NULL is a no-op. Contexts made from it must be gone: QUIRE_E_BUSY and nothing freed else. */
QUIRE_API quire_status quire_model_close(struct quire_model *model);

/** Append only. */
enum quire_model_kind {
    QUIRE_MODEL_DECODER,         /**< quire_context_forward() */
    QUIRE_MODEL_ENCODER,         /**< quire_context_encode() */
    QUIRE_MODEL_ENCODER_DECODER, /**< both */
};

/** How the states of a sequence become one vector. Append only. */
enum quire_pooling {
    QUIRE_POOLING_CLS,    /**< the first token's state */
    QUIRE_POOLING_MEAN,   /**< the mean of all tokens' states */
    QUIRE_POOLING_LAST,   /**< the last token's state */
    QUIRE_POOLING_POOLER, /**< the model's own: tanh(W . first token's state + b) */
};

/** Facts about an open model. Strings live as long as the model. */
struct quire_model_info {
    uint32_t struct_size;    /**< set by the caller */
    const char *arch, *name; /**< family such as "llama"; display name, may be "" */
    uint32_t n_layers, hidden_size, n_heads, n_kv_heads, head_size,
        vocab_size;          /**< of the decoder, if there is one */
    uint32_t context_length; /**< tokens the model was made for */
    uint64_t weight_bytes;   /**< packed weights in memory */
    /** of these, what passes of one token read: all but an embedding table that is not the head as
     *  well; of encoder-decoders both passes */
    uint64_t token_weight_bytes;
    uint64_t n_parameters;
    int32_t bos_id, pad_id; /**< -1 = none */
    uint32_t n_eos;
    const int32_t *eos_ids; /**< [n_eos] */
    const char *isa;        /**< level in use */
    /** storage type of most weights, as GGUF tools print it, e.g. "Q4_K" */
    const char *weight_type;
    enum quire_compute compute;
    /* the author's sampling defaults; NaN (floats) or -1 (top_k) = not given */
    float temperature, top_p, min_p, repetition_penalty;
    int32_t top_k;
    enum quire_linear_provider linear; /**< never AUTO: what was chosen */
    enum quire_model_kind kind;
    uint32_t n_encoder_layers; /**< layers that quire_context_encode() runs; 0 in decoders */
    /** KV group of the encoder's keys and values in encoder-decoders, else -1 */
    int32_t cross_group;
    /** token that begins every decoded sequence of an encoder-decoder, -1 = none */
    int32_t decoder_start_id;
    uint32_t n_token_types; /**< of encoders whose tokens have types, else 0 */
    bool has_logits;        /**< there is an output matrix; encoders often come without */
    bool has_pooler;        /**< QUIRE_POOLING_POOLER works */
    /** for embeddings, as the author says (GGUF pooling_type, 1_Pooling/config.json of a folder);
     *  MEAN where nothing is said */
    enum quire_pooling pooling;
    bool pack_cached; /**< the matrices are mapped from params.pack_cache */
};
QUIRE_API void quire_model_info_init(struct quire_model_info *info, size_t struct_size);
QUIRE_API QUIRE_MUST_CHECK quire_status quire_model_info(const struct quire_model *model,
                                                         struct quire_model_info *info);

/** KV groups of the model: layers with the same window and shape share one. Fills n_layers, n_kv_heads,
 *  head_size, v_head_size, sliding_window; dtypes, n_blocks and scales stay 0 for the caller to fill. Encoders
 *  have none; of an encoder-decoder the group cross_group is indexed by position in the source.
 *  groups    [capacity] written, may be NULL when capacity is 0
 *  n_groups  number of groups of the model
 *  QUIRE_E_LIMIT when capacity is not 0 and too small. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_model_kv_groups(const struct quire_model *model,
                                                              struct quire_kv_group_config *groups,
                                                              uint32_t capacity,
                                                              uint32_t *n_groups);

struct quire_context_params {
    uint32_t struct_size;
    /** made for quire_model_kv_groups(); borrowed, outlives the context. NULL for encoders, and
     *  where an encoder-decoder shall only encode */
    struct quire_kv_cache *kv;
    /** borrowed, outlives the context; NULL = calling thread only */
    struct quire_threads *threads;
    uint32_t max_tokens; /**< tokens of one step, all sequences together; default 512 */
    uint32_t max_seqs;   /**< sequences of one step or pass; default 1 */
    /** rows of logits of one step or pass; 0 = max_tokens, in encoders max_encoder_tokens */
    uint32_t max_logits;
    uint32_t max_seq_len; /**< longest sequence; 0 = the model's context_length */
    /** borrowed, outlives the context; NULL = C library */
    const struct quire_allocator *allocator;
    /* of models with an encoder */
    /** tokens of one pass of the encoder, all sequences together; 0 = max_tokens */
    uint32_t max_encoder_tokens;
    /** longest sequence that is encoded, or whose encoding is attended to; 0 = max_encoder_tokens
     *  or the model's context_length, what is less */
    uint32_t max_encoder_len;
    enum quire_kv_dtype encoder_dtype; /**< of keys and values while the encoder runs */
    /** Of models with latent attention (quire/mla.h): sequences with at least so many new tokens in a step are computed
     *  with keys and values of every head, made from the cached latent rows for one layer at a time; the others, and by
     *  default (0) all, are absorbed. Long prompts are faster that way: the attention of a DeepSeek-V2-Lite layer takes
     *  0.78 of the time for a prompt of 512 tokens, 0.7 for 2048 in steps of 512, and about the same below 128. It takes
     *  a second pool, for one sequence of max_seq_len tokens. The results differ in their last bits from those of
     *  absorbed rows, so bits then depend on how a prompt is cut into steps.
     *  QUIRE_E_UNSUPPORTED where the model was opened without QUIRE_MODEL_EXPAND_LATENT, or has no latent attention. */
    uint32_t expand_latent_from;
};
QUIRE_API void quire_context_params_init(struct quire_context_params *params, size_t struct_size);

/** Bytes a context with these parameters will take; exact. The allocator is asked for the pool of an encoder, or of
 *  expanded keys, during the call. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_context_bytes(const struct quire_model *model, const struct quire_context_params *params,
                    uint64_t *bytes, struct quire_error *err);

/** Reserves everything a step needs. QUIRE_E_MISMATCH when kv was not made for this model. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_context_create(struct quire_model *model, const struct quire_context_params *params,
                     struct quire_context **out, struct quire_error *err);
QUIRE_API void quire_context_destroy(struct quire_context *context); /**< NULL is a no-op */

/** One forward pass. Row t of the step is token t of the batch; T = query_start_loc[n_seqs]. The position of
 *  a token is its index in its sequence: seq_len - query_len + i. */
struct quire_forward_args {
    uint32_t struct_size;
    /** sequences, block tables and slot mappings per KV group */
    const struct quire_attention_batch *batch;
    const int32_t *token_ids; /**< [T], or NULL: embeddings are given */
    /** [T][hidden_size] f32, as the embedding lookup would give them (unscaled); used when
     *  token_ids is NULL */
    const float *embeddings;
    /** [n_seqs] length that chooses between the short and long factors of longrope, and scales
     *  dynamic rotary embedding: what the sequence will have when its prompt is complete, so that
     *  a chunked prompt gives the bits of a whole one; NULL = seq_lens. Other models ignore it */
    const uint32_t *rope_lens;
    /** [n_logits] rows of the step, any order; NULL: the last row of every sequence */
    const uint32_t *logits_rows;
    uint32_t n_logits; /**< ignored when logits_rows is NULL */
    /** [n_logits or n_seqs][vocab_size] f32 out; NULL: the head is not computed */
    float *logits;
    /** [n_layers + 1][T][hidden_size] f32 out: inputs of each layer, and the final normed state;
     *  NULL = not wanted (it costs speed; for debugging) */
    float *hidden;
};
QUIRE_API void quire_forward_args_init(struct quire_forward_args *args, size_t struct_size);

/** Runs the step: writes K and V of the new tokens to the cache and computes the logits wanted. In an encoder-decoder
 *  the batch has encoder_seq_lens, and its group cross_group is only read: slot_mapping may be NULL there.
 *  All arguments are checked before anything is written: QUIRE_E_INVALID_ARG, QUIRE_E_RANGE (token id, row, slot,
 *  block id), QUIRE_E_LIMIT (more than the context was made for), QUIRE_E_UNSUPPORTED (an encoder), QUIRE_E_BUSY. A
 *  step of no tokens is success. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_context_forward(struct quire_context *context,
                                                              const struct quire_forward_args *step,
                                                              struct quire_error *err);

/** One pass of the encoder over whole sequences. Row t is token t of the batch; T = query_start_loc[n_seqs].
 *  Padding is not needed and not known: a sequence is as long as it is. What a sequence gets does not depend on
 *  the others: as bits, unless oneDNN multiplies (quire_model_info.linear). Every output may be NULL: not wanted. */
struct quire_encode_args {
    uint32_t struct_size;
    uint32_t n_seqs;                /**< 0 is fine: nothing to do */
    const int32_t *query_start_loc; /**< [n_seqs + 1] first row of each sequence, rising from 0 */
    const int32_t *token_ids;       /**< [T], or NULL: embeddings are given */
    /** [T][hidden_size] f32, as the embedding lookup would give them (unscaled); used when
     *  token_ids is NULL */
    const float *embeddings;
    const int32_t *token_type_ids; /**< [T], or NULL: all 0 */
    /** [T][hidden_size] f32 out: the last states, after the final norm if there is one */
    float *hidden;
    /** [n_encoder_layers + 1][T][hidden_size] f32 out: inputs of each layer, then hidden */
    float *layers;
    /** [n_seqs][hidden_size] f32 out: one vector for each sequence, of 1 token or more */
    float *pooled;
    enum quire_pooling pooling; /**< of pooled */
    bool normalize; /**< divide pooled vectors by their Euclidean length; zero vectors stay zero */
    float *logits;  /**< [n_logits][vocab_size] f32 out, of encoders that have them */
    /** [n_logits] rows of the step, any order; NULL: all rows, n_logits is T */
    const uint32_t *logits_rows;
    uint32_t n_logits;
    /** [T], encoder-decoders: where the keys and values that the decoder's layers take from row t go, in the KV group
     *  cross_group of the context's cache. QUIRE_SLOT_PAD: nowhere. NULL: they are not computed. */
    const int64_t *cross_slot_mapping;
};
QUIRE_API void quire_encode_args_init(struct quire_encode_args *args, size_t struct_size);

/** Runs the encoder. All arguments are checked before anything is written: QUIRE_E_INVALID_ARG, QUIRE_E_RANGE (token
 *  id, type, row, slot), QUIRE_E_LIMIT (more than the context was made for), QUIRE_E_UNSUPPORTED (a decoder, or an
 *  output that the model does not have), QUIRE_E_MISUSE (struct_size, a slot in a block that is free or shared),
 *  QUIRE_E_BUSY. Allocates nothing (but see QUIRE_LINEAR_ONEDNN). */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_context_encode(struct quire_context *context,
                                                             const struct quire_encode_args *step,
                                                             struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
