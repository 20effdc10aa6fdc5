/* PyTorch's products and factorisations of matrices. */
#include "tests/golden/golden.h"

/* ---- linear algebra -------------------------------------------------------------------------- */

static void build_matmul(golden *c)
{
    int transposes = (golden_bool(c, "transpose_a", false) ? WG_TN : WG_NN) |
                     (golden_bool(c, "transpose_b", false) ? WG_NT : WG_NN);
    golden_give(c, wg_matmul_t(golden_in(c, "a|x"), golden_in(c, "b|y|w"), transposes));
}

static void build_linear(golden *c)
{
    wg_value *w = golden_in(c, "w|weight");
    if (golden_is(golden_text(c, "weight_layout", "out,in"), "in,out"))
        w = wg_transpose(w);
    const char *activation = golden_text(c, "activation", "none");
    wg_value *y = wg_linear(golden_in(c, "x"), w, golden_in_maybe(c, "b|bias"), WG_ACTIVATION_NONE);
    golden_give(c, golden_is(activation, "relu")   ? wg_relu(y)
                   : golden_is(activation, "tanh") ? wg_tanh(y)
                                                   : y);
    if (!golden_is(activation, "relu") && !golden_is(activation, "tanh") &&
        !golden_is(activation, "none"))
        golden_fail(c, "activation %s is not known", activation);
}

static void build_einsum(golden *c)
{
    wg_value *x[GOLDEN_TENSORS];
    const char *equation = golden_text(c, "equation|spec|subscripts", "");
    int n = golden_all(c, x);
    golden_give(c, wg_einsum(equation, x, n));
}

/* ---- linear algebra: linalg.py --------------------------------------------------------------- */

static wg_triangle triangle_of(golden *c)
{
    return golden_bool(c, "upper", false) ? WG_UPPER : WG_LOWER;
}

static void build_tril(golden *c)
{
    golden_give(c, wg_tril(golden_in(c, "x"), golden_int(c, "diagonal", 0)));
}

static void build_triu(golden *c)
{
    golden_give(c, wg_triu(golden_in(c, "x"), golden_int(c, "diagonal", 0)));
}

static void build_solve_triangular(golden *c)
{
    int flags = golden_bool(c, "unitriangular", false) ? WG_UNIT_DIAGONAL : 0;
    wg_triangle triangle = triangle_of(c);
    golden_give(c, wg_triangular_solve(golden_in(c, "a"), golden_in(c, "b"), triangle, flags));
}

static void build_cholesky(golden *c)
{
    golden_give(c, wg_cholesky(golden_in(c, "a"), triangle_of(c)));
}

static void build_lu_factor(golden *c)
{
    golden_give(c, wg_lu(golden_in(c, "a")));
}

static void build_solve(golden *c)
{
    golden_give(c, wg_solve(golden_in(c, "a"), golden_in(c, "b")));
}

static void build_cholesky_solve(golden *c)
{
    wg_triangle triangle = triangle_of(c);
    golden_give(c, wg_cholesky_solve(golden_in(c, "factor"), golden_in(c, "b"), triangle));
}

static void build_inv(golden *c)
{
    golden_give(c, wg_inverse(golden_in(c, "a")));
}

static void build_slogdet(golden *c)
{
    golden_give_results(c, wg_slogdet(golden_in(c, "a")), 2);
}

static void build_eigh(golden *c)
{
    golden_give_results(c, wg_eigh(golden_in(c, "a")), 2);
}

static void build_svd(golden *c)
{
    golden_give_results(c, wg_svd(golden_in(c, "a")), 3);
}

static void build_qr(golden *c)
{
    golden_give_results(c, wg_qr(golden_in(c, "a")), 2);
}

static void build_lstsq(golden *c)
{
    golden_give(c, wg_lstsq(golden_in(c, "a"), golden_in(c, "b")));
}

static void build_pinv(golden *c)
{
    golden_give(c, wg_pinv(golden_in(c, "a"), 0));
}

static void build_matrix_exp(golden *c)
{
    golden_give(c, wg_matrix_exp(golden_in(c, "a")));
}

/* ---- the table ------------------------------------------------------------------------------- */

const golden_op golden_linalg[] = {
    {"matmul", build_matmul},
    {"bmm", build_matmul},
    {"linear", build_linear},
    {"einsum", build_einsum},
    {"tril", build_tril},
    {"triu", build_triu},
    {"linalg.solve_triangular", build_solve_triangular},
    {"linalg.cholesky", build_cholesky},
    {"linalg.lu_factor", build_lu_factor},
    {"linalg.solve", build_solve},
    {"cholesky_solve", build_cholesky_solve},
    {"linalg.inv", build_inv},
    {"linalg.slogdet", build_slogdet},
    {"linalg.eigh", build_eigh},
    {"linalg.svd", build_svd},
    {"linalg.qr", build_qr},
    {"linalg.lstsq", build_lstsq},
    {"linalg.pinv", build_pinv},
    {"linalg.matrix_exp", build_matrix_exp},
    {NULL, NULL},
};
