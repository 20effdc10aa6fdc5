/* groupnorm where planes are short: the formulas of channel_norm.c, where the numbers of a set lie
 * side by side, so that a set is one run.  Gains and biases are spread over the planes of their
 * channels once a call, as a row that all examples share.
 *
 * Backward, the sums over examples of dy and dy h are made number by number: in their type over a
 * block of EXAMPLES, then in double over the planes of a channel and over the blocks.  So bits do
 * not depend on the number of threads. */
#include "backends/simd/kernels/channel_norm.h"
#include "backends/simd/kernels/lanes.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"

enum { LANES = SIMD_SUM_LANES, PIECE = 4096, EXAMPLES = SIMD_GROUP_RUN_EXAMPLES };

/* The call, and its scratch memory. */
typedef struct job {
    const channel_norm *a;
    int64_t length, blocks; /* of a run; of examples */
    double *sums;           /* [blocks, channels, 2]: of dy, of dy h */
    real *gain, *bias;      /* [channels, size] */
    real *room;             /* [threads, 2, length] */
} job;

static job job_of(const channel_norm *a)
{
    job j = {.a = a, .length = a->channels / a->groups * a->size};
    j.blocks = simd_divide_up(a->examples, EXAMPLES);
    j.sums = a->scratch;
    j.gain = (real *)(void *)(a->scratch + j.blocks * a->channels * 2);
    j.bias = j.gain + a->channels * a->size;
    j.room = j.bias + a->channels * a->size;
    for (int64_t c = 0; c < a->channels; c++)
        for (int64_t i = c * a->size; i < (c + 1) * a->size; i++) {
            j.gain[i] = a->gain ? a->gain[c] : 1;
            j.bias[i] = a->bias ? a->bias[c] : 0;
        }
    return j;
}

/* ---- forward --------------------------------------------------------------------------------- */

static double sum_of(const real *x, int64_t n)
{
    double lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
#pragma omp simd
        for (int l = 0; l < LANES; l++)
            lane[l] += (double)x[i + l];
    for (; i < n; i++)
        sum += (double)x[i];
    for (int l = 0; n >= LANES && l < LANES; l++)
        sum += lane[l];
    return sum;
}

/* The sums of x - centre, where they are needed, and of its square */
typedef struct moments {
    double rest, squares;
} moments;

static moments moments_of(const real *x, int64_t n, real centre)
{
    moments sum = {0, 0};
    int64_t i = 0;
    for (int64_t end; i + LANES <= n; i = end) {
        real rest[LANES] = {0}, squares[LANES] = {0};
        end = simd_smaller(i + PIECE, n / LANES * LANES);
        for (; i < end; i += LANES)
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                const real d = x[i + l] - centre;
                if (!SUMS_HAVE_REST)
                    rest[l] += d;
                squares[l] += d * d;
            }
        sum.rest += SUMS_HAVE_REST ? 0 : simd_folded(rest);
        sum.squares += simd_folded(squares);
    }
    for (; i < n; i++) {
        const real d = x[i] - centre;
        sum.rest += SUMS_HAVE_REST ? 0 : (double)d;
        sum.squares += (double)(d * d);
    }
    return sum;
}

static void forward_run(const void *args, int64_t set)
{
    const job *j = args;
    const channel_norm *a = j->a;
    int64_t n = j->length, first = set % a->groups * n;
    const real *restrict x = a->x + set * n, *restrict gain = j->gain + first,
                         *restrict bias = j->bias + first;
    real *restrict y = a->y + set * n;
    const double exact = sum_of(x, n) / (double)n;
    const real mean = (real)exact;
    const moments of = moments_of(x, n, mean);
    const double apart = SUMS_HAVE_REST ? exact - (double)mean : of.rest / (double)n;
    const real rest = isfinite(mean) ? (real)apart : 0;
    const real rstd = 1 / sqrt(variance_of(of.squares / (double)n, apart) + a->eps);
    a->mean[set] = whole_mean(mean, apart);
    a->spread[set] = rstd;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - mean - rest) * rstd * gain[i] + bias[i];
}

