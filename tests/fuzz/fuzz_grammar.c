/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_grammar.c - grammars of all kinds: [kind: 1 byte] [flags: 1 byte] text.
 *
 * Checks that every text ends with a grammar or an error within its limits of memory, and walks
 * over the grammar: a mask allows a token if and only if the matcher does, and rollback returns to
 * the mask before. */
#include "fuzz.h"
#include "packed_files.h"
#include "tiny_model.h"
#include <quire/grammar.h>
#include <quire/tokenizer.h>
#include <string.h>

enum { MAX_MEMORY = 16 << 20, STEPS = 12, WORDS = 64, MAX_TEXT = 1 << 14 };

static struct quire_tokenizer *tok;
static struct quire_grammar_vocab *vocab;

static void set_up(void)
{
    static const struct tiny_shape shape = { NULL, 1, 8, 2, 2, 8, 64, 0, TINY_BYTES, false };
    struct fuzz_buffer file = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    tiny_model(&shape, &file);
    quire_status s = quire_tokenizer_open_memory(file.data, file.size, NULL, 0, NULL, &tok, &err);
    fuzz_check(s == QUIRE_OK, "%s", err.msg);
    s = quire_grammar_vocab_create(tok, NULL, &vocab, &err);
    fuzz_check(s == QUIRE_OK, "%s", err.msg);
    fuzz_check(quire_grammar_mask_words(vocab) <= WORDS, "vocabulary");
    fuzz_buffer_free(&file);
}

static bool limited(quire_status s)
{
    return s == QUIRE_E_LIMIT || s == QUIRE_E_NOMEM || s == QUIRE_E_MISMATCH;
}

/* One token, drawn from those that the mask allows; false at the end. */
static bool step(struct quire_grammar_matcher *m, uint32_t *seed)
{
    uint32_t mask[WORDS], again[WORDS];
    const size_t n_words = quire_grammar_mask_words(vocab);
    const int32_t n = (int32_t)quire_tokenizer_vocab_size(tok);
    int32_t pick = -1;
    quire_status s = quire_grammar_matcher_mask(m, mask, n_words, NULL);
    fuzz_check(s == QUIRE_OK || limited(s), "mask: %s", fuzz_status(s));
    if (s != QUIRE_OK)
        return false;
    for (int32_t t = 0; t < n; t++) {
        const bool allowed = mask[t / 32] >> (t % 32) & 1;
        if (quire_tokenizer_is_eog(tok, t))
            continue;
        fuzz_check(quire_grammar_matcher_check(m, &t, 1) == allowed, "token %d", t);
        *seed = *seed * 1664525u + 1013904223u;
        if (allowed && (pick < 0 || *seed >> 29 == 0))
            pick = t;
    }
    if (pick < 0)
        return false;
    s = quire_grammar_matcher_commit(m, &pick, 1, NULL);
    fuzz_check(s == QUIRE_OK, "commit: %s", fuzz_status(s));
    s = quire_grammar_matcher_rollback(m, 1, NULL);
    fuzz_check(s == QUIRE_OK, "rollback: %s", fuzz_status(s));
    if (quire_grammar_matcher_mask(m, again, n_words, NULL) == QUIRE_OK)
        fuzz_check(memcmp(mask, again, n_words * sizeof *mask) == 0, "mask after rollback");
    return quire_grammar_matcher_commit(m, &pick, 1, NULL) == QUIRE_OK;
}

static void walk(struct quire_grammar *g, uint32_t seed)
{
    struct quire_grammar_matcher *m = NULL;
    if (quire_grammar_matcher_create(g, &m, NULL) != QUIRE_OK)
        return;
    for (int i = 0; i < STEPS && step(m, &seed); i++)
        ;
    quire_grammar_matcher_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quire_grammar_params p;
    struct quire_grammar *g = NULL;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!vocab)
        set_up();
    if (size < 2 || size > MAX_TEXT)
        return 0;
    quire_grammar_params_init(&p, sizeof p);
    p.kind = (enum quire_grammar_kind)(data[0] % (QUIRE_GRAMMAR_STRUCTURAL_TAG + 1));
    p.flags = data[1] & (QUIRE_GRAMMAR_COMPACT | QUIRE_GRAMMAR_ORDERED);
    p.text = (const char *)data + 2;
    p.text_size = size - 2;
    p.max_seconds = 2;
    p.max_bytes = MAX_MEMORY;
    const quire_status s = quire_grammar_compile(vocab, &p, &g, &err);
    fuzz_check_error(s, &err);
    fuzz_check((s == QUIRE_OK) == (g != NULL), "%s", fuzz_status(s));
    if (g)
        walk(g, (uint32_t)size);
    quire_grammar_destroy(g);
    return 0;
}
