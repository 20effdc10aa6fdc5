/* The vocabularies of an imported model. */
#include "files/read.h"
#include "graph/error.h"
#include "text/numbered.h"
#include "translate/foreign/import.h"
#include "translate/marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Paths of a side: of its list of tokens, and of the SentencePiece model that splits its text. */
typedef struct files {
    char *list[2], *pieces[2];
} files;

static void free_files(files *f)
{
    for (int i = 0; i < 2; i++) {
        free(f->list[i]);
        free(f->pieces[i]);
    }
}

/* ---- looking for files ----------------------------------------------------------------------- */

/* The first of the names that the folder has, the caller's to free; NULL without one. */
static wg_status find_file(const wgi_import *im, const char *const names[WGI_MAX_FILES], int side,
                           char **path)
{
    static const char *const keys[] = {"source_lang", "target_lang"};
    const char *language = wgi_facts_find(&im->facts, keys[side]);
    wg_status status = WG_OK;
    bool has = false;
    *path = NULL;
    for (int i = 0; names[i] && status == WG_OK && !has; i++) {
        const char *mark = strstr(names[i], "%s");
        char name[2 * WGI_FACT_TEXT];
        if (mark && (!language || strchr(language, '/')))
            continue;
        snprintf(name, sizeof name, "%.*s%s%s", mark ? (int)(mark - names[i]) : 0, names[i],
                 mark ? language : names[i], mark ? mark + 2 : "");
        status = wg_folder_has(im->folder, name, &has, im->error);
        if (has && !(*path = wg_folder_path(im->folder, "%s", name)))
            status = wgi_error_file(im->error, WG_ENOMEM, im->folder, "out of memory");
    }
    return status;
}

/* Those that were given, else those beside the weights. */
static wg_status find_all(const wgi_import *im, const char *const given[2],
                          const char *const names[2][WGI_MAX_FILES], char *paths[2])
{
    wg_status status = WG_OK;
    for (int side = 0; side < 2 && status == WG_OK; side++) {
        const char *wanted = given[side] ? given[side] : given[0];
        if (!wanted)
            status = find_file(im, names[side], side, &paths[side]);
        else if (!(paths[side] = strdup(wanted)))
            status = wgi_error_file(im->error, WG_ENOMEM, wanted, "out of memory");
    }
    return status;
}

static bool equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* One list was given for a model that has one for each side. */
static wg_status refuse_single(const wgi_import *im)
{
    const char *const *given = (const char *const *)im->options->settings->vocabs;
    char *own[2] = {NULL, NULL};
    wg_status status = WG_OK;
    for (int side = 0; side < 2 && given[0] && !given[1] && status == WG_OK; side++)
        status = find_file(im, im->layout->lists[side], side, &own[side]);
    if (status == WG_OK && own[0] && own[1] && !equal(own[0], own[1]))
        status = wgi_error_file(im->error, WG_EINVAL, im->folder,
                                "vocabs: expected the lists of source and target, such as %s %s, "
                                "got one",
                                own[0], own[1]);
    free(own[0]);
    free(own[1]);
    return status;
}

/* Whether Wengert wrote config.json: then there are SentencePiece models if tokens are of one. */
static bool is_ours(const wgi_import *im)
{
    bool ours = false;
    for (size_t i = 0; i < im->facts.n; i++)
        ours |= im->facts.fact[i].ours;
    return ours;
}

