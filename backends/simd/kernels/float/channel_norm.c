/* Normalisation of x [N, C, S] over sets of planes (kernels.h), with c the channel of a plane:
 *
 *     h = (x - mean) rstd,  rstd = 1 / sqrt(mean of (x - mean)^2 + eps),  y = h gain_c + bias_c
 *
 * and backward, with n the numbers of a set,
 *
 *     batchnorm   dx = rstd gain_c (dy - sum(dy) / n - h sum(dy h) / n)
 *     groupnorm   dx = rstd (e - sum(e) / n - h sum(e h) / n),  e = dy gain_c
 *     dgain_c = sum of dy h,  dbias_c = sum of dy,  both over the planes of channel c
 *
 * Two passes each: the sums, piece by piece; then the results.  A piece is small enough to stay in
 * the nearest cache for its own two passes, the mean and the squares about that mean, so that
 * neither loses digits.  Within a piece sums are made in lanes (lanes.h), and the pieces of a
 * set are added up in double in their order: the bits do not depend on the number of threads.
 *
 * A thread takes a set at a time, so that its second pass finds in the cache what the first has
 * read.  Few sets are taken piece by piece, one pass after the other. */
#include "backends/simd/kernels/channel_norm.h"
#include "backends/simd/kernels/lanes.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/stream.h"
#include "backends/simd/kernels/team.h"

/* ---- pieces ---------------------------------------------------------------------------------- */

/* `length` numbers from `first` on of each of `planes` planes of a set, from number `plane` on. */
typedef struct piece {
    int64_t plane, planes, first, length;
} piece;

static piece piece_of(const channel_norm *a, const simd_plane_sets *s, int64_t i)
{
    int64_t first = i % s->chunks * SIMD_PLANE_PIECE, plane = i / s->chunks * s->planes_of_piece;
    return (piece){.plane = plane,
                   .planes = simd_smaller(s->planes_of_piece, s->planes - plane),
                   .first = first,
                   .length = simd_smaller(SIMD_PLANE_PIECE, a->size - first)};
}

/* Plane `plane` of set `set`, among all planes. */
static int64_t number_of(const simd_plane_sets *s, int64_t set, int64_t plane)
{
    return set * s->step + plane * s->plane_step;
}

/* Numbers of a set */
static double count_of(const channel_norm *a, const simd_plane_sets *s)
{
    return (double)s->planes * (double)a->size;
}

/* The sums of a piece, and after those of all pieces the `norm` of each set. */
static double *sums_at(const channel_norm *a, const simd_plane_sets *s, int64_t set, int64_t i)
{
    return a->scratch + (set * s->pieces + i) * SIMD_PLANE_SUMS;
}

/* What the second pass needs of a set: forward, mean + rest is its mean; backward, p and q are the
 * means of e and e h. */
typedef struct norm {
    real mean, rest, rstd, p, q;
} norm;

_Static_assert(sizeof(norm) <= SIMD_PLANE_SUMS * sizeof(double), "room for a norm");

static norm *norm_at(const channel_norm *a, const simd_plane_sets *s, int64_t set)
{
    return (norm *)(void *)(sums_at(a, s, s->count, 0) + set * SIMD_PLANE_SUMS);
}

/* The distance, in numbers, from a piece of a plane to what the sums read next: planes lie apart,
 * and a core does not prefetch beyond a page by itself. */
static int64_t distance(const channel_norm *a, const simd_plane_sets *s)
{
    return s->chunks > 1 ? SIMD_PLANE_PIECE : s->plane_step * a->size;
}

/* Prefetches the lines of SIMD_SUM_LANES numbers, perhaps beyond the last plane. */
static inline void ask_for(const real *x, int64_t ahead)
{
    for (int l = 0; l < SIMD_SUM_LANES; l += SIMD_LINE)
        __builtin_prefetch((const char *)((uintptr_t)x + (size_t)(ahead + l) * sizeof *x));
}

