/* Jacobians, Hessians and what is made of them, from three transforms: wg_vjp, its transpose
 * wg_jvp, and wg_vmap, which computes many products at once. */
#include "wengert/autograd/derivatives.h"
#include "autograd/internal.h"
#include "graph/call.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>

/* What a function here gives back at its end. */
typedef struct entry {
    wg_origin origin;
    const char *caller;
} entry;

/* The graph of y[0..n_y) and x[0..n_x), of which any may be NULL. */
static wg_graph *graph_of(wg_value *const *y, size_t n_y, wg_value *const *x, size_t n_x)
{
    wg_graph *g = NULL;
    for (size_t i = 0; !g && i < n_y + n_x; i++)
        g = wg_graph_of(i < n_y ? y[i] : x[i - n_y]);
    return g;
}

/* What every function here does first: false if there is nothing to work on; new nodes belong to
 * `at`, and messages name `who`. */
static bool begin(const char *at, const char *who, wg_graph *g, entry *before)
{
    if (!g || wg_graph_status(g) != WG_OK)
        return false;
    *before = (entry){wg_graph_origin(g), wgi_graph_enter(g, who)};
    const wg_origin *o = &before->origin;
    wg_graph_set_origin(g, (wg_origin){o->scope, o->at ? o->at : at, WG_BACKWARD});
    return true;
}

static wg_status end(wg_graph *g, const entry *before)
{
    wg_graph_set_origin(g, before->origin);
    wgi_graph_leave(g, before->caller);
    return wg_graph_status(g);
}

static wg_status refuse(const wg_graph *g)
{
    return g && wg_graph_status(g) != WG_OK ? wg_graph_status(g) : WG_EINVAL;
}

/* An array that should have elements. */
static wg_status refuse_array(const char *at, const char *who, wg_graph *g, const char *array)
{
    wg_graph_fail(g, WG_EINVAL, at, who, "the array %s is NULL or empty", array);
    return WG_EINVAL;
}

static bool no_memory(wg_graph *g, const void *array, const char *who)
{
    if (!array)
        wg_graph_fail(g, WG_ENOMEM, NULL, who, "out of memory");
    return !array;
}

/* Everything in v[0..n) is a float value of g. */
static bool need_floats(wg_graph *g, const char *who, const char *what, wg_value *const *v,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!v[i])
            wg_graph_fail(g, WG_EINVAL, NULL, who, "%s[%zu] is NULL", what, i);
        else if (wg_graph_of(v[i]) != g)
            wgi_refuse_foreign(g, who, what, i, v[i]);
        else if (!wg_dtype_is_float(v[i]->dtype))
            wg_graph_fail(g, WG_EDTYPE, NULL, who, "%s[%zu] is %s, not a float", what, i,
                          wg_dtype_name(v[i]->dtype));
    return wg_graph_status(g) == WG_OK;
}

/* Each v[i] that is there has the dtype and the shape of x[i]. */
static bool need_like(wg_graph *g, const char *who, const char *what, wg_value *const *v,
                      wg_value *const *x, size_t n)
{
    char a[160], b[160];
    for (size_t i = 0; v && i < n; i++)
        if (v[i] && wg_graph_of(v[i]) != g)
            wgi_refuse_foreign(g, who, what, i, v[i]);
        else if (v[i] &&
                 (v[i]->dtype != x[i]->dtype || !wg_shape_equal(&v[i]->shape, &x[i]->shape)))
            wg_graph_fail(g, v[i]->dtype != x[i]->dtype ? WG_EDTYPE : WG_ESHAPE, NULL, who,
                          "%s %zu is %s%s, x is %s%s", what, i, wg_dtype_name(v[i]->dtype),
                          wg_shape_text(&v[i]->shape, a, sizeof a), wg_dtype_name(x[i]->dtype),
                          wg_shape_text(&x[i]->shape, b, sizeof b));
    return wg_graph_status(g) == WG_OK;
}

