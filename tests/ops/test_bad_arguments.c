/* Every op on operands and attributes that are wrong: each call either makes a graph that verifies
 * (and runs, if it is small) or leaves an error that names the op.  Never a crash; UBSan and ASan
 * are run on this test. */
#include "tests/odd_values.h"
#include "tests/sample.h"
#include "wengert/backends/plan.h"

typedef struct tally {
    int tried, refused, ran;
} tally;
static tally sum;

/* What a wrong call may lead to.  Frees the graph. */
static void judge(const wg_op *op, const char *what, wg_graph *g, wg_node *n)
{
    sum.tried++;
    if (wg_graph_status(g) != WG_OK) {
        assert_null(n);
        check_that(strstr(wg_graph_message(g), op->name) != NULL,
                   "%s, %s: the message does not name the op: %s", op->name, what,
                   wg_graph_message(g));
        sum.refused++;
        wg_graph_free(g);
        return;
    }
    check_that(n != NULL, "%s, %s: no node and no error", op->name, what);
    check_that(wg_graph_verify(g) == WG_OK, "%s, %s: accepted, but %s", op->name, what,
               wg_graph_message(g));
    wg_plan *p = NULL; /* data are zeros: any id is valid, or the run says why not */
    wg_plan_options options = {.outputs = n->out, .n_outputs = (size_t)n->n_out, .threads = 1};
    const bool has_store =
        op->flags & (WG_OP_PARAMETER | WG_OP_STATE); /* by its name: it has none */
    if (sample_work(n) < 1e5 && !has_store && n->n_out > 0) {
        /* what a shape rule accepts, an expansion does not refuse */
        wg_status status = wg_plan_create(&p, g, &options);
        check_that(status == WG_OK || status == WG_ENOMEM, "%s, %s: accepted, but no plan: %s",
                   op->name, what, wg_graph_message(g));
        status = p ? wg_plan_run(p, 0) : WG_OK;
        check_that(status == WG_OK || status == WG_EDATA, "%s, %s: %s", op->name, what,
                   wg_plan_message(p));
        sum.ran += p != NULL;
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- operands -------------------------------------------------------------------------------- */

typedef struct operand {
    wg_dtype dtype;
    wg_shape shape;
    enum { MINE, NOBODYS, ANOTHERS } whose;
} operand;

static void apply(const wg_op *op, const char *what, const void *attrs, const operand *x, int n)
{
    wg_graph *g = wg_graph_new(), *other = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS + 1] = {NULL};
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "x%d", i);
        in[i] = x[i].whose == NOBODYS
                    ? NULL
                    : wg_input(x[i].whose == MINE ? g : other, name, x[i].dtype, x[i].shape);
        assert_true(in[i] || x[i].whose == NOBODYS);
    }
    wg_node *node = wg_apply(WG_HERE, g, op, attrs, in, n);
    judge(op, what, g, node);
    wg_graph_free(other);
}

static int take(const wg_sample *s, operand *x)
{
    for (int i = 0; i < s->n_in; i++)
        x[i] = (operand){s->in[i].dtype ? s->in[i].dtype : WG_F32, s->in[i].shape, MINE};
    return s->n_in;
}

static void try_operand(const wg_op *op, const wg_sample *s, int i)
{
    operand x[WG_MAX_SAMPLE_OPERANDS + 1];
    int n = take(s, x);
    const operand good = x[i];
    const wg_shape *was = &good.shape;
    char what[64];
#define TRY(...)                                                                                   \
    do {                                                                                           \
        snprintf(what, sizeof what, __VA_ARGS__);                                                  \
        apply(op, what, s->attrs, x, n);                                                           \
        x[i] = good;                                                                               \
    } while (0)
    x[i].whose = NOBODYS;
    TRY("operand %d is NULL", i);
    x[i].whose = ANOTHERS;
    TRY("operand %d is of another graph", i);
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++) {
        x[i].dtype = d;
        TRY("operand %d is %s", i, wg_dtype_name(d));
    }
    x[i].shape = WG_SCALAR;
    TRY("operand %d has rank 0", i);
    if (was->rank < WG_MAX_RANK) {
        x[i].shape.dim[x[i].shape.rank++] = 2;
        TRY("operand %d has one axis more", i);
    }
    if (was->rank > 0) {
        x[i].shape.rank--;
        TRY("operand %d has one axis less", i);
    }
    x[i].shape = WG_SHAPE(1, 2, 1, 2, 1, 2, 1, 2);
    TRY("operand %d has rank 8", i);
    static const int64_t sizes[] = {0, 1, 7, INT64_C(1) << 31, INT64_C(1) << 59};
    for (int k = 0; k < was->rank; k++) {
        x[i].shape.dim[k]++;
        TRY("operand %d is longer along axis %d", i, k);
        for (int j = 0; j < WG_COUNT(sizes); j++) {
            x[i].shape = *was;
            x[i].shape.dim[k] = sizes[j];
            if (wg_shape_valid(&x[i].shape, x[i].dtype))
                TRY("operand %d has %lld along axis %d", i, (long long)sizes[j], k);
        }
        x[i] = good;
    }
