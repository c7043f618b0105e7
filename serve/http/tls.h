/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h - certificate and key of the server. */
#ifndef QUIRE_SERVE_TLS_H
#define QUIRE_SERVE_TLS_H
#include "error.h"
#include <stdbool.h>

/* Contents of the PEM files; NULL: no TLS. */
struct tls {
    char *certificate, *key;
};

/* Reads both files, of at most 1 MiB each. Both paths NULL: no TLS. The key's copy in memory is
 * cleared by tls_free(). False: *error. */
bool tls_read(struct tls *tls, const char *certificate_path, const char *key_path,
              struct api_error *error);
void tls_free(struct tls *tls);

#endif
