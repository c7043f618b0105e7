/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - runs a fuzz target on files and folders of files, without a fuzzing engine.
 *
 *     fuzz_NAME [-mutations=N] PATH...
 *
 * Each input runs as it is, then N times mutated: by the target's own mutator if it has one. The
 * mutations depend on the name of the file and on N only. */
#include "fuzz.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUT_BYTES = 1 << 16 /* of a mutated input */ };

__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                                     unsigned seed)
{
    (void)seed;
    return LLVMFuzzerMutate(data, size, max_size);
}

static struct fuzz_random rng;

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    const uint32_t n = (uint32_t)size;
    const uint32_t at = n ? fuzz_random(&rng, n) : 0, kind = n ? fuzz_random(&rng, 6) : 4;
    switch (kind) {
    case 0:
        data[at] ^= (uint8_t)(1u << fuzz_random(&rng, 8));
        break;
    case 1:
        data[at] = (uint8_t)fuzz_random(&rng, 256);
        break;
    case 2: { /* a run of an extreme value */
        const uint32_t run = 1u << fuzz_random(&rng, 4);
        memset(data + at, fuzz_random(&rng, 2) ? 0xff : 0, run < n - at ? run : n - at);
        break;
    }
    case 3: { /* erase */
        const uint32_t run = 1 + fuzz_random(&rng, n - at);
        memmove(data + at, data + at + run, n - at - run);
        size -= run;
        break;
    }
    case 4: /* insert */
        if (size == max_size)
            break;
        memmove(data + at + 1, data + at, n - at);
        data[at] = (uint8_t)fuzz_random(&rng, 256);
        size++;
        break;
    default: { /* copy */
        const uint32_t from = fuzz_random(&rng, n), end = at > from ? at : from;
        memmove(data + at, data + from, 1 + fuzz_random(&rng, n - end));
    }
    }
    return size;
}

static unsigned long n_mutations;
static size_t n_inputs;

/* Runs an exact copy, so that a sanitizer detects accesses past its end. */
static void run_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    fuzz_check(copy, "no memory for %zu bytes", size);
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_file(const char *path)
{
    size_t size;
    uint8_t *data = fuzz_read_file(path, &size), *work = malloc(MAX_INPUT_BYTES);
    fuzz_check(data && work, "cannot read %s", path);
    const char *slash = strrchr(path, '/');
    rng.state = n_mutations;
    for (const char *p = slash ? slash : path; *p; p++)
        rng.state = rng.state * 31 + (uint8_t)*p;
    run_copy(data, size);
    n_inputs++;
    for (unsigned long i = 0; i < n_mutations && size < MAX_INPUT_BYTES; i++) {
        memcpy(work, data, size);
        size_t n = size;
        for (uint32_t rounds = 1 + fuzz_random(&rng, 4); rounds; rounds--)
            n = LLVMFuzzerCustomMutator(work, n, MAX_INPUT_BYTES, fuzz_random(&rng, UINT32_MAX));
        run_copy(work, n);
    }
    free(data);
    free(work);
}

static void run_path(const char *path)
{
    struct dirent **entries;
    const int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) {
        run_file(path);
        return;
    }
    for (int i = 0; i < n; i++) {
        char inner[4096];
        if (entries[i]->d_name[0] != '.' &&
            snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name) < (int)sizeof inner)
            run_path(inner);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-mutations=", 11) == 0)
            n_mutations = strtoul(argv[i] + 11, NULL, 10);
        else
            run_path(argv[i]);
    }
    printf("%zu inputs\n", n_inputs);
    return n_inputs ? 0 : 1; /* an empty corpus is a mistake */
}
