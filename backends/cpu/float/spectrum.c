/* Eigenvalues and singular values by Jacobi's method (Golub and Van Loan, Matrix Computations,
 * sections 8.5 and 8.6.3): rotations in the planes of two rows, until none is needed.  Threads
 * share out the matrices of a batch. */
#include "backends/batch.h"
#include "backends/cpu/scratch.h"
#include "backends/cpu/vectors.h"
#include "backends/signs.h"

/* Sweeps over all pairs of rows.  Some ten do, since the last ones converge quadratically. */
enum { MAX_SWEEPS = 60 };

/* ---- eigh ------------------------------------------------------------------------------------ */

/* s [n, n] is symmetric, and the rows of v are orthonormal: v' s v is the matrix that is sought. */
typedef struct pencil {
    int64_t n;
    wide *s, *v;
} pencil;

/* s / unit, for s = (a + a') / 2, and the identity matrix */
static void begin_eigh(pencil *x, const real *a, wide unit)
{
    int64_t n = x->n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            x->s[i * n + j] = ((wide)a[i * n + j] / unit + (wide)a[j * n + i] / unit) / 2;
            x->v[i * n + j] = i == j;
        }
}

/* Element [p, q] of s becomes 0.  Rows p and q are rotated, then columns p and q, which are equal
 * to the rows except where these cross. */
static void rotate_plane(pencil *x, int64_t p, int64_t q)
{
    int64_t n = x->n;
    wide *s = x->s, first = s[p * n + p], off = s[p * n + q], second = s[q * n + q];
    cpu_rotation r = cpu_rotation_of(first, off, second);
    cpu_rotate(s + p * n, s + q * n, r, n);
    cpu_rotate(x->v + p * n, x->v + q * n, r, n);
    for (int64_t i = 0; i < n; i++) {
        s[i * n + p] = s[p * n + i];
        s[i * n + q] = s[q * n + i];
    }
    s[p * n + p] = first - r.tangent * off;
    s[q * n + q] = second + r.tangent * off;
    s[p * n + q] = s[q * n + p] = 0;
}

/* Elements below an ulp of the largest, divided by 16, count as 0.  Returns false if there still
 * are others after the last sweep. */
static bool diagonalise(pencil *x)
{
    const wide negligible = 0x1p-56; /* the largest is in [1, 2) */
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        bool done = true;
        for (int64_t p = 0; p < x->n; p++)
            for (int64_t q = p + 1; q < x->n; q++)
                if (fabs(x->s[p * x->n + q]) > negligible) {
                    rotate_plane(x, p, q);
                    done = false;
                }
        if (done)
            return true;
    }
    return false;
}

/* Ascending: w, and the rows of x->v as columns of v. */
static void store_eigh(pencil *x, real *w, real *v, wide unit)
{
    int64_t n = x->n;
    for (int64_t k = 0; k < n; k++) {
        int64_t least = k;
        for (int64_t i = k + 1; i < n; i++)
            if (x->s[i * n + i] < x->s[least * n + least])
                least = i;
        w[k] = (real)(unit * x->s[least * n + least]);
        x->s[least * n + least] = x->s[k * n + k];
        if (least != k)
            cpu_swap(x->v + least * n, x->v + k * n, n);
        for (int64_t i = 0; i < n; i++)
            v[i * n + k] = (real)x->v[k * n + i];
    }
    signs_fix(v, n, n, NULL, 0);
}

void KERNEL(eigh)(wg_call *c)
{
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t n = b.rows, fault = WGI_NO_FAULT;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, 30 * b.count * n * n * n))
    for (int64_t k = 0; k < b.count; k++) {
        const real *a = (const real *)c->in[0] + k * n * n;
        wide *scratch = (wide *)c->scratch + k * cpu_eigh_numbers(n), unit = cpu_unit_of(a, n * n);
        pencil x = {n, scratch, scratch + n * n};
        if (!wgi_all_finite(a, c->node->in[0]->dtype, n * n)) {
            wgi_note_fault(&fault, k, n, WGI_NOT_FINITE);
            continue;
        }
        begin_eigh(&x, a, unit);
        if (!diagonalise(&x))
            wgi_note_fault(&fault, k, n, WGI_NOT_CONVERGED);
        store_eigh(&x, (real *)c->out[0] + k * n, (real *)c->out[1] + k * n * n, unit);
    }
    wgi_report_fault(c, fault);
}

/* ---- svd ------------------------------------------------------------------------------------- */

/* Where a row's square is below this, the row counts as 0: the largest element is in [1, 2). */
#define NOTHING 0x1p-960

/* `rows` begin as the matrix, or as its transpose if it has more rows than columns, and turn' rows
 * remains that: rotations, which `turn` collects, make the k rows orthogonal.  Their lengths are
 * then the singular values, and they and the rows of `turn` the vectors of the two sides. */
typedef struct sides {
    int64_t m, n, k, q;
    wide *rows; /* [k, q] */
    wide *turn; /* [k, k] */
} sides;

