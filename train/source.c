/* Examples of one shape as batches. */
#include "train/source.h"
#include "backends/bad_input.h"
#include "files/checksum.h"
#include "graph/error.h"
#include "graph/shuffle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_ROWS = 32, STREAM = 0x65 /* of random numbers, unlike those of other sources */ };

struct wgi_examples {
    wg_examples e;
    size_t *bytes;    /* [n_fields] of one example */
    void **to;        /* [n_fields] scratch */
    uint32_t *order;  /* [count] of the arranged epoch; NULL: as given */
    int64_t arranged; /* that epoch, -1 at first */
};

static void arrange(wgi_examples *x, int64_t epoch)
{
    if (!x->order || x->arranged == epoch)
        return;
    x->arranged = epoch;
    for (uint32_t i = 0; i < (uint32_t)x->e.count; i++)
        x->order[i] = i;
    wgi_shuffle(x->order, (uint32_t)x->e.count, x->e.seed, (uint64_t)epoch, STREAM);
}

static int64_t rows_of(const wg_examples *e, int64_t i)
{
    int64_t left = e->count - i * e->batch;
    return left < e->batch ? left : e->batch;
}

static wg_status describe(void *context, int64_t epoch, int64_t i, wg_shape *shapes,
                          wg_batch_size *size, wg_error *error)
{
    const wg_examples *e = &((wgi_examples *)context)->e;
    (void)epoch;
    (void)error;
    *size = (wg_batch_size){.weight = rows_of(e, i)};
    for (size_t k = 0; k < e->n_fields; k++) {
        const wg_shape *one = &e->fields[k].shape;
        shapes[k] = (wg_shape){.rank = one->rank + 1, .dim = {size->weight}};
        memcpy(shapes[k].dim + 1, one->dim, (size_t)one->rank * sizeof one->dim[0]);
    }
    return WG_OK;
}

static wg_status put_example(wgi_examples *x, int64_t epoch, int64_t example, wg_error *error)
{
    const wg_examples *e = &x->e;
    wg_status status = e->read ? e->read(e->context, epoch, example, x->to, error) : WG_OK;
    if (status != WG_OK && error && !*error->text)
        wgi_error_set(error, status,
                      "`read` of example %" PRId64 " returned \"%s\" without a message", example,
                      wg_status_text(status));
    if (e->read)
        return status;
    for (size_t k = 0; k < e->n_fields; k++)
        memcpy(x->to[k], (const char *)e->fields[k].data + (size_t)example * x->bytes[k],
               x->bytes[k]);
    return WG_OK;
}

static wg_status fill(void *context, int64_t epoch, int64_t i, void *const *to, wg_error *error)
{
    wgi_examples *x = context;
    wg_status status = WG_OK;
    arrange(x, epoch);
    for (int64_t r = 0, n = rows_of(&x->e, i); r < n && status == WG_OK; r++) {
        int64_t at = i * x->e.batch + r;
        for (size_t k = 0; k < x->e.n_fields; k++)
            x->to[k] = (char *)to[k] + (size_t)r * x->bytes[k];
        status = put_example(x, epoch, x->order ? x->order[at] : at, error);
    }
    return status;
}

static int64_t example_in(void *context, int64_t epoch, int64_t i, size_t k, int64_t row)
{
    wgi_examples *x = context;
    const int64_t at = i * x->e.batch + row;
    (void)k;
    arrange(x, epoch);
    return x->order ? x->order[at] : at;
}

/* ---- whose numbers are bad ------------------------------------------------------------------- */

/* The field that is that input; n_fields if none is. */
static size_t field_of(const wg_source *s, const wg_value *input)
{
    size_t k = 0;
    while (k < s->n_fields && !(input->name && strcmp(s->fields[k].name, input->name) == 0))
        k++;
    return k;
}

const char *wgi_source_blame(const wg_source *s, const wg_plan *plan, int64_t epoch, int64_t i,
                             char text[WGI_BLAME_TEXT])
{
    int64_t at;
    const wg_value *input = wgi_plan_bad_input(plan, &at);
    const size_t k = input ? field_of(s, input) : s->n_fields;
    *text = '\0';
    if (k == s->n_fields || !input->shape.rank)
        return text;
    const int64_t row = at / (wg_value_count(input) / input->shape.dim[0]);
    const int64_t example = s->example ? s->example(s->context, epoch, i, k, row) : -1;
    int used = snprintf(text, WGI_BLAME_TEXT, "; that is row %" PRId64 " of the batch", row);
    if (example >= 0)
        snprintf(text + used, WGI_BLAME_TEXT - (size_t)used, ", example %" PRId64 " of the data",
                 example);
    return text;
}

/* ---- opening --------------------------------------------------------------------------------- */

static wg_status check_field(const wg_examples *e, size_t k, const char *what, wg_error *error)
{
    const wg_field *f = &e->fields[k];
    const char *wrong = !f->name || !*f->name            ? "expected a name, got none"
                        : wg_dtype_size(f->dtype) == 0   ? "expected a dtype, got none"
                        : f->shape.rank >= WG_MAX_RANK   ? "an example has too many axes"
                        : wg_shape_count(&f->shape) <= 0 ? "an example has no elements"
                        : !e->read && !f->data           ? "expected data, since there is no `read`"
                                                         : NULL;
    return wrong ? wgi_error_set(error, WG_EINVAL, "%s: field %zu (%s): %s", what, k,
                                 f->name ? f->name : "", wrong)
                 : WG_OK;
}

