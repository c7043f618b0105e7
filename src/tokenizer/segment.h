/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h - splits text at overlong runs of one character class. */
#ifndef QR_TOKENIZER_SEGMENT_H
#define QR_TOKENIZER_SEGMENT_H
#include <stddef.h>
#include <stdint.h>

/* End (> begin) of the longest segment of text[0 .. n) that starts at `begin` and has no run of one
 * character class longer than QR_MAX_RUN_BYTES. Never inside a character. */
size_t qr_segment_end(const uint8_t *text, size_t begin, size_t n);

#endif
