/* SPDX-License-Identifier: Apache-2.0 */
/* embed.c - embeds texts with an encoder and prints their cosine similarities.
 * Usage: embed MODEL TEXT... */
#include <quire/quire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXTS = 16, MAX_TOKENS = 2048 };

static void check(quire_status s, const struct quire_error *err)
{
    if (s != QUIRE_OK) {
        fprintf(stderr, "%s\n", err->msg);
        exit(65);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > MAX_TEXTS + 2)
        return 64;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *tok;
    check(quire_tokenizer_open(argv[1], NULL, &tok, &err), &err);
    static int32_t ids[MAX_TOKENS];
    int32_t starts[MAX_TEXTS + 1] = { 0 };
    const uint32_t n_texts = (uint32_t)argc - 2;
    for (uint32_t i = 0; i < n_texts; i++) { /* packed without padding */
        size_t n;
        check(quire_tokenizer_encode(tok, argv[i + 2], strlen(argv[i + 2]),
                                     QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS, ids + starts[i],
                                     (size_t)(MAX_TOKENS - starts[i]), &n, &err), &err);
        starts[i + 1] = starts[i] + (int32_t)n;
    }
    quire_tokenizer_close(tok);

    struct quire_model_params mp;
    struct quire_model *model;
    struct quire_model_info info = { .struct_size = sizeof info };
    quire_model_params_init(&mp, sizeof mp);
    mp.path = argv[1];
    check(quire_model_open(&mp, &model, &err), &err);
    check(quire_model_get_info(model, &info), &err);
    if (info.kind != QUIRE_MODEL_ENCODER) {
        fprintf(stderr, "%s is a model of architecture '%s': embeddings need an encoder\n", argv[1],
                info.arch);
        return 65;
    }
    struct quire_context_params cp;
    struct quire_context *context;
    quire_context_params_init(&cp, sizeof cp);
    cp.max_tokens = MAX_TOKENS;
    cp.max_seqs = MAX_TEXTS;
    check(quire_context_create(model, &cp, &context, &err), &err);

    const size_t width = info.hidden_size;
    float *vectors = calloc(n_texts * width, sizeof *vectors);
    if (!vectors)
        return 71;
    const struct quire_encode_args step = { .struct_size = sizeof step, .n_seqs = n_texts,
                                             .query_start_loc = starts, .token_ids = ids,
                                             .pooled = vectors, .pooling = info.pooling,
                                             .normalize = 1 };
    check(quire_context_encode(context, &step, &err), &err);
    for (uint32_t i = 0; i < n_texts; i++)
        for (uint32_t j = 0; j < n_texts; j++) {
            float cosine = 0;
            for (size_t d = 0; d < width; d++)
                cosine += vectors[i * width + d] * vectors[j * width + d];
            printf("%7.4f%s", (double)cosine, j + 1 < n_texts ? " " : "\n");
        }
    free(vectors);
    quire_context_destroy(context);
    return quire_model_close(model) != QUIRE_OK;
}
