/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - the context of a model, its buffers, and one step. */
#ifndef QR_MODEL_FORWARD_TYPES_H
#define QR_MODEL_FORWARD_TYPES_H
#include "base/handle.h"
#include "base/work_steal.h"
#include "model/forward/rope_table.h"
#include "model/load/model.h"

/* Buffers of mixture-of-experts layers. An assignment is one expert of one token: assignment
 * i * n_used + rank is the rank-th expert of token i. Places number the assignments sorted by
 * expert; the wide buffers are [max_rows * n_used places][width]. */
struct qr_moe_buffers {
    float *scores;              /* [max_rows][n_experts] router logits, later probabilities */
    float *weights;             /* of each assignment */
    uint32_t *experts, *places; /* of each assignment */
    uint32_t *assignments;      /* of each place */
    uint32_t *starts;           /* [n_experts + 1] first place of each expert */
    uint32_t *used;   /* [1 + n_experts] number of experts with weights and rows, and these */
    float *in;        /* [hidden or latent] inputs, later outputs */
    float *latent;    /* [max_rows][latent] what the experts read, later their sum; NULL: hidden */
    float *gate, *up; /* [expert or adjugate ffn, the larger one] */
    float *router_in; /* [max_rows][hidden]; NULL where the router reads what the experts read */
    float *router_state, *router_a, *router_b; /* [max_rows][router hidden]; NULL without */
    float *early;       /* [max_rows][hidden] norms before the mixer, for experts; or NULL */
    float *shared;      /* [max_rows][hidden] output of the shared experts; NULL without them */
    float *shared_gate; /* [max_rows] */
    float *shortcut;    /* [max_rows][hidden] output to be added behind the next layer, or NULL */
};

/* Rows [row, row + n) of a step; the first of them is row `absorbed` of the absorbed rows. */
struct qr_row_run {
    uint32_t row, n, absorbed;
};

/* Buffers of absorbed latent attention (MLA). q and att leave out the rows of sequences whose keys
 * and values are expanded. */
struct qr_latent_buffers {
    float *q_a;              /* [q_lora_rank]; NULL in models without */
    float *q;                /* [max_heads * (kv_lora_rank + rope)] queries against latent rows */
    float *att;              /* [max_heads * kv_lora_rank] outputs in latent form */
    void *act_memory;        /* activation forms of batched matmuls; NULL where rows stay f32 */
    int32_t *starts;         /* [max_seqs + 1] query_start_loc of the absorbed rows */
    struct qr_row_run *runs; /* [max_seqs] the absorbed rows */
    uint32_t n_runs;
};

/* Buffers of expanded latent attention: keys and values of all heads, computed from the latent rows
 * of one sequence and layer. */
struct qr_latent_expand {
    uint32_t from;    /* sequences with at least as many new tokens are expanded; 0: none */
    uint32_t planned; /* the sequence that `plan` was built for */
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    int32_t *table;      /* all blocks of `kv` */
    int64_t *slots;      /* their slots in order */
    float *rows, *k, *v; /* of a chunk: latent rows; keys and values of all heads */
    void *act_memory;    /* activation forms of the chunk's rows */
};

/* Rows [row, row + n) of a step, the tokens of one sequence, and its recurrent state. */
struct qr_state_run {
    uint32_t row, n;
    bool fresh; /* the sequence begins with these rows */
    float *state;
};

/* Buffers of recurrent layers; all NULL in other models, but for the last four where attention has
 * a state. */
struct qr_recurrent_buffers {
    float *in;    /* [q, k and v] as projected */
    float *conv;  /* [q, k and v] after the convolution; NULL without one, or gated; WKV7: below */
    float *z;     /* [values] gate, later the gated output */
    float *dt;    /* step sizes */
    float *decay; /* of the step sizes, except for Mamba-1 */
    float *beta;  /* [heads]; WKV6: products of queries and keys of gated linear attention */
    float *low;   /* [dt_rank], Mamba-1: [dt_rank + 2 key_dim] */
    float *low_z; /* [gate_rank], Mamba-1: [dt_rank] */
    float *out;   /* [values] */
    float *mixed[6]; /* [hidden] shifted inputs of the projections; 3 of WKV, 6 of WKV6, WKV7 */
    float *mix_low, *mix_parts; /* WKV6: [5 mix_rank] of the corrections of mixes */
    /* WKV7: [rate_rank], [value_rank], [values] of the first layer; `conv` has the keys that are
     * read, what removes them, and the shares of the first layer's values */
    float *low_rate, *low_share, *first_values;
    float *tiles; /* [threads][tile_floats] of a bf16 state: the tile of a work unit */
    size_t tile_floats;
    uint64_t *marks; /* [n_marks] a bit per slot of the pool */
    size_t n_marks;
    struct qr_state_run *runs; /* [max_seqs] sequences with tokens in the step */
    uint32_t n_runs;
};