static bool need_scalar(wg_graph *g, const char *who, const wg_value *L)
{
    char text[160];
    if (!L)
        wg_graph_fail(g, WG_EINVAL, NULL, who, "L is NULL");
    else if (wg_value_count(L) != 1)
        wg_graph_fail(g, WG_ESHAPE, NULL, who, "L is %s, must be a scalar",
                      wg_shape_text(&L->shape, text, sizeof text));
    return wg_graph_status(g) == WG_OK;
}

/* ---- Jacobian-vector product ----------------------------------------------------------------- */

/* Tangents as they are given, ones where there are none. */
static bool fill_tangents(wg_graph *g, wg_value *const *x, wg_value *const *t, size_t n_x,
                          wg_value **out)
{
    for (size_t i = 0; i < n_x; i++)
        out[i] = t && t[i] ? t[i] : wg_fill(g, x[i]->dtype, x[i]->shape, 1);
    return need_like(g, "wg_jvp", "tangent", out, x, n_x);
}

/* x' = u' J is linear in u, whatever u is: its transpose takes t to J t. */
static void transpose_twice(wg_graph *g, wg_value *const *y, size_t n_y, wg_value *const *x,
                            wg_value *const *t, size_t n_x, wg_value **dy)
{
    wg_value **u = calloc(n_y + 2 * n_x + 1, sizeof *u);
    if (no_memory(g, u, "wg_jvp"))
        return;
    wg_value **tangent = u + n_y, **dx = tangent + n_x;
    for (size_t j = 0; j < n_y; j++)
        u[j] = wg_zeros_like(y[j]);
    if (fill_tangents(g, x, t, n_x, tangent) && wg_vjp(y, u, n_y, x, n_x, NULL, dx) == WG_OK)
        wg_vjp(dx, tangent, n_x, u, n_y, NULL, dy);
    free(u);
}

wg_status(wg_jvp)(const char *at, wg_value *const *y, size_t n_y, wg_value *const *x,
                  wg_value *const *t, size_t n_x, wg_value **dy)
{
    for (size_t j = 0; j < n_y && dy; j++)
        dy[j] = NULL;
    entry before;
    wg_graph *g = graph_of(y, y ? n_y : 0, x, x ? n_x : 0);
    if (!n_y || !y || !dy || (n_x && !x))
        return refuse_array(at, "wg_jvp", g, !n_y || !y ? "y" : !dy ? "dy" : "x");
    if (!begin(at, "wg_jvp", g, &before))
        return refuse(g);
    if (need_floats(g, "wg_jvp", "y", y, n_y) && need_floats(g, "wg_jvp", "x", x, n_x))
        transpose_twice(g, y, n_y, x, t, n_x, dy);
    return end(g, &before);
}

/* ---- Jacobian -------------------------------------------------------------------------------- */

/* Rows [first, first + K) of the identity matrix over the elements of v, each in v's shape. */
static wg_value *identity_rows(wg_value *v, int64_t first, int64_t K)
{
    wg_graph *g = wg_graph_of(v);
    wg_value *place = wg_iota(g, WG_I64, WG_SHAPE(K), 0, (double)first, 1);
    wg_value *rows = wg_one_hot(place, wg_value_count(v), v->dtype);
    wg_shape shape = {.rank = v->shape.rank + 1, .dim = {K}};
    for (int i = 0; i < v->shape.rank; i++)
        shape.dim[i + 1] = v->shape.dim[i];
    return wg_reshape(rows, shape);
}

static wg_shape joined(const wg_shape *a, const wg_shape *b)
{
    wg_shape s = *a;
    for (int i = 0; i < b->rank; i++)
        s.dim[s.rank++] = b->dim[i];
    return s;
}

/* The linear map from `from` to image[0..n), as n matrices: row r of the i-th is the image of unit
 * vector r, flat; [count of from, count of image[i]]. */
