/* Table 1 of Vaswani et al. 2017: what a layer costs that maps n positions of width d to n others,
 * how many of its operations must wait for each other, and how far apart two positions can be; the
 * formulas beside what is counted in plans and measured.
 *
 *   bench_table1          counts and measures
 *   bench_table1 check    counts only, and fails unless the counts grow as the formulas say */
#include "wengert/backends/load.h"
#include "wengert/backends/plan.h"
#include "measure/limits.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL = 3, NEIGHBOURS = 8, POINTS = 4 };

/* ---- the layers ------------------------------------------------------------------------------ */

/* One entry of a stack: layer number l, of x in the form in which the op takes it. */
typedef wg_value *layer_fn(wg_value *x, int64_t n, int64_t d, int l);

static wg_value *weight(wg_value *x, const char *name, int l, wg_shape shape)
{
    wg_scope_push(wg_graph_of(x), "layer%d", l);
    wg_value *w = wg_parameter(wg_graph_of(x), name, x->dtype, shape, wg_xavier(1));
    wg_scope_pop(wg_graph_of(x));
    return w;
}

/* softmax(x x' / sqrt(d)) x; x [B, 1, n, d].  The table leaves out the projections, as it does for
 * the other layers. */
static wg_value *self_attention(wg_value *x, int64_t n, int64_t d, int l)
{
    (void)n, (void)d, (void)l;
    return wg_attention(x, x, x, NULL, NULL);
}

/* h_t = tanh(wi x_t + wh h_(t-1)); x [B, n, d] */
static wg_value *recurrent(wg_value *x, int64_t n, int64_t d, int l)
{
    (void)n;
    wg_value *wi = weight(x, "wi", l, WG_SHAPE(d, d)), *wh = weight(x, "wh", l, WG_SHAPE(d, d));
    return wg_rnn(x, wi, wh, NULL, NULL, NULL);
}

/* y_t = sum over k of w_k x_(t - k dilation), dilation KERNEL^l, as in ByteNet's decoder; x [B, d,
 * n] */
static wg_value *convolution(wg_value *x, int64_t n, int64_t d, int l)
{
    (void)n;
    wg_conv1d_options o = {.dilation = 1};
    for (int i = 0; i < l; i++)
        o.dilation *= KERNEL;
    wg_value *behind = wg_pad(x, WG_SHAPE(0, 0, o.dilation * (KERNEL - 1)), WG_SHAPE(0, 0, 0), 0);
    return wg_conv1d(behind, weight(x, "w", l, WG_SHAPE(d, d, KERNEL)), NULL, &o);
}

/* Each position attends to the NEIGHBOURS about it, at the ends to the first or last so many; x [n,
 * 1, d] */
static wg_value *restricted(wg_value *x, int64_t n, int64_t d, int l)
{
    (void)d, (void)l;
    int64_t seen = n < NEIGHBOURS ? n : NEIGHBOURS;
    int32_t *slots = malloc((size_t)(n * (seen + 1)) * sizeof *slots), *lengths = slots + n * seen;
    for (int64_t i = 0; slots && i < n; i++) {
        int64_t first = i - seen / 2;
        first = first < 0 ? 0 : first > n - seen ? n - seen : first;
        for (int64_t j = 0; j < seen; j++)
            slots[i * seen + j] = (int32_t)(first + j);
        lengths[i] = (int32_t)seen;
    }
    wg_value *y = NULL;
    if (slots) {
        wg_graph *g = wg_graph_of(x);
        y = wg_paged_attention(x, x, x, wg_constant(g, WG_I32, WG_SHAPE(n, seen), slots),
                               wg_constant(g, WG_I32, WG_SHAPE(n), lengths), 0);
    }
    free(slots);
    return y;
}

typedef struct layer {
    const char *name, *work, *sequential, *path;
    layer_fn *build;
    const char *axes;                       /* of x, a letter each: b, n, d, or 1          */
    int n_power, d_power, sequential_power; /* of the formulas; the last one of n          */
    int64_t batch, min_n, at_d, min_d,
        at_n; /* measured at least_n 2^i and at_d, at least_d 2^i and at_n */
} layer;

