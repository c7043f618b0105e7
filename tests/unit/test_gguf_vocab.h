/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_vocab.h - small vocabularies as GGUF files, with keys that a test replaces. */
#ifndef QR_TEST_GGUF_VOCAB_H
#define QR_TEST_GGUF_VOCAB_H
#include "test_gguf.h"
#include "test_tokenizer.h"
#include "tokenizer/open_gguf.h"

#define LEN(array) (sizeof(array) / sizeof *(array))
#define KEY(name)  "tokenizer.ggml." name
#define SPACE      "\u2581"

enum { MAX_ENTRIES = 24, STRINGS = 100, INTS, FLOATS, NO_KEY };

struct entry {
    const char *key;
    uint32_t type; /* of a value, or an array: STRINGS, INTS, FLOATS; NO_KEY removes the key */
    const char *strings; /* separated by | */
    double number;       /* of a value, or of all elements */
};

static inline size_t count_strings(const char *s)
{
    size_t n = 1;
    for (; *s; s++)
        n += *s == '|';
    return n;
}

static inline void put_strings(struct image *m, const char *s)
{
    for (size_t n = count_strings(s); n; n--) {
        const size_t size = strcspn(s, "|");
        put_u64(m, size);
        put(m, s, size);
        s += size + 1;
    }
}

static inline void put_entry(struct image *m, const struct entry *e)
{
    const size_t n = e->strings ? count_strings(e->strings) : 0;
    const float f = (float)e->number;
    switch (e->type) {
    case STRINGS:
        put_kv_array(m, e->key, QR_GGUF_STRING, n);
        put_strings(m, e->strings);
        break;
    case INTS:
    case FLOATS:
        put_kv_array(m, e->key, e->type == INTS ? QR_GGUF_I32 : QR_GGUF_F32, n);
        for (size_t i = 0; i < n; i++)
            e->type == INTS ? put_u32(m, (uint32_t)(int32_t)e->number) : put(m, &f, sizeof f);
        break;
    case QR_GGUF_STRING:
        put_kv_str(m, e->key, e->strings);
        break;
    case QR_GGUF_BOOL:
        put_key(m, e->key, QR_GGUF_BOOL);
        put_u8(m, e->number != 0);
        break;
    default:
        put_key(m, e->key, e->type);
        put_u32(m, (uint32_t)(int64_t)e->number);
        break;
    }
}

/* Opens a vocabulary whose entries `extra` replaces or extends. */
static inline quire_status open_vocab(const struct entry *base, const struct entry *extra,
                                      size_t n_extra, struct quire_tokenizer **t,
                                      struct quire_error *err)
{
    struct entry all[MAX_ENTRIES];
    size_t n = 0, count = 0;
    for (; base[n].key; n++)
        all[n] = base[n];
    for (size_t i = 0; i < n_extra; i++) {
        size_t at = 0;
        while (at < n && strcmp(all[at].key, extra[i].key) != 0)
            at++;
        all[at] = extra[i];
        n = at == n ? n + 1 : n;
    }
    struct image m;
    for (size_t i = 0; i < n; i++)
        count += all[i].type != NO_KEY;
    put_head(&m, 3, 0, count);
    for (size_t i = 0; i < n; i++)
        if (all[i].type != NO_KEY)
            put_entry(&m, &all[i]);
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    struct quire_tokenizer_params params = { .struct_size = sizeof params, .allocator = &f.hooks };
    *err = (struct quire_error)QUIRE_ERROR_INIT;
    const quire_status s = qr_tokenizer_open_gguf_memory(m.data, m.size, &params, t, err);
    if (s == QUIRE_OK) { /* once more without hooks, which end with this call */
        quire_tokenizer_close(*t);
        assert_status(QUIRE_OK, qr_tokenizer_open_gguf_memory(m.data, m.size, NULL, t, err));
    }
    assert_int_equal(f.live_count, 0);
    drop(&m);
    return s;
}

static const struct entry gpt2[] = {
    { KEY("model"), QR_GGUF_STRING, "gpt2", 0 },
    { KEY("pre"), QR_GGUF_STRING, "gpt-2", 0 },
    { KEY("tokens"), STRINGS, "a|b|ab|<s>|</s>", 0 },
    { KEY("token_type"), INTS, "1|1|1|1|1", 1 },
    { KEY("merges"), STRINGS, "a b", 0 },
    { 0 },
};
static const struct entry llama[] = {
    { KEY("model"), QR_GGUF_STRING, "llama", 0 },
    { KEY("tokens"), STRINGS, "<unk>|<s>|</s>|\u2581|a|<0x41>|<|x|>", 0 },
    { KEY("scores"), FLOATS, "1|1|1|1|1|1|1|1|1", -1 },
    { 0 },
};
static const struct entry gemma4[] = {
    { KEY("model"), QR_GGUF_STRING, "gemma4", 0 },
    { KEY("tokens"), STRINGS, "<unk>|<bos>|\u2581|a|b|\u2581a|\n|\n\n|<0xC3>|<0xA9>", 0 },
    { KEY("merges"), STRINGS, "\u2581 a|\n \n", 0 },
    { KEY("bos_token_id"), QR_GGUF_U32, NULL, 1 },
    { 0 },
};
static const struct entry t5[] = {
    { KEY("model"), QR_GGUF_STRING, "t5", 0 },
    { KEY("tokens"), STRINGS, "<unk>|</s>|\u2581|a", 0 },
    { KEY("scores"), FLOATS, "1|1|1|1", -1 },
    { 0 },
};
static const struct entry bert[] = {
    { KEY("model"), QR_GGUF_STRING, "bert", 0 },
    { KEY("tokens"), STRINGS, "[UNK]|[CLS]|[SEP]|[PAD]|[MASK]|\u2581a|b", 0 },
    { 0 },
};

#endif
