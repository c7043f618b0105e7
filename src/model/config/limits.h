/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - largest accepted values of a model configuration. */
#ifndef QR_MODEL_CONFIG_LIMITS_H
#define QR_MODEL_CONFIG_LIMITS_H

/* Far above any real model. A file that exceeds a limit is malformed. */
enum {
    QR_CONFIG_MAX_LAYERS = 1024,
    QR_CONFIG_MAX_HEADS = 4096,
    QR_CONFIG_MAX_HEAD_DIM = 1024,
    QR_CONFIG_MAX_HIDDEN = 1 << 20,
    QR_CONFIG_MAX_FFN = 1 << 24,
    QR_CONFIG_MAX_VOCAB = 1 << 24,
    QR_CONFIG_MAX_CONTEXT = 1 << 30,
    QR_CONFIG_MAX_STREAMS = 16,
    QR_CONFIG_MAX_TAPS = 32, /* of a recurrent layer's convolution */
    QR_CONFIG_MAX_SHARED_BLOCKS = 64,
    QR_CONFIG_MAX_COMPRESS_RATE = 4096,
    QR_CONFIG_MAX_SINKHORN = 1000,
    QR_CONFIG_MAX_NGRAM = 8,
    QR_CONFIG_MAX_NGRAM_HEADS = 64,
    QR_CONFIG_MAX_NGRAM_PARTS = 1 << 14,
    QR_CONFIG_MAX_NGRAM_TABLES = 4096,  /* heads of all layers; their sizes are searched for */
    QR_CONFIG_MAX_NGRAM_ROWS = 1 << 28, /* of a head */
    QR_CONFIG_MAX_EXPERTS = 4096,
    QR_CONFIG_MAX_TOKEN_TYPES = 1 << 16,
    QR_CONFIG_MAX_LABELS = 1 << 16,
    QR_CONFIG_MAX_BUCKETS = 1 << 16,
    QR_CONFIG_MAX_DISTANCE = 1 << 20,
    QR_CONFIG_MAX_DISTANCES = 512, /* of disentangled attention, in each direction */
    QR_CONFIG_MAX_BYTES = 1 << 20  /* heap of one qr_model_config */
};

#endif
