/* Batches of sentences of similar length.  They are cut once, since cuts depend on lengths alone,
 * and shuffled in each epoch. */
#include "wengert/translate/batches.h"

#include "graph/error.h"
#include "graph/shuffle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS, BATCHES };         /* streams of random numbers          */
enum { SOURCE, TARGET, LARGER }; /* sort keys: padded lengths */

/* Padded lengths of a pair, S and T, and the larger of them. */
typedef struct lengths {
    uint32_t padded[2], larger;
} lengths;

/* Where a batch is in the sorted order, and its shape. */
typedef struct cut {
    uint32_t first, count;
    int64_t rows, length[2];
} cut;

struct wg_batches {
    const wg_corpus *corpus;
    wg_batches_options options;
    uint32_t n;          /* pairs                                        */
    lengths *lengths;    /* [n] by pair                                  */
    uint32_t *order;     /* [n] pairs as sorted in the current epoch */
    uint32_t *scratch;   /* [n]                                          */
    uint32_t *places;    /* [largest + 2] for sorting                    */
    cut *cuts;           /* [n_cuts]                                     */
    uint32_t *cut_order; /* [n_cuts] in the current epoch */
    uint32_t n_cuts;
    uint32_t largest; /* padded length                                */
    int64_t arranged; /* the epoch that `order` is of, -1 at first    */
    wg_cursor cursor;
    wg_batch *batches; /* [group] with room for the largest            */
    int32_t *ids;      /* their memory                                 */
    size_t *pairs;
};

/* ---- order ----------------------------------------------------------------------------------- */

static uint32_t key_of(const lengths *l, int key)
{
    return key == LARGER ? l->larger : l->padded[key];
}

/* Stable, longest first, by one of the lengths. */
static void sort_by(const wg_batches *b, int key, const uint32_t *from, uint32_t *to)
{
    uint32_t *at = b->places;
    memset(at, 0, ((size_t)b->largest + 2) * sizeof *at);
    for (uint32_t i = 0; i < b->n; i++)
        at[b->largest - key_of(&b->lengths[i], key) + 1]++;
    for (uint32_t l = 0; l < b->largest; l++)
        at[l + 1] += at[l];
    for (uint32_t i = 0; i < b->n; i++)
        to[at[b->largest - key_of(&b->lengths[from[i]], key)]++] = from[i];
}

/* The order of pairs and of batches in an epoch. */
static void arrange(wg_batches *b, int64_t epoch)
{
    const wg_batches_options *o = &b->options;
    if (b->arranged == epoch)
        return;
    b->arranged = epoch;
    for (uint32_t i = 0; i < b->n; i++)
        b->order[i] = i;
    for (uint32_t i = 0; i < b->n_cuts; i++)
        b->cut_order[i] = i;
    if (o->in_order)
        return;
    wgi_shuffle(b->order, b->n, o->seed, (uint64_t)epoch, PAIRS);
    sort_by(b, SOURCE, b->order, b->scratch);
    sort_by(b, TARGET, b->scratch, b->order);
    sort_by(b, LARGER, b->order, b->scratch);
    memcpy(b->order, b->scratch, b->n * sizeof *b->order);
    wgi_shuffle(b->cut_order, b->n_cuts, o->seed, (uint64_t)epoch, BATCHES);
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* The maximum number of rows of that length. */
static int64_t rows_of(const wg_batches *b, int64_t length)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): the end of a sentence is a token */
    int64_t rows = b->options.tokens / length;
    if (b->options.fixed_rows && rows >= 8)
        rows -= rows % 8;
    if (b->options.sentences && rows > b->options.sentences)
        rows = b->options.sentences;
    return rows < b->n ? rows : b->n;
}

