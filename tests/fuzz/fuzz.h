/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - what the fuzz targets share: checks, a counting allocator, typed input, buffers, files.
 *
 * Each fuzz_NAME.c is one target in the form that libFuzzer and OSS-Fuzz expect. Without a fuzzing
 * engine, replay.c is the main program and runs the target on files. */
#ifndef QUIRE_FUZZ_FUZZ_H
#define QUIRE_FUZZ_FUZZ_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size); /* of the engine */

/* Ends the process with a message when an invariant does not hold. */
#define fuzz_check(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz: %s:%d: %s: ", __FILE__, __LINE__, #condition);                  \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            __builtin_trap();                                                                      \
        }                                                                                          \
    } while (0)

/* A status must agree with the error record: a failure has a message, and its code. */
void fuzz_check_error(quire_status status, const struct quire_error *err);

/* Names a status, and stops at those that no input may cause. */
const char *fuzz_status(quire_status status);

/* ---- Allocator that counts, and stops at a limit */
struct fuzz_memory {
    struct quire_allocator hooks;
    size_t live_bytes, live_count, calls, peak_bytes, limit;
};

/* The bound of the readers: 16 MiB + 4 bytes per byte of input. */
size_t fuzz_reader_limit(size_t input);
void fuzz_memory_init(struct fuzz_memory *m, size_t limit);
void fuzz_memory_done(const struct fuzz_memory *m); /* nothing may be left */

/* ---- Input taken in pieces; an exhausted input gives zeros */
struct fuzz_input {
    const uint8_t *data;
    size_t left;
};
uint64_t fuzz_take(struct fuzz_input *in, size_t bytes); /* little endian */
uint32_t fuzz_below(struct fuzz_input *in, uint32_t n);  /* 0 .. n - 1; takes 1, 2 or 4 bytes */
bool fuzz_chance(struct fuzz_input *in, uint32_t percent);
const uint8_t *fuzz_take_bytes(struct fuzz_input *in, size_t *bytes); /* at most *bytes */
#define FUZZ_PICK(in, array)                                                                       \
    ((array)[fuzz_below((in), (uint32_t)(sizeof(array) / sizeof *(array)))])

/* Splits an input of two texts, which a line "----" separates; without it *second is NULL. Returns
 * the size of the first. */
size_t fuzz_split(const uint8_t *data, size_t size, const uint8_t **second, size_t *second_size);

/* ---- Random numbers of a mutator */
struct fuzz_random {
    uint64_t state;
};
uint32_t fuzz_random(struct fuzz_random *r, uint32_t n); /* 0 .. n - 1 */

/* ---- Growing byte strings. Numbers are stored in little endian. */
struct fuzz_buffer {
    uint8_t *data;
    size_t size, capacity;
};
void fuzz_reserve(struct fuzz_buffer *b, size_t capacity);
void fuzz_put(struct fuzz_buffer *b, const void *bytes, size_t n);
void fuzz_put_number(struct fuzz_buffer *b, uint64_t value, size_t bytes);
void fuzz_put_text(struct fuzz_buffer *b, const char *text);
void fuzz_pad(struct fuzz_buffer *b, size_t alignment);
void fuzz_buffer_free(struct fuzz_buffer *b);

/* ---- A folder of this process, in memory where the system has one; removed at exit */
const char *fuzz_path(const char *name); /* valid until the next 8 calls */
void fuzz_write_file(const char *path, const void *data, size_t size);
uint8_t *fuzz_read_file(const char *path, size_t *size); /* malloc; NULL if there is none */

#endif
