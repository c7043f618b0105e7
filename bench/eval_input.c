/* SPDX-License-Identifier: Apache-2.0 */
/* eval_input.c - errors, files and texts of the commands. */
#include "eval.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int eval_fail(const char *what, quire_status status, const struct quire_error *err)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
            err && err->msg[0] ? err->msg : quire_status_text(status));
    switch (status) {
    case QUIRE_E_INVALID_ARG:
        return 64;
    case QUIRE_E_FORMAT:
    case QUIRE_E_MISMATCH:
    case QUIRE_E_CORRUPT:
        return 65;
    case QUIRE_E_IO:
        return 66;
    case QUIRE_E_UNSUPPORTED:
        return 69;
    case QUIRE_E_NOMEM:
        return 75;
    default:
        return 70;
    }
}

char *eval_read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *data = NULL;
    long n = -1;
    if (f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0)
        data = malloc((size_t)n + 1);
    if (data && fread(data, 1, (size_t)n, f) != (size_t)n) {
        free(data);
        data = NULL;
    }
    if (f)
        fclose(f);
    if (!data) {
        fprintf(stderr, "%s: cannot read %s\n", program_invocation_short_name, path);
        return NULL;
    }
    data[n] = 0;
    *size = (size_t)n;
    return data;
}

int32_t *eval_tokens(const struct eval_options *o, const char *text, size_t size, size_t *n,
                     int *code)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *tok;
    int32_t *ids = NULL;
    quire_status s = quire_tokenizer_open(o->model, NULL, &tok, &err);
    if (s == QUIRE_OK) {
        s = quire_tokenizer_encode(tok, text, size, QUIRE_ENCODE_ADD_BOS, NULL, 0, n, &err);
        ids = s == QUIRE_OK ? malloc((*n + 1) * sizeof *ids) : NULL;
        if (ids)
            s = quire_tokenizer_encode(tok, text, size, QUIRE_ENCODE_ADD_BOS, ids, *n + 1, n, &err);
        quire_tokenizer_close(tok);
    }
    if (s == QUIRE_OK && ids)
        return ids;
    *code = eval_fail(o->model, s, &err);
    free(ids);
    return NULL;
}
