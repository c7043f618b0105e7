/* SPDX-License-Identifier: Apache-2.0 */
/* output_config.h - options of what reads the last hidden states: dense layers behind the pooling
 * of embeddings, classification heads. */
#ifndef QR_MODEL_ARCH_OUTPUT_CONFIG_H
#define QR_MODEL_ARCH_OUTPUT_CONFIG_H
#include <stdbool.h>
#include <stdint.h>

enum { QR_MAX_DENSE = 4 };

/* A dense layer behind the pooling of embeddings: act(W x + b). */
struct qr_dense_config {
    char folder[64]; /* of its tensors, in the model's folder; empty for GGUF files */
    uint32_t in, out;
    bool bias;
    bool tanh; /* the activation function; else none */
};

/* Classification head for whole sequences: out(f(x)), where x is the hidden state of the first
 * token, with class_mean the mean of all, in decoders that of the last token. */
enum qr_class_head {
    QR_CLASS_NONE,
    QR_CLASS_POOLER,     /* f = tanh(pooler(x)): BERT */
    QR_CLASS_DENSE,      /* f = tanh(dense(x)): RoBERTa, GGUF files with cls.weight */
    QR_CLASS_DENSE_RELU, /* f = relu(dense(x)): DistilBERT */
    QR_CLASS_DENSE_GELU, /* f = gelu(dense(x)): ELECTRA */
    QR_CLASS_PLAIN,      /* f = x: decoders, GGUF files without cls.weight */
    QR_CLASS_MASKED,     /* f = norm(act(dense(x))), weights of the masked LM head: ModernBERT */
};

static inline bool qr_class_head_has_dense(enum qr_class_head head)
{
    return head == QR_CLASS_DENSE || head == QR_CLASS_DENSE_RELU || head == QR_CLASS_DENSE_GELU;
}

#endif