/* The batch that begins at `first` in the sorted order: as many pairs as fit. */
static cut cut_at(const wg_batches *b, uint32_t first)
{
    cut c = {.first = first};
    for (uint32_t i = first; i < b->n; i++) {
        const lengths *l = &b->lengths[b->order[i]];
        int64_t s = l->padded[0] > c.length[0] ? l->padded[0] : c.length[0];
        int64_t t = l->padded[1] > c.length[1] ? l->padded[1] : c.length[1];
        int64_t rows = rows_of(b, s > t ? s : t);
        if (c.count + 1 > rows)
            break;
        c = (cut){first, c.count + 1, rows, {s, t}};
    }
    if (!b->options.fixed_rows)
        c.rows = c.count;
    return c;
}

/* All batches of the arranged order; counts them only while b->cuts is NULL. */
static void cut_all(wg_batches *b)
{
    uint32_t n = 0;
    for (uint32_t first = 0; first < b->n; n++) {
        cut c = cut_at(b, first);
        if (b->cuts)
            b->cuts[n] = c;
        first += c.count;
    }
    b->n_cuts = n;
}

/* ---- creation -------------------------------------------------------------------------------- */

static uint32_t padded(const wg_batches *b, size_t n)
{
    int64_t length = n ? (int64_t)n : 1;
    return (uint32_t)((length + b->options.multiple - 1) / b->options.multiple *
                      b->options.multiple);
}

/* How many tokens a source sentence has beside its own. */
static size_t source_marks(const wg_batches_options *o)
{
    return (size_t)o->source_begins + (size_t)(o->source_eos >= 0);
}

/* The tokens that the decoder reads, as many as it predicts. */
static size_t target_tokens(const wg_batches_options *o, wg_sentence s)
{
    return o->spans ? s.n - 1 : s.n + 1;
}

static wg_status measure(wg_batches *b, wg_error *error)
{
    for (uint32_t i = 0; i < b->n; i++) {
        lengths *l = &b->lengths[i];
        for (int side = 0; side < 2; side++) {
            wg_sentence s = wg_corpus_sentence(b->corpus, i, side);
            size_t n = side ? target_tokens(&b->options, s) : s.n + source_marks(&b->options);
            if (n > (size_t)b->options.tokens || padded(b, n) > b->options.tokens)
                return wgi_error_set(error, WG_EDATA,
                                     "pair %" PRIu32 " (counted from 0): expected at most %" PRId64
                                     " tokens with padding, as a batch has, got %zu",
                                     i, b->options.tokens, n);
            l->padded[side] = padded(b, n);
        }
        l->larger = l->padded[0] > l->padded[1] ? l->padded[0] : l->padded[1];
        b->largest = l->larger > b->largest ? l->larger : b->largest;
    }
    return WG_OK;
}

static wg_status no_memory(wg_error *error)
{
    return wgi_error_set(error, WG_ENOMEM, "no memory for batches");
}

/* Memory for the batches of a group: each as large as the largest. */
static wg_status reserve(wg_batches *b, wg_error *error)
{
    int64_t rows = 0, source = 0, target = 0;
    size_t group = (size_t)b->options.group;
    for (uint32_t i = 0; i < b->n_cuts; i++) {
        const cut *c = &b->cuts[i];
        rows = c->rows > rows ? c->rows : rows;
        source = c->rows * c->length[0] > source ? c->rows * c->length[0] : source;
        target = c->rows * c->length[1] > target ? c->rows * c->length[1] : target;
    }
    size_t each = (size_t)(source + rows + 2 * target);
    b->batches = calloc(group, sizeof *b->batches);
    b->ids = malloc(group * each * sizeof *b->ids);
    b->pairs = malloc(group * (size_t)rows * sizeof *b->pairs);
    if (!b->batches || !b->ids || !b->pairs)
        return no_memory(error);
    for (size_t i = 0; i < group; i++) {
        wg_batch *batch = &b->batches[i];
        batch->source = b->ids + i * each;
        batch->source_lengths = batch->source + source;
        batch->target_in = batch->source_lengths + rows;
        batch->target_out = batch->target_in + target;
        batch->pairs = b->pairs + i * (size_t)rows;
    }
    return WG_OK;
}

