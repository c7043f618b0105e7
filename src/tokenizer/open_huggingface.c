/* SPDX-License-Identifier: Apache-2.0 */
/* open_huggingface.c - opens the tokenizer of a Hugging Face folder and its configuration files. */
#include "tokenizer/open_huggingface.h"
#include "base/error.h"
#include "format/file.h"
#include "format/json.h"
#include "tokenizer/build.h"
#include "tokenizer/longest_match.h"
#include "tokenizer/rwkv_vocab.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/tokenizer_json_model.h"
#include "tokenizer/tokenizer_json_pipeline.h"
#include "tokenizer/tokenizer_jsonl.h"
#include "tokenizer/vocab_spec.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_VOCAB_FILE = 256 << 20, MAX_SMALL_FILE = 16 << 20 }; /* bytes */

/* Where the files come from, and the description they fill. */
struct source {
    const struct quire_allocator *a;
    struct quire_error *err;
    const char *path; /* of the folder, with its last slash; not NUL-terminated. NULL: no folder */
    size_t path_size;
    const char *config; /* tokenizer_config.json in memory, or NULL */
    size_t config_size;
    struct qr_vocab_spec spec;
};

/* Content of a file, NUL-terminated. */
struct text_file {
    char *text; /* NULL: the file does not exist */
    size_t size;
};

static void free_text(const struct source *s, struct text_file *f)
{
    if (f->text)
        qr_free(s->a, f->text, f->size + 1, 1);
}

/* Loads a file of the folder if it exists. */
static quire_status load_text(const struct source *s, const char *name, size_t max,
                              struct text_file *f)
{
    *f = (struct text_file){ 0 };
    if (!s->path)
        return QUIRE_OK;
    const size_t size = s->path_size + strlen(name) + 1;
    char *path = qr_alloc(s->a, size, 1);
    if (!path)
        return qr_fail(s->err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    memcpy(path, s->path, s->path_size);
    memcpy(path + s->path_size, name, strlen(name) + 1);
    struct stat st;
    quire_status status = QUIRE_OK;
    if (stat(path, &st) == 0)
        status = qr_file_load(path, max, s->a, &f->text, &f->size, s->err);
    else if (errno != ENOENT)
        status = qr_fail_errno(s->err, QUIRE_E_IO, errno, "%s", qr_path_tail(path));
    qr_free(s->a, path, size, 1);
    if (status != QUIRE_OK)
        f->text = NULL;
    return status;
}

/* Loads a JSON object; *out is NULL if the file does not exist. */
static quire_status load_json(const struct source *s, const char *name, uint32_t flags,
                              struct qr_json **out)
{
    struct text_file f;
    *out = NULL;
    QR_TRY(load_text(s, name, MAX_SMALL_FILE, &f));
    const quire_status st =
        f.text ? qr_json_parse_object(f.text, f.size, name, flags, s->a, out, s->err) : QUIRE_OK;
    free_text(s, &f);
    return st;
}

static quire_status load_config(const struct source *s, struct qr_json **out)
{
    static const char name[] = "tokenizer_config.json";
    /* model_max_length of a model without a limit is often 10^30 */
    const uint32_t flags = QR_JSON_ALLOW_BIG_INTEGERS;
    return s->config
               ? qr_json_parse_object(s->config, s->config_size, name, flags, s->a, out, s->err)
               : load_json(s, name, flags, out);
}

static quire_status add_template(struct source *s, const char *name, const char *text)
{
    struct qr_vocab_spec *spec = &s->spec;
    for (uint32_t i = 0; i < spec->n_templates; i++)
        if (strcmp(spec->templates[i].name, name) == 0)
            return QUIRE_OK; /* the first source wins */
    if (spec->n_templates == QR_MAX_TEMPLATES)
        return qr_fail(s->err, QUIRE_E_LIMIT, "more than %d chat templates", QR_MAX_TEMPLATES);
    const char *label = qr_arena_strndup(&spec->arena, name, strlen(name));
    const char *copy = qr_arena_strndup(&spec->arena, text, strlen(text));
    if (!label || !copy)
        return qr_fail(s->err, QUIRE_E_NOMEM, "no memory for the chat template");
    spec->templates[spec->n_templates++] = (struct qr_spec_template){ label, copy };
    return QUIRE_OK;
}

static quire_status read_jinja_file(struct source *s)
{
    struct text_file f;
    QR_TRY(load_text(s, "chat_template.jinja", MAX_SMALL_FILE, &f));
    quire_status st = QUIRE_OK;
    if (f.text && memchr(f.text, 0, f.size))
        st = qr_fail(s->err, QUIRE_E_FORMAT, "chat_template.jinja contains a NUL character");
    else if (f.text)
        st = add_template(s, "", f.text);
    free_text(s, &f);
    return st;
}

/* chat_template: a string, or a list of { name, template }. */
static quire_status read_templates(struct source *s, const struct qr_json *config)
{
    const struct qr_json *v = qr_json_get(config, "chat_template");
    if (!v || qr_json_is_null(v))
        return QUIRE_OK;
    if (qr_json_is_string(v))
        return add_template(s, "", qr_json_string(v));
    if (!qr_json_is_array(v))
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "tokenizer_config.json: chat_template is neither a string nor a list");
    for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);) {
        const char *name = qr_json_string(qr_json_get(i.value, "name"));
        const char *text = qr_json_string(qr_json_get(i.value, "template"));
        if (!name || !text)
            return qr_fail(s->err, QUIRE_E_FORMAT,
                           "tokenizer_config.json: chat_template[%zu] has no name or template",
                           i.index);
        QR_TRY(add_template(s, strcmp(name, "default") == 0 ? "" : name, text));
    }
    return QUIRE_OK;
}

