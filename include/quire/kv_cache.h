/* SPDX-License-Identifier: Apache-2.0 */
/** The paged key/value cache: a pool of blocks, who owns them, and moving rows in and out.
 *
 *  A pool is a list of KV groups. A group is a set of layers that share one list of block ids:
 *  same shapes, same dtypes, same window. A block holds block_size tokens of every layer and KV
 *  head of its group. A sequence is the caller's: an ordered list of block ids per group (its
 *  block table). Token i of a sequence lies in slot
 *
 *      slot = block_table[i / block_size] * block_size + i % block_size
 *
 *  Layers of a model find theirs by a table of the host's: model layer -> (group, layer within it).
 *  A layer that reads the keys and values of another one (KV sharing) has none of its own in the
 *  pool: its entry is that of the other layer, nothing is written for it, and its attention, with
 *  queries and configuration of its own, runs after that layer's quire_kv_write of the same step.
 *
 *  Threads: calls on different caches never interfere. On one cache, calls that take a non-const
 *  cache must not overlap with any other call (two of them that do: the second one gets
 *  QUIRE_E_BUSY, where that can be seen); calls that take a const cache may overlap with each
 *  other. The *_part functions are called by all members of a team at once and are the exception.
 *  No call but create allocates memory.
 *
 *  Every call checks all its arguments before it changes anything: on failure cache and outputs
 *  are as they were.
 *  Codes that any of them may return, besides those listed: QUIRE_E_INVALID_ARG for a NULL pointer
 *  or a group or layer that does not exist, QUIRE_E_MISUSE for a wrong struct_size. */
#ifndef QUIRE_KV_CACHE_H
#define QUIRE_KV_CACHE_H
#include <quire/status.h>
#include <quire/threads.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Storage type of cached keys or values. Append only. */
enum quire_kv_dtype {
    QUIRE_KV_F32,
    QUIRE_KV_BF16,
    QUIRE_KV_F16,
    QUIRE_KV_FP8_E4M3, /**< e4m3fn: largest 448, no infinity */
    QUIRE_KV_FP8_E5M2, /**< largest 57344 */
    /** -127 .. 127 times an f32 scale of each token and head. With amax the largest magnitude of the
     *  row: scale = amax / 127, code = x * (127 / amax) rounded; amax below 2^-100: all 0. A row
     *  that holds NaN or infinity gets the scale NaN and reads back as NaN throughout. */
    QUIRE_KV_INT8,
};

/** "f32", "bf16", "f16", "fp8_e4m3", "fp8_e5m2", "int8"; NULL for a number that is no dtype. Static
 *  storage. */
QUIRE_API const char *quire_kv_dtype_name(enum quire_kv_dtype dtype);

/** Reads one of these names, or "fp8", which means fp8_e4m3, or "q8_0" or "q8", the 8-bit type of
 *  other programs, which means int8 (q8_0 itself has an f16 scale per 32 values). QUIRE_E_INVALID_ARG
 *  for any other text; the message lists the names. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_dtype_parse(const char *name,
                                                             enum quire_kv_dtype *out,
                                                             struct quire_error *err);

/** Slot of a token that is not to be written. */
#define QUIRE_SLOT_PAD ((int64_t)-1)

/* ---- The pool */

/** Flags of quire_kv_group_config. */
enum {
    /** Multi-head latent attention (quire/mla.h): a value is the first v_head_size elements of its
     *  key and is not stored. v_head_size is at most head_size, v_dtype equals k_dtype, and values
     *  are scaled as keys are: n_v_scales is 0. Usually n_kv_heads is 1. */
    QUIRE_KV_LATENT = 1u << 0,
};

