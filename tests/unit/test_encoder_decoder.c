/* SPDX-License-Identifier: Apache-2.0 */
/* test_encoder_decoder.c - encoding sources into the cross-attention group and decoding: batch
 * invariance, sharing, misuse. */
#include "test_encoder.h"
#include <math.h>

static const char *const names[] = { "t5", "bart", "t5gemma" };
enum { N_NAMES = sizeof names / sizeof *names };

enum { BLOCKS = 40, SOURCE = 45, TARGET = 37, PER_SEQ = 8 /* blocks */ };

/* Sequence i has blocks 8 i .. 8 i + 7 of the decoder's groups, and the blocks of its source in the
 * cross group, which is the last one. */
struct scene {
    struct world w;
    int32_t ids[MAX_SEQS][128];
    int32_t tables[MAX_GROUPS][MAX_SEQS * PER_SEQ]; /* per KV group */
    int64_t slots[MAX_GROUPS][MAX_TOKENS];
    int cross;
    int32_t starts[MAX_SEQS + 1], lens[MAX_SEQS], source_lens[MAX_SEQS];
    struct quire_attention_batch_group groups[MAX_GROUPS];
    struct quire_attention_batch batch;
    struct quire_forward_args step;
    uint32_t rows[MAX_TOKENS];
};

static void open_scene(struct scene *s, const struct setting *setting)
{
    memset(s, 0, sizeof *s);
    s->w = good_world(setting);
    s->cross = s->w.info.cross_group;
    assert_true(s->cross > 0 && s->cross < MAX_GROUPS && (int)s->w.n_groups == s->cross + 1);
    for (uint32_t g = 0; g < s->w.n_groups; g++)
        assert_status(QUIRE_OK,
                      quire_kv_alloc(s->w.kv, g, -1, MAX_SEQS * PER_SEQ, s->tables[g], NULL));
    for (uint32_t i = 0; i < MAX_TOKENS; i++)
        s->rows[i] = i;
}

static int64_t slot_of(const struct scene *s, int group, uint32_t seq, int32_t pos)
{
    return (int64_t)s->tables[group][seq * PER_SEQ + (uint32_t)pos / BLOCK] * BLOCK + pos % BLOCK;
}

static quire_status encode(struct scene *s, uint32_t first_seq, uint32_t n, const int32_t *lens,
                           const int32_t *ids, float *hidden, struct quire_error *err)
{
    int32_t starts[MAX_SEQS + 1] = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        starts[i + 1] = starts[i] + lens[i];
        s->source_lens[first_seq + i] = lens[i];
        for (int32_t t = 0; t < lens[i]; t++)
            s->slots[s->cross][starts[i] + t] = slot_of(s, s->cross, first_seq + i, t);
    }
    const struct quire_encode_args step = { .struct_size = sizeof step,
                                            .n_seqs = n,
                                            .query_start_loc = starts,
                                            .token_ids = ids,
                                            .hidden = hidden,
                                            .cross_slot_mapping = s->slots[s->cross] };
    return quire_context_encode(s->w.context, &step, err);
}

/* Sets up a step of tokens [begin, begin + n) of sequences first .. first + n_seqs - 1. */
static void set_step(struct scene *s, uint32_t first, uint32_t n_seqs, const int32_t *ids,
                     int32_t begin, int32_t n, float *logits)
{
    for (uint32_t i = 0; i < n_seqs; i++) {
        s->starts[i + 1] = s->starts[i] + n;
        s->lens[i] = begin + n;
        for (int g = 0; g < s->cross; g++)
            for (int32_t t = 0; t < n; t++)
                s->slots[g][s->starts[i] + t] = slot_of(s, g, first + i, begin + t);
    }
    for (int g = 0; g <= s->cross; g++)
        s->groups[g] =
            (struct quire_attention_batch_group){ .block_table = s->tables[g] + first * PER_SEQ,
                                                  .max_blocks = PER_SEQ,
                                                  .slot_mapping =
                                                      g == s->cross ? NULL : s->slots[g] };
    s->batch = (struct quire_attention_batch){ .struct_size = sizeof s->batch,
                                               .n_seqs = n_seqs,
                                               .query_start_loc = s->starts,
                                               .seq_lens = s->lens,
                                               .n_groups = s->w.n_groups,
                                               .groups = s->groups,
                                               .encoder_seq_lens = s->source_lens + first };
    s->step = (struct quire_forward_args){ .struct_size = sizeof s->step,
                                           .batch = &s->batch,
                                           .token_ids = ids,
                                           .logits = logits,
                                           .logits_rows = s->rows,
                                           .n_logits = n_seqs * (uint32_t)n };
}

