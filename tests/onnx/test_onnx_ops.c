/* Ops that ONNX's own suite of Debian does not have yet, against their formulas in double. */
#include "tests/test.h"

#include "tests/onnx/models.h"
#include "wengert.h"

#include <math.h>
#include <unistd.h>

enum { B = 2, T = 3, D = 4, MOST = 400 };
static const char path[] = "made_ops.onnx";
static wg_error error;

/* Numbers in (-1, 1) that do not repeat. */
static float number(int seed, int i)
{
    return (float)sin(1.7 * i + seed);
}

/* The graph of the model, run with inputs of such numbers, whose seeds are 1, 2, ... in their
 * order. */
static wg_plan *run(made *m, wg_graph **g)
{
    wg_plan *p;
    made_write(m, path);
    check_that(wg_onnx_import(g, path, NULL, &error) == WG_OK, "%s", error.text);
    check_that(wg_plan_create(&p, *g, NULL) == WG_OK, "%s", wg_graph_message(*g));
    for (size_t i = 0; i < m->inputs.n; i++) {
        const ox_value_proto *input = m->inputs.item[i];
        const wg_value *v = wg_graph_find(*g, input->name);
        for (int64_t k = 0; k < wg_value_count(v); k++)
            wg_plan_f32(p, v)[k] = number((int)i + 1, (int)k);
    }
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    made_free(m);
    unlink(path);
    return p;
}

static void finish(wg_plan *p, wg_graph *g)
{
    wg_plan_free(p);
    wg_graph_free(g);
}

static void refused(made *m, const char *text)
{
    wg_graph *g;
    made_write(m, path);
    assert_int_equal(wg_onnx_import(&g, path, NULL, &error), WG_EUNSUPPORTED);
    check_that(strstr(error.text, text), "%s", error.text);
    made_free(m);
    unlink(path);
}

/* ---- attention ------------------------------------------------------------------------------- */

typedef struct attention {
    int heads, key_heads, keys; /* keys: past ones counted */
    int past;
    bool rows, causal, mask;
    double scale, cap;
} attention;

/* Element d of head h at t: in [B, heads, length, D], or in [B, length, heads D]. */
static double at(const attention *a, int seed, int heads, int length, int b, int h, int t, int d)
{
    int i =
        a->rows ? ((b * length + t) * heads + h) * D + d : ((b * heads + h) * length + t) * D + d;
    return (double)number(seed, i);
}

/* Element d of key (seed 2) or value (seed 3) s; those of before are inputs of their own, always
 * with an axis of heads. */
static double kept(const attention *a, int seed, int b, int h, int s, int d)
{
    int now = a->keys - a->past, own = h / (a->heads / a->key_heads);
    if (s >= a->past)
        return at(a, seed, a->key_heads, now, b, own, s - a->past, d);
    return (double)number(seed + 2 + a->mask, ((b * a->key_heads + own) * a->past + s) * D + d);
}

static double score(const attention *a, int b, int h, int t, int s)
{
    double sum = 0;
    for (int d = 0; d < D; d++)
        sum += at(a, 1, a->heads, T, b, h, t, d) * kept(a, 2, b, h, s, d);
    sum *= a->scale != 0 ? a->scale : 1 / sqrt(D);
    if (a->cap != 0)
        sum = a->cap * tanh(sum / a->cap);
    if (a->mask)
        sum += (double)number(4, t * a->keys + s);
    return a->causal && s > t ? -INFINITY : sum;
}

/* The result, and the weights, of head h at t. */
static void expected(const attention *a, int b, int h, int t, double *y, double *weight)
{
    double sum = 0;
    for (int s = 0; s < a->keys; s++)
        sum += exp(score(a, b, h, t, s));
    for (int d = 0; d < D; d++)
        y[d] = 0;
    for (int s = 0; s < a->keys; s++) {
        weight[s] = exp(score(a, b, h, t, s)) / sum;
        for (int d = 0; d < D; d++)
            y[d] += weight[s] * kept(a, 3, b, h, s, d);
    }
}

static wg_shape shape_of(const attention *a, int heads, int length)
{
    return a->rows ? WG_SHAPE(B, length, heads * D) : WG_SHAPE(B, heads, length, D);
}