static void matrices(wg_value *from, wg_value *const *image, size_t n, int64_t chunk,
                     wg_value **matrix)
{
    wg_graph *g = wg_graph_of(from);
    int64_t rows = wg_value_count(from), K = chunk > 0 && chunk < rows ? chunk : rows;
    size_t pieces = rows > 0 ? (size_t)((rows + K - 1) / K) : 0;
    wg_value **piece = calloc(pieces * n + n + 1, sizeof *piece), **made = piece + pieces * n;
    if (no_memory(g, piece, "wg_jacobian"))
        return; /* NOLINT(clang-analyzer-unix.Malloc): it is NULL */
    for (size_t p = 0; p < pieces && wg_graph_status(g) == WG_OK; p++) {
        int64_t first = (int64_t)p * K, count = rows - first < K ? rows - first : K;
        wg_value *unit = identity_rows(from, first, count);
        if (!unit || wg_vmap(image, n, &from, &unit, 1, made) != WG_OK)
            break;
        for (size_t i = 0; i < n; i++)
            piece[i * pieces + p] = wg_reshape(made[i], WG_SHAPE(count, wg_value_count(image[i])));
    }
    for (size_t i = 0; i < n && wg_graph_status(g) == WG_OK; i++)
        matrix[i] = pieces == 0
                        ? wg_fill(g, image[i]->dtype, WG_SHAPE(0, wg_value_count(image[i])), 0)
                    : pieces == 1 ? piece[i]
                                  : wg_concat(piece + i * pieces, pieces, 0);
    free(piece);
}

/* Rows of J: u' J for each unit vector u. */
static void by_rows(wg_value *y, wg_value *const *x, size_t n_x, int64_t chunk, wg_value **J)
{
    wg_graph *g = wg_graph_of(y);
    wg_value *u = wg_zeros_like(y);
    wg_value **dx = calloc(n_x + 1, sizeof *dx);
    if (!no_memory(g, dx, "wg_jacobian") && wg_vjp(&y, &u, 1, x, n_x, NULL, dx) == WG_OK)
        matrices(u, dx, n_x, chunk, J);
    free(dx);
}

/* Columns of J: J t for each unit vector t of one x, the others at rest. */
static void by_columns(wg_value *y, wg_value *x, int64_t chunk, wg_value **J)
{
    wg_value *t = wg_zeros_like(x), *dy = NULL, *columns = NULL;
    if (wg_jvp(&y, 1, &x, &t, 1, &dy) == WG_OK)
        matrices(t, &dy, 1, chunk, &columns);
    *J = wg_transpose(columns);
}

static bool room_for_axes(wg_graph *g, const char *who, const wg_value *y, wg_value *const *x,
                          size_t n_x)
{
    for (size_t i = 0; i < n_x; i++)
        if (y->shape.rank + x[i]->shape.rank > WG_MAX_RANK)
            wg_graph_fail(g, WG_ESHAPE, NULL, who,
                          "%d axes of y and %d of x[%zu] are more than %d: reshape them first",
                          y->shape.rank, x[i]->shape.rank, i, WG_MAX_RANK);
    return wg_graph_status(g) == WG_OK;
}

static bool is_forward(wg_jacobian_mode mode, const wg_value *y, wg_value *const *x, size_t n_x)
{
    int64_t columns = 0;
    for (size_t i = 0; i < n_x; i++)
        columns += wg_value_count(x[i]);
    return mode == WG_JACOBIAN_FORWARD ||
           (mode == WG_JACOBIAN_DEFAULT && columns < wg_value_count(y));
}

static void jacobian(wg_value *y, wg_value *const *x, size_t n_x, wg_jacobian_options o,
                     wg_value **J)
{
    if (is_forward(o.mode, y, x, n_x))
        for (size_t i = 0; i < n_x && wg_graph_status(wg_graph_of(y)) == WG_OK; i++)
            by_columns(y, x[i], o.chunk, &J[i]);
    else
        by_rows(y, x, n_x, o.chunk, J);
    for (size_t i = 0; i < n_x; i++)
        J[i] = J[i] ? wg_reshape(J[i], joined(&y->shape, &x[i]->shape)) : NULL;
}

static bool are_legal(wg_graph *g, const char *who, const wg_jacobian_options *o)
{
    if (o->chunk < 0)
        wg_graph_fail(g, WG_EINVAL, NULL, who, "chunk is %lld, must be 0 or more",
                      (long long)o->chunk);
    else if ((unsigned)o->mode > WG_JACOBIAN_FORWARD)
        wg_graph_fail(g, WG_EINVAL, NULL, who, "mode is %d, must be 0 to %d", (int)o->mode,
                      WG_JACOBIAN_FORWARD);
    return wg_graph_status(g) == WG_OK;
}