static void forward(struct scene *s)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status status = quire_context_forward(s->w.context, &s->step, &err);
    if (status != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(status, QUIRE_OK);
}

static void encode_well(struct scene *s, uint32_t first, uint32_t n, const int32_t *lens,
                        const int32_t *ids, float *hidden)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status status = encode(s, first, n, lens, ids, hidden, &err);
    if (status != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(status, QUIRE_OK);
}

static void close_scene(struct scene *s) { close_world(&s->w); }

/* Equal logits for a whole target, chunks, single tokens, and several threads. */
static void decode_is_prefill(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int32_t len = SOURCE;
    int32_t source[SOURCE], target[TARGET];
    make_ids(source, SOURCE, 4);
    make_ids(target, TARGET, 9);
    for (size_t m = 0; m < N_NAMES; m++) {
        float *whole = NULL, *part = NULL;
        size_t vocab = 0;
        for (uint32_t threads = 0; threads <= 3; threads++) {
            struct scene s;
            open_scene(
                &s, &(struct setting){ .name = names[m], .threads = threads, .n_blocks = BLOCKS });
            if (!whole) {
                vocab = s.w.info.vocab_size;
                whole = floats(TARGET * vocab);
                part = floats(TARGET * vocab);
                encode_well(&s, 0, 1, &len, source, NULL);
                set_step(&s, 0, 1, target, 0, TARGET, whole);
                forward(&s);
            }
            encode_well(&s, 2, 1, &len, source, NULL);
            static const int32_t chunks[] = { 1, 7, 16 };
            for (int c = 0; c < 3; c++) {
                for (int32_t at = 0; at < TARGET; at += chunks[c]) {
                    const int32_t n = TARGET - at < chunks[c] ? TARGET - at : chunks[c];
                    set_step(&s, 2, 1, target + at, at, n, part + (size_t)at * vocab);
                    forward(&s);
                }
                assert_memory_equal(whole, part, TARGET * vocab * sizeof *whole);
            }
            close_scene(&s);
        }
        free(whole);
        free(part);
    }
}

/* Sources of several lengths encoded and decoded in one batch, against each alone. */
static void batch_invariance(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static const int32_t lens[] = { 3, 45, 17, 64 };
    int32_t source[129], target[4 * 6];
    make_ids(source, 129, 4);
    make_ids(target, 24, 9);
    for (size_t m = 0; m < N_NAMES; m++) {
        struct scene s;
        open_scene(&s, &(struct setting){ .name = names[m], .n_blocks = BLOCKS });
        const size_t vocab = s.w.info.vocab_size, width = s.w.info.hidden_size;
        float *hidden = floats(129 * width), *logits = floats(24 * vocab);
        float *one_hidden = floats(64 * width), *one = floats(6 * vocab);
        encode_well(&s, 0, 4, lens, source, hidden);
        set_step(&s, 0, 4, target, 0, 6, logits);
        forward(&s);
        for (int32_t i = 0, at = 0; i < 4; at += lens[i++]) {
            encode_well(&s, 0, 1, &lens[i], source + at, one_hidden);
            assert_memory_equal(one_hidden, hidden + (size_t)at * width,
                                (size_t)lens[i] * width * sizeof *hidden);
            set_step(&s, 0, 1, target + i * 6, 0, 6, one);
            forward(&s);
            assert_memory_equal(one, logits + (size_t)i * 6 * vocab, 6 * vocab * sizeof *one);
        }
        free(hidden);
        free(logits);
        free(one_hidden);
        free(one);
        close_scene(&s);
    }
}

