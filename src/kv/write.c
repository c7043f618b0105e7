/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - quantizes new rows of K and V and stores them by slot mapping. */
#include "kv/write.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "kv/check.h"
#include "kv/rows.h"
#include "kv/slots.h"
#include <string.h>

/* Checks the strides and replaces 0 by dense ones. Cheap enough for every thread to repeat. *v is
 * not written for latent groups. */
static quire_status resolve_strides(const struct quire_kv_cache *kv,
                                    const struct quire_kv_write_args *a, struct qr_kv_strides *k,
                                    struct qr_kv_strides *v, struct quire_error *err)
{
    const struct qr_kv_group *g = &kv->groups[a->group];
    const size_t elem = qr_kv_dtype(a->dtype)->bytes;
    QR_TRY(qr_kv_check_strides("k", a->k_token_stride, a->k_head_stride, a->n_tokens, g->n_kv_heads,
                               (size_t)g->layout.k_size, elem, k, err));
    if (g->layout.latent)
        return QUIRE_OK;
    return qr_kv_check_strides("v", a->v_token_stride, a->v_head_stride, a->n_tokens, g->n_kv_heads,
                               (size_t)g->layout.v_size, elem, v, err);
}

static quire_status check_args(const struct quire_kv_cache *kv, const struct quire_kv_write_args *a,
                               struct quire_error *err)
{
    QR_TRY(qr_kv_check_layer(kv, a->group, a->layer, err));
    if (a->dtype != QUIRE_KV_F32 && a->dtype != QUIRE_KV_BF16 && a->dtype != QUIRE_KV_F16)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.dtype %d is not f32, bf16 or f16",
                       (int)a->dtype);
    if (a->n_tokens == 0)
        return QUIRE_OK;
    const bool latent = kv->groups[a->group].layout.latent;
    if (latent && a->v)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.v is not NULL: group %u is latent",
                       a->group);
    if (!a->k || (!a->v && !latent) || !a->slot_mapping)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s is NULL",
                       !a->k              ? "k"
                       : !a->v && !latent ? "v"
                                          : "slot_mapping");
    struct qr_kv_strides k, v;
    return resolve_strides(kv, a, &k, &v, err);
}

/* Returns a row as aligned f32: the row itself if it is that, else a conversion in buffer. */
static const float *row_as_f32(const struct qr_kernels *kernels, enum quire_kv_dtype dtype,
                               const void *row, size_t n, float *buffer)
{
    if (dtype == QUIRE_KV_F32) {
        if ((uintptr_t)row % sizeof *buffer == 0)
            return row;
        memcpy(buffer, row, n * sizeof *buffer);
        return buffer;
    }
    struct qr_kv_row aligned;
    if ((uintptr_t)row % 2) {
        memcpy(aligned.bytes, row, n * 2);
        row = aligned.bytes;
    }
    qr_kv_dtype(dtype)->dequantize(kernels, buffer, row, 1, n);
    return buffer;
}

/* Arguments of one call. */
struct write_run {
    struct quire_kv_cache *kv;
    const struct quire_kv_write_args *args;
    struct qr_kv_strides k, v;
};

/* Block of token t for one head, and its index in the block; NULL for QUIRE_SLOT_PAD. */
static unsigned char *block_of(const struct write_run *r, uint32_t head, size_t t, int *token)
{
    const struct quire_kv_write_args *a = r->args;
    if (a->slot_mapping[t] == QUIRE_SLOT_PAD)
        return NULL;
    const uint64_t slot = (uint64_t)a->slot_mapping[t], bs = r->kv->block_size;
    *token = (int)(slot % bs);
    return qr_kv_block(r->kv, a->group, a->layer, head, (int32_t)(slot / bs));
}

enum side { KEYS, VALUES };

/* Writes tokens [begin, end) of one head. Returns the number of clipped values. */
static size_t write_side(const struct write_run *r, enum side side, uint32_t head, size_t begin,
                         size_t end)
{
    const struct quire_kv_write_args *a = r->args;
    const struct qr_kernels *kernels = r->kv->kernels;
    const struct qr_kv_group *g = &r->kv->groups[a->group];
    const struct qr_kv_layout *l = &g->layout;
    const bool v = side == VALUES;
    const size_t rotation = v ? g->v_rotation : g->k_rotation;
    const struct qr_kv_strides *stride = v ? &r->v : &r->k;
    const struct qr_kv_dtype *type = v ? l->v_type : l->k_type;
    const size_t elem = qr_kv_dtype(a->dtype)->bytes, n = (size_t)(v ? l->v_size : l->k_size);
    const char *rows = v ? a->v : a->k;
    float scale = (v ? qr_kv_v_scale : qr_kv_k_scale)(r->kv, a->group, a->layer, head);
    float buffer[QR_KV_MAX_HEAD_SIZE];
    struct qr_kv_row codes;
    size_t clipped = 0;
    int token;
    if (v)
        qr_kv_zero_padding(l, codes.bytes);
    for (size_t t = begin; t < end; t++) {
        unsigned char *block = block_of(r, head, t, &token);
        if (!block)
            continue;
        const char *from = rows + (t * stride->token + head * stride->head) * elem;
        const float *row = row_as_f32(kernels, a->dtype, from, n, buffer);
        if (rotation) {
            if (row != buffer)
                memcpy(buffer, row, n * sizeof *buffer);
            kernels->hadamard(buffer, rotation, n);
            row = buffer;
        }
        clipped += type->quantize(kernels, codes.bytes, row, &scale, n);
        if (v)
            qr_kv_put_v(l, block, token, codes.bytes, scale);
        else
            qr_kv_put_k(l, block, token, codes.bytes, scale);
    }
    return clipped;
}