static const layer layers[] = {
    {"self-attention", "O(n^2 d)", "O(1)", "O(1)", self_attention, "b1nd", 2, 1, 0, 1, 512, 64, 128,
     1024},
    {"recurrent", "O(n d^2)", "O(n)", "O(n)", recurrent, "bnd", 1, 2, 1, 16, 8, 256, 256, 8},
    {"convolution", "O(k n d^2)", "O(1)", "O(log_k n)", convolution, "bdn", 1, 2, 0, 1, 256, 128,
     128, 256},
    {"restricted attention", "O(r n d)", "O(1)", "O(n/r)", restricted, "n1d", 1, 1, 0, 1, 1024, 64,
     128, 1024},
};

/* ---- a stack of layers, planned -------------------------------------------------------------- */

typedef struct stack {
    wg_graph *graph;
    wg_plan *plan;
    wg_value *x, *y;
} stack;

static void free_stack(stack *s)
{
    wg_plan_free(s->plan);
    wg_graph_free(s->graph);
}

static wg_shape shape_of(const layer *t, int64_t batch, int64_t n, int64_t d)
{
    wg_shape s = {.rank = (int)strlen(t->axes)};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = t->axes[i] == 'b' ? batch : t->axes[i] == 'n' ? n : t->axes[i] == 'd' ? d : 1;
    return s;
}

/* The element of x or y at a position, channel 0 of the first sentence. */
static int64_t element_of(const layer *t, const wg_value *v, int64_t position)
{
    int64_t stride[WG_MAX_RANK];
    wg_shape_strides(&v->shape, stride);
    return position * stride[strchr(t->axes, 'n') - t->axes];
}

/* On the reference alone if list is NULL. */
static wg_status make_stack(stack *s, const layer *t, int64_t batch, int64_t n, int64_t d,
                            int depth, const wg_backend_list *list)
{
    *s = (stack){.graph = wg_graph_new()};
    s->x = s->y = wg_input(s->graph, "x", WG_F32, shape_of(t, batch, n, d));
    for (int l = 0; l < depth && s->y; l++)
        s->y = t->build(s->y, n, d, l);
    wg_output(s->y, "y");
    wg_status status = wg_plan_create(&s->plan, s->graph,
                                      &(wg_plan_options){.backends = list ? list->backend : NULL,
                                                         .n_backends = list ? list->count : 0,
                                                         .reference = !list});
    if (status != WG_OK) {
        fprintf(stderr, "%s: %s\n", t->name, wg_graph_message(s->graph));
        return status;
    }
    float *x = wg_plan_data(s->plan, s->x);
    for (int64_t i = 0; i < wg_shape_count(&s->x->shape); i++)
        x[i] = (float)(i * 7919 % 1001 - 500) / 500;
    return WG_OK;
}

/* ---- what is counted ------------------------------------------------------------------------- */

static double operations(const layer *t, int64_t n, int64_t d)
{
    stack s;
    double flops =
        make_stack(&s, t, 1, n, d, 1, NULL) == WG_OK ? wg_plan_statistics(s.plan).flops : NAN;
    free_stack(&s);
    return flops;
}

/* The longest chain of operations from x to y in the plan's graph, each of which reads what the one
 * before wrote; views are none.  -1 without memory. */
static int64_t longest_chain(const wg_plan *p)
{
    const wg_graph *g = wg_plan_graph(p);
    size_t count = wg_graph_value_count(g);
    const wg_value *x = wg_graph_find(g, "x"), *y = wg_graph_output(g, 0);
    int64_t *chain = malloc((count + 1) * sizeof *chain),
            longest; /* by value; -1: does not depend on x */
    if (!chain)
        return -1;
    for (size_t i = 0; i < count; i++)
        chain[i] = -1;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        longest = n->n_out && n->out[0] == x ? 0 : -1;
        for (int k = 0; k < n->n_in; k++)
            longest = chain[n->in[k]->id] > longest ? chain[n->in[k]->id] : longest;
        if (longest >= 0 && n->n_in && !(n->op->flags & WG_OP_VIEW))
            longest++;
        for (int k = 0; k < n->n_out; k++)
            chain[n->out[k]->id] = longest;
    }
    longest = chain[y->id];
    free(chain);
    return longest;
}

