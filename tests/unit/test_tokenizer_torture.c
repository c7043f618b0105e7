/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_torture.c - each allocation fails in turn: an error, no leak, a retry succeeds. */
#include "base/error.h"
#include "test_tokenizer.h"
#include <unistd.h>

/* A call that returns QUIRE_OK or QUIRE_E_NOMEM. */
typedef quire_status (*call_fn)(void *user, struct quire_error *err);

/* f: allocator that the call uses. The call must free what it allocated. */
static void torture(struct fail_alloc *f, call_fn call, void *user)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const size_t live = f->live_bytes, before = f->calls;
    f->fail_at = 0;
    assert_status(QUIRE_OK, call(user, &err));
    const size_t n = f->calls - before;
    assert_true(n > 0);
    for (int forever = 0; forever < 2; forever++)
        for (size_t i = 1; i <= n; i++) {
            f->calls = 0;
            f->fail_at = i;
            f->forever = forever != 0;
            const quire_status st = call(user, &err);
            f->fail_at = 0;
            /* without memory for machine code, PCRE2 falls back to its interpreter */
            assert_true(st == QUIRE_E_NOMEM || st == QUIRE_OK);
            assert_int_equal(f->live_bytes, live);
            assert_int_equal(call(user, &err), QUIRE_OK);
            assert_int_equal(f->live_bytes, live);
        }
}

struct building {
    struct vocab *v;
    struct fail_alloc f;
};

static quire_status build_once(void *user, struct quire_error *err)
{
    struct building *b = user;
    struct quire_tokenizer *t;
    const quire_status st = qr_tokenizer_build(&b->v->spec, &b->f.hooks, &t, err);
    assert_true((st == QUIRE_OK) == (t != NULL));
    quire_tokenizer_close(t);
    return st;
}

static void building(void **state)
{
    (void)state;
    struct building b = { .v = byte_vocab("deepseek-llm") };
    add_token(b.v, "ab", QUIRE_TOKEN_NORMAL);
    add_token(b.v, "<|x|>", QUIRE_TOKEN_CONTROL);
    add_merge(b.v, "a", "b");
    b.v->spec.templates[b.v->spec.n_templates++] = (struct qr_spec_template){ "", "{{ x }}" };
    fail_alloc_init(&b.f, 0, false);
    torture(&b.f, build_once, &b);
    vocab_free(b.v);
    b.v = spm_vocab();
    torture(&b.f, build_once, &b);
    vocab_free(b.v);
}

struct opening {
    const char *path;
    struct fail_alloc f;
};

static quire_status open_once(void *user, struct quire_error *err)
{
    struct opening *o = user;
    struct quire_tokenizer_params options = { .struct_size = sizeof options };
    struct quire_tokenizer *t;
    options.allocator = &o->f.hooks;
    const quire_status st = quire_tokenizer_open(o->path, &options, &t, err);
    assert_true((st == QUIRE_OK) == (t != NULL));
    quire_tokenizer_close(t);
    return st;
}

static void opening(void **state)
{
    (void)state;
    static const char json[] = "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,"
                               "\"\\u0120\":3},\"merges\":[\"a b\"]},\"pre_tokenizer\":"
                               "{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"added_"
                               "tokens\":[{\"id\":4,\"content\":\"<|x|>\",\"special\":true}]}";
    char folder[] = "/tmp/quire-tok-XXXXXX", path[2][64];
    assert_non_null(mkdtemp(folder));
    snprintf(path[0], sizeof path[0], "%s/tokenizer.json", folder);
    snprintf(path[1], sizeof path[1], "%s/chat_template.jinja", folder);
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(path[i], "wb");
        assert_non_null(f);
        fputs(i ? "{{ x }}" : json, f);
        fclose(f);
    }
    struct opening o = { .path = folder };
    fail_alloc_init(&o.f, 0, false);
    torture(&o.f, open_once, &o);
    unlink(path[0]);
    unlink(path[1]);
    rmdir(folder);
    if (need_shared()) {
        char shared[4200];
        snprintf(shared, sizeof shared, "%s/tokenizers/tokenizer.model", shared_dir());
        o.path = shared;
        torture(&o.f, open_once, &o);
    }
}

struct encoding {
    struct quire_tokenizer *t;
    const char *text;
};

static quire_status encode_once(void *user, struct quire_error *err)
{
    const struct encoding *e = user;
    int32_t ids[256];
    size_t n = 7777;
    const quire_status st = quire_tokenizer_encode(e->t, e->text, strlen(e->text),
                                                   QUIRE_ENCODE_PARSE_SPECIAL, ids, 256, &n, err);
    assert_true(st == QUIRE_OK ? n < 256 : n == 7777);
    return st;
}

static quire_status decode_once(void *user, struct quire_error *err)
{
    const struct encoding *e = user;
    static const int32_t ids[] = { 97, 98, 97 };
    struct quire_detokenizer *d;
    size_t n;
    QR_TRY(quire_tokenizer_decode(e->t, ids, 3, 0, NULL, 0, &n, err));
    const quire_status st = quire_detokenizer_create(e->t, 0, &d, err);
    quire_detokenizer_destroy(d);
    return st;
}

static void encoding(void **state)
{
    (void)state;
    static const char text[] = "ab <|x|>aab e\xCC\x81\xCC\xA3 \xFF"
                               "ababab ab";
    for (int kind = 0; kind < 4; kind++) {
        struct vocab *v = kind == 0   ? byte_vocab("qwen2")
                          : kind == 1 ? byte_vocab("tekken")
                                      : spm_vocab();
        v->spec.remove_extra_whitespaces = kind == 3;
        if (kind < 2) {
            v->spec.prepend_scheme = QR_PREPEND_ALWAYS;
            add_token(v, "ab", QUIRE_TOKEN_NORMAL);
            add_merge(v, "a", "b");
        } else {
            add_piece(v, "ab", 0);
        }
        add_token(v, "<|x|>", QUIRE_TOKEN_CONTROL);
        struct fail_alloc f;
        struct encoding e = { .text = text };
        struct quire_error err = QUIRE_ERROR_INIT;
        fail_alloc_init(&f, 0, false);
        assert_status(QUIRE_OK, qr_tokenizer_build(&v->spec, &f.hooks, &e.t, &err));
        vocab_free(v);
        torture(&f, encode_once, &e);
        torture(&f, decode_once, &e);
        quire_tokenizer_close(e.t);
        assert_int_equal(f.live_count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(building), cmocka_unit_test(opening),
                                        cmocka_unit_test(encoding) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