#undef TRY
}

static void wrong_operands(void **state)
{
    (void)state;
    sum = (tally){0};
    FOR_EACH_SAMPLE(op, s)
    {
        operand x[WG_MAX_SAMPLE_OPERANDS + 1];
        int n = take(s, x);
        for (int i = 0; i < n; i++)
            try_operand(op, s, i);
        apply(op, "no operands", s->attrs, x, 0);
        if (n > 0)
            apply(op, "one operand less", s->attrs, x, n - 1);
        x[n] = n ? x[n - 1] : (operand){WG_F32, WG_SCALAR, MINE};
        apply(op, "one operand more", s->attrs, x, n + 1);
        for (int i = 0; i < n; i++)
            x[i].shape = WG_SHAPE(0);
        apply(op, "all operands empty", s->attrs, x, n);
        for (int i = 0; i < n; i++)
            x[i].shape = WG_SCALAR;
        apply(op, "all operands scalar", s->attrs, x, n);
    }
    print_message("wrong operands: %d tried, %d refused, %d ran\n", sum.tried, sum.refused,
                  sum.ran);
    assert_true(sum.tried > 1000 && sum.refused > 300 && sum.ran > 50);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* The sample with one attribute, or with two (each of the others takes its own k-th value),
 * changed. */
static void try_attribute(const wg_op *op, const wg_sample *s, int a, int k, int second, int m)
{
    operand x[WG_MAX_SAMPLE_OPERANDS + 1];
    int n = take(s, x);
    char what[128];
    char *attrs = calloc(1, op->attrs_size);
    if (s->attrs)
        memcpy(attrs, s->attrs, op->attrs_size);
    const odd_value_list *v = &odd_values[op->attrs[a].kind];
    memcpy(attrs + op->attrs[a].offset, (const char *)v->first + (size_t)k * v->size, v->size);
    if (second >= 0) {
        const odd_value_list *w = &odd_values[op->attrs[second].kind];
        memcpy(attrs + op->attrs[second].offset, (const char *)w->first + (size_t)m * w->size,
               w->size);
    }
    snprintf(what, sizeof what, "%s: %s takes wrong value %d, %s %d", sample_name(s),
             op->attrs[a].name, k, second < 0 ? "alone" : op->attrs[second].name, m);
    apply(op, what, attrs, x, n);
    free(attrs);
}

static void wrong_attributes(void **state)
{
    (void)state;
    sum = (tally){0};
    FOR_EACH_SAMPLE(op, s)
    {
        for (int a = 0; a < op->n_attrs; a++)
            for (int k = 0; k < odd_values[op->attrs[a].kind].count; k++) {
                try_attribute(op, s, a, k, -1, 0);
                for (int b = a + 1; b < op->n_attrs && s == op->samples; b++)
                    for (int m = 0; m < odd_values[op->attrs[b].kind].count; m += SANITIZED ? 3 : 1)
                        try_attribute(op, s, a, k, b, m);
            }
        operand x[WG_MAX_SAMPLE_OPERANDS + 1];
        int n = take(s, x);
        apply(op, "no attributes", NULL, x, n);
    }
    print_message("wrong attributes: %d tried, %d refused, %d ran\n", sum.tried, sum.refused,
                  sum.ran);
    assert_true(sum.tried > 1000 && sum.refused > 300 && sum.ran > 50);
}

/* ---- flags ----------------------------------------------------------------------------------- */

static void unknown_flags(void **state)
{
    (void)state;
    static const int wrong[] = {4, 17, 99, -4};
    static const char *const builders[] = {"wg_matmul_t", "wg_triangular_solve", "wg_cumsum",
                                           "wg_cumprod"};
    for (size_t i = 0; i < WG_COUNT(wrong); i++)
        for (size_t k = 0; k < WG_COUNT(builders); k++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 3));
            wg_value *y = k == 0   ? wg_matmul_t(x, x, wrong[i])
                          : k == 1 ? wg_triangular_solve(x, x, WG_LOWER, wrong[i])
                          : k == 2 ? wg_cumsum(x, 0, wrong[i])
                                   : wg_cumprod(x, 0, wrong[i]);
            assert_null(y);
            assert_int_equal(wg_graph_status(g), WG_EINVAL);
            check_that(strncmp(wg_graph_message(g), builders[k], strlen(builders[k])) == 0 &&
                           strstr(wg_graph_message(g), "test_bad_arguments.c"),
                       "%s", wg_graph_message(g));
            wg_graph_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_operands),
        cmocka_unit_test(wrong_attributes),
        cmocka_unit_test(unknown_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
