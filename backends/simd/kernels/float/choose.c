/* Comparisons and choices, row by row as backends/broadcast.h says: along a row, an operand either
 * advances with the result or is one number.
 *
 * Numbers to choose from are copied as integers, so that no NaN changes. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/team.h"

#define PRAGMA(text) _Pragma(#text)

static inline int threads_of(const wgi_rows *r, int threads)
{
    return r->rows * r->size < 1 << 15 ? 1 : threads;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

#define COMPARE_LOOP(name, first, operator, second)                                                \
    static void name(const real *a, const real *b, uint8_t *y, int64_t n)                          \
    {                                                                                              \
        PRAGMA(omp simd)                                                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (first) operator(second);                                                       \
    }

/* Both operands along the row, or one number for all of it on the right or on the left. */
#define COMPARE_LOOPS(name, operator)                                                              \
    COMPARE_LOOP(both_##name, a[i], operator, b[i])                                                \
    COMPARE_LOOP(right_##name, a[i], operator, * b)                                                \
    COMPARE_LOOP(left_##name, *a, operator, b[i])

COMPARE_LOOPS(equal, ==)
COMPARE_LOOPS(not_equal, !=)
COMPARE_LOOPS(less, <)
COMPARE_LOOPS(less_equal, <=)
COMPARE_LOOPS(greater, >)
COMPARE_LOOPS(greater_equal, >=)

typedef void compare_loop(const real *a, const real *b, uint8_t *y, int64_t n);
enum { BOTH, RIGHT, LEFT, WAYS };

#define THREE(name)                                                                                \
    {                                                                                              \
        both_##name, right_##name, left_##name                                                     \
    }
static compare_loop *const comparisons[][WAYS] = {
    [SIMD_EQUAL] = THREE(equal),     [SIMD_NOT_EQUAL] = THREE(not_equal),
    [SIMD_LESS] = THREE(less),       [SIMD_LESS_EQUAL] = THREE(less_equal),
    [SIMD_GREATER] = THREE(greater), [SIMD_GREATER_EQUAL] = THREE(greater_equal),
};

static void compare_task(const void *args, int64_t task)
{
    const simd_compare *c = args;
    const wgi_rows *r = c->rows;
    compare_loop *f = comparisons[c->how][r->step[0] && r->step[1] ? BOTH
                                          : r->step[0]             ? RIGHT
                                                                   : LEFT];
    for (wgi_cursor k = wgi_cursor_at(r, task); k.left > 0; wgi_cursor_next(r, &k))
        f((const real *)c->a + k.at[0], (const real *)c->b + k.at[1], c->y + k.out, k.size);
}

void SIMD(compare)(const simd_compare *c)
{
    simd_tasks(threads_of(c->rows, c->threads), c->rows->tasks, compare_task, c);
}

/* ---- choices --------------------------------------------------------------------------------- */

/* y[i] = w[i] ? a[i] : b[i], the steps of a and b being constants where it is called.  Both are
 * read, so that the choice has no branch; y may be a or b if that operand advances with it. */
SIMD_INLINE void choose(const uint8_t *w, const real_bits *a, int64_t a_step, const real_bits *b,
                        int64_t b_step, real_bits *y, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        real_bits yes = a[i * a_step], no = b[i * b_step];
        y[i] = w[i] ? yes : no;
    }
}

/* What one condition chooses for a whole row: x, or *x throughout. */
static void choose_all(const real_bits *x, int64_t step, real_bits *y, int64_t n)
{
    if (!step) {
        real_bits one = *x;
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            y[i] = one;
    } else if (x != y) {
        memcpy(y, x, (size_t)n * sizeof *y);
    }
}

static void choose_row(const int64_t step[3], const uint8_t *w, const real_bits *a,
                       const real_bits *b, real_bits *y, int64_t n)
{
    if (!step[0])
        choose_all(*w ? a : b, step[*w ? 1 : 2], y, n);
    else if (step[1] && step[2])
        choose(w, a, 1, b, 1, y, n);
    else if (step[1])
        choose(w, a, 1, b, 0, y, n);
    else if (step[2])
        choose(w, a, 0, b, 1, y, n);
    else
        choose(w, a, 0, b, 0, y, n);
}

static void where_task(const void *args, int64_t task)
{
    const simd_where *c = args;
    const wgi_rows *r = c->rows;
    for (wgi_cursor k = wgi_cursor_at(r, task); k.left > 0; wgi_cursor_next(r, &k))
        choose_row(r->step, c->condition + k.at[0], (const real_bits *)c->a + k.at[1],
                   (const real_bits *)c->b + k.at[2], (real_bits *)c->y + k.out, k.size);
}

void SIMD(where)(const simd_where *c)
{
    simd_tasks(threads_of(c->rows, c->threads), c->rows->tasks, where_task, c);
}
