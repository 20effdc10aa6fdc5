/* Built instead of sentencepiece.cc where SentencePiece is not found. */
#include "text/sentencepiece/sentencepiece.h"

static wg_status refuse(wg_error *error)
{
    return wgi_error_set(error, WG_EUNSUPPORTED, "built without SentencePiece");
}

wg_status wgi_spm_train(wgi_spm **out, const wg_vocabulary_options *o, const char *text,
                        size_t text_size, wg_error *error)
{
    (void)out, (void)o, (void)text, (void)text_size;
    return refuse(error);
}

wg_status wgi_spm_open(wgi_spm **out, const char *bytes, size_t size, wg_error *error)
{
    (void)out, (void)bytes, (void)size;
    return refuse(error);
}

/* ---- no model exists, so these are never called ---------------------------------------------- */

void wgi_spm_free(wgi_spm *s)
{
    (void)s;
}

const char *wgi_spm_bytes(const wgi_spm *s, size_t *size)
{
    (void)s;
    *size = 0;
    return "";
}

int64_t wgi_spm_size(const wgi_spm *s)
{
    (void)s;
    return 0;
}

int32_t wgi_spm_special(const wgi_spm *s, int which)
{
    (void)s, (void)which;
    return -1;
}

const char *wgi_spm_piece(const wgi_spm *s, int32_t id)
{
    (void)s, (void)id;
    return NULL;
}

wg_status wgi_spm_encode(const wgi_spm *s, const char *text, size_t size, int32_t **ids,
                         size_t *n_ids)
{
    (void)s, (void)text, (void)size, (void)ids, (void)n_ids;
    return WG_EUNSUPPORTED;
}

wg_status wgi_spm_decode(const wgi_spm *s, const int32_t *ids, size_t n_ids, char **text)
{
    (void)s, (void)ids, (void)n_ids, (void)text;
    return WG_EUNSUPPORTED;
}

wg_status wgi_spm_join(const wgi_spm *s, const char *const *pieces, size_t n, char **text)
{
    (void)s, (void)pieces, (void)n, (void)text;
    return WG_EUNSUPPORTED;
}
