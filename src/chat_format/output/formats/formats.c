/* SPDX-License-Identifier: Apache-2.0 */
/* formats.c - the list of the output formats. */
#include "chat_format/output/formats/formats.h"
#include <string.h>

#define X(name) &qr_format_##name,
const struct qr_output_format *const qr_output_formats[] = { QR_OUTPUT_FORMATS(X) NULL };
#undef X

const struct qr_output_format *qr_output_format_find(const char *name)
{
    for (size_t i = 0; qr_output_formats[i]; i++)
        if (strcmp(qr_output_formats[i]->name, name) == 0)
            return qr_output_formats[i];
    return NULL;
}
