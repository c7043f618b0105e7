/* SPDX-License-Identifier: Apache-2.0 */
/* linear_native.c - bf16 activations times bf16 weights for avx512_amx, on TDPBF16PS.
 *
 * A block is 16 activation rows by the 64 outputs of a panel: four tiles of sums, one of
 * activations; the layout of the panel is that of weight tiles. One step is 32 k, counted from 0 in
 * every block, so that all shapes give the same bits (N3). */
#include "simd/vec_avx512.h"
/* the templates build on the vec header */
#include "simd/amx.h"
#define QR_ISA avx512_amx
#include "template/linear_common_tpl.h"

enum {
    TILE = 16,
    COLUMNS = QR_FLOAT_PANEL_ROWS,
    STEP_K = 32,
    STEP_BYTES = STEP_K * COLUMNS * 2,
    PAIR_BYTES = 2 * COLUMNS * 2, /* from one row of a weight tile to the next */
    PART_STEPS = 8,               /* steps of a part: its weights stay in L1 for all rows */
    SHORT_STEPS = 4,              /* the same for up to SHORT_BLOCKS blocks, which end sooner */
    SHORT_BLOCKS = 4,
    CHUNK_ROWS = 256, /* rows at a time: their activations stay in L2 */
    SUM_ROWS = 128,   /* rows whose sums are on the stack, 32 KiB; weights come from L2 again */
    BLOCK = TILE * COLUMNS,
    /* of weights that are read once, from the prefetch into L1 to that into L2 */
    STREAM_L2_BYTES = WEIGHT_PREFETCH_L2_BYTES_AMX_BF16 - WEIGHT_PREFETCH_L1_BYTES_AMX_BF16,
};

/* Memory of the four tiles of sums of a block: consecutive tiles, or rows of 64 when complete. */
struct sums {
    float *at;     /* NULL: none */
    size_t tile;   /* floats from a tile to the next */
    size_t stride; /* bytes from a row to the next */
};

/* Some steps of a panel, and the weights to prefetch meanwhile, `lines` cache lines per step. */
struct part {
    const uint8_t *w;
    size_t x_stride; /* bytes */
    size_t steps;
    const uint8_t *next;
    size_t lines;
    bool into_l1; /* a stream, read soon: prefetched into L1 too, else into L2 only */
};

/* The last partial step of k, padded with zeros. */
struct tail {
    _Alignas(64) uint16_t w[STEP_K / 2][COLUMNS][2];
    _Alignas(64) uint16_t x[TILE][STEP_K];
};

/* Configures the tiles for blocks of `rows` rows. */
static void configure_tiles(size_t rows)
{
    struct amx_config c = { .palette = 1 };
    for (int t = 0; t < 8; t++) {
        c.rows[t] = (uint8_t)(t < 5 ? rows : TILE); /* sums and activations; weights */
        c.row_bytes[t] = 64;
    }
    amx_configure(&c);
}

#define PUT(t, s) AMX_STORE(t, (s)->at + (t) * (s)->tile, (s)->stride)
/* Swaps the sums of the previous block for those of this one while its first products run. */
#define SWAP_SUMS(t)                                                                               \
    do {                                                                                           \
        if (before->at)                                                                            \
            PUT(t, before);                                                                        \
        if (from)                                                                                  \
            AMX_LOAD(t, from + (t)*TILE * TILE, TILE * sizeof(float));                             \
        else                                                                                       \
            AMX_ZERO(t);                                                                           \
    } while (0)

/* Prefetches the weights of one step; returns the next address. L2 supports more outstanding misses
 * than L1: lines of a stream go there first. */
QR_INLINE const uint8_t *prefetch_step(const struct part *p, const uint8_t *next)
{
    for (size_t i = 0; i < p->lines; i++, next += QR_CACHE_LINE_BYTES) {
        if (p->into_l1) {
            qr_prefetch_l1(next);
            qr_prefetch_l2(next + STREAM_L2_BYTES);
        } else {
            qr_prefetch_l2(next);
        }
    }
    return next;
}

/* Multiplies one block by one part. `from`: its sums so far, or NULL. Returns the next prefetch.
 * Loads come together: with a product after each, the kernel is 4 to 9 % slower where the core's
 * other thread is busy, 3 % elsewhere (docs/notes/tuning.md). */
