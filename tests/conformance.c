#include "tests/conformance.h"
#include "graph/matrices.h"
#include "tests/views.h"

/* ---- proposing ------------------------------------------------------------------------------- */

static uint64_t conf_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

typedef struct conf_names { /* size from[i] becomes to[i] */
    int n;
    int64_t from[64], to[64];
} conf_names;

static int64_t conf_renamed(const conf_names *m, int64_t size)
{
    for (int i = 0; i < m->n; i++)
        if (m->from[i] == size)
            return m->to[i];
    return size;
}

static void conf_name(conf_names *m, const wg_shape *s, uint64_t *seed)
{
    static const int64_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,   11,  13,  15,  16,  17,
                                    24, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 130, 257, 1000};
    int reach = conf_random(seed) % 2 ? WG_COUNT(sizes) : WG_COUNT(sizes) / 2;
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] > 1 && conf_renamed(m, s->dim[i]) == s->dim[i] && m->n < 64) {
            m->from[m->n] = s->dim[i];
            m->to[m->n++] = sizes[conf_random(seed) % (uint64_t)reach];
        }
}

static void conf_rename(const conf_names *m, wg_shape *s)
{
    for (int i = 0; i < s->rank; i++)
        s->dim[i] = conf_renamed(m, s->dim[i]);
}

/* Shapes among the attributes follow; other integers, such as the size of a result, if
 * `integers`. */
static void conf_rename_attrs(const conf_names *m, const wg_op *op, void *attrs, bool integers)
{
    for (int i = 0; i < op->n_attrs; i++) {
        char *field = (char *)attrs + op->attrs[i].offset;
        const wg_attr_kind kind = op->attrs[i].kind;
        bool integer = kind == WG_ATTR_INT || kind == WG_ATTR_AXIS || kind == WG_ATTR_KEY;
        if (kind == WG_ATTR_SHAPE)
            conf_rename(m, (wg_shape *)(void *)field);
        else if (integer && integers)
            *(int64_t *)(void *)field = conf_renamed(m, *(int64_t *)(void *)field);
    }
}

void conf_free(conf_case *c)
{
    for (int i = 0; i < WG_MAX_SAMPLE_OPERANDS; i++)
        free(c->data[i]);
    free((void *)(uintptr_t)c->sample.attrs);
    *c = (conf_case){0};
}

static conf_case conf_copy(const wg_op *op, const wg_sample *s, const void *attrs)
{
    conf_case c = {.op = op, .sample = *s};
    c.sample.attrs = NULL;
    if (attrs && op->attrs_size) {
        void *copy = malloc(op->attrs_size);
        assert_non_null(copy);
        memcpy(copy, attrs, op->attrs_size);
        c.sample.attrs = copy;
    }
    return c;
}

/* Variation number `turn` of a sample: 0 is the sample itself; then sizes change, some with an axis
 * that is empty, or one more axis in front of all operands, or no axes at all. */
