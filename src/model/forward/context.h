/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - everything one step of one batch needs, reserved when the context is created. */
#ifndef QR_MODEL_FORWARD_CONTEXT_H
#define QR_MODEL_FORWARD_CONTEXT_H
#include "base/work_steal.h"
#include "model/forward/rope_table.h"
#include "model/model.h"

/* For the layers with experts. A choice is one expert of one token; choice number i * top_k + rank is the rank-th of
 * token i. Sorted by expert they have places; the wide buffers are [max_tokens * top_k places][width]. */
struct qr_moe_buffers {
    float *scores;              /* [max_tokens][n_experts] */
    float *weights;             /* of every choice */
    uint32_t *experts, *places; /* of every choice */
    uint32_t *choices;          /* by place */
    uint32_t *starts;           /* [n_experts + 1] first place of every expert */
    float *in;                  /* [hidden] inputs, later outputs */
    float *gate, *up;           /* [expert ffn] */
    float *shared;      /* [max_tokens][hidden] output of the shared experts; NULL without */
    float *shared_gate; /* [max_tokens] */
};

/* Rows [row, row + n) of a step, which are rows from `absorbed` on among those that are absorbed. */
struct qr_token_run {
    uint32_t row, n, absorbed;
};

/* For latent attention. Rows whose keys are expanded are left out of q and att. */
struct qr_latent_buffers {
    float *q_a; /* [q_lora_rank]; NULL without */
    float *q;   /* [max_heads * (kv_lora_rank + rope)] queries against latent rows */
    float *att; /* [max_heads * kv_lora_rank] results in latent form */
    /* of each head's rows for a product with a matrix of its own; NULL where rows stay f32 */
    void *views;
    int32_t *starts;           /* [max_seqs + 1] query_start_loc of the absorbed rows */
    struct qr_token_run *runs; /* [max_seqs] the absorbed rows */
    uint32_t n_runs;
};

/* For latent attention with expanded keys: those of one sequence and layer, made from the cached rows. */
struct qr_latent_expand {
    uint32_t from;    /* new tokens from which on a sequence is expanded; 0: never */
    uint32_t planned; /* sequence that the plan holds */
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    int32_t *table; /* of the pool: all its blocks, and their slots in order */
    int64_t *slots;
    float *rows, *k, *v; /* of a chunk: latent rows, keys and values of all heads */
    void *act_memory;    /* views of the chunk's rows */
};

/* Keys and values of one layer at a time of the sequences of one pass of the encoder. Every sequence begins in a block
 * of its own, and all groups use the same ids. */
struct qr_encoder_cache {
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    uint32_t n_blocks, row_blocks;              /* in the pool; in a row of the table */
    int32_t *table;                             /* [max_seqs][row_blocks] */
    int32_t *seq_lens;                          /* [max_seqs] */
    int64_t *slots;                             /* [max_encoder_tokens] */
    struct quire_attention_batch_group *groups; /* [model->encoder.n_kv] */
};

/* What the members of a team have of their own (model/stage.h). */
struct qr_own_buffers {
    struct qr_share_line *lines; /* [members] */
    /* [members][stride] bytes: two tiles, rows x and h of few rows, views of these */
    unsigned char *memory;
    size_t stride, views_at;
};

