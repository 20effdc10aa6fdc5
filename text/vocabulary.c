/* Vocabularies: a table of words or characters, or a SentencePiece model. */
#include "files/checksum.h"
#include "graph/grow.h"
#include "text/lists.h"
#include "text/numbered.h"
#include "text/sentencepiece/sentencepiece.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct wg_vocabulary {
    wg_vocabulary_kind kind;
    wgi_spm *spm; /* NULL: it is `tokens` */
    wgi_token_table
        tokens;           /* words or characters; of pieces, those of the list that numbers them */
    int32_t *id_of_piece; /* [pieces] the ids in that list; NULL: there is none */
    int32_t special[WGI_SPECIALS];
    int64_t size;
};

static const char *const first_tokens[WGI_SPECIALS] = {"<pad>", "<s>", "</s>", "<unk>"};

/* ---- making ---------------------------------------------------------------------------------- */

static wg_vocabulary *finish(wg_vocabulary *v)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): called without a failure */
    bool pieces = v->spm && !v->id_of_piece;
    for (int i = 0; pieces && i < WGI_SPECIALS; i++)
        v->special[i] = wgi_spm_special(v->spm, i);
    v->size = pieces ? wgi_spm_size(v->spm) : (int64_t)v->tokens.n;
    return v;
}

/* True if there is something to learn from: a word in a line that is not too long. */
static bool has_words(wgi_slice text, size_t longest)
{
    wgi_slice line, word;
    while (wgi_next_line(&text, &line))
        if (line.size <= longest && wgi_next_token(WG_VOCABULARY_WORDS, &line, &word))
            return true;
    return false;
}

/* Learns from clean text. */
static wg_status train_clean(wg_vocabulary *v, const wg_vocabulary_options *o, wgi_text text,
                             wg_error *error)
{
    bool pieces = v->kind == WG_VOCABULARY_BPE || v->kind == WG_VOCABULARY_UNIGRAM;
    if (!has_words((wgi_slice){text.bytes, text.size}, pieces ? WGI_SPM_LONGEST : SIZE_MAX))
        return wgi_error_set(
            error, WG_EDATA, "vocabulary: expected text%s, got none",
            pieces && text.size > WGI_SPM_LONGEST ? " with lines of at most 65536 bytes" : "");
    if (pieces)
        return wgi_spm_train(&v->spm, o, text.bytes, text.size, error);
    for (int i = 0; i < WGI_SPECIALS; i++)
        v->special[i] = i;
    wg_status status = wgi_tokens_count(&v->tokens, v->kind, o->size, first_tokens, WGI_SPECIALS,
                                        text.bytes, text.size);
    return status == WG_OK ? WG_OK : wgi_error_set(error, status, "no memory for a vocabulary");
}

static wg_status train(wg_vocabulary **out, const wg_vocabulary_options *o, wgi_text text,
                       wg_error *error)
{
    wgi_text cleaned = {0};
    wg_vocabulary *v = NULL;
    wg_status status;
    if (o->kind < WG_VOCABULARY_BPE || o->kind > WG_VOCABULARY_CHARS || o->size <= WGI_SPECIALS ||
        o->size > WGI_MAX_TOKENS)
        return wgi_error_set(
            error, WG_EINVAL,
            "vocabulary: expected a known kind and a size from %d to %d, got kind %d and size "
            "%" PRId64,
            WGI_SPECIALS + 1, WGI_MAX_TOKENS, (int)o->kind, o->size);
    bool clean = wgi_text_clean(text.bytes, text.size);
    if ((clean || wgi_text_cleaned(&cleaned, text.bytes, text.size)) &&
        (v = calloc(1, sizeof *v))) {
        v->kind = o->kind;
        status = train_clean(v, o, clean ? text : cleaned, error);
    } else {
        status = wgi_error_set(error, WG_ENOMEM, "no memory for a vocabulary");
    }
    free(cleaned.bytes);
    if (status == WG_OK)
        *out = finish(v);
    else
        wg_vocabulary_free(v);
    return status;
}

