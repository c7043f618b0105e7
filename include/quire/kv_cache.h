/* SPDX-License-Identifier: Apache-2.0 */
/** Paged KV cache: a pool of blocks, their reference counts, and reading and writing of rows.
 *
 *  A pool is a list of KV groups. A KV group is a set of layers that share one list of block ids:
 *  same shapes, same dtypes, same window. A block holds block_size tokens of every layer and KV
 *  head of its group. A sequence belongs to the caller: one ordered list of block ids per group
 *  (its block table). Token i of a sequence is stored in slot
 *
 *      slot = block_table[i / block_size] * block_size + i % block_size
 *
 *  The host maps each model layer to (group, layer within the group). A layer that reuses the keys
 *  and values of another layer (KV sharing) has no storage of its own: it maps to the other layer,
 *  nothing is written for it, and its attention, with its own queries and configuration, runs after
 *  the quire_kv_write of the other layer in the same step.
 *
 *  Threads: calls on different caches are independent. On one cache, a call that takes a non-const
 *  cache must not overlap any other call (if two of them do, the second one gets QUIRE_E_BUSY where
 *  the overlap is detected); calls that take a const cache may overlap each other. The *_part
 *  functions are the exception: all members of a team call them concurrently. Only quire_kv_create
 *  allocates memory.
 *
 *  Every call checks all its arguments before it changes anything: on failure the cache and the
 *  outputs are unchanged.
 *  Errors of any of these calls, besides those listed: QUIRE_E_INVALID_ARG for a NULL pointer or a
 *  group or layer that does not exist, QUIRE_E_MISUSE for a wrong struct_size. */
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
    /** -127 .. 127 times one f32 scale per token and head. With amax the largest magnitude of the
     *  row: scale = amax / 127, code = x * (127 / amax) rounded; amax below 2^-100: all 0. A row
     *  that contains NaN or infinity gets the scale NaN and reads back as NaN throughout. */
    QUIRE_KV_INT8,
    /** One of 16 levels, -20 .. 20, times one bf16 scale per token, head and 32 adjacent elements:
     *  4.5 bits per element. Levels are denser near 0, but 0 is none of them. The scale is chosen
     *  for the least squared error. A group of zeros reads back as zeros, one that contains NaN or
     *  infinity as NaN. Head sizes are multiples of 32; not for latent groups. See
     *  QUIRE_KV_ROTATE_K. */
    QUIRE_KV_INT4,
};

/** "f32", "bf16", "f16", "fp8_e4m3", "fp8_e5m2", "int8", "int4"; NULL for an unknown value. Static
 *  storage. */
QUIRE_API const char *quire_kv_dtype_name(enum quire_kv_dtype dtype);

/** Parses one of these names or an alias: "fp8" is fp8_e4m3; "q8_0" and "q8", the 8-bit types of
 *  other programs, are int8 (q8_0 itself has an f16 scale per 32 values); "q4_0" and "q4" are int4
 *  (q4_0 itself has an f16 scale per 32 values).
 *  QUIRE_E_INVALID_ARG for any other text; the message lists the names. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_dtype_parse(const char *name,
                                                             enum quire_kv_dtype *out,
                                                             struct quire_error *err);

/** Slot of a padding token: its row is not written. */
#define QUIRE_SLOT_PAD ((int64_t)-1)

/* ---- The pool */

/** Flags of quire_kv_group_config. */
enum {
    /** Multi-head latent attention (quire/mla.h): the value is the first v_head_size elements of
     *  the key and is not stored. v_head_size is at most head_size, v_dtype equals k_dtype, and the
     *  scale of the key applies to the value: n_v_scales is 0. Usually n_kv_heads is 1. */
    QUIRE_KV_LATENT = 1u << 0,
    /** Keys, or values, are stored after a Walsh-Hadamard transform, which spreads outliers of
     *  single elements over all and so reduces the error of int4; only for a dtype of int4. A row
     *  is transformed in blocks of the largest power of two that divides its head size, times 1 /
     *  sqrt(block). The transform is its own inverse: queries are transformed too, which leaves
     *  their products with the keys as they are, and results of attention are transformed back;
     *  quire_kv_read, import and export take and give rows that are not transformed. */
    QUIRE_KV_ROTATE_K = 1u << 1,
    QUIRE_KV_ROTATE_V = 1u << 2,
};

