/* The vocabularies of an exported model. */
#include "translate/foreign/export.h"
#include "graph/error.h"
#include "graph/json.h"
#include "text/numbered.h"
#include "translate/folder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ----------------------------------------------------------------------------------- */

/* Begin, padding, end, unknown, and then all others as they are. */
static wg_status special_first(wgi_export *x, int side)
{
    const wg_vocabulary *v = x->side[side];
    const int32_t first[] = {wg_vocabulary_bos(v), wg_vocabulary_pad(v), wg_vocabulary_eos(v),
                             wg_vocabulary_unk(v)};
    int64_t size = wg_vocabulary_size(v), n = 0;
    int32_t *order = x->order[side] = malloc((size_t)(size + 4) * sizeof *order);
    if (!order)
        return wgi_error_set(x->error, WG_ENOMEM, "out of memory");
    for (size_t i = 0; i < WG_COUNT(first); i++) {
        if (first[i] < 0)
            return wgi_error_line(x->error, WG_EUNSUPPORTED,
                                  "vocabulary: the dictionaries of %s have padding, begin and end "
                                  "of sentence and unknown words, this one lacks some",
                                  x->layout->name);
        order[n++] = first[i];
    }
    for (int32_t id = 0; id < size; id++)
        if (id != first[0] && id != first[1] && id != first[2] && id != first[3])
            order[n++] = id;
    return WG_OK;
}

/* A line of dict.txt is a token, a blank and a number. */
static wg_status check_tokens(const wgi_export *x, int side)
{
    for (int32_t id = 0; id < wg_vocabulary_size(x->side[side]); id++) {
        const char *token = wg_vocabulary_piece(x->side[side], id);
        if (token[strcspn(token, " \t\n\v\f\r")])
            return wgi_error_line(x->error, WG_EUNSUPPORTED,
                                  "vocabulary: token %d has a blank, which a dict.txt cannot have",
                                  (int)id);
    }
    return WG_OK;
}

wg_status wgi_export_order(wgi_export *x)
{
    wg_status status = WG_OK;
    for (int side = 0; side < 2 && status == WG_OK; side++) {
        bool chars = wg_vocabulary_kind_of(x->side[side]) == WG_VOCABULARY_CHARS;
        if (chars && (x->layout->needs_pieces || x->layout->special_first))
            return wgi_error_line(x->error, WG_EUNSUPPORTED,
                                  "vocabulary: %s splits text into words or SentencePiece pieces, "
                                  "this model into characters",
                                  x->layout->name);
        if (x->layout->special_first)
            status = check_tokens(x, side);
        if (x->layout->special_first && status == WG_OK)
            status = special_first(x, side);
    }
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Pieces have no frequencies; fairseq wants numbers, whatever they are. */
static wg_status put_dict(FILE *f, const wgi_export *x, int side)
{
    int64_t n = wg_vocabulary_size(x->side[side]);
    for (int64_t i = 4; i < n; i++)
        fprintf(f, "%s 1\n", wg_vocabulary_piece(x->side[side], wgi_export_id(x, side, i)));
    return WG_OK;
}

static wg_status put_json(FILE *f, const wgi_export *x, int side)
{
    wgi_json j = {.file = f};
    int64_t n = wg_vocabulary_size(x->side[side]);
    wgi_json_begin(&j, NULL, '{');
    for (int64_t i = 0; i < n; i++)
        wgi_json_whole(&j, wg_vocabulary_piece(x->side[side], wgi_export_id(x, side, i)), i);
    wgi_json_end(&j, '}');
    return WG_OK;
}

static wg_status put_pieces(FILE *f, const wgi_export *x, int side)
{
    size_t size = 0;
    const char *bytes = wgi_vocabulary_pieces(x->side[side], &size);
    fwrite(bytes, 1, size, f);
    return WG_OK;
}

static wg_status put_tokenizer(FILE *f, const wgi_export *x, int side)
{
    (void)x, (void)side;
    fputs("{\"separate_vocabs\": true, \"tokenizer_class\": \"MarianTokenizer\"}\n", f);
    return WG_OK;
}

/* The same tokens with the same ids. */
static bool same_lists(const wgi_export *x)
{
    int64_t n = wg_vocabulary_size(x->side[0]);
    if (x->side[0] == x->side[1])
        return true;
    if (n != wg_vocabulary_size(x->side[1]))
        return false;
    for (int32_t i = 0; i < n; i++)
        if (strcmp(wg_vocabulary_piece(x->side[0], i), wg_vocabulary_piece(x->side[1], i)) != 0)
            return false;
    return true;
}

static wg_status write_pieces(const wgi_export *x)
{
    static const char *const names[] = {"source.spm", "target.spm"};
    size_t size;
    wg_status status = WG_OK;
    for (int side = 0; side < 2 && status == WG_OK; side++)
        if (wgi_vocabulary_pieces(x->side[side], &size))
            status = wgi_export_file(x, names[side], put_pieces, side);
    return status;
}

static wg_status write_marian(const wgi_export *x)
{
    wg_status status = wgi_export_file(x, "vocab.json", put_json, 0);
    if (status != WG_OK || same_lists(x))
        return status;
    status = wgi_export_file(x, "target_vocab.json", put_json, 1);
    return status == WG_OK ? wgi_export_file(x, "tokenizer_config.json", put_tokenizer, 0) : status;
}

static wg_status write_fairseq(const wgi_export *x)
{
    wg_status status = wgi_export_file(x, "dict.source.txt", put_dict, 0);
    return status == WG_OK ? wgi_export_file(x, "dict.target.txt", put_dict, 1) : status;
}

wg_status wgi_export_vocabularies(const wgi_export *x)
{
    const wg_vocabularies both = {
        {(wg_vocabulary *)(uintptr_t)x->side[0], (wg_vocabulary *)(uintptr_t)x->side[1]}};
    if (!x->layout->pieces[0][0]) /* it has no form of its own */
        return wg_vocabularies_save(&both, x->folder, x->error);
    wg_status status = x->layout->special_first ? write_fairseq(x) : write_marian(x);
    return status == WG_OK ? write_pieces(x) : status;
}