static wg_status check(const wg_examples *e, const char *what, wg_error *error)
{
    if (e->count < 1 || e->count > UINT32_MAX)
        return wgi_error_set(error, WG_EINVAL,
                             "%s: expected 1 to %" PRIu32 " examples, got %" PRId64, what,
                             UINT32_MAX, e->count);
    if (e->batch < 0 || !e->fields || !e->n_fields)
        return wgi_error_set(error, WG_EINVAL, "%s: expected %s", what,
                             e->batch < 0 ? "batch >= 0" : "fields, got none");
    if ((unsigned)e->order > WG_ORDER_GIVEN || (unsigned)e->last > WG_LAST_DROPPED)
        return wgi_error_set(error, WG_EINVAL,
                             "%s: expected an order of wg_example_order and a last batch of "
                             "wg_last_batch, got %d and %d",
                             what, (int)e->order, (int)e->last);
    if (e->last == WG_LAST_DROPPED && e->batch > e->count)
        return wgi_error_set(error, WG_EINVAL,
                             "%s: expected at least one whole batch of %" PRId64
                             " examples, since a smaller one is left out, got %" PRId64,
                             what, e->batch, e->count);
    wg_status status = WG_OK;
    for (size_t k = 0; k < e->n_fields && status == WG_OK; k++)
        status = check_field(e, k, what, error);
    return status;
}

/* Of arrays; what a function writes cannot be told. */
static uint64_t hash_of(const wgi_examples *x)
{
    const wg_examples *e = &x->e;
    uint64_t h = 0;
    for (size_t k = 0; k < e->n_fields && !e->read; k++) {
        h = wgi_xxh64(e->fields[k].name, strlen(e->fields[k].name), h);
        h = wgi_xxh64(e->fields[k].data, (size_t)e->count * x->bytes[k], h);
    }
    return h;
}

static wg_status open_examples(wgi_source *out, const wg_examples *e, uint64_t seed,
                               const char *what, wg_error *error)
{
    wg_status status = check(e, what, error);
    wgi_examples *x = status == WG_OK ? calloc(1, sizeof *x) : NULL;
    if (status != WG_OK)
        return status;
    out->examples = x;
    if (x) {
        *x = (wgi_examples){.e = *e, .arranged = -1};
        x->bytes = calloc(e->n_fields, sizeof *x->bytes);
        x->to = calloc(e->n_fields, sizeof *x->to);
        if (e->order == WG_ORDER_SHUFFLED)
            x->order = malloc((size_t)e->count * sizeof *x->order);
    }
    if (!x || !x->bytes || !x->to || (e->order == WG_ORDER_SHUFFLED && !x->order))
        return wgi_error_set(error, WG_ENOMEM, "%s: no memory for batches", what);
    x->e.seed = e->seed ? e->seed : seed;
    x->e.batch = e->batch ? e->batch : USUAL_ROWS;
    x->e.batch = x->e.batch < e->count ? x->e.batch : e->count;
    for (size_t k = 0; k < e->n_fields; k++)
        x->bytes[k] = wg_shape_bytes(&e->fields[k].shape, e->fields[k].dtype);
    int64_t batch = x->e.batch, rest = e->last == WG_LAST_SMALLER ? batch - 1 : 0;
    out->s = (wg_source){.fields = e->fields,
                         .n_fields = e->n_fields,
                         .batches = (e->count + rest) / batch,
                         .describe = describe,
                         .fill = fill,
                         .context = x,
                         .example = example_in,
                         .hash = hash_of(x)};
    return WG_OK;
}

wg_status wgi_source_open(wgi_source *out, const wg_examples *examples, const wg_source *source,
                          uint64_t seed, const char *what, wg_error *error)
{
    *out = (wgi_source){.examples = NULL};
    if (examples && source)
        return wgi_error_set(error, WG_EINVAL, "%s: expected examples or a source, got both", what);
    if (examples)
        return open_examples(out, examples, seed, what, error);
    if (!source)
        return WG_OK;
    if (source->batches < 1 || !source->fields || !source->n_fields || !source->describe ||
        !source->fill)
        return wgi_error_set(error, WG_EINVAL,
                             "%s: expected a source with batches, fields and both functions", what);
    out->s = *source;
    return WG_OK;
}

void wgi_source_describe(const wgi_source *s, char *text, size_t size)
{
    const wg_examples *e = s->examples ? &s->examples->e : NULL;
    if (!e)
        snprintf(text, size, "of a source");
    else if (e->order == WG_ORDER_GIVEN)
        snprintf(text, size, "%" PRId64 " in a batch, in the given order", e->batch);
    else
        snprintf(text, size, "%" PRId64 " in a batch, shuffled by seed %" PRIu64, e->batch,
                 e->seed);
}

void wgi_source_close(wgi_source *s)
{
    if (s->examples) {
        free(s->examples->bytes);
        free(s->examples->to);
        free(s->examples->order);
    }
    free(s->examples);
    *s = (wgi_source){.examples = NULL};
}