/* Does the last position of y depend on the first of x?  A NaN there spreads to all that does. */
static bool connected(const layer *t, stack *s, int64_t n)
{
    float *x = wg_plan_data(s->plan, s->x);
    const float *y = wg_plan_data(s->plan, s->y);
    x[element_of(t, s->x, 0)] = NAN;
    return wg_plan_run(s->plan, 0) == WG_OK && isnan(y[element_of(t, s->y, n - 1)]);
}

typedef struct path {
    int64_t sequential; /* steps of a layer that wait for each other                     */
    int64_t steps;      /* of the shallowest stack that connects the first and last position */
    int layers;         /* of that stack                                                 */
} path;

/* layers is 0 if none connects them. */
static path path_of(const layer *t, int64_t n)
{
    enum { WIDTH = 4 };
    path p = {0};
    bool found = false;
    for (int depth = 1; depth <= n && !found; depth++) {
        stack s;
        found = make_stack(&s, t, 1, n, WIDTH, depth, NULL) == WG_OK;
        if (found) {
            p.steps = longest_chain(s.plan);
            p.sequential = depth == 1 ? p.steps : p.sequential;
            found = connected(t, &s, n);
            p.layers = found ? depth : 0;
        } else {
            depth = (int)n; /* cannot be planned: the message has been told */
        }
        free_stack(&s);
    }
    return p;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* Exponents of a quantity with n and with d. */
typedef struct growth {
    double n, d;
} growth;

/* Of the operations, at sizes where terms of lower order are small. */
static growth growth_of_operations(const layer *t)
{
    enum { SMALL = 8 };
    const double size[2] = {512, 1024};
    double with_n[2], with_d[2];
    for (int i = 0; i < 2; i++) {
        with_n[i] = operations(t, (int64_t)size[i], SMALL);
        with_d[i] = operations(t, SMALL, (int64_t)size[i]);
    }
    return (growth){bench_exponent(size, with_n, 2), bench_exponent(size, with_d, 2)};
}

/* ---- what is measured ------------------------------------------------------------------------ */

typedef struct timing {
    int64_t n[2 * POINTS], d[2 * POINTS]; /* first n is doubled, then d */
    bench_times times[2 * POINTS];
    growth median, min, max; /* of the medians, the least, the most times */
} timing;

static wg_status run_stack(void *context)
{
    stack *s = context;
    return wg_plan_run(s->plan, 0);
}

static growth growth_of_times(const timing *m, double (*pick)(const bench_times *))
{
    double size[POINTS], seconds[2][POINTS];
    for (int i = 0; i < POINTS; i++) {
        size[i] = (double)(1 << i);
        seconds[0][i] = pick(&m->times[i]);
        seconds[1][i] = pick(&m->times[POINTS + i]);
    }
    return (growth){bench_exponent(size, seconds[0], POINTS),
                    bench_exponent(size, seconds[1], POINTS)};
}

static double pick_median(const bench_times *t)
{
    return t->median;
}

static double pick_min(const bench_times *t)
{
    return t->min;
}

static double pick_max(const bench_times *t)
{
    return t->max;
}

static wg_status measure(timing *m, const layer *t)
{
    const wg_backend_list built = wg_backend_list_built_in();
    stack stacks[2 * POINTS] = {{0}};
    bench_subject subjects[2 * POINTS];
    wg_status status = WG_OK;
    for (int i = 0; i < 2 * POINTS && status == WG_OK; i++) {
        m->n[i] = i < POINTS ? t->min_n << i : t->at_n;
        m->d[i] = i < POINTS ? t->at_d : t->min_d << (i - POINTS);
        status = make_stack(&stacks[i], t, t->batch, m->n[i], m->d[i], 1, &built);
        subjects[i] = (bench_subject){run_stack, &stacks[i]};
    }
    if (status == WG_OK)
        status = bench_interleaved(subjects, 2 * POINTS, NULL, m->times);
    for (int i = 0; i < 2 * POINTS; i++)
        free_stack(&stacks[i]);
    m->median = growth_of_times(m, pick_median);
    m->min = growth_of_times(m, pick_min);
    m->max = growth_of_times(m, pick_max);
    return status;
}

/* ---- the check ------------------------------------------------------------------------------- */

static int failures;

static void expect(bool holds, const layer *t, const char *what, double got, double wanted)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s: expected %g, got %g\n", t->name, what, wanted, got);
    failures++;
}