wg_status wg_vocabulary_train_text(wg_vocabulary **out, const wg_vocabulary_options *options,
                                   const char *text, size_t text_size, wg_error *error)
{
    wgi_error_clear(error);
    if (out)
        *out = NULL;
    if (!out || !options || (!text && text_size))
        return wgi_error_set(error, WG_EINVAL, "wg_vocabulary_train_text: an argument is NULL");
    return train(out, options, (wgi_text){(char *)(text ? text : ""), text_size}, error);
}

/* Appends the file, ended by a newline; `all` has *room bytes. */
static wg_status append_file(wgi_text *all, size_t *room, const char *path, wg_error *error)
{
    wgi_text more;
    wg_status status = wgi_text_read_lines(&more, path, error);
    if (status != WG_OK)
        return status;
    bool ok = WGI_RESERVE(all->bytes, *room, all->size + more.size + 1);
    if (ok) {
        if (more.size)
            memcpy(all->bytes + all->size, more.bytes, more.size);
        all->size += more.size;
        if (more.size && all->bytes[all->size - 1] != '\n')
            all->bytes[all->size++] = '\n';
    }
    free(more.bytes);
    return ok ? WG_OK
              : wgi_error_file(error, WG_ENOMEM, path, "no memory for %zu bytes", more.size);
}

wg_status wg_vocabulary_train(wg_vocabulary **out, const wg_vocabulary_options *options,
                              const char *const *files, size_t n_files, wg_error *error)
{
    wgi_error_clear(error);
    wgi_text all = {0};
    size_t room = 0;
    wg_status status = WG_OK;
    if (out)
        *out = NULL;
    bool missing = !out || !options || !files;
    for (size_t i = 0; !missing && i < n_files; i++)
        missing = !files[i];
    if (missing)
        return wgi_error_set(error, WG_EINVAL, "wg_vocabulary_train: an argument is NULL");
    for (size_t i = 0; status == WG_OK && i < n_files; i++)
        status = append_file(&all, &room, files[i], error);
    if (status == WG_OK && (status = train(out, options, all, error)) != WG_OK)
        for (size_t i = n_files; i-- > 0;) /* "a and b: what" */
            wgi_error_prefix(error, status, "%s%s", files[i], i + 1 < n_files ? " and " : ": ");
    free(all.bytes);
    return status;
}