/* Buffers of convolutional attention (conv_attention.h); all NULL in other models. */
struct qr_conv_attention_buffers {
    float *in;      /* [channels] queries and keys as projected */
    float *mid;     /* [channels] after the first convolution */
    float *windows; /* [channels][head taps] inputs of the second one */
    float *delayed; /* [half of the values] for the next token */
};

/* Buffers of per-layer embeddings; all NULL in models without. */
struct qr_ple_buffers {
    float *rows;    /* [max_rows][layers][ple dim] */
    float *gate;    /* [max_rows][ple dim] */
    float *scratch; /* [threads][layers][ple dim] rows of the table */
};

/* Residual streams of AltUp; NULL in models with one. */
struct qr_altup_buffers {
    float *streams; /* [streams][max_rows][hidden]; a thread uses its qr_team_range of the rows */
    float *low;     /* [max_rows][laurel rank] */
};

/* Residual streams of hyper-connections (hyper.h), and buffers of n-gram embeddings; all NULL in
 * other models. A thread uses its qr_team_range of the rows of the streams. */
struct qr_hyper_buffers {
    float *streams; /* [streams * hidden] */
    float *normed;  /* the same */
    float *wide;    /* the same: gates of the mixture; keys and gated values of n-grams */
    float *conv;    /* the same: convolved values; NULL without n-grams */
    float *low;     /* [rank] */
    float *inject;  /* [streams] weights of the sublayer's output */
    float *mix;     /* [(2 + streams) * streams] SINKHORN; the output uses [streams] */
    float *ngrams;  /* [ngram dim]; NULL without */
};

/* Buffers of an output matrix for a part of the tokens (partial_head.h); all NULL in other
 * models. */
struct qr_partial_head_buffers {
    float *scores;    /* [max_logits][clusters]; NULL without clusters */
    uint32_t *chosen; /* [max_logits][top clusters]; NULL without clusters */
    float *logits; /* [max_logits][top clusters][stride], without clusters [max_logits][stride] */
    size_t stride;
};

/* Buffers of the Markov head of a block drafter (markov_head.h); all NULL without. */
struct qr_markov_buffers {
    float *in;    /* [max_seqs][markov rank] */
    float *bias;  /* [max_seqs][outputs]; of a selector [max_seqs][markov rank] */
    float *state; /* [max_seqs][hidden] normed; NULL without confidence and selector */
};

/* Buffers of convolutions over the rows of a block (block_conv.h); all NULL without. */
struct qr_block_conv_buffers {
    float *rows;    /* [max_rows][hidden] */
    float *kernels; /* [max_rows][2][taps][groups] */
};

/* Buffers of attention with shared keys and values, and of compressed keys (layer_shared_kv.h,
 * compress.h); all NULL in other models. */
struct qr_compress_buffers {
    float *q_a;              /* [q_lora_rank] */
    float *low;              /* [o_groups * o_rank] */
    void *act_memory;        /* activation forms of the output projections of all groups of heads */
    float *kv, *gate;        /* [largest series] projections to compressed keys */
    float *keys;             /* [head_dim] compressed keys of the rows that end some; else 0 */
    float *att;              /* [heads * head_dim] attention to compressed keys */
    float *lse, *window_lse; /* [heads] */
    uint64_t *bits;          /* [words] compressed keys that a row sees */
    size_t words;
    float *scratch;                 /* [threads][largest series] */
    struct qr_rope_table starts[2]; /* of the first tokens of keys, of two rates */
    uint32_t rates[2];              /* in ascending order; 0: unused */
};

