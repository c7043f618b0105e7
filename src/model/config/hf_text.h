/* SPDX-License-Identifier: Apache-2.0 */
/* hf_text.h - texts of config.json as Python writes them. */
#ifndef QR_MODEL_CONFIG_HF_TEXT_H
#define QR_MODEL_CONFIG_HF_TEXT_H
#include <stddef.h>

/* Replaces the literals Infinity and -Infinity, which Python writes and JSON does not have, by null
 * and spaces; strings stay as they are. Returns how many it found. */
size_t qr_hf_replace_infinities(char *text, size_t size);

#endif
