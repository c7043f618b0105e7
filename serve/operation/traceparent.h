/* SPDX-License-Identifier: Apache-2.0 */
/* traceparent.h - the header of W3C Trace Context. */
#ifndef QUIRE_SERVE_TRACEPARENT_H
#define QUIRE_SERVE_TRACEPARENT_H
#include <stdbool.h>
#include <stdint.h>

struct traceparent {
    uint8_t trace_id[16], parent_id[8];
    bool sampled;
};

/* False: the header is not well-formed, and is ignored. */
bool traceparent_parse(struct traceparent *p, const char *header);

#endif