static wg_status prepare(wg_batches *b, wg_error *error)
{
    size_t n = b->n;
    b->lengths = malloc(n * sizeof *b->lengths);
    b->order = malloc(n * sizeof *b->order);
    b->scratch = malloc(n * sizeof *b->scratch);
    if (!b->lengths || !b->order || !b->scratch)
        return no_memory(error);
    wg_status status = measure(b, error);
    if (status != WG_OK)
        return status;
    b->places = malloc(((size_t)b->largest + 2) * sizeof *b->places);
    if (!b->places)
        return no_memory(error);
    arrange(b, 0);
    cut_all(b);
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): there is a pair, so a batch */
    b->cuts = malloc(b->n_cuts * sizeof *b->cuts);
    b->cut_order = malloc(b->n_cuts * sizeof *b->cut_order);
    if (!b->cuts || !b->cut_order)
        return no_memory(error);
    cut_all(b);
    b->arranged = -1; /* the batches are not shuffled yet */
    if (b->options.group > b->n_cuts)
        b->options.group = b->n_cuts;
    return reserve(b, error);
}

static wg_status check(const wg_batches_options *o, size_t n, wg_error *error)
{
    if (o->tokens < 1 || o->tokens > INT32_MAX || o->multiple < 1 || o->multiple > o->tokens ||
        o->group < 1 || o->sentences < 0)
        return wgi_error_set(error, WG_EINVAL,
                             "batches: expected tokens in [1, 2^31), multiple in [1, tokens], "
                             "group >= 1, sentences >= 0, "
                             "got %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64,
                             o->tokens, o->multiple, o->group, o->sentences);
    if (o->source_begins && o->source_bos < 0)
        return wgi_error_set(error, WG_EINVAL,
                             "batches: expected the id of the begin of a source sentence, got "
                             "%" PRId32,
                             o->source_bos);
    if (o->bos < 0 || o->eos < 0)
        return wgi_error_set(error, WG_EINVAL,
                             "batches: expected ids of begin and end of a target sentence, got "
                             "%" PRId32 " and %" PRId32,
                             o->bos, o->eos);
    if (n == 0 || n > INT32_MAX)
        return wgi_error_set(error, WG_EINVAL, "batches: expected 1 to %d pairs, got %zu",
                             INT32_MAX, n);
    return WG_OK;
}

wg_status wg_batches_create(wg_batches **out, const wg_corpus *corpus,
                            const wg_batches_options *options, wg_error *error)
{
    wgi_error_clear(error);
    wg_batches_options o = options ? *options : (wg_batches_options){0};
    if (out)
        *out = NULL;
    if (!out || !corpus)
        return wgi_error_set(error, WG_EINVAL, "wg_batches_create: an argument is NULL");
    o.tokens = o.tokens ? o.tokens : 4096;
    o.multiple = o.multiple ? o.multiple : 2;
    o.group = o.group ? o.group : 1;
    wg_status status = check(&o, wg_corpus_count(corpus), error);
    if (status != WG_OK)
        return status;
    wg_batches *b = calloc(1, sizeof *b);
    if (!b)
        return no_memory(error);
    b->corpus = corpus;
    b->options = o;
    b->n = (uint32_t)wg_corpus_count(corpus);
    b->arranged = -1;
    status = prepare(b, error);
    if (status == WG_OK)
        *out = b;
    else
        wg_batches_free(b);
    return status;
}

void wg_batches_free(wg_batches *b)
{
    if (!b)
        return;
    free(b->lengths);
    free(b->order);
    free(b->scratch);
    free(b->places);
    free(b->cuts);
    free(b->cut_order);
    free(b->batches);
    free(b->ids);
    free(b->pairs);
    free(b);
}

/* ---- reading --------------------------------------------------------------------------------- */

wg_cursor wg_batches_cursor(const wg_batches *b)
{
    return b->cursor;
}

