/* SPDX-License-Identifier: Apache-2.0 */
/* capacity.c - context length and KV cache size from the model, the parameters and free memory. */
#include "engine/capacity.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/sequence_memory.h"

enum {
    DEFAULT_BLOCK_TOKENS = 64,
    MAX_BLOCK_TOKENS = 65536,
    /* enough to keep all cores busy; a cancellation waits for the end of a step */
    DEFAULT_STEP_TOKENS = 256,
    DEFAULT_SEQS = 8,       /* decoding them together reads the weights once */
    DEFAULT_CONTEXT = 8192, /* tokens; upper bound of an automatic context */
    UNKNOWN_CONTEXT = 2048, /* tokens; for a model file that states none */
    /* a conversation can be truncated by these without recomputing a windowed group */
    MAX_ROLLBACK_TOKENS = 512,
    MAX_CHECKPOINTS = 64,       /* of recurrent states, in an eighth of the budget */
    MAX_DRAFT_CHECKPOINTS = 16, /* of those of the draft model, in another one */
    CHECKPOINT_SHARE = 8,
};

/* Blocks of a group for a cache of `tokens` tokens, at least one whole context. Windowed groups
 * have as many per context as a sequence of that length needs. */
static uint64_t blocks_for(const struct qr_capacity *c, uint32_t window, uint32_t context,
                           uint64_t tokens)
{
    const uint32_t step = c->max_step_tokens < context ? c->max_step_tokens : context;
    const uint64_t one =
        qr_sequence_blocks_needed(c->block_size, window, context, step, MAX_ROLLBACK_TOKENS);
    const uint64_t all = tokens / c->block_size + (tokens % c->block_size != 0);
    const uint64_t n = tokens / context + (tokens % context != 0);
    return window == 0 || n * one > all ? (all > one ? all : one) : n * one;
}

/* Sets n_blocks of every group and computes the exact size of their cache. */
static quire_status size_groups(const struct qr_capacity *c, struct quire_kv_group_config *groups,
                                uint32_t n_groups, uint32_t context, uint64_t tokens,
                                uint64_t *bytes, struct quire_error *err)
{
    for (uint32_t g = 0; g < n_groups; g++) {
        const uint64_t n = blocks_for(c, groups[g].sliding_window, context, tokens);
        if (n > INT32_MAX)
            return qr_fail(err, QUIRE_E_LIMIT, "%s: %llu tokens are more than 2^31 blocks",
                           groups == c->groups ? "cache_tokens" : "draft_cache_tokens",
                           (unsigned long long)tokens);
        groups[g].n_blocks = (uint32_t)n;
    }
    *bytes = 0;
    if (!n_groups) /* recurrent layers only */
        return QUIRE_OK;
    struct quire_kv_params config = { .struct_size = sizeof config, .block_size = c->block_size };
    config.groups = groups;
    config.n_groups = n_groups;
    struct quire_kv_memory memory = { .struct_size = sizeof memory };
    QR_TRY(quire_kv_bytes(&config, &memory, err));
    *bytes = memory.total;
    return QUIRE_OK;
}

/* Sizes the groups of both models; *bytes is the sum of their caches and of recurrent states. */
static quire_status kv_bytes_for(struct qr_capacity *c, uint32_t context, uint64_t tokens,
                                 uint64_t *bytes, struct quire_error *err)
{
    QR_TRY(size_groups(c, c->groups, c->n_groups, context, tokens, bytes, err));
    *bytes += c->state_bytes;
    if (!c->has_draft_model)
        return QUIRE_OK;
    c->draft_cache_tokens = c->draft_tokens_requested ? c->draft_tokens_requested : tokens;
    c->draft_context_length =
        context < c->draft_model_context_length ? context : c->draft_model_context_length;
    const uint64_t draft_tokens = c->draft_cache_tokens;
    const uint32_t longest =
        c->draft_context_length < draft_tokens ? c->draft_context_length : (uint32_t)draft_tokens;
    QR_TRY(size_groups(c, c->draft_groups, c->n_draft_groups, longest, draft_tokens,
                       &c->draft_kv_bytes, err));
    c->draft_kv_bytes += c->draft_state_bytes;
    *bytes += c->draft_kv_bytes;
    return QUIRE_OK;
}

/* Longest context up to `most` tokens whose KV cache fits the budget, in whole blocks unless it is
 * `most`; 0 = not even one block fits. */