wg_status(wg_jacobian)(const char *at, wg_value *y, wg_value *const *x, size_t n_x,
                       const wg_jacobian_options *options, wg_value **J)
{
    entry before;
    for (size_t i = 0; i < n_x && J; i++)
        J[i] = NULL;
    wg_graph *g = graph_of(&y, 1, x, x ? n_x : 0);
    if (n_x && (!x || !J))
        return refuse_array(at, "wg_jacobian", g, x ? "J" : "x");
    if (!begin(at, "wg_jacobian", g, &before))
        return refuse(g);
    wg_jacobian_options o = options ? *options : (wg_jacobian_options){0};
    if (are_legal(g, "wg_jacobian", &o) && need_floats(g, "wg_jacobian", "y", &y, 1) &&
        need_floats(g, "wg_jacobian", "x", x, n_x) && room_for_axes(g, "wg_jacobian", y, x, n_x))
        jacobian(y, x, n_x, o, J);
    return end(g, &before);
}

/* ---- Hessian --------------------------------------------------------------------------------- */

static void hessian_product(wg_graph *g, wg_value *L, wg_value *const *x, wg_value *const *v,
                            size_t n_x, wg_value **hv)
{
    wg_value **dx = calloc(n_x + 1, sizeof *dx);
    if (!no_memory(g, dx, "wg_hvp") && wg_grad(L, x, n_x, dx) == WG_OK)
        wg_vjp(dx, v, n_x, x, n_x, NULL, hv); /* H is symmetric: v' H is H v */
    free(dx);
}

wg_status(wg_hvp)(const char *at, wg_value *L, wg_value *const *x, wg_value *const *v, size_t n_x,
                  wg_value **hv)
{
    entry before;
    for (size_t i = 0; i < n_x && hv; i++)
        hv[i] = NULL;
    wg_graph *g = graph_of(&L, 1, x, x ? n_x : 0);
    if (n_x && (!x || !hv))
        return refuse_array(at, "wg_hvp", g, x ? "hv" : "x");
    if (!begin(at, "wg_hvp", g, &before))
        return refuse(g);
    if (need_scalar(g, "wg_hvp", L) && need_floats(g, "wg_hvp", "x", x, n_x) &&
        need_like(g, "wg_hvp", "v", v, x, n_x))
        hessian_product(g, L, x, v, n_x, hv);
    return end(g, &before);
}

static void hessian(wg_graph *g, wg_value *L, wg_value *const *x, size_t n_x, int64_t chunk,
                    wg_value **H)
{
    wg_jacobian_options rows = {WG_JACOBIAN_REVERSE, chunk};
    wg_value **dx = calloc(n_x + 1, sizeof *dx);
    if (!no_memory(g, dx, "wg_hessian") && wg_grad(L, x, n_x, dx) == WG_OK)
        for (size_t i = 0; i < n_x && wg_graph_status(g) == WG_OK; i++)
            if (room_for_axes(g, "wg_hessian", dx[i], x, n_x))
                jacobian(dx[i], x, n_x, rows, H + i * n_x);
    free(dx);
}

wg_status(wg_hessian)(const char *at, wg_value *L, wg_value *const *x, size_t n_x,
                      const wg_jacobian_options *options, wg_value **H)
{
    entry before;
    for (size_t i = 0; i < n_x * n_x && H; i++)
        H[i] = NULL;
    wg_graph *g = graph_of(&L, 1, x, x ? n_x : 0);
    if (n_x && (!x || !H))
        return refuse_array(at, "wg_hessian", g, x ? "H" : "x");
    if (!begin(at, "wg_hessian", g, &before))
        return refuse(g);
    wg_jacobian_options o = options ? *options : (wg_jacobian_options){0};
    if (are_legal(g, "wg_hessian", &o) && need_scalar(g, "wg_hessian", L) &&
        need_floats(g, "wg_hessian", "x", x, n_x))
        hessian(g, L, x, n_x, o.chunk, H);
    return end(g, &before);
}

