/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - samples the rows of a draft until a token differs from it. */
#include "engine/speculation/verify.h"

quire_status qr_verify_draft(const int32_t *draft, uint32_t n_draft, qr_verify_sample_fn sample,
                             void *user, struct qr_verify_result *result)
{
    *result = (struct qr_verify_result){ 0 };
    for (uint32_t row = 0; row <= n_draft; row++) {
        int32_t token = -1;
        bool ends = false;
        const quire_status status = sample(user, row, &token, &ends);
        if (status != QUIRE_OK)
            return status;
        result->n_sampled++;
        const bool accepted = row < n_draft && token == draft[row];
        result->n_accepted += accepted;
        if (ends || !accepted)
            break;
    }
    return QUIRE_OK;
}
