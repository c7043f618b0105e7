/* SPDX-License-Identifier: Apache-2.0 */
/** Models: load weights, run one forward pass over a batch.
 *
 *  Three kinds of models: decoders (Llama, GPT), encoders (BERT), and encoder-decoders (T5, BART).
 *
 *  A quire_model is immutable after open and may be shared by any number of contexts and threads. A
 *  quire_context owns everything that one step needs (plan, activations, scratch), reserved at
 *  creation, so a step does not allocate; one step at a time per context.
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
 *  quire_context_encode() for hidden states, embeddings or logits.
 *
 *  Encoder-decoders have one additional KV group, quire_model_info.cross_group, for the keys and
 *  values of the encoder. Per source, allocate blocks of that group and call quire_context_encode()
 *  once, with a slot mapping to them; then decode with quire_context_forward() like any other
 *  model, with the block table of that group and encoder_seq_lens in the batch. Many sequences may
 *  share the blocks of a source; decoding only reads them. */
#ifndef QUIRE_MODEL_H
#define QUIRE_MODEL_H
#include <quire/attention.h>
#include <quire/kv_cache.h>
#include <quire/state_pool.h>
#include <quire/status.h>
#include <quire/threads.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Implementation of the products with f32 and bf16 matrices of a model. Weights of other types
 *  always use quire's kernels. */
enum quire_linear_provider {
    /** oneDNN for models that only encode (no KV cache), if it is faster in a short benchmark at
     *  open; else quire's kernels */
    QUIRE_LINEAR_AUTO,
    /** quire's kernels: batch-invariant and deterministic for any thread count */
    QUIRE_LINEAR_QUIRE,
    /** oneDNN, which then owns the layout of these weights and computes every number of rows. Not
     *  batch-invariant; it reads its own environment variables and allocates small objects of its
     *  own in every step (docs/numerics.md) */
    QUIRE_LINEAR_ONEDNN,
};

/** Flags of quire_model_params. */
enum {
    /** For models with latent attention: also store W_UK in the form that contexts with
     *  expand_latent_from need. */
    QUIRE_MODEL_EXPAND_LATENT = 1u << 0,
    /** Unsafe: load a model although its files contain configuration keys or tensors that quire
     *  does not know. Each one is a warning instead of QUIRE_E_UNSUPPORTED. If it asks for a
     *  computation that quire does not perform, results are wrong without any further sign. */
    QUIRE_MODEL_ALLOW_UNKNOWN = 1u << 1,
    /** Bytes after the last tensor of a GGUF file are QUIRE_E_FORMAT: another file may be hidden
     *  there. Without the flag they are a warning of the logger. In safetensors files they are
     *  always an error. */
    QUIRE_MODEL_STRICT = 1u << 2,
    /** Recurrent states (quire/state_pool.h) in bf16: half the memory. A state is rounded after
     *  every token, so results still do not depend on how the tokens are divided among steps.
     *  Convolutions keep their inputs, and RWKV-4 its state, in f32; without effect on models that
     *  have nothing else. Prompts take up to 1.1 times as long, generation for many sequences
     *  gains as much (Xeon); docs/numerics.md has the error. */
    QUIRE_MODEL_BF16_STATES = 1u << 3,
};