static void begin_svd(sides *x, const real *a, wide unit)
{
    for (int64_t i = 0; i < x->k; i++) {
        for (int64_t j = 0; j < x->q; j++)
            x->rows[i * x->q + j] = (wide)a[x->m < x->n ? i * x->n + j : j * x->n + i] / unit;
        for (int64_t j = 0; j < x->k; j++)
            x->turn[i * x->k + j] = i == j;
    }
}

/* Rows i and j become orthogonal, and the longer one becomes longer.  Returns whether they were
 * not. */
static bool make_orthogonal(sides *x, int64_t i, int64_t j)
{
    const wide negligible = 0x1p-50 * sqrt((wide)x->q); /* a few times the rounding of a product */
    wide *a = x->rows + i * x->q, *b = x->rows + j * x->q;
    wide aa = cpu_dot(a, a, x->q), ab = cpu_dot(a, b, x->q), bb = cpu_dot(b, b, x->q);
    if (aa < NOTHING || bb < NOTHING || !(fabs(ab) > negligible * (sqrt(aa) * sqrt(bb))))
        return false;
    cpu_rotation r = cpu_rotation_of(aa, ab, bb);
    cpu_rotate(a, b, r, x->q);
    cpu_rotate(x->turn + i * x->k, x->turn + j * x->k, r, x->k);
    return true;
}

static bool orthogonalise(sides *x)
{
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        bool done = true;
        for (int64_t i = 0; i < x->k; i++)
            for (int64_t j = i + 1; j < x->k; j++)
                done &= !make_orthogonal(x, i, j);
        if (done)
            return true;
    }
    return false;
}

/* Row i, which is 0, becomes a unit vector that is orthogonal to the rows before it: what is left
 * of the axis that they cover least, twice projected, since once may leave little but rounding. */
static void complete(sides *x, int64_t i)
{
    wide *row = x->rows + i * x->q, least = INFINITY;
    int64_t axis = 0;
    for (int64_t k = 0; k < x->q; k++) {
        wide covered = 0;
        for (int64_t j = 0; j < i; j++)
            covered += x->rows[j * x->q + k] * x->rows[j * x->q + k];
        axis = covered < least ? k : axis;
        least = covered < least ? covered : least;
    }
    for (int64_t k = 0; k < x->q; k++)
        row[k] = k == axis;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < i; j++)
            cpu_add_scaled(row, -cpu_dot(row, x->rows + j * x->q, x->q), x->rows + j * x->q, x->q);
        wide norm = sqrt(cpu_dot(row, row, x->q));
        for (int64_t k = 0; k < x->q; k++)
            row[k] /= norm;
    }
}

/* Descending: the lengths of the rows, which become unit vectors. */
static void normalise(sides *x, real *s, wide unit)
{
    for (int64_t i = 0; i < x->k; i++) {
        int64_t longest = i;
        wide most = -1, *row = x->rows + i * x->q;
        for (int64_t j = i; j < x->k; j++) {
            wide square = cpu_dot(x->rows + j * x->q, x->rows + j * x->q, x->q);
            longest = square > most ? j : longest;
            most = square > most ? square : most;
        }
        if (longest != i) {
            cpu_swap(row, x->rows + longest * x->q, x->q);
            cpu_swap(x->turn + i * x->k, x->turn + longest * x->k, x->k);
        }
        wide norm = most < NOTHING ? 0 : sqrt(most);
        s[i] = (real)(unit * norm);
        for (int64_t k = 0; k < x->q && norm > 0; k++)
            row[k] /= norm;
        if (!(norm > 0))
            complete(x, i);
    }
}

/* a = turn' diag(s) rows if m < n, else a' is that. */
static void store_svd(const sides *x, real *u, real *vt)
{
    bool wide_matrix = x->m < x->n;
    const wide *left = wide_matrix ? x->turn : x->rows, *right = wide_matrix ? x->rows : x->turn;
    for (int64_t i = 0; i < x->k; i++) {
        for (int64_t j = 0; j < x->m; j++)
            u[j * x->k + i] = (real)left[i * x->m + j];
        for (int64_t j = 0; j < x->n; j++)
            vt[i * x->n + j] = (real)right[i * x->n + j];
    }
    signs_fix(u, x->m, x->k, vt, x->n);
}

void KERNEL(svd)(wg_call *c)
{
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t m = b.rows, n = b.columns, k = m < n ? m : n, fault = WGI_NO_FAULT;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, 60 * b.count * m * n * k))
    for (int64_t at = 0; at < b.count; at++) {
        const real *a = (const real *)c->in[0] + at * m * n;
        wide *scratch = (wide *)c->scratch + at * cpu_svd_numbers(m, n),
             unit = cpu_unit_of(a, m * n);
        sides x = {m, n, k, m + n - k, scratch, scratch + k * (m + n - k)};
        if (!wgi_all_finite(a, c->node->in[0]->dtype, m * n)) {
            wgi_note_fault(&fault, at, n, WGI_NOT_FINITE);
            continue;
        }
        begin_svd(&x, a, unit);
        if (!orthogonalise(&x))
            wgi_note_fault(&fault, at, n, WGI_NOT_CONVERGED);
        normalise(&x, (real *)c->out[1] + at * k, unit);
        store_svd(&x, (real *)c->out[0] + at * m * k, (real *)c->out[2] + at * k * n);
    }
    wgi_report_fault(c, fault);
}
