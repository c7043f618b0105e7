/* SPDX-License-Identifier: Apache-2.0 */
/* panel_format.c - panel formats of the quantized weight types. */
#include "linear/panel_format.h"
#include "base/weight_type.h"

static const struct {
    uint32_t type;
    struct qr_panel_format format;
} formats[] = {
#define X(name, NAME, ...) { QR_WEIGHT_##NAME, QR_PANEL_FORMAT(__VA_ARGS__) },
    QR_QUANT_TYPES(X)
#undef X
};

const struct qr_panel_format *qr_weight_panel_format(uint32_t type)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].type == type)
            return &formats[i].format;
    return NULL;
}
