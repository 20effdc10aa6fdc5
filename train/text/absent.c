/* Built instead of sentencepiece.cc where SentencePiece is not found. */
#include "train/text/sentencepiece.h"

static wg_status refuse(wg_message *m)
{
    wg_message_add(m, "built without SentencePiece");
    return WG_EUNSUPPORTED;
}

wg_status wg_spm_train(wg_spm **out, const wg_vocabulary_options *o, const char *text,
                       size_t text_size, wg_message *m)
{
    (void)out, (void)o, (void)text, (void)text_size;
    return refuse(m);
}

wg_status wg_spm_open(wg_spm **out, const char *bytes, size_t size, wg_message *m)
{
    (void)out, (void)bytes, (void)size;
    return refuse(m);
}

/* ---- no model exists, so these are never called ---------------------------------------------- */

void wg_spm_free(wg_spm *s)
{
    (void)s;
}

const char *wg_spm_bytes(const wg_spm *s, size_t *size)
{
    (void)s;
    *size = 0;
    return "";
}

int64_t wg_spm_size(const wg_spm *s)
{
    (void)s;
    return 0;
}

int32_t wg_spm_special(const wg_spm *s, int which)
{
    (void)s, (void)which;
    return -1;
}

const char *wg_spm_piece(const wg_spm *s, int32_t id)
{
    (void)s, (void)id;
    return NULL;
}

wg_status wg_spm_encode(const wg_spm *s, const char *text, size_t size, int32_t **ids,
                        size_t *n_ids)
{
    (void)s, (void)text, (void)size, (void)ids, (void)n_ids;
    return WG_EUNSUPPORTED;
}

wg_status wg_spm_decode(const wg_spm *s, const int32_t *ids, size_t n_ids, char **text)
{
    (void)s, (void)ids, (void)n_ids, (void)text;
    return WG_EUNSUPPORTED;
}
