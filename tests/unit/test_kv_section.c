/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_section.c - sections of saved caches: rows copied by whole vectors equal rows copied
 * element by element through the index formula of the layout, in both directions. */
#include "kv/section.h"
#include "test_kv.h"

enum { LAYERS = 2, HEADS = 2, BLOCKS = 2 };

static struct quire_kv_cache *create(enum quire_kv_dtype k, enum quire_kv_dtype v, uint32_t head,
                                     uint32_t v_head, uint32_t block_size, bool latent)
{
    const struct quire_kv_group_config group = {
        .n_layers = LAYERS,
        .n_kv_heads = latent ? 1 : HEADS,
        .head_size = head,
        .v_head_size = v_head,
        .k_dtype = k,
        .v_dtype = v,
        .n_blocks = BLOCKS,
        .flags = latent ? QUIRE_KV_LATENT : 0,
    };
    const struct quire_kv_params params = {
        .struct_size = sizeof params, .block_size = block_size, .groups = &group, .n_groups = 1
    };
    struct quire_kv_cache *kv;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (quire_kv_create(&params, &kv, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    return kv;
}

/* The section that qr_kv_get_section() shall write, from byte offsets of single elements. */
static void get_elements(const struct quire_kv_cache *kv, const struct qr_kv_section_rows *r,
                         uint8_t *section)
{
    const struct qr_kv_group *g = &kv->groups[0];
    const struct qr_kv_layout *l = &g->layout;
    uint8_t *at = section;
    for (uint32_t head = 0; head < g->n_kv_heads; head++) {
        const unsigned char *block = qr_kv_block(kv, 0, r->layer, head, r->block);
        for (int side = 0; side < (l->latent ? 1 : 2); side++) {
            const struct qr_kv_dtype *type = side ? l->v_type : l->k_type;
            const size_t bytes = type->bytes, n = (size_t)(side ? l->v_size : l->k_size);
            for (uint32_t i = 0; i < r->n; i++)
                for (size_t d = 0; d < n; d++)
                    memcpy(at + ((r->first + i) * n + d) * bytes,
                           block + (side ? qr_kv_v_offset : qr_kv_k_offset)(l, (int)(r->token + i),
                                                                            (int)d),
                           bytes);
            at += r->n_rows * n * bytes;
            if (type->scaling != QR_KV_ROW_SCALE)
                continue;
            memcpy(at + r->first * sizeof(float),
                   block + (side ? l->v_scales : l->k_scales) + r->token * sizeof(float),
                   r->n * sizeof(float));
            at += r->n_rows * sizeof(float);
        }
    }
}

static void check_rows(struct quire_kv_cache *kv, const struct qr_kv_section_rows *r)
{
    static uint8_t expected[1 << 20], got[1 << 20];
    size_t bytes;
    assert_true(qr_kv_section_bytes(kv, 0, r->n_rows, &bytes) && bytes <= sizeof got);
    for (size_t i = 0; i < kv->pool_bytes; i++)
        kv->pool[i] = (unsigned char)kv_random();
    memset(expected, 0xa5, bytes);
    memset(got, 0xa5, bytes);
    get_elements(kv, r, expected);
    qr_kv_get_section(kv, r, got);
    assert_memory_equal(expected, got, bytes);
    /* into a block of other contents: the rows are equal, and no other row changes */
    struct qr_kv_section_rows other = *r;
    other.block = 1 - r->block;
    qr_kv_put_section(kv, &other, got);
    memset(got, 0xa5, bytes);
    get_elements(kv, &other, got);
    assert_memory_equal(expected, got, bytes);
    if (r->token == 0)
        return;
    const struct qr_kv_section_rows rest = {
        .layer = r->layer, .n_rows = r->token, .n = r->token, .block = other.block
    };
    memset(expected, 0, sizeof expected);
    memset(got, 0, sizeof got);
    get_elements(kv, &rest, expected);
    qr_kv_put_section(kv, &other, got); /* zeros */
    get_elements(kv, &rest, got);
    assert_memory_equal(expected, got, sizeof got);
}

static void check_cache(enum quire_kv_dtype k, enum quire_kv_dtype v, uint32_t head,
                        uint32_t v_head, uint32_t block_size, bool latent)
{
    struct quire_kv_cache *kv = create(k, v, head, v_head, block_size, latent);
    for (int i = 0; i < 12; i++) {
        struct qr_kv_section_rows r = { .layer = kv_below(LAYERS),
                                        .n_rows = 200,
                                        .block = (int32_t)(kv_below(2)) };
        if (i > 1) /* parts of a block; half of them begin at a column of 16 tokens */
            r.token = i % 2 ? kv_below(block_size) : kv_below(block_size / 16) * 16;
        r.n = i ? 1 + kv_below(block_size - r.token) : block_size;
        r.first = i ? kv_below(r.n_rows - r.n + 1) : 0;
        check_rows(kv, &r);
    }
    quire_kv_destroy(kv);
}

static void same_as_elements(void **state)
{
    (void)state;
    static const uint32_t heads[] = { 8, 12, 16, 24, 40, 64, 80, 128 }, blocks[] = { 16, 48, 128 };
    for (size_t d = 0; d < COUNT(KV_DTYPES); d++)
        for (size_t h = 0; h < COUNT(heads); h++)
            for (size_t b = 0; b < COUNT(blocks); b++) {
                const uint32_t v_head = h % 2 ? heads[h] : heads[(h + d) % 8];
                check_cache(KV_DTYPES[d], KV_DTYPES[(d + h) % COUNT(KV_DTYPES)], heads[h], v_head,
                            blocks[b], false);
                check_cache(KV_DTYPES[d], KV_DTYPES[d], heads[h], heads[h] / 2, blocks[b], true);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(same_as_elements) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