int64_t wg_batches_groups(const wg_batches *b)
{
    return (b->n_cuts + b->options.group - 1) / b->options.group;
}

wg_status wg_batches_seek(wg_batches *b, wg_cursor cursor)
{
    if (!b || cursor.epoch < 0 || cursor.group < 0 || cursor.group > wg_batches_groups(b) ||
        cursor.epoch == INT64_MAX)
        return WG_EINVAL;
    b->cursor = cursor.group < wg_batches_groups(b) ? cursor : (wg_cursor){cursor.epoch + 1, 0};
    return WG_OK;
}

/* to[0..size) = first (unless negative), ids, last (unless negative), then padding. */
static void put_row(int32_t *to, int64_t size, int32_t first, wg_sentence s, int32_t last,
                    int32_t pad)
{
    int64_t n = 0;
    if (first >= 0)
        to[n++] = first;
    if (s.ids)
        memcpy(to + n, s.ids, s.n * sizeof *to);
    n += (int64_t)s.n;
    if (last >= 0)
        to[n++] = last;
    while (n < size)
        to[n++] = pad;
}

/* Row r of what the decoder reads and predicts; filler has no tokens. */
static void put_target(const wg_batches_options *o, const wg_batch *batch, int64_t r, wg_sentence y,
                       bool filler)
{
    bool marks = !o->spans && !filler; /* those of a span are among its tokens */
    size_t own = o->spans && !filler;
    int32_t pad = o->pad < 0 ? 0 : o->pad;
    int64_t T = batch->target_length;
    const wg_sentence read = {y.ids, y.n - own}, predicted = {own ? y.ids + own : y.ids, y.n - own};
    put_row(batch->target_in + r * T, T, marks ? o->bos : -1, read, -1, pad);
    put_row(batch->target_out + r * T, T, -1, predicted, marks ? o->eos : -1, -1);
}

static void fill(const wg_batches *b, const cut *c, wg_batch *batch, size_t *pairs)
{
    const wg_batches_options *o = &b->options;
    int32_t source_pad = o->source_pad < 0 ? 0 : o->source_pad;
    int64_t S = c->length[0];
    batch->rows = c->rows;
    batch->source_length = S;
    batch->target_length = c->length[1];
    batch->sentences = c->count;
    batch->source_tokens = batch->target_tokens = 0;
    for (int64_t r = 0; r < c->rows; r++) {
        const wg_sentence none = {NULL, 0};
        bool filler = r >= c->count;
        size_t pair = filler ? SIZE_MAX : b->order[c->first + r];
        wg_sentence x = filler ? none : wg_corpus_sentence(b->corpus, pair, 0);
        wg_sentence y = filler ? none : wg_corpus_sentence(b->corpus, pair, 1);
        put_row(batch->source + r * S, S, filler || !o->source_begins ? -1 : o->source_bos, x,
                filler ? -1 : o->source_eos, source_pad);
        put_target(o, batch, r, y, filler);
        batch->source_lengths[r] = filler ? 0 : (int32_t)(x.n + source_marks(o));
        batch->source_tokens += batch->source_lengths[r];
        batch->target_tokens += filler ? 0 : (int64_t)target_tokens(o, y);
        pairs[r] = pair;
    }
}

wg_status wg_batches_next(wg_batches *b, const wg_batch **batches, size_t *n_batches)
{
    if (!b || !batches || !n_batches)
        return WG_EINVAL;
    *n_batches = 0;
    arrange(b, b->cursor.epoch);
    int64_t group = b->options.group, first = b->cursor.group * group;
    int64_t n = b->n_cuts - first < group ? b->n_cuts - first : group;
    for (int64_t i = 0; i < n; i++)
        fill(b, &b->cuts[b->cut_order[first + i]], &b->batches[i], (size_t *)b->batches[i].pairs);
    *batches = b->batches;
    *n_batches = (size_t)n;
    return wg_batches_seek(b, (wg_cursor){b->cursor.epoch, b->cursor.group + 1});
}
