/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - everything one step of one batch needs, reserved when the context is created. */
#ifndef QUIRE_MODEL_CONTEXT_H
#define QUIRE_MODEL_CONTEXT_H
#include "model/model.h"
#include "model/rope_table.h"

/* For the layers with experts. A choice is one expert of one token; choice number i * n_used + rank is the rank-th of
 * token i. Sorted by expert they have places; the wide buffers are [max_tokens * n_used places][width]. */
struct qr_moe_buffers {
    float *scores;    /* [max_tokens][n_experts] */
    float *weights;   /* of every choice */
    uint32_t *experts, *places; /* of every choice */
    uint32_t *choices; /* by place */
    uint32_t *starts;  /* [n_experts + 1] first place of every expert */
    float *in;         /* [hidden] inputs, later outputs */
    float *gate, *up;  /* [expert ffn] */
    float *shared;     /* [max_tokens][hidden] output of the shared experts; NULL without */
    float *shared_gate; /* [max_tokens] */
};

/* Rows of the step are token rows [max_tokens]; every buffer below is [rows][its width] f32. */
struct quire_context {
    struct quire_model *model;
    struct quire_kv_cache *kv;
    struct quire_threads *threads;
    const struct quire_allocator *allocator;
    uint32_t max_tokens, max_seqs, max_logits, max_seq_len;
    bool busy; /* atomic */
    struct quire_plan *plan;
    struct qr_rope_table rope[QR_ROPE_MAX_SETS];
    float *x;        /* [hidden] residual stream */
    float *h;        /* [hidden] normed input of a sublayer */
    float *sub;      /* [hidden] output of a sublayer */
    float *sub2;     /* [hidden] second sublayer of parallel blocks, else NULL */
    float *q;        /* [max_heads * head_dim] */
    float *k, *v;    /* [max_kv_heads * head_dim or v_head_dim] */
    float *att;      /* [max_heads * v_head_dim] */
    float *gate, *up; /* [max_ffn_size] */
    struct qr_moe_buffers moe; /* all NULL in dense models */
    float *head_in;  /* [max_logits][hidden] rows whose logits are wanted */
    uint32_t *positions, *lengths; /* [max_tokens] position and rotary length of each row */
    uint32_t *last_rows;           /* [max_seqs] default rows for logits */
    void *act_memory; /* views of the activations of one matrix product, made anew for each */
    void *memory;     /* what all of the above lies in */
    size_t memory_bytes;
};

/* The plan of a context: bytes it will take, and making it. */
quire_status qr_context_plan_bytes(const struct quire_model *model, const struct quire_context *limits, uint64_t *bytes,
                                   struct quire_error *err);
quire_status qr_context_plan_create(struct quire_context *ctx, struct quire_error *err);

/* One member's share of a step whose arguments have been checked and whose plan is built. */
struct qr_step {
    struct quire_context *ctx;
    const struct quire_model_step *args;
    const uint32_t *logits_rows;
    uint32_t n_tokens, n_logits;
};
void qr_step_part(void *step, const struct quire_team *team);

/* The two sublayers: read ctx->x, leave their result in `out` (ctx->sub or ctx->sub2). All members call them. */
void qr_attention_sublayer(const struct qr_step *s, uint32_t layer, bool normed, float *out,
                           const struct quire_team *team);
void qr_ffn_sublayer(const struct qr_step *s, uint32_t layer, bool normed, float *out, const struct quire_team *team);

/* A feed-forward of three matrices, from src to out over all rows of the step. All members call it; ends with a
 * barrier. */
struct qr_ffn_roles {
    enum qr_weight_role gate, up, down, gate_bias, up_bias, down_bias;
};
void qr_ffn_dense(const struct qr_step *s, const struct qr_model_layer *layer, const struct qr_ffn_roles *roles,
                  const float *src, float *out, const struct quire_team *team);

/* gate = act(gate) * up over n elements; up (may be overwritten) NULL: the activation alone. */
void qr_activate(const struct qr_model_config *c, const struct quire_kernels *k, float *gate, float *up, size_t n);

/* The mixture of experts of a layer, from src to out over all rows of the step. All members call it; ends with a
 * barrier. */
void qr_moe(const struct qr_step *s, uint32_t layer, const float *src, float *out, const struct quire_team *team);

/* Chooses the experts of one token: fills n_used experts in rank order and their weights. `scores` are the router's,
 * and are overwritten; `correction` [n_experts] may be NULL. Exported for its tests. */
void qr_moe_route(const struct qr_moe_config *m, float *scores, const float *correction, uint32_t *experts,
                  float *weights);

/* Applies a norm of the model to rows [begin, end) of src; w and b by role, a missing weight is the plain norm. */
void qr_norm_rows(const struct qr_step *s, const struct qr_model_layer *layer, enum qr_weight_role w,
                  enum qr_weight_role b, float *dst, const float *src, size_t width, size_t begin, size_t end);

/* Makes the views of rows src[m][k] that the weights w[n] need and fills them; ends with a barrier. `act` is the
 * member's own, over memory that all share. */
void qr_prepare(const struct qr_step *s, struct qr_act *act, const struct qr_packed *const *w, int n, const float *src,
                size_t m, const struct quire_team *team);

/* out[m][w->n] = act . w + bias, over the team; the caller has a barrier after. */
void qr_project(const struct qr_step *s, const struct qr_act *act, const struct qr_packed *w, const float *bias,
                float *out, const struct quire_team *team);

/* Attention of a layer: ctx->q against the cache into ctx->att. */
void qr_attend(const struct qr_step *s, uint32_t layer, const struct quire_team *team);

#endif
