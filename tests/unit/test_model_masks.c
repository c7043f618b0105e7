/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_masks.c - trees of draft tokens through the model API, against every branch decoded
 * alone; prefixes and block lists of other attention forms; limits of a context. */
#include "test_model_masks.h"

enum { CONTEXT = 40, MAX_TREE = 80 };

/* Draft tokens; a parent is an index, -1 is the last token of the context. */
struct drafts {
    int n;
    int parents[MAX_TREE];
    int32_t ids[MAX_TREE];
};

static int32_t ids[MAX_LEN];
static float tree_logits[MAX_TREE][VOCAB], alone[MAX_TREE][VOCAB], again[MAX_TREE][VOCAB];

static int fill(void **state)
{
    (void)state;
    for (int i = 0; i < MAX_LEN; i++)
        ids[i] = some_id(i);
    return 0;
}

/* Fills in the path from the context to a token and returns its length. */
static int path_to(const struct drafts *d, int token, int *path)
{
    int n = 0, at;
    for (at = token; at >= 0; at = d->parents[at])
        n++;
    at = token;
    for (int i = n - 1; i >= 0; i--, at = d->parents[at])
        path[i] = at;
    return n;
}

/* Runs the drafts in the given order, parents first, as one step after the context; logits of draft
 * order[i] in row i. */
static void run_tree(struct world *w, const struct drafts *d, const int *order,
                     float (*logits)[VOCAB])
{
    static uint64_t tree[MAX_TREE][TREE_WORDS];
    int32_t tokens[MAX_TREE];
    int place[MAX_TREE];
    memset(tree, 0, sizeof tree);
    for (int i = 0; i < d->n; i++) {
        const int parent = d->parents[order[i]];
        place[order[i]] = i;
        tokens[i] = d->ids[order[i]];
        if (parent >= 0)
            memcpy(tree[i], tree[place[parent]], sizeof tree[i]);
        tree[i][i / 64] |= (uint64_t)1 << i % 64;
    }
    const struct masks m = { .tree = (const uint64_t(*)[TREE_WORDS])tree };
    must_run(w, tokens, CONTEXT, d->n, &m, logits[0]);
}

/* Decodes the path to a token after the context, in steps of `chunk` tokens. */
static int run_alone(struct world *w, const struct drafts *d, int token, int chunk,
                     float (*logits)[VOCAB])
{
    int path[MAX_TREE];
    int32_t tokens[MAX_TREE];
    const int n = path_to(d, token, path);
    for (int i = 0; i < n; i++)
        tokens[i] = d->ids[path[i]];
    for (int i = 0; i < n; i += chunk)
        must_run(w, tokens + i, CONTEXT + i, n - i < chunk ? n - i : chunk, &NO_MASKS, logits[i]);
    return n;
}

/* The order of the drafts with the path to a token first. */
static void order_first(const struct drafts *d, int token, int *order)
{
    int path[MAX_TREE], n = path_to(d, token, path);
    bool done[MAX_TREE] = { false };
    for (int i = 0; i < n; i++) {
        order[i] = path[i];
        done[path[i]] = true;
    }
    for (int i = 0; i < d->n; i++)
        if (!done[i])
            order[n++] = i;
}

static int argmax(const float *row)
{
    int best = 0;
    for (int i = 1; i < VOCAB; i++)
        best = row[i] > row[best] ? i : best;
    return best;
}

/* The tokens of a branch predict what they predict when it is decoded alone. Where the branch comes
 * first, its keys are in the same slots, and the bits are equal. Checks the branch of every
 * `step`-th token. */
static void check_tree(const char *name, const struct drafts *d, int step)
{
    struct world w;
    int order[MAX_TREE], path[MAX_TREE];
    open_masked_world(&w, name, 2, 0);
    must_run(&w, ids, 0, CONTEXT, &NO_MASKS, alone[0]);
    for (int i = 0; i < d->n; i++)
        order[i] = i;
    run_tree(&w, d, order, tree_logits);
    for (int token = step - 1; token < d->n; token += step) {
        const int n = run_alone(&w, d, token, token % 2 ? 1 : MAX_TREE, alone);
        (void)path_to(d, token, path);
        for (int i = 0; i < n; i++) {
            const double off = row_difference(tree_logits[path[i]], alone[i]);
            if (!(off <= 1e-3) || argmax(tree_logits[path[i]]) != argmax(alone[i]))
                fail_msg("%s: token %d of the branch of %d is off by %g", name, i, token, off);
        }
        order_first(d, token, order);
        run_tree(&w, d, order, again);
        assert_memory_equal(again, alone, (size_t)n * sizeof *again);
    }
    close_world(&w);
}

