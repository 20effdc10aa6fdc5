/* Activations, norms and attention that a file spells out become one op each, which computes what
 * the file says; what only looks like them stays as it is. */
#include "tests/onnx/spelled.h"

#include <ctype.h>

static const char path[] = "spelled.onnx";

/* ---- models as lists of nodes ---------------------------------------------------------------- */

/* A number stands for a constant. */
static const char *operand(made *m, const char *text)
{
    bool number = isdigit((unsigned char)text[0]) || text[0] == '-';
    return number ? wgi_ox_number(&m->e, WG_F32, strtod(text, NULL)) : text;
}

/* Adds one node; Transpose has the order of axes behind a colon. */
static void add_node(made *m, const char *y, char *op, const char *const *in, size_t n_in)
{
    int64_t order[8];
    size_t n = 0;
    char *colon = strchr(op, ':');
    for (const char *c = colon ? colon + 1 : ""; *c; c++)
        order[n++] = *c - '0';
    if (colon)
        *colon = '\0';
    ox_node_proto *p = wgi_ox_node(&m->e, op, in, n_in, y);
    if (colon)
        wgi_ox_set_ints(&m->e, p, "perm", order, n);
    if (strcmp(op, "ReduceMean") == 0)
        wgi_ox_set_ints(&m->e, p, "axes", &(int64_t){-1}, 1);
}

/* Nodes "y = OP a b c", separated by semicolons. */
static void spell(made *m, const char *nodes)
{
    for (const char *end; *nodes; nodes = end + strspn(end, "; ")) {
        char *word = wgi_ox_room(&m->e, 6 * 32);
        const char *in[3];
        size_t n = 0;
        end = nodes + strcspn(nodes, ";");
        int words = sscanf(nodes, "%31s = %31s %31[^; ] %31[^; ] %31[^; ]", word, word + 32,
                           word + 64, word + 96, word + 128);
        assert_in_range(words, 3, 5);
        for (; n + 2 < (size_t)words; n++)
            in[n] = operand(m, word + 32 * (n + 2));
        add_node(m, word, word + 32, in, n);
    }
}

static wg_graph *check_model(made *m, const wg_op *op, size_t times)
{
    made_write(m, path);
    made_free(m);
    return check_spelled(path, op->name, op, times);
}

/* ---- functions of one operand ---------------------------------------------------------------- */

enum { ROWS = 3, COLUMNS = 8 };

static void begin_rows(made *m, const char *nodes)
{
    static const float row[COLUMNS] = {1, 0.5f, -1, 2, 0.25f, 1.5f, -0.75f, 1};
    const wg_shape x = WG_SHAPE(2, ROWS, COLUMNS), columns = WG_SHAPE(COLUMNS);
    made_begin(m);
    made_input(m, "x", x);
    made_output(m, "y", x);
    ox_value_proto *y = m->outputs.item[0];
    y->type = NULL; /* its sizes depend on the nodes */
    wgi_ox_tensor(&m->e, "gain", WG_F32, &columns, row);
    wgi_ox_tensor(&m->e, "bias", WG_F32, &columns, row);
    spell(m, nodes);
}

static void check_rows(const char *nodes, const wg_op *op, size_t times)
{
    made m;
    begin_rows(&m, nodes);
    wg_graph_free(check_model(&m, op, times));
}

#define SQRT_2 "1.4142135623730951"
#define SQRT_HALF "0.7071067811865476"
#define SQRT_2_PI "0.7978845608028654"

