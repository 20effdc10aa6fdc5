/* The largest logits x w' + bias of a linear layer by half the work: from approximate logits, whose
 * error is bounded, a few candidates are taken, and linear_topk.c makes the logits of these alone.
 * The result is the same to the bit.
 *
 * Rows of x and of w become integers q in steps: x = t (q + e), w = s (p + d), |q|, |p| <= Q and
 * |e|, |d| <= HALF, a little more than 1/2, for rounding.  Q is such that a sum of products fits in
 * 32 bits.  Then
 *
 *     |x . w - t s sum(q p)| <= t s (HALF sum|p| + HALF sum|q| + HALF^2 width)
 *
 * and rounding, of x . w in float as well as of the right side, adds less than
 * t s (Q + 1) (sum|p| + width) (width + 8) 2^-23.  So the error of a row's logits is at most
 *
 *     t (error + HALF sum|q| most)
 *
 * with the largest s of all classes as `most`, and as `error` the largest of what the other terms
 * are divided by t, and 2^-24 of the logit, where a large bias is added.  If the last candidate's
 * approximate logit lies below the k-th's by more than twice as much, and what exact logits are
 * rounded by, no class that is no candidate is among the k best.  If not, or where numbers are
 * too large, too small or NaN, the row is searched exactly.  A layer most of whose rows would be is
 * not approximated for long. */
#include "backends/simd/kernels/integer.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/topk.h"

#include <math.h>

/* So many classes at once keep their sums in registers. */
#if defined(__AVX512BW__)
enum { TOGETHER = 8 };
#elif defined(__AVX2__)
enum { TOGETHER = 2 };
#else
enum { TOGETHER = 1 };
#endif
enum { LANES = SIMD_TOPK_ROWS, VECTORS = LANES / SIMD_INTEGER_LANES, GROUP = SIMD_SHORT_GROUP };

static const float HALF = 0.51f, TINY = 1e-30f, HUGE_NUMBER = 1e30f;

/* ---- in steps -------------------------------------------------------------------------------- */

typedef struct in_steps {
    float step, sum; /* of |q| */
} in_steps;

/* q [width, with 0 up to a whole group] = x in steps of top / Q */
static in_steps to_steps(const float *x, int64_t width, float top, int16_t *q)
{
    const float most = (float)simd_screen_largest(width), inverse = most / top;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; i++) {
        float rounded = rintf(x[i] * inverse);
        rounded = rounded > most ? most : rounded < -most ? -most : rounded;
        q[i] = (int16_t)(int32_t)rounded;
        sum += fabsf(rounded);
    }
    for (int64_t i = width; i < simd_screen_width(width); i++)
        q[i] = 0;
    return (in_steps){top / most, sum};
}

/* ---- the classes ----------------------------------------------------------------------------- */

typedef struct approximation {
    simd_approximate *of_all;
    float *step;
    int16_t *w;
} approximation;

static approximation approximation_of(const simd_screened_topk *a)
{
    char *at = a->approximate;
    float *step = (float *)(void *)(at + simd_round_to_line(sizeof(simd_approximate)));
    return (approximation){
        a->approximate, step,
        (int16_t *)(void *)((char *)step +
                            simd_round_to_line((size_t)a->of.classes * sizeof(float)))};
}

/* For each step of x: by how much the logits of that class may differ from approximate ones, but
 * for what x adds. */
static float approximate_class(const simd_linear_topk *of, int64_t class, float *step, int16_t *q)
{
    const float *w = of->w + class * of->width, width = (float)of->width,
                most = (float)simd_screen_largest(of->width), top = simd_largest(w, of->width);
    memset(q, 0, (size_t)simd_screen_width(of->width) * sizeof *q);
    *step = 0;
    if (!(top <= HUGE_NUMBER))
        return INFINITY;
    if (top < TINY)
        return (most + 1) * width * top;
    in_steps in = to_steps(w, of->width, top, q);
    *step = in.step;
    return in.step * (HALF * in.sum + HALF * HALF * width +
                      (most + 1) * (in.sum + width) * (width + 8) * 0x1p-23f);
}

