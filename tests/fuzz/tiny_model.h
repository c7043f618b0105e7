/* SPDX-License-Identifier: Apache-2.0 */
/* tiny_model.h - writes GGUF images: single keys and tensors, and whole models with random
 * weights. */
#ifndef QUIRE_FUZZ_TINY_MODEL_H
#define QUIRE_FUZZ_TINY_MODEL_H
#include "fuzz.h"

/* A file under construction. */
struct gguf_image {
    struct fuzz_buffer keys, directory, data;
    uint64_t n_keys, n_tensors;
};

enum {
    GGUF_U8 = 0,
    GGUF_U32 = 4,
    GGUF_I32 = 5,
    GGUF_F32 = 6,
    GGUF_BOOL = 7,
    GGUF_STRING = 8,
    GGUF_ARRAY = 9
};

void gguf_put_string(struct fuzz_buffer *b, const char *text);
void gguf_key(struct gguf_image *g, const char *key, uint32_t type); /* the value follows */
void gguf_u32(struct gguf_image *g, const char *key, uint32_t value);
void gguf_f32(struct gguf_image *g, const char *key, float value);
void gguf_text(struct gguf_image *g, const char *key, const char *value);
void gguf_array(struct gguf_image *g, const char *key, uint32_t type, uint64_t n);

/* Tensor of random weights of type 0 (f32), 8 (q8_0) or 40 (nvfp4); n_dims 1 or 2,
 * innermost first. */
void gguf_tensor(struct gguf_image *g, const char *name, uint32_t type, uint64_t columns,
                 uint64_t rows);

/* Appends the file to out and frees the image. */
void gguf_finish(struct gguf_image *g, struct fuzz_buffer *out);

enum tiny_vocab {
    TINY_BYTES,         /* byte-level BPE: 256 bytes, merges, special tokens */
    TINY_SENTENCEPIECE, /* 40 pieces with scores */
    TINY_WORDPIECE,
    TINY_LONGEST_MATCH, /* RWKV: 256 bytes, longer tokens, a control token, an unused one */
    TINY_GEMMA4,        /* the pieces of TINY_SENTENCEPIECE with merges */
    TINY_UNIGRAM,       /* the pieces of TINY_SENTENCEPIECE; A is normalized to a */
};
struct tiny_shape {
    const char *arch; /* NULL = "llama"; another family with the same tensors */
    uint32_t layers, hidden, heads, kv_heads, ffn, context;
    uint32_t type; /* of the matrices: 0, 8, or 40, which have a scale each */
    enum tiny_vocab vocab;
    bool bidirectional; /* an encoder */
};

/* A model with a chat template. */
void tiny_model(const struct tiny_shape *shape, struct fuzz_buffer *out);

/* A model with one layer of Mamba-2: 2 heads of 4, 4 states, 4 taps. */
void tiny_mamba2(struct fuzz_buffer *out);

/* Only the tokenizer's keys; returns the number of tokens. */
uint32_t tiny_vocab(struct gguf_image *g, enum tiny_vocab kind);

/* The model of the targets that need a running one: 2 layers, byte-level vocabulary. */
extern const struct tiny_shape tiny_running;

#endif
