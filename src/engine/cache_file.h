/* SPDX-License-Identifier: Apache-2.0 */
/* cache_file.h - the file format of a saved prefix cache, and reading it. docs/cache-file.md
 * describes the format for users. */
#ifndef QR_ENGINE_CACHE_FILE_H
#define QR_ENGINE_CACHE_FILE_H
#include "engine/types.h"
#include "format/file.h"

/* A file: header, identity (qr_cache_identity), table, sections (kv/section.h). Numbers are little
 * endian. No offset is stored: places follow from the counts.
 *
 * A node continues its parent by n_tokens tokens; parents precede their children, and nodes used
 * recently the others. The table consists of
 *   nodes      struct qr_cache_file_node [n_nodes]
 *   present    uint8_t [n_nodes][n_columns], 1 if the file has the node's rows of the group; in
 *              models with recurrent layers the last column is 1 if it has the state after the
 *              node's tokens; zeros up to a multiple of 8 bytes
 *   tokens     int32_t [n_tokens], of all nodes in turn; zeros up to a multiple of 8 bytes
 *   checksums  uint64_t, one qr_checksum per section
 * Sections: for each node, for each of its present groups, for each layer of the group; then the
 * node's state, if it is present: state_bytes bytes of the state pool. */
enum { QR_CACHE_FILE_VERSION = 1, QR_CACHE_FILE_MAX_RUN = 65536 /* tokens of a node */ };
#define QR_CACHE_FILE_ROOT UINT32_MAX

struct qr_cache_file_header {
    char magic[8]; /* "QRPREFIX" */
    uint32_t version;
    uint32_t identity_bytes;
    uint64_t n_nodes, n_tokens;
    uint64_t table_bytes, file_bytes;
    uint64_t identity_checksum, table_checksum;
    uint64_t checksum; /* of the bytes before it */
};

struct qr_cache_file_node {
    uint32_t parent;   /* index of an earlier node, or QR_CACHE_FILE_ROOT */
    uint32_t n_tokens; /* 1 .. QR_CACHE_FILE_MAX_RUN */
    uint64_t salt;     /* equal to the parent's, like the variant */
    uint64_t variant;  /* RoPE and adapter, see scheduler.h */
};

/* Byte offsets of the parts of a table. */
struct qr_cache_file_table {
    size_t present, tokens, checksums, end;
};
/* False on overflow. */
bool qr_cache_file_lay_out(uint64_t n_nodes, uint64_t n_columns, uint64_t n_tokens,
                           uint64_t n_sections, struct qr_cache_file_table *out);

/* What follows from the table, per node. */
struct qr_cache_file_place {
    uint64_t offset;      /* of its first section */
    size_t first_section; /* index of its checksum */
    size_t first_token;
    uint32_t end; /* position after its last token */
    bool has_children;
};

/* An open file whose header, identity and table are valid. Sections are not checked yet. */
struct qr_cache_file {
    const struct quire_allocator *allocator;
    struct qr_file file;
    uint32_t n_groups;
    uint64_t state_bytes; /* of a section with a state; 0: the model has no recurrent layers */
    uint32_t n_nodes;
    uint8_t *table;
    size_t table_bytes;
    const struct qr_cache_file_node *nodes; /* the parts of the table */
    const uint8_t *present;
    const int32_t *tokens;
    const uint64_t *checksums;
    struct qr_cache_file_place *places; /* [n_nodes] */
};

/* Columns of `present`. */
static inline uint32_t qr_cache_file_columns(const struct qr_cache_file *f)
{
    return f->n_groups + (f->state_bytes != 0);
}
/* Whether the file has a node's rows of a group; `group` n_groups: its state. */
static inline bool qr_cache_file_has(const struct qr_cache_file *f, uint32_t node, uint32_t group)
{
    return group < qr_cache_file_columns(f) &&
           f->present[(size_t)node * qr_cache_file_columns(f) + group];
}

/* Opens and validates a file that was saved by an engine like e. max_bytes: a larger file is
 * refused; 0 = no limit.
 * QUIRE_E_IO, QUIRE_E_FORMAT not a cache file, QUIRE_E_MISMATCH another version or engine (named),
 * QUIRE_E_CORRUPT damaged or malformed, QUIRE_E_LIMIT, QUIRE_E_NOMEM. */
quire_status qr_cache_file_open(struct qr_cache_file *f, const struct quire_engine *e,
                                const char *path, uint64_t max_bytes, struct quire_error *err);
void qr_cache_file_close(struct qr_cache_file *f); /* safe on zeroes and after a failure */

/* QUIRE_OK if `path` does not exist, is empty or begins like a cache file: it may be replaced. */
quire_status qr_cache_file_check_replaceable(const char *path, struct quire_error *err);

/* Writes the magic number, version and checksum of a header. */
void qr_cache_file_seal(struct qr_cache_file_header *h);

#endif