/* Buffers of the indexer of sparse attention (layer_index.h); all NULL in other models. */
struct qr_index_buffers {
    float *q, *k;  /* [index heads * head_dim], [head_dim] */
    float *pooled; /* [threads][INDEX_POOL_ROWS * head_dim]; NULL without compressed keys */
    struct qr_rope_table starts; /* of the first tokens of compressed blocks, by their last one */
    float *weights;              /* [index heads]; NULL where heads select keys of their own */
    float *scores;               /* of the keys of some rows */
    uint64_t *bits;              /* [max_rows][selections][words] selected keys */
    uint32_t *row_seqs;          /* [max_rows] sequence of each row */
    size_t words;                /* 64 keys each, of the longest sequence */
    bool selects;                /* some row of the step sees more keys than are selected */
};

/* KV cache of the encoder: one layer at a time of the sequences of one pass. Each sequence
 * starts in a block of its own, and all groups use the same block ids. */
struct qr_encoder_cache {
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    uint32_t n_blocks, row_blocks;              /* in the pool; in a row of the block table */
    int32_t *table;                             /* [max_seqs][row_blocks] */
    int32_t *seq_lens;                          /* [max_seqs] */
    int64_t *slots;                             /* [max_encoder_tokens] */
    struct quire_attention_batch_group *groups; /* [model->encoder.n_kv] */
};

/* Private buffers of each thread (thread_state.h). */
struct qr_thread_buffers {
    struct qr_work_steal_counters *counters;      /* [threads] of all stages of a step */
    struct qr_work_steal_counters *down_counters; /* [threads] of those of qr_adapter_down() */
    struct qr_unpacked *unpacked; /* [threads]; NULL without compute mode throughput */
    unsigned char *memory;        /* [threads][stride_bytes] */
    size_t stride_bytes, act_offset_bytes;
};

/* Ascending indices of rows. */
struct qr_row_list {
    uint32_t *rows;
    uint32_t n;
};

/* The rows of a step that use one adapter: rows of the step, and of its logits. */
struct qr_adapter_group {
    const struct quire_adapter *adapter;
    struct qr_row_list tokens, logits;
};

enum {
    QR_NO_ADAPTER = UINT32_MAX,
    QR_ADAPTER_SLOTS = 3,           /* matrices with one input: q, k and v */
    QR_ADAPTER_RECURRENT_SLOTS = 6, /* the same in models with recurrent layers */
    QR_ADAPTER_SPLIT_ROWS = 32,
};

/* Adapters of a step (adapter_rows.h, adapter_apply.h). n_groups is 0 and all other rows are unset
 * in a step without adapters. */
struct qr_step_adapters {
    uint32_t limit;    /* largest rank that is accepted; 0: the context takes no adapters */
    uint32_t max_rank; /* the same rounded up to a multiple of 16 */
    uint32_t stride;   /* floats from one row of u to the next: the largest padded rank in use */
    uint32_t n_groups;
    struct qr_adapter_group *groups; /* [max_seqs] */
    uint32_t *row_group;             /* [max_rows] group, or QR_NO_ADAPTER */
    uint32_t *rows, *logits_rows;    /* [max_rows], [max_logits] the lists of all groups */
    float *scales, *logits_scales;   /* [max_rows], [max_logits] */
    float *place_scales;             /* [max_rows * n_used places] */
    float *u;                        /* [slots][rows or places][stride]: s A x */
    /* In steps of up to R = QR_ADAPTER_SPLIT_ROWS rows four threads can share a unit of u: sums of
     * single chains, [slots][chains][R rows][stride], and counts of the chains that are done, by
     * the first row of the unit, [slots][R rows][max_rank / 16], 0 between stages */
    float *chain_sums;
    uint32_t *chains_done; /* atomic */
};