/* ---- tests */

/* Rotary and learned positions, ALiBi, windows, chunks with attention temperature, MLA. */
static void trees_of_every_family(void **state)
{
    (void)state;
    static const char *const names[] = {
        "llama",        "gemma3_text",  "phi3",           "gpt2",
        "bloom",        "falcon_alibi", "llama4_text",    "deepseek_v2_lite",
        "deepseek_v32", "glm_moe_dsa",  "minimax_m3_text"
    };
    struct drafts d = { .n = 12, .parents = { -1, 0, 1, 2, 0, 4, -1, 6, 7, 7, 9, 1 } };
    if (!need_shared())
        skip();
    for (int i = 0; i < d.n; i++)
        d.ids[i] = some_id(200 + i);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_tree(names[i], &d, 1);
}

/* More tokens than a mask word has bits: a trunk of 61, then bushes. */
static void trees_of_several_words(void **state)
{
    (void)state;
    struct drafts d = { .n = MAX_TREE };
    if (!need_shared())
        skip();
    for (int i = 0; i < d.n; i++) {
        d.ids[i] = some_id(300 + i);
        d.parents[i] = i < 61 ? i - 1 : 2 * (i - 61);
    }
    d.parents[75] = 63;
    d.parents[79] = 75;
    check_tree("llama", &d, 13);
    check_tree("gemma3_text", &d, 13);
}

/* A span over the whole prompt is attention without the causal mask, bit for bit. */
static void prefix_is_bidirectional(void **state)
{
    (void)state;
    static const bool causal[] = { false };
    static float spanned[CONTEXT][VOCAB], open[CONTEXT][VOCAB];
    const struct quire_token_range span = { 0, CONTEXT };
    const struct masks prefix = { .n_spans = 1, .spans = &span }, flag = { .causal = causal };
    struct world w;
    if (!need_shared())
        skip();
    open_masked_world(&w, "llama", 2, 0);
    must_run(&w, ids, 0, CONTEXT, &prefix, spanned[0]);
    must_run(&w, ids, 0, CONTEXT, &flag, open[0]);
    assert_memory_equal(spanned, open, sizeof open);
    /* tokens after the prefix are causal */
    must_run(&w, ids + CONTEXT, CONTEXT, 8, &prefix, spanned[0]);
    must_run(&w, ids + CONTEXT, CONTEXT, 8, &NO_MASKS, open[0]);
    assert_memory_equal(spanned, open, 8 * sizeof *open);
    close_world(&w);
}

/* Latent attention: spans with expanded keys as with absorbed ones; steps with a tree or lists are
 * absorbed in both contexts. */
static void masks_of_latent_attention(void **state)
{
    (void)state;
    static const uint64_t chain[8][TREE_WORDS] = { { 1 },  { 3 },  { 7 },  { 15 },
                                                   { 31 }, { 35 }, { 67 }, { 195 } };
    static const int32_t blocks[] = { 0, 2 };
    static const struct quire_sparse_list list = { blocks, 2 };
    static const struct quire_sparse_list *const sparse[] = { &list };
    static float absorbed[CONTEXT][VOCAB], expanded[CONTEXT][VOCAB];
    const struct quire_token_range span = { 3, 30 };
    const struct masks spans = { .n_spans = 1, .spans = &span }, tree = { .tree = chain },
                       lists = { .sparse = sparse };
    struct world a, e;
    if (!need_shared())
        skip();
    open_masked_world(&a, "deepseek_v2_lite", 2, 0);
    open_masked_world(&e, "deepseek_v2_lite", 2, 2);
    must_run(&a, ids, 0, CONTEXT, &spans, absorbed[0]);
    must_run(&e, ids, 0, CONTEXT, &spans, expanded[0]);
    for (int t = 0; t < CONTEXT; t++)
        assert_true(row_difference(absorbed[t], expanded[t]) <= 2e-3);
    assert_true(memcmp(absorbed, expanded, sizeof absorbed) != 0);
    must_run(&a, ids, 0, CONTEXT, &lists, absorbed[0]);
    must_run(&e, ids, 0, CONTEXT, &lists, expanded[0]);
    assert_memory_equal(absorbed, expanded, sizeof absorbed);
    must_run(&a, ids + CONTEXT, CONTEXT, 8, &tree, absorbed[0]);
    must_run(&e, ids + CONTEXT, CONTEXT, 8, &tree, expanded[0]);
    assert_memory_equal(absorbed, expanded, 8 * sizeof *absorbed);
    close_world(&a), close_world(&e);
}