static conf_case conf_propose(const wg_op *op, const wg_sample *s, int turn, uint64_t *seed)
{
    conf_case c = conf_copy(op, s, s->attrs);
    if (turn == 0)
        return c;
    conf_names m = {0};
    wg_shape in_attrs[4];
    int n_shapes = 0;
    for (int i = 0; i < op->n_attrs && s->attrs; i++)
        if (op->attrs[i].kind == WG_ATTR_SHAPE && n_shapes < 4)
            memcpy(&in_attrs[n_shapes++], (const char *)s->attrs + op->attrs[i].offset,
                   sizeof(wg_shape));
    for (int i = 0; i < s->n_in; i++)
        conf_name(&m, &s->in[i].shape, seed);
    for (int i = 0; i < n_shapes; i++)
        conf_name(&m, &in_attrs[i], seed);
    if (turn % 16 == 5 && m.n)
        m.to[conf_random(seed) % (uint64_t)m.n] = 0;
    if (c.sample.attrs)
        conf_rename_attrs(&m, op, (void *)(uintptr_t)c.sample.attrs, turn % 2);
    int64_t front = turn % 5 == 3 ? 1 + (int64_t)(conf_random(seed) % 4) : 0;
    for (int i = 0; i < s->n_in; i++) {
        wg_sample_operand *o = &c.sample.in[i];
        conf_rename(&m, &o->shape);
        if (o->dtype && wg_dtype_is_int(o->dtype)) { /* ids below a size, lengths up to one */
            char name[32];
            wg_op_operand_name(op, i, name, sizeof name);
            int64_t hi = (int64_t)o->hi, below = conf_renamed(&m, hi),
                    up_to = conf_renamed(&m, hi - 1) + 1;
            bool too_long = strcmp(name, "lengths") == 0 && below > up_to;
            o->hi = (double)(below != hi && !too_long ? below : up_to);
        }
        if (front && o->shape.rank < WG_MAX_RANK) {
            memmove(o->shape.dim + 1, o->shape.dim, sizeof(int64_t) * (WG_MAX_RANK - 1));
            o->shape.dim[0] = front;
            o->shape.rank++;
        }
        if (turn % 16 == 9)
            o->shape = wg_shape_make(0, NULL);
    }
    return c;
}

bool conf_is_small(const conf_case *c)
{
    int64_t total = 0;
    for (int i = 0; i < c->sample.n_in; i++) {
        const wg_shape *s = &c->sample.in[i].shape;
        int64_t count = 1;
        for (int k = 0; k < s->rank && count <= CONF_MAX_ELEMENTS; k++)
            count *= s->dim[k];
        total += count;
    }
    return total <= CONF_MAX_ELEMENTS;
}

void conf_fill(conf_case *c, double lo, double hi, uint64_t *seed)
{
    for (int i = 0; i < c->sample.n_in; i++) {
        const wg_sample_operand *o = &c->sample.in[i];
        wg_dtype dtype = o->dtype ? o->dtype : WG_F32;
        bool real = wg_dtype_is_float(dtype), open = o->lo == 0 && o->hi == 0;
        double a = open ? (real ? -2 : 0) : o->lo, b = open ? 2 : o->hi;
        if (real && (lo != 0 || hi != 0))
            a = lo, b = hi;
        int64_t count = wg_shape_count(&o->shape);
        c->data[i] = malloc((size_t)count * wg_dtype_size(dtype) + 1);
        assert_non_null(c->data[i]);
        for (int64_t k = 0; k < count; k++) {
            double x = a + (b - a) * ((double)conf_random(seed) + 0.5) * 0x1p-31 +
                       wgi_matrix_offset(o->matrices, &o->shape, k, a, b);
            wgi_put_element(c->data[i], dtype, k,
                            c->whole && real ? (double)(conf_random(seed) % 9) - 4
                            : real           ? x
                                             : floor(x));
        }
    }
}

/* ---- building -------------------------------------------------------------------------------- */

static wg_node *conf_build_viewed(wg_graph *g, const conf_case *c, wg_dtype dtype, uint64_t views,
                                  wg_value **leaf)
{
    int64_t elements = 0;
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    for (int i = 0; i < c->sample.n_in; i++) {
        const wg_sample_operand *o = &c->sample.in[i];
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        in[i] = view_make(g, name, o->dtype ? o->dtype : dtype, &o->shape,
                          view_of(&o->shape, views, i), &leaf[i]);
        if (!in[i])
            return NULL;
    }
    wg_node *n = wg_apply(WG_HERE, g, c->op, c->sample.attrs, in, c->sample.n_in);
    for (int i = 0; n && i < n->n_out; i++)
        elements += wg_value_count(n->out[i]);
    return n && n->n_out <= CONF_RESULTS && elements <= CONF_MAX_ELEMENTS ? n : NULL;
}

wg_node *conf_build(wg_graph *g, const conf_case *c, wg_dtype dtype, wg_value **in)
{
    return conf_build_viewed(g, c, dtype, 0, in);
}