static void gelu_in_any_order(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "a = Div x " SQRT_2 "; b = Erf a; c = Add b 1; d = Mul x c; y = Mul d 0.5",
        "a = Mul " SQRT_HALF " x; b = Erf a; c = Add 1 b; h = Mul x 0.5; y = Mul h c",
        "a = Div x " SQRT_2 "; b = Erf a; c = Add b 1; h = Mul c 0.5; y = Mul h x",
        "p = Pow x 3; q = Mul p 0.044715; r = Add x q; s = Mul r " SQRT_2_PI "; t = Tanh s; "
        "u = Add t 1; h = Mul x 0.5; y = Mul h u",
        "a = Mul x 0.044715; b = Mul a x; c = Add 1 b; d = Mul x " SQRT_2_PI "; e = Mul d c; "
        "t = Tanh e; u = Add 1 t; h = Mul 0.5 x; y = Mul h u",
    };
    for (int i = 0; i < WG_COUNT(forms); i++)
        check_rows(forms[i], &wg_op_gelu, 1);
}

/* Another factor, another argument, or half of it. */
static void what_is_no_gelu_stays(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "a = Div x 1.5; b = Erf a; c = Add b 1; d = Mul x c; y = Mul d 0.5",
        "a = Div x " SQRT_2 "; b = Erf a; c = Add b 1; y = Mul x c",
        "a = Div x " SQRT_2 "; b = Erf a; c = Add b 2; d = Mul x c; y = Mul d 0.5",
        "s = Sin x; a = Div s " SQRT_2 "; b = Erf a; c = Add b 1; d = Mul x c; y = Mul d 0.5",
    };
    for (int i = 0; i < WG_COUNT(forms); i++)
        check_rows(forms[i], &wg_op_gelu, 0);
}

static void silu_is_one_op(void **state)
{
    (void)state;
    check_rows("s = Sigmoid x; y = Mul x s", &wg_op_silu, 1);
}

/* ---- norms ----------------------------------------------------------------------------------- */

#define CENTRED "m = ReduceMean x; d = Sub x m; "
#define DEVIATION "q = Pow d 2; v = ReduceMean q; e = Add v 0.00001; s = Sqrt e; "

static void layernorm_of_nine_nodes(void **state)
{
    (void)state;
    static const char *const forms[] = {
        CENTRED DEVIATION "y = Div d s",
        CENTRED DEVIATION "n = Div d s; y = Mul n gain",
        CENTRED DEVIATION "n = Div d s; g = Mul gain n; y = Add g bias",
        CENTRED "q = Mul d d; v = ReduceMean q; e = Add 0.00001 v; s = Sqrt e; "
                "r = Reciprocal s; n = Mul d r; g = Mul n gain; y = Add bias g",
        CENTRED "d2 = Sub x m; q = Pow d2 2; v = ReduceMean q; e = Add v 0.00001; s = Sqrt e; "
                "y = Div d s",
    };
    for (int i = 0; i < WG_COUNT(forms); i++)
        check_rows(forms[i], &wg_op_layernorm, 1);
}

static void rmsnorm_in_both_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "q = Pow x 2; v = ReduceMean q; e = Add v 0.00001; s = Sqrt e; r = Div 1 s; "
        "n = Mul x r; y = Mul gain n",
        "q = Mul x x; v = ReduceMean q; e = Add v 0.00001; s = Sqrt e; y = Div x s",
    };
    for (int i = 0; i < WG_COUNT(forms); i++)
        check_rows(forms[i], &wg_op_rmsnorm, 1);
}

/* The deviation of something else. */
static void what_is_no_norm_stays(void **state)
{
    (void)state;
    static const char form[] = CENTRED "z = Sin x; q = Pow z 2; v = ReduceMean q; "
                                       "e = Add v 0.00001; s = Sqrt e; y = Div d s; ";
    check_rows(form, &wg_op_layernorm, 0);
    check_rows(form, &wg_op_rmsnorm, 0);
}

/* ---- lengths --------------------------------------------------------------------------------- */