static void expect_limit(struct world *w, const struct masks *m, const char *text)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    float *logits = calloc(8, sizeof again[0]), *zeros = calloc(8, sizeof again[0]);
    assert_int_equal(run_step(w, ids, 0, 8, m, logits, &err), QUIRE_E_LIMIT);
    assert_string_equal(err.msg, text);
    assert_memory_equal(logits, zeros, 8 * sizeof again[0]);
    free(logits), free(zeros);
}

/* A context without masks refuses them and names its own limit; the memory of masks is counted. */
static void limits_of_a_context(void **state)
{
    (void)state;
    static const struct quire_token_range span = { 0, 4 };
    static const uint64_t chain[8][TREE_WORDS] = { { 1 },  { 3 },  { 7 },   { 15 },
                                                   { 31 }, { 63 }, { 127 }, { 255 } };
    static const int32_t blocks[] = { 0 };
    static const struct quire_sparse_list lists[] = { { blocks, 1 }, { blocks, 1 } };
    static const struct quire_sparse_list *const sparse[] = { lists };
    const struct masks spans = { .n_spans = 1, .spans = &span }, tree = { .tree = chain },
                       listed = { .sparse = sparse };
    struct quire_context_params cp;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fail_alloc a;
    struct world w;
    if (!need_shared())
        skip();
    open_world(&w, "llama", QUIRE_COMPUTE_F32, 2, NULL);
    struct quire_error refused = QUIRE_ERROR_INIT;
    const struct masks shard = { .cp_world_size = 2 };
    assert_int_equal(run_step(&w, ids, 0, 8, &shard, again[0], &refused), QUIRE_E_UNSUPPORTED);
    assert_non_null(strstr(refused.msg, "args.batch.cp_world_size is 2"));
    expect_limit(&w, &spans, "batch.span_loc[1] is 1, above the context's max_spans 0");
    expect_limit(&w, &tree, "batch.tree_words is 2, above the context's max_tree_words 1");
    expect_limit(&w, &listed, "batch.sparse[0]: the context's max_sparse_blocks is 0");
    quire_context_destroy(w.context);
    fail_alloc_init(&a, 0, false);
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = w.kv;
    cp.max_tokens = cp.max_seq_len = MAX_LEN;
    cp.threads = w.threads;
    cp.allocator = &a.hooks;
    cp.max_tree_words = 65;
    assert_status(QUIRE_E_INVALID_ARG, quire_context_create(w.model, &cp, &w.context, &err));
    assert_non_null(strstr(err.msg, "params.max_tree_words is 65, not 0 .. 64"));
    uint64_t without, with;
    cp.max_tree_words = TREE_WORDS;
    assert_status(QUIRE_OK, quire_context_bytes(w.model, &cp, &without, &err));
    cp.max_spans = 1;
    cp.max_tree_tokens = 7;
    cp.max_sparse_blocks = 1;
    assert_status(QUIRE_OK, quire_context_bytes(w.model, &cp, &with, &err));
    assert_true(with > without);
    assert_status(QUIRE_OK, quire_context_create(w.model, &cp, &w.context, &err));
    assert_int_equal(a.live_bytes, with);
    expect_limit(&w, &tree, "batch.tree_mask: 8 tokens, above the context's max_tree_tokens 7");
    expect_limit(&w, &listed,
                 "batch.sparse[0]: more entries than the context's max_sparse_blocks 1");
    must_run(&w, ids, 0, 8, &spans, again[0]);
    quire_context_destroy(w.context);
    w.context = NULL;
    assert_int_equal(a.live_count, 0);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_of_every_family),   cmocka_unit_test(trees_of_several_words),
        cmocka_unit_test(prefix_is_bidirectional), cmocka_unit_test(masks_of_latent_attention),
        cmocka_unit_test(limits_of_a_context),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
