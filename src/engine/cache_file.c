/* SPDX-License-Identifier: Apache-2.0 */
/* cache_file.c - reads and validates a saved prefix cache. */
#include "engine/cache_file.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/checksum.h"
#include "base/error.h"
#include "engine/cache_identity.h"
#include "kv/section.h"
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

static const char magic[8] = { 'Q', 'R', 'P', 'R', 'E', 'F', 'I', 'X' };

_Static_assert(sizeof(struct qr_cache_file_header) == 72 && sizeof(struct qr_cache_file_node) == 24,
               "structures of the file format must have no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");

bool qr_cache_file_lay_out(uint64_t n_nodes, uint64_t n_columns, uint64_t n_tokens,
                           uint64_t n_sections, struct qr_cache_file_table *out)
{
    uint64_t nodes, flags, tokens, sums;
    return qr_mul_u64(n_nodes, sizeof(struct qr_cache_file_node), &nodes) &&
           qr_mul_u64(n_nodes, n_columns, &flags) &&
           qr_mul_u64(n_tokens, sizeof(int32_t), &tokens) &&
           qr_mul_u64(n_sections, sizeof(uint64_t), &sums) && nodes <= PTRDIFF_MAX &&
           flags <= PTRDIFF_MAX && tokens <= PTRDIFF_MAX && sums <= PTRDIFF_MAX &&
           qr_add_size(nodes, 0, &out->present) && qr_add_size(out->present, flags, &out->tokens) &&
           qr_align_size(out->tokens, 8, &out->tokens) &&
           qr_add_size(out->tokens, tokens, &out->checksums) &&
           qr_align_size(out->checksums, 8, &out->checksums) &&
           qr_add_size(out->checksums, sums, &out->end);
}

void qr_cache_file_seal(struct qr_cache_file_header *h)
{
    memcpy(h->magic, magic, sizeof magic);
    h->version = QR_CACHE_FILE_VERSION;
    h->checksum = qr_checksum(h, offsetof(struct qr_cache_file_header, checksum));
}

static quire_status corrupt(struct quire_error *err, uint64_t offset, const char *what)
{
    return qr_fail_at(err, QUIRE_E_CORRUPT, offset, "the cache file is damaged: %s", what);
}

/* ---- Header and identity */

static quire_status check_magic(const struct qr_file *f, struct quire_error *err)
{
    char got[sizeof magic] = { 0 };
    const size_t n = f->size < sizeof got ? (size_t)f->size : sizeof got;
    /* GCOVR_EXCL_BR_LINE: an I/O error. */
    QR_TRY(qr_file_read(f, 0, got, n, err));
    if (n < sizeof magic || memcmp(got, magic, sizeof magic) != 0)
        return qr_fail(err, QUIRE_E_FORMAT, "params.path is not a cache file");
    return QUIRE_OK;
}

static quire_status read_header(const struct qr_file *f, struct qr_cache_file_header *h,
                                struct quire_error *err)
{
    QR_TRY(check_magic(f, err));
    if (f->size < sizeof *h)
        return corrupt(err, f->size, "the header is incomplete");
    /* GCOVR_EXCL_BR_LINE: an I/O error. */
    QR_TRY(qr_file_read(f, 0, h, sizeof *h, err));
    if (h->version != QR_CACHE_FILE_VERSION)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "the cache file has version %u, this library reads %d", h->version,
                       QR_CACHE_FILE_VERSION);
    if (h->checksum != qr_checksum(h, offsetof(struct qr_cache_file_header, checksum)))
        return corrupt(err, 0, "the checksum of the header differs");
    if (h->file_bytes != f->size)
        return qr_fail_at(err, QUIRE_E_CORRUPT, f->size,
                          "the cache file is damaged: it has %llu bytes instead of %llu",
                          (unsigned long long)f->size, (unsigned long long)h->file_bytes);
    return QUIRE_OK;
}