static real gain_of(const channel_norm *a, int64_t channel)
{
    return a->gain ? a->gain[channel] : 1;
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Lanes of a sum in double, and of others. */
typedef struct wide_lanes {
    double of[SIMD_SUM_LANES];
} wide_lanes;

typedef struct lanes {
    real of[SIMD_SUM_LANES];
} lanes;

static void add_sum(const real *x, int64_t n, int64_t ahead, wide_lanes *sum)
{
    wide_lanes sofar = *sum; /* in registers */
    int64_t whole = n / SIMD_SUM_LANES * SIMD_SUM_LANES;
    for (int64_t i = 0; i < whole; i += SIMD_SUM_LANES) {
        ask_for(x, ahead + i);
#pragma omp simd
        for (int l = 0; l < SIMD_SUM_LANES; l++)
            sofar.of[l] += (double)x[i + l];
    }
    for (int64_t i = whole; i < n; i++)
        sofar.of[i - whole] += (double)x[i];
    *sum = sofar;
}

/* Those of x - centre only where they are needed */
static void add_squares(const real *x, int64_t n, real centre, lanes *rest, lanes *squares)
{
    lanes apart = *rest, sofar = *squares;
    int64_t whole = n / SIMD_SUM_LANES * SIMD_SUM_LANES;
    for (int64_t i = 0; i < whole; i += SIMD_SUM_LANES)
#pragma omp simd
        for (int l = 0; l < SIMD_SUM_LANES; l++) {
            const real d = x[i + l] - centre;
            if (!SUMS_HAVE_REST)
                apart.of[l] += d;
            sofar.of[l] += d * d;
        }
    for (int64_t i = whole; i < n; i++) {
        const real d = x[i] - centre;
        if (!SUMS_HAVE_REST)
            apart.of[i - whole] += d;
        sofar.of[i - whole] += d * d;
    }
    *rest = apart;
    *squares = sofar;
}

/* The rounded mean of a piece, whose sum may cancel and so is made in double, and the sums of the
 * distances from it and of their squares */
static void sum_forward(const channel_norm *a, const simd_plane_sets *s, int64_t set, int64_t i)
{
    const piece p = piece_of(a, s, i);
    double *sums = sums_at(a, s, set, i), n = (double)(p.planes * p.length);
    wide_lanes lane = {{0}};
    lanes rest = {{0}}, squares = {{0}};
    double sum = 0;
    for (int64_t j = p.plane; j < p.plane + p.planes; j++)
        add_sum(a->x + number_of(s, set, j) * a->size + p.first, p.length, distance(a, s), &lane);
    for (int l = 0; l < SIMD_SUM_LANES; l++)
        sum += lane.of[l];
    const real centre = (real)(sum / n);
    for (int64_t j = p.plane; j < p.plane + p.planes; j++)
        add_squares(a->x + number_of(s, set, j) * a->size + p.first, p.length, centre, &rest,
                    &squares);
    sums[0] = (double)centre;
    sums[1] = SUMS_HAVE_REST ? sum - n * (double)centre : simd_folded(rest.of);
    sums[2] = simd_folded(squares.of);
}

/* With c_i, R_i and Q_i those of piece i, c the rounded mean of all and d_i = c_i - c,
 *
 *     n rest          = sum of R_i + n_i d_i
 *     n (var + rest^2) = sum of Q_i + 2 d_i R_i + n_i d_i^2 */
static void join_forward(const channel_norm *a, const simd_plane_sets *s, int64_t set)
{
    double sum = 0, rest = 0, squares = 0, n = count_of(a, s);
    for (int64_t i = 0; i < s->pieces; i++) {
        const piece p = piece_of(a, s, i);
        sum += (double)(p.planes * p.length) * sums_at(a, s, set, i)[0];
    }
    const real mean = (real)(sum / n);
    for (int64_t i = 0; i < s->pieces; i++) {
        const piece p = piece_of(a, s, i);
        const double *sums = sums_at(a, s, set, i), count = (double)(p.planes * p.length);
        double apart = sums[0] - (double)mean;
        rest += (sums[1] + count * apart) / n;
        squares += (sums[2] + 2 * apart * sums[1] + count * apart * apart) / n;
    }
    const real var = variance_of(squares, rest);
    norm *to = norm_at(a, s, set);
    to->mean = mean;
    to->rest = isfinite(mean) ? (real)rest : 0;
    to->rstd = 1 / sqrt(var + a->eps);
    a->mean[set] = whole_mean(mean, rest);
    a->spread[set] = a->groups ? to->rstd : var;
}

static void normalise(const real *restrict x, int64_t n, const norm *of, real gain, real bias,
                      real *restrict y)
{
    real mean = of->mean, rest = of->rest, rstd = of->rstd;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - mean - rest) * rstd * gain + bias;
}