static bool has_text(const struct qr_spec_token *tok, const char *text, size_t size)
{
    return tok->text && tok->size == size && memcmp(tok->text, text, size) == 0;
}

static int64_t find_token(const struct qr_vocab_spec *spec, const char *text)
{
    enum { MOST = 64 }; /* bytes of a text that is compared with escaped ones */
    const size_t size = strlen(text);
    const bool escapes = spec->kind == QR_VOCAB_LONGEST_MATCH && size <= MOST;
    char escaped[4 * MOST];
    const size_t n = escapes ? qr_escape_token((const uint8_t *)text, size, escaped) : 0;
    for (size_t i = 0; i < spec->n_tokens; i++) {
        const bool other = escapes && spec->tokens[i].type == QUIRE_TOKEN_NORMAL;
        if (has_text(&spec->tokens[i], other ? escaped : text, other ? n : size))
            return (int64_t)i;
    }
    return QUIRE_TOKEN_NONE;
}

/* "bos_token": "<s>" or { "content": "<s>", ... }. A text that is not a token is ignored, as in
 * other implementations. */
static void read_roles(struct qr_vocab_spec *spec, const struct qr_json *obj)
{
    static const struct {
        const char *key;
        enum quire_special_token which;
    } roles[] = {
        { "bos_token", QUIRE_SPECIAL_BOS },   { "eos_token", QUIRE_SPECIAL_EOS },
        { "unk_token", QUIRE_SPECIAL_UNK },   { "pad_token", QUIRE_SPECIAL_PAD },
        { "sep_token", QUIRE_SPECIAL_SEP },   { "cls_token", QUIRE_SPECIAL_CLS },
        { "mask_token", QUIRE_SPECIAL_MASK },
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const struct qr_json *v = qr_json_get(obj, roles[i].key);
        const char *text = qr_json_string(qr_json_is_object(v) ? qr_json_get(v, "content") : v);
        if (text && spec->special[roles[i].which] == QUIRE_TOKEN_NONE)
            spec->special[roles[i].which] = find_token(spec, text);
    }
}

/* add_bos_token, add_eos_token: an explicit setting overrides the post-processor. Where the file
 * does not name the token of the role, false removes the one that the post-processor adds, unless
 * that has the role `other`. */
static quire_status read_affix(struct source *s, const struct qr_json *config, const char *key,
                               int64_t id, enum quire_special_token other, int64_t *ids,
                               uint32_t *n)
{
    bool add = false;
    enum qr_json_state state;
    QR_TRY(qr_json_bool(config, "tokenizer_config.json", key, &add, &state, s->err));
    if (state != QR_JSON_PRESENT)
        return QUIRE_OK;
    const bool named = id != QUIRE_TOKEN_NONE;
    if (!add && *n == 1 && (named ? ids[0] == id : ids[0] != s->spec.special[other]))
        *n = 0;
    if (add && *n == 0 && named)
        ids[(*n)++] = id;
    return QUIRE_OK;
}

