/* SPDX-License-Identifier: Apache-2.0 */
/* seeds_edits.c - seeds of fuzz_pack_cache.c and fuzz_cache_file.c, which edit valid files. */
#include "seeds_edits.h"

/* An input that edits a valid file. */
struct edits {
    const char *name, *bytes;
    size_t n;
};

static void save_edits(save_seed_fn *save, const char *target, const struct edits *edits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct fuzz_buffer b = { 0 };
        fuzz_put(&b, edits[i].bytes, edits[i].n);
        save(target, edits[i].name, &b);
    }
}

static void pack_cache_edits(save_seed_fn *save)
{
    static const struct edits edits[] = {
        { "valid", "", 0 },
        { "magic", "\x00\x00\x00\x00", 4 },
        { "version", "\x00\x08\x00\x03", 4 },
        { "count", "\x00\x10\x00\xff", 4 },
        { "entry", "\x00\x50\x00\xff", 4 },
        { "panel", "\x01\x00\x04\x7f", 4 },
        { "panel-with-checksum", "\x01\x00\x04\x7f\xfe", 5 },
        { "truncated", "\x03\x10\x00\x00", 4 },
        { "longer", "\x02\x10\x00\x00", 4 },
        { "foreign", "\xff text", 6 },
        { "empty", "\xff", 1 },
    };
    save_edits(save, "pack_cache", edits, sizeof edits / sizeof *edits);
}

/* The first byte chooses the model, the second one the block size. 72 bytes of header, then the
 * identity of about 300. */
static void cache_file_edits(save_seed_fn *save)
{
    static const struct edits edits[] = {
        { "valid", "\x01\x01", 2 },
        { "valid-other-blocks", "\x01\x63", 2 },
        { "magic", "\x01\x01\x00\x00\x00\x00", 6 },
        { "nodes", "\x01\x01\x00\x10\x00\xff\xfe", 7 },
        { "tokens-huge", "\x01\x01\x00\x1f\x00\x7f\xfe", 7 },
        { "table", "\x01\x63\x00\x00\x02\x01\xfe", 7 },
        { "rows-with-checksum", "\x01\x63\x00\x00\x08\x7f\xfe", 7 },
        { "foreign", "\x01\x01\xff text", 8 },
        { "states", "\x63\x01", 2 },
        { "states-other-blocks", "\x63\x63", 2 },
        { "states-table", "\x63\x63\x00\x00\x02\x01\xfe", 7 },
        { "state-with-checksum", "\x63\x01\x00\x00\x04\x7f\xfe", 7 },
    };
    save_edits(save, "cache_file", edits, sizeof edits / sizeof *edits);
}

void edit_seeds(save_seed_fn *save)
{
    pack_cache_edits(save);
    cache_file_edits(save);
}
