/* SPDX-License-Identifier: Apache-2.0 */
/* cache_restore.c - brings a saved prefix cache back into an engine. */
#include "engine/cache_restore.h"
#include "base/alloc.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/threads.h"
#include "engine/cache_plan.h"
#include "engine/drive.h"
#include "engine/finish.h"
#include "kv/section.h"
#include <string.h>

/* Reading with pread() instead of mapping: a mapped file that another program truncates ends the
 * process with SIGBUS, and rows could change after their checksum was verified. Every member of the
 * team reads a section into a buffer of its own, which stays in its cache while it is verified and
 * copied to the pool. */
struct transfer {
    const struct qr_cache_plan *plan;
    struct quire_kv_cache *kv;
    uint32_t *used; /* file nodes that the plan needs */
    uint32_t n_used;
    uint32_t n_layers; /* of all groups: units per file node */
    uint8_t *buffers;  /* [n_buffers][buffer_bytes] */
    size_t n_buffers, buffer_bytes;
    uint32_t next;            /* atomic: node and layer to read next */
    bool failed;              /* atomic */
    struct quire_error error; /* of the unit that failed first */
    uint64_t bytes;           /* atomic: read */
};

/* Section of a file node: its KV group and layer, place and size. */
struct section {
    uint32_t group, layer;
    uint64_t offset;
    size_t bytes, checksum;
};

/* Locates section `unit` of a file node, counting the layers of all groups; false if the file does
 * not have it. */
static bool locate(const struct transfer *t, uint32_t node, uint32_t unit, struct section *out)
{
    const struct qr_cache_file *f = t->plan->file;
    const uint8_t *present = f->present + (size_t)node * f->n_groups;
    *out = (struct section){ .offset = f->places[node].offset,
                             .checksum = f->places[node].first_section };
    for (uint32_t g = 0; g < f->n_groups; g++) {
        const uint32_t n_layers = t->kv->groups[g].n_layers;
        const bool here = unit < n_layers;
        const uint32_t skipped = here ? unit : n_layers;
        out->group = g;
        /* qr_cache_file_open found no overflow */
        (void)qr_kv_section_bytes(t->kv, g, f->nodes[node].n_tokens, &out->bytes);
        if (present[g]) {
            out->offset += (uint64_t)skipped * out->bytes;
            out->checksum += skipped;
        }
        if (here) {
            out->layer = unit;
            return present[g];
        }
        unit -= n_layers;
    }
    return false;
}

static bool is_needed(const struct transfer *t, uint32_t node, uint32_t group)
{
    const struct qr_cache_plan *p = t->plan;
    for (uint32_t i = p->first_piece[node]; i != QR_CACHE_NO_PIECE; i = p->pieces[i].next)
        if (qr_prefix_blocks(p->planned, p->pieces[i].node)[group] >= 0)
            return true;
    return false;
}

static quire_status read_section(struct transfer *t, const struct section *s, uint8_t *buffer,
                                 struct quire_error *err)
{
    const struct qr_cache_file *f = t->plan->file;
    QR_TRY(qr_file_read(&f->file, s->offset, buffer, s->bytes, err));
    if (qr_checksum(buffer, s->bytes) != f->checksums[s->checksum])
        return qr_fail_at(
            err, QUIRE_E_CORRUPT, s->offset,
            "the cache file is damaged: the checksum of layer %u of KV group %u differs", s->layer,
            s->group);
    __atomic_fetch_add(&t->bytes, s->bytes, __ATOMIC_RELAXED);
    return QUIRE_OK;
}

/* Copies the rows of a section into all blocks that the plan fills from them. */
static void scatter(struct transfer *t, uint32_t node, const struct section *s,
                    const uint8_t *buffer)
{
    const struct qr_cache_plan *p = t->plan;
    for (uint32_t i = p->first_piece[node]; i != QR_CACHE_NO_PIECE; i = p->pieces[i].next) {
        const struct qr_cache_piece *piece = &p->pieces[i];
        const struct qr_kv_section_rows rows = {
            .group = s->group,
            .layer = s->layer,
            .n_rows = p->file->nodes[node].n_tokens,
            .first = piece->first,
            .n = piece->n,
            .block = qr_prefix_blocks(p->planned, piece->node)[s->group],
            .token = piece->token,
        };
        if (rows.block >= 0)
            qr_kv_put_section(t->kv, &rows, buffer);
    }
}

