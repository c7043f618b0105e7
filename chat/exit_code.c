/* SPDX-License-Identifier: Apache-2.0 */
/* exit_code.c - maps failures to the exit codes of sysexits.h. */
#include "exit_code.h"
#include <errno.h>
#include <sysexits.h>

int exit_code_of_status(quire_status status, const struct quire_error *err, bool opening)
{
    switch (status) {
    case QUIRE_OK:
        return EX_OK;
    case QUIRE_E_IO:
        /* missing file, no permission, or not a regular file */
        return err->detail == ENOENT || err->detail == EACCES || err->detail == ENOTDIR ||
                       err->detail == EISDIR
                   ? EX_NOINPUT
                   : EX_IOERR;
    case QUIRE_E_INVALID_ARG:
    case QUIRE_E_MISUSE:
    case QUIRE_E_RANGE:
        return EX_USAGE;
    case QUIRE_E_LIMIT:
        return opening ? EX_USAGE : EX_DATAERR;
    case QUIRE_E_FORMAT:
    case QUIRE_E_UNSUPPORTED:
    case QUIRE_E_CORRUPT:
    case QUIRE_E_MISMATCH:
    case QUIRE_E_NUMERIC:
        return EX_DATAERR;
    case QUIRE_E_NOMEM:
    case QUIRE_E_AGAIN:
        return EX_TEMPFAIL;
    case QUIRE_E_CANCELLED:
        return EXIT_INTERRUPTED;
    default:
        return EX_SOFTWARE;
    }
}

int exit_code_of_isa(quire_status status, const char *isa)
{
    if (status == QUIRE_OK)
        return EX_OK;
    return status == QUIRE_E_UNSUPPORTED ? EX_UNAVAILABLE : isa ? EX_USAGE : EX_CONFIG;
}
