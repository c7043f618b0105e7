/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - what the fuzz targets share. */
#include "fuzz.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *fuzz_status(quire_status status)
{
    fuzz_check(status != QUIRE_E_INTERNAL, "internal error");
    return quire_status_name(status);
}

void fuzz_check_error(quire_status status, const struct quire_error *err)
{
    fuzz_check(status == QUIRE_OK || (err->code == status && err->msg[0]),
               "status %s, code %s, message \"%s\"", fuzz_status(status),
               quire_status_name(err->code), err->msg);
    fuzz_check(memchr(err->msg, 0, sizeof err->msg), "the message has no end");
}

/* ---- Memory. Several threads may allocate. */

static void *counting_alloc(void *user, size_t size, size_t align)
{
    struct fuzz_memory *m = user;
    const size_t live = __atomic_add_fetch(&m->live_bytes, size, __ATOMIC_RELAXED);
    fuzz_check(live <= m->limit, "%zu bytes of heap, the limit is %zu", live, m->limit);
    size_t peak = __atomic_load_n(&m->peak_bytes, __ATOMIC_RELAXED);
    while (live > peak && !__atomic_compare_exchange_n(&m->peak_bytes, &peak, live, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    __atomic_add_fetch(&m->calls, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&m->live_count, 1, __ATOMIC_RELAXED);
    void *p = NULL;
    fuzz_check(posix_memalign(&p, align < sizeof p ? sizeof p : align, size) == 0,
               "no memory for %zu bytes", size);
    memset(p, 0xcd, size < 4096 ? size : 4096);
    return p;
}

static void counting_free(void *user, void *p, size_t size)
{
    struct fuzz_memory *m = user;
    __atomic_sub_fetch(&m->live_bytes, size, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&m->live_count, 1, __ATOMIC_RELAXED);
    free(p);
}

size_t fuzz_reader_limit(size_t input) { return ((size_t)16 << 20) + 4 * input; }

void fuzz_memory_init(struct fuzz_memory *m, size_t limit)
{
    *m = (struct fuzz_memory){ .limit = limit };
    m->hooks = (struct quire_allocator){ m, counting_alloc, counting_free };
}

void fuzz_memory_done(const struct fuzz_memory *m)
{
    fuzz_check(m->live_count == 0 && m->live_bytes == 0, "%zu allocations of %zu bytes are left",
               m->live_count, m->live_bytes);
}

/* ---- Input */

uint64_t fuzz_take(struct fuzz_input *in, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes && in->left; i++, in->data++, in->left--)
        v |= (uint64_t)*in->data << (8 * i);
    return v;
}

uint32_t fuzz_below(struct fuzz_input *in, uint32_t n)
{
    return (uint32_t)fuzz_take(in, n <= 256 ? 1 : n <= 65536 ? 2 : 4) % n;
}

bool fuzz_chance(struct fuzz_input *in, uint32_t percent)
{
    return fuzz_below(in, 256) * 100 < percent * 256;
}

const uint8_t *fuzz_take_bytes(struct fuzz_input *in, size_t *bytes)
{
    const uint8_t *p = in->data;
    *bytes = *bytes < in->left ? *bytes : in->left;
    if (*bytes) /* the data of an empty input may be NULL */
        in->data += *bytes;
    in->left -= *bytes;
    return p;
}

size_t fuzz_split(const uint8_t *data, size_t size, const uint8_t **second, size_t *second_size)
{
    static const char line[] = "\n----\n";
    const uint8_t *at = size ? memmem(data, size, line, sizeof line - 1) : NULL;
    *second = at ? at + sizeof line - 1 : NULL;
    *second_size = at ? (size_t)(data + size - *second) : 0;
    return at ? (size_t)(at - data) : size;
}

/* splitmix64 */
uint32_t fuzz_random(struct fuzz_random *r, uint32_t n)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

/* ---- Buffers */

void fuzz_reserve(struct fuzz_buffer *b, size_t capacity)
{
    b->capacity = capacity;
    b->data = realloc(b->data, capacity);
    fuzz_check(b->data, "no memory for %zu bytes", capacity);
}

void fuzz_put(struct fuzz_buffer *b, const void *bytes, size_t n)
{
    if (b->size + n > b->capacity)
        fuzz_reserve(b, 2 * (b->size + n));
    if (n)
        memcpy(b->data + b->size, bytes, n);
    b->size += n;
}

void fuzz_put_number(struct fuzz_buffer *b, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t byte = (uint8_t)(value >> (8 * i));
        fuzz_put(b, &byte, 1);
    }
}

void fuzz_put_text(struct fuzz_buffer *b, const char *text) { fuzz_put(b, text, strlen(text)); }

void fuzz_pad(struct fuzz_buffer *b, size_t alignment)
{
    while (b->size % alignment)
        fuzz_put(b, "", 1);
}

void fuzz_buffer_free(struct fuzz_buffer *b)
{
    free(b->data);
    *b = (struct fuzz_buffer){ 0 };
}

/* ---- Files */

static char folder[64];

static void remove_folder(void)
{
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(folder);
}

const char *fuzz_path(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    if (!folder[0]) {
        const bool in_memory = access("/dev/shm", W_OK) == 0;
        snprintf(folder, sizeof folder, "%s/quire-fuzz-XXXXXX", in_memory ? "/dev/shm" : "/tmp");
        fuzz_check(mkdtemp(folder), "cannot create %s", folder);
        atexit(remove_folder);
    }
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void fuzz_write_file(const char *path, const void *data, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    fuzz_check(fd >= 0 && write(fd, data, size) == (ssize_t)size, "cannot write %s", path);
    close(fd);
}

uint8_t *fuzz_read_file(const char *path, size_t *size)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    *size = (size_t)st.st_size;
    uint8_t *data = malloc(*size ? *size : 1);
    fuzz_check(data && read(fd, data, *size) == (ssize_t)*size, "cannot read %s", path);
    close(fd);
    return data;
}
