/* The plain decoder: at each step the whole model, encoder and decoder, over all tokens of all
 * rows.  It is what the cached decoder is tested against. */
#include "decode/plain.h"
#include "backends/plan_cache.h"
#include "decode/candidates.h"
#include "decode/sizes.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>

enum { MAX_PLANS = 8, ROWS = 0, SOURCE, TARGET, K, LOGITS }; /* of a plan's key */

typedef struct plain_io {
    wg_plan *plan;
    int32_t *source, *source_lengths, *target, *last;
    const void *values;
    const int64_t *tokens;
} plain_io;

struct wgi_plain {
    wgi_decode_context *context;
    wgi_plan_cache plans;
    wgi_scores scores;
};

static wg_status make(void *decoder, const wgi_plan_key *key, wg_plan **plan, void *io,
                      wg_error *error)
{
    wgi_decode_context *c = ((wgi_plain *)decoder)->context;
    const int64_t *size = key->n;
    wg_graph *g = wg_graph_new();
    wg_transformer_inputs in = wg_transformer_inputs_new(g, size[ROWS], size[SOURCE], size[TARGET]);
    wg_value *last = wg_input(g, "last", WG_I32, WG_SHAPE(size[ROWS]));
    wg_transformer m = wg_transformer_begin(g, c->model->config, WG_MODE_INFERENCE);
    wg_value *memory = wg_transformer_encode(&m, in.source, in.source_lengths);
    wg_value *states = wg_transformer_decode(&m, in.target_in, memory, in.source_lengths);
    wg_value *values, *tokens;
    if (states)
        states = wg_reshape(states, WG_SHAPE(size[ROWS] * size[TARGET], m.config.d_model));
    wgi_candidates_build(&m, wg_take(states, last, 0), size[K], size[LOGITS], &values, &tokens);
    wg_value **const all[] = {&in.source, &in.source_lengths, &in.target_in, &last, &values,
                              &tokens};
    wg_status status = wgi_context_plan(c, plan, &g, c->model->store, all, WG_COUNT(all), error);
    if (status == WG_OK)
        *(plain_io *)io = (plain_io){
            .plan = *plan,
            .source = wg_plan_data(*plan, in.source),
            .source_lengths = wg_plan_data(*plan, in.source_lengths),
            .target = wg_plan_data(*plan, in.target_in),
            .last = wg_plan_data(*plan, last),
            .values = wg_plan_data(*plan, values),
            .tokens = wg_plan_data(*plan, tokens),
        };
    wg_graph_free(g);
    return status;
}

wgi_plain *wgi_plain_new(wgi_decode_context *c)
{
    wgi_plain *p = calloc(1, sizeof *p);
    if (p) {
        p->context = c;
        p->plans =
            (wgi_plan_cache){.make = make, .io_size = sizeof(plain_io), .max_plans = MAX_PLANS};
    }
    return p;
}

void wgi_plain_free(wgi_plain *p)
{
    if (!p)
        return;
    wgi_plan_cache_clear(&p->plans);
    free(p->scores.at);
    free(p);
}

static wgi_plan_key key_of(const wg_transformer_config *c, const wgi_beam_row *rows, size_t n,
                           int64_t k, bool logits)
{
    int64_t source = 0, target = 0;
    for (size_t i = 0; i < n; i++) {
        source = wgi_larger(source, (int64_t)rows[i].sentence->length);
        target = wgi_larger(target, (int64_t)rows[i].partial->n + 1);
    }
    return (wgi_plan_key){{wgi_round_up_doubling((int64_t)n, WGI_LEAST_ROWS),
                           wgi_round_up_length(c, source), wgi_round_up_length(c, target), k,
                           logits}};
}

static void set_row(const plain_io *io, const int64_t *size, const wgi_beam_row *r, int64_t i,
                    int32_t bos)
{
    const wgi_beam *x = r->sentence;
    const wgi_partial *h = r->partial;
    for (int64_t t = 0; t < size[SOURCE]; t++)
        io->source[i * size[SOURCE] + t] = t < (int64_t)x->length ? x->source[t] : 0;
    for (int64_t t = 0; t < size[TARGET]; t++)
        io->target[i * size[TARGET] + t] = t == 0 ? bos : t <= (int64_t)h->n ? h->ids[t - 1] : 0;
    io->source_lengths[i] = (int32_t)x->length;
    io->last[i] = (int32_t)(i * size[TARGET] + (int64_t)h->n);
}

wg_status wgi_plain_step(wgi_plain *p, const wgi_beam_row *rows, size_t n, int64_t k, bool logits,
                         wgi_candidates *out)
{
    wgi_decode_context *c = p->context;
    const wgi_plan_key key = key_of(c->model->config, rows, n, k, logits);
    void *found;
    wg_status status = wgi_plan_cache_get(&p->plans, p, &key, &found, &c->error);
    if (status != WG_OK)
        return status;
    const plain_io *io = found;
    for (int64_t i = 0; i < key.n[ROWS]; i++) /* rows without a hypothesis repeat row 0 */
        set_row(io, key.n, &rows[i < (int64_t)n ? i : 0], i, c->model->bos);
    if ((status = wgi_context_run(c, io->plan)) != WG_OK)
        return status;
    return wgi_candidates_read(c, &p->scores, io->values, io->tokens, n * (size_t)k, out);
}