/* The identity is compared before the table is read: its meaning depends on the KV groups. */
static quire_status check_identity(const struct qr_cache_file *f,
                                   const struct qr_cache_file_header *h,
                                   const struct quire_engine *e, struct quire_error *err)
{
    if (h->identity_bytes > QR_CACHE_IDENTITY_MAX || h->identity_bytes > f->file.size - sizeof *h)
        return corrupt(err, sizeof *h, "the description of the engine is too long");
    char *mine = NULL, *got = qr_alloc(f->allocator, h->identity_bytes, 1);
    quire_status s = got ? qr_cache_identity(e, &mine, err)
                         : qr_fail(err, QUIRE_E_NOMEM, "no memory for %u bytes", h->identity_bytes);
    if (s == QUIRE_OK)
        /* GCOVR_EXCL_BR_LINE: an I/O error. */
        s = qr_file_read(&f->file, sizeof *h, got, h->identity_bytes, err);
    if (s == QUIRE_OK && qr_checksum(got, h->identity_bytes) != h->identity_checksum)
        s = corrupt(err, sizeof *h, "the checksum of the description of the engine differs");
    if (s == QUIRE_OK)
        s = qr_cache_identity_check(mine, got, h->identity_bytes, err);
    qr_strfree(f->allocator, mine);
    qr_free(f->allocator, got, h->identity_bytes, 1);
    return s;
}

/* ---- Table */

static quire_status check_node(const struct qr_cache_file *f, uint32_t i,
                               const struct quire_engine *e, struct quire_error *err)
{
    const struct qr_cache_file_node *n = &f->nodes[i];
    if (n->n_tokens < 1 || n->n_tokens > QR_CACHE_FILE_MAX_RUN)
        return corrupt(err, 0, "a node has a wrong size");
    if (n->parent != QR_CACHE_FILE_ROOT && (n->parent >= i || f->nodes[n->parent].salt != n->salt ||
                                            f->nodes[n->parent].variant != n->variant))
        return corrupt(err, 0, "a node has a wrong parent");
    const uint32_t n_columns = qr_cache_file_columns(f);
    for (uint32_t g = 0; g < n_columns; g++) {
        const uint8_t present = f->present[(size_t)i * n_columns + g];
        if (present > 1)
            return corrupt(err, 0, "a flag of a node is not 0 or 1");
        if (!present && g < f->n_groups && !e->memory.windows[g])
            return corrupt(err, 0, "a node lacks a KV group");
    }
    return QUIRE_OK;
}

/* Adds the sections of a node to the end of the file. False on overflow. */
static bool place_sections(const struct qr_cache_file *f, uint32_t i, const struct quire_engine *e,
                           uint64_t *offset, uint64_t *n_sections)
{
    for (uint32_t g = 0; g < f->n_groups; g++) {
        size_t bytes;
        if (!qr_cache_file_has(f, i, g))
            continue;
        /* GCOVR_EXCL_BR_LINE: with at most 65536 tokens per node and a table that fits into the
         * file, the sum stays far below 2^64. */
        if (!qr_kv_section_bytes(e->kv, g, f->nodes[i].n_tokens, &bytes) ||
            !qr_mul_size(bytes, e->kv->groups[g].n_layers, &bytes) ||
            !qr_add_u64(*offset, bytes, offset))
            return false;
        *n_sections += e->kv->groups[g].n_layers;
    }
    if (!qr_cache_file_has(f, i, f->n_groups))
        return true;
    ++*n_sections;
    return qr_add_u64(*offset, f->state_bytes, offset);
}

static quire_status place_nodes(struct qr_cache_file *f, const struct quire_engine *e,
                                const struct qr_cache_file_header *h, struct quire_error *err)
{
    uint64_t offset = sizeof *h + h->identity_bytes + h->table_bytes, n_sections = 0, n_tokens = 0;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const struct qr_cache_file_node *n = &f->nodes[i];
        QR_TRY(check_node(f, i, e, err));
        const bool root = n->parent == QR_CACHE_FILE_ROOT;
        const uint32_t begin = root ? 0 : f->places[n->parent].end;
        if (!root)
            f->places[n->parent].has_children = true;
        if (begin > (uint32_t)INT32_MAX - n->n_tokens)
            return corrupt(err, 0, "a sequence is too long");
        f->places[i] = (struct qr_cache_file_place){ .offset = offset,
                                                     .first_section = (size_t)n_sections,
                                                     .first_token = (size_t)n_tokens,
                                                     .end = begin + n->n_tokens };
        n_tokens += n->n_tokens;
        /* GCOVR_EXCL_BR_LINE: as said there. */
        if (!place_sections(f, i, e, &offset, &n_sections))
            return corrupt(err, 0, "the sections are too large");
    }
    struct qr_cache_file_table t;
    if (n_tokens != h->n_tokens ||
        !qr_cache_file_lay_out(f->n_nodes, qr_cache_file_columns(f), n_tokens, n_sections, &t) ||
        t.end != f->table_bytes || offset != h->file_bytes)
        return corrupt(err, 0, "its parts do not add up to its size");
    for (size_t i = 0; i < n_tokens; i++)
        if (f->tokens[i] < 0 || (uint32_t)f->tokens[i] >= e->vocab_size)
            return corrupt(err, 0, "a token is outside the vocabulary");
    f->checksums = (const uint64_t *)(const void *)(f->table + t.checksums);
    return QUIRE_OK;
}