/** Configuration of one KV group. quire_kv_create copies everything. */
struct quire_kv_group_config {
    uint32_t n_layers;   /**< layers with keys of their own, 1 .. 65535 */
    uint32_t n_kv_heads; /**< 1 .. 65535 */
    /** elements of a key, 1 .. 1024; sizes that are not multiples of 8 use unpacked rows, which are
     *  slower */
    uint32_t head_size;
    uint32_t v_head_size; /**< elements of a value, 0 = head_size */
    enum quire_kv_dtype k_dtype, v_dtype;
    /** Number of visible keys, the query's own included; 0 = all. Stored only: the caller releases
     *  blocks outside the window, see quire_kv_first_block. */
    uint32_t sliding_window;
    uint32_t n_blocks; /**< 1 .. 2^31 - 1 */
    /** fp8 stores x / scale and reads back code * scale; all scales are finite and > 0. Counts: 0
     *  (pointer unused) = 1 everywhere; 1 = one for the group; n_layers = [layer];
     *  n_layers * n_kv_heads = [layer][kv_head]. Other dtypes store the values unscaled: their
     *  scales are checked and otherwise ignored. */
    const float *k_scale, *v_scale;
    uint32_t n_k_scales, n_v_scales;
    uint32_t flags;       /**< QUIRE_KV_LATENT, QUIRE_KV_ROTATE_K, QUIRE_KV_ROTATE_V */
    uint32_t reserved[5]; /**< 0 */
};

/** Flags of quire_kv_params. */
enum {
    /** prefault: write zeros to the whole pool at creation. With this flag or QUIRE_KV_LOCK, and no
     *  allocator, a pool larger than the free memory is refused with QUIRE_E_NOMEM, and the pages
     *  are spread over the NUMA nodes on which the process may run */
    QUIRE_KV_TOUCH = 1u << 0,
    QUIRE_KV_LOCK = 1u << 1, /**< prefault the pages and lock them in memory (mlock) */
};

struct quire_kv_params {
    uint32_t struct_size; /**< sizeof(struct quire_kv_params) */
    uint32_t block_size;  /**< tokens, a multiple of 16 up to 65536; 0 = 64, the tuned size */
    const struct quire_kv_group_config *groups; /**< [n_groups], read during the call only */
    uint32_t n_groups;                          /**< 1 .. 256 */
    uint32_t flags;                             /**< QUIRE_KV_TOUCH, QUIRE_KV_LOCK */
    /** Borrowed, outlives the cache; NULL = C library. Called for two allocations: the tables, and
     *  the pool, which is aligned to 2 MiB if it is at least that large and else to 64 bytes. */
    const struct quire_allocator *allocator;
    const struct quire_logger *logger; /**< borrowed, outlives the cache; NULL = silent */
    /** exact ISA level name such as "avx2", NULL = best; all levels give the same bits */
    const char *isa;
};
QUIRE_API void quire_kv_params_init(struct quire_kv_params *params, size_t struct_size);

/** Memory of a cache in bytes. */
struct quire_kv_memory {
    uint32_t struct_size; /**< set by the caller */
    uint64_t pool;        /**< keys and values */
    uint64_t tables;      /**< everything else: reference counts, free lists, slot marks, scales */
    uint64_t total;       /**< pool + tables: exactly what quire_kv_create allocates */
};
QUIRE_API void quire_kv_memory_init(struct quire_kv_memory *memory, size_t struct_size);

