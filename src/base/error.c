/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - texts of status codes, error records, the log hook. */
#include "base/error.h"
#include "base/struct_size.h"
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef qr_fail /* macros of QR_STATIC_ANALYSIS */
#undef qr_fail_at
#undef qr_fail_errno

#define QR_STR_(x) #x
#define QR_STR(x)  QR_STR_(x)

const char *quire_version(void)
{
    return QR_STR(QUIRE_VERSION_MAJOR) "." QR_STR(QUIRE_VERSION_MINOR) "." QR_STR(
        QUIRE_VERSION_PATCH);
}

const char *quire_status_text(quire_status code)
{
    switch (code) {
#define X(c, text)                                                                                 \
    case c:                                                                                        \
        return text;
        QUIRE_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

const char *quire_status_name(quire_status code)
{
    switch (code) {
#define X(c, text)                                                                                 \
    case c:                                                                                        \
        return #c;
        QUIRE_STATUS_LIST(X)
#undef X
    }
    return "QUIRE_E_?";
}

bool qr_error_writable(const struct quire_error *err)
{
    return err && (!err->struct_size || err->struct_size >= QR_SIZE_TO(struct quire_error, msg));
}

/* vsnprintf; a text that is too long ends with "..." after its last whole word, or after its last
 * whole UTF-8 character where no word ends in the second half. */
static void print(char *out, size_t size, const char *fmt, va_list ap)
{
    static const char mark[] = "...";
    const int length = vsnprintf(out, size, fmt, ap);
    if (length < 0 || (size_t)length < size || size < sizeof mark)
        return;
    const size_t most = size - sizeof mark;
    size_t end = most;
    while (end > size / 2 && out[end] != ' ')
        end--;
    if (out[end] != ' ')
        for (end = most; end && ((unsigned char)out[end] & 0xc0) == 0x80;)
            end--;
    memcpy(out + end, mark, sizeof mark);
}

/* Fills in *err, with a message of less than `size` bytes. */
static void fill(struct quire_error *err, quire_status code, int32_t detail, uint64_t offset,
                 size_t size, const char *fmt, va_list ap)
{
    err->code = code;
    err->detail = detail;
    err->offset = offset;
    /* numbers are printed alike in every locale of the host; the object of "C" is static */
    const locale_t host = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    print(err->msg, size, fmt, ap);
    uselocale(host);
}

quire_status qr_fail(struct quire_error *err, quire_status code, const char *fmt, ...)
{
    if (qr_error_writable(err)) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, code, 0, 0, sizeof err->msg, fmt, ap);
        va_end(ap);
    }
    return code;
}

quire_status qr_fail_at(struct quire_error *err, quire_status code, uint64_t offset,
                        const char *fmt, ...)
{
    if (qr_error_writable(err)) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, code, 0, offset, sizeof err->msg, fmt, ap);
        va_end(ap);
    }
    return code;
}

quire_status qr_fail_errno(struct quire_error *err, quire_status code, int errnum, const char *fmt,
                           ...)
{
    if (qr_error_writable(err)) {
        char reason[96];
        /* strerror_r may ignore the buffer (GNU form) and return a static string */
        const char *text = strerror_r(errnum, reason, sizeof reason);
        va_list ap;
        va_start(ap, fmt);
        /* the reason is complete, whatever the length of the text before it */
        fill(err, code, errnum, 0, sizeof err->msg - strlen(text) - strlen(": "), fmt, ap);
        va_end(ap);
        const size_t n = strlen(err->msg);
        snprintf(err->msg + n, sizeof err->msg - n, ": %s", text);
    }
    return code;
}

void qr_log(const struct quire_logger *logger, enum quire_log_level level, const char *fmt, ...)
{
    if (!logger || !logger->log)
        return;
    char msg[512];
    va_list ap;
    va_start(ap, fmt);
    print(msg, sizeof msg, fmt, ap);
    va_end(ap);
    logger->log(logger->user, level, QUIRE_OK, msg);
}