static const uint8_t *block(const struct part *p, const uint16_t *x, const struct sums *before,
                            const float *from)
{
    const uint8_t *w = p->w, *next = p->next;
    AMX_LOAD_ONCE(4, x, p->x_stride);
    AMX_LOAD(5, w, PAIR_BYTES);
    SWAP_SUMS(0);
    AMX_DOT_BF16(0, 4, 5);
    AMX_LOAD(6, w + 64, PAIR_BYTES);
    SWAP_SUMS(1);
    AMX_DOT_BF16(1, 4, 6);
    AMX_LOAD(7, w + 128, PAIR_BYTES);
    SWAP_SUMS(2);
    AMX_DOT_BF16(2, 4, 7);
    AMX_LOAD(5, w + 192, PAIR_BYTES);
    SWAP_SUMS(3);
    AMX_DOT_BF16(3, 4, 5);
    next = prefetch_step(p, next);
    for (size_t s = 1; s < p->steps; s++) {
        x += STEP_K;
        w += STEP_BYTES;
        AMX_LOAD_ONCE(4, x, p->x_stride);
        AMX_LOAD(5, w, PAIR_BYTES);
        AMX_LOAD(6, w + 64, PAIR_BYTES);
        AMX_LOAD(7, w + 128, PAIR_BYTES);
        AMX_DOT_BF16(0, 4, 5);
        AMX_DOT_BF16(1, 4, 6);
        AMX_LOAD(5, w + 192, PAIR_BYTES);
        AMX_DOT_BF16(2, 4, 7);
        AMX_DOT_BF16(3, 4, 5);
        next = prefetch_step(p, next);
    }
    return next;
}

/* First row of block b. The last block starts early enough to be full: it repeats some rows. */
static size_t block_row(size_t b, size_t m)
{
    return m <= TILE ? 0 : b * TILE + TILE <= m ? b * TILE : m - TILE;
}

static void fill_tail_x(struct tail *t, const struct qr_linear_kernel_args *a, size_t i0,
                        size_t rows)
{
    const size_t k0 = a->k / STEP_K * STEP_K, pairs = (a->k - k0 + 1) / 2;
    for (size_t i = 0; i < rows; i++)
        memcpy(t->x[i], a->x_bf16 + (i0 + i) * a->x_bf16_stride + k0, pairs * 2 * sizeof(uint16_t));
}

static void fill_tail_w(struct tail *t, const uint8_t *w, size_t k)
{
    const size_t pairs = (k % STEP_K + 1) / 2;
    memcpy(t->w, w + k / STEP_K * STEP_BYTES, pairs * PAIR_BYTES);
}

/* The part of the panel at w that starts at step s. One block streams its weights once: all of k is
 * one part. More blocks read the weights of a part repeatedly, while the next are prefetched. */
static struct part part_at(const struct qr_linear_kernel_args *a, const uint8_t *w, size_t s,
                           size_t blocks, struct tail *tail)
{
    const size_t whole = a->k / STEP_K, left = whole - s,
                 most = blocks == 1              ? whole
                        : blocks <= SHORT_BLOCKS ? SHORT_STEPS
                                                 : PART_STEPS;
    if (!left)
        return (struct part){ .w = (const uint8_t *)tail->w,
                              .x_stride = sizeof tail->x[0],
                              .steps = 1 };
    struct part p = { .w = w + s * STEP_BYTES,
                      .x_stride = a->x_bf16_stride * sizeof(uint16_t),
                      .steps = left < most ? left : most,
                      .into_l1 = blocks == 1 };
    p.next = p.w + (p.into_l1 ? (size_t)WEIGHT_PREFETCH_L1_BYTES_AMX_BF16 : p.steps * STEP_BYTES);
    p.lines = (STEP_BYTES / QR_CACHE_LINE_BYTES + blocks - 1) / blocks;
    return p;
}

/* Where the sums of a block are complete: consecutive rows of 64 in acc, or rows of `out`, which
 * are prefetched. */