struct quire_model_params {
    uint32_t struct_size;
    const char *path; /**< a .gguf file or a Hugging Face folder; borrowed during open */
    const void *data; /**< with path NULL: a GGUF image in memory, borrowed until close */
    size_t data_bytes;
    const char *isa; /**< exact ISA level name, NULL = best (see quire/cpu.h) */
    enum quire_compute compute;
    /** used during open to pack weights; borrowed; NULL = calling thread */
    struct quire_threads *threads;
    const struct quire_allocator *allocator; /**< borrowed, outlives the model; NULL = C library */
    const struct quire_logger *logger;       /**< borrowed, outlives the model; NULL = silent */
    quire_progress_fn progress;              /**< may be NULL; called from one of the threads */
    void *progress_user;
    /** QUIRE_LINEAR_ONEDNN with a build, compute mode or weights that oneDNN does not support is
     *  QUIRE_E_UNSUPPORTED */
    enum quire_linear_provider linear;
    uint32_t flags; /**< QUIRE_MODEL_* */
    /** Path of a cache file of the packed matrices, or NULL; borrowed during open. If the file
     *  holds the panels of this model (same files by size, date, tensors and samples of their data;
     *  same panel layout) and their checksums are right, they are mapped from it, which takes the
     *  time to read it once and shares memory between processes. Otherwise the logger receives the
     *  reason, the model is packed as without the file, and the file is rewritten atomically (under
     *  another name first, then renamed), except that an existing file that is no pack cache is
     *  left unchanged. A file that cannot be read or written is no error; nothing is written beyond
     *  RLIMIT_FSIZE. Temporary files of writers that were killed, which have the path with
     *  .<16 hexadecimal digits>.tmp, are removed. All results have the same bits with and without
     *  the file.
     *  Hazard: while such a model is open the file must not be truncated or written to (replacing
     *  or deleting it is safe): the system would terminate the process (SIGBUS), unless the host
     *  handles the signal. The checksums detect damage, not forgery: the file must come from a
     *  trusted writer, like the model itself. Only with path: QUIRE_E_INVALID_ARG with data. */
    const char *pack_cache;
    /** Opens a head of multi-token prediction (MTP) of this open model instead of a model: a small
     *  model that predicts the token behind the next one, for drafts. isa, compute and linear are
     *  the model's and ignored here, pack_cache must be NULL, and the model cannot be closed before
     *  its head. Row t of a step reads token t + 1 of the sequence, the model's embeddings unless
     *  the head has some, and quire_forward_args.previous_hidden, which depends on the head:
     *  - In the files of the model (Qwen3-Next, Qwen3.5, DeepSeek V3, Kimi K2, GLM-4.5, Ling 2,
     *    MiMo): path or data are those of the model, the first head is opened. Its output matrix is
     *    the model's. It reads last_hidden of the model at token t.
     *  - Several in the files of the model (MiMo V2, Step 3.5): path or data are those of the
     *    model, all that the files have are opened, from the first one on
     *    (quire_model_info.n_mtp_heads). Output matrices are the model's, or in the files. What
     *    they read: quire_forward_args.mtp_head.
     *  - Gemma 4's assistant: path or data are its own files. It reads the same, and the KV cache
     *    of the model (quire_model_info.mtp_shares_kv): row t attends to the keys of tokens 0 to t,
     *    which the model has computed.
     *  - EAGLE-3: path or data are its own files. It reads the features of the model at token t
     *    (quire_model_info.n_mtp_features).
     *  - DFlash, DFlash 2 and DSpark, block drafters: path or data are their own files. Their steps
     *    are of two kinds. With previous_hidden, row t is the features at token t, of which keys
     *    and values are stored; token_ids may be NULL, there is no output. Without, the rows of a
     *    sequence are a block behind these (quire_model_info.mtp_block_size): the last token, whose
     *    features are not known yet, and mask tokens, which predict the tokens in their own places;
     *    with mtp_from_anchor all rows predict the tokens behind. The keys and values of the block
     *    are stored, too, and overwritten once its features are known. Drafters with a Markov head
     *    (mtp_markov_rank): quire/markov_head.h.
     *  QUIRE_E_UNSUPPORTED: the model has no head; QUIRE_E_MISMATCH: the files are of another model
     */
    struct quire_model *mtp_of;
};

struct quire_adapter;
struct quire_model;   /**< A loaded model: shared, immutable. */
struct quire_context; /**< State of one step at a time. */

QUIRE_API void quire_model_params_init(struct quire_model_params *params, size_t struct_size);

/** Opens, checks and packs a model. Weights are read into allocated memory; after the call no file
 *  is open, and none is mapped except params->pack_cache.
 *  QUIRE_E_INVALID_ARG, QUIRE_E_MISUSE (struct_size), QUIRE_E_IO, QUIRE_E_FORMAT (names file
 *  offset, field or tensor), QUIRE_E_UNSUPPORTED (architecture, tensor type, isa; a key or tensor
 *  that the model family does not account for, by name), QUIRE_E_NOMEM, QUIRE_E_CANCELLED. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_model_open(const struct quire_model_params *params,
                                                         struct quire_model **out,
                                                         struct quire_error *err);

/** Frees the model; NULL is a no-op. Its contexts must be destroyed and its adapters and heads
 *  (mtp_of) closed first: otherwise QUIRE_E_BUSY, and nothing is freed. */
