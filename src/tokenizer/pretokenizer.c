/* SPDX-License-Identifier: Apache-2.0 */
/* pretokenizer.c - runs the splits of a pre-tokenizer with PCRE2. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/pretokenizer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/msan.h"
#include "base/utf8.h"
#include "tokenizer/pretokenizer_presets.h"
#include "tokenizer/types.h"
#include <pcre2.h>
#include <string.h>

enum { MATCH_LIMIT = 10000000, HEAP_LIMIT_KIB = 64 << 10 };

struct qr_pretokenizer {
    const struct quire_allocator *a;
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    uint32_t n_splits;
    uint8_t splits[QR_MAX_SPLITS];
    pcre2_code *code[QR_MAX_SPLITS];
};

/* PCRE2 does not pass the size to the free hook, so a header in front of the block holds it. */
enum { SIZE_HEADER = 16 };

static void *hook_alloc(PCRE2_SIZE size, void *user)
{
    if (size > SIZE_MAX - SIZE_HEADER) /* GCOVR_EXCL_BR_LINE: PCRE2 asks for no such size */
        return NULL;
    char *p = qr_alloc(user, size + SIZE_HEADER, 1);
    if (!p)
        return NULL;
    QR_MSAN_WRITTEN(p, size + SIZE_HEADER); /* PCRE2 is not instrumented */
    memcpy(p, &size, sizeof size);
    return p + SIZE_HEADER;
}

static void hook_free(void *block, void *user)
{
    if (!block)
        return;
    char *p = (char *)block - SIZE_HEADER;
    PCRE2_SIZE size;
    memcpy(&size, p, sizeof size);
    qr_free(user, p, size + SIZE_HEADER, 1);
}

static quire_status no_memory(struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for the pre-tokenizer");
}

static quire_status compile_split(struct qr_pretokenizer *p, uint32_t i, pcre2_compile_context *ctx,
                                  struct quire_error *err)
{
    enum { OUT_OF_MEMORY = 121 }; /* PCRE2 has no name for this one */
    const size_t size = qr_split_pattern_regex(p->splits[i], NULL);
    char *pattern = qr_alloc(p->a, size + 1, 1);
    int code;
    PCRE2_SIZE at;
    if (!pattern)
        return no_memory(err);
    qr_split_pattern_regex(p->splits[i], pattern);
    p->code[i] = pcre2_compile((PCRE2_SPTR)pattern, size, PCRE2_UTF | PCRE2_UCP, &code, &at, ctx);
    QR_MSAN_WRITTEN(&code, sizeof code);
    QR_MSAN_WRITTEN(&at, sizeof at);
    qr_free(p->a, pattern, size + 1, 1);
    if (!p->code[i] && code == OUT_OF_MEMORY) /* GCOVR_EXCL_BR_LINE: no other error */
        return no_memory(err);
    if (!p->code[i]) /* GCOVR_EXCL_BR_LINE: the patterns are constants, which tests compile */
        return qr_fail(err, QUIRE_E_INTERNAL, "pre-tokenizer pattern \"%s\": PCRE2 error %d at %zu",
                       qr_split_pattern_name(p->splits[i]), code, (size_t)at);
    /* without executable memory JIT fails; the interpreter finds the same matches, but slower */
    (void)pcre2_jit_compile(p->code[i], PCRE2_JIT_COMPLETE);
    return QUIRE_OK;
}

quire_status qr_pretokenizer_create(const uint8_t *splits, uint32_t n_splits,
                                    const struct quire_allocator *a, struct qr_pretokenizer **out,
                                    struct quire_error *err)
{
    *out = NULL;
    if (n_splits > QR_MAX_SPLITS)
        return qr_fail(err, QUIRE_E_LIMIT, "pre-tokenizer of %u splits, at most %d", n_splits,
                       QR_MAX_SPLITS);
    struct qr_pretokenizer *p = qr_calloc(a, 1, sizeof *p);
    if (!p)
        return no_memory(err);
    p->a = a;
    p->n_splits = n_splits;
    memcpy(p->splits, splits, n_splits);
    quire_status st = QUIRE_E_NOMEM;
    pcre2_compile_context *ctx = NULL;
    p->memory = pcre2_general_context_create(hook_alloc, hook_free, (void *)a);
    if (p->memory) {
        p->limits = pcre2_match_context_create(p->memory);
        ctx = pcre2_compile_context_create(p->memory);
    }
    if (p->limits && ctx) {
        pcre2_set_match_limit(p->limits, MATCH_LIMIT);
        pcre2_set_heap_limit(p->limits, HEAP_LIMIT_KIB);
        st = QUIRE_OK;
        for (uint32_t i = 0; i < n_splits && st == QUIRE_OK; i++)
            st = compile_split(p, i, ctx, err);
    } else {
        (void)no_memory(err);
    }
    pcre2_compile_context_free(ctx);
    if (st != QUIRE_OK) {
        qr_pretokenizer_destroy(p);
        return st;
    }
    *out = p;
    return QUIRE_OK;
}