/* PLAMO: lengths of runs that are segmented by themselves. */
static quire_status read_breaks(struct source *s, const struct qr_json *config)
{
    const struct {
        const char *key;
        uint32_t *out;
    } keys[] = {
        { "break_around_repeated_chars_threshold", &s->spec.break_repeats },
        { "break_around_consecutive_spaces_threshold", &s->spec.break_spaces },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        enum qr_json_state state;
        QR_TRY(
            qr_json_u32(config, "tokenizer_config.json", keys[i].key, keys[i].out, &state, s->err));
        if (state == QR_JSON_PRESENT && *keys[i].out == 0)
            return qr_fail(s->err, QUIRE_E_FORMAT, "tokenizer_config.json: %s is 0", keys[i].key);
    }
    return QUIRE_OK;
}

/* LONGEST_MATCH: the text of token 0. Other added tokens are those of the vocabulary. */
static quire_status read_end_of_text(struct source *s, const struct qr_json *config)
{
    struct qr_vocab_spec *spec = &s->spec;
    const struct qr_json *added = qr_json_get(config, "added_tokens_decoder");
    for (struct qr_json_iter i = qr_json_iterate(added); qr_json_next(&i);) {
        const char *text = qr_json_string(qr_json_get(i.value, "content"));
        if (!text || !*text)
            return qr_fail(s->err, QUIRE_E_FORMAT,
                           "tokenizer_config.json: added_tokens_decoder[\"%s\"] has no content",
                           i.key);
        if (strcmp(i.key, "0") == 0) {
            struct qr_spec_token *end = &spec->tokens[0];
            end->size = strlen(text);
            end->text = qr_arena_strndup(&spec->arena, text, end->size);
            if (!end->text)
                return qr_fail(s->err, QUIRE_E_NOMEM, "no memory for the tokenizer");
        } else if (find_token(spec, text) != strtol(i.key, NULL, 10))
            return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                           "tokenizer_config.json: token \"%s\" of added_tokens_decoder is not in "
                           "the vocabulary of RWKV",
                           i.key);
    }
    return QUIRE_OK;
}

static quire_status read_config(struct source *s, const struct qr_json *config)
{
    struct qr_vocab_spec *spec = &s->spec;
    if (spec->kind == QR_VOCAB_LONGEST_MATCH)
        QR_TRY(read_end_of_text(s, config));
    read_roles(spec, config);
    if (spec->kind == QR_VOCAB_PLAMO)
        QR_TRY(read_breaks(s, config));
    QR_TRY(read_affix(s, config, "add_bos_token", spec->special[QUIRE_SPECIAL_BOS],
                      QUIRE_SPECIAL_CLS, spec->prefix_ids, &spec->n_prefix_ids));
    QR_TRY(read_affix(s, config, "add_eos_token", spec->special[QUIRE_SPECIAL_EOS],
                      QUIRE_SPECIAL_SEP, spec->suffix_ids, &spec->n_suffix_ids));
    return read_templates(s, config);
}

/* eos_token_id: an id or a list of ids. Ids beyond the vocabulary are ignored: a model may have
 * more logits than the tokenizer has tokens, and those have no text. */
static quire_status add_eos_id(struct source *s, const struct qr_json *v, const char *name)
{
    struct qr_vocab_spec *spec = &s->spec;
    uint32_t id;
    if (!qr_json_is_u32(v, &id))
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "%s: eos_token_id is neither a token id nor a list of token ids", name);
    if (id >= spec->n_tokens)
        return QUIRE_OK;
    if (spec->n_eog == QR_MAX_EOG)
        return qr_fail(s->err, QUIRE_E_LIMIT, "%s: more than %d ids in eos_token_id", name,
                       QR_MAX_EOG);
    spec->eog[spec->n_eog++] = id;
    if (spec->special[QUIRE_SPECIAL_EOS] == QUIRE_TOKEN_NONE)
        spec->special[QUIRE_SPECIAL_EOS] = id;
    return QUIRE_OK;
}

static quire_status read_eos_ids(struct source *s, const struct qr_json *config, const char *name)
{
    const struct qr_json *v = qr_json_get(config, "eos_token_id");
    if (!v || qr_json_is_null(v))
        return QUIRE_OK;
    if (!qr_json_is_array(v))
        return add_eos_id(s, v, name);
    for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);)
        QR_TRY(add_eos_id(s, i.value, name));
    return QUIRE_OK;
}

