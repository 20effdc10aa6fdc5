/* Drawing texts from a language model.  A text is x_0 = begin, x_1, ..., x_n = the prompt, then
 * what is drawn.  The keys and values of x_t live at a slot of a pool, which attention reads: those
 * of x_0 ... x_(n-1) at the slots 1 ... n, which all samples share, the others at slots of their
 * sample.  There are two kinds of plans, each in a few sizes:
 *
 *     prompt  R tokens x_0, ..., x_(n-1)    -> their keys and values
 *     draw    the last token of R samples   -> its keys and values; the logits of the next token
 *
 * Rows without a token see nothing and write to slot 0. */
#include "wengert/decode/generate.h"
#include "backends/plan_cache.h"
#include "backends/store.h"
#include "decode/check.h"
#include "decode/context.h"
#include "decode/owned.h"
#include "decode/sizes.h"
#include "decode/stepwise.h"
#include "graph/element.h"
#include "graph/error.h"
#include "graph/random.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>
#include <string.h>

enum {
    PROMPT_ROWS = 64, /* tokens of a prompt in one run             */
    MIN_WIDTH = 64,   /* tokens that a plan can see                */
    MAX_PLANS = 16,   /*                                           */
    ROWS = 0,         /* of a plan's key                           */
    DRAWS,            /* whether the plan is for drawing, not for a prompt */
    MAX_TOKENS = 1 << 29
};

typedef struct step_io {
    wg_plan *plan;
    int64_t rows;
    int32_t *ids, *positions, *slots, *lengths, *to;
    const void *logits; /* [rows, V]; NULL in a plan for a prompt */
} step_io;

struct wg_generator {
    wgi_owned_model own;
    wgi_decode_context context;
    wg_store *pools;      /* over the model's store             */
    int64_t width, slots; /* tokens of a text, slots of a pool  */
    wgi_plan_cache plans;
    double *logits, *p; /* [V] */
};

/* ---- plans ----------------------------------------------------------------------------------- */

static wg_status make(void *generator, const wgi_plan_key *key, wg_plan **plan, void *io,
                      wg_error *error)
{
    const wg_generator *self = generator;
    const int64_t rows = key->n[ROWS];
    wg_graph *g = wg_graph_new();
    wg_value *ids = wg_input(g, "ids", WG_I32, WG_SHAPE(rows)),
             *positions = wg_input(g, "positions", WG_I32, WG_SHAPE(rows)),
             *slots = wg_input(g, "slots", WG_I32, WG_SHAPE(rows, self->width)),
             *lengths = wg_input(g, "lengths", WG_I32, WG_SHAPE(rows)),
             *to = wg_input(g, "to", WG_I32, WG_SHAPE(rows)), *logits = NULL;
    wg_transformer m = wg_transformer_begin(g, &self->own.config, WG_MODE_INFERENCE);
    const wgi_decode_step step = {
        .tokens = {ids, positions, slots, lengths}, .to = to, .slots = self->slots};
    wg_value *states = wgi_stepwise_decode(&m, &step, self->width);
    if (key->n[DRAWS])
        logits = wg_output(wg_transformer_logits(&m, states), "logits");
    wg_value **const all[] = {&ids, &positions, &slots, &lengths, &to, &logits};
    wg_status status =
        wgi_context_plan(&self->context, plan, &g, self->pools, all, WG_COUNT(all), error);
    if (status == WG_OK)
        *(step_io *)io = (step_io){
            .plan = *plan,
            .rows = rows,
            .ids = wg_plan_data(*plan, ids),
            .positions = wg_plan_data(*plan, positions),
            .slots = wg_plan_data(*plan, slots),
            .lengths = wg_plan_data(*plan, lengths),
            .to = wg_plan_data(*plan, to),
            .logits = logits ? wg_plan_data(*plan, logits) : NULL,
        };
    wg_graph_free(g);
    return status;
}

/* ---- creation -------------------------------------------------------------------------------- */

