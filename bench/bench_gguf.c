/* SPDX-License-Identifier: Apache-2.0 */
/* bench_gguf.c - streaming writer of GGUF files. */
#include "bench_gguf.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIGN = 32 };

/* Opens a regular file or creates one; its contents are discarded. Anything else, also a symbolic
 * link, fails and is left as it is: O_NONBLOCK, since opening a FIFO could wait for its reader. */
static FILE *open_regular(const char *path)
{
    const int fd =
        open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd < 0)
        return NULL;
    struct stat st;
    const bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    FILE *f = regular && ftruncate(fd, 0) == 0 ? fdopen(fd, "wb") : NULL;
    if (!f)
        close(fd);
    return f;
}

bool gguf_open(struct gguf_writer *w, const char *path)
{
    *w = (struct gguf_writer){ 0 };
    w->meta = open_memstream(&w->meta_text, &w->meta_size);
    w->directory = open_memstream(&w->directory_text, &w->directory_size);
    w->file = open_regular(path);
    w->failed = !w->file || !w->meta || !w->directory;
    if (w->failed)
        gguf_finish(w);
    return !w->failed;
}

void gguf_put(FILE *f, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        putc((int)(value >> (8 * i) & 0xff), f);
}

void gguf_put_string(FILE *f, const char *text)
{
    gguf_put(f, strlen(text), 8);
    fputs(text, f);
}

static void put_f32(FILE *f, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    gguf_put(f, bits, 4);
}

static void put_key(struct gguf_writer *w, const char *key, uint32_t type)
{
    gguf_put_string(w->meta, key);
    gguf_put(w->meta, type, 4);
    w->n_keys++;
}

void gguf_text(struct gguf_writer *w, const char *key, const char *value)
{
    put_key(w, key, GGUF_STRING);
    gguf_put_string(w->meta, value);
}

void gguf_u32(struct gguf_writer *w, const char *key, uint32_t value)
{
    put_key(w, key, GGUF_UINT32);
    gguf_put(w->meta, value, 4);
}

void gguf_f32(struct gguf_writer *w, const char *key, float value)
{
    put_key(w, key, GGUF_FLOAT32);
    put_f32(w->meta, value);
}

void gguf_bool(struct gguf_writer *w, const char *key, bool value)
{
    put_key(w, key, GGUF_BOOL);
    gguf_put(w->meta, value, 1);
}

void gguf_array(struct gguf_writer *w, const char *key, uint32_t type, uint64_t n)
{
    put_key(w, key, GGUF_ARRAY);
    gguf_put(w->meta, type, 4);
    gguf_put(w->meta, n, 8);
}

static uint64_t padded(uint64_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

void gguf_tensor_dims(struct gguf_writer *w, const char *name, uint32_t type, const uint64_t *dims,
                      uint32_t n_dims, uint64_t bytes)
{
    gguf_put_string(w->directory, name);
    gguf_put(w->directory, n_dims, 4);
    for (uint32_t i = 0; i < n_dims; i++)
        gguf_put(w->directory, dims[i], 8);
    gguf_put(w->directory, type, 4);
    gguf_put(w->directory, w->data_bytes, 8);
    w->data_bytes += padded(bytes);
    w->n_tensors++;
}

void gguf_tensor(struct gguf_writer *w, const char *name, uint32_t type, uint64_t rows,
                 uint64_t columns, uint64_t bytes)
{
    const uint64_t dims[] = { columns, rows };
    gguf_tensor_dims(w, name, type, dims, rows ? 2 : 1, bytes);
}

void gguf_begin_data(struct gguf_writer *w)
{
    if (fflush(w->meta) != 0 || fflush(w->directory) != 0)
        w->failed = true;
    fputs("GGUF", w->file);
    gguf_put(w->file, 3, 4);
    gguf_put(w->file, w->n_tensors, 8);
    gguf_put(w->file, w->n_keys, 8);
    w->written = 4 + 4 + 8 + 8;
    gguf_data(w, w->meta_text, w->meta_size);
    gguf_data(w, w->directory_text, w->directory_size);
    gguf_pad(w);
}

void gguf_data(struct gguf_writer *w, const void *data, size_t bytes)
{
    if (bytes && fwrite(data, 1, bytes, w->file) != bytes)
        w->failed = true;
    w->written += bytes;
}

void gguf_pad(struct gguf_writer *w)
{
    static const char zeros[ALIGN];
    gguf_data(w, zeros, (size_t)(padded(w->written) - w->written));
}

bool gguf_finish(struct gguf_writer *w)
{
    if (w->meta && fclose(w->meta) != 0)
        w->failed = true;
    if (w->directory && fclose(w->directory) != 0)
        w->failed = true;
    if (w->file && (ferror(w->file) | fclose(w->file)) != 0)
        w->failed = true;
    free(w->meta_text), free(w->directory_text);
    const bool failed = w->failed;
    *w = (struct gguf_writer){ .failed = failed };
    return !failed;
}
