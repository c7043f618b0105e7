/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - validation of attention configurations. */
#ifndef QR_ATTENTION_CONFIG_H
#define QR_ATTENTION_CONFIG_H
#include <quire/attention.h>
#include <stddef.h>

enum {
    QR_MAX_RELATIVE_RANGE = 1 << 20,
    QR_HEAD_SIZE_STEP = 8 /* other head sizes are stored as plain rows and run generic kernels */
};

/* Validates a configuration by itself. Returns enum quire_attention_reason bits. */
uint32_t qr_attention_reasons(const struct quire_attention_config *config);

/* V head size with its default applied. */
static inline uint32_t qr_attention_v_size(const struct quire_attention_config *c)
{
    return c->v_head_size ? c->v_head_size : c->head_size;
}

/* Values of one head in relative_bias. */
static inline size_t qr_attention_relative_row(const struct quire_attention_config *c)
{
    return 2 * (size_t)c->relative_range + 1;
}

/* Fails with QUIRE_E_UNSUPPORTED and the texts of `reasons`, as many as the message can hold.
 * `name` is that of the configuration, less than 100 bytes; "" if it needs none. */
quire_status qr_attention_refuse(uint32_t reasons, const char *name, struct quire_error *err);

/* Copies a caller's configuration to this library's size (base/struct_size.h). `name` is for
 * messages. */
quire_status qr_attention_config_read(struct quire_attention_config *out,
                                      const struct quire_attention_config *config, const char *name,
                                      struct quire_error *err);

#endif