/** Computes the memory of a cache with these parameters; allocates nothing. params->isa, allocator
 *  and logger are not used.
 *  QUIRE_E_INVALID_ARG a field out of range (the message names it), QUIRE_E_LIMIT sizes beyond the
 *  address space. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_bytes(const struct quire_kv_params *params,
                                                       struct quire_kv_memory *out,
                                                       struct quire_error *err);

struct quire_kv_cache; /**< owns the pool and its tables */

/** Reserves the whole pool; without QUIRE_KV_TOUCH the first write touches its pages. The initial
 *  contents are undefined. *out belongs to the caller (quire_kv_destroy); NULL on failure.
 *  Errors of quire_kv_bytes, and QUIRE_E_NOMEM with the size, QUIRE_E_LIMIT mlock failed,
 *  QUIRE_E_INVALID_ARG (unknown) or QUIRE_E_UNSUPPORTED (not on this CPU) for isa. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_create(const struct quire_kv_params *params,
                                                        struct quire_kv_cache **out,
                                                        struct quire_error *err);
QUIRE_API void quire_kv_destroy(struct quire_kv_cache *kv); /**< NULL is a no-op */

QUIRE_API uint32_t quire_kv_group_count(const struct quire_kv_cache *kv); /**< 0 for NULL */
QUIRE_API uint32_t quire_kv_block_size(const struct quire_kv_cache *kv);  /**< 0 for NULL */

/** Returns the configuration of a group with defaults filled in. Both scale arrays are
 *  [n_layers * n_kv_heads], belong to the cache, live as long as it and never change; they are all
 *  1 for dtypes without scales. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_get_group(const struct quire_kv_cache *kv,
                                                           uint32_t group,
                                                           struct quire_kv_group_config *out,
                                                           struct quire_error *err);

/** Number of values since creation whose magnitude exceeded the largest finite one of their dtype:
 *  saturated (fp8) or converted to infinity (f16, bf16); for int8 only infinities. NaN does not
 *  count. */
QUIRE_API uint64_t quire_kv_clipped(const struct quire_kv_cache *kv);

/* ---- Blocks */

/** Allocates n free blocks with a reference count of 1 each and writes their ids to blocks[n].
 *  after  last block of the sequence that grows, or -1. The ids directly after it are used if they
 *         are free; otherwise runs of consecutive ids, longest first. Deterministic: the same calls
 *         give the same ids. A pool with only free blocks gives 0, 1, 2, ... if all are allocated
 *         at once, as a host that manages block ids itself would assign them.
 *  QUIRE_E_AGAIN fewer than n blocks are free now, QUIRE_E_LIMIT fewer than n exist, QUIRE_E_RANGE
 *  `after`. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_alloc(struct quire_kv_cache *kv, uint32_t group,
                                                       int32_t after, size_t n, int32_t *blocks,
                                                       struct quire_error *err);

/** Adds one reference to each of n blocks (fork, prefix reuse). A block listed twice gets two.
 *  QUIRE_E_RANGE id outside the pool, QUIRE_E_MISUSE a free block, QUIRE_E_LIMIT the reference
 *  count would exceed 2^32 - 1. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_retain(struct quire_kv_cache *kv, uint32_t group,
                                                        const int32_t *blocks, size_t n,
                                                        struct quire_error *err);

/** Drops one reference from each of n blocks. A block whose reference count reaches zero returns to
 *  the free list. A block listed twice loses two.
 *  QUIRE_E_RANGE id outside the pool, QUIRE_E_MISUSE more references dropped than the block has. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_release(struct quire_kv_cache *kv, uint32_t group,
                                                         const int32_t *blocks, size_t n,
                                                         struct quire_error *err);

/** Copies blocks src[i] to dst[i], all layers and heads, bit for bit. Every dst has a reference
 *  count of 1 and is listed once; no block is both source and destination.
 *  QUIRE_E_RANGE id outside the pool, QUIRE_E_MISUSE src is free or the reference count of dst is
 *  not 1, QUIRE_E_INVALID_ARG a dst is listed twice, or is a source too. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_copy(struct quire_kv_cache *kv, uint32_t group,
                                                      const int32_t *src, const int32_t *dst,
                                                      size_t n, struct quire_error *err);

/** Copy-on-write: makes *block writable for the caller. A block with a reference count of 1 is left
 *  as it is. Otherwise the call allocates a block (after: as in quire_kv_alloc), copies the
 *  contents, drops one reference from the old block, and stores the new id in *block.
 *  QUIRE_E_RANGE, QUIRE_E_MISUSE as quire_kv_release; QUIRE_E_AGAIN no block is free. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_make_writable(struct quire_kv_cache *kv,
                                                               uint32_t group, int32_t after,
                                                               int32_t *block,
                                                               struct quire_error *err);

/** Number of free blocks of the group; 0 for a group that does not exist. */
QUIRE_API size_t quire_kv_free_block_count(const struct quire_kv_cache *kv, uint32_t group);
/** Reference count of a block; 0 for a free block or one that does not exist. */
QUIRE_API uint32_t quire_kv_ref_count(const struct quire_kv_cache *kv, uint32_t group,
                                      int32_t block);

