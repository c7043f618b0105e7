/* SPDX-License-Identifier: Apache-2.0 */
/* draft_model.h - drafts of requests from a smaller model with the same vocabulary.
 *
 * The draft model has a KV cache of its own and, for every request that uses it, a sequence with
 * the request's leading tokens. A sequence begins when its request first drafts, computes the
 * tokens that it lacks in chunks, and ends with the request or its preemption. Drafted tokens are
 * not counted as tokens of the sequence before they are accepted: then their keys and values are
 * those of the draft. With recurrent layers the state before the draft is kept until then: if any
 * computed token is rejected, it is in force again, and accepted tokens are computed once more.
 *
 * What the draft model computes influences the speed only (speculation/verify.h). Therefore none of
 * its failures is an error of the request: there is no draft then. */
#ifndef QR_ENGINE_DRAFT_MODEL_H
#define QR_ENGINE_DRAFT_MODEL_H
#include "engine/speculation/draft_confidence.h"
#include "engine/types.h"

struct qr_draft_model {
    struct quire_model *model; /* borrowed, or own_model */
    struct quire_model *own_model;
    uint32_t vocab_size;             /* rows of its LM head */
    uint32_t n_common;               /* leading tokens of the vocabulary that both models have */
    struct quire_kv_cache *kv;       /* NULL: no attention layers, or shares_kv */
    struct quire_state_pool *states; /* NULL: no recurrent layers */
    struct quire_context *context;
    struct qr_sequence_memory memory;
    struct qr_scheduler scheduler; /* the lists of a step, which draft_model.c fills in */
    struct qr_batch batch;
    float *logits; /* [n_logits] rows of vocab_size, then room for one of the engine's size */
    size_t n_logits;
    uint32_t max_logits;          /* of a pass */
    struct qr_request **requests; /* [n_requests], at most max_seqs: those with a sequence */
    uint32_t n_requests;
    bool shares_kv; /* a head without keys and values of its own: `kv` is NULL, memory is unused */
    bool mtp; /* a head of multi-token prediction (draft_mtp.h), which has all of the following */
    uint32_t input_size, state_size; /* mtp_hidden_size, mtp_state_size */
    uint32_t n_heads;                /* 1, or heads that take turns */
    bool takes_turns, chained;       /* draft_heads.h */
    uint32_t n_features;             /* 0: final hidden states take their place */
    uint32_t feature_layers[16];
    uint32_t block_size;               /* of a block drafter (draft_block.h), else 0 */
    int32_t masks[QR_DRAFT_MAX_DEPTH]; /* its mask token, repeated */
    bool from_anchor, markov;          /* mtp_from_anchor, mtp_markov_rank */
    struct qr_step_cost markov_cost;   /* of a call of the Markov head, by rows */
    bool has_confidence, reads_states; /* mtp_confidence; or mtp_markov_state */
    struct qr_draft_confidence confidence;
    float *step_hidden;           /* [max_step_tokens][input_size] of the model's last step */
    float *hidden_in;             /* [rows of a pass][the larger size] of a pass */
    float *hidden_out;            /* [rows of a pass][state_size] of the same */
    const float *hidden_rows;     /* of the last step: step_hidden, or the vectors' */
    struct qr_draft_heads *heads; /* NULL without takes_turns */
    uint32_t n_rows;              /* of hidden_in in the planned pass */
    struct qr_team_size team_size;
    struct qr_step_cost step_cost;  /* of passes that draft */
    double seconds_per_chunk_token; /* measured; 0 = not yet */
};

/* Largest number of tokens that the draft model can draft for a request that decodes; 0 without a
 * draft model, beyond its context, and for a while after its KV cache was full. */
uint32_t qr_draft_model_room(const struct quire_engine *e, const struct qr_request *r);

/* Measured seconds of drafting one token for each of n sequences; 0 = not measured. */
double qr_draft_model_seconds(const struct quire_engine *e, uint32_t n);

/* Drafts up to n_model_draft tokens for every running request, in its `draft` and task.n_draft, and
 * sets n_model_draft to their number. All sequences share one forward pass per depth. A sequence
 * that lacks more than the latest tokens computes a chunk of them and may get no draft yet; all
 * chunks together take as long as at most `budget` tokens of prompts, by the measured speeds.
 * Returns how many of these tokens they take. */
uint32_t qr_draft_model_run(struct quire_engine *e, uint32_t budget);

/* The first n_accepted tokens of the draft are now tokens of the request. */
void qr_draft_model_commit(struct quire_engine *e, struct qr_request *r, uint32_t n_accepted);

/* The request of a draft_task. */
struct qr_request *qr_draft_model_request(struct qr_task *draft_task);

/* Draws the next token of the draft from the draft model's logits, as the request will draw from
 * those of the model: with the same parameters and random number. A logits hook is not called. The
 * draft ends before a token that ends the answer: the row before that token samples it, and rows
 * behind it are of no use. logits: [vocab_size of the engine], changed. */
void qr_draft_model_add_token(struct quire_engine *e, struct qr_request *r, float *logits);

/* Ends the sequences of requests that were preempted. */
void qr_draft_model_end_preempted(struct quire_engine *e);

/* Ends the sequence of a request, if it has one. Its blocks stay in the draft model's prefix
 * cache. */
void qr_draft_model_end(struct quire_engine *e, struct qr_request *r);

#endif