/* A case of `op` as it stands in the gradient of a case of another op. */
static bool conf_derive(const wg_op *op, const conf_case *from, conf_case *c)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS], *dx[WG_MAX_SAMPLE_OPERANDS] = {0};
    wg_node *n = conf_build(g, from, WG_F32, in);
    bool found = false;
    if (n && n->n_out == 1) {
        wg_value *dy = wg_input(g, "dy", WG_F32, n->out[0]->shape);
        n->op->grad(n, &dy, dx);
        for (size_t i = 0; i < wg_graph_node_count(g) && !found; i++) {
            const wg_node *m = wg_graph_node(g, i);
            if (m->op != op)
                continue;
            wg_sample s = {.n_in = m->n_in};
            for (int k = 0; k < m->n_in; k++)
                s.in[k].shape = m->in[k]->shape;
            *c = conf_copy(op, &s, m->attrs);
            found = true;
        }
    }
    wg_graph_free(g);
    return found;
}

/* A case of `op` whose operands are a cotangent and then those of a case of another op. */
static bool conf_prepend(const wg_op *op, const conf_case *from, conf_case *c)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    wg_node *n = conf_build(g, from, WG_F32, in);
    if (n) {
        wg_sample s = {.n_in = from->sample.n_in + 1, .in[0].shape = n->out[0]->shape};
        memcpy(s.in + 1, from->sample.in, (size_t)from->sample.n_in * sizeof *s.in);
        *c = conf_copy(op, &s, from->sample.attrs);
    }
    wg_graph_free(g);
    return n != NULL;
}

/* Ops whose operands depend on each other so that chance finds few cases: theirs come from those of
 * another op. */
static const struct {
    const wg_op *op, *from;
    bool (*derive)(const wg_op *op, const conf_case *from, conf_case *c);
} conf_derived[] = {
    {&wg_op_conv2d_grad_x, &wg_op_conv2d, conf_derive},
    {&wg_op_conv2d_grad_w, &wg_op_conv2d, conf_derive},
    {&wg_op_conv3d_grad_x, &wg_op_conv3d, conf_derive},
    {&wg_op_conv3d_grad_w, &wg_op_conv3d, conf_derive},
    {&wg_op_avg_pool2d_grad, &wg_op_avg_pool2d, conf_derive},
    {&wg_op_packed_attention_grad, &wg_op_packed_attention, conf_prepend},
};

static int conf_derivation_of(const wg_op *op)
{
    int i = 0;
    while (i < WG_COUNT(conf_derived) && conf_derived[i].op != op)
        i++;
    return i;
}

const wg_op *conf_source_of(const wg_op *op)
{
    int i = conf_derivation_of(op);
    return i < WG_COUNT(conf_derived) ? conf_derived[i].from : op;
}

bool conf_case_of(const wg_op *op, const wg_sample *s, int turn, uint64_t *seed, conf_case *c)
{
    int i = conf_derivation_of(op);
    *c = conf_propose(conf_source_of(op), s, turn, seed);
    if (i == WG_COUNT(conf_derived))
        return true;
    conf_case source = *c;
    bool found = conf_derived[i].derive(op, &source, c);
    conf_free(&source);
    return found;
}

/* ---- more samples ---------------------------------------------------------------------------- */

/* More samples for ops whose own rarely pass the shape rule on zeros, or miss cases that kernels
 * distinguish: oneDNN's convolutions want channels in blocks of 16. */

/* clang-format off */
#define F(...) WG_FLOATS(-2, 2, __VA_ARGS__)
#define CONV(s, p, d, g)                                                                           \
    &(const wg_conv_attrs){                                                                        \
        .stride = {s, s, s}, .padding = {p, p, p}, .dilation = {d, d, d}, .groups = g}