/** One KV group. Everything is copied by quire_kv_create. */
struct quire_kv_group_config {
    uint32_t n_layers;    /**< with keys of their own, 1 .. 65535 */
    uint32_t n_kv_heads;  /**< 1 .. 65535 */
    uint32_t head_size;   /**< elements of a key, 1 .. 1024; no multiple of 8: plain rows, slower */
    uint32_t v_head_size; /**< elements of a value, 0 = head_size */
    enum quire_kv_dtype k_dtype, v_dtype;
    /** keys a query sees, itself included; 0 = all. Only remembered: the owner of a sequence frees
     *  by quire_kv_first_block */
    uint32_t sliding_window;
    uint32_t n_blocks; /**< 1 .. 2^31 - 1 */
    /** fp8 stores x / scale and reads back code * scale; all scales finite and > 0. Counts: 0
     *  (pointer unused) = 1 everywhere; 1 = one for the group; n_layers = [layer]; n_layers *
     *  n_kv_heads = [layer][kv_head]. The other dtypes store the values themselves: their scales
     *  are checked and otherwise ignored. */
    const float *k_scale, *v_scale;
    uint32_t n_k_scales, n_v_scales;
    uint32_t flags;       /**< QUIRE_KV_LATENT */
    uint32_t reserved[5]; /**< 0 */
};

/** Flags of quire_kv_params. */
enum {
    QUIRE_KV_TOUCH = 1u << 0, /**< write zeros to the whole pool at create: its pages exist then */
    QUIRE_KV_LOCK = 1u << 1,  /**< make the pages exist and keep them in memory (mlock) */
};

struct quire_kv_params {
    uint32_t struct_size; /**< sizeof(struct quire_kv_params) */
    uint32_t block_size;  /**< tokens, a multiple of 16 up to 65536; 0 = 64, the tuned size */
    const struct quire_kv_group_config *groups; /**< [n_groups], read during the call only */
    uint32_t n_groups;                          /**< 1 .. 256 */
    uint32_t flags;                             /**< QUIRE_KV_TOUCH, QUIRE_KV_LOCK */
    /** Borrowed, outlives the cache; NULL = C library. Asked twice: for the tables, and for the
     *  pool, aligned to 2 MiB when it is that large and else to 64 bytes. */
    const struct quire_allocator *allocator;
    const struct quire_logger *logger; /**< borrowed, outlives the cache; NULL = silent */
    const char *isa; /**< exact level name such as "avx2", NULL = best; the bits are the same */
};
QUIRE_API void quire_kv_params_init(struct quire_kv_params *params, size_t struct_size);

/** Memory of a cache in bytes. */
struct quire_kv_memory {
    uint32_t struct_size; /**< set by the caller */
    uint64_t pool;        /**< keys and values */
    uint64_t tables;      /**< everything else: owners, free lists, slot marks, scales */
    uint64_t total;       /**< pool + tables: exactly what quire_kv_create asks the allocator for */
};
QUIRE_API void quire_kv_memory_init(struct quire_kv_memory *memory, size_t struct_size);

/** What a cache of this configuration takes; allocates nothing. config->isa, allocator and logger
 *  are not used.
 *  QUIRE_E_INVALID_ARG names a field out of range, QUIRE_E_LIMIT sizes beyond the address space. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_bytes(const struct quire_kv_params *params,
                                                       struct quire_kv_memory *out,
                                                       struct quire_error *err);

struct quire_kv_cache; /**< owns the pool and its tables */

/** Reserves the whole pool; without QUIRE_KV_TOUCH its pages are touched by the first write. Its
 *  contents start undefined. *out belongs to the caller (quire_kv_destroy); NULL on failure.
 *  Errors of quire_kv_bytes, and QUIRE_E_NOMEM with the size, QUIRE_E_LIMIT when mlock is refused,
 *  QUIRE_E_INVALID_ARG (unknown) or QUIRE_E_UNSUPPORTED (not on this CPU) for isa. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_create(const struct quire_kv_params *params,
                                                        struct quire_kv_cache **out,
                                                        struct quire_error *err);
QUIRE_API void quire_kv_destroy(struct quire_kv_cache *kv); /**< NULL is a no-op */

QUIRE_API uint32_t quire_kv_group_count(const struct quire_kv_cache *kv); /**< 0 for NULL */
QUIRE_API uint32_t quire_kv_block_size(const struct quire_kv_cache *kv);  /**< 0 for NULL */

/** The group's configuration with defaults filled in. Both scale arrays are [n_layers *
 *  n_kv_heads], belong to the cache, live as long as it and never change; they are all 1 for
 *  dtypes that do not scale. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_group_get(const struct quire_kv_cache *kv,
                                                           uint32_t group,
                                                           struct quire_kv_group_config *out,
                                                           struct quire_error *err);

/** Values since create whose magnitude was beyond the largest finite one of their dtype: saturated
 *  (fp8) or made infinite (f16, bf16); of int8 only infinities. NaN does not count. */