static wg_status refuse_missing(const wgi_import *im, const files *f)
{
    const wgi_layout *l = im->layout;
    const bool given = im->options->settings->vocabs[0] != NULL;
    for (int side = 0; side < 2; side++)
        if (!f->list[side])
            return wgi_error_file(im->error, WG_EIO, im->folder,
                                  "it has no vocabulary such as %s; give --vocabs",
                                  l->lists[side][0]);
    for (int side = 0; side < 2; side++)
        if (!f->pieces[side] && l->needs_pieces && !given && !is_ours(im))
            return wgi_error_file(im->error, WG_EIO, im->folder,
                                  "it has no %s, by which text is split into tokens; give "
                                  "--pieces, or --vocabs %s%s%s if all text is split already",
                                  l->pieces[side][0], f->list[0],
                                  equal(f->list[0], f->list[1]) ? "" : " ",
                                  equal(f->list[0], f->list[1]) ? "" : f->list[1]);
    return WG_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* How many tokens an embedding is for; `size` if it does not say. */
static int64_t rows_of(wgi_import *im, const wg_file_tensor *embedding, int64_t size)
{
    if (!embedding || embedding->shape.rank != 2)
        return size;
    if (embedding->size > 0)
        return embedding->shape.dim[0];
    /* rows of no numbers may be as many as a file pleases */
    wgi_import_refuse(im, "tensor %s: expected numbers, got none", embedding->name);
    return size;
}

/* The list at `path`, filled up to the rows of its embedding, with the pieces of a model. */
static wg_status open_side(wgi_import *im, wg_vocabulary **out, const char *path,
                           const char *pieces_path, const wg_file_tensor *embedding)
{
    wg_vocabulary *list = NULL, *pieces = NULL;
    size_t unused;
    wg_status status = wg_vocabulary_open(&list, path, im->error);
    if (status == WG_OK && pieces_path)
        status = wg_vocabulary_open(&pieces, pieces_path, im->error);
    if (status == WG_OK && pieces && !wgi_vocabulary_pieces(pieces, &unused))
        status = wgi_error_file(im->error, WG_EDATA, pieces_path,
                                "expected a SentencePiece model, got a list of tokens");
    if (status == WG_OK && pieces && wgi_vocabulary_pieces(list, &unused))
        status = wgi_error_file(im->error, WG_EDATA, path,
                                "expected a list of tokens, got a SentencePiece model");
    int64_t size = status == WG_OK ? wg_vocabulary_size(list) : 0;
    int64_t rows = rows_of(im, embedding, size);
    if (status == WG_OK && !wgi_vocabulary_pieces(list, &unused) && size < rows) {
        if (!wgi_vocabulary_fill(list, rows))
            status = wgi_error_file(im->error, WG_ENOMEM, path, "no memory for %" PRId64 " tokens",
                                    rows);
        wgi_import_tell(im,
                        "%s: %" PRId64 " tokens for %" PRId64 " embeddings; the last have no "
                        "text",
                        path, size, rows);
    } else if (status == WG_OK && size != rows) {
        wgi_import_refuse(im,
                          "tensor %s: expected %" PRId64 " rows for the tokens of %s, got "
                          "%" PRId64,
                          embedding->name, size, path, rows);
    }
    if (status == WG_OK && pieces)
        status = wgi_vocabulary_number(out, pieces, list, im->error);
    else if (status == WG_OK) {
        *out = list;
        list = NULL;
    }
    wg_vocabulary_free(list);
    wg_vocabulary_free(pieces);
    return status;
}

static wg_status open_both(wgi_import *im, const files *f)
{
    wg_vocabulary **side = im->vocabularies.side;
    wg_status status = open_side(im, &side[0], f->list[0], f->pieces[0], im->source);
    if (status != WG_OK)
        return status;
    bool joint = equal(f->list[0], f->list[1]) && equal(f->pieces[0], f->pieces[1]);
    /* with one matrix there are both: find_matrices */
    if (joint && (im->target == im->source || im->target->shape.dim[0] == im->source->shape.dim[0]))
        side[1] = side[0];
    else
        status = open_side(im, &side[1], f->list[1], f->pieces[1], im->target);
    return status;
}

/* ---- special tokens -------------------------------------------------------------------------- */

/* An id of config.json, -1 without one. */
static int64_t id_of(const wgi_import *im, const char *key)
{
    const char *text = wgi_facts_find(&im->facts, key);
    char *end;
    long long id = text ? strtoll(text, &end, 10) : -1;
    return text && end != text && !*end ? id : -1;
}

/* The ids of config.json are those of the list; the one that the decoder starts with says which
 * token that is. */
static void compare_ids(wgi_import *im)
{
    const wg_vocabulary *to = im->vocabularies.side[1];
    const int32_t ids[] = {wg_vocabulary_bos(to), wg_vocabulary_eos(to), wg_vocabulary_pad(to)};
    static const char *const starts[] = {"bos", "eos", "pad"};
    static const char *const keys[] = {NULL, "eos_token_id", "pad_token_id"};
    int64_t start = id_of(im, "decoder_start_token_id");
    const char *found = NULL;
    wg_error error;
    for (int i = 2; i >= 0; i--) {
        int64_t id = keys[i] ? id_of(im, keys[i]) : -1;
        if (id >= 0 && id != ids[i])
            wgi_import_refuse(im,
                              "config.json: %s: expected %d, as in the vocabulary, got "
                              "%" PRId64,
                              keys[i], (int)ids[i], id);
        found = start >= 0 && start == ids[i] ? starts[i] : found;
    }
    if (start >= 0 && !found)
        wgi_import_refuse(im,
                          "config.json: decoder_start_token_id: expected the id of the begin "
                          "or the end of sentence or of padding, got %" PRId64,
                          start);
    const wg_option *o = wg_option_find("decoder-start");
    if (found && !wg_settings_given(im->options->settings, o) &&
        wg_settings_set(&im->settings, o->name, found, &error) != WG_OK)
        wgi_import_refuse_for(im, &error, "%s", error.text);
}

static void check_marks(wgi_import *im)
{
    wgi_sentence_marks marks;
    wg_error error;
    compare_ids(im);
    if (wgi_marks_of(&marks, &im->settings, &im->vocabularies, im->folder, &error) != WG_OK)
        wgi_import_refuse_for(
            im, &error, "%s (--source-marks and --decoder-start say which are needed)", error.text);
}

wg_status wgi_import_vocabularies(wgi_import *im)
{
    files f = {{NULL, NULL}, {NULL, NULL}};
    const wg_settings *given = im->options->settings;
    const char *const lists[2] = {given->vocabs[0], given->vocabs[1]};
    wg_status status = find_all(im, lists, im->layout->lists, f.list);
    if (status == WG_OK)
        status = find_all(im, im->options->pieces, im->layout->pieces, f.pieces);
    if (status == WG_OK)
        status = refuse_missing(im, &f);
    if (status == WG_OK)
        status = refuse_single(im);
    if (status == WG_OK)
        status = open_both(im, &f);
    if (status == WG_OK)
        check_marks(im);
    for (int i = 0; i < 2; i++) { /* config.yml must not ask for them again */
        free(im->settings.vocabs[i]);
        im->settings.vocabs[i] = NULL;
    }
    free_files(&f);
    return status;
}