static const struct {
    const wg_op *op;
    wg_sample sample;
} more[] = {
    {&wg_op_conv2d,
     {"blocks", CONV(1, 1, 1, 1), 3, {F(4, 2, 16, 9, 7), F(4, 32, 16, 3, 3), F(1, 32)}}},
    {&wg_op_conv2d,
     {"picture", CONV(2, 3, 1, 1), 3, {F(4, 2, 3, 14, 13), F(4, 8, 3, 7, 7), F(1, 8)}}},
    {&wg_op_conv2d,
     {"1x1 in blocks", CONV(1, 0, 1, 1), 2, {F(4, 2, 16, 6, 5), F(4, 32, 16, 1, 1)}}},
    {&wg_op_conv2d,
     {"depthwise blocks", CONV(1, 1, 1, 16), 2, {F(4, 2, 16, 6, 5), F(4, 16, 1, 3, 3)}}},
    {&wg_op_conv2d,
     {"groups of blocks", CONV(1, 1, 2, 2), 2, {F(4, 2, 32, 6, 5), F(4, 32, 16, 3, 3)}}},
    {&wg_op_conv3d,
     {"blocks", CONV(1, 1, 1, 1), 3, {F(5, 2, 16, 4, 5, 6), F(5, 32, 16, 3, 3, 3), F(1, 32)}}},
    {&wg_op_conv3d,
     {"film", CONV(2, 1, 1, 1), 3, {F(5, 1, 3, 5, 9, 8), F(5, 8, 3, 3, 5, 5), F(1, 8)}}},
    {&wg_op_conv3d,
     {"1x1x1 in blocks", CONV(1, 0, 1, 1), 2, {F(5, 2, 16, 3, 4, 5), F(5, 32, 16, 1, 1, 1)}}},
    {&wg_op_conv3d,
     {"groups of blocks", CONV(1, 1, 2, 2), 2, {F(5, 1, 32, 4, 5, 3), F(5, 32, 16, 3, 3, 3)}}},
    {&wg_op_dropout,
     {"tenth", &(const wg_dropout_attrs){0.1, 5}, 1, {F(2, 24, 5)}}},
    {&wg_op_dropout,
     {"fifth", &(const wg_dropout_attrs){0.2, 6}, 1, {F(3, 2, 3, 7)}}},
    {&wg_op_slice_grad,
     {"most of it", &(const wg_slice_grad_attrs){{2, {5, 8}}, {2, {0, 0}}, {2, {1, 1}}}, 1,
      {F(2, 5, 8)}}},
    {&wg_op_slice_grad,
     {"all but one", &(const wg_slice_grad_attrs){{2, {9, 8}}, {2, {1, 7}}, {2, {1, -1}}}, 1,
      {F(2, 8, 8)}}},
};
/* clang-format on */

const wg_sample *conf_sample_of(const wg_op *op, int k)
{
    if (k < op->n_samples)
        return &op->samples[k];
    k -= op->n_samples;
    for (int i = 0; i < WG_COUNT(more); i++)
        if (more[i].op == op && k-- == 0)
            return &more[i].sample;
    return NULL;
}

/* ---- results --------------------------------------------------------------------------------- */

void conf_results_free(conf_results *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->data[i]);
    r->n = 0;
}

static void conf_keep(conf_results *r, const wg_value *v, const void *data)
{
    size_t bytes = wg_value_bytes(v);
    r->data[r->n] = malloc(bytes + 1);
    assert_non_null(r->data[r->n]);
    if (bytes)
        memcpy(r->data[r->n], data, bytes);
    r->count[r->n] = wg_value_count(v);
    r->dtype[r->n++] = v->dtype;
}

bool conf_same_bits(const conf_results *a, const conf_results *b)
{
    for (int i = 0; i < a->n; i++)
        if (memcmp(a->data[i], b->data[i], (size_t)a->count[i] * wg_dtype_size(a->dtype[i])) != 0)
            return false;
    return a->n == b->n;
}

/* ---- running as a plan ----------------------------------------------------------------------- */

/* Fills the inputs of a case. */
static void conf_fill_plan(const conf_case *c, uint64_t views, wg_plan *p, wg_value *const *leaf)
{
    for (int i = 0; i < c->sample.n_in; i++) {
        const wg_sample_operand *o = &c->sample.in[i];
        view_fill(wg_plan_data(p, leaf[i]), leaf[i], &o->shape, view_of(&o->shape, views, i),
                  c->data[i], o->dtype ? o->dtype : WG_F32);
    }
}