QUIRE_API uint64_t quire_kv_clipped(const struct quire_kv_cache *kv);

/* ---- Blocks */

/** Takes n free blocks, each with one owner, and writes their ids to blocks[n].
 *  after  last block of the sequence that grows, or -1. Ids right after it are taken when they are
 *         free; otherwise runs of consecutive ids, long ones first. Same calls, same ids. A pool
 *         whose blocks are all free gives 0, 1, 2, ... when all are taken at once: so does a host
 *         that manages block ids itself.
 *  QUIRE_E_AGAIN fewer than n are free now, QUIRE_E_LIMIT fewer than n exist, QUIRE_E_RANGE
 *  `after`. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_alloc(struct quire_kv_cache *kv, uint32_t group,
                                                       int32_t after, size_t n, int32_t *blocks,
                                                       struct quire_error *err);

/** Adds one owner to each of n blocks (fork, prefix reuse). A block named twice gets two.
 *  QUIRE_E_RANGE id outside the pool, QUIRE_E_MISUSE a free block, QUIRE_E_LIMIT 2^32 - 1
 *  owners. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_retain(struct quire_kv_cache *kv, uint32_t group,
                                                        const int32_t *blocks, size_t n,
                                                        struct quire_error *err);

/** Takes one owner from each of n blocks; a block without owners is free. A block named twice
 *  loses two.
 *  QUIRE_E_RANGE id outside the pool, QUIRE_E_MISUSE more owners taken than there are. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_release(struct quire_kv_cache *kv, uint32_t group,
                                                         const int32_t *blocks, size_t n,
                                                         struct quire_error *err);

/** Copies blocks src[i] to dst[i], all layers and heads, bits as they are. Every dst has exactly
 *  one owner and is named once; no block is both source and destination.
 *  QUIRE_E_RANGE id outside the pool, QUIRE_E_MISUSE src is free or dst has not one owner,
 *  QUIRE_E_INVALID_ARG a dst twice, or as a source too. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_copy(struct quire_kv_cache *kv, uint32_t group,
                                                      const int32_t *src, const int32_t *dst,
                                                      size_t n, struct quire_error *err);

/** Copy on write: makes *block writable by its caller. With one owner nothing happens. Otherwise a
 *  block is taken (after: as in quire_kv_alloc), filled with the contents, one owner leaves the
 *  old one, and *block is the new id.
 *  QUIRE_E_RANGE, QUIRE_E_MISUSE as quire_kv_release; QUIRE_E_AGAIN no block is free. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_make_writable(struct quire_kv_cache *kv,
                                                               uint32_t group, int32_t after,
                                                               int32_t *block,
                                                               struct quire_error *err);

/** Blocks of the group without owners; 0 for a group that does not exist. */
QUIRE_API size_t quire_kv_free_block_count(const struct quire_kv_cache *kv, uint32_t group);
/** Owners of a block; 0 for a free block or one that does not exist. */
QUIRE_API uint32_t quire_kv_ref_count(const struct quire_kv_cache *kv, uint32_t group,
                                      int32_t block);

/** Index of the first block that a query at position n_past or later can see: blocks below it have
 *  fallen out of the window and may be freed. max(0, n_past + 1 - window) / block_size; 0 when
 *  window is 0 (full attention). */
QUIRE_API uint32_t quire_kv_first_block(uint32_t block_size, uint32_t window, uint32_t n_past);

/* ---- Prefix hits */

/** What a cache still holds, in one group, of a sequence that is to be computed again: its own
 *  blocks, or those of another that begins with the same tokens. */
struct quire_kv_prefix_group {
    uint32_t window;      /**< the group's sliding window, 0 = full attention */
    uint32_t first_block; /**< blocks[0] is this block of the sequence; those before it are gone */
    uint32_t n_blocks;    /**< those from first_block + n_blocks on are gone too */
    /** [n_blocks] ids, a negative one where a block is gone; NULL = none is */
    const int32_t *blocks;
};

