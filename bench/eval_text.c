/* SPDX-License-Identifier: Apache-2.0 */
/* eval_text.c - `quire-eval tokenize`: prints ids of a text or compares them with stored ids. */
#include "eval.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Separator of texts in an .inp file. */
static const char separator[] = "\n__ggml_vocab_test__\n";

static int32_t *encode(const struct quire_tokenizer *tok, const char *text, size_t size, size_t *n)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    int32_t *ids = NULL;
    quire_status s = quire_tokenizer_encode(tok, text, size, 0, NULL, 0, n, &err);
    if (s == QUIRE_OK) {
        ids = malloc((*n + 1) * sizeof *ids);
        if (ids)
            s = quire_tokenizer_encode(tok, text, size, 0, ids, *n + 1, n, &err);
    }
    if (s == QUIRE_OK && ids)
        return ids;
    eval_fail("encode", s, &err);
    free(ids);
    return NULL;
}

static void print_ids(FILE *to, const char *label, const int32_t *ids, size_t n)
{
    fputs(label, to);
    for (size_t i = 0; i < n; i++)
        fprintf(to, " %d", ids[i]);
    fputc('\n', to);
}

/* Compares the ids of a text with one line of ids; advances *line past it. */
static bool check_text(const struct quire_tokenizer *tok, const char *text, size_t size,
                       const char **line, int index)
{
    size_t n, i = 0;
    int32_t *ids = encode(tok, text, size, &n);
    if (!ids)
        return false;
    bool same = true;
    const char *p = *line;
    while (*p && *p != '\n') {
        char *end;
        const long want = strtol(p, &end, 10);
        if (end == p)
            break;
        same = same && i < n && ids[i] == want;
        i++;
        p = end;
        while (*p == ' ')
            p++;
    }
    same = same && i == n;
    if (!same) {
        printf("FAIL text %d\n", index);
        print_ids(stdout, "  got ", ids, n);
        printf("  want %.*s\n", (int)strcspn(*line, "\n"), *line);
    }
    *line += strcspn(*line, "\n");
    *line += **line == '\n';
    free(ids);
    return same;
}

static int check_file(const struct quire_tokenizer *tok, const struct eval_options *o)
{
    size_t inp_size, out_size;
    char *inp = eval_read_file(o->input, &inp_size), *out = eval_read_file(o->output, &out_size);
    int n = 0, wrong = 0;
    if (inp && out) {
        const char *line = out;
        for (const char *text = inp; text; n++) {
            const char *end = strstr(text, separator);
            const size_t size = end ? (size_t)(end - text) : (size_t)(inp + inp_size - text);
            if (!end && size == 0)
                break;
            wrong += !check_text(tok, text, size, &line, n);
            text = end ? end + strlen(separator) : NULL;
        }
        printf("%s %s: %d of %d texts\n", wrong || !n ? "FAIL" : "ok  ", o->model, n - wrong, n);
    }
    const int code = !inp || !out ? 66 : wrong || !n;
    free(inp);
    free(out);
    return code;
}

int eval_tokenize(const struct eval_options *o)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *tok;
    if (!o->model || !(o->prompt || (o->input && o->output))) {
        fprintf(stderr, "quire-eval tokenize: needs -m and either --inp with --out, or -p\n");
        return 64;
    }
    const quire_status s = quire_tokenizer_open(o->model, NULL, &tok, &err);
    if (s != QUIRE_OK)
        return eval_fail(o->model, s, &err);
    int code = 0;
    if (o->prompt) {
        size_t n;
        int32_t *ids = encode(tok, o->prompt, strlen(o->prompt), &n);
        if (ids)
            print_ids(stdout, "ids", ids, n);
        code = ids ? 0 : 65;
        free(ids);
    } else {
        code = check_file(tok, o);
    }
    quire_tokenizer_close(tok);
    return code;
}
