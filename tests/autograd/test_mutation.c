/* Tests of the tests: every gradient rule is broken in several ways, one operand at a time, and the
 * gradient check of the op's samples must notice each. */
#include "tests/autograd/mutations.h"
#include "tests/test.h"
#include "wengert/autograd/gradcheck.h"
#include "wengert/backends/evaluate.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

typedef struct tally {
    int mutants, caught;
} tally;

/* A mutant is caught if one of the op's samples shows it. */
static void try_mutant(target *t, tally *sum)
{
    const wg_grad_hook hook = {break_rule, t};
    bool applied = false, caught = false;
    for (int k = 0; k < t->op->n_samples && !caught; k++) {
        wg_gradcheck_options options = {
            .evaluator = wg_plan_evaluator(), .hook = &hook, .seed = 7, .no_blame = true};
        wg_gradcheck_report r;
        t->hit = false;
        wg_status status = wg_gradcheck_op(t->op, &t->op->samples[k], &options, &r);
        check_that(status == WG_OK || status == WG_EDATA, "%s: %s", t->op->name, r.message);
        applied |= t->hit;
        caught = t->hit && status == WG_EDATA && r.failed > 0;
    }
    sum->mutants += applied;
    sum->caught += caught;
    if (applied && !caught)
        print_error("%s, operand %d: %s is not noticed\n", t->op->name, t->operand,
                    t->mutation->name);
}

static int operands_of(const wg_op *op)
{
    int max = 0;
    for (int k = 0; k < op->n_samples; k++)
        max = op->samples[k].n_in > max ? op->samples[k].n_in : max;
    return max;
}

static void every_mutant_of_every_rule_is_caught(void **state)
{
    (void)state;
    tally sum = {0};
    const wg_op *op;
    for (size_t i = 0; (op = wg_op_at(i)); i++)
        for (int operand = 0; operand < operands_of(op); operand++)
            for (int m = 0; m < MUTATIONS; m++) {
                target t = {op, operand, &mutations[m], false};
                try_mutant(&t, &sum);
            }
    print_message("mutants: %d caught: %d\n", sum.mutants, sum.caught);
    assert_true(sum.mutants > 100);
    assert_int_equal(sum.mutants, sum.caught);
}

/* ---- overwriting instead of accumulating ----------------------------------------------------- */

/* Each operand x of an op is also read by mul(x, w).  The mutant subtracts what that second use
 * contributed, as if the op's cotangent had been stored over it. */
typedef struct overwrite {
    const wg_op *op;
    wg_value *other[WG_MAX_SAMPLE_OPERANDS]; /* cotangents from the second uses */
    const wg_value *of[WG_MAX_SAMPLE_OPERANDS];
    int n;
    const wg_op *second;
    uint32_t op_node;
    bool hit;
} overwrite;

static void store_over(void *context, wg_node *n, wg_value *const *dy, wg_value **dx)
{
    overwrite *o = context;
    (void)dy;
    if (n->phase != WG_FORWARD)
        return;
    if (n->id > o->op_node && n->op == &wg_op_mul && o->n < WG_MAX_SAMPLE_OPERANDS) {
        o->of[o->n] = n->in[0];
        o->other[o->n++] = dx[0];
    }
    for (int k = 0; n->id == o->op_node && k < o->n; k++)
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] == o->of[k] && dx[i]) {
                dx[i] = wg_sub(dx[i], o->other[k]);
                o->hit = true;
                break;
            }
}

/* y = op(x...), z_i = x_i w_i; NULL if the sample has no float operand with elements. */
static wg_graph *build_fan_out(const wg_op *op, const wg_sample *s, wg_gradcheck_leaf *leaf,
                               size_t *n_leaf, overwrite *o)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    char name[32];
    *n_leaf = 0;
    for (int i = 0; i < s->n_in; i++) {
        const wg_sample_operand *x = &s->in[i];
        snprintf(name, sizeof name, "x%d", i);
        in[i] = wg_input(g, name, x->dtype ? x->dtype : WG_F64, x->shape);
        bool is_float = wg_dtype_is_float(in[i]->dtype), none = x->lo == 0 && x->hi == 0;
        leaf[(*n_leaf)++] = (wg_gradcheck_leaf){in[i], NULL, none ? (is_float ? -2 : 0) : x->lo,
                                                none ? 2 : x->hi, x->matrices};
    }
    wg_node *n = wg_apply(WG_HERE, g, op, s->attrs, in, s->n_in);
    if (!n)
        return g;
    o->op_node = n->id;
    for (int i = 0; i < n->n_out; i++)
        if (wg_dtype_is_float(n->out[i]->dtype))
            wg_output(n->out[i], NULL);
    for (int i = 0; i < s->n_in; i++) {
        if (in[i]->dtype != WG_F64 || !wg_value_count(in[i]))
            continue;
        snprintf(name, sizeof name, "w%d", i);
        wg_output(wg_mul(in[i], wg_input(g, name, WG_F64, in[i]->shape)), NULL);
    }
    return g;
}

static void overwriting_instead_of_accumulating_is_caught(void **state)
{
    (void)state;
    int mutants = 0, caught = 0;
    const wg_op *op;
    for (size_t i = 0; (op = wg_op_at(i)); i++) {
        bool applied = false, seen = false;
        for (int k = 0; k < op->n_samples && !seen; k++) {
            wg_gradcheck_leaf leaf[WG_MAX_SAMPLE_OPERANDS];
            overwrite o = {.op = op};
            size_t n_leaf;
            const wg_grad_hook hook = {store_over, &o};
            wg_graph *g = build_fan_out(op, &op->samples[k], leaf, &n_leaf, &o);
            wg_gradcheck_options options = {.evaluator = wg_plan_evaluator(),
                                            .hook = &hook,
                                            .seed = 5,
                                            .leaves = leaf,
                                            .n_leaves = n_leaf,
                                            .no_blame = true};
            wg_gradcheck_report r;
            wg_status status = wg_gradcheck(g, &options, &r);
            applied |= o.hit;
            seen = o.hit && status == WG_EDATA && r.failed > 0;
            wg_graph_free(g);
        }
        mutants += applied;
        caught += seen;
        if (applied && !seen)
            print_error("%s: overwriting is not noticed\n", op->name);
    }
    print_message("mutants: %d caught: %d\n", mutants, caught);
    assert_true(mutants > 10);
    assert_int_equal(mutants, caught);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mutant_of_every_rule_is_caught),
        cmocka_unit_test(overwriting_instead_of_accumulating_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
