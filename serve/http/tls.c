/* SPDX-License-Identifier: Apache-2.0 */
#include "tls.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PEM_BYTES = 1 << 20 };

static char *read_file(const char *path, const char *option, struct api_error *error)
{
    FILE *f = fopen(path, "rbe");
    char *data = f ? malloc(MAX_PEM_BYTES + 1) : NULL;
    const size_t n = data ? fread(data, 1, MAX_PEM_BYTES + 1, f) : 0;
    if (f == NULL || data == NULL || ferror(f))
        api_fail(error, 500, NULL, NULL, "%s %s: %s", option, path, strerror(errno));
    else if (n > MAX_PEM_BYTES)
        api_fail(error, 500, NULL, NULL, "%s %s: the file is larger than 1 MiB", option, path);
    if (f != NULL)
        fclose(f);
    if (data == NULL || error->status != 0) {
        free(data);
        return NULL;
    }
    data[n] = '\0';
    return data;
}

bool tls_read(struct tls *tls, const char *certificate_path, const char *key_path,
              struct api_error *error)
{
    *tls = (struct tls){ 0 };
    if (certificate_path == NULL && key_path == NULL)
        return true;
    if (certificate_path == NULL || key_path == NULL)
        return api_fail(error, 500, NULL, NULL, "--tls-cert and --tls-key go together");
    tls->certificate = read_file(certificate_path, "--tls-cert", error);
    if (tls->certificate != NULL)
        tls->key = read_file(key_path, "--tls-key", error);
    if (error->status != 0)
        tls_free(tls);
    return error->status == 0;
}

void tls_free(struct tls *tls)
{
    free(tls->certificate);
    if (tls->key != NULL)
        explicit_bzero(tls->key, strlen(tls->key));
    free(tls->key);
    *tls = (struct tls){ 0 };
}