bool conf_run_way(const conf_case *c, const conf_way *w, conf_results *r, int *used, char *kernel)
{
    wg_graph *g = wg_graph_new();
    wg_value *leaf[WG_MAX_SAMPLE_OPERANDS];
    wg_node *n = conf_build_viewed(g, c, w->dtype, w->views, leaf);
    wg_plan *p = NULL;
    *r = (conf_results){0};
    check_that(n != NULL, "%s: %s", c->op->name, wg_graph_message(g));
    wg_plan_options o = w->options;
    o.outputs = n->out;
    o.n_outputs = (size_t)n->n_out;
    o.seed = CONF_SEED;
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s: %s", c->op->name, wg_graph_message(g));
    conf_fill_plan(c, w->views, p, leaf);
    bool ran = wg_plan_run(p, CONF_STEP) == WG_OK;
    for (int i = 0; ran && i < n->n_out; i++)
        conf_keep(r, n->out[i], wg_plan_data(p, n->out[i]));
    for (size_t i = 0; used && i < wg_plan_step_count(p); i++) {
        wg_plan_step s = wg_plan_step_at(p, i);
        if (strcmp(s.backend, "cpu") != 0) {
            snprintf(kernel, 64, "%s", s.kernel);
            ++*used;
        }
    }
    wg_plan_free(p);
    wg_graph_free(g);
    return ran;
}

bool conf_run_plan(const conf_case *c, wg_dtype dtype, const wg_backend *backend, conf_results *r,
                   int *used, char *kernel)
{
    const conf_way way = {dtype, 0,
                          .options = {.backends = &backend,
                                      .n_backends = backend ? 1 : 0,
                                      .reference = !backend,
                                      .threads = 2}};
    return conf_run_way(c, &way, r, used, kernel);
}

/* ---- running one kernel between guards ------------------------------------------------------- */

enum { CONF_GUARD = 256, CONF_GUARD_BYTE = 0xa5 };

typedef struct conf_buffer {
    unsigned char *base, *data;
    size_t bytes, size; /* of data; of all */
} conf_buffer;

static conf_buffer conf_buffer_new(size_t bytes, const void *data)
{
    conf_buffer b = {.bytes = bytes, .size = (bytes + 63) / 64 * 64 + 2 * CONF_GUARD};
    b.base = aligned_alloc(64, b.size);
    assert_non_null(b.base);
    b.data = b.base + CONF_GUARD;
    memset(b.base, CONF_GUARD_BYTE, b.size);
    if (data)
        memcpy(b.data, data, bytes);
    else
        memset(b.data, 0xff, bytes); /* NaN: what is not written shows */
    return b;
}

static bool conf_buffer_intact(const conf_buffer *b)
{
    for (size_t i = 0; i < b->size; i++)
        if ((i < CONF_GUARD || i >= CONF_GUARD + b->bytes) && b->base[i] != CONF_GUARD_BYTE)
            return false;
    return true;
}

conf_device conf_open(const wg_backend *backend, int threads)
{
    conf_device d = {backend, NULL, threads};
    if (backend->open)
        assert_int_equal(backend->open(&d.state, &(wg_backend_config){.threads = threads}), WG_OK);
    return d;
}

void conf_close(conf_device *d)
{
    if (d->backend->close)
        d->backend->close(d->state);
}

/* The operands of an update that any result may overwrite. */
static int conf_replaceable(const wg_node *n, int list[WG_MAX_SAMPLE_OPERANDS])
{
    int count = 0;
    for (int k = 0; k < n->n_in && k < 31; k++)
        if (n->op->inplace >> k & 1 && wg_value_bytes(n->in[k]) == wg_value_bytes(n->out[0]))
            list[count++] = k;
    return count;
}

/* Which operand the result i may overwrite in this node, -1 if none: another one for each result,
 * of an update one of the next `turn` later. */
