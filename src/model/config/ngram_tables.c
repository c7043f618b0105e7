/* SPDX-License-Identifier: Apache-2.0 */
/* ngram_tables.c - sizes and hash multipliers of the tables of n-gram embeddings. */
#include "model/config/ngram_tables.h"
#include "base/error.h"

static bool is_prime(uint32_t n)
{
    if (n % 2 == 0)
        return n == 2;
    for (uint32_t d = 3; (uint64_t)d * d <= n; d += 2)
        if (n % d == 0)
            return false;
    return n > 1;
}

/* The output function of SplitMix64, for the state before its increment. */
static uint64_t splitmix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Odd numbers, whose products with a token stay below 2^63. */
static void fill_multipliers(const struct qr_model_config *cfg, uint32_t seed, uint32_t layer,
                             uint64_t *out)
{
    const uint64_t bound = INT64_MAX / cfg->vocab_size / 2;
    const uint64_t start = seed + (uint64_t)10007 * layer;
    for (uint32_t i = 0; i < cfg->ngram.size; i++)
        out[i] = 2 * (splitmix64(start + 0x9e3779b97f4a7c15u * (i + 1)) % bound) + 1;
}

quire_status qr_ngram_tables_fill(struct qr_model_config *cfg, const struct qr_ngram_tables *t,
                                  struct quire_error *err)
{
    struct qr_ngram_config *n = &cfg->ngram;
    const uint32_t heads = (n->size - 1) * n->heads;
    uint32_t *sizes = qr_arena_alloc(&cfg->memory, n->n_layers, heads * sizeof *sizes);
    uint64_t *multipliers =
        qr_arena_alloc(&cfg->memory, n->n_layers, n->size * sizeof *multipliers);
    if (!sizes || !multipliers)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tables of %u layers", n->n_layers);
    if (cfg->vocab_size == 0)
        return qr_fail(err, QUIRE_E_FORMAT, "config.json: vocab_size is 0");
    uint32_t prime = t->base - 1;
    for (uint32_t i = 0, k = 0; i < cfg->n_layers; i++) {
        uint64_t rows = 0;
        if (!cfg->layers[i].ngram)
            continue;
        for (uint32_t h = 0; h < heads; h++) {
            do
                prime++;
            while (!is_prime(prime));
            sizes[k * heads + h] = prime;
            rows += prime;
        }
        rows = (rows + t->divisor - 1) / t->divisor * t->divisor;
        if (rows % n->n_parts != 0)
            return qr_fail(err, QUIRE_E_UNSUPPORTED,
                           "config.json: split_ngram_parts is %u, the table of layer %u has %llu "
                           "rows, which they do not divide",
                           n->n_parts, i, (unsigned long long)rows);
        cfg->layers[i].ngram_rows = rows / n->n_parts;
        fill_multipliers(cfg, t->seed, k, multipliers + (size_t)k * n->size);
        k++;
    }
    n->sizes = sizes;
    n->multipliers = multipliers;
    return QUIRE_OK;
}