/* Rows of a pass are token rows [max_rows]; every buffer below is [rows][its width] f32. */
struct quire_context {
    struct quire_model *model;
    struct quire_kv_cache *kv;
    struct quire_threads *threads;
    const struct quire_allocator *allocator;
    uint32_t max_tokens, max_seqs, max_logits, max_seq_len;
    uint32_t max_encoder_tokens, max_encoder_len;
    uint32_t max_rows; /* of a step or a pass of the encoder */
    enum quire_kv_dtype encoder_dtype;
    bool busy;               /* atomic */
    struct quire_plan *plan; /* of steps; NULL without kv */
    struct qr_encoder_cache encoder;
    struct qr_rope_table rope[QR_ROPE_MAX_SETS];
    float *x;     /* [hidden] residual stream */
    float *h;     /* [hidden] normed input of a sublayer */
    float *sub;   /* [hidden] output of a sublayer */
    float *sub2;  /* [hidden] second sublayer of parallel blocks, else NULL */
    float *q;     /* [max_heads * head_dim] */
    float *k, *v; /* [max_kv_heads * head_dim or v_head_dim]; or k alone, latent rows */
    float *att;   /* [max_heads * v_head_dim] */
    float *gate;  /* [max_ffn_size] */
    struct qr_latent_buffers latent; /* all NULL in other models */
    struct qr_latent_expand expand;  /* all NULL where nothing is expanded */
    struct qr_moe_buffers moe;       /* all NULL in dense models */
    float *head_in;                  /* [max_logits][hidden] rows whose logits are wanted */
    float *head_mid;               /* [max_logits][hidden] of heads with a dense layer, else NULL */
    uint32_t *all_rows;            /* [max_logits] 0, 1, 2, ... for encoders, else NULL */
    uint32_t *positions, *lengths; /* [max_rows] position and rotary length of each row */
    uint32_t *last_rows;           /* [max_seqs] default rows for logits */
    void *act_memory; /* views of the activations of one matrix product, made anew for each */
    void *gate_views; /* those of gate, which are made while act_memory is read */
    struct qr_own_buffers own;
    void *memory; /* what all of the above lies in */
    size_t memory_bytes;
};

/* The plan of a context: bytes it will take, and making it. */
quire_status qr_context_plan_bytes(const struct quire_model *model,
                                   const struct quire_context *limits, uint64_t *bytes,
                                   struct quire_error *err);
quire_status qr_context_plan_create(struct quire_context *ctx, struct quire_error *err);

/* The private pool of the encoder: sizes of its tables, bytes it and its plan will take, and making both (needs the
 * tables' memory). Nothing happens in models without an encoder. */
void qr_encoder_cache_size(struct quire_context *limits);
quire_status qr_encoder_cache_bytes(const struct quire_model *model,
                                    const struct quire_context *limits, uint64_t *bytes,
                                    struct quire_error *err);
quire_status qr_encoder_cache_create(struct quire_context *ctx, struct quire_error *err);
void qr_encoder_cache_destroy(struct quire_context *ctx);

/* Lays out the sequences of a pass: fills table, seq_lens and slots. The pass fits the context. */
void qr_encoder_cache_place(struct quire_context *ctx, const struct quire_encode_args *step);

/* A step, or a pass of the encoder put as one: arguments have been checked and the plan is built. */
struct qr_step {
    struct quire_context *ctx;
    const struct quire_forward_args *args;
    const struct quire_encode_args *encode; /* NULL: a step of the decoder */
    struct qr_stack stack;
    struct quire_kv_cache *kv; /* of the layers' own keys, and the plan over it */
    struct quire_plan *plan;
    const uint32_t *logits_rows;
    uint32_t n_tokens, n_logits;
    bool few; /* every member keeps all rows itself; set by qr_context_run */
};

/* Fills positions and rotary lengths of all rows. query_start_loc has been checked. */
void qr_step_place_rows(const struct qr_step *s);

/* Token ids, or embeddings, and positions are in range. */
quire_status qr_step_check_tokens(const struct qr_step *s, struct quire_error *err);

/* logits_rows[n_logits] are rows of the step, and no more than the context was made for. */
quire_status qr_step_check_logits(const struct qr_step *s, struct quire_error *err);

/* Runs one member's share; on the context's team, or alone. */
void qr_step_part(void *step, const struct quire_team *team);
quire_status qr_context_run(struct qr_step *s, struct quire_error *err);

/* What follows the last layer in the encoder: states, keys and values for the decoder, pooled vectors. */
void qr_encoder_outputs(const struct qr_step *s, const struct quire_team *team);

/* Rows [begin, end) behind the last layer: through the final norm, if the stack has one. */
void qr_final_rows(const struct qr_step *s, float *dst, const float *src, size_t begin, size_t end);

/* Logits of the wanted rows of the residual stream. */
void qr_head(const struct qr_step *s, const struct quire_team *team);

/* Pooled vectors of ctx->h. */
void qr_pool(const struct qr_step *s, const struct quire_team *team);

/* The two sublayers: read the residual stream, leave their result in `out` (ctx->sub or ctx->sub2). All members call
 * them. */
void qr_attention_sublayer(const struct qr_step *s, uint32_t layer, bool normed, float *out,
                           const struct quire_team *team);
