/* What to expect of training the Transformer on 2 to 64 machines, from the model of
 * measure/scaling.h (docs/scaling.md); nothing is timed:
 *
 *     bench_scaling [TOKENS [RATE [LATENCY_US [ADDING]]]]
 *
 * TOKENS: target tokens that each machine computes for an update (default 4096); RATE: target
 * tokens of `base` that it computes in a second (1250, two cores); LATENCY_US: microseconds of a
 * message (30); ADDING: GB per second that it adds (5).  Printed is the efficiency, the seconds of
 * an update on one machine by those on N, each with TOKENS, and what limits it. */
#include "measure/scaling.h"
#include "wengert.h"
#include "wengert/models/transformer.h"

#include <stdio.h>
#include <stdlib.h>

enum { VOCABULARY = 37000, MOST_BUCKETS = 256, BUCKET_BYTES = 8 << 20 };

/* Bytes per second of links; one stream of TCP gets no more than 4.5 GB/s. */
static const struct {
    const char *name;
    double bandwidth;
} links[] = {{"1 Gb/s", 0.117e9}, {"10 Gb/s", 1.17e9}, {"25 Gb/s", 2.9e9}, {"100 Gb/s", 4.5e9}};

/* The sums of an update in the order of the gradients, from the last parameter to the first. */
typedef struct model {
    double parameters, products; /* numbers; those that a token is multiplied with */
    double bytes[MOST_BUCKETS], ready[MOST_BUCKETS];
    size_t buckets;
} model;

static bool is_embedding(const wg_value *p)
{
    return p->shape.rank == 2 && p->shape.dim[0] == VOCABULARY;
}

/* The products done by then decide when a bucket is ready: their sum, for the moment. */
static void cut(model *m, const wg_gradients *d)
{
    for (size_t i = d->n; i-- > 0 && m->buckets < MOST_BUCKETS;) {
        const double numbers = (double)wg_value_count(d->params[i]);
        m->parameters += numbers;
        m->products += is_embedding(d->params[i]) ? 0 : numbers;
        m->bytes[m->buckets] += 4 * numbers;
        m->ready[m->buckets] = m->products;
        if (m->bytes[m->buckets] >= BUCKET_BYTES || i == 0)
            m->buckets++;
    }
}

/* The largest matrix, tied, is the output layer too, whose products come first. */
static void count(model *m, const wg_transformer_config *config)
{
    const double output = (double)VOCABULARY * (double)config->d_model;
    for (size_t k = 0; k < m->buckets; k++)
        m->ready[k] = (m->ready[k] + output) / (m->products + output);
    m->products += output;
}

static int describe(model *m, const char *name)
{
    const wg_transformer_config *found = wg_transformer_find(name);
    wg_graph *g = wg_graph_new();
    if (!found || !g)
        return 1;
    wg_transformer_config config = *found;
    config.source_vocabulary = config.target_vocabulary = VOCABULARY;
    wg_transformer t = wg_transformer_begin(g, &config, WG_MODE_TRAINING);
    wg_transformer_inputs in = wg_transformer_inputs_new(g, 2, 4, 4);
    wg_gradients d = wg_grad_all(wg_transformer_loss(&t, &in, NULL));
    *m = (model){0};
    cut(m, &d);
    count(m, &config);
    if (wg_graph_status(g) != WG_OK)
        fprintf(stderr, "%s\n", wg_graph_message(g));
    int code = wg_graph_status(g) == WG_OK && d.n > 0 ? 0 : 1;
    wg_graph_free(g);
    return code;
}

/* The table of a model that computes an update in so many seconds. */
static void print_table(const char *name, const model *m, double seconds, scaling_network w)
{
    double ready[MOST_BUCKETS];
    for (size_t k = 0; k < m->buckets; k++)
        ready[k] = seconds * (1 + 2 * m->ready[k]) / 3;
    const scaling_update u = {seconds, m->buckets, m->bytes, ready};
    printf("\n%s: %.1f million parameters, %zu buckets, the last of %.0f MB; %.2f s computation\n",
           name, m->parameters / 1e6, m->buckets, m->bytes[m->buckets - 1] / 1e6, seconds);
    printf("%-9s", "machines");
    for (size_t l = 0; l < sizeof links / sizeof *links; l++)
        printf(" %16s", links[l].name);
    for (int n = 2; n <= 64; n *= 2) {
        printf("\n%-9d", n);
        for (size_t l = 0; l < sizeof links / sizeof *links; l++) {
            scaling_limit limit;
            w.bandwidth = links[l].bandwidth;
            double there = scaling_beside(&w, n, &u, &limit);
            printf(" %7.0f %% %-7s", 100 * seconds / there, scaling_limit_name(limit));
        }
    }
    printf("\n");
}

static double given(int argc, char **argv, int i, double usual)
{
    return argc > i ? atof(argv[i]) : usual;
}

int main(int argc, char **argv)
{
    const double tokens = given(argc, argv, 1, 4096), rate = given(argc, argv, 2, 1250);
    const double latency = given(argc, argv, 3, 30), adding = given(argc, argv, 4, 5);
    model base, big;
    if (!(tokens > 0 && rate > 0 && latency >= 0 && adding > 0) || argc > 5) {
        fprintf(stderr, "usage: bench_scaling [TOKENS [RATE [LATENCY_US [ADDING]]]]\n");
        return 2;
    }
    if (describe(&base, "base") != 0 || describe(&big, "big") != 0)
        return 1;
    const scaling_network w = {.latency = latency * 1e-6, .adding = adding * 1e9};
    printf("%.0f target tokens of each machine for an update, %.0f of base in a second, %.0f us "
           "for a message, %.1f GB/s added\n",
           tokens, rate, latency, adding);
    print_table("base", &base, tokens / rate, w);
    print_table("big", &big, tokens / rate * big.products / base.products, w);
    return 0;
}
