/* SPDX-License-Identifier: Apache-2.0 */
/* vector_check.c - which fields of a request its task allows. */
#include "engine/vector_check.h"
#include "base/error.h"
#include "model/forward/pooling.h"
#include "model/load/model.h"

static const char *task_name(enum quire_task task)
{
    return task == QUIRE_TASK_EMBED   ? "QUIRE_TASK_EMBED"
           : task == QUIRE_TASK_SCORE ? "QUIRE_TASK_SCORE"
                                      : "QUIRE_TASK_GENERATE";
}

/* A field and whether the request sets it. */
struct field {
    const char *name;
    bool set;
};

/* Refuses the first field of a list that is set. */
static quire_status refuse(const struct field *fields, size_t n, enum quire_task task,
                           struct quire_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (fields[i].set)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is not used by %s", fields[i].name,
                           task_name(task));
    return QUIRE_OK;
}

/* Fields of generation. */
static quire_status check_generation(const struct quire_request_params *p, struct quire_error *err)
{
    const struct field fields[] = {
        { "messages", p->messages },
        { "parts", p->parts },
        { "max_tokens", p->max_tokens },
        { "min_tokens", p->min_tokens },
        { "stop", p->n_stop },
        { "stop_tokens", p->n_stop_tokens },
        { "sampling", p->sampling },
        { "stream", p->stream },
        { "n", p->n > 1 },
        { "best_of", p->best_of > 1 },
        { "draft_tokens", p->draft_tokens },
        { "n_logprobs", p->n_logprobs },
        { "beam_width", p->beam_width },
        { "logits_hook", p->logits_hook },
        { "tools_json", p->tools_json },
        { "variables_json", p->variables_json },
        { "flags: QUIRE_REQUEST_IGNORE_EOS", p->flags & QUIRE_REQUEST_IGNORE_EOS },
        { "flags: QUIRE_REQUEST_SHOW_SPECIAL", p->flags & QUIRE_REQUEST_SHOW_SPECIAL },
        { "flags: QUIRE_REQUEST_ECHO", p->flags & QUIRE_REQUEST_ECHO },
        { "flags: QUIRE_REQUEST_LOGPROBS", p->flags & QUIRE_REQUEST_LOGPROBS },
        { "flags: QUIRE_REQUEST_FIXED_DRAFT", p->flags & QUIRE_REQUEST_FIXED_DRAFT },
        { "flags: QUIRE_REQUEST_PROMPT_ONLY", p->flags & QUIRE_REQUEST_PROMPT_ONLY },
    };
    return refuse(fields, sizeof fields / sizeof *fields, p->task, err);
}

static quire_status check_types(const struct quire_engine *e, const struct quire_request_params *p,
                                struct quire_error *err)
{
    if (!p->token_type_ids)
        return QUIRE_OK;
    if (!p->tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "token_type_ids is given without tokens");
    if (!e->encodes)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "token_type_ids: the model is no encoder");
    const uint32_t n = e->n_token_types ? e->n_token_types : 1;
    for (size_t i = 0; i < p->n_tokens; i++)
        if (p->token_type_ids[i] < 0 || (uint32_t)p->token_type_ids[i] >= n)
            return qr_fail(err, QUIRE_E_RANGE, "token_type_ids[%zu] is %d, the model has %u types",
                           i, p->token_type_ids[i], n);
    return QUIRE_OK;
}

static quire_status check_embed(const struct quire_engine *e, const struct quire_request_params *p,
                                struct quire_error *err)
{
    const struct qr_model_config *c = e->model->config;
    const struct field fields[] = { { "text_pair", p->text_pair || p->text_pair_size },
                                    { "raw_scores", p->raw_scores } };
    QR_TRY(refuse(fields, sizeof fields / sizeof *fields, p->task, err));
    if ((unsigned)p->pooling > QUIRE_POOLING_DEFAULT)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "pooling %d is unknown", (int)p->pooling);
    if (p->pooling == QUIRE_POOLING_POOLER && !(e->encodes && e->model->global.mat[QR_W_POOLER]))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "pooling: the model has no pooler");
    if (p->pooling == QUIRE_POOLING_DEFAULT && c->embedding_module[0])
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "pooling: the model's embeddings need %s, which is not supported; a pooling "
                       "other than QUIRE_POOLING_DEFAULT gives the pooled states before it",
                       c->embedding_module);
    const uint32_t width = p->pooling == QUIRE_POOLING_DEFAULT ? qr_pool_width(c) : e->hidden_size;
    if (p->dimensions > width)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "dimensions %u is above the %s %u", p->dimensions,
                       width == e->hidden_size ? "hidden size" : "embedding size", width);
    return QUIRE_OK;
}

static quire_status check_score(const struct quire_engine *e, const struct quire_request_params *p,
                                struct quire_error *err)
{
    const struct field fields[] = { { "dimensions", p->dimensions } };
    QR_TRY(refuse(fields, sizeof fields / sizeof *fields, p->task, err));
    if (!e->n_labels)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "task: the model has no classification head for sequences");
    if (p->text_pair && !p->text)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "text_pair is given without text");
    if (!p->text_pair != !p->text_pair_size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s",
                       p->text_pair ? "text_pair is empty: text_pair_size is 0"
                                    : "text_pair_size is given without text_pair");
    return QUIRE_OK;
}

quire_status qr_vector_check(const struct quire_engine *e, const struct quire_request_params *p,
                             struct quire_error *err)
{
    if (p->reserved2)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "reserved2 is not 0");
    if (p->task == QUIRE_TASK_GENERATE) {
        const struct field fields[] = { { "dimensions", p->dimensions },
                                        { "raw_scores", p->raw_scores },
                                        { "text_pair", p->text_pair || p->text_pair_size },
                                        { "token_type_ids", p->token_type_ids } };
        if (e->encodes)
            return qr_fail(err, QUIRE_E_UNSUPPORTED,
                           "task: architecture '%s' is an encoder: it computes embeddings and does "
                           "not generate text",
                           e->model->config->arch);
        if (e->model->config->no_lm_head)
            return qr_fail(err, QUIRE_E_UNSUPPORTED,
                           "task: the model is a classifier without an LM head: it computes scores "
                           "and embeddings and does not generate text");
        return refuse(fields, sizeof fields / sizeof *fields, p->task, err);
    }
    if (p->task != QUIRE_TASK_EMBED && p->task != QUIRE_TASK_SCORE)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "task %d is unknown", (int)p->task);
    QR_TRY(check_generation(p, err));
    QR_TRY(check_types(e, p, err));
    return p->task == QUIRE_TASK_EMBED ? check_embed(e, p, err) : check_score(e, p, err);
}
