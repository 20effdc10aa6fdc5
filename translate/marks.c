#include "translate/marks.h"
#include "graph/error.h"

#include <string.h>

wg_status wgi_marks_of(wgi_sentence_marks *out, const wg_settings *s, const wg_vocabularies *v,
                       const char *path, wg_error *error)
{
    const wg_vocabulary *from = v->side[0], *to = v->side[1];
    const int32_t starts[] = {[WG_START_BOS] = wg_vocabulary_bos(to),
                              [WG_START_EOS] = wg_vocabulary_eos(to),
                              [WG_START_PAD] = wg_vocabulary_pad(to)};
    static const char *const names[] = {"begin of sentence", "end of sentence", "padding"};
    *out = (wgi_sentence_marks){
        .source_bos = s->source_marks == WG_SOURCE_BOTH ? wg_vocabulary_bos(from) : -1,
        .source_eos = s->source_marks != WG_SOURCE_NONE ? wg_vocabulary_eos(from) : -1,
        .start = starts[s->decoder_start],
        .eos = wg_vocabulary_eos(to),
        .pad = wg_vocabulary_pad(to),
        .unk = wg_vocabulary_unk(to),
    };
    const struct {
        const char *side, *what;
        bool missing;
    } needed[] = {
        {"source", names[WG_START_BOS], s->source_marks == WG_SOURCE_BOTH && out->source_bos < 0},
        {"source", names[WG_START_EOS], s->source_marks != WG_SOURCE_NONE && out->source_eos < 0},
        {"target", names[s->decoder_start], out->start < 0},
        {"target", names[WG_START_EOS], out->eos < 0},
    };
    for (size_t i = 0; i < WG_COUNT(needed); i++)
        if (needed[i].missing)
            return wgi_error_file(error, WG_EDATA, path, "the %s vocabulary has no token for %s",
                                  needed[i].side, needed[i].what);
    return WG_OK;
}

size_t wgi_marks_put(const wgi_sentence_marks *m, int32_t *ids, size_t n)
{
    if (m->source_bos >= 0) {
        memmove(ids + 1, ids, n * sizeof *ids);
        ids[0] = m->source_bos;
        n++;
    }
    if (m->source_eos >= 0)
        ids[n++] = m->source_eos;
    return n;
}
