/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_header.h - parser of the JSON header of a safetensors file. */
#ifndef QR_FORMAT_SAFETENSORS_HEADER_H
#define QR_FORMAT_SAFETENSORS_HEADER_H
#include "format/safetensors.h"

/* Parses the header text. With tensors == NULL it checks the syntax and counts the tensors;
 * otherwise it fills tensors[*count] and NUL-terminates every name in place, after which the text
 * cannot be parsed again. Offsets are relative to the end of the header. */
quire_status qr_safetensors_parse(char *header, size_t bytes, struct qr_safetensor *tensors,
                                  size_t *count, struct quire_error *err);

#endif