static struct sums complete_sums(const struct qr_linear_kernel_args *a, float *acc, float *out)
{
    if (!out)
        return (struct sums){ acc, TILE, COLUMNS * sizeof(float) };
    for (size_t r = 0; r < TILE && r < a->m; r++)
        for (size_t c = 0; c < COLUMNS; c += TILE)
            qr_prefetch_write(out + r * a->out_stride + c);
    return (struct sums){ out, TILE, a->out_stride * sizeof(float) };
}

/* m <= SUM_ROWS rows from i0 on times one panel. acc: the sums of their blocks. out: of row i0,
 * where complete sums are stored; NULL: in acc. */
static void panel(const struct qr_linear_kernel_args *a, size_t i0, size_t m, const uint8_t *w,
                  struct tail *tail, float *acc, float *out)
{
    const size_t blocks = (m + TILE - 1) / TILE, whole = a->k / STEP_K,
                 steps = whole + (tail != NULL);
    struct sums before = { NULL, 0, 0 };
    if (tail)
        fill_tail_w(tail, w, a->k);
    for (size_t s = 0; s < steps;) {
        struct part p = part_at(a, w, s, blocks, tail);
        const bool last = s + p.steps == steps;
        for (size_t b = 0; b < blocks; b++) {
            const size_t row = block_row(b, m), i = i0 + row;
            const uint16_t *x = a->x_bf16 + i * a->x_bf16_stride + s * STEP_K;
            if (s == whole) {
                fill_tail_x(tail, a, i, m < TILE ? m : TILE);
                x = tail->x[0];
            }
            float *at = acc + b * BLOCK;
            const struct sums after =
                last ? complete_sums(a, at, out ? out + row * a->out_stride : NULL)
                     : (struct sums){ at, TILE * TILE, TILE * sizeof(float) };
            p.next = block(&p, x, &before, s ? at : NULL);
            before = after;
        }
        s += p.steps;
    }
    PUT(0, &before);
    PUT(1, &before);
    PUT(2, &before);
    PUT(3, &before);
}

/* Divides m rows into equal shares of at most `most` rows, in whole blocks; the last is the
 * smallest. */
static size_t share_rows(size_t m, size_t most)
{
    const size_t shares = (m + most - 1) / most;
    return ((m + shares - 1) / shares + TILE - 1) / TILE * TILE;
}

void qr_linear_native_bf16_avx512_amx(const struct qr_linear_kernel_args *a)
{
    _Alignas(64) float acc[SUM_ROWS * COLUMNS];
    /* cppcheck-suppress uninitvar ; cleared below */
    struct tail room, *tail = a->k % STEP_K ? &room : NULL;
    if (tail)
        memset(tail, 0, sizeof *tail);
    const size_t chunk = share_rows(a->m, CHUNK_ROWS);
    for (size_t i0 = 0; i0 < a->m; i0 += chunk) {
        const size_t m = a->m - i0 < chunk ? a->m - i0 : chunk, rows = m < TILE ? m : TILE,
                     sums = share_rows(m, SUM_ROWS);
        configure_tiles(rows);
        for (size_t j0 = 0; j0 < a->n; j0 += COLUMNS) {
            const uint8_t *w = (const uint8_t *)a->w + j0 / COLUMNS * a->panel_bytes;
            const bool direct = !a->bias && a->n - j0 >= COLUMNS;
            for (size_t i = 0, n; i < m; i += n) {
                n = m - i < sums ? m - i : sums;
                panel(a, i0 + i, n, w, tail, acc,
                      direct ? a->out + (i0 + i) * a->out_stride + j0 : NULL);
                for (size_t b = 0; !direct && b * TILE < n; b++)
                    linear_store(a, i0 + i + block_row(b, n), rows, j0, COLUMNS, acc + b * BLOCK,
                                 COLUMNS);
            }
        }
    }
    amx_release();
}

void qr_init_linear_avx512_amx(struct qr_kernels *k)
{
    QR_SET_KERNEL(k, linear_native_bf16, avx512_amx);
    k->native_bf16_reads_f32 = false;
    /* the tables of a step come from the caches of other threads: 4096 x 4096 on 16 threads of a
     * Xeon takes 31 us by products, 40 by tables */
    k->sum_tables_min_outputs = 512;
#define X(name, ...) QR_SET_KERNEL(k, linear_q8_##name, avx512_amx);
    QR_INTEGER_TYPES(X)
#undef X
}