static quire_status longest_context(struct qr_capacity *c, uint32_t most, uint32_t *context,
                                    struct quire_error *err)
{
    uint64_t bytes;
    QR_TRY(kv_bytes_for(c, most, most, &bytes, err));
    *context = most;
    if (bytes <= c->budget)
        return QUIRE_OK;
    uint32_t low = 0, high = (most - 1) / c->block_size + 1;
    /* invariant: low blocks fit, high blocks do not */
    while (high - low > 1) {
        const uint32_t mid = low + (high - low) / 2;
        const uint32_t tokens = mid * c->block_size;
        QR_TRY(kv_bytes_for(c, tokens, tokens, &bytes, err));
        if (bytes <= c->budget)
            low = mid;
        else
            high = mid;
    }
    *context = low * c->block_size;
    return QUIRE_OK;
}

static const char *cache_name(const struct qr_capacity *c)
{
    return c->has_draft_model ? "KV cache with that of the draft model" : "KV cache";
}

static double mib(uint64_t bytes) { return (double)bytes / 1048576; }

static quire_status choose_context(struct qr_capacity *c, uint32_t requested,
                                   struct quire_error *err)
{
    const uint32_t model = c->model_context_length;
    const uint32_t most = requested ? requested : model < DEFAULT_CONTEXT ? model : DEFAULT_CONTEXT;
    QR_TRY(longest_context(c, most, &c->context_length, err));
    uint64_t bytes;
    if (c->context_length == 0) {
        const uint32_t one = c->block_size < most ? c->block_size : most;
        QR_TRY(kv_bytes_for(c, one, one, &bytes, err));
        return qr_fail(err, QUIRE_E_LIMIT,
                       "kv_bytes: one block of %u tokens takes %.2f MiB, the budget is %.2f MiB",
                       c->block_size, mib(bytes), mib(c->budget));
    }
    if (requested && c->context_length < requested) {
        QR_TRY(kv_bytes_for(c, requested, requested, &bytes, err));
        return qr_fail(
            err, QUIRE_E_LIMIT,
            "context_length: the %s of %u tokens takes %.2f MiB, the budget is %.2f MiB; "
            "%u tokens fit",
            cache_name(c), requested, mib(bytes), mib(c->budget), c->context_length);
    }
    return QUIRE_OK;
}

/* The cache holds every sequence that may run at its full length if the budget allows, and
 * otherwise as many whole blocks as fit; at least one sequence. */
static quire_status choose_cache(struct qr_capacity *c, uint64_t requested, struct quire_error *err)
{
    const uint32_t context = c->context_length;
    uint64_t bytes;
    if (requested && requested < context)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "cache_tokens %llu is below the context of %u tokens",
                       (unsigned long long)requested, context);
    const uint64_t most = requested ? requested : (uint64_t)c->max_seqs * context;
    const uint64_t room = c->available && c->available < c->budget ? c->available : c->budget;
    QR_TRY(kv_bytes_for(c, context, most, &bytes, err));
    c->cache_tokens = most;
    if (bytes > c->budget && requested)
        return qr_fail(err, QUIRE_E_LIMIT,
                       "cache_tokens: the %s of %llu tokens takes %.2f MiB, the budget is %.2f MiB",
                       cache_name(c), (unsigned long long)requested, mib(bytes), mib(c->budget));
    c->kv_bytes = bytes;
    if (requested)
        return QUIRE_OK;
    uint64_t low = context, high = most; /* invariant: low tokens fit, high tokens do not */
    while (bytes > room && high - low > c->block_size) {
        const uint64_t mid = low + (high - low) / 2;
        uint64_t mid_bytes;
        QR_TRY(kv_bytes_for(c, context, mid, &mid_bytes, err));
        *(mid_bytes <= room ? &low : &high) = mid;
        c->cache_tokens = low;
    }
    if (bytes > room && most - context <= c->block_size)
        c->cache_tokens = context;
    return kv_bytes_for(c, context, c->cache_tokens, &c->kv_bytes, err);
}

/* The kernel lends address space freely and ends a process when the pages are used. A host with an
 * allocator of its own knows how much memory that has. */
static quire_status check_memory(const struct qr_capacity *c, struct quire_error *err)
{
    const uint64_t available = c->allocator ? 0 : qr_memory_available();
    if (!available || c->kv_bytes <= available)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_LIMIT,
                   "kv_bytes: the %s of %llu tokens takes %.2f MiB, %.2f MiB of memory are free",
                   cache_name(c), (unsigned long long)c->cache_tokens, mib(c->kv_bytes),
                   mib(available));
}

/* Sequences and tokens of a step: no more than the context and the queue can use. */
static void set_step(struct qr_capacity *c, const struct quire_engine_params *p)
{
    const uint32_t requests = p->max_requests ? p->max_requests : DEFAULT_SEQS;
    if (!p->max_seqs)
        c->max_seqs = requests < DEFAULT_SEQS ? requests : DEFAULT_SEQS;
    if (!p->max_seqs && c->max_seqs > c->max_step_tokens)
        c->max_seqs = c->max_step_tokens;
    if (c->max_step_tokens < c->max_seqs)
        c->max_step_tokens = c->max_seqs;
    if (c->max_step_tokens / c->max_seqs >= c->context_length)
        c->max_step_tokens = c->max_seqs * c->context_length;
}