QUIRE_API quire_status quire_model_close(struct quire_model *model);

/** Append only. */
enum quire_model_kind {
    QUIRE_MODEL_DECODER,         /**< quire_context_forward() */
    QUIRE_MODEL_ENCODER,         /**< quire_context_encode() */
    QUIRE_MODEL_ENCODER_DECODER, /**< both */
};

/** Pooling: how the hidden states of a sequence become one embedding vector. Append only. */
enum quire_pooling {
    QUIRE_POOLING_CLS,     /**< hidden state of the first token */
    QUIRE_POOLING_MEAN,    /**< mean of the hidden states of all tokens */
    QUIRE_POOLING_LAST,    /**< hidden state of the last token */
    QUIRE_POOLING_POOLER,  /**< the model's pooler: tanh(W . hidden state of the first token + b) */
    QUIRE_POOLING_DEFAULT, /**< quire_model_info.pooling */
};

/** Properties of an open model. Strings live as long as the model. */
struct quire_model_info {
    uint32_t struct_size;    /**< set by the caller */
    const char *arch, *name; /**< family such as "llama"; display name, may be "" */
    uint32_t n_layers, hidden_size, n_heads, n_kv_heads, head_size,
        vocab_size;          /**< of the decoder, if there is one */
    uint32_t context_length; /**< context length of the model in tokens */
    uint64_t weight_bytes;   /**< packed weights in memory */
    /** bytes of weight_bytes that a forward pass of one token reads: all except an embedding table
     *  that is not also the output matrix; in encoder-decoders both passes together */
    uint64_t token_weight_bytes;
    uint64_t n_parameters;
    int32_t bos_id, pad_id; /**< -1 = none */
    uint32_t n_eos;
    const int32_t *eos_ids; /**< [n_eos] */
    const char *isa;        /**< ISA level in use */
    /** storage type of most weights, in the notation of GGUF tools, e.g. "Q4_K" */
    const char *weight_type;
    enum quire_compute compute;
    /* sampling defaults of the model's author; NaN (floats) or -1 (top_k) = not given */
    float temperature, top_p, min_p, repetition_penalty;
    int32_t top_k;
    enum quire_linear_provider linear; /**< the selected implementation, never AUTO */
    enum quire_model_kind kind;
    uint32_t n_encoder_layers; /**< layers that quire_context_encode() runs; 0 in decoders */
    /** KV group of the encoder's keys and values in encoder-decoders, else -1 */
    int32_t cross_group;
    /** first token of every decoded sequence of an encoder-decoder, -1 = none */
    int32_t decoder_start_id;
    /** number of token types of an encoder with token type embeddings, else 0 */
    uint32_t n_token_types;
    bool has_logits; /**< the model has an output matrix; encoders and classifiers may have none */
    bool has_pooler; /**< QUIRE_POOLING_POOLER is supported */
    /** pooling of embeddings that the author specifies (GGUF pooling_type, 1_Pooling/config.json of
     *  a folder); MEAN if unspecified */
    enum quire_pooling pooling;
    bool pack_cached;     /**< the matrices are mapped from quire_model_params.pack_cache */
    uint64_t fingerprint; /**< hash of shapes and embedding rows, which names the model in files */
    /** labels of the classification head for sequences; 0 = the model has none */
    uint32_t n_labels;
    /** 1: scores are meant to be logistic functions of the head's outputs, because config.json
     *  names that activation, or there is one label and no name; else 0 */
    uint32_t sigmoid_scores;
    /** layers with a recurrent state (quire/state_pool.h); 0 in most models */
    uint32_t n_recurrent_layers;
    uint32_t n_attention_layers; /**< layers of the decoder with keys and values in the cache */
    /** size of the recurrent state of one sequence, whatever its length; 0 = none */
    uint64_t state_bytes;
    /** 1: the model looks up more than the token embedding by token id (per-layer embeddings), or
     *  its embeddings have another size than hidden_size, so steps must give token ids; rows of
     *  embeddings are refused */
    uint32_t needs_token_ids;
    /** 1: a head of multi-token prediction, whose steps need previous_hidden; else 0 */
    uint32_t is_mtp;
    /** elements of a row of previous_hidden of a head; 0 in models */
    uint32_t mtp_hidden_size;
    /** 1: a head without keys and values of its own: its contexts take the KV cache of its model,
     *  whose groups are its groups, and its steps the model's block tables, and need no
     *  slot_mapping; else 0 */
    uint32_t mtp_shares_kv;
    /** elements of a row of last_hidden of a head, and of own_hidden; 0 in models */
    uint32_t mtp_state_size;
    /** of a head with features (EAGLE-3, DFlash, DSpark), and of several heads: a row of
     *  previous_hidden is the inputs of these layers of its model, quire_forward_args.features; 0:
     *  none */
    uint32_t n_mtp_features;
    uint32_t mtp_feature_layers[16];
    /** of a block drafter: rows of a block, the token of all but the first one (else -1);
     *  0: the model is none */
    uint32_t mtp_block_size;
    int32_t mtp_mask_token;
    /** heads of multi-token prediction that the model consists of, quire_forward_args.mtp_head; 0:
     *  it is none. Each of several has keys and values of its own, in equal layers of a group */
    uint32_t n_mtp_heads;
    /** 1: heads behind the first read the last_hidden of the head before them, else 0 */
    uint32_t mtp_chained;
    /** of a block drafter. 1: each row of a block predicts the token behind its own place, the
     *  first one, too; 0: each row but the first one that in its own place */
    uint32_t mtp_from_anchor;
    /** rank of its Markov head (DSpark) or selector (DFlash 2); 0: it has none */
    uint32_t mtp_markov_rank;
    /** 1: the Markov head estimates the confidence in drafted tokens, else 0 */
    uint32_t mtp_confidence;
    /** 1: the head is a selector, which reads quire_markov_args.hidden, else 0 */
    uint32_t mtp_markov_state;
};
QUIRE_API void quire_model_info_init(struct quire_model_info *info, size_t struct_size);
QUIRE_API QUIRE_MUST_CHECK quire_status quire_model_get_info(const struct quire_model *model,
                                                             struct quire_model_info *info);