/* Two sequences share the blocks of one source; slots after the source hold garbage. */
static void shared_source(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int32_t len = SOURCE;
    int32_t source[SOURCE], target[20];
    make_ids(source, SOURCE, 4);
    make_ids(target, 20, 9);
    for (size_t m = 0; m < N_NAMES; m++) {
        struct scene s;
        open_scene(&s, &(struct setting){ .name = names[m], .n_blocks = BLOCKS });
        const size_t vocab = s.w.info.vocab_size;
        float *alone = floats(20 * vocab), *both = floats(20 * vocab);
        encode_well(&s, 0, 1, &len, source, NULL);
        encode_well(&s, 1, 1, &len, source, NULL);
        set_step(&s, 0, 2, target, 0, 10, alone);
        forward(&s);
        float rubbish[2 * 64];
        int64_t behind[PER_SEQ * BLOCK];
        for (size_t i = 0; i < 128; i++)
            rubbish[i] = NAN;
        for (int32_t t = SOURCE; t < PER_SEQ * BLOCK; t++) {
            behind[0] = slot_of(&s, s.cross, 0, t);
            for (uint32_t layer = 0; layer < 2; layer++) {
                const struct quire_kv_write_args write = { .struct_size = sizeof write,
                                                           .group = (uint32_t)s.cross,
                                                           .layer = layer,
                                                           .dtype = QUIRE_KV_F32,
                                                           .k = rubbish,
                                                           .v = rubbish,
                                                           .slot_mapping = behind,
                                                           .n_tokens = 1 };
                assert_status(QUIRE_OK, quire_kv_write(s.w.kv, &write, NULL, NULL));
            }
        }
        assert_status(QUIRE_OK,
                      quire_kv_retain(s.w.kv, (uint32_t)s.cross, s.tables[s.cross], PER_SEQ, NULL));
        memcpy(s.tables[s.cross] + PER_SEQ, s.tables[s.cross], PER_SEQ * sizeof(int32_t));
        set_step(&s, 0, 2, target, 0, 10, both);
        forward(&s);
        assert_memory_equal(alone, both, 20 * vocab * sizeof *alone);
        expect_error(QUIRE_E_MISUSE, "references", encode(&s, 0, 1, &len, source, NULL, err));
        free(alone);
        free(both);
        close_scene(&s);
    }
}

/* Rows with a padding slot are not stored. */
static void padded_slots(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int32_t len = 4, starts[] = { 0, 4 };
    int32_t source[4];
    make_ids(source, 4, 4);
    struct scene s;
    open_scene(&s, &(struct setting){ .name = "t5", .n_blocks = BLOCKS });
    encode_well(&s, 0, 1, &len, source, NULL);
    float before[4 * 64], after[4 * 64];
    int64_t slots[4], some[4];
    for (int32_t t = 0; t < 4; t++)
        slots[t] = some[t] = slot_of(&s, 1, 0, t);
    struct quire_kv_read_args read = { .struct_size = sizeof read,
                                       .group = 1,
                                       .layer = 1,
                                       .k = before,
                                       .slots = slots,
                                       .n_tokens = 4 };
    assert_status(QUIRE_OK, quire_kv_read(s.w.kv, &read, NULL));
    make_ids(source, 4, 11);
    some[1] = QUIRE_SLOT_PAD;
    const struct quire_encode_args step = { .struct_size = sizeof step,
                                            .n_seqs = 1,
                                            .query_start_loc = starts,
                                            .token_ids = source,
                                            .cross_slot_mapping = some };
    assert_status(QUIRE_OK, quire_context_encode(s.w.context, &step, NULL));
    read.k = after;
    assert_status(QUIRE_OK, quire_kv_read(s.w.kv, &read, NULL));
    for (int t = 0; t < 4; t++)
        assert_true((memcmp(before + t * 64, after + t * 64, 64 * sizeof(float)) == 0) == (t == 1));
    close_scene(&s);
}

