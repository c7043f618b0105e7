/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"
#include "base/weight_type.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Names and numbers of file types as GGUF tools have them. */
static const struct scheme schemes[] = {
    { "F32", QR_WEIGHT_F32, 0, false },        { "F16", QR_WEIGHT_F16, 1, false },
    { "BF16", QR_WEIGHT_BF16, 32, false },     { "Q8_0", QR_WEIGHT_Q8_0, 7, false },
    { "Q6_K", QR_WEIGHT_Q6_K, 18, false },     { "Q5_K_M", QR_WEIGHT_Q5_K, 17, true },
    { "Q5_K", QR_WEIGHT_Q5_K, 16, false },     { "Q5_K_S", QR_WEIGHT_Q5_K, 16, false },
    { "Q4_K_M", QR_WEIGHT_Q4_K, 15, true },    { "Q4_K", QR_WEIGHT_Q4_K, 14, false },
    { "Q4_K_S", QR_WEIGHT_Q4_K, 14, false },   { "IQ4_NL", QR_WEIGHT_IQ4_NL, 25, false },
    { "IQ4_XS", QR_WEIGHT_IQ4_XS, 30, false }, { "MXFP4", QR_WEIGHT_MXFP4, 38, false },
    { "Q4_0", QR_WEIGHT_Q4_0, 2, false },
};

const struct scheme *scheme_at(size_t i)
{
    return i < sizeof schemes / sizeof schemes[0] ? &schemes[i] : NULL;
}

const struct scheme *scheme_find(const char *name)
{
    const struct scheme *s;
    for (size_t i = 0; (s = scheme_at(i)); i++)
        if (strcasecmp(name, s->name) == 0)
            return s;
    return NULL;
}

static bool ends_with(const struct qr_gguf_tensor *t, const char *suffix)
{
    const size_t n = strlen(suffix);
    return t->name_len >= n && memcmp(t->name + t->name_len - n, suffix, n) == 0;
}

/* What follows "blk.<layer>." in the name; NULL: it belongs to no layer. */
static const char *name_in_layer(const struct qr_gguf_tensor *t, unsigned *layer)
{
    int n = 0;
    return sscanf(t->name, "blk.%9u.%n", layer, &n) == 1 && n ? t->name + n : NULL;
}

/* Tables of integers, such as the experts of a token. */
static bool is_integer(uint32_t type)
{
    const char *name = qr_weight_type_info(type)->name;
    return name[0] == 'I' && name[1] >= '0' && name[1] <= '9';
}

/* Vectors of RWKV, which files store with several dimensions, and its low-rank matrices, which
 * hardly count for the size. */
static bool is_small_mix(const struct qr_gguf_tensor *t)
{
    static const char *const low_rank[] = { "w1", "w2", "a1", "a2",       "v1",
                                            "v2", "g1", "g2", "decay_w1", "decay_w2" };
    unsigned layer = 0;
    const char *name = name_in_layer(t, &layer);
    if (!name || strncmp(name, "time_mix_", 9) != 0)
        return name && strncmp(name, "channel_mix_lerp_", 17) == 0;
    name += 9;
    for (size_t i = 0; i < sizeof low_rank / sizeof low_rank[0]; i++) {
        const size_t n = strlen(low_rank[i]);
        if (strncmp(name, low_rank[i], n) == 0 && name[n] == '.')
            return true;
    }
    return strncmp(name, "lerp_", 5) == 0 || strcmp(name, "first.weight") == 0;
}

static bool keeps_type(const struct qr_gguf_tensor *t)
{
    static const char *const parts[] = { "_norm.weight",           "ffn_gate_inp.weight",
                                         "_gate_inp_shexp.weight", "_conv1d.weight",
                                         "position_embd.weight",   "token_types.weight",
                                         "attn_rel_b.weight",      "_compressor_ape.weight" };
    if (t->n_dims < 2 || !ends_with(t, ".weight") || is_integer(t->type) || is_small_mix(t))
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (ends_with(t, parts[i]))
            return true;
    return false;
}

/* The layers whose sensitive matrices get more bits in a mixture: the first and the last eighth,
 * and every third between. */
static bool has_more_bits(unsigned layer, uint32_t n_layers)
{
    const uint32_t eighth = n_layers / 8;
    return layer < eighth || layer >= 7 * n_layers / 8 || (layer - eighth) % 3 == 2;
}

static bool is_sensitive(const struct plan *p, const struct qr_gguf_tensor *t)
{
    unsigned layer = 0;
    const char *name = name_in_layer(t, &layer);
    if (!name)
        return strcmp(t->name, p->tied ? "token_embd.weight" : "output.weight") == 0;
    return p->scheme->mixture && has_more_bits(layer, p->n_layers) &&
           (strcmp(name, "attn_v.weight") == 0 || strncmp(name, "ffn_down", 8) == 0);
}

static uint32_t bits_of(uint32_t type)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    return 8u * info->block_bytes / info->block_elems;
}

uint32_t plan_type(const struct plan *p, const struct qr_gguf_tensor *t)
{
    uint32_t type = p->scheme->type;
    size_t bytes;
    if (keeps_type(t))
        return t->type;
    if (!p->pure && bits_of(type) < 6 && is_sensitive(p, t))
        type = QR_WEIGHT_Q6_K;
    if (!qr_weight_row_bytes(type, t->dims[0], &bytes))
        type = bits_of(type) < 5 ? QR_WEIGHT_IQ4_NL : QR_WEIGHT_Q8_0;
    return qr_weight_row_bytes(type, t->dims[0], &bytes) ? type : QR_WEIGHT_F16;
}