/** Returns the KV groups of the model: layers with the same window and shape share one. Fills in
 *  n_layers, n_kv_heads, head_size, v_head_size, sliding_window; dtypes, n_blocks and scales stay 0
 *  and are the caller's to set. Encoders have no groups; group cross_group of an encoder-decoder is
 *  indexed by position in the source.
 *  groups    [capacity] written, may be NULL when capacity is 0
 *  n_groups  number of groups of the model
 *  QUIRE_E_LIMIT when capacity is not 0 and too small. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_model_kv_groups(const struct quire_model *model,
                                                              struct quire_kv_group_config *groups,
                                                              uint32_t capacity,
                                                              uint32_t *n_groups);

/** Fills in the fp8 scales of a KV group, for k_scale and v_scale of its quire_kv_group_config with
 *  n_layers * n_kv_heads scales each: those of a file, or those of the checkpoint
 *  (self_attn.k_scale and the like, per layer or per head), or 1.
 *  path  a file of `quire-eval calibrate` (docs/kv-scales.md); NULL: the checkpoint's own. Made
 *        for fp8_e4m3; the scales of fp8_e5m2 follow from them
 *  k_scales, v_scales  [n_layers * n_kv_heads] of the group, written; undefined on failure
 *  QUIRE_E_INVALID_ARG NULL or no such group; QUIRE_E_IO, QUIRE_E_FORMAT the file; QUIRE_E_MISMATCH
 *  it is of another model; QUIRE_E_NOMEM. Thread-safe. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_model_kv_scales(
    const struct quire_model *model, const char *path, uint32_t group, enum quire_kv_dtype k_dtype,
    enum quire_kv_dtype v_dtype, float *k_scales, float *v_scales, struct quire_error *err);

struct quire_context_params {
    uint32_t struct_size;
    /** created for quire_model_kv_groups(); borrowed, outlives the context. NULL for encoders, for
     *  an encoder-decoder that only encodes, and for models without attention layers */
    struct quire_kv_cache *kv;
    /** borrowed, outlives the context; NULL = calling thread only */
    struct quire_threads *threads;
    uint32_t max_tokens; /**< tokens of one step, all sequences together; default 512 */
    uint32_t max_seqs;   /**< sequences of one step or encoder pass; default 1 */
    /** rows of logits of one step or encoder pass; 0 = max_tokens, in encoders
     *  max_encoder_tokens */
    uint32_t max_logits;
    uint32_t max_seq_len; /**< longest sequence; 0 = the model's context_length */
    /** borrowed, outlives the context; NULL = C library */
    const struct quire_allocator *allocator;
    /* of models with an encoder */
    /** tokens of one encoder pass, all sequences together; 0 = max_tokens */
    uint32_t max_encoder_tokens;
    /** longest source sequence to encode or to attend to; 0 = the smaller of max_encoder_tokens and
     *  the model's context_length */
    uint32_t max_encoder_len;
    /** storage type of keys and values during an encoder pass */
    enum quire_kv_dtype encoder_dtype;
    /** For models with latent attention (quire/mla.h): sequences with at least this many new tokens
     *  in a step use expanded keys and values, computed from the cached latent rows one layer at a
     *  time; the others, and by default (0) all, use the absorbed form. Expansion is faster for
     *  long prompts: the attention of a DeepSeek-V2-Lite layer takes 0.78 of the time for a prompt
     *  of 512 tokens, 0.7 for 2048 in steps of 512, and about the same below 128. It needs a second
     *  pool, for one sequence of max_seq_len tokens. The results differ in their last bits from
     *  those of the absorbed form, so bits then depend on the prefill chunk size.
     *  QUIRE_E_UNSUPPORTED if the model was opened without QUIRE_MODEL_EXPAND_LATENT, or has no
     *  latent attention. Steps with a tree mask or sparse block lists use the absorbed form. */
    uint32_t expand_latent_from;
    /* Masks of the batches of decoder steps (struct quire_attention_batch); limits of one step, all
     * sequences together. 0 = none: batches that have them are refused. */
    uint32_t max_spans;       /**< bidirectional spans */
    uint32_t max_tree_tokens; /**< tokens of a step with a tree mask */
    /** largest tree_words: trees of up to 64 * max_tree_words tokens; 0 = 1, at most 64 */
    uint32_t max_tree_words;
    uint32_t max_sparse_blocks; /**< sparse block list entries per KV group */
    /** recurrent states, created for quire_model_info.state_bytes; borrowed, outlives the context.
     *  Required by models with recurrent layers, NULL for the others. A model without any attention
     *  layer has no KV groups: kv is NULL then */
    struct quire_state_pool *states;
    /** largest rank of the adapters of a step (quire/adapter.h), up to QUIRE_ADAPTER_MAX_RANK; 0 =
     *  steps with adapters are refused. Decoders only (QUIRE_E_UNSUPPORTED) */
    uint32_t max_adapter_rank;
    uint32_t reserved; /**< 0 */
};
QUIRE_API void quire_context_params_init(struct quire_context_params *params, size_t struct_size);

