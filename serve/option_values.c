/* SPDX-License-Identifier: Apache-2.0 */
/* option_values.c - parses and prints the values of options. */
#include "option_values.h"
#include "log.h"
#include "numbers.h"
#include <inttypes.h>
#include <quire/cpu.h>
#include <string.h>

enum option_kind {
    FLAG,
    TEXT,
    PATH,
    TEXTS,
    MODELS,
    ALIASES,
    REAL,
    COUNT,
    THREADS,
    PORT,
    BYTES,
    KV_TYPE,
    ISA,
    COMPUTE,
    LOG_FORMAT,
    LOG_LEVEL,
};

static const struct option_row rows[] = {
#define SECTION(title) { .section = (title) },
#define OPTION(kind, field, initial, short_name, name, alias, value, help)                         \
    { NULL, kind, offsetof(struct options, field), short_name, name, alias, value, help },
#include "options.def"
#undef SECTION
#undef OPTION
};
_Static_assert(sizeof rows / sizeof rows[0] <= MAX_OPTIONS, "enlarge MAX_OPTIONS");

const struct options option_defaults = {
#define SECTION(title)
#define OPTION(kind, field, initial, ...) .field = initial,
#include "options.def"
#undef SECTION
#undef OPTION
};

static const char *const compute_modes[] = { "native", "f32", "throughput",
                                             NULL };               /* enum quire_compute */
static const char *const log_formats[] = { "text", "json", NULL }; /* enum log_format */
static const char *const log_levels[] = { "error", "warn", "info", "debug", NULL };

/* Index of a name in a list that ends with NULL; -1 if it is none of them, or there is no list. */
static int find_name(const char *value, const char *const *names)
{
    for (int i = 0; names && names[i]; i++)
        if (strcmp(value, names[i]) == 0)
            return i;
    return -1;
}

static bool is_isa_level(const char *value)
{
    const char *name;
    for (int i = 0; (name = quire_cpu_level_name(i)); i++)
        if (strcmp(value, name) == 0)
            return true;
    return false;
}

static bool add_text(struct option_list *list, const char *value)
{
    if (list->n == MAX_REPEATED)
        return false;
    list->text[list->n++] = value;
    return true;
}

static bool add_alias(struct option_list *list, const char *value)
{
    const char *equals = strchr(value, '=');
    return equals && equals > value && equals[1] && add_text(list, value);
}

const char *option_model_path(const char *text)
{
    const size_t n = strcspn(text, "/=");
    return text[n] == '=' ? text + n + 1 : text;
}

static bool add_model(struct option_list *list, const char *value)
{
    return *value != '=' && *option_model_path(value) && add_text(list, value);
}

static bool set_number(enum option_kind kind, void *field, const char *value)
{
    enum { MAX_THREADS = 1024 };
    int64_t integer = 0;
    switch (kind) {
    case COUNT:
        if (!parse_integer(value, 0, INT32_MAX, &integer))
            return false;
        *(OPTION_TYPE_COUNT *)field = (uint32_t)integer;
        return true;
    case THREADS:
        if (strcmp(value, "auto") != 0 && !parse_integer(value, 0, MAX_THREADS, &integer))
            return false;
        *(OPTION_TYPE_THREADS *)field = (uint32_t)integer;
        return true;
    case PORT:
        if (!parse_integer(value, 0, UINT16_MAX, &integer))
            return false;
        *(OPTION_TYPE_PORT *)field = (uint16_t)integer;
        return true;
    case BYTES:
        if (strcmp(value, "0") == 0) {
            *(OPTION_TYPE_BYTES *)field = 0;
            return true;
        }
        return parse_bytes(value, field);
    default: /* REAL */
        return parse_real(value, field) && *(OPTION_TYPE_REAL *)field >= 0;
    }
}

/* The names of the values of an option that is one of a few, by value; else NULL. */
static const char *const *choice_names(enum option_kind kind)
{
    switch (kind) {
    case COMPUTE:
        return compute_modes;
    case LOG_FORMAT:
        return log_formats;
    case LOG_LEVEL:
        return log_levels;
    default:
        return NULL;
    }
}

static bool set_choice(enum option_kind kind, void *field, const char *value)
{
    const int i = find_name(value, choice_names(kind));
    if (i < 0)
        return false;
    if (kind == COMPUTE)
        *(OPTION_TYPE_COMPUTE *)field = (enum quire_compute)i;
    else if (kind == LOG_FORMAT)
        *(OPTION_TYPE_LOG_FORMAT *)field = (unsigned)i;
    else
        *(OPTION_TYPE_LOG_LEVEL *)field = (enum quire_log_level)i;
    return true;
}