/** Index of the first block that is visible to a query at position n_past or later: the blocks
 *  before it are outside the window and may be released. max(0, n_past + 1 - window) / block_size;
 *  0 when window is 0 (full attention). */
QUIRE_API uint32_t quire_kv_first_block(uint32_t block_size, uint32_t window, uint32_t n_past);

/* ---- Prefix cache */

/** Cached blocks, in one group, of a sequence that is to be computed again: its own blocks, or
 *  those of another sequence that begins with the same tokens. */
struct quire_kv_prefix_group {
    uint32_t window; /**< the group's sliding window, 0 = full attention */
    /** index in the sequence of the block blocks[0]; earlier blocks are not cached */
    uint32_t first_block;
    uint32_t n_blocks; /**< blocks from first_block + n_blocks on are not cached */
    /** [n_blocks] ids, negative for a block that is not cached; NULL = all are cached */
    const int32_t *blocks;
};

struct quire_kv_prefix_args {
    uint32_t struct_size;
    uint32_t block_size; /**< >= 1 */
    /** Number of leading tokens of the sequence that the blocks were computed from. Less than the
     *  sequence length: the last token is always computed, since the cache holds no logits. */
    uint32_t n_tokens;
    /** granularity of the result in tokens: block_size for whole blocks only; 0 = 1 */
    uint32_t multiple_of;
    const struct quire_kv_prefix_group *groups; /**< [n_groups] */
    uint32_t n_groups;
};
QUIRE_API void quire_kv_prefix_args_init(struct quire_kv_prefix_args *args, size_t struct_size);

/** Computes *n_tokens = the longest reusable prefix, at most args->n_tokens; 0 = no hit. A query
 *  after a prefix of n tokens attends to all of it in full-attention groups and to its last
 *  window - 1 tokens in windowed groups: blocks quire_kv_first_block(block_size, window, n) ..
 *  (n - 1) / block_size of each group must be cached, the others need not. No pool is involved: ids
 *  are not checked and reference counts stay as they are (the caller uses quire_kv_retain, and
 *  quire_kv_make_writable before it writes to a block in which the prefix ends).
 *  QUIRE_E_INVALID_ARG a NULL pointer or block_size 0, QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_prefix_hit(const struct quire_kv_prefix_args *args,
                                                            uint32_t *n_tokens,
                                                            struct quire_error *err);

/* ---- Slot mapping */

