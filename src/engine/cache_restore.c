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

/* Bytes that are read at a time, unless one section is larger: they stay in the L2 cache, 256 KiB
 * or more, while they are verified and copied to the pool. Smaller ones cost more system calls. */
enum { READ_BYTES = 128 << 10 };

/* Reading with pread() instead of mapping: a mapped file that another program truncates ends the
 * process with SIGBUS, and rows could change after their checksum was verified. Every member of the
 * team reads a run of sections at a time into a buffer of its own. */
struct transfer {
    const struct qr_cache_plan *plan;
    struct quire_kv_cache *kv;
    uint32_t *used; /* file nodes that the plan needs */
    uint32_t n_used;
    uint32_t run_layers; /* sections of a run: layers of one node and group */
    uint32_t n_runs;     /* per file node, of all groups */
    uint8_t *buffers;    /* [n_buffers][buffer_bytes] */
    size_t n_buffers, buffer_bytes;
    uint64_t next;            /* atomic: run to read next */
    bool failed;              /* atomic */
    struct quire_error error; /* of the run that failed first */
    uint64_t bytes;           /* atomic: read */
};

/* Sections of a file node that are contiguous in the file: layers of one KV group. The last run of
 * a node is that of its state: its group is the number of groups. */
struct run {
    uint32_t group, layer, n_layers;
    uint64_t offset;
    size_t section_bytes, checksum; /* index of the first checksum */
};

static uint32_t runs_of_group(const struct transfer *t, uint32_t group)
{
    return (t->kv->groups[group].n_layers + t->run_layers - 1) / t->run_layers;
}

/* Locates run `index` of a file node, counting those of all groups; false if the file does not have
 * it. */
static bool locate(const struct transfer *t, uint32_t node, uint32_t index, struct run *out)
{
    const struct qr_cache_file *f = t->plan->file;
    *out =
        (struct run){ .offset = f->places[node].offset, .checksum = f->places[node].first_section };
    uint32_t g = 0;
    for (; g < f->n_groups; g++) {
        const uint32_t n_layers = t->kv->groups[g].n_layers, n_runs = runs_of_group(t, g);
        /* qr_cache_file_open found no overflow */
        (void)qr_kv_section_bytes(t->kv, g, f->nodes[node].n_tokens, &out->section_bytes);
        if (index < n_runs)
            break;
        index -= n_runs;
        if (qr_cache_file_has(f, node, g)) {
            out->offset += (uint64_t)n_layers * out->section_bytes;
            out->checksum += n_layers;
        }
    }
    out->group = g;
    if (g == f->n_groups) {
        out->section_bytes = (size_t)f->state_bytes; /* the pool has such states in memory */
        return qr_cache_file_has(f, node, g);
    }
    out->layer = index * t->run_layers;
    out->offset += (uint64_t)out->layer * out->section_bytes;
    out->checksum += out->layer;
    const uint32_t left = t->kv->groups[g].n_layers - out->layer;
    out->n_layers = left < t->run_layers ? left : t->run_layers;
    return qr_cache_file_has(f, node, g);
}

static bool is_needed(const struct transfer *t, uint32_t node, uint32_t group)
{
    const struct qr_cache_plan *p = t->plan;
    if (group == p->file->n_groups)
        return p->state_nodes[node] != QR_PREFIX_NONE;
    for (uint32_t i = p->first_piece[node]; i != QR_CACHE_NO_PIECE; i = p->pieces[i].next)
        if (qr_prefix_blocks(p->planned, p->pieces[i].node)[group] >= 0)
            return true;
    return false;
}

/* Copies the rows of a section into all blocks that the plan fills from them. */
static void scatter(struct transfer *t, uint32_t node, uint32_t group, uint32_t layer,
                    const uint8_t *section)
{
    const struct qr_cache_plan *p = t->plan;
    for (uint32_t i = p->first_piece[node]; i != QR_CACHE_NO_PIECE; i = p->pieces[i].next) {
        const struct qr_cache_piece *piece = &p->pieces[i];
        const struct qr_kv_section_rows rows = {
            .group = group,
            .layer = layer,
            .n_rows = p->file->nodes[node].n_tokens,
            .first = piece->first,
            .n = piece->n,
            .block = qr_prefix_blocks(p->planned, piece->node)[group],
            .token = piece->token,
        };
        if (rows.block >= 0)
            qr_kv_put_section(t->kv, &rows, section);
    }
}

