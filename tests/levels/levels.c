/* SPDX-License-Identifier: Apache-2.0 */
/* levels.c - checks the ISA level that is chosen, and the reason why another one is refused.
 *
 * usage: levels CHOSEN [REFUSED REASON]   REASON: a part of the error of the level REFUSED, which
 *                                         as QUIRE_ISA, a cap, chooses CHOSEN, too */
#include <quire/cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const char *text)
{
    fprintf(stderr, "%s: %s\n", what, text);
    return 1;
}

/* Fails unless `level` is chosen. */
static int check_chosen(const char *level)
{
    static char text[65536];
    char line[64];
    struct quire_error err = QUIRE_ERROR_INIT;
    if (quire_cpu_describe(NULL, text, sizeof text, NULL, &err))
        return fail("quire_cpu_describe", err.msg);
    snprintf(line, sizeof line, "\nlevel     %s\n", level);
    return strstr(text, line) ? 0 : fail("another level", text);
}

int main(int argc, char **argv)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    if (argc != 2 && argc != 4)
        return fail("usage", "levels CHOSEN [REFUSED REASON]");
    unsetenv("QUIRE_ISA");
    if (check_chosen(argv[1]))
        return 1;
    if (argc == 2)
        return 0;
    if (quire_cpu_describe(argv[2], NULL, 0, NULL, &err) != QUIRE_E_UNSUPPORTED)
        return fail("not refused", argv[2]);
    if (!strstr(err.msg, argv[3]))
        return fail("another reason", err.msg);
    setenv("QUIRE_ISA", argv[2], 1);
    return check_chosen(argv[1]);
}
