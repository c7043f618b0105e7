/* SPDX-License-Identifier: Apache-2.0 */
/* beam_types.h - the state of a beam search.
 *
 * A request with beam_width w is a group of w answers. While the search goes on, each of them holds
 * one beam, a partial answer, or is idle; at the end each takes one of the finished answers, the
 * hypotheses. */
#ifndef QR_ENGINE_BEAM_TYPES_H
#define QR_ENGINE_BEAM_TYPES_H
#include "engine/task_group.h"
#include "engine/types.h"

enum { QR_MAX_BEAMS = 32 };

/* A beam and a token that may follow. */
struct qr_beam_candidate {
    double sum; /* of the log-probabilities of the answer with the token */
    int32_t token;
    uint32_t beam;
    float logprob; /* of the token, as reported; with log-probabilities only */
};

/* A finished answer. */
struct qr_hypothesis {
    int32_t *tokens;                      /* [n_tokens] without a token that ended it */
    struct quire_token_logprob *logprobs; /* [n_tokens][n_logprobs] */
    uint32_t n_tokens, n_output;          /* n_output counts the token that ended it */
    double sum, score;
    enum quire_finish_reason reason;
    bool context_full;
};

struct qr_beam_search {
    uint32_t width, max_output, n_logprobs;
    double length_penalty;
    enum quire_beam_stopping stopping;
    struct qr_task_group_limits limits;
    /* beams in order of rank */
    struct qr_request *live[QR_MAX_BEAMS]; /* [n_live] their answers; answer.choice is the rank */
    uint32_t n_live;
    bool ready[QR_MAX_BEAMS];             /* the candidates of the next token are known */
    struct qr_beam_candidate *candidates; /* [width][2 * width] */
    uint32_t n_candidates[QR_MAX_BEAMS];
    struct quire_token_logprob *top; /* [width][n_logprobs - 1] most likely tokens */
    /* in order of score, highest first */
    struct qr_hypothesis hypotheses[QR_MAX_BEAMS];
    uint32_t n_hypotheses;
    struct qr_output_text fresh;                /* before the first token */
    struct qr_output_text *next;                /* [width] of the beams of the next token */
    int32_t *token_memory;                      /* [width][max_output] */
    struct quire_token_logprob *logprob_memory; /* [width][max_output][n_logprobs] */
};

#endif