static quire_status read_groups(const struct qr_capacity *c, const struct quire_model *model,
                                const struct quire_engine_params *p,
                                struct quire_kv_group_config **groups, uint32_t *n_groups,
                                struct quire_error *err)
{
    uint32_t n;
    QR_TRY(quire_model_kv_groups(model, NULL, 0, &n));
    struct quire_kv_group_config *list = qr_calloc(c->allocator, n, sizeof *list);
    if (!list)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u KV groups", n);
    *groups = list;
    *n_groups = n;
    QR_TRY(quire_model_kv_groups(model, list, n, &n));
    for (uint32_t g = 0; g < n; g++) {
        list[g].k_dtype = p->k_dtype;
        list[g].v_dtype = list[g].flags & QUIRE_KV_LATENT ? p->k_dtype : p->v_dtype;
        if (list[g].k_dtype == QUIRE_KV_INT4 && !(p->flags & QUIRE_ENGINE_PLAIN_KEYS))
            list[g].flags |= QUIRE_KV_ROTATE_K;
        if (p->flags & QUIRE_ENGINE_ROTATE_VALUES)
            list[g].flags |= QUIRE_KV_ROTATE_V;
    }
    return QUIRE_OK;
}

/* Free memory without mapped weights: the system counts their pages as available, but every step
 * reads them. 0 = unknown; 1 = mapped weights take it all. */
static uint64_t available_memory(const struct quire_model_info *info)
{
    const uint64_t available = qr_memory_available();
    const uint64_t mapped = info->pack_cached ? info->weight_bytes : 0;
    if (!available)
        return 0;
    return available > mapped ? available - mapped : 1;
}

/* An encoder has no KV cache. A step holds at least one sequence of the whole context. */
static quire_status init_encoder(struct qr_capacity *c, const struct quire_engine_params *p,
                                 struct quire_error *err)
{
    const char *field = p->cache_tokens                      ? "cache_tokens"
                        : p->kv_scales                       ? "kv_scales"
                        : p->max_draft_tokens                ? "max_draft_tokens"
                        : p->flags & QUIRE_ENGINE_LOCK_CACHE ? "flags: QUIRE_ENGINE_LOCK_CACHE"
                                                             : NULL;
    if (field)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s: the model is an encoder, without a KV cache",
                       field);
    const uint32_t model = c->model_context_length;
    const uint32_t most = p->max_step_tokens ? p->max_step_tokens : DEFAULT_CONTEXT;
    c->context_length = p->context_length ? p->context_length : model < most ? model : most;
    if (c->context_length > model)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "context_length %u is above the encoder's %u",
                       c->context_length, model);
    if (p->max_step_tokens && p->max_step_tokens < c->context_length)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "max_step_tokens %u is below context_length %u: an encoder computes whole "
                       "sequences",
                       p->max_step_tokens, c->context_length);
    if (c->max_step_tokens < c->context_length)
        c->max_step_tokens = c->context_length;
    c->block_size = 0;
    c->budget = 0;
    set_step(c, p);
    return QUIRE_OK;
}

/* Sequences that run at a time; set_step() may reduce them. */
static uint32_t sequence_count(const struct qr_capacity *c, const struct quire_engine_params *p)
{
    const uint32_t requests = p->max_requests ? p->max_requests : DEFAULT_SEQS;
    return c->max_seqs ? c->max_seqs : requests < DEFAULT_SEQS ? requests : DEFAULT_SEQS;
}

/* Checkpoints of states of `size` bytes in a share of the budget. */
static uint32_t checkpoint_count(const struct qr_capacity *c, uint64_t size, uint32_t most)
{
    const uint64_t room = c->budget / CHECKPOINT_SHARE / size;
    return room < most ? (uint32_t)room : most;
}

/* Computes the bytes of a pool, and checks them with those of another one. */
static quire_status pool_bytes(const struct qr_capacity *c, const struct quire_engine_params *p,
                               uint32_t n_slots, uint64_t size, uint64_t other, uint64_t *bytes,
                               struct quire_error *err)
{
    const struct quire_state_pool_params pool = { .struct_size = sizeof pool,
                                                  .n_slots = n_slots,
                                                  .state_bytes = size };
    QR_TRY(quire_state_pool_bytes(&pool, bytes, err));
    if (*bytes <= c->budget && other <= c->budget - *bytes)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_LIMIT,
                   "kv_bytes: the recurrent states of %u sequences take %.2f MiB, the budget is "
                   "%.2f MiB",
                   sequence_count(c, p), mib(*bytes + other), mib(c->budget));
}