static void write_forward(const channel_norm *a, const simd_plane_sets *s, int64_t set, int64_t i,
                          bool past)
{
    _Alignas(64) real room[SIMD_PLANE_PIECE];
    const piece p = piece_of(a, s, i);
    for (int64_t j = p.plane; j < p.plane + p.planes; j++) {
        int64_t plane = number_of(s, set, j), at = plane * a->size + p.first,
                channel = plane % a->channels;
        normalise(a->x + at, p.length, norm_at(a, s, set), gain_of(a, channel),
                  a->bias ? a->bias[channel] : 0, past ? room : a->y + at);
        if (past)
            simd_stream(a->y + at, room, p.length);
    }
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Lanes of the sums of dy, dy h, e and e h. */
typedef struct products {
    real d[SIMD_SUM_LANES], dh[SIMD_SUM_LANES], e[SIMD_SUM_LANES], eh[SIMD_SUM_LANES];
} products;

static inline void add_product(products *to, int64_t l, real dy, real x, const norm *of, real gain)
{
    real h = (x - of->mean) * of->rstd, e = dy * gain;
    to->d[l] += dy;
    to->dh[l] += dy * h;
    to->e[l] += e;
    to->eh[l] += e * h;
}

static void add_products(const real *restrict dy, const real *restrict x, int64_t n, int64_t ahead,
                         const norm *of, real gain, products *to)
{
    const norm own = *of;
    products sofar = *to; /* in registers */
    int64_t whole = n / SIMD_SUM_LANES * SIMD_SUM_LANES;
    for (int64_t i = 0; i < whole; i += SIMD_SUM_LANES) {
        ask_for(dy, ahead + i);
        ask_for(x, ahead + i);
#pragma omp simd
        for (int l = 0; l < SIMD_SUM_LANES; l++)
            add_product(&sofar, l, dy[i + l], x[i + l], &own, gain);
    }
    for (int64_t i = whole; i < n; i++)
        add_product(&sofar, i - whole, dy[i], x[i], &own, gain);
    *to = sofar;
}

/* The mean and 1 / sqrt(var + eps) that the forward pass has found. */
static norm norm_found(const channel_norm *a, int64_t set)
{
    real spread = a->spread[set];
    return (norm){.mean = a->mean[set], .rstd = a->groups ? spread : 1 / sqrt(spread + a->eps)};
}

static void sum_backward(const channel_norm *a, const simd_plane_sets *s, int64_t set, int64_t i)
{
    const piece p = piece_of(a, s, i);
    const norm of = norm_found(a, set);
    double *sums = sums_at(a, s, set, i);
    products to = {{0}, {0}, {0}, {0}};
    for (int64_t j = p.plane; j < p.plane + p.planes; j++) {
        int64_t plane = number_of(s, set, j), at = plane * a->size + p.first;
        add_products(a->dy + at, a->x + at, p.length, distance(a, s), &of,
                     gain_of(a, plane % a->channels), &to);
    }
    sums[0] = simd_folded(to.d);
    sums[1] = simd_folded(to.dh);
    sums[2] = simd_folded(to.e);
    sums[3] = simd_folded(to.eh);
}

/* The sums of a batchnorm's set are those of its channel. */
static void join_backward(const channel_norm *a, const simd_plane_sets *s, int64_t set)
{
    enum { SUMS = 4 };
    double sum[SUMS] = {0}, n = count_of(a, s);
    for (int64_t i = 0; i < s->pieces; i++)
        for (int k = 0; k < SUMS; k++)
            sum[k] += sums_at(a, s, set, i)[k];
    norm *to = norm_at(a, s, set);
    *to = norm_found(a, set);
    to->p = (real)(sum[a->groups ? 2 : 0] / n);
    to->q = (real)(sum[a->groups ? 3 : 1] / n);
    if (!a->groups) {
        a->dbias[set] = (real)sum[0];
        a->dgain[set] = (real)sum[1];
    }
}

/* dx = factor (dy gain - p - h q) */
static void differentiate(const real *restrict dy, const real *restrict x, int64_t n,
                          const norm *of, real factor, real gain, real *restrict dx)
{
    const norm own = *of;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        dx[i] = factor * (dy[i] * gain - own.p - (x[i] - own.mean) * own.rstd * own.q);
}

static void write_backward(const channel_norm *a, const simd_plane_sets *s, int64_t set, int64_t i,
                           bool past)
{
    _Alignas(64) real room[SIMD_PLANE_PIECE];
    const piece p = piece_of(a, s, i);
    const norm *of = norm_at(a, s, set);
    for (int64_t j = p.plane; j < p.plane + p.planes; j++) {
        int64_t plane = number_of(s, set, j), at = plane * a->size + p.first;
        real gain = gain_of(a, plane % a->channels);
        differentiate(a->dy + at, a->x + at, p.length, of, a->groups ? of->rstd : of->rstd * gain,
                      a->groups ? gain : 1, past ? room : a->dx + at);
        if (past)
            simd_stream(a->dx + at, room, p.length);
    }
}

/* The steps of one direction. */
typedef struct passes {
    void (*sum)(const channel_norm *, const simd_plane_sets *, int64_t set, int64_t i);
    void (*join)(const channel_norm *, const simd_plane_sets *, int64_t set);
    void (*write)(const channel_norm *, const simd_plane_sets *, int64_t set, int64_t i, bool past);
} passes;

/* The norm of all sets. */
typedef struct norm_of_sets {
    const channel_norm *a;
    const simd_plane_sets *s;
    const passes *run;
    bool past;
} norm_of_sets;

/* With groups, a channel's sums are spread over the sets of all examples. */
static void join_channel(const void *args, int64_t channel)
{
    const norm_of_sets *n = args;
    const channel_norm *a = n->a;
    const simd_plane_sets *s = n->s;
    double dbias = 0, dgain = 0;
    for (int64_t b = 0; b < a->examples; b++) {
        int64_t set = b * a->groups + channel / s->planes, first = channel % s->planes * s->chunks;
        for (int64_t i = first; i < first + s->chunks; i++) {
            dbias += sums_at(a, s, set, i)[0];
            dgain += sums_at(a, s, set, i)[1];
        }
    }
    a->dbias[channel] = (real)dbias;
    a->dgain[channel] = (real)dgain;
}

/* ---- all sets -------------------------------------------------------------------------------- */

static void run_set(const channel_norm *a, const simd_plane_sets *s, const passes *run, int64_t set,
                    bool past)
{
    for (int64_t i = 0; i < s->pieces; i++)
        run->sum(a, s, set, i);
    run->join(a, s, set);
    for (int64_t i = 0; i < s->pieces; i++)
        run->write(a, s, set, i, past);
}

/* All threads on all pieces, pass by pass. */
static void run_pieces(const channel_norm *a, const simd_plane_sets *s, const passes *run,
                       bool past, simd_member m)
{
    int64_t pieces = s->count * s->pieces, first = simd_first(m, pieces), end = simd_end(m, pieces);
    for (int64_t i = first; i < end; i++)
        run->sum(a, s, i / s->pieces, i % s->pieces);
    simd_meet(m);
    for (int64_t set = simd_first(m, s->count); set < simd_end(m, s->count); set++)
        run->join(a, s, set);
    simd_meet(m);
    for (int64_t i = first; i < end; i++)
        run->write(a, s, i / s->pieces, i % s->pieces, past);
}

static void run_member(const void *args, simd_member m)
{
    enum { MANY = 4 }; /* sets for each thread: the shares are even enough */
    const norm_of_sets *n = args;
    int64_t sets = n->s->count;
    if (sets >= MANY * m.team || m.team == 1)
        for (int64_t set = simd_first(m, sets); set < simd_end(m, sets); set++)
            run_set(n->a, n->s, n->run, set, n->past);
    else
        run_pieces(n->a, n->s, n->run, n->past, m);
    simd_stream_end();
}

static void run_sets(const channel_norm *a, int threads, const simd_plane_sets *s,
                     const passes *run, const real *result)
{
    bool past = simd_streams(a->examples * a->channels * a->size, a->size, result, NULL);
    simd_team(threads, run_member, &(norm_of_sets){a, s, run, past});
}

void SIMD(channel_norm_forward)(const simd_channel_norm *args)
{
    const channel_norm a = channel_norm_of(args);
    simd_plane_sets s = simd_plane_sets_of(args, false);
    run_sets(&a, simd_channel_norm_threads(args), &s,
             &(const passes){sum_forward, join_forward, write_forward}, a.y);
}

void SIMD(channel_norm_backward)(const simd_channel_norm *args)
{
    const channel_norm a = channel_norm_of(args);
    const int threads = simd_channel_norm_threads(args);
    simd_plane_sets s = simd_plane_sets_of(args, true);
    run_sets(&a, threads, &s, &(const passes){sum_backward, join_backward, write_backward}, a.dx);
    if (a.groups)
        simd_tasks(threads, a.channels, join_channel, &(norm_of_sets){.a = &a, .s = &s});
}