void SIMD(group_runs_forward)(const simd_channel_norm *args)
{
    const channel_norm a = channel_norm_of(args);
    const job j = job_of(&a);
    simd_tasks(simd_channel_norm_threads(args), a.examples * a.groups, forward_run, &j);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Lanes of the sums of e = dy gain and of e h. */
typedef struct lanes {
    real e[LANES], eh[LANES];
} lanes;

/* One number: d and dh are the sums of dy and dy h over examples. */
static inline void add_number(real dy, real x, real gain, real mean, real rstd, real *d, real *dh,
                              real *e, real *eh)
{
    real h = (x - mean) * rstd;
    *d += dy;
    *dh += dy * h;
    *e += dy * gain;
    *eh += dy * gain * h;
}

/* dx of a set; d and dh [length] get its numbers. */
static void backward_run(const job *j, int64_t set, real *restrict d, real *restrict dh)
{
    const channel_norm *a = j->a;
    int64_t n = j->length, whole = n / LANES * LANES;
    const real *restrict x = a->x + set * n, *restrict dy = a->dy + set * n,
                         *restrict gain = j->gain + set % a->groups * n;
    real *restrict dx = a->dx + set * n, mean = a->mean[set], rstd = a->spread[set];
    double e = 0, eh = 0;
    for (int64_t i = 0, end; i < whole; i = end) {
        lanes part = {{0}, {0}};
        end = simd_smaller(i + PIECE, whole);
        for (; i < end; i += LANES)
#pragma omp simd
            for (int l = 0; l < LANES; l++)
                add_number(dy[i + l], x[i + l], gain[i + l], mean, rstd, &d[i + l], &dh[i + l],
                           &part.e[l], &part.eh[l]);
        e += simd_folded(part.e);
        eh += simd_folded(part.eh);
    }
    for (int64_t i = whole; i < n; i++) {
        real one = 0, more = 0;
        add_number(dy[i], x[i], gain[i], mean, rstd, &d[i], &dh[i], &one, &more);
        e += (double)one;
        eh += (double)more;
    }
    real p = (real)(e / (double)n), q = (real)(eh / (double)n);
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        dx[i] = rstd * (dy[i] * gain[i] - p - (x[i] - mean) * rstd * q);
}

/* One group of a block of examples */
static void backward_block(const void *args, int64_t task, int me)
{
    const job *j = args;
    const channel_norm *a = j->a;
    int64_t n = j->length, block = task / a->groups, group = task % a->groups;
    int64_t end = simd_smaller((block + 1) * EXAMPLES, a->examples);
    real *d = j->room + me * 2 * n, *dh = d + n;
    memset(d, 0, (size_t)(2 * n) * sizeof *d);
    for (int64_t b = block * EXAMPLES; b < end; b++)
        backward_run(j, b * a->groups + group, d, dh);
    double *sums = j->sums + (block * a->channels + group * n / a->size) * 2;
    for (int64_t i = 0; i < n; sums += 2) {
        sums[0] = sums[1] = 0;
        for (int64_t k = 0; k < a->size; k++, i++) {
            sums[0] += (double)d[i];
            sums[1] += (double)dh[i];
        }
    }
}

static void join_channel(const job *j, int64_t channel)
{
    const channel_norm *a = j->a;
    double dbias = 0, dgain = 0;
    for (int64_t block = 0; block < j->blocks; block++) {
        const double *sums = j->sums + (block * a->channels + channel) * 2;
        dbias += sums[0];
        dgain += sums[1];
    }
    a->dbias[channel] = (real)dbias;
    a->dgain[channel] = (real)dgain;
}

void SIMD(group_runs_backward)(const simd_channel_norm *args)
{
    const channel_norm a = channel_norm_of(args);
    const job j = job_of(&a);
    simd_uneven_tasks(simd_channel_norm_threads(args), j.blocks * a.groups, 1, backward_block, &j);
    for (int64_t channel = 0; channel < a.channels; channel++)
        join_channel(&j, channel);
}