void SIMD(approximate_classes)(const simd_screened_topk *a)
{
    const approximation to = approximation_of(a);
    simd_approximate all = {0};
    for (int64_t c = 0; c < a->of.classes; c++) {
        float error =
            approximate_class(&a->of, c, &to.step[c], to.w + c * simd_screen_width(a->of.width));
        all.error = error > all.error ? error : all.error;
        all.most = to.step[c] > all.most ? to.step[c] : all.most;
    }
    *to.of_all = all;
}

/* ---- the rows -------------------------------------------------------------------------------- */

static void *part_of(const simd_screened_topk *a, simd_screen_part part)
{
    return (char *)a->scratch +
           simd_screened_at(part, a->of.rows, a->of.width, a->of.classes, a->of.k, a->of.threads);
}

static int16_t *panel_of(const simd_screened_topk *a, int64_t group)
{
    return (int16_t *)part_of(a, SIMD_SCREEN_LANES) +
           group * LANES * simd_screen_width(a->of.width);
}

/* A row in steps, by way of q, into its lane of panel[group of numbers][lane][in the group].  An
 * error that is NaN is below nothing. */
static void lay_row(const simd_screened_topk *a, int64_t row, int16_t *panel, int16_t *q)
{
    const simd_linear_topk *of = &a->of;
    const simd_approximate *all = approximation_of(a).of_all;
    const int64_t width = simd_screen_width(of->width);
    const float *x = of->x + row * of->width;
    const float top = row < of->rows ? simd_largest(x, of->width) : 0;
    float step = 0, error = NAN;
    memset(q, 0, (size_t)width * sizeof *q);
    if (top >= TINY && top <= HUGE_NUMBER) {
        in_steps in = to_steps(x, of->width, top, q);
        step = in.step;
        error = in.step * (all->error + HALF * in.sum * all->most);
    }
    ((float *)part_of(a, SIMD_SCREEN_STEP))[row] = step;
    ((float *)part_of(a, SIMD_SCREEN_ERROR))[row] = error;
    for (int64_t i = 0; i < width; i++)
        panel[(i / GROUP * LANES + row % LANES) * GROUP + i % GROUP] = q[i];
}

static void lay_group(const void *args, int64_t group)
{
    const simd_screened_topk *a = args;
    /* Panels of floats are not needed yet. */
    int16_t *q = (int16_t *)part_of(a, SIMD_SCREEN_PANELS) + group * LANES * GROUP * a->of.width;
    for (int64_t lane = 0; lane < LANES; lane++)
        lay_row(a, group * LANES + lane, panel_of(a, group), q);
}

/* ---- approximate logits ---------------------------------------------------------------------- */

/* block[c, lane] of `classes` classes, a constant where this is inlined */
SIMD_INLINE void some_classes(const simd_screened_topk *a, const int16_t *panel, const float *step,
                              int64_t class, float *block, const int classes)
{
    const approximation by = approximation_of(a);
    const int64_t width = simd_screen_width(a->of.width);
    int32_t sums[TOGETHER][LANES];
    simd_integer_sums(simd_add_shorts, by.w + class * width, panel, width / GROUP, classes, VECTORS,
                      sums[0]);
    for (int i = 0; i < classes; i++) {
        const float bias = a->of.bias ? a->of.bias[class + i] : 0, in = by.step[class + i];
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++)
            block[i * LANES + lane] = (float)sums[i][lane] * step[lane] * in + bias;
    }
}

static void approximate_logits(const void *of, int me, int64_t group, int64_t first,
                               int64_t classes, float *block)
{
    const simd_screened_topk *a = of;
    const int16_t *panel = panel_of(a, group);
    const float *step = (const float *)part_of(a, SIMD_SCREEN_STEP) + group * LANES;
    int64_t c = 0;
    (void)me;
    for (; c + TOGETHER <= classes; c += TOGETHER)
        some_classes(a, panel, step, first + c, block + c * LANES, TOGETHER);
    for (; c < classes; c++)
        some_classes(a, panel, step, first + c, block + c * LANES, 1);
}