static wg_status out_of_memory(wg_error *error)
{
    return wgi_error_set(error, WG_ENOMEM, "out of memory");
}

wg_status wg_generator_create(wg_generator **out, const wg_search_model *model, wg_error *error)
{
    wgi_error_clear(error);
    if (!out)
        return wgi_error_set(error, WG_EINVAL, "wg_generator_create: out is NULL");
    *out = NULL;
    wg_status status = wgi_check_model(model, error);
    if (status != WG_OK)
        return status;
    if (model->config->encoder_layers)
        return wgi_error_set(error, WG_EINVAL,
                             "wg_generator_create: encoder_layers is %lld, must be 0: a model "
                             "that translates needs a source (wg_search_create)",
                             (long long)model->config->encoder_layers);
    wg_generator *g = calloc(1, sizeof *g);
    if (!g)
        return out_of_memory(error);
    size_t V = (size_t)model->config->target_vocabulary;
    g->plans = (wgi_plan_cache){.make = make, .io_size = sizeof(step_io), .max_plans = MAX_PLANS};
    g->logits = malloc(V * sizeof *g->logits);
    g->p = malloc(V * sizeof *g->p);
    if (!g->logits || !g->p || !wgi_owned_copy(&g->own, model) ||
        !wgi_context_init(&g->context, &g->own.model, model->threads)) {
        wg_generator_free(g);
        return out_of_memory(error);
    }
    *out = g;
    return WG_OK;
}

static void clear_pools(wg_generator *g)
{
    wgi_plan_cache_clear(&g->plans);
    wg_store_free(g->pools);
    g->pools = NULL;
}

void wg_generator_free(wg_generator *g)
{
    if (!g)
        return;
    clear_pools(g);
    wgi_context_clear(&g->context);
    wgi_owned_clear(&g->own);
    free(g->logits);
    free(g->p);
    free(g);
}

const char *wg_generator_message(const wg_generator *g)
{
    return g ? g->context.error.text : "the generator is NULL";
}

/* ---- a call ---------------------------------------------------------------------------------- */

typedef struct call {
    wg_generator *g;
    const wg_generate_options *options;
    const int32_t *prompt; /* [n] x_1, ..., x_n */
    int64_t n, length, samples;
    wg_generated *text; /* [samples] */
} call;

/* Token t of a sample. */
static int32_t token_at(const call *c, int64_t sample, int64_t t)
{
    return t == 0      ? c->g->own.model.bos
           : t <= c->n ? c->prompt[t - 1]
                       : c->text[sample].ids[t - c->n - 1];
}

/* Where its keys and values are. */
static int32_t slot_of(const call *c, int64_t sample, int64_t t)
{
    return (int32_t)(t < c->n ? 1 + t : 1 + c->n + sample * c->length + t - c->n);
}

static void set_row(const call *c, const step_io *io, int64_t row, int64_t sample, int64_t t)
{
    wgi_seen seen = wgi_seen_tokens(&c->g->own.config, t, t + 1);
    io->ids[row] = token_at(c, sample, t);
    io->positions[row] = (int32_t)t;
    io->lengths[row] = (int32_t)(seen.to - seen.from);
    io->to[row] = slot_of(c, sample, t);
    for (int64_t k = seen.from; k < seen.to; k++)
        io->slots[row * c->g->width + k - seen.from] = slot_of(c, sample, k);
}

static void clear_row(const step_io *io, int64_t row)
{
    io->ids[row] = io->positions[row] = io->lengths[row] = io->to[row] = 0;
}

static wg_status plan_for(const call *c, int64_t rows, bool draws, step_io **io)
{
    void *found = NULL;
    wg_status status = wgi_plan_cache_get(&c->g->plans, c->g, &(wgi_plan_key){{rows, draws}},
                                          &found, &c->g->context.error);
    *io = found;
    return status;
}

