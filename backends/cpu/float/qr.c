/* QR by Householder's reflections, unblocked (Golub and Van Loan, Matrix Computations, section
 * 5.2).  Threads share out the matrices of a batch. */
#include "backends/batch.h"
#include "backends/cpu/scratch.h"
#include "backends/cpu/vectors.h"

/* x becomes its image x - 2 v (v' x) / (v' v) in the plane to which v is orthogonal; v' v is
 * `square`, and nothing happens where it is 0. */
static void reflect(wide *x, const wide *v, wide square, int64_t n)
{
    if (square > 0)
        cpu_add_scaled(x, -2 * cpu_dot(v, x, n) / square, v, n);
}

/* What the reflections of one matrix a [m, n] are made of: columns are contiguous here. */
typedef struct reflections {
    int64_t m, n, k;
    wide *a;        /* [n, m]: r, above the diagonal; from it on, the vectors v of the first k */
    wide *q;        /* [k, m] */
    wide *diagonal; /* [k]: of r, of either sign */
    wide *square;   /* [k]: v' v */
} reflections;

/* v [n] divided by its unit, which is returned: columns may be of very different size. */
static wide scale_to_unit(wide *v, int64_t n)
{
    wide largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fabs(v[i]) > largest ? fabs(v[i]) : largest;
    wide unit = cpu_unit(largest);
    for (int64_t i = 0; i < n; i++)
        v[i] /= unit;
    return unit;
}

/* Column j becomes (r, ..., diagonal[j], 0, ...) by a reflection of its components from j on, which
 * the columns behind it take part in; the last component alone needs none.  The first component of
 * v is a sum, never a difference. */
static void eliminate(reflections *f)
{
    for (int64_t j = 0; j < f->k; j++) {
        int64_t rest = f->m - j;
        wide *v = f->a + j * f->m + j, unit = scale_to_unit(v, rest);
        wide norm = sqrt(cpu_dot(v, v, rest)), kept = rest == 1 ? *v : *v > 0 ? -norm : norm;
        f->diagonal[j] = unit * kept;
        *v -= kept;
        f->square[j] = cpu_dot(v, v, rest);
        for (int64_t c = j + 1; c < f->n; c++)
            reflect(f->a + c * f->m + j, v, f->square[j], rest);
    }
}

/* q, the first k columns of the product of all reflections.  Column j is not changed by those
 * behind it. */
static void multiply(reflections *f)
{
    memset(f->q, 0, sizeof *f->q * (size_t)(f->k * f->m));
    for (int64_t j = f->k - 1; j >= 0; j--) {
        f->q[j * f->m + j] = 1;
        for (int64_t c = j; c < f->k; c++)
            reflect(f->q + c * f->m + j, f->a + j * f->m + j, f->square[j], f->m - j);
    }
}

/* Row j of r and column j of q change their signs together where the diagonal is negative.  `unit`
 * is the power of two by which a was divided. */
static void store(const reflections *f, real *q, real *r, wide unit)
{
    for (int64_t j = 0; j < f->k; j++) {
        wide sign = f->diagonal[j] < 0 ? -1 : 1;
        for (int64_t i = 0; i < f->m; i++)
            q[i * f->k + j] = (real)(sign * f->q[j * f->m + i]);
        for (int64_t c = 0; c < f->n; c++)
            r[j * f->n + c] = (real)(c > j ? unit * sign * f->a[c * f->m + j] : 0);
        r[j * f->n + j] = (real)(unit * sign * f->diagonal[j]);
    }
}

void KERNEL(qr)(wg_call *c)
{
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t m = b.rows, n = b.columns, k = m < n ? m : n, fault = WGI_NO_FAULT;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, 4 * b.count * m * n * k))
    for (int64_t at = 0; at < b.count; at++) {
        const real *a = (const real *)c->in[0] + at * m * n;
        wide *scratch = (wide *)c->scratch + at * cpu_qr_numbers(m, n);
        reflections f = {.m = m, .n = n, .k = k, .a = scratch, .q = scratch + n * m};
        f.diagonal = f.q + k * m;
        f.square = f.diagonal + k;
        if (!wgi_all_finite(a, c->node->in[0]->dtype, m * n)) {
            wgi_note_fault(&fault, at, n, WGI_NOT_FINITE);
            continue;
        }
        wide unit = cpu_unit_of(a, m * n);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                f.a[j * m + i] = (wide)a[i * n + j] / unit;
        eliminate(&f);
        multiply(&f);
        store(&f, (real *)c->out[0] + at * m * k, (real *)c->out[1] + at * k * n, unit);
    }
    wgi_report_fault(c, fault);
}
