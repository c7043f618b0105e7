/* SPDX-License-Identifier: Apache-2.0 */
/* uri.h - references of URIs (RFC 3986, section 5.2), as far as identifiers of schemas need
 * them. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_URI_H
#define QR_GRAMMAR_JSON_SCHEMA_URI_H
#include "grammar/json_schema/types.h"

/* The URI that `ref` names where `base` is the base URI, "" if unknown, without its fragment.
 *  fragment  receives the part behind #, percent-decoded; "" without one
 * NULL and a failure without memory. */
const char *qr_uri_resolve(struct qr_schema *s, const char *base, const char *ref,
                           const char **fragment);

#endif