static void roots_of_sums_of_squares_are_norms(void **state)
{
    (void)state;
    check_rows("q = Mul x x; s = ReduceSum q; y = Sqrt s", &wg_op_vector_norm, 1);
    check_rows("q = Pow x 2; s = ReduceSum q; y = Sqrt s", &wg_op_vector_norm, 1);
    check_rows("q = Mul x x; s = ReduceSum q; p = Mul gain gain; t = ReduceSum p; u = Mul s t; "
               "y = Sqrt u",
               &wg_op_vector_norm, 2);
    check_rows("z = Sin x; q = Mul x z; s = ReduceSum q; a = Abs s; y = Sqrt a", &wg_op_vector_norm,
               0);
    check_rows("q = Mul x x; s = ReduceSum q; u = Mul s 2; y = Sqrt u", &wg_op_vector_norm, 0);
}

/* The length of 0 x has the derivative 0 in x, where that of the root is infinite. */
static void lengths_of_nothing_have_no_slope(void **state)
{
    (void)state;
    made m;
    wg_plan *p;
    begin_rows(&m, "z = Mul x 0; q = Mul z z; s = ReduceSum q; y = Sqrt s");
    wg_graph *g = check_model(&m, &wg_op_vector_norm, 1);
    wg_value *x = wg_graph_find(g, "x"), *dx = NULL;
    assert_int_equal(wg_grad(wg_graph_output(g, 0), &x, 1, &dx), WG_OK);
    wg_output(dx, "dx");
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_OK);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    for (int64_t i = 0; i < wg_value_count(dx); i++)
        assert_true(wg_plan_f32(p, dx)[i] == 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- attention ------------------------------------------------------------------------------- */

enum { BATCH = 2, HEADS = 3, QUERIES = 4, KEYS = 6, WIDTH = 4, VALUES = 5 };

static bool hidden(int q, int s)
{
    return s > q + KEYS - QUERIES;
}

/* q, v and k with heads before tokens, kt with them behind, two causal masks and a bias. */
static void begin_attention(made *m, const char *nodes)
{
    static bool seen[QUERIES * KEYS], unseen[QUERIES * KEYS];
    static float low[QUERIES * KEYS];
    const wg_shape mask = WG_SHAPE(1, 1, QUERIES, KEYS);
    for (int i = 0; i < QUERIES * KEYS; i++) {
        unseen[i] = hidden(i / KEYS, i % KEYS);
        seen[i] = !unseen[i];
        low[i] = unseen[i] ? -3.4e38f : 0;
    }
    made_begin(m);
    made_input(m, "q", WG_SHAPE(BATCH, HEADS, QUERIES, WIDTH));
    made_input(m, "k", WG_SHAPE(BATCH, HEADS, KEYS, WIDTH));
    made_input(m, "tokens", WG_SHAPE(BATCH, KEYS, HEADS, WIDTH));
    made_input(m, "v", WG_SHAPE(BATCH, HEADS, KEYS, VALUES));
    made_input(m, "bias", WG_SHAPE(BATCH, 1, 1, KEYS));
    made_output(m, "y", WG_SHAPE(BATCH, HEADS, QUERIES, VALUES));
    wgi_ox_fixed(&m->e, "seen", WG_BOOL, &mask, seen);
    wgi_ox_fixed(&m->e, "unseen", WG_BOOL, &mask, unseen);
    wgi_ox_fixed(&m->e, "low", WG_F32, &mask, low);
    spell(m, nodes);
}

#define SCALED "kt = Transpose:0132 k; s = MatMul q kt; a = Div s 2; "

static void attention_as_exporters_write_it(void **state)
{
    (void)state;
    static const struct {
        const char *nodes;
        bool causal;
        int operands; /* of attention, absent lengths not counted */
        double scale;
    } forms[] = {
        {SCALED "p = Softmax a; y = MatMul p v", false, 3, 0},
        {"kt = Transpose:0231 tokens; s = MatMul q kt; p = Softmax s; y = MatMul p v; "
         "",
         false, 3, 1},
        {"kt = Transpose:0132 k; qs = Mul q " SQRT_HALF "; ks = Mul kt " SQRT_HALF "; "
         "s = MatMul qs ks; p = Softmax s; y = MatMul p v",
         false, 3, 0},
        {SCALED "w = Where seen a -10000; p = Softmax w; y = MatMul p v", true, 3, 0},
        {SCALED "w = Where unseen -inf a; p = Softmax w; y = MatMul p v", true, 3, 0},
        {SCALED "w = Add a low; p = Softmax w; y = MatMul p v", true, 3, 0},
        {SCALED "w = Add bias a; p = Softmax w; y = MatMul p v", false, 4, 0},
        {SCALED "w = Where seen a -10000; b = Add w bias; p = Softmax b; y = MatMul p v; "
                "",
         true, 4, 0},
    };
    for (int i = 0; i < WG_COUNT(forms); i++) {
        made m;
        begin_attention(&m, forms[i].nodes);
        wg_graph *g = check_model(&m, &wg_op_attention, 1);
        for (size_t k = 0; k < wg_graph_node_count(g); k++) {
            const wg_node *n = wg_graph_node(g, k);
            const wg_attention_attrs *a = n->attrs;
            if (n->op != &wg_op_attention)
                continue;
            assert_int_equal(a->causal, forms[i].causal);
            assert_int_equal(a->causal_offset, forms[i].causal ? KEYS - QUERIES : 0);
            assert_int_equal(n->n_in > 4, forms[i].operands > 3);
            check_that(a->scale == forms[i].scale, "form %d: scale %g", i, a->scale);
        }
        wg_graph_free(g);
    }
}

/* Weights that others read, a softmax along another axis, a choice that hides nothing. */
static void what_is_no_attention_stays(void **state)
{
    (void)state;
    static const char *const forms[] = {
        SCALED "p = Softmax a; r = ReduceSum p; z = MatMul p v; y = Add z r",
        SCALED "w = Where seen a -1; p = Softmax w; y = MatMul p v",
        SCALED "p = Sigmoid a; y = MatMul p v",
    };
    for (int i = 0; i < WG_COUNT(forms); i++) {
        made m;
        begin_attention(&m, forms[i]);
        wg_graph_free(check_model(&m, &wg_op_attention, 0));
    }
}

/* The head of a language model that shares its embedding: no plan transposes it. */
static void a_tied_head_is_a_product_with_a_transposed_operand(void **state)
{
    (void)state;
    static float words[20 * COLUMNS];
    const wg_shape shape = WG_SHAPE(20, COLUMNS);
    made m;
    for (int i = 0; i < 20 * COLUMNS; i++)
        words[i] = (float)sin(0.3 * i);
    made_begin(&m);
    made_input(&m, "x", WG_SHAPE(2, ROWS, COLUMNS));
    made_output(&m, "y", WG_SHAPE(2, ROWS, 20));
    wgi_ox_tensor(&m.e, "words", WG_F32, &shape, words);
    spell(&m, "w = Transpose:10 words; y = MatMul x w");
    wg_graph *g = check_model(&m, &wg_op_permute, 0);
    const wg_node *product = wg_graph_output(g, 0)->node;
    assert_ptr_equal(product->op, &wg_op_matmul);
    assert_true(((const wg_matmul_attrs *)product->attrs)->transpose_b);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gelu_in_any_order),
        cmocka_unit_test(what_is_no_gelu_stays),
        cmocka_unit_test(silu_is_one_op),
        cmocka_unit_test(layernorm_of_nine_nodes),
        cmocka_unit_test(rmsnorm_in_both_forms),
        cmocka_unit_test(what_is_no_norm_stays),
        cmocka_unit_test(roots_of_sums_of_squares_are_norms),
        cmocka_unit_test(lengths_of_nothing_have_no_slope),
        cmocka_unit_test(attention_as_exporters_write_it),
        cmocka_unit_test(what_is_no_attention_stays),
        cmocka_unit_test(a_tied_head_is_a_product_with_a_transposed_operand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