/* Embeddings in place of ids: this family does not scale the lookup. */
static void embeddings(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int32_t starts[] = { 0, 9 };
    int32_t ids[9];
    make_ids(ids, 9, 4);
    struct world w = good_world(&(struct setting){ .name = "t5" }); /* without a cache */
    const size_t n = 9 * (size_t)w.info.hidden_size;
    float *layers = floats(3 * n), *hidden = floats(n);
    struct quire_encode_args step = { .struct_size = sizeof step,
                                      .n_seqs = 1,
                                      .query_start_loc = starts,
                                      .token_ids = ids,
                                      .layers = layers };
    assert_status(QUIRE_OK, quire_context_encode(w.context, &step, NULL));
    step = (struct quire_encode_args){ .struct_size = sizeof step,
                                       .n_seqs = 1,
                                       .query_start_loc = starts,
                                       .embeddings = layers,
                                       .hidden = hidden };
    assert_status(QUIRE_OK, quire_context_encode(w.context, &step, NULL));
    assert_memory_equal(hidden, layers + 2 * n, n * sizeof *hidden);
    free(layers);
    free(hidden);
    close_world(&w);
}

static void bad_encode(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int32_t len = 20, starts[] = { 0, 20 };
    int32_t source[20];
    make_ids(source, 20, 4);
    struct scene s;
    open_scene(&s, &(struct setting){ .name = "bart", .n_blocks = BLOCKS });
    float *hidden = floats(20 * s.w.info.hidden_size);
    int64_t slots[20];
    for (int32_t t = 0; t < len; t++)
        slots[t] = slot_of(&s, 1, 0, t);
    struct quire_encode_args step = { .struct_size = sizeof step,
                                      .n_seqs = 1,
                                      .query_start_loc = starts,
                                      .token_ids = source,
                                      .hidden = hidden,
                                      .cross_slot_mapping = slots };
#define refuse(status, text)                                                                       \
    expect_error(status, text, quire_context_encode(s.w.context, &step, err))
    slots[3] = (int64_t)BLOCKS * BLOCK;
    refuse(QUIRE_E_RANGE, "640");
    slots[3] = (int64_t)(BLOCKS - 1) * BLOCK; /* a block that is not allocated */
    refuse(QUIRE_E_MISUSE, "is free");
    slots[3] = slots[4];
    refuse(QUIRE_E_INVALID_ARG, "slot");
    slots[3] = slot_of(&s, 1, 0, 3);
    step.logits = hidden;
    refuse(QUIRE_E_UNSUPPORTED, "no output matrix");
    step.logits = NULL, step.pooled = hidden, step.pooling = QUIRE_POOLING_POOLER;
    refuse(QUIRE_E_UNSUPPORTED, "no pooler");
    assert_untouched(hidden, 20 * s.w.info.hidden_size);
    step.pooled = NULL;
    assert_status(QUIRE_OK, quire_context_encode(s.w.context, &step, NULL));
    close_scene(&s);
    /* a context that only encodes */
    s.w = good_world(&(struct setting){ .name = "bart" });
    refuse(QUIRE_E_INVALID_ARG, "made without a cache");
    step.cross_slot_mapping = NULL;
    assert_status(QUIRE_OK, quire_context_encode(s.w.context, &step, NULL));
    s.step = (struct quire_forward_args){ .struct_size = sizeof s.step };
    expect_error(QUIRE_E_UNSUPPORTED, "it only encodes",
                 quire_context_forward(s.w.context, &s.step, err));
#undef refuse
    close_scene(&s);
    free(hidden);
}