static int conf_inplace(const wg_node *n, int i, int turn)
{
    int list[WG_MAX_SAMPLE_OPERANDS],
        count = n->op->flags & WG_OP_UPDATE && !n->op->overwrites ? conf_replaceable(n, list) : 0;
    if (turn && count >= n->n_out)
        return list[(i + turn) % count];
    int earlier = 0,
        of_same = 0; /* results that may take the operands that i may; that came before it */
    for (int k = 0; k < n->n_in && k < 31; k++) {
        bool allowed = (n->op->inplace >> k & 1) != 0;
        if (n->op->overwrites) {
            allowed = n->op->overwrites(i, k);
            for (int j = 0; allowed && !of_same && j < i; j++)
                earlier += n->op->overwrites(j, k);
            allowed = allowed && of_same++ == earlier;
        } else if (n->op->flags & WG_OP_UPDATE) {
            allowed = allowed && k == i;
        } else {
            allowed = allowed && i == 0;
        }
        if (allowed && wg_value_bytes(n->in[k]) == wg_value_bytes(n->out[i]))
            return k;
    }
    return -1;
}

bool conf_run_kernel(const conf_device *d, const conf_case *c, const wg_node *n, int inplace,
                     conf_results *r, char *kernel)
{
    wg_kernel k = {0};
    *r = (conf_results){0};
    if (d->backend->refuses(d->state, n) || d->backend->prepare(d->state, n, &k) != WG_OK)
        return false;
    conf_buffer in[WG_MAX_SAMPLE_OPERANDS], out[CONF_RESULTS],
        scratch = conf_buffer_new(k.scratch, NULL);
    const void *in_data[WG_MAX_SAMPLE_OPERANDS];
    void *out_data[CONF_RESULTS];
    int taken[CONF_RESULTS];
    bool overwritten[WG_MAX_SAMPLE_OPERANDS] = {false};
    char message[WG_CALL_MESSAGE] = "";
    for (int i = 0; i < n->n_in; i++) {
        in[i] = conf_buffer_new(wg_value_bytes(n->in[i]), c->data[i]);
        in_data[i] = in[i].data;
    }
    for (int i = 0; i < n->n_out; i++) {
        taken[i] = inplace ? conf_inplace(n, i, inplace - 1) : -1;
        out[i] = conf_buffer_new(wg_value_bytes(n->out[i]), NULL);
        out_data[i] = taken[i] >= 0 ? in[taken[i]].data : out[i].data;
        if (taken[i] >= 0)
            overwritten[taken[i]] = true;
    }
    wg_call call = {.node = n,
                    .in = in_data,
                    .out = out_data,
                    .state = k.state,
                    .scratch = scratch.data,
                    .threads = d->threads,
                    .seed = CONF_SEED,
                    .step = CONF_STEP,
                    .message = message};
    if (d->backend->enter)
        d->backend->enter(d->state);
    k.run(&call);
    if (d->backend->leave)
        d->backend->leave(d->state);
    size_t bytes = 0;
    for (int i = 0; i < n->n_out; i++)
        bytes += wg_value_bytes(n->out[i]);
    /* a plan does not compute what is empty, so ids outside their range may get here with no
     * results */
    check_that(call.status == WG_OK || (call.status == WG_EDATA && !bytes), "%s by %s: %s",
               n->op->name, k.name, message);
    bool intact = conf_buffer_intact(&scratch);
    for (int i = 0; i < n->n_in; i++)
        intact = intact && conf_buffer_intact(&in[i]) &&
                 (overwritten[i] || memcmp(in[i].data, c->data[i], in[i].bytes) == 0);
    for (int i = 0; i < n->n_out; i++) {
        intact = intact && conf_buffer_intact(&out[i]);
        conf_keep(r, n->out[i], out_data[i]);
    }
    check_that(intact, "%s by %s writes outside its results", n->op->name, k.name);
    if (kernel)
        snprintf(kernel, 64, "%s", k.name);
    if (d->backend->finish)
        d->backend->finish(d->state, &k);
    for (int i = 0; i < n->n_in; i++)
        free(in[i].base);
    for (int i = 0; i < n->n_out; i++)
        free(out[i].base);
    free(scratch.base);
    return true;
}
