/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - which tokens of a draft the model confirms. */
#ifndef QR_ENGINE_SPECULATION_VERIFY_H
#define QR_ENGINE_SPECULATION_VERIFY_H
#include <quire/status.h>
#include <stdbool.h>
#include <stdint.h>

/* A draft d[0 .. n-1] is verified by one step of n + 1 rows: the request's last token, then the
 * draft. Row i has the logits of the token that follows d[0 .. i-1]. The rows are sampled in order
 * with the request's sampler, and a draft token is accepted if it equals the sampled token.
 *
 * This gives the tokens of plain decoding, at every temperature, not only their distribution:
 * - While all sampled tokens equal the draft, row i has the same tokens before it as in plain
 *   decoding. By batch invariance its logits have the same bits.
 * - The sampler is a function of these logits, the tokens before, the parameters and the random
 *   number of (seed, stream, index). None of them depends on the draft.
 * - The first token that differs is the one that plain decoding samples there; later rows follow
 *   a token that is not in the answer and are not sampled.
 *
 * Speculative sampling (Leviathan et al. 2023) accepts token x of draft distribution q with
 * probability min(1, p(x) / q(x)). For a draft without randomness, q(x) = 1, this is p(x), the same
 * as here. A draft model keeps its acceptance high if it samples with the request's parameters and
 * the random number of the same index: where p = q it draws the same token. */

/* Samples row `row` as plain decoding does and appends the token to the answer. Sets *ends if no
 * token follows it: an end-of-generation token, a stop string, a limit. */
typedef quire_status (*qr_verify_sample_fn)(void *user, uint32_t row, int32_t *token, bool *ends);

struct qr_verify_result {
    uint32_t n_sampled;  /* tokens appended to the answer */
    uint32_t n_accepted; /* of the draft. The step's keys and values are valid in its first
                          * n_accepted + 1 rows; the others must be dropped */
};

/* Verifies draft[n_draft]; with n_draft 0 it samples one token. A failure of `sample` ends the
 * verification and is returned; *result then counts the rows before it. */
quire_status qr_verify_draft(const int32_t *draft, uint32_t n_draft, qr_verify_sample_fn sample,
                             void *user, struct qr_verify_result *result);

#endif
