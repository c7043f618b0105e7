/* SPDX-License-Identifier: Apache-2.0 */
/* test_score_gguf.h - writes checkpoints with classification heads as GGUF files. */
#ifndef QR_TEST_SCORE_GGUF_H
#define QR_TEST_SCORE_GGUF_H
#include "engine_heads.h"

struct key {
    const char *name;
    uint32_t value;
};

/* A family of GGUF files: its keys, and the names of its tensors instead of those of folders. */
struct family {
    const char *arch;
    struct key keys[12];
    struct {
        const char *key;
        float value;
    } floats[4];
    const char *names[20][2];
    const char *left_out;  /* tensors that converters leave out */
    const char *labels[2]; /* NULL: LABEL_0 */
    bool causal;
};

static inline void put_keys(struct image *m, const struct family *f, uint64_t n_tensors)
{
    char name[80];
    uint64_t n = 3;
    for (const struct key *k = f->keys; k->name; k++)
        n++;
    for (size_t i = 0; f->floats[i].key; i++)
        n++;
    put_head(m, 3, n_tensors, n);
    put_kv_str(m, "general.architecture", f->arch);
    snprintf(name, sizeof name, "%s.attention.causal", f->arch);
    put_key(m, name, QR_GGUF_BOOL);
    put_u8(m, f->causal);
    snprintf(name, sizeof name, "%s.classifier.output_labels", f->arch);
    put_kv_array(m, name, QR_GGUF_STRING, f->labels[0] ? 2 : 1);
    put_str(m, f->labels[0] ? f->labels[0] : "LABEL_0");
    if (f->labels[0])
        put_str(m, f->labels[1]);
    for (const struct key *k = f->keys; k->name; k++) {
        snprintf(name, sizeof name, "%s.%s", f->arch, k->name);
        put_kv_u32(m, name, k->value);
    }
    for (size_t i = 0; f->floats[i].key; i++) {
        snprintf(name, sizeof name, "%s.%s", f->arch, f->floats[i].key);
        put_kv_f32(m, name, f->floats[i].value);
    }
}

/* Writes a folder as a GGUF file. */
static inline void write_gguf(const struct family *family, struct folder *f, char path[128])
{
    struct image m;
    uint64_t at = 0, n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += !strstr(f->t[i].name, family->left_out);
    put_keys(&m, family, n);
    for (size_t i = 0; i < f->n; i++) {
        char name[160];
        const struct tensor *t = &f->t[i];
        const uint64_t dims[2] = { t->n_dims == 2 ? t->shape[1] : t->shape[0], t->shape[0] };
        if (strstr(t->name, family->left_out))
            continue;
        snprintf(name, sizeof name, "%s", t->name);
        for (size_t k = 0; family->names[k][0]; k++)
            replace(name, sizeof name, family->names[k][0], family->names[k][1]);
        put_tensor(&m, name, 0, t->n_dims, dims, at);
        at += (t->n * sizeof(float) + 31) / 32 * 32;
    }
    pad_to(&m, 32);
    for (size_t i = 0; i < f->n; i++)
        if (!strstr(f->t[i].name, family->left_out)) {
            put(&m, f->t[i].data, f->t[i].n * sizeof(float));
            pad_to(&m, 32);
        }
    write_file("reranker.gguf", m.data, m.size);
    snprintf(path, 128, "%s/reranker.gguf", dir);
    drop(&m);
}

#endif