struct quire_kv_prefix_args {
    uint32_t struct_size;
    uint32_t block_size; /**< >= 1 */
    /** Tokens that the blocks were filled with and the sequence begins with. Less than its length:
     *  the last token is computed anyway, as its logits are in no cache. */
    uint32_t n_tokens;
    uint32_t multiple_of; /**< of tokens that count: block_size for whole blocks only; 0 = 1 */
    const struct quire_kv_prefix_group *groups; /**< [n_groups] */
    uint32_t n_groups;
};
QUIRE_API void quire_kv_prefix_args_init(struct quire_kv_prefix_args *args, size_t struct_size);

/** *n_tokens = the longest prefix that can be reused, at most args->n_tokens; 0 = none. A query
 *  behind a prefix of n tokens sees all of it in full groups and its last window - 1 tokens in
 *  windowed ones: blocks quire_kv_first_block(block_size, window, n) .. (n - 1) / block_size of each
 *  group must be there, all others need not. Pure bookkeeping: ids are not looked up in any pool,
 *  and owners are the caller's business (quire_kv_retain; quire_kv_make_writable before writing to a block
 *  that the prefix ends within).
 *  QUIRE_E_INVALID_ARG a NULL pointer or block_size 0, QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_prefix_hit(const struct quire_kv_prefix_args *args,
                                                            uint32_t *n_tokens,
                                                            struct quire_error *err);

/* ---- Slots */

/** Arguments of quire_kv_map_slots. No pool is involved: any block size works. */
struct quire_kv_slot_args {
    uint32_t struct_size;
    uint32_t block_size; /**< >= 1 */
    /** [n_entries] ids of blocks first_block, first_block + 1, ... of the sequence */
    const int32_t *block_table;
    size_t n_entries;
    uint32_t first_block; /**< blocks that the sequence has given up, before the table's first */
    /** 0 = map every token. W: positions before max(0, seq_len - W) get QUIRE_SLOT_PAD, where
     *  seq_len = first_pos + n_tokens; a table may then reuse blocks as a ring. Not for tokens that
     *  are attended to through the cache in the same step: their first queries would miss keys. */
    uint32_t window;
    uint32_t first_pos; /**< position of the first token in its sequence */
    size_t n_tokens;
};
QUIRE_API void quire_kv_slot_args_init(struct quire_kv_slot_args *args, size_t struct_size);

/** Writes the slot of each token to slots[n_tokens]. Only the table entries of mapped positions
 *  are read.
 *  QUIRE_E_RANGE a position before first_block or after the table's end, or a negative id;
 *  QUIRE_E_LIMIT positions beyond 2^32 - 1; QUIRE_E_INVALID_ARG block_size 0. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_map_slots(const struct quire_kv_slot_args *args,
                                                           int64_t *slots, struct quire_error *err);

/** Checks that rows may be written to slots[n]: each is QUIRE_SLOT_PAD, or inside the group's
 *  pool, in a block with exactly one owner, and named once. O(n). Done once per step and group, it
 *  covers all layers.
 *  QUIRE_E_RANGE outside the pool, QUIRE_E_MISUSE the block is free or shared, QUIRE_E_INVALID_ARG
 *  named twice. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_check_slots(struct quire_kv_cache *kv,
                                                             uint32_t group, const int64_t *slots,
                                                             size_t n, struct quire_error *err);

/* ---- Rows */

/** Rows for the cache. Row (token, head) of K begins at k + token * k_token_stride + head *
 *  k_head_stride. Strides count elements; 0 = dense: [n_tokens][n_kv_heads][head size]. Rows may
 *  be misaligned. */
struct quire_kv_write_args {
    uint32_t struct_size;
    uint32_t group, layer;     /**< layer within the group */
    enum quire_kv_dtype dtype; /**< of the rows: QUIRE_KV_F32, QUIRE_KV_BF16 or QUIRE_KV_F16 */
    const void *k;             /**< [n_tokens][n_kv_heads][head_size] */
    const void *v;             /**< [n_tokens][n_kv_heads][v_head_size]; latent groups: NULL */
    size_t k_token_stride, k_head_stride, v_token_stride, v_head_stride;
    const int64_t *slot_mapping; /**< [n_tokens]; rows of QUIRE_SLOT_PAD are not read */
    size_t n_tokens;             /**< K and V may hold more rows: they are ignored */
};
QUIRE_API void quire_kv_write_args_init(struct quire_kv_write_args *args, size_t struct_size);