/* Assigns roles that no file assigns, from the post-processor and from common token texts. */
static void default_roles(struct qr_vocab_spec *spec)
{
    int64_t *special = spec->special;
    if (spec->kind != QR_VOCAB_WORDPIECE && spec->n_prefix_ids &&
        special[QUIRE_SPECIAL_BOS] == QUIRE_TOKEN_NONE)
        special[QUIRE_SPECIAL_BOS] = spec->prefix_ids[0];
    static const char *const ends[] = { "</s>", "<eos>" };
    for (size_t i = 0; i < 2 && special[QUIRE_SPECIAL_EOS] == QUIRE_TOKEN_NONE; i++) {
        const int64_t id = find_token(spec, ends[i]);
        if (id != QUIRE_TOKEN_NONE && spec->tokens[id].type == QUIRE_TOKEN_CONTROL)
            special[QUIRE_SPECIAL_EOS] = id;
    }
    if (spec->kind == QR_VOCAB_LONGEST_MATCH) { /* token 0 ends texts, the role may end turns */
        if (special[QUIRE_SPECIAL_EOS] == QUIRE_TOKEN_NONE)
            special[QUIRE_SPECIAL_EOS] = 0;
        else
            spec->eog[spec->n_eog++] = 0;
    }
}

static quire_status read_configuration(struct source *s)
{
    struct qr_json *config, *map, *generation, *model;
    QR_TRY(read_jinja_file(s));
    QR_TRY(load_config(s, &config));
    quire_status st = config ? read_config(s, config) : QUIRE_OK;
    qr_json_free(config);
    QR_TRY(st);
    QR_TRY(load_json(s, "special_tokens_map.json", 0, &map));
    read_roles(&s->spec, map);
    qr_json_free(map);
    QR_TRY(load_json(s, "generation_config.json", 0, &generation));
    st = read_eos_ids(s, generation, "generation_config.json");
    qr_json_free(generation);
    QR_TRY(st);
    if (!s->spec.n_eog) {
        QR_TRY(load_json(s, "config.json", 0, &model));
        st = read_eos_ids(s, model, "config.json");
        qr_json_free(model);
    }
    default_roles(&s->spec);
    return st;
}

static quire_status build_json(struct source *s, const char *text, size_t size, const char *name,
                               struct quire_tokenizer **out)
{
    struct qr_json *root;
    QR_TRY(qr_json_parse_object(text, size, name, 0, s->a, &root, s->err));
    quire_status st = qr_tokenizer_json_read_model(&s->spec, root, s->err);
    if (st == QUIRE_OK)
        st = qr_tokenizer_json_read_pipeline(&s->spec, root, s->err);
    if (st == QUIRE_OK)
        st = read_configuration(s);
    if (st == QUIRE_OK)
        st = qr_tokenizer_build(&s->spec, s->a, out, s->err);
    qr_json_free(root);
    return st;
}

static quire_status build_jsonl(struct source *s, const char *text, size_t size,
                                struct quire_tokenizer **out)
{
    QR_TRY(qr_tokenizer_jsonl_read(&s->spec, text, size, s->a, s->err));
    QR_TRY(read_configuration(s));
    return qr_tokenizer_build(&s->spec, s->a, out, s->err);
}

static quire_status build_rwkv(struct source *s, const char *text, size_t size,
                               struct quire_tokenizer **out)
{
    QR_TRY(qr_rwkv_vocab_read(&s->spec, text, size, s->err));
    QR_TRY(read_configuration(s));
    return qr_tokenizer_build(&s->spec, s->a, out, s->err);
}

/* The first character that is not white space, or 0. */
static char first_character(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size && text[i] && strchr(" \t\r\n", text[i]))
        i++;
    return i < size ? text[i] : 0;
}

/* Builds from a tokenizer.json, tokenizer.jsonl or vocabulary of RWKV, distinguished by content. */
static quire_status build_text(struct source *s, const char *text, size_t size, const char *name,
                               struct quire_tokenizer **out)
{
    const char first = first_character(text, size);
    return first == '['   ? build_jsonl(s, text, size, out)
           : first == '1' ? build_rwkv(s, text, size, out)
                          : build_json(s, text, size, name, out);
}