/* ---- Laplacian ------------------------------------------------------------------------------- */

/* x [N, d] for the N points of u.  Direction i moves coordinate i of every point at once; since
 * points do not depend on each other, coordinate i of the result is d2u[n] / dx[n][i]^2. */
static wg_value *laplacian(wg_value *u, wg_value *x)
{
    wg_graph *g = wg_graph_of(u);
    int64_t N = wg_value_count(u), d = N > 0 ? wg_value_count(x) / N : 0;
    wg_value *dx, *hv, *Hd = NULL, *v = wg_zeros_like(x);
    if (d == 0 || (wg_vjp)(NULL, &u, NULL, 1, &x, 1, NULL, &dx) != WG_OK ||
        wg_vjp(&dx, &v, 1, &x, 1, NULL, &hv) != WG_OK)
        return d == 0 ? wg_zeros_like(u) : NULL;
    wg_shape directions = {.rank = x->shape.rank + 1, .dim = {d}};
    for (int i = 0; i < x->shape.rank; i++)
        directions.dim[i + 1] = x->shape.dim[i];
    wg_value *eye = wg_one_hot(wg_iota(g, WG_I64, WG_SHAPE(d), 0, 0, 1), d, x->dtype);
    wg_value *each = wg_expand(wg_reshape(eye, WG_SHAPE(d, 1, d)), WG_SHAPE(d, N, d));
    wg_value *V = wg_reshape(each, directions);
    if (!V || wg_vmap(&hv, 1, &v, &V, 1, &Hd) != WG_OK)
        return NULL;
    wg_value *diagonal = wg_mul(wg_reshape(Hd, WG_SHAPE(d, N, d)), each);
    return wg_reshape(wg_sum(diagonal, WG_AXES(0, 2), WG_DROP), u->shape);
}

wg_value *(wg_laplacian)(const char *at, wg_value *u, wg_value *x)
{
    entry before;
    char a[160], b[160];
    wg_graph *g = graph_of(&u, 1, &x, 1);
    if (!begin(at, "wg_laplacian", g, &before))
        return NULL;
    wg_value *y = NULL;
    if (need_floats(g, "wg_laplacian", "u", &u, 1) && need_floats(g, "wg_laplacian", "x", &x, 1)) {
        int64_t N = wg_value_count(u);
        if (x->shape.rank == WG_MAX_RANK ||
            (N != 1 && (x->shape.rank == 0 || x->shape.dim[0] != N)))
            wg_graph_fail(g, WG_ESHAPE, NULL, "wg_laplacian",
                          "x is %s, must have a row for each element of u %s",
                          wg_shape_text(&x->shape, a, sizeof a),
                          wg_shape_text(&u->shape, b, sizeof b));
        else
            y = laplacian(u, x);
    }
    return end(g, &before) == WG_OK ? y : NULL;
}

/* ---- per-sample gradients -------------------------------------------------------------------- */

wg_status(wg_per_sample_grad)(const char *at, wg_value *L, wg_value *const *x, wg_value *const *xb,
                              size_t n_x, wg_value *const *w, size_t n_w, wg_value **dw)
{
    entry before;
    for (size_t j = 0; j < n_w && dw; j++)
        dw[j] = NULL;
    static const char who[] = "wg_per_sample_grad";
    wg_graph *g = graph_of(&L, 1, x, x ? n_x : 0);
    if (!n_x || !x || !xb || (n_w && (!w || !dw)))
        return refuse_array(at, who, g, !x || !n_x ? "x" : !xb ? "xb" : !w ? "w" : "dw");
    if (!begin(at, who, g, &before))
        return refuse(g);
    wg_value **one = calloc(n_w + 1, sizeof *one);
    if (!no_memory(g, one, who) && need_scalar(g, who, L) && need_floats(g, who, "w", w, n_w) &&
        wg_grad(L, w, n_w, one) == WG_OK)
        wg_vmap(one, n_w, x, xb, n_x, dw);
    free(one);
    return end(g, &before);
}