/** Arguments of quire_kv_map_slots. No pool is involved: any block size works. */
struct quire_kv_slot_args {
    uint32_t struct_size;
    uint32_t block_size; /**< >= 1 */
    /** [n_entries] ids of blocks first_block, first_block + 1, ... of the sequence */
    const int32_t *block_table;
    size_t n_entries;
    uint32_t first_block; /**< number of released blocks before the first entry of the table */
    /** 0 = map every token. W: positions before max(0, seq_len - W) get QUIRE_SLOT_PAD, where
     *  seq_len = first_pos + n_tokens; a table may then reuse blocks as a ring buffer. Not for
     *  tokens that are attended to through the cache in the same step: their first queries would
     *  miss keys. */
    uint32_t window;
    uint32_t first_pos; /**< position of the first token in its sequence */
    size_t n_tokens;
    /** Context parallelism, as in struct quire_attention_batch: tokens that another rank holds get
     *  QUIRE_SLOT_PAD; the table and first_block count blocks of the rank's tokens. */
    uint32_t cp_world_size, cp_rank, cp_interleave;
    uint32_t reserved; /**< 0 */
};
QUIRE_API void quire_kv_slot_args_init(struct quire_kv_slot_args *args, size_t struct_size);

/** Computes the slot mapping: writes the slot of each token to slots[n_tokens]. Only the table
 *  entries of mapped positions are read.
 *  QUIRE_E_RANGE a position before first_block or after the end of the table, or a negative id;
 *  QUIRE_E_LIMIT positions beyond 2^32 - 1; QUIRE_E_INVALID_ARG block_size 0, or a cp_ member that
 *  is out of range. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_map_slots(const struct quire_kv_slot_args *args,
                                                           int64_t *slots, struct quire_error *err);

/** Checks that rows may be written to slots[n]: each is QUIRE_SLOT_PAD, or is inside the group's
 *  pool, in a block with a reference count of 1, and listed once. O(n). One check per step and
 *  group covers all layers.
 *  QUIRE_E_RANGE outside the pool, QUIRE_E_MISUSE the block is free or shared, QUIRE_E_INVALID_ARG
 *  listed twice. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_check_slots(struct quire_kv_cache *kv,
                                                             uint32_t group, const int64_t *slots,
                                                             size_t n, struct quire_error *err);

/* ---- Rows */

/** Rows to be written to the cache. Row (token, head) of K begins at
 *  k + token * k_token_stride + head * k_head_stride. Strides count elements; 0 = dense:
 *  [n_tokens][n_kv_heads][head size]. Rows may be misaligned. */
struct quire_kv_write_args {
    uint32_t struct_size;
    uint32_t group, layer;     /**< layer within the group */
    enum quire_kv_dtype dtype; /**< of the rows: QUIRE_KV_F32, QUIRE_KV_BF16 or QUIRE_KV_F16 */
    const void *k;             /**< [n_tokens][n_kv_heads][head_size] */
    const void *v;             /**< [n_tokens][n_kv_heads][v_head_size]; latent groups: NULL */
    size_t k_token_stride, k_head_stride, v_token_stride, v_head_stride;
    const int64_t *slot_mapping; /**< [n_tokens]; rows of QUIRE_SLOT_PAD are not read */
    size_t n_tokens;             /**< K and V may have more rows, which are ignored */
};
QUIRE_API void quire_kv_write_args_init(struct quire_kv_write_args *args, size_t struct_size);

/** Converts rows to the group's dtypes (round to nearest even; fp8 of x / scale, saturating; int8
 *  as described at QUIRE_KV_INT8; NaN stays NaN) and stores them.
 *  threads  executes the work; NULL: the calling thread
 *  Errors of quire_kv_check_slots; QUIRE_E_INVALID_ARG rows that overlap, or sizes that overflow;
 *  QUIRE_E_BUSY threads is in use. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_write(struct quire_kv_cache *kv,
                                                       const struct quire_kv_write_args *args,
                                                       struct quire_threads *threads,
                                                       struct quire_error *err);

/** Performs the checks of quire_kv_write, slots included, without writing. The result holds until a
 *  reference count of the group's blocks changes. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_write_check(struct quire_kv_cache *kv,
                                                             const struct quire_kv_write_args *args,
                                                             struct quire_error *err);

/** Executes the share of one team member in a write whose arguments have passed
 *  quire_kv_write_check. All members call it with the same arguments; no barrier inside. The stored
 *  bits do not depend on the team. */