/* Buffers of rows are [max_rows][width] f32, the width in brackets. */
struct quire_context {
    struct qr_handle handle;
    struct quire_model *model;
    struct quire_kv_cache *kv;
    struct quire_state_pool *states; /* NULL in models without recurrent layers */
    struct quire_threads *threads;
    const struct quire_allocator *allocator;
    uint32_t max_tokens, max_seqs, max_logits, max_seq_len;
    uint32_t max_spans, max_tree_tokens, max_tree_words, max_sparse_blocks; /* of the plan */
    uint32_t max_encoder_tokens, max_encoder_len;
    uint32_t max_rows; /* of a step or an encoder pass */
    enum quire_kv_dtype encoder_dtype;
    bool busy;               /* atomic */
    struct quire_plan *plan; /* of decoder steps; NULL without kv */
    struct qr_encoder_cache encoder;
    struct qr_rope_table rope[QR_ROPE_MAX_SETS];
    float *x;    /* [hidden] residual stream */
    float *h;    /* [hidden] normed input of a sublayer */
    float *sub;  /* [hidden] output of a sublayer */
    float *sub2; /* [hidden] output of the second of two parallel networks, else NULL */
    float *q;    /* [max_heads * head_dim] */
    float *narrow_q, *narrow_k; /* [heads * head_dim] with key_bias: as projected; else NULL */
    float *key_dt;              /* [max_kv_heads] with key_bias */
    float *k, *v;      /* [max_kv_heads * head_dim or v_head_dim]; with MLA k holds latent rows */
    float *score_bias; /* [heads][score_stride] of disentangled attention, else NULL */
    size_t score_stride;
    float *distance_products; /* [threads][QR_DISTANCE_TOKENS][distance_stride] of the same */
    float *att;               /* [max_heads * v_head_dim] attention output */
    float *att_gate; /* the same: gate of the output, later the gated output; NULL without */
    float *gate;     /* [max_ffn_size] input of the down projection */
    float *gates;    /* [max_ffn_size] gates before the cutoff of sparse gates, else NULL */
    struct qr_latent_buffers latent; /* all NULL in other models */
    struct qr_latent_expand expand;  /* all NULL where nothing is expanded */
    struct qr_index_buffers index;
    struct qr_recurrent_buffers recurrent;
    struct qr_conv_attention_buffers conv_attention;
    struct qr_moe_buffers moe; /* all NULL in dense models */
    struct qr_ple_buffers ple;
    struct qr_altup_buffers altup;
    struct qr_hyper_buffers hyper;
    struct qr_compress_buffers compress;
    struct qr_partial_head_buffers partial_head;
    struct qr_markov_buffers markov;
    struct qr_block_conv_buffers block_conv;
    struct qr_step_adapters adapters;
    uint32_t own_rank; /* largest padded rank of the model's own low-rank updates; 0: none */
    float *own_u;      /* [3 slots][max_rows][own_rank]: A x of these */
    float *embedding;  /* [hidden] embeddings that shared blocks and gains read, else NULL */
    float *block_in;   /* input of a shared block, [2 hidden], or of an MTP head (mtp_input.h) */
    float *head_in;    /* [max_logits][hidden] input of the LM head */
    float *head_mid;   /* [max_logits][hidden] output of a head's dense layer; NULL without heads */
    uint32_t *all_rows;               /* [max_logits] 0, 1, 2, ... for encoders, else NULL */
    uint32_t *positions, *lengths;    /* [max_rows] position and rotary length of each row */
    uint32_t *last_rows;              /* [max_seqs] rows whose logits are computed by default */
    uint32_t *row_ids;                /* [max_logits] rows of qr_context_row_logits() */
    uint32_t n_step_tokens;           /* rows of the last decoder step */
    struct qr_input_sums *input_sums; /* borrowed; NULL: inputs are not summed (input_sums.h) */
    void *act_memory;  /* activation forms of a matmul's input, overwritten by the next matmul */
    void *gate_memory; /* activation forms of `gate`, written while act_memory is read */
    struct qr_thread_buffers per_thread;
    void *memory; /* owns all buffers */
    size_t memory_bytes;
};

enum {
    /* Tokens whose products with distances a thread computes at a time (disentangled.h). */
    QR_DISTANCE_TOKENS = 16,
    /* Rows up to which each thread keeps its own copy of the residual stream (replicated mode). A
     * step of few rows is bound by the stream of the weights; norms and activation conversion are
     * less work than a barrier, so each thread repeats them for all rows. */
    QR_REPLICATED_ROWS_MAX = 4,
};

/* A decoder step, or an encoder pass in the same form. Its arguments are checked and its plan is
 * built. */
struct qr_step {
    struct quire_context *ctx;
    const struct quire_forward_args *args;
    const struct quire_encode_args *encode; /* NULL: a decoder step */
    struct qr_stack stack;
    struct quire_kv_cache *kv; /* cache of self-attention, and the plan over it */
    struct quire_plan *plan;
    const uint32_t *logits_rows;
    uint32_t n_tokens, n_logits;
    bool replicated; /* n_tokens <= QR_REPLICATED_ROWS_MAX */
};

#endif