/* ---- the candidates -------------------------------------------------------------------------- */

static inline bool comes_first(float x, int64_t i, float y, int64_t j)
{
    return x > y || (x == y && i < j);
}

/* missed[row]: whether other classes may be better */
static void choose_of_row(const void *args, int64_t row)
{
    const simd_screened_topk *a = args;
    const int64_t k = a->of.k, count = k + SIMD_SCREEN_SPARE;
    const int64_t *ids = (const int64_t *)part_of(a, SIMD_SCREEN_IDS) + row * count;
    float *values = (float *)part_of(a, SIMD_SCREEN_VALUES) + row * count;
    const float error = ((const float *)part_of(a, SIMD_SCREEN_ERROR))[row], kth = values[k - 1],
                last = values[count - 1], rounding = 0x1p-21f * (fabsf(kth) + fabsf(last));
    bool clear = kth - last > 2.01f * error + rounding;
    ((int64_t *)part_of(a, SIMD_SCREEN_MISSED))[row] = !clear;
    if (!clear)
        return;
    SIMD_OTHER(some_logits)(&a->of, row, ids, count, values);
    for (int64_t i = 0, n = 0; i < count; i++)
        simd_insert(comes_first, values[i], ids[i], a->of.values + row * k, a->of.ids + row * k, &n,
                    k);
}

/* ---- the rows that were missed --------------------------------------------------------------- */

static void search_exactly(const simd_screened_topk *a, const simd_linear_topk *rows)
{
    simd_linear_topk exact = *rows;
    exact.panels = part_of(a, SIMD_SCREEN_PANELS);
    exact.scratch = part_of(a, SIMD_SCREEN_SCRATCH);
    exact.packed = NULL;
    exact.as_they_are = true;
    SIMD_OTHER(linear_topk)(&exact);
}

static void search_missed(const simd_screened_topk *a)
{
    const int64_t width = a->of.width, k = a->of.k;
    int64_t *missed = part_of(a, SIMD_SCREEN_MISSED), n = 0;
    float *x = part_of(a, SIMD_SCREEN_X);
    for (int64_t row = 0; row < a->of.rows; row++)
        if (missed[row]) {
            memcpy(x + n * width, a->of.x + row * width, (size_t)width * sizeof *x);
            missed[n++] = row;
        }
    if (n == 0)
        return;
    simd_linear_topk some = a->of;
    some.x = x;
    some.rows = n;
    some.values = part_of(a, SIMD_SCREEN_FOUND);
    some.ids = part_of(a, SIMD_SCREEN_FOUND_IDS);
    search_exactly(a, &some);
    for (int64_t i = 0; i < n; i++) {
        memcpy(a->of.values + missed[i] * k, some.values + i * k, (size_t)k * sizeof *some.values);
        memcpy(a->of.ids + missed[i] * k, some.ids + i * k, (size_t)k * sizeof *some.ids);
    }
    approximation_of(a).of_all->missed += n;
}

/* After so many rows, whether half of them were missed */
static bool misses_often(const simd_approximate *all)
{
    enum { ROWS = 512 };
    return all->searched >= ROWS && 2 * all->missed > all->searched;
}

void SIMD(screened_topk)(const simd_screened_topk *a)
{
    simd_approximate *all = approximation_of(a).of_all;
    if (misses_often(all)) {
        search_exactly(a, &a->of);
        return;
    }
    const simd_topk_of candidates = {approximate_logits,
                                     a,
                                     part_of(a, SIMD_SCREEN_VALUES),
                                     part_of(a, SIMD_SCREEN_IDS),
                                     a->of.rows,
                                     a->of.classes,
                                     a->of.k + SIMD_SCREEN_SPARE,
                                     a->of.threads,
                                     part_of(a, SIMD_SCREEN_SCRATCH),
                                     true};
    simd_tasks(a->of.threads, simd_topk_groups(a->of.rows), lay_group, a);
    SIMD_OTHER(best_of_logits)(&candidates);
    simd_tasks(a->of.threads, a->of.rows, choose_of_row, a);
    all->searched += a->of.rows;
    search_missed(a);
}
