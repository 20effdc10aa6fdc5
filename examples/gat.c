/* A graph attention network (Veličković et al. 2018) says to which community each node of a network
 * belongs, from noisy features, edges, and the communities of a few nodes.
 *
 *     e(j -> i) = leaky_relu(p . W h_j + q . W h_i)                for each edge and each head
 *     a(j -> i) = exp e(j -> i) / sum of exp e(k -> i)             over the edges into i
 *     h'_i      = sum of a(j -> i) W h_j
 *
 * The network is a stochastic block model: an edge is more likely within a community.
 *
 *     gat             trains, and tells what came of it
 *     gat model.svg   draws the model instead
 *
 * Exits with 0 if it is right for 90 % of the other nodes, and the same network without edges
 * for less than 60 %. */
#include "wengert.h"

#include <err.h>
#include <math.h>
#include <stdio.h>

enum { NODES = 600, KINDS = 4, FEATURES = 16, LABELLED = 80, HEADS = 4, WIDTH = 8 };
enum { MAX_EDGES = NODES * 30 };

/* Node i is in community i % KINDS. */
static float features[NODES][FEATURES];
static int32_t from[MAX_EDGES], to[MAX_EDGES], node[NODES], kind[NODES];

static double uniform(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*random >> 33) + 0.5) / 2147483648.0;
}

/* Each node has an edge from itself; returns the number of these and of all edges. */
static int make_network(int *edges)
{
    uint64_t random = 1;
    int n = 0;
    for (int i = 0; i < NODES; i++) {
        node[i] = from[n] = to[n] = i;
        kind[i] = i % KINDS;
        n++;
        for (int k = 0; k < FEATURES; k++) {
            double noise = sqrt(-2 * log(uniform(&random))) * cos(6.2831853 * uniform(&random));
            features[i][k] = (float)((k % KINDS == kind[i] ? 0.5 : 0) + noise);
        }
    }
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < i; j++)
            if (uniform(&random) < (kind[i] == kind[j] ? 0.06 : 0.005) && n + 2 <= MAX_EDGES) {
                from[n] = to[n + 1] = i;
                to[n] = from[n + 1] = j;
                n += 2;
            }
    *edges = n;
    return NODES;
}

/* The edges that the model is given. */
typedef struct network {
    int edges;
    double right; /* what came of it: the share of nodes */
} network;

/* h [NODES, in] -> [NODES, HEADS, width], of edges from -> to, both [E] */
static wg_value *attend(const char *name, wg_value *h, wg_value *from_node, wg_value *to_node,
                        int64_t width)
{
    wg_graph *g = wg_graph_of(h);
    wg_scope_push(g, "%s", name);
    wg_value *p = wg_parameter(g, "p", WG_F32, WG_SHAPE(HEADS, width), wg_xavier(1));
    wg_value *q = wg_parameter(g, "q", WG_F32, WG_SHAPE(HEADS, width), wg_xavier(1));
    wg_value *Wh = wg_dense("W", h, HEADS * width, WG_ACTIVATION_NONE);
    Wh = wg_reshape(Wh, WG_SHAPE(-1, HEADS, width));
    wg_value *of_from = wg_sum(wg_mul(Wh, p), WG_AXES(-1), WG_DROP); /* [NODES, HEADS] */
    wg_value *of_to = wg_sum(wg_mul(Wh, q), WG_AXES(-1), WG_DROP);

    wg_value *e = wg_add(wg_take(of_from, from_node, 0), wg_take(of_to, to_node, 0));
    wg_value *a = wg_segment_softmax(wg_leaky_relu(e, 0.2), to_node, 0, NODES); /* [E, HEADS] */
    wg_value *messages = wg_mul(wg_unsqueeze(a, -1), wg_take(Wh, from_node, 0));
    wg_value *y = wg_segment_sum(messages, to_node, 0, NODES);
    wg_scope_pop(g);
    return y;
}

/* Two layers over the whole network; the loss is of the nodes of the batch. */
static wg_value *model(void *context, const wg_model_step *step)
{
    const network *net = context;
    wg_graph *g = step->graph;
    wg_value *x = wg_constant(g, WG_F32, WG_SHAPE(NODES, FEATURES), features);
    wg_value *from_node = wg_constant(g, WG_I32, WG_SHAPE(net->edges), from);
    wg_value *to_node = wg_constant(g, WG_I32, WG_SHAPE(net->edges), to);
    wg_name(x, "features");
    wg_name(from_node, "from");
    wg_name(to_node, "to");
    if (step->mode == WG_MODE_TRAINING)
        x = wg_dropout(x, 0.3);
    wg_value *h = wg_elu(attend("layer1", x, from_node, to_node, WIDTH), 1);
    h = wg_reshape(h, WG_SHAPE(NODES, HEADS * WIDTH));
    wg_value *logits = wg_mean(attend("layer2", h, from_node, to_node, KINDS), WG_AXES(1), WG_DROP);

    wg_value *label = wg_step_input(step, "kind");
    logits = wg_take(logits, wg_step_input(step, "node"), 0); /* [B, KINDS] */
    wg_value *right = wg_equal(wg_argmax(logits, -1, WG_DROP), wg_cast(label, WG_I64));
    wg_step_metric(step, "accuracy", wg_mean(wg_cast(right, WG_F32), WG_ALL_AXES, WG_DROP),
                   WG_MORE_IS_BETTER);
    return wg_cross_entropy(logits, label, NULL, NULL);
}

/* Trains on the first nodes and measures on the others; or, with the name of a picture, draws the
 * model. */
static void train(network *net, const char *picture)
{
    const wg_field fields[] = {{"node", WG_I32, WG_SCALAR, node},
                               {"kind", WG_I32, WG_SCALAR, kind}};
    const wg_field other[] = {{"node", WG_I32, WG_SCALAR, node + LABELLED},
                              {"kind", WG_I32, WG_SCALAR, kind + LABELLED}};
    const wg_examples labelled = {fields, 2, LABELLED, .batch = LABELLED};
    const wg_examples others = {other, 2, NODES - LABELLED, .batch = NODES - LABELLED};
    const wg_trainer_options options = {
        .model = model,
        .context = net,
        .train = &labelled,
        .valid = &others,
        .optimizer = {.weight_decay = 5e-4},
        .schedule = {WG_SCHEDULE_COSINE, .rate = 0.01},
        .after = {150, 'e'},
        .report = {50, 'e'},
        .seed = 1,
        .listener = {wg_print_event, stdout},
        .threads = 1, /* a model this small gains nothing by more */
    };
    wg_error error;
    wg_trainer *t;
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        errx(1, "%s", error.text);
    const wg_picture_options first = {
        .title = "GAT", .expanded = (const char *[]){"layer1"}, .n_expanded = 1};
    wg_status status = picture ? wg_trainer_draw(t, picture, &first) : wg_trainer_run(t, NULL);
    if (status == WG_OK && !picture)
        status = wg_trainer_validate(t, NULL, NULL);
    if (status != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    net->right = wg_trainer_metric(t, "accuracy");
    wg_trainer_free(t);
}

int main(int argc, char **argv)
{
    network whole = {0}, alone = {0};
    alone.edges = make_network(&whole.edges);
    train(&whole, argc > 1 ? argv[1] : NULL);
    if (argc > 1)
        return 0;
    train(&alone, NULL);
    printf("right of %d other nodes: %.1f %% with %d edges, %.1f %% without\n", NODES - LABELLED,
           100 * whole.right, (whole.edges - NODES) / 2, 100 * alone.right);
    return !(whole.right >= 0.9 && alone.right < 0.6);
}