/* Sizes are compared with the bytes present before memory is requested. */
static quire_status read_table(struct qr_cache_file *f, const struct quire_engine *e,
                               const struct qr_cache_file_header *h, struct quire_error *err)
{
    const uint64_t begin = sizeof *h + h->identity_bytes;
    struct qr_cache_file_table t;
    /* check_identity has read up to `begin` */
    if (h->table_bytes > f->file.size - begin || h->n_nodes >= INT32_MAX ||
        !qr_cache_file_lay_out(h->n_nodes, qr_cache_file_columns(f), h->n_tokens, 0, &t) ||
        t.end > h->table_bytes)
        return corrupt(err, 0, "the table is too large");
    f->n_nodes = (uint32_t)h->n_nodes;
    f->table_bytes = (size_t)h->table_bytes;
    f->table = qr_alloc(f->allocator, f->table_bytes, 1);
    f->places = qr_calloc(f->allocator, f->n_nodes, sizeof *f->places);
    if (!f->table || !f->places)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a table of %zu bytes", f->table_bytes);
    /* GCOVR_EXCL_BR_LINE: an I/O error. */
    QR_TRY(qr_file_read(&f->file, begin, f->table, f->table_bytes, err));
    if (qr_checksum(f->table, f->table_bytes) != h->table_checksum)
        return corrupt(err, begin, "the checksum of the table differs");
    f->nodes = (const struct qr_cache_file_node *)(const void *)f->table;
    f->present = f->table + t.present;
    f->tokens = (const int32_t *)(const void *)(f->table + t.tokens);
    return place_nodes(f, e, h, err);
}

quire_status qr_cache_file_open(struct qr_cache_file *f, const struct quire_engine *e,
                                const char *path, uint64_t max_bytes, struct quire_error *err)
{
    struct qr_cache_file_header h;
    *f = (struct qr_cache_file){ .allocator = e->allocator,
                                 .n_groups = e->memory.n_groups,
                                 .state_bytes = e->memory.states.state_bytes };
    QR_TRY(qr_file_open(&f->file, path, err));
    QR_TRY(read_header(&f->file, &h, err));
    if (max_bytes && h.file_bytes > max_bytes)
        return qr_fail(err, QUIRE_E_LIMIT,
                       "the cache file has %llu bytes, params.max_bytes is %llu",
                       (unsigned long long)h.file_bytes, (unsigned long long)max_bytes);
    QR_TRY(check_identity(f, &h, e, err));
    return read_table(f, e, &h, err);
}

void qr_cache_file_close(struct qr_cache_file *f)
{
    qr_file_close(&f->file);
    qr_free(f->allocator, f->table, f->table_bytes, 1);
    qr_free(f->allocator, f->places, f->n_nodes, sizeof *f->places);
    *f = (struct qr_cache_file){ 0 };
}

quire_status qr_cache_file_check_replaceable(const char *path, struct quire_error *err)
{
    struct stat st;
    struct qr_file f;
    if (lstat(path, &st) != 0)
        return QUIRE_OK; /* creating the file says what is wrong, if anything is */
    QR_TRY(qr_file_open(&f, path, err));
    const quire_status s = f.size ? check_magic(&f, err) : QUIRE_OK;
    qr_file_close(&f);
    if (s == QUIRE_E_FORMAT)
        return qr_fail(err, s, "%s is not a cache file and is not overwritten", qr_path_tail(path));
    return s;
}