static void bad_decode(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int32_t len = 20;
    int32_t ids[20];
    make_ids(ids, 20, 4);
    struct scene s;
    open_scene(&s, &(struct setting){ .name = "t5", .n_blocks = BLOCKS });
    float *logits = floats(4 * s.w.info.vocab_size);
    encode_well(&s, 0, 1, &len, ids, NULL);
#define refuse(status, text)                                                                       \
    expect_error(status, text, quire_context_forward(s.w.context, &s.step, err))
    set_step(&s, 0, 1, ids, 0, 4, logits);
    s.batch.encoder_seq_lens = NULL;
    refuse(QUIRE_E_INVALID_ARG, "encoder_seq_lens is NULL");
    set_step(&s, 0, 1, ids, 0, 4, logits);
    s.source_lens[0] = -1;
    refuse(QUIRE_E_INVALID_ARG, "encoder_seq_lens[0] is -1");
    s.source_lens[0] = 129; /* the context allows 128 */
    refuse(QUIRE_E_LIMIT, "encoder_seq_lens[0] is 129");
    s.source_lens[0] = 20;
    s.batch.n_groups = 1;
    refuse(QUIRE_E_INVALID_ARG, "1 groups, the model needs 2");
    set_step(&s, 0, 1, ids, 0, 4, logits);
    s.groups[1].block_table = NULL;
    refuse(QUIRE_E_INVALID_ARG, "block_table");
    set_step(&s, 0, 1, ids, 0, 4, logits);
    s.tables[1][1] = BLOCKS;
    refuse(QUIRE_E_RANGE, "40");
    s.tables[1][1] = 1;
    s.groups[1].max_blocks = 1;
    refuse(QUIRE_E_RANGE, "");
    set_step(&s, 0, 1, ids, 0, 4, logits);
    s.groups[0].slot_mapping = NULL;
    refuse(QUIRE_E_INVALID_ARG, "groups[0].slot_mapping");
    assert_untouched(logits, 4 * s.w.info.vocab_size);
    /* a source without tokens has no keys */
    set_step(&s, 0, 1, ids, 0, 4, logits);
    s.source_lens[0] = 0;
    forward(&s);
    assert_true(isfinite(logits[0]));
#undef refuse
    close_scene(&s);
    free(logits);
}

/* A cache of another model is rejected; a context allocates the bytes it reports; steps allocate
 * nothing. */
static void memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct fail_alloc f;
    struct quire_error e = QUIRE_ERROR_INIT;
    fail_alloc_init(&f, 0, false);
    struct scene s;
    open_scene(&s, &(struct setting){ .name = "t5", .n_blocks = BLOCKS, .allocator = &f.hooks });
    struct quire_context_params p = default_params();
    p.allocator = &f.hooks;
    p.kv = s.w.kv;
    p.encoder_dtype = QUIRE_KV_BF16;
    struct quire_context *c;
    uint64_t bytes;
    const size_t before = f.live_bytes;
    assert_status(QUIRE_OK, quire_context_bytes(s.w.model, &p, &bytes, &e));
    assert_status(QUIRE_OK, quire_context_create(s.w.model, &p, &c, &e));
    assert_int_equal(f.live_bytes - before, bytes);
    quire_context_destroy(c);
    const int32_t len = 20;
    int32_t ids[20];
    make_ids(ids, 20, 4);
    const size_t calls = f.calls;
    encode_well(&s, 0, 1, &len, ids, NULL);
    set_step(&s, 0, 1, ids, 0, 20, NULL);
    forward(&s);
    assert_int_equal(f.calls, calls);
    struct world other = good_world(&(struct setting){ .name = "llama", .n_blocks = 4 });
    p.kv = other.kv;
    expect_error(QUIRE_E_MISMATCH, "1 groups, the model needs 2",
                 quire_context_create(s.w.model, &p, &c, err));
    close_world(&other);
    close_scene(&s);
    assert_int_equal(f.live_bytes, 0);
    for (size_t n = 1;; n++) {
        struct world w;
        fail_alloc_init(&f, n, n % 2);
        const quire_status status = open_world(
            &w, &(struct setting){ .name = "t5", .n_blocks = BLOCKS, .allocator = &f.hooks }, &e);
        close_world(&w);
        assert_int_equal(f.live_bytes, 0);
        if (f.calls < n)
            break;
        assert_true(status == QUIRE_E_NOMEM || status == QUIRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decode_is_prefill), cmocka_unit_test(batch_invariance),
        cmocka_unit_test(shared_source),     cmocka_unit_test(padded_slots),
        cmocka_unit_test(embeddings),        cmocka_unit_test(bad_encode),
        cmocka_unit_test(bad_decode),        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