void qr_pretokenizer_destroy(struct qr_pretokenizer *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->n_splits; i++)
        pcre2_code_free(p->code[i]);
    pcre2_match_context_free(p->limits);
    pcre2_general_context_free(p->memory);
    qr_free(p->a, p, 1, sizeof *p);
}

void *qr_pretokenizer_scratch_create(const struct qr_pretokenizer *p)
{
    return pcre2_match_data_create(1, p->memory);
}

void qr_pretokenizer_scratch_destroy(void *scratch) { pcre2_match_data_free(scratch); }

struct split_job {
    const struct qr_pretokenizer *p;
    pcre2_match_data *data;
    qr_piece_fn piece;
    void *user;
    struct quire_error *err;
};

/* Finds the next match at or after pos; *found is false if there is none. */
static quire_status next_match(const struct split_job *s, uint32_t index, const uint8_t *text,
                               size_t n, size_t pos, size_t *begin, size_t *end, bool *found)
{
    const pcre2_code *code = s->p->code[index];
    int rc = pcre2_match(code, text, n, pos, PCRE2_NO_UTF_CHECK, s->data, s->p->limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter uses the heap instead */
        rc = pcre2_match(code, text, n, pos, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, s->data,
                         s->p->limits);
    *found = rc >= 0;
    if (rc == PCRE2_ERROR_NOMATCH)
        return QUIRE_OK;
    const char *name = qr_split_pattern_name(s->p->splits[index]);
    if (rc == PCRE2_ERROR_NOMEMORY)
        return qr_fail(s->err, QUIRE_E_NOMEM, "no memory in pre-tokenizer \"%s\"", name);
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_HEAPLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT)
        return qr_fail(s->err, QUIRE_E_LIMIT, "text exceeds a match limit of pre-tokenizer \"%s\"",
                       name);
    if (rc < 0) /* GCOVR_EXCL_BR_LINE: the text is UTF-8, the arguments are valid */
        return qr_fail(s->err, QUIRE_E_INTERNAL, "pre-tokenizer \"%s\": PCRE2 error %d", name, rc);
    const PCRE2_SIZE *v = pcre2_get_ovector_pointer(s->data);
    *begin = v[0];
    *end = v[1];
    /* GCOVR_EXCL_BR_LINE: no pattern matches the empty text; the check guarantees termination */
    if (*end <= *begin || *begin < pos)
        return qr_fail(s->err, QUIRE_E_INTERNAL, "pre-tokenizer \"%s\" made no progress", name);
    return QUIRE_OK;
}

/* Applies split number `index` and all after it. Recursion depth is at most QR_MAX_SPLITS. Nothing
 * splits a single character, and text of one class can consist of them. */
static quire_status apply_split(const struct split_job *s, uint32_t index, const uint8_t *text,
                                size_t n)
{
    if (index == s->p->n_splits || (n && n == qr_utf8_len(text[0])))
        return s->piece(s->user, text, n);
    for (size_t pos = 0; pos < n;) {
        size_t begin = n, end = n;
        bool found;
        QR_TRY(next_match(s, index, text, n, pos, &begin, &end, &found));
        if (begin > pos)
            QR_TRY(apply_split(s, index + 1, text + pos, begin - pos));
        if (found)
            QR_TRY(apply_split(s, index + 1, text + begin, end - begin));
        pos = end;
    }
    return QUIRE_OK;
}

quire_status qr_pretokenizer_split(const struct qr_pretokenizer *p, void *scratch,
                                   const uint8_t *text, size_t n, qr_piece_fn piece, void *user,
                                   struct quire_error *err)
{
    const struct split_job s = { p, scratch, piece, user, err };
    return apply_split(&s, 0, text, n);
}