/* The model: y, and as the third of the others the weights. */
static void begin(made *m, const attention *a)
{
    int now = a->keys - a->past;
    const char *in[] = {"q", "k", "v", a->mask ? "mask" : "", "", ""};
    const wg_shape before = WG_SHAPE(B, a->key_heads, a->past, D);
    made_begin(m);
    m->opset = 23;
    made_input(m, "q", shape_of(a, a->heads, T));
    made_input(m, "k", shape_of(a, a->key_heads, now));
    made_input(m, "v", shape_of(a, a->key_heads, now));
    if (a->mask)
        made_input(m, "mask", WG_SHAPE(T, a->keys));
    if (a->past) {
        made_input(m, "past_k", before);
        made_input(m, "past_v", before);
        in[4] = "past_k";
        in[5] = "past_v";
    }
    made_output(m, "y", shape_of(a, a->heads, T));
    ox_node_proto *p = wgi_ox_node(&m->e, "Attention", in, 6, "y");
    wgi_ox_set_int(&m->e, p, "is_causal", a->causal);
    if (a->rows) {
        wgi_ox_set_int(&m->e, p, "q_num_heads", a->heads);
        wgi_ox_set_int(&m->e, p, "kv_num_heads", a->key_heads);
    }
    if (a->scale != 0)
        wgi_ox_set_real(&m->e, p, "scale", a->scale);
    if (a->cap != 0)
        wgi_ox_set_real(&m->e, p, "softcap", a->cap);
    else {
        wgi_ox_set_int(&m->e, p, "qk_matmul_output_mode", 3);
        wgi_ox_add_result(&m->e, p, "present_k");
        wgi_ox_add_result(&m->e, p, "present_v");
        wgi_ox_add_result(&m->e, p, "weights");
        made_output(m, "weights", WG_SHAPE(B, a->heads, T, a->keys));
    }
}

static void check_attention(const attention *a)
{
    made m;
    wg_graph *g;
    double y[D], weight[MOST];
    size_t compared = 0;
    begin(&m, a);
    wg_plan *p = run(&m, &g);
    const float *got = wg_plan_f32(p, wg_graph_find_output(g, "y"));
    const wg_value *shown = wg_graph_find_output(g, "weights");
    for (int b = 0; b < B; b++)
        for (int h = 0; h < a->heads; h++)
            for (int t = 0; t < T; t++) {
                int row = (b * a->heads + h) * T + t;
                int first = a->rows ? ((b * T + t) * a->heads + h) * D : row * D;
                expected(a, b, h, t, y, weight);
                for (int d = 0; d < D; d++, compared++)
                    check_that(fabs((double)got[first + d] - y[d]) <= 1e-6, "%g, not %g",
                               (double)got[first + d], y[d]);
                for (int s = 0; shown && s < a->keys; s++, compared++)
                    check_that(fabs((double)wg_plan_f32(p, shown)[row * a->keys + s] - weight[s]) <=
                                   1e-6,
                               "weight %d", s);
            }
    assert_true(compared >= (size_t)(B * a->heads * T * D));
    finish(p, g);
}

static void attention_is_its_formula(void **state)
{
    (void)state;
    static const attention cases[] = {
        {.heads = 2, .key_heads = 2, .keys = 5},
        {.heads = 2, .key_heads = 2, .keys = 3, .causal = true, .scale = 0.7},
        {.heads = 4, .key_heads = 2, .keys = 5, .mask = true},
        {.heads = 4, .key_heads = 1, .keys = 4, .rows = true},
        {.heads = 4, .key_heads = 2, .keys = 4, .rows = true, .mask = true},
        {.heads = 2, .key_heads = 2, .keys = 5, .past = 2},
        {.heads = 2, .key_heads = 1, .keys = 5, .past = 2, .mask = true, .rows = true},
        {.heads = 4, .key_heads = 2, .keys = 5, .cap = 0.5},
    };
    for (int i = 0; i < WG_COUNT(cases); i++)
        check_attention(&cases[i]);
}

