/* A text as spans for a language model.  Each line is
 *
 *     begin, y_1, ..., y_n, end
 *
 * of which all but the begin are predicted.  In a joined text only the first line has a begin.  A
 * sequence s_0, ..., s_N is cut so that each span has its last token in common with the next one:
 * what one predicts last, the next reads first.
 *
 *     s_0 ... s_L,  s_L ... s_2L,  ... */
#include "text/internal.h"
#include "graph/grow.h"

#include <stdlib.h>
#include <string.h>

typedef struct cutter {
    wgi_encoded *span;
    size_t n, room;
    int32_t *ids; /* [used] of the present sequence */
    size_t used, capacity;
    const wg_span_options *options;
} cutter;

static bool put(cutter *c, const int32_t *ids, size_t n)
{
    if (!WGI_RESERVE(c->ids, c->capacity, c->used + n))
        return false;
    if (n)
        memcpy(c->ids + c->used, ids, n * sizeof *ids);
    c->used += n;
    return true;
}

/* Cuts the sequence, and begins the next one. */
static bool cut(cutter *c)
{
    size_t length = c->options->length;
    for (size_t at = 0; at + 1 < c->used; at += length) {
        size_t left = c->used - 1 - at, n = (left < length ? left : length) + 1;
        if (!WGI_RESERVE(c->span, c->room, c->n + 1))
            return false;
        int32_t *ids = malloc(n * sizeof *ids);
        if (!ids)
            return false;
        memcpy(ids, c->ids + at, n * sizeof *ids);
        c->span[c->n++] = (wgi_encoded){ids, n};
    }
    c->used = 0;
    return true;
}

static bool cut_lines(cutter *c, const wgi_encoded *lines, size_t n)
{
    const wg_span_options *o = c->options;
    bool ok = true, any = false;
    for (size_t i = 0; i < n; i++)
        any = any || lines[i].n > 0;
    for (size_t i = 0; i < n && any && ok; i++) {
        if (lines[i].n == 0 && !o->joined)
            continue;
        if (c->used == 0)
            ok = put(c, &o->bos, 1);
        ok = ok && put(c, lines[i].ids, lines[i].n) && put(c, &o->eos, 1);
        if (!o->joined)
            ok = ok && cut(c);
    }
    return ok && cut(c);
}

wg_status wgi_spans_cut(wgi_encoded **spans, size_t *n_spans, const wgi_encoded *lines, size_t n,
                        const wg_span_options *options)
{
    cutter c = {.options = options};
    bool ok = cut_lines(&c, lines, n);
    free(c.ids);
    for (size_t i = 0; !ok && i < c.n; i++)
        free(c.span[i].ids);
    if (!ok) {
        free(c.span);
        c = (cutter){.span = NULL};
    }
    *spans = c.span;
    *n_spans = c.n;
    return ok ? WG_OK : WG_ENOMEM;
}