QUIRE_API void quire_kv_write_part(struct quire_kv_cache *kv,
                                   const struct quire_kv_write_args *args,
                                   const struct quire_team *team);

/** Rows to be read from the cache, as f32. Strides as in quire_kv_write_args. */
struct quire_kv_read_args {
    uint32_t struct_size;
    uint32_t group, layer;
    float *k; /**< [n_tokens][n_kv_heads][head_size] written, or NULL: no keys */
    float *v; /**< [n_tokens][n_kv_heads][v_head_size] written, or NULL: no values */
    size_t k_token_stride, k_head_stride, v_token_stride, v_head_stride;
    const int64_t *slots; /**< [n_tokens], may repeat; rows of QUIRE_SLOT_PAD are unchanged */
    size_t n_tokens;
};
QUIRE_API void quire_kv_read_args_init(struct quire_kv_read_args *args, size_t struct_size);

/** Reads rows back, scales applied. Slots that were never written have undefined contents.
 *  QUIRE_E_RANGE slot outside the pool, QUIRE_E_MISUSE its block is free, QUIRE_E_INVALID_ARG as
 *  quire_kv_write. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_read(const struct quire_kv_cache *kv,
                                                      const struct quire_kv_read_args *args,
                                                      struct quire_error *err);

/* ---- Scales for fp8 */

/** Rows of one layer as a model computes them, for calibration of the scales before the pool is
 *  created; the scales of a pool never change. Strides as in quire_kv_write_args. */
struct quire_kv_calibrate_args {
    uint32_t struct_size;
    uint32_t n_kv_heads;       /**< >= 1 */
    uint32_t head_size;        /**< elements of a key, 1 .. 1024 */
    uint32_t v_head_size;      /**< elements of a value, same range, 0 = head_size */
    enum quire_kv_dtype dtype; /**< of the rows: QUIRE_KV_F32, QUIRE_KV_BF16 or QUIRE_KV_F16 */
    const void *k;             /**< [n_tokens][n_kv_heads][head_size], or NULL: no keys */
    const void *v;             /**< [n_tokens][n_kv_heads][v_head_size], or NULL: no values */
    size_t k_token_stride, k_head_stride, v_token_stride, v_head_stride;
    size_t n_tokens;
};
QUIRE_API void quire_kv_calibrate_args_init(struct quire_kv_calibrate_args *args,
                                            size_t struct_size);

/** Updates the running maximum magnitudes: amax[head] = max(amax[head], |x| of all finite elements
 *  x of the head's rows); NaN and infinities are skipped.
 *  k_amax, v_amax  [n_kv_heads] each, zeros before the first rows; NULL where k or v is NULL
 *  QUIRE_E_INVALID_ARG a field out of range, k_amax or v_amax NULL, rows that overlap, sizes that
 *  overflow; QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_kv_calibrate(const struct quire_kv_calibrate_args *args, float *k_amax, float *v_amax,
                   struct quire_error *err);

/** Computes scales at which all calibrated values are representable: the largest of the magnitudes
 *  that share the scale, divided by the largest finite value of the dtype (448 for fp8_e4m3, 57344
 *  for fp8_e5m2), but at least 2^-126; 1 where all magnitudes are zero, and for all other dtypes.
 *  amax    [n_amax], in the order [layer][kv_head]
 *  scales  [n_scales] written, may be amax. n_scales divides n_amax, and each scale covers the same
 *          number of adjacent elements: 1, n_layers and n_layers * n_kv_heads give what
 *          quire_kv_group_config takes
 *  QUIRE_E_INVALID_ARG NULL, an unknown dtype, counts that do not divide, amax negative or not
 *  finite. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_calibrate_scales(enum quire_kv_dtype dtype,
                                                                  const float *amax, size_t n_amax,
                                                                  float *scales, size_t n_scales,
                                                                  struct quire_error *err);

/* ---- Import and export */

