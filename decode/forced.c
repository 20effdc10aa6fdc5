/* Given targets in one pass: the decoder reads each target shifted by one and says how probable
 * each of its tokens was (teacher forcing), and what it looked at. */
#include "decode/internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <stdlib.h>

enum { STRIDE = 8, TOKENS = 1024 }; /* lengths are multiples; tokens of a batch */

typedef struct forced_shape {
    int64_t rows, source, target;
} forced_shape;

typedef struct forced_plan {
    wg_plan *plan;
    int32_t *source, *source_lengths, *target_in, *target_out;
    const void *losses, *attention; /* [B, T], [B, T, S] */
    const int64_t *likeliest;       /* [B, T]            */
} forced_plan;

/* ---- the graph ------------------------------------------------------------------------------- */

/* The attention built last: the cross-attention of the decoder's last layer. */
static const wg_node *last_attention(const wg_graph *g)
{
    for (size_t i = wg_graph_node_count(g); i-- > 0;) {
        const wg_node *n = wg_graph_node(g, i);
        if (n->op == &wg_op_attention || n->op == &wg_op_additive_attention)
            return n;
    }
    return NULL;
}

/* The weights of additive attention are what it makes of the unit vectors. */
static wg_value *additive_weights(const wg_node *n)
{
    const int64_t *k = n->in[1]->shape.dim; /* [B, H, S, d] */
    wg_graph *g = n->graph;
    wg_value *unit = wg_one_hot(wg_iota(g, WG_I64, WG_SHAPE(k[2]), 0, 0, 1), k[2], n->in[1]->dtype);
    unit =
        wg_expand(wg_reshape(unit, WG_SHAPE(1, 1, k[2], k[2])), WG_SHAPE(k[0], k[1], k[2], k[2]));
    return wg_additive_attention(n->in[0], n->in[1], n->in[2], unit, n->n_in > 4 ? n->in[4] : NULL,
                                 NULL);
}

/* Mean over heads: [B, T, S] */
static wg_value *attention_weights(const wg_graph *g)
{
    const wg_node *n = wg_graph_status(g) == WG_OK ? last_attention(g) : NULL;
    if (!n)
        return NULL;
    wg_value *w =
        n->op == &wg_op_attention
            ? wg_attention_weights(n->in[0], n->in[1], n->n_in > 3 ? n->in[3] : NULL, n->attrs)
            : additive_weights(n);
    return wg_mean(w, WG_AXES(1), WG_DROP);
}

static wg_status make(wg_search *s, forced_plan *out, const forced_shape *shape, bool scores,
                      bool attention)
{
    const wg_cross_entropy_attrs each = {
        .use_ignore = true, .ignore = WG_NO_TARGET, .reduction = WG_LOSS_NONE};
    wg_graph *g = wg_graph_new();
    wg_transformer_inputs in =
        wg_transformer_inputs_of(g, shape->rows, shape->source, shape->target);
    wg_transformer m = wg_transformer_begin(g, &s->config, false);
    wg_value *memory = wg_transformer_encode(&m, in.source, in.source_lengths);
    wg_value *states = wg_transformer_decode(&m, in.target_in, memory, in.source_lengths);
    wg_value *weights = attention ? wg_output(attention_weights(g), "attention") : NULL,
             *losses = NULL, *likeliest = NULL;
    if (scores) {
        wg_value *logits = wg_transformer_logits(&m, states);
        losses = wg_output(wg_cross_entropy(logits, in.target_out, NULL, &each), "losses");
        likeliest = wg_output(wg_argmax(logits, -1, WG_DROP), "likeliest");
    }
    wg_plan *p = NULL;
    wg_value **const all[] = {&in.source, &in.source_lengths, &in.target_in, &in.target_out,
                              &losses,    &likeliest,         &weights};
    wg_status status = wgi_search_in_integers(s, &g, all, WG_COUNT(all));
    if (status == WG_OK)
        status = wgi_search_plan(s, &p, g, s->store);
    *out = (forced_plan){.plan = p};
    if (status == WG_OK) {
        out->source = wg_plan_data(p, in.source);
        out->source_lengths = wg_plan_data(p, in.source_lengths);
        out->target_in = wg_plan_data(p, in.target_in);
        out->target_out = wg_plan_data(p, in.target_out);
        out->losses = wg_plan_data(p, losses);
        out->likeliest = wg_plan_data(p, likeliest);
        out->attention = wg_plan_data(p, weights);
    }
    wg_graph_free(g);
    return status;
}

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct pair {
    const int32_t *source;
    size_t length;
    wg_hypothesis *target;
} pair;

static int longer_first(const void *a, const void *b)
{
    const pair *p = a, *q = b;
    if (p->target->n != q->target->n)
        return p->target->n < q->target->n ? 1 : -1;
    if (p->length != q->length)
        return p->length < q->length ? 1 : -1;
    return p->target < q->target ? -1 : p->target > q->target;
}