void wg_vocabulary_free(wg_vocabulary *v)
{
    if (!v)
        return;
    wgi_spm_free(v->spm);
    wgi_tokens_free(&v->tokens);
    free(v->id_of_piece);
    free(v);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The ids that the list gives to the pieces; a piece that it lacks is unknown. */
static bool number_pieces(wg_vocabulary *v)
{
    int64_t n = wgi_spm_size(v->spm);
    v->id_of_piece = malloc(((size_t)n + 1) * sizeof *v->id_of_piece);
    for (int32_t i = 0; v->id_of_piece && i < n; i++) {
        const char *piece = wgi_spm_piece(v->spm, i);
        int64_t id = wgi_tokens_find(&v->tokens, (wgi_slice){piece, strlen(piece)});
        v->id_of_piece[i] = id < 0 ? v->special[WGI_UNK] : (int32_t)id;
    }
    return v->id_of_piece;
}

/* A model whose pieces are numbered by a list, which is a part of it. */
static wg_status read_numbering(wg_vocabulary *v, const char *path, wgi_text text, wg_error *error)
{
    wgi_slice model, list;
    wg_vocabulary_kind words;
    if (!wgi_spm_numbering(text.bytes, text.size, &model, &list))
        return WG_OK;
    if (!wgi_is_token_file(list.text, list.size))
        return wgi_error_file(error, WG_EDATA, path, "the list of its pieces is damaged");
    wg_status status =
        wgi_tokens_parse(&v->tokens, &words, v->special, path, list.text, list.size, error);
    if (status == WG_OK && !number_pieces(v))
        status = wgi_error_file(error, WG_ENOMEM, path, "no memory to number its pieces");
    return status;
}

/* What is neither; text may have been meant as a list of words. */
static wg_status refuse(const char *path, wgi_text text, wg_status status, wg_error *error)
{
    if (status == WG_ENOMEM)
        return wgi_error_file(error, status, path, "no memory to check it");
    wgi_error_file(error, status, path,
                   "expected a vocabulary or a SentencePiece model, got something else or a "
                   "damaged one");
    if (text.size && wgi_text_clean(text.bytes, text.size))
        wgi_error_add(error, "; a list of words, one a line, must have </s> and <unk> among them");
    return status;
}

static wg_status open_bytes(wg_vocabulary *v, const char *path, wgi_text text, wg_error *error)
{
    if (wgi_is_token_file(text.bytes, text.size))
        return wgi_tokens_parse(&v->tokens, &v->kind, v->special, path, text.bytes, text.size,
                                error);
    wg_status status = wgi_spm_check(&v->kind, text.bytes, text.size);
    wgi_list_kind list =
        status == WG_EDATA ? wgi_list_kind_of(text.bytes, text.size) : WGI_LIST_NONE;
    if (list != WGI_LIST_NONE) {
        v->kind = WG_VOCABULARY_WORDS;
        return wgi_list_read(&v->tokens, v->special, list, path, text.bytes, text.size, error);
    }
    if (status != WG_OK)
        return refuse(path, text, status, error);
    status = wgi_spm_open(&v->spm, text.bytes, text.size, error);
    return status == WG_OK ? read_numbering(v, path, text, error)
                           : wgi_error_prefix(error, status, "%s: ", path);
}

wg_status wg_vocabulary_open(wg_vocabulary **out, const char *path, wg_error *error)
{
    wgi_error_clear(error);
    wgi_text text = {0};
    if (out)
        *out = NULL;
    if (!out || !path)
        return wgi_error_set(error, WG_EINVAL, "wg_vocabulary_open: an argument is NULL");
    wg_status status = wgi_text_read(&text, path, error);
    if (status != WG_OK)
        return status;
    wg_vocabulary *v = calloc(1, sizeof *v);
    status = v ? open_bytes(v, path, text, error)
               : wgi_error_file(error, WG_ENOMEM, path, "no memory for a vocabulary");
    free(text.bytes);
    if (status == WG_OK)
        *out = finish(v);
    else
        wg_vocabulary_free(v);
    return status;
}

static void put_model(wgi_file_writer *w, void *context)
{
    size_t size;
    const char *bytes = wgi_spm_bytes(context, &size);
    wgi_file_put(w, bytes, size);
}

wg_status wg_vocabulary_save(const wg_vocabulary *v, const char *path, wg_error *error)
{
    wgi_error_clear(error);
    if (!v || !path)
        return wgi_error_set(error, WG_EINVAL, "wg_vocabulary_save: an argument is NULL");
    return v->spm ? wgi_file_replace(path, put_model, v->spm, error)
                  : wgi_tokens_write(&v->tokens, v->kind, v->special, path, error);
}

/* ---- pieces numbered by a list --------------------------------------------------------------- */

wg_status wgi_vocabulary_number(wg_vocabulary **out, const wg_vocabulary *pieces,
                                const wg_vocabulary *list, wg_error *error)
{
    size_t size = 0, text_size = 0;
    wgi_slice numbering;
    *out = NULL;
    const char *bytes = wgi_vocabulary_pieces(pieces, &size);
    char *text = wgi_tokens_text(&list->tokens, WG_VOCABULARY_WORDS, list->special, &text_size);
    numbering = (wgi_slice){text ? text : "", text_size};
    char *all = text ? wgi_spm_numbered((wgi_slice){bytes, size}, numbering, &size) : NULL;
    wg_vocabulary *v = calloc(1, sizeof *v);
    wg_status status = all && v ? open_bytes(v, "vocabulary", (wgi_text){all, size}, error)
                                : wgi_error_set(error, WG_ENOMEM, "no memory for a vocabulary");
    free(all);
    free(text);
    if (status == WG_OK)
        *out = finish(v);
    else
        wg_vocabulary_free(v);
    return status;
}

const char *wgi_vocabulary_pieces(const wg_vocabulary *v, size_t *size)
{
    wgi_slice model, list;
    if (!v->spm)
        return NULL;
    const char *bytes = wgi_spm_bytes(v->spm, size);
    wgi_spm_numbering(bytes, *size, &model, &list);
    if (v->id_of_piece)
        *size = model.size;
    return bytes;
}

bool wgi_vocabulary_fill(wg_vocabulary *v, int64_t size)
{
    bool ok = wgi_list_fill(&v->tokens, (size_t)size);
    v->size = (int64_t)v->tokens.n;
    return ok;
}

/* ---- what it is ------------------------------------------------------------------------------ */

bool wg_vocabulary_equal(const wg_vocabulary *a, const wg_vocabulary *b)
{
    if (a->kind != b->kind || a->size != b->size || !a->spm != !b->spm ||
        memcmp(a->special, b->special, sizeof a->special) != 0)
        return false;
    if (a->spm) {
        size_t n, n_other;
        const char *bytes = wgi_spm_bytes(a->spm, &n), *other = wgi_spm_bytes(b->spm, &n_other);
        return n == n_other && memcmp(bytes, other, n) == 0;
    }
    for (size_t i = 0; i < a->tokens.n; i++)
        if (strcmp(wgi_token_text(&a->tokens, i), wgi_token_text(&b->tokens, i)) != 0)
            return false;
    return true;
}

uint64_t wg_vocabulary_hash(const wg_vocabulary *v)
{
    if (v->spm) {
        size_t n;
        const char *bytes = wgi_spm_bytes(v->spm, &n);
        return wgi_xxh64(bytes, n, 0);
    }
    const int32_t kind = (int32_t)v->kind;
    uint64_t h = wgi_xxh64(v->special, sizeof v->special, wgi_xxh64(&kind, sizeof kind, 0));
    for (size_t i = 0; i < v->tokens.n; i++) {
        const char *token = wgi_token_text(&v->tokens, i);
        h = wgi_xxh64(token, strlen(token), h);
    }
    return h;
}

wg_vocabulary_kind wg_vocabulary_kind_of(const wg_vocabulary *v)
{
    return v->kind;
}

int64_t wg_vocabulary_size(const wg_vocabulary *v)
{
    return v->size;
}

int32_t wg_vocabulary_pad(const wg_vocabulary *v)
{
    return v->special[WGI_PAD];
}

int32_t wg_vocabulary_bos(const wg_vocabulary *v)
{
    return v->special[WGI_BOS];
}

int32_t wg_vocabulary_eos(const wg_vocabulary *v)
{
    return v->special[WGI_EOS];
}

int32_t wg_vocabulary_unk(const wg_vocabulary *v)
{
    return v->special[WGI_UNK];
}

const char *wg_vocabulary_piece(const wg_vocabulary *v, int32_t id)
{
    if (id < 0 || id >= v->size)
        return NULL;
    return v->spm && !v->id_of_piece ? wgi_spm_piece(v->spm, id)
                                     : wgi_token_text(&v->tokens, (size_t)id);
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* The name of a special token in a text is an unknown token. */
static int32_t id_of(const wg_vocabulary *v, wgi_slice token)
{
    int64_t id = wgi_tokens_find(&v->tokens, token);
    for (int i = 0; i < WGI_SPECIALS; i++)
        if (id == v->special[i])
            id = -1;
    return id < 0 ? v->special[WGI_UNK] : (int32_t)id;
}

static wg_status encode_tokens(const wg_vocabulary *v, wgi_slice line, int32_t **ids, size_t *n_ids)
{
    wgi_slice rest = line, token;
    size_t n = 0;
    while (wgi_next_token(v->kind, &rest, &token))
        n++;
    int32_t *id = malloc((n + 1) * sizeof *id);
    if (!id)
        return WG_ENOMEM;
    *ids = id;
    *n_ids = n;
    while (wgi_next_token(v->kind, &line, &token))
        *id++ = id_of(v, token);
    return WG_OK;
}

/* ">>fra<<" at the start of a line, if it is a token: the language that a model of several is to
 * write. */
static int64_t take_language(const wg_vocabulary *v, wgi_slice *line)
{
    const char *end = line->size > 4 && memcmp(line->text, ">>", 2) == 0
                          ? memchr(line->text + 2, '<', line->size - 3)
                          : NULL;
    if (!end || end[1] != '<')
        return -1;
    size_t n = (size_t)(end - line->text) + 2;
    int64_t id = wgi_tokens_find(&v->tokens, (wgi_slice){line->text, n});
    if (id >= 0)
        *line = (wgi_slice){line->text + n, line->size - n};
    return id;
}

static wg_status encode_numbered(const wg_vocabulary *v, wgi_slice line, int32_t **ids,
                                 size_t *n_ids)
{
    int64_t language = take_language(v, &line);
    size_t first = language >= 0, room;
    wg_status status = wgi_spm_encode(v->spm, line.text, line.size, ids, n_ids);
    for (size_t i = 0; status == WG_OK && i < *n_ids; i++)
        (*ids)[i] = v->id_of_piece[(*ids)[i]];
    if (status != WG_OK || !first)
        return status;
    room = *n_ids;
    if (!WGI_RESERVE(*ids, room, *n_ids + 1)) {
        free(*ids);
        *ids = NULL;
        return WG_ENOMEM;
    }
    memmove(*ids + 1, *ids, *n_ids * sizeof **ids);
    (*ids)[0] = (int32_t)language;
    ++*n_ids;
    return WG_OK;
}

static wg_status encode_clean(const wg_vocabulary *v, wgi_slice line, int32_t **ids, size_t *n_ids)
{
    return !v->spm          ? encode_tokens(v, line, ids, n_ids)
           : v->id_of_piece ? encode_numbered(v, line, ids, n_ids)
                            : wgi_spm_encode(v->spm, line.text, line.size, ids, n_ids);
}

wg_status wg_vocabulary_encode(const wg_vocabulary *v, const char *text, size_t size, int32_t **ids,
                               size_t *n_ids)
{
    wgi_text cleaned = {0};
    if (!v || (!text && size) || !ids || !n_ids)
        return WG_EINVAL;
    *ids = NULL;
    *n_ids = 0;
    wgi_slice line = {text ? text : "", size};
    if (!wgi_text_clean(line.text, size)) {
        if (!wgi_text_cleaned(&cleaned, text, size))
            return WG_ENOMEM;
        line = (wgi_slice){cleaned.bytes, cleaned.size};
    }
    wg_status status = encode_clean(v, line, ids, n_ids);
    free(cleaned.bytes);
    return status;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static bool left_out(const wg_vocabulary *v, int32_t id)
{
    return id == v->special[WGI_PAD] || id == v->special[WGI_BOS] || id == v->special[WGI_EOS];
}

static wg_status decode_tokens(const wg_vocabulary *v, const int32_t *ids, size_t n_ids,
                               char **text)
{
    size_t size = 1;
    for (size_t i = 0; i < n_ids; i++)
        size += v->tokens.token[ids[i]].size + 1;
    char *to = malloc(size);
    if (!to)
        return WG_ENOMEM;
    *text = to;
    for (size_t i = 0; i < n_ids; i++) {
        const wgi_token_entry *token = &v->tokens.token[ids[i]];
        if (left_out(v, ids[i]))
            continue;
        if (v->kind == WG_VOCABULARY_WORDS && to != *text)
            *to++ = ' ';
        memcpy(to, v->tokens.bytes + token->at, token->size);
        to += token->size;
    }
    *to = '\0';
    return WG_OK;
}

/* The pieces of the list, joined as SentencePiece joins its own. */
static wg_status decode_numbered(const wg_vocabulary *v, const int32_t *ids, size_t n_ids,
                                 char **text)
{
    size_t n = 0;
    const char **piece = malloc((n_ids + 1) * sizeof *piece);
    if (!piece)
        return WG_ENOMEM;
    for (size_t i = 0; i < n_ids; i++)
        if (!left_out(v, ids[i]))
            piece[n++] = wgi_token_text(&v->tokens, (size_t)ids[i]);
    wg_status status = wgi_spm_join(v->spm, piece, n, text);
    free(piece);
    return status;
}

wg_status wg_vocabulary_decode(const wg_vocabulary *v, const int32_t *ids, size_t n_ids,
                               char **text)
{
    if (!v || (!ids && n_ids) || !text)
        return WG_EINVAL;
    *text = NULL;
    for (size_t i = 0; i < n_ids; i++)
        if (ids[i] < 0 || ids[i] >= v->size)
            return WG_EINVAL;
    return !v->spm          ? decode_tokens(v, ids, n_ids, text)
           : v->id_of_piece ? decode_numbered(v, ids, n_ids, text)
                            : wgi_spm_decode(v->spm, ids, n_ids, text);
}
