#include "tests/transformers.h"

transformer transformer_of(const wg_transformer_config *c, int64_t rows, int64_t source,
                           int64_t target, bool training)
{
    transformer t = {.g = wg_graph_new(), .config = *c};
    wg_transformer m =
        wg_transformer_begin(t.g, c, training ? WG_MODE_TRAINING : WG_MODE_INFERENCE);
    t.in = wg_transformer_inputs_new(t.g, rows, c->encoder_layers ? source : 0, target);
    t.loss = wg_output(wg_transformer_loss(&m, &t.in, NULL), "loss");
    check_that(t.loss != NULL, "%s: %s", c->name, wg_graph_message(t.g));
    t.logits = wg_output(t.loss->node->in[0], "logits");
    return t;
}

wg_transformer_config transformer_sized(const char *name, int64_t vocabulary)
{
    const wg_transformer_config *found = wg_transformer_find(name);
    check_that(found != NULL, "no configuration %s", name);
    wg_transformer_config c = *found;
    c.source_vocabulary = c.target_vocabulary = vocabulary;
    return c;
}

uint32_t transformer_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void fill_source(wg_plan *p, const transformer *t, uint64_t *seed)
{
    int32_t *source = wg_plan_data(p, t->in.source),
            *lengths = wg_plan_data(p, t->in.source_lengths);
    int64_t rows = t->in.source->shape.dim[0], s = t->in.source->shape.dim[1];
    for (int64_t i = 0; i < rows * s; i++)
        source[i] = (int32_t)(transformer_random(seed) % (uint32_t)t->config.source_vocabulary);
    for (int64_t i = 0; i < rows; i++)
        lengths[i] = i == 0 ? (int32_t)s : 1 + (int32_t)(transformer_random(seed) % (uint32_t)s);
}

void transformer_fill(wg_plan *p, const transformer *t, uint64_t seed)
{
    const wg_transformer_config *c = &t->config;
    int32_t *in = wg_plan_data(p, t->in.target_in), *out = wg_plan_data(p, t->in.target_out);
    int64_t n = wg_value_count(t->in.target_in);
    if (t->in.source)
        fill_source(p, t, &seed);
    for (int64_t i = 0; i < n; i++) {
        in[i] = (int32_t)(transformer_random(&seed) % (uint32_t)c->target_vocabulary);
        out[i] = (int32_t)(transformer_random(&seed) % (uint32_t)c->target_vocabulary);
    }
    out[n - 1] = WG_NO_TARGET;
}

size_t transformer_gradients(const transformer *t, wg_value **w, wg_value **dw)
{
    size_t n = wg_graph_parameters(t->g, w, TRANSFORMER_MAX_PARAMETERS);
    assert_in_range(n, 1, TRANSFORMER_MAX_PARAMETERS);
    check_that(wg_grad(t->loss, w, n, dw) == WG_OK, "%s: %s", t->config.name,
               wg_graph_message(t->g));
    return n;
}

wg_plan *transformer_plan(const transformer *t, wg_backend_list list, wg_store *store, int threads)
{
    return plan_of(t->g, &(wg_plan_options){.backends = list.backend,
                                            .n_backends = list.count,
                                            .store = store,
                                            .threads = threads,
                                            .seed = 4});
}

void transformer_logits(wg_plan *p, const transformer *t, float *logits)
{
    run(p, 0);
    memcpy(logits, floats(p, t->logits), wg_value_bytes(t->logits));
}
