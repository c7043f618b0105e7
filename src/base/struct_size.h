/* SPDX-License-Identifier: Apache-2.0 */
/* struct_size.h - sized structs of the public API across versions, by the rule of clone3(2).
 *
 * A sized struct begins with `uint32_t struct_size`, its sizeof when the caller was compiled.
 * Structs grow at the end only, and 0 is the default of every added member. So a smaller struct
 * means "defaults for the rest", and a larger one is accepted if the bytes beyond the members of
 * this build are 0. Every public function copies its sized arguments with these functions before it
 * reads them. */
#ifndef QR_BASE_STRUCT_SIZE_H
#define QR_BASE_STRUCT_SIZE_H
#include <quire/status.h>
#include <stddef.h>

/* sizeof the version of a struct whose last member was `last`. */
#define QR_SIZE_TO(type, last)                                                                     \
    ((offsetof(type, last) + sizeof(((type *)0)->last) + _Alignof(type) - 1) / _Alignof(type) *    \
     _Alignof(type))

/* Copies the caller's *src to dst[size]; members that src lacks become 0.
 *   first  size of the struct's first version
 *   name   of the argument, for messages
 * QUIRE_E_INVALID_ARG when src is NULL; QUIRE_E_MISUSE when it is smaller than its first version,
 * or a byte beyond `size` is not 0. */
quire_status qr_struct_read(void *dst, size_t size, size_t first, const void *src, const char *name,
                            struct quire_error *err) QUIRE_MUST_CHECK;

/* The same for an argument that has passed qr_struct_read before. */
void qr_struct_copy(void *dst, size_t size, const void *src);

/* Checks the caller's struct_size of a struct that the library is about to fill. */
quire_status qr_struct_check_out(const void *dst, size_t first, const char *name,
                                 struct quire_error *err) QUIRE_MUST_CHECK;

/* Copies src[size] to the caller's *dst, as much as its struct_size says; the rest of a larger
 * struct becomes 0. dst keeps its struct_size. */
void qr_struct_write(void *dst, const void *src, size_t size);

/* Fills the caller's dst[dst_size] with `defaults`, of which there are `size` bytes (NULL, 0: all
 * zero), and sets its struct_size. NULL and sizes below that of struct_size are ignored. */
void qr_struct_init(void *dst, size_t dst_size, const void *defaults, size_t size);

/* Reads *src into the local *dst; last is the last member of the struct's first version. */
#define QR_READ_STRUCT(dst, src, last, name, err)                                                  \
    QR_TRY(qr_struct_read((dst), sizeof *(dst), QR_SIZE_TO(__typeof__(*(dst)), last), (src),       \
                          (name), (err)))

/* Defines NAME_init() of a struct whose defaults are all 0. */
#define QR_DEFINE_ZERO_INIT(type)                                                                  \
    void type##_init(struct type *s, size_t struct_size)                                           \
    {                                                                                              \
        qr_struct_init(s, struct_size, NULL, 0);                                                   \
    }

#endif