/* How many layers connect n positions, by the formulas with their constants: L convolutions reach
 * KERNEL^L positions; restricted attention NEIGHBOURS from the end, then half as many more with
 * each layer. */
static int layers_wanted(const layer *t, int64_t n)
{
    int depth = 1;
    if (t->build == convolution)
        for (int64_t reached = KERNEL; reached < n; reached *= KERNEL)
            depth++;
    else if (t->build == restricted)
        for (int64_t reached = NEIGHBOURS; reached < n; reached += NEIGHBOURS / 2)
            depth++;
    return depth;
}

static void check_layer(const layer *t, growth ops)
{
    const double tolerance = 0.01;
    expect(fabs(ops.n - t->n_power) <= tolerance, t, "operations grow with n by a power of", ops.n,
           t->n_power);
    expect(fabs(ops.d - t->d_power) <= tolerance, t, "operations grow with d by a power of", ops.d,
           t->d_power);
    path p[3];
    for (int i = 0; i < 3; i++) {
        p[i] = path_of(t, 8 << i);
        expect(p[i].layers == layers_wanted(t, 8 << i), t, "layers between the ends", p[i].layers,
               layers_wanted(t, 8 << i));
    }
    double first = (double)(p[1].sequential - p[0].sequential),
           second = (double)(p[2].sequential - p[1].sequential);
    expect(p[0].sequential > 0 && (t->sequential_power ? first > 0 : first == 0), t,
           "sequential operations for 8 more", first, t->sequential_power);
    expect(second == 2 * first, t, "sequential operations for 16 more", second, 2 * first);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_counts(const layer *t, growth ops)
{
    path near = path_of(t, 16), far = path_of(t, 64);
    printf("%-21s %-11s %d  %5.3f   %d  %5.3f   %-6s %5lld %5lld   %-10s %4d %4d  %5lld %5lld\n",
           t->name, t->work, t->n_power, ops.n, t->d_power, ops.d, t->sequential,
           (long long)near.sequential, (long long)far.sequential, t->path, near.layers, far.layers,
           (long long)near.steps, (long long)far.steps);
}

static void print_times(const layer *t, const timing *m)
{
    printf("%-21s n^%d: %5.2f (%.2f, %.2f)   d^%d: %5.2f (%.2f, %.2f)\n", t->name, t->n_power,
           m->median.n, m->min.n, m->max.n, t->d_power, m->median.d, m->min.d, m->max.d);
    for (int i = 0; i < 2 * POINTS; i++)
        printf("    n %5lld  d %5lld  %10.3f ms  (%.3f to %.3f)\n", (long long)m->n[i],
               (long long)m->d[i], 1e3 * m->times[i].median, 1e3 * m->times[i].min,
               1e3 * m->times[i].max);
}

int main(int argc, char **argv)
{
    bool check = argc == 2 && strcmp(argv[1], "check") == 0;
    if (argc > 1 && !check) {
        fprintf(stderr, "Usage: bench_table1 [check]\n");
        return 2;
    }
    printf("A layer that maps n positions of width d to n others; kernel k = %d, neighbourhood r = "
           "%d.\n\n"
           "                                  operations                sequential            path "
           "between the ends\n"
           "layer                 formula     n: counted  d: counted   formula n=16  n=64   "
           "formula    layers     steps\n",
           KERNEL, NEIGHBOURS);
    for (int i = 0; i < WG_COUNT(layers); i++) {
        growth ops = growth_of_operations(&layers[i]);
        print_counts(&layers[i], ops);
        check_layer(&layers[i], ops);
    }
    if (check)
        printf("%d counts that the formulas do not give\n", failures);
    else
        printf("\nGrowth of time on the built-in backends: exponents of the medians (of the "
               "minima, of the maxima)\n");
    for (int i = 0; i < WG_COUNT(layers) && !check; i++) {
        timing m;
        if (measure(&m, &layers[i]) != WG_OK)
            return 1;
        print_times(&layers[i], &m);
    }
    return failures > 0;
}
