/* SPDX-License-Identifier: Apache-2.0 */
#include "input_file.h"
#include "terminal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

enum { MAX_TEXT = 16 << 20 };

int input_file_read(const char *path, struct text *out)
{
    char buf[65536];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f) {
        print_message("cannot read %s: %s", path, strerror(errno));
        return EX_NOINPUT;
    }
    while (out->size <= MAX_TEXT && (n = fread(buf, 1, sizeof buf, f)) > 0)
        text_add(out, buf, n);
    text_add(out, "", 0);
    int code = 0;
    if (ferror(f)) {
        code = errno == EISDIR ? EX_NOINPUT : EX_IOERR;
        print_message("cannot read %s: %s", path, strerror(errno));
    } else if (out->failed || out->size > MAX_TEXT) {
        code = EX_DATAERR;
        print_message("%s exceeds 16 MiB", path);
    }
    fclose(f);
    return code;
}
