/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.c - context length and cache size from the model, the parameters and the memory at hand. */
#include "engine/sizes.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/sequence.h"

enum {
    DEFAULT_BLOCK = 64,
    DEFAULT_STEP = 256, /* enough to keep the cores busy; cancelling waits for the end of a step */
    DEFAULT_CONTEXT = 8192, /* the most that is taken without being asked for */
    UNKNOWN_CONTEXT = 2048, /* for a model that does not say */
    REWIND =
        512, /* tokens that a conversation may step back without recomputing a windowed group */
};

/* Exact bytes of the cache for a context; fills in n_blocks. */
static quire_status bytes_for(struct qr_engine_sizes *s, uint32_t context, uint64_t *bytes,
                              struct quire_error *err)
{
    const uint32_t step = s->max_step_tokens < context ? s->max_step_tokens : context;
    for (uint32_t g = 0; g < s->n_groups; g++)
        s->groups[g].n_blocks =
            qr_sequence_blocks(s->block_size, s->groups[g].sliding_window, context, step, REWIND);
    struct quire_kv_params config = { .struct_size = sizeof config, .block_size = s->block_size };
    config.groups = s->groups;
    config.n_groups = s->n_groups;
    struct quire_kv_memory memory = { .struct_size = sizeof memory };
    QR_TRY(quire_kv_bytes(&config, &memory, err));
    *bytes = memory.total;
    return QUIRE_OK;
}

/* The longest context up to `most` whose cache fits, in whole blocks unless it is `most`; 0 =
 * not even one block. */
static quire_status longest_context(struct qr_engine_sizes *s, uint32_t most, uint32_t *context,
                                    struct quire_error *err)
{
    uint64_t bytes;
    QR_TRY(bytes_for(s, most, &bytes, err));
    *context = most;
    if (bytes <= s->budget)
        return QUIRE_OK;
    uint32_t low = 0, high = (most - 1) / s->block_size + 1; /* blocks: low fit, high do not */
    while (high - low > 1) {
        const uint32_t mid = low + (high - low) / 2;
        QR_TRY(bytes_for(s, mid * s->block_size, &bytes, err));
        if (bytes <= s->budget)
            low = mid;
        else
            high = mid;
    }
    *context = low * s->block_size;
    return QUIRE_OK;
}

static double mib(uint64_t bytes) { return (double)bytes / 1048576; }

static quire_status choose_context(struct qr_engine_sizes *s, uint32_t asked,
                                   struct quire_error *err)
{
    const uint32_t model = s->model_context_length;
    const uint32_t most = asked ? asked : model < DEFAULT_CONTEXT ? model : DEFAULT_CONTEXT;
    QR_TRY(longest_context(s, most, &s->context_length, err));
    uint64_t bytes;
    if (s->context_length == 0) {
        const uint32_t one = s->block_size < most ? s->block_size : most;
        QR_TRY(bytes_for(s, one, &bytes, err));
        return qr_fail(err, QUIRE_E_LIMIT,
                       "kv_bytes: the budget of %.2f MiB cannot hold one block of %u tokens, which "
                       "takes %.2f MiB",
                       mib(s->budget), s->block_size, mib(bytes));
    }
    if (asked && s->context_length < asked) {
        QR_TRY(bytes_for(s, asked, &bytes, err));
        return qr_fail(
            err, QUIRE_E_LIMIT,
            "context_length: the cache for %u tokens takes %.2f MiB, the budget is %.2f MiB; "
            "%u tokens fit",
            asked, mib(bytes), mib(s->budget), s->context_length);
    }
    if (s->max_step_tokens > s->context_length)
        s->max_step_tokens = s->context_length;
    return bytes_for(s, s->context_length, &s->kv_bytes, err);
}

static quire_status read_groups(struct qr_engine_sizes *s, const struct quire_model *model,
                                const struct quire_engine_params *p, struct quire_error *err)
{
    QR_TRY(quire_model_kv_groups(model, NULL, 0, &s->n_groups));
    s->groups = qr_calloc(s->allocator, s->n_groups, sizeof *s->groups);
    if (!s->groups)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u KV groups", s->n_groups);
    QR_TRY(quire_model_kv_groups(model, s->groups, s->n_groups, &s->n_groups));
    for (uint32_t g = 0; g < s->n_groups; g++) {
        s->groups[g].k_dtype = p->k_dtype;
        s->groups[g].v_dtype = s->groups[g].flags & QUIRE_KV_LATENT ? p->k_dtype : p->v_dtype;
    }
    return QUIRE_OK;
}

/* Weights that are mapped from a file count as available, but every step will want them in memory. */
static uint64_t available_memory(const struct quire_model_info *info)
{
    const uint64_t available = qr_memory_available(),
                   mapped = info->pack_cached ? info->weight_bytes : 0;
    if (!available)
        return 0; /* unknown */
    return available > mapped ? available - mapped : 1;
}

quire_status qr_engine_sizes_init(struct qr_engine_sizes *s, const struct quire_model *model,
                                  const struct quire_engine_params *p, struct quire_error *err)
{
    struct quire_model_info info = { .struct_size = sizeof info };
    QR_TRY(quire_model_info(model, &info));
    *s = (struct qr_engine_sizes){
        .allocator = p->allocator,
        .block_size = p->block_size ? p->block_size : DEFAULT_BLOCK,
        .max_step_tokens = p->max_step_tokens ? p->max_step_tokens : DEFAULT_STEP,
        .model_context_length = info.context_length ? info.context_length : UNKNOWN_CONTEXT,
        .available = available_memory(&info),
    };
    s->budget = p->kv_bytes ? p->kv_bytes : s->available ? s->available / 2 : UINT64_MAX;
    quire_status status = read_groups(s, model, p, err);
    if (status == QUIRE_OK)
        status = choose_context(s, p->context_length, err);
    if (status != QUIRE_OK)
        qr_engine_sizes_free(s);
    return status;
}

void qr_engine_sizes_free(struct qr_engine_sizes *s)
{
    qr_free(s->allocator, s->groups, s->n_groups, sizeof *s->groups);
    s->groups = NULL;
}
