/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_hf.c - opens the tokenizer of a Hugging Face folder and reads the small files beside it. */
#include "tokenizer/vocab_hf.h"
#include "format/file.h"
#include "format/json.h"
#include "tokenizer/impl.h"
#include <errno.h>
#include <sys/stat.h>

enum { MAX_VOCAB_FILE = 256 << 20, MAX_SMALL_FILE = 16 << 20 };

/* A folder while it is read: every file and tree stays until the tokenizer has been built. */
struct folder {
    const struct quire_allocator *a;
    struct quire_error *err;
    const char *path; /* of the folder, with its last slash; not NUL-terminated */
    size_t path_size;
    struct qr_vocab_spec spec;
};

/* One file of it, absent unless text is set. */
struct text_file {
    char *text;
    size_t size;
};

static void free_text(const struct folder *d, struct text_file *f)
{
    if (f->text)
        qr_free(d->a, f->text, f->size + 1, 1);
}

/* Loads a file of the folder; it may be missing. */
static quire_status load_text(const struct folder *d, const char *name, size_t max,
                              struct text_file *f)
{
    *f = (struct text_file){ 0 };
    const size_t size = d->path_size + strlen(name) + 1;
    char *path = qr_alloc(d->a, size, 1);
    if (!path)
        return qr_fail(d->err, QUIRE_E_NOMEM, "out of memory for the tokenizer");
    memcpy(path, d->path, d->path_size);
    memcpy(path + d->path_size, name, strlen(name) + 1);
    struct stat st;
    quire_status status = QUIRE_OK;
    if (stat(path, &st) == 0)
        status = qr_file_load(path, max, d->a, &f->text, &f->size, d->err);
    else if (errno != ENOENT)
        status = qr_fail_errno(d->err, QUIRE_E_IO, errno, "%s", qr_path_tail(path));
    qr_free(d->a, path, size, 1);
    if (status != QUIRE_OK)
        f->text = NULL;
    return status;
}

/* The same for a JSON object; *out is NULL when the file is missing. */
static quire_status load_json(const struct folder *d, const char *name, json_t **out)
{
    struct text_file f;
    *out = NULL;
    QR_TRY(load_text(d, name, MAX_SMALL_FILE, &f));
    const quire_status st = f.text ? qr_json_parse(f.text, f.size, name, out, d->err) : QUIRE_OK;
    free_text(d, &f);
    return st;
}

static quire_status add_template(struct folder *d, const char *name, const char *text)
{
    struct qr_vocab_spec *spec = &d->spec;
    for (uint32_t i = 0; i < spec->n_templates; i++)
        if (strcmp(spec->templates[i].name, name) == 0)
            return QUIRE_OK; /* an earlier source wins */
    if (spec->n_templates == QR_MAX_TEMPLATES)
        return qr_fail(d->err, QUIRE_E_LIMIT, "more than %d chat templates", QR_MAX_TEMPLATES);
    const char *label = qr_arena_strndup(&spec->arena, name, strlen(name));
    const char *copy = qr_arena_strndup(&spec->arena, text, strlen(text));
    if (!label || !copy)
        return qr_fail(d->err, QUIRE_E_NOMEM, "out of memory for the chat template");
    spec->templates[spec->n_templates++] = (struct qr_spec_template){ label, copy };
    return QUIRE_OK;
}

static quire_status read_jinja_file(struct folder *d)
{
    struct text_file f;
    QR_TRY(load_text(d, "chat_template.jinja", MAX_SMALL_FILE, &f));
    quire_status st = QUIRE_OK;
    if (f.text && memchr(f.text, 0, f.size))
        st = qr_fail(d->err, QUIRE_E_FORMAT, "chat_template.jinja holds a NUL character");
    else if (f.text)
        st = add_template(d, "", f.text);
    free_text(d, &f);
    return st;
}

