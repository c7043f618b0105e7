/* SPDX-License-Identifier: Apache-2.0 */
/* electra.c - ELECTRA: BERT without a pooler, with a classification head of its own. Of the
 * discriminator's pretraining head and the generator's head nothing is computed. */
#include "model/arch/bert_like.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 30522 },
    { "embedding_size", 128 },
    { "hidden_size", 256 },
    { "num_hidden_layers", 12 },
    { "num_attention_heads", 4 },
    { "intermediate_size", 1024 },
    { "max_position_embeddings", 512 },
    { "type_vocab_size", 2 },
    { "rms_norm_eps", 1e-12 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "is_decoder", false },
    { "add_cross_attention", false },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "position_embedding_type", "absolute" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "summary_*", NULL }, /* of a head for multiple choice */
    { 0 },
};

static const struct qr_name_rule names[] = {
    QR_BERT_EMBEDDING_NAMES("electra."),
    { QR_W_EMBD_PROJ, QR_SLICE_ALL, "electra.embeddings_project.weight" },
    { QR_W_EMBD_PROJ_BIAS, QR_SLICE_ALL, "electra.embeddings_project.bias" },
    QR_ROBERTA_CLASS_NAMES,
    QR_BERT_LAYER_NAMES("electra."),
    { 0 },
};

/* Positions 0, 1, 2, ...; the heads of the pretraining. */
static const char *const ignored_tensors[] = { "*embeddings.position_ids",
                                               "discriminator_predictions.*",
                                               "generator_predictions.*", "generator_lm_head.*",
                                               NULL };

const struct qr_arch qr_arch_electra = {
    .name = "electra",
    .hf_types = { "electra" },
    QR_BERT_LIKE,
    .activation = QR_ACT_GELU_ERF,
    .embedding_projection = true,
    .ignored_tensors = ignored_tensors,
    .hf_class_head = QR_CLASS_DENSE_GELU,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
};
