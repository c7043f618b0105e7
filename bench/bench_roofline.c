/* SPDX-License-Identifier: Apache-2.0 */
/* bench_roofline.c - `quire-bench roofline`: peak compute rates and read bandwidth of this
 * machine. */
#include "bench_measure.h"
#include "bench_table.h"
#include "bench_team.h"
#include <quire/cpu.h>
#include <stdlib.h>
#include <string.h>

/* ---- peak rates */

static const struct bench_column peak_columns[] = {
    { "level", "level", BENCH_TEXT, 12 },    { "type", "type", BENCH_TEXT, 5 },
    { "threads", "threads", 0, 7 },          { "instructions", "instructions", BENCH_TEXT, 32 },
    { "GFLOP/s, GOP/s", "giga_ops", 1, 14 }, { "95 % low", "giga_ops_lo", 1, 8 },
    { "high", "giga_ops_hi", 1, 8 },
};

static void peak_rows(struct bench_table *t, struct bench_machine *m, unsigned rounds)
{
    static const char *const names[] = { "f32", "bf16", "int8" };
    for (int roof = 0; roof < BENCH_READ; roof++) {
        struct bench_samples rates = { 0 };
        for (unsigned i = 0; i < rounds; i++)
            bench_sample(&rates, bench_probe(m, roof) * 1e-9);
        const struct bench_summary s = bench_summarize(&rates);
        bench_text(t, "%s", m->level);
        bench_text(t, "%s", names[roof]);
        bench_number(t, m->n_threads);
        bench_text(t, "%s", m->peak[roof]->instruction);
        bench_number(t, s.median);
        bench_number(t, s.lo);
        bench_number(t, s.hi);
    }
}

/* ---- read bandwidth */

struct reader {
    const struct bench_machine *m;
    size_t bytes; /* per thread */
    unsigned passes;
    uint32_t arrived;
};

static void read_part(void *arg, const struct quire_team *team)
{
    struct reader *r = arg;
    const uint8_t *mine = r->m->stream + quire_team_rank(team) * r->bytes;
    r->m->read(mine, r->bytes); /* fill the cache */
    bench_spin_barrier(&r->arrived, team);
    const double start = bench_now();
    for (unsigned i = 0; i < r->passes; i++)
        r->m->read(mine, r->bytes);
    r->m->seconds[quire_team_rank(team)] = bench_now() - start;
}

static struct bench_summary cache_bandwidth(struct bench_machine *m, size_t bytes, unsigned rounds)
{
    enum { PROBE_BYTES = 32 << 20, TRIES = 20 };
    struct bench_samples rates = { 0 };
    for (unsigned i = 0; i < TRIES * rounds && rates.n < rounds; i++) {
        struct reader r = { .m = m, .bytes = bytes / 4096 * 4096 };
        double rate = 0;
        r.passes = (unsigned)(PROBE_BYTES / r.bytes) + 1;
        const long preempted = bench_preemptions();
        if (quire_threads_run(m->threads, read_part, &r) != QUIRE_OK)
            break;
        for (uint32_t k = 0; k < m->n_threads; k++)
            rate += (double)r.bytes * r.passes / m->seconds[k] * 1e-9;
        if (bench_preemptions() == preempted || i >= (TRIES - 1) * rounds)
            bench_sample(&rates, rate);
    }
    return bench_summarize(&rates);
}

static const struct bench_column read_columns[] = {
    { "from", "from", BENCH_TEXT, 6 },
    { "threads", "threads", 0, 7 },
    { "KiB per thread", "kib_per_thread", 0, 14 },
    { "GB/s", "gb_per_s", 1, 8 },
    { "95 % low", "gb_per_s_lo", 1, 8 },
    { "high", "gb_per_s_hi", 1, 8 },
};

static void read_row(struct bench_table *t, const char *from, uint32_t threads, size_t bytes,
                     struct bench_summary s)
{
    bench_text(t, "%s", from);
    bench_number(t, threads);
    bench_number(t, (double)bytes / 1024);
    bench_number(t, s.median);
    bench_number(t, s.lo);
    bench_number(t, s.hi);
}

static void read_rows(struct bench_table *t, struct bench_machine *m, unsigned rounds)
{
    static const char *const names[] = { "", "L1", "L2", "L3" };
    for (int level = 1; level <= 3; level++) {
        /* Half the cache. L3 is shared, so each thread reads a part of it; skip it if the part
         * fits L2. */
        size_t bytes = bench_cache_bytes(level) / 2;
        if (level == 3 && m->n_threads * 4 > 2)
            bytes /= m->n_threads;
        if (bytes < 4096 || bytes <= 2 * bench_cache_bytes(level - 1) ||
            bytes * m->n_threads > m->stream_bytes)
            continue;
        read_row(t, names[level], m->n_threads, bytes, cache_bandwidth(m, bytes, rounds));
    }
    struct bench_samples rates = { 0 };
    for (unsigned i = 0; i < rounds; i++)
        bench_sample(&rates, bench_probe(m, BENCH_READ) * 1e-9);
    read_row(t, "memory", m->n_threads, m->stream_bytes / m->n_threads, bench_summarize(&rates));
}

/* ---- the command */

static int peaks(struct bench_table *t, const struct bench_options *o,
                 const struct bench_list *threads)
{
    bench_table_begin(t, "Peak rates", peak_columns, sizeof peak_columns / sizeof *peak_columns);
    for (int i = 0; quire_cpu_level_name(i); i++) {
        struct bench_options at = *o;
        at.isa = quire_cpu_level_name(i);
        if (!quire_cpu_level_usable(i) || (o->isa && strcmp(o->isa, at.isa) != 0))
            continue;
        for (uint32_t k = 0; k < threads->n; k++) {
            struct bench_machine m;
            at.quick = true; /* small read buffer, which is not used here */
            const int code = bench_machine_open(&m, &at, threads->v[k]);
            if (code)
                return code;
            peak_rows(t, &m, bench_repetitions(o, 15));
            bench_machine_close(&m);
        }
    }
    bench_table_end(t);
    return 0;
}

static int reads(struct bench_table *t, const struct bench_options *o,
                 const struct bench_list *threads)
{
    bench_table_begin(t, "Read bandwidth", read_columns,
                      sizeof read_columns / sizeof *read_columns);
    for (uint32_t k = 0; k < threads->n; k++) {
        struct bench_machine m;
        const int code = bench_machine_open(&m, o, threads->v[k]);
        if (code)
            return code;
        read_rows(t, &m, bench_repetitions(o, 21));
        bench_machine_close(&m);
    }
    bench_table_end(t);
    return 0;
}

int bench_roofline(const struct bench_options *o)
{
    struct bench_table t;
    struct bench_list threads = o->threads;
    const uint32_t most = quire_threads_default_count();
    for (uint32_t n = 1; !o->threads.n && threads.n < BENCH_LIST_MAX; n *= 2) {
        threads.v[threads.n++] = n < most ? n : most;
        if (n >= most)
            break;
    }
    bench_document_begin(&t, o, "roofline");
    int code = peaks(&t, o, &threads);
    if (!code)
        code = reads(&t, o, &threads);
    if (!code)
        code = bench_team_table(&t, o, &threads);
    bench_document_end(&t);
    return code;
}