/* Room for the tokens of all samples: only what is used is ever touched. */
static wg_status prepare(const call *c)
{
    wg_generator *g = c->g;
    int64_t width = c->n + c->length, slots = 1 + c->n + c->samples * c->length;
    if (g->pools && g->width >= width && g->slots >= slots)
        return WG_OK;
    clear_pools(g);
    g->width = wgi_limit_length(&g->own.config, width,
                                wgi_round_up_doubling(wgi_larger(width, g->width), MIN_WIDTH));
    g->slots = wgi_round_up_doubling(wgi_larger(slots, g->slots), MIN_WIDTH);
    g->pools = wgi_store_new_sparse(g->own.model.store);
    return g->pools ? WG_OK : out_of_memory(&g->context.error);
}

/* Keys and values of x_0, ..., x_(n-1). */
static wg_status read_prompt(const call *c)
{
    step_io *io;
    int64_t rows = c->n < PROMPT_ROWS ? wgi_round_up_doubling(c->n, 8) : PROMPT_ROWS;
    wg_status status = c->n ? plan_for(c, rows, false, &io) : WG_OK;
    for (int64_t t = 0; t < c->n && status == WG_OK; t += rows) {
        for (int64_t row = 0; row < rows; row++)
            if (t + row < c->n)
                set_row(c, io, row, 0, t + row);
            else
                clear_row(io, row);
        status = wgi_context_run(&c->g->context, io->plan);
    }
    return status;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* What is no part of a text gets no probability. */
static void forbid(const wg_search_model *m, double *logits)
{
    const int32_t never[] = {m->pad, m->bos == m->eos ? -1 : m->bos, m->no_unk ? m->unk : -1};
    for (size_t i = 0; i < WG_COUNT(never); i++)
        if (never[i] >= 0)
            logits[never[i]] = -(double)INFINITY;
}

/* log of the sum of exp(z); NaN if that is no number. */
static double log_sum_exp(const double *z, size_t n)
{
    double max = z[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        max = z[i] > max ? z[i] : max;
    for (size_t i = 0; i < n; i++)
        sum += exp(z[i] - max);
    return max + log(sum);
}

/* Draws the token that follows token t of a sample. */
static wg_status draw(const call *c, const step_io *io, int64_t sample, int64_t t)
{
    wg_generator *g = c->g;
    wg_generated *text = &c->text[sample];
    const wg_search_model *m = &g->own.model;
    const int64_t V = g->own.config.target_vocabulary;
    const wgi_random random = wgi_random_of(c->options->seed, (uint64_t)t, (uint64_t)sample);
    for (int64_t i = 0; i < V; i++)
        g->logits[i] = wgi_get_element(io->logits, g->own.config.dtype, sample * V + i);
    double all = log_sum_exp(g->logits, (size_t)V);
    if (!isfinite(all))
        return wgi_error_set(&g->context.error, WG_ENONFINITE,
                             "token %lld has no finite probability", (long long)t + 1);
    forbid(m, g->logits);
    wg_status status = wg_sampling_probabilities(g->p, &c->options->sampling, g->logits, (size_t)V,
                                                 &g->context.error);
    if (status != WG_OK)
        return status;
    size_t id = wg_sampling_draw(g->p, (size_t)V, wgi_uniform(&random, 0));
    text->ids[text->n++] = (int32_t)id;
    text->log_probability += g->logits[id] - all;
    text->ended = (int32_t)id == m->eos && !c->options->go_on;
    return WG_OK;
}

/* Extends all texts that have not ended by a token; *under_way is how many there were. */
static wg_status extend(const call *c, step_io *io, int64_t t, int64_t *under_way)
{
    *under_way = 0;
    for (int64_t i = 0; i < io->rows; i++)
        if (i < c->samples && !c->text[i].ended) {
            set_row(c, io, i, i, t);
            ++*under_way;
        } else
            clear_row(io, i);
    wg_status status = *under_way ? wgi_context_run(&c->g->context, io->plan) : WG_OK;
    for (int64_t i = 0; i < c->samples && status == WG_OK; i++)
        if (!c->text[i].ended)
            status = draw(c, io, i, t);
    return status;
}

static wg_status generate(const call *c)
{
    step_io *io = NULL;
    int64_t under_way = c->samples;
    wg_status status = wgi_context_quantize(&c->g->context, &c->g->own.quantizer);
    if (status == WG_OK)
        status = prepare(c);
    if (status == WG_OK)
        status = read_prompt(c);
    if (status == WG_OK)
        status = plan_for(c, wgi_round_up_doubling(c->samples, 1), true, &io);
    for (int64_t t = c->n; t < c->n + c->length && under_way && status == WG_OK; t++)
        status = extend(c, io, t, &under_way);
    return status;
}

/* ---- from outside ---------------------------------------------------------------------------- */

static wg_status check(const call *c, size_t n, wg_error *error)
{
    const wg_generate_options *o = c->options;
    const wg_transformer_config *config = &c->g->own.config;
    wg_status status = wg_sampling_check(&o->sampling, error);
    if (status != WG_OK)
        return status;
    if (o->length < 1 || o->samples < 0 || o->length > MAX_TOKENS / c->samples)
        return wgi_error_set(error, WG_EINVAL,
                             "length is %lld and samples %lld, must be positive and together at "
                             "most 2^29 tokens",
                             (long long)o->length, (long long)o->samples);
    if (config->positions == WG_POSITIONS_LEARNED && n >= (size_t)config->max_positions)
        return wgi_error_set(error, WG_EDATA,
                             "the prompt has %zu tokens, must be at most %lld: with the begin "
                             "before it, there are %lld learned positions",
                             n, (long long)config->max_positions - 1,
                             (long long)config->max_positions);
    if (n > MAX_TOKENS)
        return wgi_error_set(error, WG_EDATA, "the prompt has %zu tokens", n);
    for (size_t i = 0; i < n; i++)
        if (c->prompt[i] < 0 || c->prompt[i] >= config->target_vocabulary)
            return wgi_error_set(error, WG_EDATA, "the prompt: token %ld is outside [0,%lld)",
                                 (long)c->prompt[i], (long long)config->target_vocabulary);
    return WG_OK;
}

static bool make_room(call *c)
{
    c->text = calloc((size_t)c->samples, sizeof *c->text);
    bool ok = c->text != NULL;
    for (int64_t i = 0; ok && i < c->samples; i++)
        ok = (c->text[i].ids = malloc((size_t)c->length * sizeof(int32_t))) != NULL;
    return ok;
}

wg_status wg_generator_run(wg_generator *g, const int32_t *prompt, size_t n,
                           const wg_generate_options *options, wg_generated **results)
{
    if (!g)
        return WG_EINVAL;
    wg_error *error = &g->context.error;
    wgi_error_clear(error);
    if (!results || !options || (n && !prompt))
        return wgi_error_set(error, WG_EINVAL, "wg_generator_run: an argument is NULL");
    *results = NULL;
    call c = {.g = g,
              .options = options,
              .prompt = prompt,
              .samples = options->samples > 0 ? options->samples : 1};
    wg_status status = check(&c, n, error);
    if (status != WG_OK)
        return status;
    c.n = (int64_t)n;
    c.length = options->length;
    if (g->own.config.positions == WG_POSITIONS_LEARNED &&
        c.length > g->own.config.max_positions - c.n)
        c.length = g->own.config.max_positions - c.n;
    g->context.stop = options->stop;
    status = make_room(&c) ? generate(&c) : out_of_memory(error);
    if (status == WG_OK)
        *results = c.text;
    else
        wg_generated_free(c.text, (size_t)c.samples);
    return status;
}

void wg_generated_free(wg_generated *results, size_t count)
{
    for (size_t i = 0; results && i < count; i++)
        free(results[i].ids);
    free(results);
}