/* Builds from one of these or a tokenizer.model. */
static quire_status build_any(struct source *s, const struct text_file *f, const char *name,
                              struct quire_tokenizer **out)
{
    const char first = first_character(f->text, f->size);
    if (first == '{' || first == '[' || first == '1')
        return build_text(s, f->text, f->size, name, out);
    /* a SentencePiece model begins with a piece: field 1, a message */
    if (!f->size || f->text[0] != 0x0A)
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "%s is neither a GGUF file nor tokenizer.json, tokenizer.jsonl, "
                       "tokenizer.model or " QR_RWKV_VOCAB_FILE,
                       qr_path_tail(name));
    QR_TRY(qr_sentencepiece_model_read(&s->spec, (const uint8_t *)f->text, f->size, s->err));
    QR_TRY(read_configuration(s));
    return qr_tokenizer_build(&s->spec, s->a, out, s->err);
}

/* path: of the folder; name: of the tokenizer file in it, or NULL for the one that exists. */
static quire_status open_in(const char *path, size_t path_size, const char *name,
                            const struct quire_allocator *a, struct quire_tokenizer **out,
                            struct quire_error *err)
{
    static const char *const names[] = { "tokenizer.json", "tokenizer.model", "tokenizer.jsonl",
                                         QR_RWKV_VOCAB_FILE };
    enum { N = sizeof names / sizeof *names };
    struct source s = { .a = a, .err = err, .path = path, .path_size = path_size };
    struct text_file f = { 0 };
    *out = NULL;
    qr_vocab_spec_init(&s.spec, a);
    const char *found = name ? name : names[0];
    quire_status st = load_text(&s, found, MAX_VOCAB_FILE, &f);
    for (size_t i = 1; st == QUIRE_OK && !f.text && !name && i < N; i++)
        st = load_text(&s, found = names[i], MAX_VOCAB_FILE, &f);
    if (st == QUIRE_OK && !f.text)
        st = qr_fail(err, QUIRE_E_IO,
                     "no tokenizer.json, tokenizer.model, tokenizer.jsonl or " QR_RWKV_VOCAB_FILE
                     " in the folder");
    if (st == QUIRE_OK)
        st = build_any(&s, &f, found, out);
    free_text(&s, &f);
    qr_vocab_spec_free(&s.spec);
    return st;
}

quire_status qr_tokenizer_from_hf_folder(const char *path, const struct quire_allocator *a,
                                         struct quire_tokenizer **out, struct quire_error *err)
{
    const size_t n = strlen(path);
    *out = NULL;
    if (n && path[n - 1] == '/') /* GCOVR_EXCL_BR_LINE: the path of a folder is not empty */
        return open_in(path, n, NULL, a, out, err);
    char *with_slash = qr_alloc(a, n + 1, 1);
    if (!with_slash)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    memcpy(with_slash, path, n + 1);
    with_slash[n] = '/'; /* replaces the terminator: open_in takes the length */
    const quire_status st = open_in(with_slash, n + 1, NULL, a, out, err);
    qr_free(a, with_slash, n + 1, 1);
    return st;
}

quire_status qr_tokenizer_from_hf_file(const char *path, const struct quire_allocator *a,
                                       struct quire_tokenizer **out, struct quire_error *err)
{
    const char *name = qr_path_base(path);
    return open_in(path, (size_t)(name - path), name, a, out, err);
}

quire_status qr_tokenizer_open_json_memory(const void *json, size_t json_size, const void *config,
                                           size_t config_size,
                                           const struct quire_tokenizer_params *params,
                                           struct quire_tokenizer **out, struct quire_error *err)
{
    struct source s = { .a = params ? params->allocator : NULL,
                        .err = err,
                        .config = config,
                        .config_size = config_size };
    *out = NULL;
    if (json_size > MAX_VOCAB_FILE)
        return qr_fail(err, QUIRE_E_LIMIT, "tokenizer.json has %zu bytes, at most %d", json_size,
                       MAX_VOCAB_FILE);
    if (config_size > MAX_SMALL_FILE)
        return qr_fail(err, QUIRE_E_LIMIT, "tokenizer_config.json has %zu bytes, at most %d",
                       config_size, MAX_SMALL_FILE);
    qr_vocab_spec_init(&s.spec, s.a);
    const quire_status st = build_text(&s, json, json_size, "tokenizer.json", out);
    qr_vocab_spec_free(&s.spec);
    return st;
}