/** Rounds rows to the group's dtypes (nearest even; fp8 of x / scale, saturating; int8 as its dtype
 *  says; NaN stays NaN) and stores them.
 *  threads  runs the work, or NULL: the calling thread
 *  Errors of quire_kv_check_slots; QUIRE_E_INVALID_ARG rows that overlap, or sizes that overflow;
 *  QUIRE_E_BUSY threads is in use. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_write(struct quire_kv_cache *kv,
                                                       const struct quire_kv_write_args *args,
                                                       struct quire_threads *threads,
                                                       struct quire_error *err);

/** The checks of quire_kv_write, slots included, without writing. Slots that passed stay good
 *  until the group's blocks change owners. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_write_check(struct quire_kv_cache *kv,
                                                             const struct quire_kv_write_args *args,
                                                             struct quire_error *err);

/** One member's share of a write whose arguments have passed quire_kv_write_check. Called by all
 *  members with the same arguments; no barrier inside. Which member writes what never changes a
 *  bit. */
QUIRE_API void quire_kv_write_part(struct quire_kv_cache *kv,
                                   const struct quire_kv_write_args *args,
                                   const struct quire_team *team);

/** Rows out of the cache, as f32. Strides as in quire_kv_write_args. */
struct quire_kv_read_args {
    uint32_t struct_size;
    uint32_t group, layer;
    float *k; /**< [n_tokens][n_kv_heads][head_size] written, or NULL: not wanted */
    float *v; /**< [n_tokens][n_kv_heads][v_head_size] written, or NULL */
    size_t k_token_stride, k_head_stride, v_token_stride, v_head_stride;
    const int64_t *slots; /**< [n_tokens], may repeat; rows of QUIRE_SLOT_PAD stay as they are */
    size_t n_tokens;
};
QUIRE_API void quire_kv_read_args_init(struct quire_kv_read_args *args, size_t struct_size);

/** Reads rows back, scales applied. Slots that were never written hold anything.
 *  QUIRE_E_RANGE slot outside the pool, QUIRE_E_MISUSE its block is free, QUIRE_E_INVALID_ARG as
 *  quire_kv_write. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_read(const struct quire_kv_cache *kv,
                                                      const struct quire_kv_read_args *args,
                                                      struct quire_error *err);

/* ---- Scales for fp8 */

/** Rows of one layer as a model computes them, to learn scales from before the pool is made; its
 *  scales never change afterwards. Strides as in quire_kv_write_args. */
struct quire_kv_calibrate_args {
    uint32_t struct_size;
    uint32_t n_kv_heads;       /**< >= 1 */
    uint32_t head_size;        /**< elements of a key, 1 .. 1024 */
    uint32_t v_head_size;      /**< likewise of a value, 0 = head_size */
    enum quire_kv_dtype dtype; /**< of the rows: QUIRE_KV_F32, QUIRE_KV_BF16 or QUIRE_KV_F16 */
    const void *k;             /**< [n_tokens][n_kv_heads][head_size], or NULL: no keys */
    const void *v;             /**< [n_tokens][n_kv_heads][v_head_size], or NULL: no values */
    size_t k_token_stride, k_head_stride, v_token_stride, v_head_stride;
    size_t n_tokens;
};
QUIRE_API void quire_kv_calibrate_args_init(struct quire_kv_calibrate_args *args,
                                            size_t struct_size);

/** amax[head] = max(amax[head], |x| of all finite elements x of the head's rows); NaN and
 *  infinities are left out.
 *  k_amax, v_amax  [n_kv_heads] each, zeros before the layer's first rows; NULL where k or v is
 *  QUIRE_E_INVALID_ARG a field out of range, k_amax or v_amax NULL, rows that overlap, sizes that
 *  overflow; QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_kv_calibrate(const struct quire_kv_calibrate_args *args, float *k_amax, float *v_amax,
                   struct quire_error *err);

/** Scales that make everything seen fit: the largest of the magnitudes that share the scale,
 *  divided by the largest finite value of the dtype (448 for fp8_e4m3, 57344 for fp8_e5m2), but at
 *  least 2^-126; 1 where nothing but zeros was seen, and for all other dtypes.
 *  amax    [n_amax], in the order [layer][kv_head]
 *  scales  [n_scales] written, may be amax. n_scales divides n_amax, and each scale is for as many
 *          neighbours: 1, n_layers and n_layers * n_kv_heads give what quire_kv_group_config takes
 *  QUIRE_E_INVALID_ARG NULL, an unknown dtype, counts that do not divide, amax negative or not
 *  finite. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_calibrate_scales(enum quire_kv_dtype dtype,
                                                                  const float *amax, size_t n_amax,
                                                                  float *scales, size_t n_scales,
                                                                  struct quire_error *err);

/* ---- Import and export */