/* chat_template: a string, or a list of { name, template }. */
static quire_status read_templates(struct folder *d, const json_t *config)
{
    const json_t *v = json_object_get(config, "chat_template");
    if (!v || json_is_null(v))
        return QUIRE_OK;
    if (json_is_string(v))
        return add_template(d, "", json_string_value(v));
    if (!json_is_array(v))
        return qr_fail(d->err, QUIRE_E_FORMAT,
                       "tokenizer_config.json: chat_template is neither a string nor a list");
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *item = json_array_get(v, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *text = json_string_value(json_object_get(item, "template"));
        if (!name || !text)
            return qr_fail(d->err, QUIRE_E_FORMAT,
                           "tokenizer_config.json: chat_template[%zu] has no name or template", i);
        QR_TRY(add_template(d, strcmp(name, "default") == 0 ? "" : name, text));
    }
    return QUIRE_OK;
}

static int64_t find_token(const struct qr_vocab_spec *spec, const char *text)
{
    const size_t size = strlen(text);
    for (size_t i = 0; i < spec->n_tokens; i++)
        if (spec->tokens[i].text && spec->tokens[i].size == size &&
            memcmp(spec->tokens[i].text, text, size) == 0)
            return (int64_t)i;
    return QUIRE_TOKEN_NONE;
}

/* "bos_token": "<s>" or { "content": "<s>", ... }; a text that is no token is ignored, as
 * elsewhere. */
static void read_roles(struct qr_vocab_spec *spec, const json_t *obj)
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
        const json_t *v = json_object_get(obj, roles[i].key);
        const char *text = json_string_value(json_is_object(v) ? json_object_get(v, "content") : v);
        if (text && spec->special[roles[i].which] == QUIRE_TOKEN_NONE)
            spec->special[roles[i].which] = find_token(spec, text);
    }
}

/* add_bos_token, add_eos_token: an explicit setting beats what the tokenizer file says. */
static quire_status read_affix(struct folder *d, const json_t *config, const char *key, int64_t id,
                               int64_t *ids, uint32_t *n)
{
    bool add = false;
    enum qr_json_state state;
    QR_TRY(qr_json_bool(config, "tokenizer_config.json", key, &add, &state, d->err));
    if (state != QR_JSON_PRESENT || id == QUIRE_TOKEN_NONE)
        return QUIRE_OK;
    if (!add && *n == 1 && ids[0] == id)
        *n = 0;
    if (add && *n == 0)
        ids[(*n)++] = id;
    return QUIRE_OK;
}

static quire_status read_config(struct folder *d, const json_t *config)
{
    struct qr_vocab_spec *spec = &d->spec;
    read_roles(spec, config);
    QR_TRY(read_affix(d, config, "add_bos_token", spec->special[QUIRE_SPECIAL_BOS],
                      spec->prefix_ids, &spec->n_prefix_ids));
    QR_TRY(read_affix(d, config, "add_eos_token", spec->special[QUIRE_SPECIAL_EOS],
                      spec->suffix_ids, &spec->n_suffix_ids));
    return read_templates(d, config);
}

/* eos_token_id: an id or a list of ids. Models have more rows than the tokenizer has tokens at
 * times; an id up there ends nothing that has a text. */
static quire_status read_ends(struct folder *d, const json_t *config, const char *name)
{
    struct qr_vocab_spec *spec = &d->spec;
    const json_t *v = json_object_get(config, "eos_token_id");
    const size_t n = json_is_array(v) ? json_array_size(v) : 1;
    if (!v || json_is_null(v))
        return QUIRE_OK;
    for (size_t i = 0; i < n; i++) {
        uint32_t id;
        if (!qr_json_is_u32(json_is_array(v) ? json_array_get(v, i) : v, &id))
            return qr_fail(d->err, QUIRE_E_FORMAT,
                           "%s: eos_token_id is not a token id or a list of them", name);
        if (id >= spec->n_tokens)
            continue;
        if (spec->n_eog == QR_MAX_EOG)
            return qr_fail(d->err, QUIRE_E_LIMIT, "%s: more than %d ids in eos_token_id", name,
                           QR_MAX_EOG);
        spec->eog[spec->n_eog++] = id;
        if (spec->special[QUIRE_SPECIAL_EOS] == QUIRE_TOKEN_NONE)
            spec->special[QUIRE_SPECIAL_EOS] = id;
    }
    return QUIRE_OK;
}