static size_t write_head(const struct write_run *r, uint32_t head, size_t begin, size_t end)
{
    const size_t clipped = write_side(r, KEYS, head, begin, end);
    if (r->kv->groups[r->args->group].layout.latent)
        return clipped;
    return clipped + write_side(r, VALUES, head, begin, end);
}

static size_t gcd(size_t a, size_t b)
{
    while (b) {
        const size_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* First token of chunk i of n_chunks. Consecutive tokens with slots in the same 16-token column are
 * in the same chunk, so that only one thread writes the cache lines of a column. */
static size_t chunk_begin(const int64_t *slots, size_t n, size_t i, size_t n_chunks)
{
    size_t t = n / n_chunks * i + n % n_chunks * i / n_chunks;
    while (t > 0 && t < n && slots[t] != QUIRE_SLOT_PAD && slots[t - 1] / 16 == slots[t] / 16)
        t++;
    return t;
}

static void count_clipped(struct quire_kv_cache *kv, size_t n)
{
    if (n)
        __atomic_fetch_add(&kv->clipped, n, __ATOMIC_RELAXED);
}

/* False without tokens, or with strides that quire_kv_write_check would have rejected. args has the
 * size of this library's struct. */
static bool init_run(struct write_run *run, struct quire_kv_cache *kv,
                     const struct quire_kv_write_args *args)
{
    *run = (struct write_run){ .kv = kv, .args = args };
    return args->n_tokens && resolve_strides(kv, args, &run->k, &run->v, NULL) == QUIRE_OK;
}

static void write_all(struct quire_kv_cache *kv, const struct quire_kv_write_args *args,
                      enum side side, uint32_t head)
{
    struct write_run run;
    if (init_run(&run, kv, args))
        count_clipped(kv, write_side(&run, side, head, 0, args->n_tokens));
}

void qr_kv_write_head_k(struct quire_kv_cache *kv, const struct quire_kv_write_args *args,
                        uint32_t head)
{
    write_all(kv, args, KEYS, head);
}

void qr_kv_write_head_v(struct quire_kv_cache *kv, const struct quire_kv_write_args *args,
                        uint32_t head)
{
    write_all(kv, args, VALUES, head);
}

void quire_kv_write_part(struct quire_kv_cache *kv, const struct quire_kv_write_args *caller_args,
                         const struct quire_team *team)
{
    QR_FP_SCOPE;
    struct quire_kv_write_args copy;
    const struct quire_kv_write_args *args = &copy;
    struct write_run run;
    qr_struct_copy(&copy, sizeof copy, caller_args);
    if (!init_run(&run, kv, args))
        return;
    /* Heads share no cache line. Tokens are split only as far as needed to occupy all threads. */
    const size_t n_heads = kv->groups[args->group].n_kv_heads,
                 max_chunks = (args->n_tokens + 15) / 16;
    size_t n_chunks = team->size / gcd(team->size, n_heads);
    if (n_chunks > max_chunks)
        n_chunks = max_chunks;
    const size_t n_items = n_heads * n_chunks;
    const size_t begin = n_items * team->rank / team->size,
                 end = n_items * (team->rank + 1) / team->size;
    size_t clipped = 0;
    for (size_t i = begin; i < end; i++) {
        const size_t chunk = i % n_chunks;
        clipped += write_head(&run, (uint32_t)(i / n_chunks),
                              chunk_begin(args->slot_mapping, args->n_tokens, chunk, n_chunks),
                              chunk_begin(args->slot_mapping, args->n_tokens, chunk + 1, n_chunks));
    }
    count_clipped(kv, clipped);
}

quire_status quire_kv_write_check(struct quire_kv_cache *kv, const struct quire_kv_write_args *args,
                                  struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_kv_write_args a;
    QR_READ_STRUCT(&a, args, n_tokens, "args", err);
    QR_TRY(check_args(kv, &a, err));
    return quire_kv_check_slots(kv, a.group, a.slot_mapping, a.n_tokens, err);
}

static void run_part(void *arg, const struct quire_team *team)
{
    const struct write_run *r = arg;
    quire_kv_write_part(r->kv, r->args, team);
}

quire_status quire_kv_write(struct quire_kv_cache *kv, const struct quire_kv_write_args *args,
                            struct quire_threads *threads, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_kv_write_args a;
    QR_READ_STRUCT(&a, args, n_tokens, "args", err);
    QR_TRY(check_args(kv, &a, err));
    QR_TRY(qr_kv_begin_update(kv, err));
    quire_status s = qr_kv_group_check_slots(&kv->groups[a.group], a.slot_mapping, a.n_tokens, err);
    struct write_run run = { .kv = kv, .args = &a };
    if (s == QUIRE_OK)
        s = qr_part_run(threads, run_part, &run, err);
    qr_kv_end_update(kv);
    return s;
}

QR_DEFINE_ZERO_INIT(quire_kv_write_args)
