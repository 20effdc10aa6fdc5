/* Given targets in one pass (teacher forcing): the decoder reads each target shifted by one; its
 * output says how probable each token was, and what it attended to. */
#include "decode/forced.h"
#include "backends/plan_cache.h"
#include "decode/sizes.h"
#include "graph/element.h"
#include "graph/error.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 1024, ROWS = 0, SOURCE, TARGET }; /* tokens of a batch; of a plan's key */

typedef struct forced {
    wgi_decode_context *context;
    bool scores; /* what the caller wants, and the attention of the options */
    const wg_search_options *options;
} forced;

typedef struct forced_io {
    wg_plan *plan;
    int32_t *source, *source_lengths, *target_in, *target_out;
    const void *losses, *attention; /* [B, T], [B, maps, queries, keys] */
    const int64_t *likeliest;       /* [B, T]                           */
    int64_t maps;
    bool source_queries, source_keys; /* they are tokens of the source, not of the target */
} forced_io;

/* ---- the graph ------------------------------------------------------------------------------- */

static bool is_inside(const wg_node *n, const char *scope)
{
    const size_t length = strlen(scope);
    const char *path = n->scope->path;
    return strncmp(path, scope, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* The attention built last in that scope; in the decoder's, the cross-attention of its last
 * layer. */
static const wg_node *last_attention(const wg_graph *g, const char *scope)
{
    for (size_t i = wg_graph_node_count(g); i-- > 0;) {
        const wg_node *n = wg_graph_node(g, i);
        if ((n->op == &wg_op_attention || n->op == &wg_op_additive_attention) &&
            is_inside(n, scope ? scope : "decoder"))
            return n;
    }
    return NULL;
}

/* Additive attention of unit vectors returns its weights. */
static wg_value *additive_weights(const wg_node *n)
{
    const int64_t *k = n->in[1]->shape.dim; /* [B, H, S, d] */
    wg_graph *g = n->graph;
    wg_value *unit = wg_one_hot(wg_iota(g, WG_I64, WG_SHAPE(k[2]), 0, 0, 1), k[2], n->in[1]->dtype);
    unit =
        wg_expand(wg_reshape(unit, WG_SHAPE(1, 1, k[2], k[2])), WG_SHAPE(k[0], k[1], k[2], k[2]));
    return wg_additive_attention(n->in[0], n->in[1], n->in[2], unit, n->n_in > 4 ? n->in[4] : NULL,
                                 n->attrs);
}

/* Of each head, or their mean: [B, maps, queries, keys] */
static wg_value *attention_weights(const wg_graph *g, const wg_search_options *o, forced_io *io)
{
    const wg_node *n = wg_graph_status(g) == WG_OK ? last_attention(g, o->attention_of) : NULL;
    if (!n)
        return NULL;
    io->source_queries = is_inside(n, "encoder");
    io->source_keys = io->source_queries || strcmp(n->scope->name, "cross_attn") == 0;
    io->maps = o->each_head ? n->in[0]->shape.dim[1] : 1;
    wg_value *w =
        n->op == &wg_op_attention
            ? wg_biased_attention_weights(n->in[0], n->in[1], n->n_in > 4 ? n->in[4] : NULL,
                                          n->n_in > 3 ? n->in[3] : NULL, n->attrs)
            : additive_weights(n);
    return o->each_head ? w : wg_mean(w, WG_AXES(1), WG_KEEP);
}

static wg_status make(void *wanted, const wgi_plan_key *key, wg_plan **plan, void *io,
                      wg_error *error)
{
    const wg_cross_entropy_attrs each = {
        .use_ignore = true, .ignore = WG_NO_TARGET, .reduction = WG_LOSS_NONE};
    const forced *f = wanted;
    const wg_search_model *model = f->context->model;
    wg_graph *g = wg_graph_new();
    wg_transformer_inputs in =
        wg_transformer_inputs_new(g, key->n[ROWS], key->n[SOURCE], key->n[TARGET]);
    wg_transformer m = wg_transformer_begin(g, model->config, WG_MODE_INFERENCE);
    wg_value *memory = wg_transformer_encode(&m, in.source, in.source_lengths);
    wg_value *states = wg_transformer_decode(&m, in.target_in, memory, in.source_lengths);
    wg_value *weights = NULL, *losses = NULL, *likeliest = NULL;
    forced_io *out = io;
    *out = (forced_io){0};
    if (f->options->attention)
        weights = wg_output(attention_weights(g, f->options, out), "attention");
    if (f->scores) {
        wg_value *logits = wg_transformer_logits(&m, states);
        losses = wg_output(wg_cross_entropy(logits, in.target_out, NULL, &each), "losses");
        likeliest = wg_output(wg_argmax(logits, -1, WG_DROP), "likeliest");
    }
    wg_value **const all[] = {&in.source, &in.source_lengths, &in.target_in, &in.target_out,
                              &losses,    &likeliest,         &weights};
    wg_status status =
        wgi_context_plan(f->context, plan, &g, model->store, all, WG_COUNT(all), error);
    if (status == WG_OK) {
        out->plan = *plan;
        out->source = wg_plan_data(*plan, in.source);
        out->source_lengths = wg_plan_data(*plan, in.source_lengths);
        out->target_in = wg_plan_data(*plan, in.target_in);
        out->target_out = wg_plan_data(*plan, in.target_out);
        out->losses = wg_plan_data(*plan, losses);
        out->likeliest = wg_plan_data(*plan, likeliest);
        out->attention = wg_plan_data(*plan, weights);
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

/* Pairs of the longest batch from the first pair on, and the sizes of its plan. */
static size_t batch_of(const wg_transformer_config *c, const pair *p, size_t n, wgi_plan_key *key)
{
    size_t count = 1, longest = p[0].length ? p[0].length : 1;
    for (; count < n; count++) {
        size_t source = p[count].length > longest ? p[count].length : longest;
        size_t widest = source > p[0].target->n ? source : p[0].target->n;
        if ((count + 1) * widest > MAX_TOKENS)
            break;
        longest = source;
    }
    *key = (wgi_plan_key){{wgi_round_up_doubling((int64_t)count, 1),
                           wgi_round_up_length(c, (int64_t)longest),
                           wgi_round_up_length(c, (int64_t)p[0].target->n)}};
    return count;
}

static void set_row(const forced_io *io, const int64_t *size, const pair *p, int64_t row,
                    int32_t bos)
{
    const wg_hypothesis *y = p->target;
    for (int64_t t = 0; t < size[SOURCE]; t++)
        io->source[row * size[SOURCE] + t] = t < (int64_t)p->length ? p->source[t] : 0;
    io->source_lengths[row] = (int32_t)p->length;
    for (int64_t t = 0; t < size[TARGET]; t++) {
        int64_t at = row * size[TARGET] + t, n = (int64_t)y->n;
        io->target_in[at] = t == 0 ? bos : t < n ? y->ids[t - 1] : 0;
        io->target_out[at] = t < n ? y->ids[t] : WG_NO_TARGET;
    }
}

/* first: the row's first token among [B, T] */
static bool take_scores(wg_dtype dtype, const forced_io *io, size_t first, wg_hypothesis *y)
{
    y->token_scores = malloc((y->n + 1) * sizeof *y->token_scores);
    y->log_probability = 0;
    y->n_correct = 0;
    for (size_t t = 0; y->token_scores && t < y->n; t++) {
        double p = -wgi_get_element(io->losses, dtype, (int64_t)(first + t));
        y->token_scores[t] = (float)p;
        y->log_probability += p;
        y->n_correct += io->likeliest[first + t] == y->ids[t];
    }
    return y->token_scores != NULL;
}

/* The maps of a row of the batch; size: of the plan. */
static bool take_attention(wg_dtype dtype, const forced_io *io, const int64_t *size, size_t row,
                           wg_hypothesis *y)
{
    const size_t height = (size_t)size[io->source_queries ? SOURCE : TARGET],
                 width = (size_t)size[io->source_keys ? SOURCE : TARGET];
    const size_t rows = io->source_queries ? y->source_tokens : y->n,
                 columns = io->source_keys ? y->source_tokens : y->n;
    y->attention_maps = (size_t)io->maps;
    y->attention_rows = rows;
    y->attention_columns = columns;
    y->attention = malloc((y->attention_maps * rows * columns + 1) * sizeof *y->attention);
    for (size_t i = 0; y->attention && i < y->attention_maps * rows * columns; i++) {
        size_t map = row * y->attention_maps + i / columns / rows;
        size_t at = (map * height + i / columns % rows) * width + i % columns;
        y->attention[i] = (float)wgi_get_element(io->attention, dtype, (int64_t)at);
    }
    return y->attention != NULL;
}

static wg_status run_batch(wgi_decode_context *c, const forced_io *io, const int64_t *size,
                           const pair *p, size_t count)
{
    const wg_dtype dtype = c->model->config->dtype;
    for (int64_t row = 0; row < size[ROWS]; row++) /* rows without a pair repeat the first */
        set_row(io, size, &p[row < (int64_t)count ? row : 0], row, c->model->bos);
    wg_status status = wgi_context_run(c, io->plan);
    if (status != WG_OK)
        return status;
    const size_t target = (size_t)size[TARGET];
    bool ok = true;
    for (size_t row = 0; ok && row < count; row++) {
        wg_hypothesis *y = p[row].target;
        ok = (!io->losses || take_scores(dtype, io, row * target, y)) &&
             (!io->attention || take_attention(dtype, io, size, row, y));
    }
    return ok ? WG_OK : wgi_error_set(&c->error, WG_ENOMEM, "out of memory");
}

wg_status wgi_forced_run(wgi_decode_context *c, const wgi_sentences *sources,
                         wg_hypothesis *results, size_t n_best, bool scores,
                         const wg_search_options *options)
{
    size_t n = sources->n * n_best, pairs = 0;
    pair *p = calloc(n + 1, sizeof *p);
    if (!p)
        return wgi_error_set(&c->error, WG_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (results[i].n)
            p[pairs++] = (pair){sources->ids[i / n_best], sources->length[i / n_best], &results[i]};
    qsort(p, pairs, sizeof *p, longer_first);
    forced f = {c, scores, options};
    wgi_plan_cache plans = {.make = make, .io_size = sizeof(forced_io), .max_plans = 1};
    wg_status status = WG_OK;
    for (size_t i = 0, count; status == WG_OK && i < pairs; i += count) {
        wgi_plan_key key;
        void *io;
        count = batch_of(c->model->config, p + i, pairs - i, &key);
        status = wgi_plan_cache_get(&plans, &f, &key, &io, &c->error);
        if (status == WG_OK)
            status = run_batch(c, io, key.n, p + i, count);
    }
    wgi_plan_cache_clear(&plans);
    free(p);
    return status;
}