static bool set_value(struct options *o, const struct option_row *row, const char *value)
{
    void *field = (char *)o + row->offset;
    const enum option_kind kind = (enum option_kind)row->kind;
    if (*value == '\0')
        return false;
    switch (kind) {
    case FLAG:
        *(OPTION_TYPE_FLAG *)field = *value == '1';
        return true;
    case ISA:
        if (!is_isa_level(value))
            return false;
        *(OPTION_TYPE_ISA *)field = value;
        return true;
    case TEXT:
    case PATH:
        *(const char **)field = value;
        return true;
    case TEXTS:
        return add_text(field, value);
    case MODELS:
        return add_model(field, value);
    case ALIASES:
        return add_alias(field, value);
    case KV_TYPE:
        return quire_kv_dtype_parse(value, field, NULL) == QUIRE_OK;
    case COMPUTE:
    case LOG_FORMAT:
    case LOG_LEVEL:
        return set_choice(kind, field, value);
    default:
        return set_number(kind, field, value);
    }
}

bool option_values_is_action(const struct option_row *row)
{
    return row->offset == offsetof(struct options, config) ||
           (row->offset >= offsetof(struct options, check_config) &&
            row->offset <= offsetof(struct options, list_options));
}

bool option_values_is_list(const struct option_row *row)
{
    return row->kind == TEXTS || row->kind == MODELS || row->kind == ALIASES;
}

/* option_table.set */
static bool read_value(void *reader, const struct option_row *row, const char *value)
{
    struct option_reader *r = reader;
    int *set_by = &r->set_by[row - rows];
    if (option_values_is_list(row) && *set_by != r->source)
        ((struct option_list *)((char *)r->options + row->offset))->n = 0;
    *set_by = r->source;
    return set_value(r->options, row, value);
}

const struct option_table server_options = { "quire-server", rows, sizeof rows / sizeof rows[0],
                                             read_value };

/* ---- Printing */

static void print_line(FILE *out, const struct option_row *row, const char *value)
{
    const bool plain = value[strcspn(value, "\"# \t")] == '\0';
    fprintf(out, plain ? "%s %s\n" : "%s \"%s\"\n", row->name + 2, value);
}

static void print_list(FILE *out, const struct option_row *row, const struct option_list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        print_line(out, row, list->text[i]);
}

/* A number without more digits than necessary. */
static const char *format_real(double v, char buf[32])
{
    double back;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buf, 32, "%.*g", digits, v);
        if (parse_real(buf, &back) && back >= v && back <= v)
            break;
    }
    return buf;
}

static const char *format_number(enum option_kind kind, const void *field, char buf[32])
{
    switch (kind) {
    case REAL:
        return format_real(*(const OPTION_TYPE_REAL *)field, buf);
    case PORT:
        snprintf(buf, 32, "%u", *(const OPTION_TYPE_PORT *)field);
        return buf;
    case BYTES:
        snprintf(buf, 32, "%" PRIu64, *(const OPTION_TYPE_BYTES *)field);
        return buf;
    default: /* COUNT, THREADS */
        snprintf(buf, 32, "%" PRIu32, *(const uint32_t *)field);
        return buf;
    }
}

static const char *format_value(enum option_kind kind, const void *field, char buf[32])
{
    switch (kind) {
    case FLAG:
        return *(const OPTION_TYPE_FLAG *)field ? "on" : "off";
    case TEXT:
    case PATH:
    case ISA:
        return *(const char *const *)field;
    case KV_TYPE:
        return quire_kv_dtype_name(*(const OPTION_TYPE_KV_TYPE *)field);
    case COMPUTE:
        return compute_modes[*(const OPTION_TYPE_COMPUTE *)field];
    case LOG_FORMAT:
        return log_formats[*(const OPTION_TYPE_LOG_FORMAT *)field];
    case LOG_LEVEL:
        return log_levels[*(const OPTION_TYPE_LOG_LEVEL *)field];
    default:
        return format_number(kind, field, buf);
    }
}

void option_values_print(const struct options *o, FILE *out)
{
    for (size_t i = 0; i < server_options.n_rows; i++) {
        const struct option_row *row = &rows[i];
        const void *field = (const char *)o + row->offset;
        char buf[32], initial[32];
        if (row->section || !row->help || option_values_is_action(row))
            continue;
        if (option_values_is_list(row)) {
            print_list(out, row, field);
            continue;
        }
        const enum option_kind kind = (enum option_kind)row->kind;
        const char *value = format_value(kind, field, buf);
        const char *before =
            format_value(kind, (const char *)&option_defaults + row->offset, initial);
        if (value && (!before || strcmp(value, before) != 0))
            print_line(out, row, value);
    }
}

static void print_names(FILE *out, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        fprintf(out, i ? " %s" : "%s", names[i]);
}

void option_values_print_completion(FILE *out, int kind)
{
    switch ((enum option_kind)kind) {
    case PATH:
        fputs("file", out);
        return;
    case MODELS:
        fputs("model", out);
        return;
    case THREADS:
        fputs("auto", out);
        return;
    case KV_TYPE:
        option_table_print_kv_types(out);
        return;
    case ISA:
        option_table_print_isa_levels(out);
        return;
    case LOG_FORMAT:
        print_names(out, log_formats);
        return;
    case LOG_LEVEL:
        print_names(out, log_levels);
        return;
    default:
        return;
    }
}