/** Computes the exact memory of a context with these parameters in bytes. The pool of an encoder,
 *  or of expanded keys, is allocated temporarily during the call. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_context_bytes(const struct quire_model *model, const struct quire_context_params *params,
                    uint64_t *bytes, struct quire_error *err);

/** Creates a context and reserves everything that a step needs. QUIRE_E_MISMATCH if kv was not
 *  created for this model. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_context_create(struct quire_model *model, const struct quire_context_params *params,
                     struct quire_context **out, struct quire_error *err);
QUIRE_API void quire_context_destroy(struct quire_context *context); /**< NULL is a no-op */

/** Operands of one forward pass. Row t of the step is token t of the batch;
 *  T = query_start_loc[n_seqs]. The position of a token is its index in its sequence:
 *  seq_len - query_len + i. With a tree mask it is seq_len - query_len plus the token's depth, in
 *  rotary and learned embeddings as in attention; its key and value are stored in slot i all the
 *  same.
 *
 *  Masks of the batch apply to all self-attention layers: a bidirectional span overrides the
 *  windows and chunks of a layer, and a tree mask counts distances in depths. Sparse block lists
 *  are per KV group, so layers with different windows can have lists of their own; they apply on
 *  top of a window. */
struct quire_forward_args {
    uint32_t struct_size;
    /** sequences, block tables and slot mappings per KV group, and masks */
    const struct quire_attention_batch *batch;
    const int32_t *token_ids; /**< [T], or NULL: embeddings are given */
    /** [T][hidden_size] f32, as the embedding lookup returns them (unscaled); used when token_ids
     *  is NULL. See embedding_rows to mix both */
    const float *embeddings;
    /** [n_seqs] sequence length that selects the short or long factors of longrope, and that scales
     *  dynamic rotary embedding: the length when the prompt is complete, so that chunked prefill
     *  gives the bits of unchunked prefill; NULL = seq_lens, and with a tree mask the length of the
     *  longest branch. Other models ignore it */
    const uint32_t *rope_lens;
    /** [n_logits] rows of the step, any order; NULL: the last row of every sequence */
    const uint32_t *logits_rows;
    uint32_t n_logits; /**< ignored when logits_rows is NULL */
    /** [n_logits or n_seqs][vocab_size] f32 out; NULL: logits are not computed */
    float *logits;
    /** [n_layers + 1][T][hidden_size] f32 out: inputs of each layer, and the final normalized
     *  state; NULL = not computed (it reduces speed; for debugging) */
    float *hidden;
    /** members of the context's threads that run the step; 0 = all. At most
     *  quire_threads_count(), or 1 without threads. The result has the same bits for any number */
    uint32_t n_threads;
    uint32_t reserved; /**< 0 */
    /** [T], or NULL: rows that mix with token ids. A non-NULL entry is an embedding
     *  f32 [hidden_size], as the embedding lookup returns them (unscaled), that takes the place of
     *  token_ids[t], which is ignored, or of row t of embeddings. Without either, no entry is
     *  NULL. Results of the other rows do not change */
    const float *const *embedding_rows;
    /** [T][hidden_size] f32 out: hidden states of all rows after the final norm; of a head of
     *  multi-token prediction [T][mtp_state_size], before the norm of a head with features and of
     *  several heads. NULL = not computed */
    float *last_hidden;
    /** [n_seqs] slot of params.states of each sequence, for models with recurrent layers; ignored
     *  otherwise. Before the step a slot holds the state after seq_lens - query_len tokens of its
     *  sequence, after the step that after seq_lens tokens; a sequence at its first token starts
     *  from the zero state, whatever its slot holds. Slots of sequences without tokens in the step
     *  are ignored; the others are allocated and distinct. A failed step changes no state */
    const int32_t *state_slots;
    /** [n_adapters] adapters of the step, open and of this model (quire/adapter.h); each is in use
     *  until the call returns. Not closed before the next step of the context */
    const struct quire_adapter *const *adapters;
    uint32_t n_adapters;
    uint32_t reserved2; /**< 0 */
    /** [n_seqs] index of a sequence's adapter in `adapters`, -1 = none. Required if n_adapters is
     *  not 0, else ignored. The result of a sequence depends on its own adapter and scale only */
    const int32_t *adapter_index;
    /** [n_seqs] factor of the adapter's update; 0 = as without adapter; NULL = all 1 */
    const float *adapter_scales;
    /** [T][mtp_hidden_size] f32 of a head of multi-token prediction (quire_model_params.mtp_of):
     *  the last_hidden of its model, or of the head itself for tokens that it drafted; of a block
     *  drafter the features, NULL in the step of a block. NULL for all other models */
    const float *previous_hidden;
    /** [n_features] layers of the model, or its number of layers, any order; NULL if n_features is
     *  0. Not of models with several residual streams (QUIRE_E_UNSUPPORTED) */
    const uint32_t *feature_layers;
    uint32_t n_features;
    uint32_t reserved3; /**< 0 */
    /** [T][n_features][hidden_size] f32 out: the residual stream before these layers, or behind the
     *  last one, for heads with features */
    float *features;
    /** [T][mtp_state_size] f32 of a head with features: its own last_hidden for tokens that it
     *  drafted, in place of previous_hidden; else NULL */
    const float *own_hidden;
    /** of several heads of multi-token prediction (quire_model_info.n_mtp_heads), the one that
     *  runs, with its own layer of the KV cache; else 0. Row t of head k reads token t + 1 + k, and
     *  as previous_hidden the features at token t, or with mtp_chained and k > 0 the last_hidden of
     *  head k - 1 at t */
    uint32_t mtp_head;
    uint32_t reserved4; /**< 0 */
};
QUIRE_API void quire_forward_args_init(struct quire_forward_args *args, size_t struct_size);