static int64_t in_strides(const wg_search *s, size_t n)
{
    int64_t up = ((int64_t)n + STRIDE - 1) / STRIDE * STRIDE, max = s->config.max_positions;
    bool limited = s->config.positions == WG_POSITIONS_LEARNED && (int64_t)n <= max;
    return limited && up > max ? max : up;
}

/* The longest batch from the first pair on. */
static size_t batch_of(const wg_search *s, const pair *p, size_t n, forced_shape *shape)
{
    size_t count = 1, longest = p[0].length;
    for (; count < n; count++) {
        size_t source = p[count].length > longest ? p[count].length : longest;
        size_t widest = source > p[0].target->n ? source : p[0].target->n;
        if ((count + 1) * widest > TOKENS)
            break;
        longest = source;
    }
    *shape = (forced_shape){wgi_search_round_up((int64_t)count, 1), in_strides(s, longest),
                            in_strides(s, p[0].target->n)};
    return count;
}

static void set_row(const wg_search *s, const forced_plan *f, const forced_shape *shape,
                    const pair *p, int64_t row)
{
    const wg_hypothesis *y = p->target;
    for (int64_t t = 0; t < shape->source; t++)
        f->source[row * shape->source + t] = t < (int64_t)p->length ? p->source[t] : 0;
    f->source_lengths[row] = (int32_t)p->length;
    for (int64_t t = 0; t < shape->target; t++) {
        int64_t at = row * shape->target + t, n = (int64_t)y->n;
        f->target_in[at] = t == 0 ? s->bos : t < n ? y->ids[t - 1] : 0;
        f->target_out[at] = t < n ? y->ids[t] : WG_NO_TARGET;
    }
}

static double number(const wg_search *s, const void *x, int64_t i)
{
    return s->config.dtype == WG_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static bool take_scores(const wg_search *s, const forced_plan *f, int64_t first, wg_hypothesis *y)
{
    y->token_scores = malloc((y->n + 1) * sizeof *y->token_scores);
    y->log_probability = 0;
    y->hits = 0;
    for (size_t t = 0; y->token_scores && t < y->n; t++) {
        double p = -number(s, f->losses, first + (int64_t)t);
        y->token_scores[t] = (float)p;
        y->log_probability += p;
        y->hits += f->likeliest[first + (int64_t)t] == y->ids[t];
    }
    return y->token_scores != NULL;
}

static bool take_attention(const wg_search *s, const forced_plan *f, int64_t first, int64_t width,
                           wg_hypothesis *y)
{
    size_t columns = y->source_tokens;
    y->attention = malloc((y->n * columns + 1) * sizeof *y->attention);
    for (size_t i = 0; y->attention && i < y->n * columns; i++)
        y->attention[i] = (float)number(
            s, f->attention, first + (int64_t)(i / columns) * width + (int64_t)(i % columns));
    return y->attention != NULL;
}

static wg_status run_batch(wg_search *s, const forced_plan *f, const forced_shape *shape,
                           const pair *p, size_t count)
{
    for (int64_t row = 0; row < shape->rows; row++)
        set_row(s, f, shape, &p[row < (int64_t)count ? row : 0], row);
    wg_status status = wgi_search_run_plan(s, f->plan);
    bool ok = status == WG_OK;
    for (int64_t row = 0; ok && row < (int64_t)count; row++) {
        int64_t first = row * shape->target;
        ok = (!f->losses || take_scores(s, f, first, p[row].target)) &&
             (!f->attention ||
              take_attention(s, f, first * shape->source, shape->source, p[row].target));
    }
    return ok || status != WG_OK ? status : wgi_search_fail(s, WG_ENOMEM, "out of memory");
}

wg_status wgi_search_force(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                           wg_hypothesis *results, size_t n, size_t per, bool scores,
                           bool attention)
{
    pair *p = calloc(n + 1, sizeof *p);
    forced_plan plan = {0};
    forced_shape had = {0}, shape;
    size_t pairs = 0;
    wg_status status = p ? WG_OK : wgi_search_fail(s, WG_ENOMEM, "out of memory");
    for (size_t i = 0; p && i < n; i++)
        if (results[i].n && lengths[i / per])
            p[pairs++] = (pair){sources[i / per], lengths[i / per], &results[i]};
    if (p)
        qsort(p, pairs, sizeof *p, longer_first);
    for (size_t i = 0, count; status == WG_OK && i < pairs; i += count) {
        count = batch_of(s, p + i, pairs - i, &shape);
        if (shape.rows != had.rows || shape.source != had.source || shape.target != had.target) {
            wg_plan_free(plan.plan);
            status = make(s, &plan, &shape, scores, attention);
            had = shape;
        }
        if (status == WG_OK)
            status = run_batch(s, &plan, &shape, p + i, count);
    }
    wg_plan_free(plan.plan);
    free(p);
    return status;
}
