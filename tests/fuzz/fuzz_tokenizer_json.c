/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tokenizer_json.c - tokenizer.json, and tokenizer_config.json after a line "----".
 *
 * Checks the vocabulary of a tokenizer that opens, and the invariants of encode and decode. */
#include "check_tokenizer.h"
#include "fuzz.h"
#include "json_mutator.h"

/* JSON trees do not use the allocator, see quire_tokenizer_params. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "Hello  the th\xC3\xA9 1234\n<s></s><|im_end|>a\xCC\x81\xff \t";
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fuzz_memory memory;
    struct quire_tokenizer *t = NULL;
    const uint8_t *config;
    size_t n_config;
    const size_t n = fuzz_split(data, size, &config, &n_config);
    fuzz_memory_init(&memory, fuzz_reader_limit(16 * size));
    const struct quire_tokenizer_params params = { .struct_size = sizeof params,
                                                   .allocator = &memory.hooks };
    const quire_status s =
        quire_tokenizer_open_memory(data, n, config, n_config, &params, &t, &err);
    fuzz_check_error(s, &err);
    fuzz_check((s == QUIRE_OK) == (t != NULL), "%s", fuzz_status(s));
    if (t) {
        check_vocab(t);
        check_text(t, text, sizeof text - 1, false);
    }
    quire_tokenizer_close(t);
    fuzz_memory_done(&memory);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return json_mutate(data, size, max_size, seed);
}