/** Runs one step: writes K and V of the new tokens to the cache and computes the requested logits.
 *  For an encoder-decoder the batch has encoder_seq_lens, and its group cross_group is only read:
 *  slot_mapping may be NULL there. All arguments are checked before anything is written. A step
 *  without tokens succeeds.
 *  QUIRE_E_INVALID_ARG, QUIRE_E_RANGE (token id, row, slot, block id), QUIRE_E_LIMIT (a limit of
 *  the context is exceeded, n_threads included), QUIRE_E_UNSUPPORTED (an encoder), QUIRE_E_BUSY. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_context_forward(struct quire_context *context,
                                                              const struct quire_forward_args *args,
                                                              struct quire_error *err);

/** Operands of one encoder pass over whole sequences. Row t is token t of the batch;
 *  T = query_start_loc[n_seqs]. Sequences have their own lengths; there is no padding. The pass is
 *  batch-invariant, unless oneDNN computes the products (quire_model_info.linear). Every output may
 *  be NULL: not computed. */
struct quire_encode_args {
    uint32_t struct_size;
    uint32_t n_seqs; /**< 0 is valid: no work */
    /** [n_seqs + 1] first row of each sequence, ascending from 0 */
    const int32_t *query_start_loc;
    const int32_t *token_ids; /**< [T], or NULL: embeddings are given */
    /** [T][hidden_size] f32, as the embedding lookup returns them (unscaled); used when token_ids
     *  is NULL */
    const float *embeddings;
    const int32_t *token_type_ids; /**< [T], or NULL: all 0 */
    /** [T][hidden_size] f32 out: the last hidden states, after the final norm if there is one */
    float *hidden;
    /** [n_encoder_layers + 1][T][hidden_size] f32 out: inputs of each layer, then hidden */
    float *layers;
    /** [n_seqs][hidden_size] f32 out: one vector per sequence of at least 1 token */
    float *pooled;
    enum quire_pooling pooling; /**< pooling of `pooled` */
    bool normalize; /**< divide pooled vectors by their Euclidean norm; zero vectors stay zero */
    float *logits;  /**< [n_logits][vocab_size] f32 out, of encoders with an output matrix */
    /** [n_logits] rows of the step, any order; NULL: all rows, n_logits is T */
    const uint32_t *logits_rows;
    uint32_t n_logits;
    /** [T], encoder-decoders: slots in KV group cross_group of the context's cache for the keys and
     *  values that the decoder layers compute from row t. QUIRE_SLOT_PAD: not stored. NULL: not
     *  computed. */
    const int64_t *cross_slot_mapping;
    /** [n_seqs][n_labels] f32 out: outputs of the classification head, one row per sequence of at
     *  least 1 token, without an activation (quire_model_info.n_labels) */
    float *scores;
};
QUIRE_API void quire_encode_args_init(struct quire_encode_args *args, size_t struct_size);

/** Runs the encoder. All arguments are checked before anything is written. Does not allocate
 *  (except as stated at QUIRE_LINEAR_ONEDNN).
 *  QUIRE_E_INVALID_ARG, QUIRE_E_RANGE (token id, type, row, slot), QUIRE_E_LIMIT (a limit of the
 *  context is exceeded), QUIRE_E_UNSUPPORTED (a decoder, or an output that the model does not
 *  have), QUIRE_E_MISUSE (struct_size, a slot in a block that is free or shared), QUIRE_E_BUSY. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_context_encode(struct quire_context *context,
                                                             const struct quire_encode_args *args,
                                                             struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