/* Slots of recurrent states: one per sequence, one more per sequence that verifies a draft, and
 * checkpoints. */
static quire_status size_states(struct qr_capacity *c, const struct quire_model_info *info,
                                const struct quire_engine_params *p, struct quire_error *err)
{
    const uint32_t n_seqs = sequence_count(c, p);
    if (!info->state_bytes)
        return QUIRE_OK;
    /* otherwise the KV cache checks it */
    if (!c->n_groups && (c->block_size % 16 || c->block_size > MAX_BLOCK_TOKENS))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "block_size %u is not a multiple of 16 in 16..%d",
                       c->block_size, MAX_BLOCK_TOKENS);
    c->state_size = info->state_bytes;
    c->n_checkpoints = checkpoint_count(c, c->state_size, MAX_CHECKPOINTS);
    c->n_state_slots =
        n_seqs + (p->max_draft_tokens < n_seqs ? p->max_draft_tokens : n_seqs) + c->n_checkpoints;
    return pool_bytes(c, p, c->n_state_slots, c->state_size, 0, &c->state_bytes, err);
}

static quire_status read_draft_model(struct qr_capacity *c, const struct quire_model *model,
                                     const struct quire_engine_params *p, struct quire_error *err)
{
    struct quire_model_info info = { .struct_size = sizeof info };
    QR_TRY(quire_model_get_info(model, &info));
    if (info.mtp_shares_kv)
        return p->draft_cache_tokens
                   ? qr_fail(
                         err, QUIRE_E_INVALID_ARG,
                         "draft_cache_tokens is given, but '%s' reads the KV cache of the model",
                         info.arch)
                   : QUIRE_OK;
    c->has_draft_model = true;
    c->draft_model_context_length = info.context_length ? info.context_length : UINT32_MAX;
    c->draft_tokens_requested = p->draft_cache_tokens;
    QR_TRY(read_groups(c, model, p, &c->draft_groups, &c->n_draft_groups, err));
    if (!info.state_bytes)
        return QUIRE_OK;
    /* per sequence one before its draft and one behind it */
    c->draft_state_size = info.state_bytes;
    c->n_draft_state_slots =
        2 * sequence_count(c, p) + checkpoint_count(c, c->draft_state_size, MAX_DRAFT_CHECKPOINTS);
    return pool_bytes(c, p, c->n_draft_state_slots, c->draft_state_size, c->state_bytes,
                      &c->draft_state_bytes, err);
}

quire_status qr_capacity_init(struct qr_capacity *c, const struct quire_model *model,
                              const struct quire_model *draft_model,
                              const struct quire_engine_params *p, struct quire_error *err)
{
    struct quire_model_info info = { .struct_size = sizeof info };
    QR_TRY(quire_model_get_info(model, &info));
    *c = (struct qr_capacity){
        .allocator = p->allocator,
        .block_size = p->block_size ? p->block_size : DEFAULT_BLOCK_TOKENS,
        .max_step_tokens = p->max_step_tokens ? p->max_step_tokens : DEFAULT_STEP_TOKENS,
        .max_seqs = p->max_seqs,
        .model_context_length = info.context_length ? info.context_length : UNKNOWN_CONTEXT,
        .available = available_memory(&info),
    };
    if (info.kind == QUIRE_MODEL_ENCODER)
        return init_encoder(c, p, err);
    c->budget = p->kv_bytes ? p->kv_bytes : c->available ? c->available / 2 : UINT64_MAX;
    quire_status status = read_groups(c, model, p, &c->groups, &c->n_groups, err);
    if (status == QUIRE_OK)
        status = size_states(c, &info, p, err);
    if (status == QUIRE_OK && draft_model)
        status = read_draft_model(c, draft_model, p, err);
    if (status == QUIRE_OK)
        status = choose_context(c, p->context_length, err);
    if (status == QUIRE_OK && info.kind == QUIRE_MODEL_ENCODER_DECODER) /* whole sources */
        c->max_source_tokens =
            c->max_step_tokens < c->context_length ? c->context_length : c->max_step_tokens;
    if (status == QUIRE_OK) {
        set_step(c, p);
        status = choose_cache(c, p->cache_tokens, err);
    }
    if (status == QUIRE_OK && !(p->flags & QUIRE_ENGINE_DRY_RUN))
        status = check_memory(c, err);
    if (status != QUIRE_OK)
        qr_capacity_free(c);
    return status;
}

void qr_capacity_free(struct qr_capacity *c)
{
    qr_free(c->allocator, c->groups, c->n_groups, sizeof *c->groups);
    qr_free(c->allocator, c->draft_groups, c->n_draft_groups, sizeof *c->draft_groups);
    c->groups = c->draft_groups = NULL;
}