/** A plain cache tensor of one layer, as other runtimes keep it: element d of (block, token, head)
 *  of K is at block * stride_block + token * stride_token + head * stride_head + d, of V v_offset
 *  further. All in elements. */
struct quire_kv_plain_layout {
    enum quire_kv_dtype dtype; /**< of the tensor's elements */
    size_t stride_block, stride_token, stride_head;
    size_t v_offset; /**< latent groups have no V of their own: 0 */
};

/** [n_blocks][2][block_size][n_kv_heads][head_size]. Sizes that overflow give strides that import
 *  and export refuse; so does the next one. */
QUIRE_API struct quire_kv_plain_layout quire_kv_plain_block_major(enum quire_kv_dtype dtype,
                                                                  size_t block_size,
                                                                  size_t n_kv_heads,
                                                                  size_t head_size);
/** [2][n_blocks][block_size][n_kv_heads][head_size]; flat,
 *  [2][n_blocks][block_size * n_kv_heads * head_size], is the same in memory. */
QUIRE_API struct quire_kv_plain_layout quire_kv_plain_split(enum quire_kv_dtype dtype,
                                                            size_t n_blocks, size_t block_size,
                                                            size_t n_kv_heads, size_t head_size);

/** [n_blocks][block_size][head_size] of a latent group with one KV head. */
QUIRE_API struct quire_kv_plain_layout quire_kv_plain_latent(enum quire_kv_dtype dtype,
                                                             size_t block_size, size_t head_size);

/** Which blocks go where. Block i of the transfer is blocks[i] in the pool and plain_blocks[i] in
 *  the tensor. A tensor of the pool's dtype (of K and of V) is copied bit by bit: the pool's scales
 *  play no part, and those of int8 rows are copied too. Otherwise values are converted (nearest
 *  even), scales applied, and the tensor must not be fp8. */
struct quire_kv_plain_args {
    uint32_t struct_size;
    uint32_t group, layer;
    const int32_t *blocks;       /**< [n_blocks] */
    const int32_t *plain_blocks; /**< [n_blocks], or NULL: 0, 1, 2, ... */
    size_t n_blocks;
    struct quire_kv_plain_layout layout;
    size_t size; /**< bytes of the tensor; nothing outside is touched */
    /** An int8 tensor's scales of K's and V's rows; not looked at for other dtypes. [blocks of the
     *  tensor][block_size][n_kv_heads] each, apart from each other and the tensor. Import reads
     *  them, export writes those of its blocks. */
    float *k_scales, *v_scales;
    size_t n_scales; /**< elements of each of the two */
};
QUIRE_API void quire_kv_plain_args_init(struct quire_kv_plain_args *args, size_t struct_size);

/** Tensor to pool. Every block has one owner and is named once.
 *  QUIRE_E_RANGE id outside the pool or data outside the tensor; QUIRE_E_MISUSE a block that has
 *  not one owner; QUIRE_E_INVALID_ARG a block twice, rows that overlap, an unknown dtype, no scales;
 *  QUIRE_E_UNSUPPORTED fp8 tensor and a pool of another dtype. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_import(struct quire_kv_cache *kv,
                                                        const struct quire_kv_plain_args *args,
                                                        const void *plain, struct quire_error *err);

/** Pool to tensor. Elements between the rows are not touched. Errors as import, but shared blocks
 *  and repeats are allowed and free blocks are not. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_export(const struct quire_kv_cache *kv,
                                                        const struct quire_kv_plain_args *args,
                                                        void *plain, struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
