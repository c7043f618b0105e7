/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - derives a batch without padding from a padded one. */
#include "base/error.h"
#include "base/struct_size.h"
#include <quire/attention.h>

quire_status quire_attention_batch_unpadded(const struct quire_attention_batch *batch,
                                            uint32_t n_tokens, uint32_t n_seqs,
                                            struct quire_attention_batch *out,
                                            struct quire_error *err)
{
    if (!batch || !out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", batch ? "out" : "batch");
    struct quire_attention_batch view;
    QR_READ_STRUCT(&view, batch, sparse, "batch", err);
    if (n_seqs > batch->n_seqs)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_seqs is %u, the batch has %u", n_seqs,
                       batch->n_seqs);
    if (n_seqs && !batch->query_start_loc)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.query_start_loc is NULL");
    const int64_t tokens = n_seqs ? batch->query_start_loc[n_seqs] : 0;
    if (n_tokens != tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_tokens is %u, but %u sequences have %lld",
                       n_tokens, n_seqs, (long long)tokens);
    view.n_seqs = n_seqs;
    out->struct_size = batch->struct_size; /* both are of the caller's version */
    qr_struct_write(out, &view, sizeof view);
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_attention_batch)