/* Without the files that name them: what the ends of a text and common names tell. */
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
}

static quire_status read_neighbours(struct folder *d)
{
    json_t *config, *map, *generation, *model;
    QR_TRY(read_jinja_file(d));
    QR_TRY(load_json(d, "tokenizer_config.json", &config));
    quire_status st = config ? read_config(d, config) : QUIRE_OK;
    json_decref(config);
    QR_TRY(st);
    QR_TRY(load_json(d, "special_tokens_map.json", &map));
    read_roles(&d->spec, map);
    json_decref(map);
    QR_TRY(load_json(d, "generation_config.json", &generation));
    st = read_ends(d, generation, "generation_config.json");
    json_decref(generation);
    QR_TRY(st);
    if (!d->spec.n_eog) {
        QR_TRY(load_json(d, "config.json", &model));
        st = read_ends(d, model, "config.json");
        json_decref(model);
    }
    default_roles(&d->spec);
    return st;
}

static quire_status build_json(struct folder *d, const struct text_file *f, const char *name,
                               struct quire_tokenizer **out)
{
    json_t *root;
    QR_TRY(qr_json_parse(f->text, f->size, name, &root, d->err));
    quire_status st = qr_vocab_read_json(&d->spec, root, d->err);
    if (st == QUIRE_OK)
        st = read_neighbours(d);
    if (st == QUIRE_OK)
        st = qr_tokenizer_build(&d->spec, d->a, out, d->err);
    json_decref(root);
    return st;
}

static quire_status build_any(struct folder *d, const struct text_file *f, const char *name,
                              struct quire_tokenizer **out)
{
    size_t i = 0;
    while (i < f->size && strchr(" \t\r\n", f->text[i]) && f->text[i])
        i++;
    if (i < f->size && f->text[i] == '{')
        return build_json(d, f, name, out);
    if (!f->size ||
        f->text[0] != 0x0A) /* a SentencePiece model begins with a piece: field 1, a message */
        return qr_fail(d->err, QUIRE_E_FORMAT,
                       "%s is neither a GGUF file nor tokenizer.json nor tokenizer.model",
                       qr_path_tail(name));
    QR_TRY(qr_vocab_read_sentencepiece(&d->spec, (const uint8_t *)f->text, f->size, d->err));
    QR_TRY(read_neighbours(d));
    return qr_tokenizer_build(&d->spec, d->a, out, d->err);
}

/* path: of the folder; name: of the vocabulary file in it, NULL for whichever is there. */
static quire_status open_in(const char *path, size_t path_size, const char *name,
                            const struct quire_allocator *a, struct quire_tokenizer **out,
                            struct quire_error *err)
{
    struct folder d = { .a = a, .err = err, .path = path, .path_size = path_size };
    struct text_file f = { 0 };
    *out = NULL;
    qr_vocab_spec_init(&d.spec, a);
    quire_status st = load_text(&d, name ? name : "tokenizer.json", MAX_VOCAB_FILE, &f);
    if (st == QUIRE_OK && !f.text && !name) {
        name = "tokenizer.model";
        st = load_text(&d, name, MAX_VOCAB_FILE, &f);
    }
    if (st == QUIRE_OK && !f.text)
        st = qr_fail(err, QUIRE_E_IO, "no tokenizer.json or tokenizer.model in the folder");
    if (st == QUIRE_OK)
        st = build_any(&d, &f, name ? name : "tokenizer.json", out);
    free_text(&d, &f);
    qr_vocab_spec_free(&d.spec);
    return st;
}

quire_status qr_tokenizer_from_hf_folder(const char *path, const struct quire_allocator *a,
                                         struct quire_tokenizer **out, struct quire_error *err)
{
    const size_t n = strlen(path);
    *out = NULL;
    if (n && path[n - 1] == '/')
        return open_in(path, n, NULL, a, out, err);
    char *with_slash = qr_alloc(a, n + 1, 1);
    if (!with_slash)
        return qr_fail(err, QUIRE_E_NOMEM, "out of memory for the tokenizer");
    memcpy(with_slash, path, n + 1);
    with_slash[n] = '/'; /* in place of the terminator: the length is passed on */
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