/* What versions of the standard do not agree on. */
static void disputed_attention_is_refused(void **state)
{
    (void)state;
    static const struct {
        attention a;
        const char *text;
    } cases[] = {
        {{.heads = 2, .key_heads = 2, .keys = 3, .cap = 1, .mask = true}, "softcap with a mask"},
        {{.heads = 2, .key_heads = 2, .keys = 4, .past = 1, .causal = true},
         "is_causal with past_key"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        made m;
        begin(&m, &cases[i].a);
        refused(&m, cases[i].text);
    }
}

/* ---- rotary positions ------------------------------------------------------------------------ */

enum { HEADS = 2, POSITIONS = 7 };
static const int64_t positions[B * T] = {0, 3, 6, 2, 2, 5};

/* x [B, T, HEADS D] or [B, HEADS, T, D], of whose heads the first `turned` elements are rotated. */
static void check_rotary(bool rows, bool interleaved, int turned)
{
    made m;
    wg_graph *g;
    const wg_shape s = rows ? WG_SHAPE(B, T, HEADS * D) : WG_SHAPE(B, HEADS, T, D),
                   table = WG_SHAPE(POSITIONS, turned / 2), ids = WG_SHAPE(B, T);
    made_begin(&m);
    m.opset = 23;
    made_input(&m, "x", s);
    made_input(&m, "cos", table);
    made_input(&m, "sin", table);
    made_output(&m, "y", s);
    wgi_ox_tensor(&m.e, "ids", WG_I64, &ids, positions);
    ox_node_proto *node =
        wgi_ox_node(&m.e, "RotaryEmbedding", (const char *[]){"x", "cos", "sin", "ids"}, 4, "y");
    wgi_ox_set_int(&m.e, node, "interleaved", interleaved);
    wgi_ox_set_int(&m.e, node, "num_heads", rows ? HEADS : 0);
    wgi_ox_set_int(&m.e, node, "rotary_embedding_dim", turned < D ? turned : 0);
    wg_plan *p = run(&m, &g);
    const float *y = wg_plan_f32(p, wg_graph_output(g, 0));
    for (int i = 0; i < B * T * HEADS * D; i++) {
        int d = i % D, t = rows ? i / (HEADS * D) % T : i / D % T, b = i / (T * HEADS * D);
        int pair = interleaved ? d / 2 : d % (turned / 2);
        bool second = interleaved ? d % 2 : d >= turned / 2;
        int other = i + (interleaved ? 1 : turned / 2) * (second ? -1 : 1);
        int place = (int)positions[b * T + t] * (turned / 2) + pair;
        double c = (double)number(2, place), sin = (double)number(3, place),
               x = (double)number(1, i), want = x;
        if (d < turned)
            want = second ? (double)number(1, other) * sin + x * c
                          : x * c - (double)number(1, other) * sin;
        check_that(fabs((double)y[i] - want) <= 1e-6, "element %d: %g, not %g", i, (double)y[i],
                   want);
    }
    finish(p, g);
}

static void rotary_is_its_formula(void **state)
{
    (void)state;
    for (int rows = 0; rows < 2; rows++)
        for (int interleaved = 0; interleaved < 2; interleaved++) {
            check_rotary(rows, interleaved, D);
            check_rotary(rows, interleaved, 2);
        }
}

/* ---- recurrent layers with other activations ------------------------------------------------- */

enum { STEPS = 4, ROWS = 2, INPUTS = 3, HIDDEN = 2 };

static double hard_sigmoid(double x)
{
    return fmin(fmax(0.3 * x + 0.4, 0), 1);
}

/* Row `row` of the gates: W x + its bias, and R h + its bias. */
static double from_input(int t, int b, int row)
{
    double sum = (double)number(4, row);
    for (int c = 0; c < INPUTS; c++)
        sum += (double)number(2, row * INPUTS + c) * (double)number(1, (t * ROWS + b) * INPUTS + c);
    return sum;
}

static double from_state(int gates, const double *h, int row)
{
    double sum = (double)number(4, gates * HIDDEN + row);
    for (int k = 0; k < HIDDEN; k++)
        sum += (double)number(3, row * HIDDEN + k) * h[k];
    return sum;
}

/* Activations hard_sigmoid, softsign and tanh; the forget gate is 1 - i. */
static void lstm_step(int t, int b, double *h, double *c)
{
    double before[HIDDEN];
    memcpy(before, h, sizeof before);
    for (int k = 0; k < HIDDEN; k++) {
        double a[4];
        for (int gate = 0; gate < 4; gate++) /* i, o, f, c */
            a[gate] =
                from_input(t, b, gate * HIDDEN + k) + from_state(4, before, gate * HIDDEN + k);
        double i = hard_sigmoid(a[0]);
        c[k] = (1 - i) * c[k] + i * a[3] / (1 + fabs(a[3]));
        h[k] = hard_sigmoid(a[1]) * tanh(c[k]);
    }
}

/* Activations hard_sigmoid and softsign; the reset gate comes before or after the product. */
static void gru_step(int t, int b, bool late, double *h)
{
    double before[HIDDEN], reset[HIDDEN], r[HIDDEN];
    memcpy(before, h, sizeof before);
    for (int k = 0; k < HIDDEN; k++) { /* z, r, h */
        r[k] = hard_sigmoid(from_input(t, b, HIDDEN + k) + from_state(3, before, HIDDEN + k));
        reset[k] = r[k] * before[k];
    }
    for (int k = 0; k < HIDDEN; k++) {
        double z = hard_sigmoid(from_input(t, b, k) + from_state(3, before, k));
        double own = late ? r[k] * from_state(3, before, 2 * HIDDEN + k)
                          : from_state(3, reset, 2 * HIDDEN + k);
        double n = from_input(t, b, 2 * HIDDEN + k) + own;
        h[k] = (1 - z) * n / (1 + fabs(n)) + z * before[k];
    }
}

static void set_texts(made *m, ox_node_proto *p, const char *const *texts, size_t n)
{
    wgi_ox_set_int(&m->e, p, "activations", 0);
    ox_attribute_proto *a = p->attribute[p->n_attribute - 1];
    a->has_i = false;
    a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
    a->n_strings = n;
    a->strings = wgi_ox_room(&m->e, n * sizeof *a->strings);
    for (size_t i = 0; i < n; i++)
        a->strings[i] = (ProtobufCBinaryData){strlen(texts[i]), (uint8_t *)texts[i]};
}

static void set_reals(made *m, ox_node_proto *p, const char *name, float x)
{
    wgi_ox_set_int(&m->e, p, name, 0);
    ox_attribute_proto *a = p->attribute[p->n_attribute - 1];
    a->has_i = false;
    a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
    a->n_floats = 1;
    a->floats = wgi_ox_room(&m->e, sizeof *a->floats);
    a->floats[0] = x;
}

static void check_layer(bool is_lstm, bool late)
{
    static const char *const names[] = {"HardSigmoid", "Softsign", "Tanh"};
    made m;
    wg_graph *g;
    int gates = is_lstm ? 4 : 3;
    made_begin(&m);
    made_input(&m, "x", WG_SHAPE(STEPS, ROWS, INPUTS));
    made_input(&m, "w", WG_SHAPE(1, gates * HIDDEN, INPUTS));
    made_input(&m, "r", WG_SHAPE(1, gates * HIDDEN, HIDDEN));
    made_input(&m, "b", WG_SHAPE(1, 2 * gates * HIDDEN));
    made_output(&m, "y", WG_SHAPE(STEPS, 1, ROWS, HIDDEN));
    ox_node_proto *node =
        wgi_ox_node(&m.e, is_lstm ? "LSTM" : "GRU", (const char *[]){"x", "w", "r", "b"}, 4, "y");
    wgi_ox_set_int(&m.e, node, "hidden_size", HIDDEN);
    wgi_ox_set_int(&m.e, node, is_lstm ? "input_forget" : "linear_before_reset", is_lstm || late);
    set_texts(&m, node, names, is_lstm ? 3 : 2);
    set_reals(&m, node, "activation_alpha", 0.3f);
    set_reals(&m, node, "activation_beta", 0.4f);
    wg_plan *p = run(&m, &g);
    const float *y = wg_plan_f32(p, wg_graph_output(g, 0));
    for (int b = 0; b < ROWS; b++) {
        double h[HIDDEN] = {0}, c[HIDDEN] = {0};
        for (int t = 0; t < STEPS; t++) {
            is_lstm ? lstm_step(t, b, h, c) : gru_step(t, b, late, h);
            for (int k = 0; k < HIDDEN; k++)
                check_that(fabs((double)y[(t * ROWS + b) * HIDDEN + k] - h[k]) <= 1e-6,
                           "step %d: %g, not %g", t, (double)y[(t * ROWS + b) * HIDDEN + k], h[k]);
        }
    }
    finish(p, g);
}

static void recurrent_layers_take_other_activations(void **state)
{
    (void)state;
    check_layer(true, false);
    check_layer(false, false);
    check_layer(false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_its_formula),
        cmocka_unit_test(disputed_attention_is_refused),
        cmocka_unit_test(rotary_is_its_formula),
        cmocka_unit_test(recurrent_layers_take_other_activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