/* Reads a run, verifies each section and copies it while it is in the nearest cache. */
static quire_status transfer_run(struct transfer *t, uint32_t node, const struct run *r,
                                 uint8_t *buffer, struct quire_error *err)
{
    const struct qr_cache_file *f = t->plan->file;
    const size_t bytes = r->n_layers * r->section_bytes;
    /* GCOVR_EXCL_BR_LINE: an I/O error. */
    QR_TRY(qr_file_read(&f->file, r->offset, buffer, bytes, err));
    for (uint32_t i = 0; i < r->n_layers; i++) {
        const uint8_t *section = buffer + i * r->section_bytes;
        if (qr_checksum(section, r->section_bytes) != f->checksums[r->checksum + i])
            return qr_fail_at(
                err, QUIRE_E_CORRUPT, r->offset + i * r->section_bytes,
                "the cache file is damaged: the checksum of layer %u of KV group %u differs",
                r->layer + i, r->group);
        scatter(t, node, r->group, r->layer + i, section);
    }
    __atomic_fetch_add(&t->bytes, bytes, __ATOMIC_RELAXED);
    return QUIRE_OK;
}

/* Reads a state into the slot of the plan. */
static quire_status transfer_state(struct transfer *t, uint32_t node, const struct run *r,
                                   struct quire_error *err)
{
    const struct qr_cache_plan *p = t->plan;
    void *state = qr_state_data(&p->engine->memory.states, p->slots[p->state_nodes[node]]);
    QR_TRY(qr_file_read(&p->file->file, r->offset, state, r->section_bytes, err));
    if (qr_checksum(state, r->section_bytes) != p->file->checksums[r->checksum])
        return qr_fail_at(err, QUIRE_E_CORRUPT, r->offset,
                          "the cache file is damaged: the checksum of a state differs");
    __atomic_fetch_add(&t->bytes, r->section_bytes, __ATOMIC_RELAXED);
    return QUIRE_OK;
}

static void transfer_part(void *arg, const struct quire_team *team)
{
    struct transfer *t = arg;
    uint8_t *buffer = t->buffers + team->rank * t->buffer_bytes;
    const uint64_t n_runs = (uint64_t)t->n_used * t->n_runs;
    uint64_t i;
    while (!__atomic_load_n(&t->failed, __ATOMIC_RELAXED) &&
           (i = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED)) < n_runs) {
        const uint32_t node = t->used[i / t->n_runs];
        struct quire_error err = QUIRE_ERROR_INIT;
        struct run r;
        if (!locate(t, node, (uint32_t)(i % t->n_runs), &r) || !is_needed(t, node, r.group))
            continue;
        const quire_status s = r.group == t->plan->file->n_groups
                                   ? transfer_state(t, node, &r, &err)
                                   : transfer_run(t, node, &r, buffer, &err);
        /* GCOVR_EXCL_BR_LINE: two runs fail at the same time only by chance. */
        if (s != QUIRE_OK && !__atomic_exchange_n(&t->failed, true, __ATOMIC_RELAXED))
            t->error = err;
    }
}

/* Lists the file nodes that are read, and cuts their sections into runs. */
static void list_used(struct transfer *t)
{
    const struct qr_cache_plan *p = t->plan;
    size_t largest = 1;
    uint32_t most_layers = 1;
    for (uint32_t i = 0; i < p->file->n_nodes; i++) {
        if (p->first_piece[i] == QR_CACHE_NO_PIECE &&
            (!p->state_nodes || p->state_nodes[i] == QR_PREFIX_NONE))
            continue;
        t->used[t->n_used++] = i;
        for (uint32_t g = 0; g < p->file->n_groups; g++) {
            size_t bytes = 0;
            (void)qr_kv_section_bytes(t->kv, g, p->file->nodes[i].n_tokens, &bytes);
            largest = bytes > largest ? bytes : largest;
        }
    }
    for (uint32_t g = 0; g < p->file->n_groups; g++)
        if (t->kv->groups[g].n_layers > most_layers)
            most_layers = t->kv->groups[g].n_layers;
    const size_t fit = largest < READ_BYTES ? READ_BYTES / largest : 1;
    t->run_layers = fit < most_layers ? (uint32_t)fit : most_layers;
    QR_INVARIANT(t->run_layers > 0);
    t->buffer_bytes = t->run_layers * largest;
    for (uint32_t g = 0; g < p->file->n_groups; g++)
        t->n_runs += runs_of_group(t, g);
    t->n_runs += p->file->state_bytes != 0;
}

static quire_status run_transfer(struct transfer *t, struct quire_engine *e,
                                 struct quire_error *err)
{
    t->buffers = qr_alloc(e->allocator, t->n_buffers, t->buffer_bytes);
    if (!t->buffers)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu buffers of %zu bytes", t->n_buffers,
                       t->buffer_bytes);
    /* GCOVR_EXCL_BR_LINE: threads that the host lends may be in use. */
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
