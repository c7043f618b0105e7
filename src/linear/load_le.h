/* SPDX-License-Identifier: Apache-2.0 */
/* load_le.h - unaligned little-endian fields of quantized blocks. */
#ifndef QR_LINEAR_LOAD_LE_H
#define QR_LINEAR_LOAD_LE_H
#include <stdint.h>
#include <string.h>

static inline uint16_t qr_load_le16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t qr_load_le32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#endif