/* Expanded keys: may a context of the model have them; elements of its buffers, bytes of pool and plan, and making and
 * freeing both (create needs the buffers). Nothing happens where `from` is 0. */
struct qr_expand_sizes {
    size_t table, slots, rows, k, v, act;
};
quire_status qr_expand_check(const struct quire_model *model, uint32_t from,
                             struct quire_error *err);
struct qr_expand_sizes qr_expand_sizes(const struct quire_model *model,
                                       const struct quire_context *limits);
quire_status qr_expand_bytes(const struct quire_model *model, const struct quire_context *limits,
                             uint64_t *bytes, struct quire_error *err);
quire_status qr_expand_create(struct quire_context *ctx, struct quire_error *err);
void qr_expand_destroy(struct quire_context *ctx);

/* Decides which rows of a step are absorbed and which expanded, and builds the plans anew if need be. The step's plan has
 * accepted the batch. */
quire_status qr_latent_place(const struct qr_step *s, struct quire_error *err);

/* Attention of the rows that are expanded: ctx->q to ctx->att. Latent rows and q are complete; ends with a barrier if
 * there are such rows. */
void qr_latent_expand(const struct qr_step *s, uint32_t layer, const struct quire_team *team);

/* Latent attention from src to ctx->att, all rows of the step; ends with a barrier. */
void qr_latent_attention(const struct qr_step *s, uint32_t layer, const float *src,
                         const struct quire_team *team);

void qr_ffn_sublayer(const struct qr_step *s, uint32_t layer, bool normed, float *out,
                     const struct quire_team *team);

/* A feed-forward of three matrices, from src to out over all rows of the step. All members call it; ends with a
 * barrier. */
struct qr_ffn_roles {
    enum qr_weight_role gate, up, down, gate_bias, up_bias, down_bias;
};
void qr_ffn_dense(const struct qr_step *s, const struct qr_model_layer *layer,
                  const struct qr_ffn_roles *roles, const float *src, float *out,
                  const struct quire_team *team);

/* gate = act(gate) * up over n elements; up (may be overwritten) NULL: the activation alone. */
void qr_activate(const struct qr_model_config *c, const struct qr_kernels *k, float *gate,
                 float *up, size_t n);

/* The mixture of experts of a layer, from src to out over all rows of the step. All members call it; ends with a
 * barrier. */
void qr_moe(const struct qr_step *s, uint32_t layer, const float *src, float *out,
            const struct quire_team *team);

/* Chooses the experts of one token: fills top_k experts in rank order and their weights. `scores` are the router's,
 * and are overwritten; `correction` [n_experts] may be NULL. Exported for its tests. */
void qr_moe_route(const struct qr_moe_config *m, float *scores, const float *correction,
                  uint32_t *experts, float *weights);

/* Applies a norm of the model to rows [begin, end) of src; w and b by role, a missing weight is the plain norm. */
void qr_norm_rows(const struct qr_step *s, const struct qr_model_layer *layer,
                  enum qr_weight_role w, enum qr_weight_role b, float *dst, const float *src,
                  size_t width, size_t begin, size_t end);

/* Makes the views of rows src[m][k] that the weights w[n] need and fills them; ends with a barrier. `act` is the
 * member's own, over memory that all share. */
void qr_prepare(const struct qr_step *s, struct qr_act *act, const struct qr_packed *const *w,
                int n, const float *src, size_t m, const struct quire_team *team);

/* out[m][w->n] = act . w + bias, over the team; the caller has a barrier after. */
void qr_project(const struct qr_step *s, const struct qr_act *act, const struct qr_packed *w,
                const float *bias, float *out, const struct quire_team *team);

/* Attention of a layer to the tokens of its own sequence: ctx->q against the cache into ctx->att. */
void qr_attend(const struct qr_step *s, uint32_t layer, const struct quire_team *team);

/* The sublayer between attention and feed-forward that attends to the encoder's output, and the keys and values for it
 * from ctx->h, which is that output. */
void qr_cross_sublayer(const struct qr_step *s, uint32_t layer, bool normed, float *out,
                       const struct quire_team *team);
void qr_cross_write(const struct qr_step *s, const struct quire_team *team);

#endif
