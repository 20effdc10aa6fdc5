/* Initial values: each element is a function of the seed, the tensor's name and its place, but for
 * orthogonal matrices, whose rows are made orthogonal one after the other. */
#include "ops/initial.h"
#include "graph/element.h"
#include "graph/mix.h"
#include "graph/random.h"
#include "wengert/ops/leaf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* b = scale sqrt(6 / (fan in + fan out)) (Glorot and Bengio 2010): a matrix is [fan in, fan out], a
 * vector is both. */
static double xavier_bound(const wg_shape *shape, double scale)
{
    int r = shape->rank;
    double out = r > 0 ? (double)shape->dim[r - 1] : 1,
           in = r > 1 ? (double)shape->dim[r - 2] : out;
    return in + out > 0 ? scale * sqrt(6 / (in + out)) : 0;
}

/* Numbers that one number of the result is a sum over: [features, fan in...]; a vector is all fan
 * in. */
static double fan_in(const wg_shape *shape)
{
    double first = shape->rank > 1 ? (double)shape->dim[0] : 1;
    return fmax(1, (double)wg_shape_count(shape) / fmax(1, first));
}

/* ---- one element by itself ------------------------------------------------------------------- */

/* x[k] = N(0, 1), drawn again where it is not within (-2, 2). */
static void truncated4(const wgi_random *r, uint64_t block, double x[4])
{
    bool drawn[4] = {false};
    wgi_random again = *r;
    for (int missing = 4; missing > 0; again.step++) {
        double y[4];
        wgi_normal4(&again, block, y);
        for (int k = 0; k < 4; k++)
            if (!drawn[k] && fabs(y[k]) < 2) {
                x[k] = y[k];
                drawn[k] = true;
                missing--;
            }
    }
}

static void signed_uniform4(const wgi_random *r, uint64_t block, double x[4])
{
    wgi_uniform4(r, block, x);
    for (int k = 0; k < 4; k++)
        x[k] = 2 * x[k] - 1;
}

static void ones4(const wgi_random *r, uint64_t block, double x[4])
{
    (void)r;
    (void)block;
    for (int k = 0; k < 4; k++)
        x[k] = 1;
}

/* Elements are width x, with x drawn by `draw`, four at a time. */
typedef struct distribution {
    void (*draw)(const wgi_random *r, uint64_t block, double x[4]);
    double width;
} distribution;

static distribution distribution_of(const wg_shape *shape, const wg_leaf_attrs *a)
{
    switch (a->init) {
    case WG_INIT_NORMAL: return (distribution){wgi_normal4, a->scale};
    case WG_INIT_UNIFORM: return (distribution){signed_uniform4, a->scale};
    case WG_INIT_XAVIER: return (distribution){signed_uniform4, xavier_bound(shape, a->scale)};
    case WG_INIT_HE_NORMAL: return (distribution){wgi_normal4, a->scale * sqrt(2 / fan_in(shape))};
    case WG_INIT_HE_UNIFORM:
        return (distribution){signed_uniform4, a->scale * sqrt(6 / fan_in(shape))};
    case WG_INIT_TRUNCATED_NORMAL: return (distribution){truncated4, a->scale};
    default: return (distribution){ones4, a->scale};
    }
}

/* ---- orthogonal matrices --------------------------------------------------------------------- */

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Rows of length n >= rows become orthonormal (Gram and Schmidt, each row twice against rounding).
 * Of normal numbers, this makes each orthogonal matrix equally likely. */
static void orthonormalise(double *q, int64_t rows, int64_t n)
{
    for (int64_t i = 0; i < rows; i++) {
        double *row = q + i * n;
        for (int64_t k = 0; k < 2 * i; k++) {
            const double *other = q + k % i * n;
            double part = dot(row, other, n);
            for (int64_t j = 0; j < n; j++)
                row[j] -= part * other[j];
        }
        double norm = sqrt(dot(row, row, n));
        for (int64_t j = 0; j < n; j++)
            row[j] /= norm;
    }
}

static wg_status fill_orthogonal(void *data, const wg_value *leaf, const wgi_random *r,
                                 double scale)
{
    int64_t count = wg_shape_count(&leaf->shape);
    int64_t rows = leaf->shape.rank > 1 ? leaf->shape.dim[0] : 1, columns = rows ? count / rows : 0;
    bool wide = rows <= columns;
    double *q = count ? calloc((size_t)count + 4, sizeof *q) : NULL;
    if (!q)
        return count ? WG_ENOMEM : WG_OK;
    for (int64_t i = 0; i < count; i += 4)
        wgi_normal4(r, (uint64_t)i / 4, q + i);
    orthonormalise(q, wide ? rows : columns, wide ? columns : rows);
    for (int64_t i = 0; i < count; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): count is not 0, so no dimension is */
        int64_t row = i / columns, column = i % columns;
        wgi_put_element(data, leaf->dtype, i, scale * q[wide ? i : column * rows + row]);
    }
    free(q);
    return WG_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

wg_status wgi_initial_values(void *data, uint64_t seed, const char *name, const wg_value *leaf,
                             int threads)
{
    const wg_leaf_attrs *a = leaf->node->attrs;
    const wgi_random r = {seed, 0, wgi_hash_text(name), WGI_RANDOM_INIT};
    int64_t count = wg_shape_count(&leaf->shape);
    if (a->init == WG_INIT_CONSTANT && a->scale == 0) /* as it is */
        return WG_OK;
    if (a->init == WG_INIT_VALUES) {
        if (a->values.size)
            memcpy(data, a->values.bytes, a->values.size);
        return WG_OK;
    }
    if (a->init == WG_INIT_ORTHOGONAL)
        return fill_orthogonal(data, leaf, &r, a->scale);
    const distribution d = distribution_of(&leaf->shape, a);
#pragma omp parallel for schedule(static) num_threads(threads) if (count >= 1 << 16)
    for (int64_t i = 0; i < count; i += 4) {
        double x[4];
        d.draw(&r, (uint64_t)i / 4, x);
        for (int64_t k = 0; k < 4 && i + k < count; k++)
            wgi_put_element(data, leaf->dtype, i + k, d.width * x[k]);
    }
    return WG_OK;
}