/** Layout of a contiguous cache tensor of one layer, as other runtimes store it: element d of
 *  (block, token, head) of K is at
 *  block * stride_block + token * stride_token + head * stride_head + d, of V at v_offset more. All
 *  in elements. */
struct quire_kv_plain_layout {
    enum quire_kv_dtype dtype; /**< of the tensor's elements */
    size_t stride_block, stride_token, stride_head;
    size_t v_offset; /**< 0 for latent groups, which store no V */
};

/** Layout [n_blocks][2][block_size][n_kv_heads][head_size]. Sizes that overflow give strides that
 *  import and export reject; this holds for all three functions. */
QUIRE_API struct quire_kv_plain_layout quire_kv_plain_block_major(enum quire_kv_dtype dtype,
                                                                  size_t block_size,
                                                                  size_t n_kv_heads,
                                                                  size_t head_size);
/** Layout [2][n_blocks][block_size][n_kv_heads][head_size]; flat,
 *  [2][n_blocks][block_size * n_kv_heads * head_size], is the same in memory. */
QUIRE_API struct quire_kv_plain_layout quire_kv_plain_split(enum quire_kv_dtype dtype,
                                                            size_t n_blocks, size_t block_size,
                                                            size_t n_kv_heads, size_t head_size);

/** Layout [n_blocks][block_size][head_size] of a latent group with one KV head. */
QUIRE_API struct quire_kv_plain_layout quire_kv_plain_latent(enum quire_kv_dtype dtype,
                                                             size_t block_size, size_t head_size);

/** Operands of import and export. Block i of the transfer is blocks[i] in the pool and
 *  plain_blocks[i] in the tensor. A tensor of the pool's dtype (of K and of V) is copied bit for
 *  bit: the pool's scales are not applied, and the scales of int8 rows are copied too. Otherwise
 *  values are converted (round to nearest even), scales applied, and the tensor must not be fp8. */
struct quire_kv_plain_args {
    uint32_t struct_size;
    uint32_t group, layer;
    const int32_t *blocks;       /**< [n_blocks] */
    const int32_t *plain_blocks; /**< [n_blocks], or NULL: 0, 1, 2, ... */
    size_t n_blocks;
    struct quire_kv_plain_layout layout;
    size_t size; /**< bytes of the tensor; no access outside */
    /** Scales of the K and V rows of an int8 tensor; not read for other dtypes. [blocks of the
     *  tensor][block_size][n_kv_heads] each; they must not overlap each other or the tensor. Import
     *  reads them, export writes those of its blocks. */
    float *k_scales, *v_scales;
    size_t n_scales; /**< elements of each of the two */
};
QUIRE_API void quire_kv_plain_args_init(struct quire_kv_plain_args *args, size_t struct_size);

/** Copies tensor blocks to the pool. Every block has a reference count of 1 and is listed once.
 *  QUIRE_E_RANGE id outside the pool or data outside the tensor; QUIRE_E_MISUSE a reference count
 *  other than 1; QUIRE_E_INVALID_ARG a block listed twice, rows that overlap, an unknown dtype, no
 *  scales; QUIRE_E_UNSUPPORTED an fp8 tensor and a pool of another dtype. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_import(struct quire_kv_cache *kv,
                                                        const struct quire_kv_plain_args *args,
                                                        const void *plain, struct quire_error *err);

/** Copies pool blocks to the tensor. Elements between the rows are unchanged. Errors as
 *  quire_kv_import, but shared blocks and repetitions are allowed and free blocks are errors. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_kv_export(const struct quire_kv_cache *kv,
                                                        const struct quire_kv_plain_args *args,
                                                        void *plain, struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