static void transfer_part(void *arg, const struct quire_team *team)
{
    struct transfer *t = arg;
    uint8_t *buffer = t->buffers + team->rank * t->buffer_bytes;
    const uint64_t n_units = (uint64_t)t->n_used * t->n_layers;
    uint64_t unit;
    while (!__atomic_load_n(&t->failed, __ATOMIC_RELAXED) &&
           (unit = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED)) < n_units) {
        const uint32_t node = t->used[unit / t->n_layers];
        struct quire_error err = QUIRE_ERROR_INIT;
        struct section s;
        if (!locate(t, node, (uint32_t)(unit % t->n_layers), &s) || !is_needed(t, node, s.group))
            continue;
        if (read_section(t, &s, buffer, &err) == QUIRE_OK)
            scatter(t, node, &s, buffer);
        else if (!__atomic_exchange_n(&t->failed, true, __ATOMIC_RELAXED))
            t->error = err;
    }
}

/* Lists the file nodes that are read, and determines the largest section. */
static void list_used(struct transfer *t)
{
    const struct qr_cache_plan *p = t->plan;
    for (uint32_t g = 0; g < p->file->n_groups; g++)
        t->n_layers += t->kv->groups[g].n_layers;
    for (uint32_t i = 0; i < p->file->n_nodes; i++) {
        if (p->first_piece[i] == QR_CACHE_NO_PIECE)
            continue;
        t->used[t->n_used++] = i;
        for (uint32_t g = 0; g < p->file->n_groups; g++) {
            size_t bytes = 0;
            (void)qr_kv_section_bytes(t->kv, g, p->file->nodes[i].n_tokens, &bytes);
            if (bytes > t->buffer_bytes)
                t->buffer_bytes = bytes;
        }
    }
}

static quire_status run_transfer(struct transfer *t, struct quire_engine *e,
                                 struct quire_error *err)
{
    t->buffers = qr_alloc(e->allocator, t->n_buffers, t->buffer_bytes);
    if (!t->buffers)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu sections of %zu bytes", t->n_buffers,
                       t->buffer_bytes);
    /* threads that the host lends may be in use */
    if (qr_part_run(e->threads, transfer_part, t, NULL) != QUIRE_OK)
        qr_part_call(transfer_part, t, &(struct quire_team){ .rank = 0, .size = 1 });
    qr_free(e->allocator, t->buffers, t->n_buffers, t->buffer_bytes);
    return t->failed ? qr_fail_at(err, t->error.code, t->error.offset, "%s", t->error.msg)
                     : QUIRE_OK;
}

static quire_status transfer(struct quire_engine *e, const struct qr_cache_plan *p, uint64_t *bytes,
                             struct quire_error *err)
{
    struct transfer t = { .plan = p, .kv = e->kv, .n_buffers = quire_threads_count(e->threads) };
    t.used = qr_alloc(e->allocator, p->file->n_nodes, sizeof *t.used);
    if (!t.used)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a list of %u nodes", p->file->n_nodes);
    list_used(&t);
    const quire_status s = run_transfer(&t, e, err);
    qr_free(e->allocator, t.used, p->file->n_nodes, sizeof *t.used);
    *bytes = t.bytes;
    return s;
}

/* Fills free blocks and then publishes them: a failure leaves the cache as it was. */
static quire_status restore(struct quire_engine *e, struct qr_cache_plan *p,
                            struct quire_cache_file_result *result, struct quire_error *err)
{
    const size_t n = p->planned->n_slots;
    qr_prefix_node *scratch = qr_alloc(e->allocator, n, 2 * sizeof *scratch);
    if (!scratch)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu nodes", n);
    const quire_status s = transfer(e, p, &result->bytes, err);
    if (s == QUIRE_OK) {
        qr_cache_plan_publish(p, scratch);
        result->n_tokens = p->n_tokens;
        result->n_blocks = p->n_blocks;
    }
    qr_free(e->allocator, scratch, n, 2 * sizeof *scratch);
    return s;
}

quire_status qr_cache_restore(struct quire_engine *e, const struct quire_cache_file_params *params,
                              struct quire_cache_file_result *result, struct quire_error *err)
{
    struct qr_cache_file file;
    struct qr_cache_plan plan;
    quire_status s = qr_cache_file_open(&file, e, params->path, params->max_bytes, err);
    if (s == QUIRE_OK) {
        qr_engine_exclude_steps(e);
        s = qr_cache_plan_init(&plan, e, &file, params->cache_salt, err);
        if (s == QUIRE_OK)
            s = restore(e, &plan, result, err);
        qr_cache_plan_free(&plan);
        qr_publish(e); /* the number of cached blocks */
        qr_engine_resume_steps(e);
    }
    qr_cache_file_close(&file);
    return s;
}
