/* Fourier transforms (fft.h).  Several lines are loaded side by side and go through the passes
 * together; a line that is long or alone is a matrix, whose columns and rows do so.  Each number is
 * made by one thread in one order. */
#include "backends/simd/kernels/fft_passes.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/transpose.h"

#include <math.h>

/* ---- lines side by side ---------------------------------------------------------------------- */

/* Up to LINES lines, whose numbers or pairs are in memory. */
typedef struct side {
    int64_t lines;     /* how many */
    int64_t at[LINES]; /* where each begins, in numbers */
    int64_t step;      /* from one pair of a line to the next */
    int64_t im;        /* from a real part to its imaginary one; 0: it has none */
    bool rows;         /* numbers lie one after the other, and lines at[1] - at[0] apart */
    bool columns;      /* real parts of the lines lie side by side, at[1] - at[0] apart: 1 or 2 */
} side;

/* The i-th group of lines [outer, size, inner] of numbers that are `numbers` wide, 1 or 2: real
 * ones in twos as pairs if `paired`, else alone. */
static side side_of(const simd_fft *f, int64_t i, int64_t size, int64_t numbers, bool paired)
{
    const int64_t all = f->outer * f->inner, first = i * LINES;
    side s = {.lines = simd_smaller(LINES, all - first)};
    for (int64_t l = 0; l < s.lines; l++) {
        const int64_t line = first + l;
        s.at[l] = (line / f->inner * size * f->inner + line % f->inner) * numbers;
    }
    s.step = numbers * f->inner * (paired ? 2 : 1);
    s.im = numbers == 2 ? 1 : paired ? f->inner : 0;
    s.rows = f->inner == 1;
    s.columns = s.lines == LINES && first % f->inner + LINES <= f->inner;
    return s;
}

static void load(const side *s, const real *x, int64_t pairs, real *to)
{
    if (s->lines < LINES)
        memset(to, 0, (size_t)(pairs * PAIR) * sizeof *to);
    if (s->rows) {
        const int64_t ld = s->lines > 1 ? s->at[1] - s->at[0] : 0;
        if (s->im)
            simd_transpose_matrix(x + s->at[0], ld, s->lines, 2 * pairs, to, LINES);
        else
            simd_transpose_matrix(x + s->at[0], ld, s->lines, pairs, to, PAIR);
        for (int64_t j = 0; j < pairs && !s->im; j++)
            memset(to + j * PAIR + LINES, 0, LINES * sizeof *to);
        return;
    }
    const bool columns = s->columns;
    const int64_t lane = columns ? s->at[1] - s->at[0] : 0;
    for (int64_t j = 0; j < pairs; j++, to += PAIR) {
        const real *from = x + j * s->step;
        if (columns && lane == 1) {
            memcpy(to, from + s->at[0], LINES * sizeof *to);
            if (s->im)
                memcpy(to + LINES, from + s->at[0] + s->im, LINES * sizeof *to);
        } else if (columns) {
            from += s->at[0];
#pragma omp simd
            for (int l = 0; l < LINES; l++) {
                to[l] = from[2 * l];
                to[LINES + l] = from[2 * l + 1];
            }
        } else {
            for (int64_t l = 0; l < s->lines; l++) {
                to[l] = from[s->at[l]];
                to[LINES + l] = s->im ? from[s->at[l] + s->im] : 0;
            }
        }
        if (columns && !s->im)
            memset(to + LINES, 0, LINES * sizeof *to);
    }
}

static void store(const side *s, real *y, int64_t pairs, const real *from)
{
    if (s->rows) {
        const int64_t ld = s->lines > 1 ? s->at[1] - s->at[0] : 0;
        if (s->im)
            simd_transpose_matrix(from, LINES, 2 * pairs, s->lines, y + s->at[0], ld);
        else
            simd_transpose_matrix(from, PAIR, pairs, s->lines, y + s->at[0], ld);
        return;
    }
    const bool columns = s->columns;
    const int64_t lane = columns ? s->at[1] - s->at[0] : 0;
    for (int64_t j = 0; j < pairs; j++, from += PAIR) {
        real *to = y + j * s->step;
        if (columns && lane == 1) {
            memcpy(to + s->at[0], from, LINES * sizeof *to);
            if (s->im)
                memcpy(to + s->at[0] + s->im, from + LINES, LINES * sizeof *to);
        } else if (columns) {
            to += s->at[0];
#pragma omp simd
            for (int l = 0; l < LINES; l++) {
                to[2 * l] = from[l];
                to[2 * l + 1] = from[LINES + l];
            }
        } else {
            for (int64_t l = 0; l < s->lines; l++) {
                to[s->at[l]] = from[l];
                if (s->im)
                    to[s->at[l] + s->im] = from[LINES + l];
            }
        }
    }
}

/* ---- real numbers ---------------------------------------------------------------------------- */

/* Pairs of `lanes` lines: one `width` numbers from the next, imaginary parts `im` from real ones.
 */
typedef struct spectrum {
    real *at;
    int64_t width, im, lanes;
} spectrum;

/* The transform z of x[2j] + i x[2j + 1], m pairs, becomes the m + 1 pairs y of x: for k from
 * `first` to below `end`, and m - k.  With even and odd numbers apart,
 *
 *     y[k] = e[k] + w[k] o[k],   e[k] = (z[k] + z*[m - k]) / 2,   o[k] = (z[k] - z*[m - k]) / 2i */
SIMD_INLINE void join_halves(const simd_fft *f, spectrum s, int64_t first, int64_t end)
{
    const int64_t m = f->m, im = s.im;
    const real *w = f->halves;
    const real scale = f->weighted ? 1 : (real)0.5;
    for (int64_t k = first; k < end; k++) {
        real *a = s.at + k * s.width, *b = s.at + (m - k) * s.width;
        const real c = w[2 * k], d = w[2 * k + 1];
        for (int64_t l = 0; l < s.lanes && k == 0; l++) {
            const real even = a[l], other = a[l + im];
            a[l] = even + other;
            b[l] = even - other;
            a[l + im] = b[l + im] = 0;
        }
        if (k == 0)
            continue;
#pragma omp simd
        for (int64_t l = 0; l < s.lanes; l++) {
            const real er = (a[l] + b[l]) * scale, ei = (a[l + im] - b[l + im]) * scale;
            const real dr = (a[l + im] + b[l + im]) * scale, di = (b[l] - a[l]) * scale;
            const real tr = dr * c - di * d, ti = dr * d + di * c;
            a[l] = er + tr;
            a[l + im] = ei + ti;
            b[l] = er - tr;
            b[l + im] = ti - ei;
        }
    }
}

/* The other way: z[k] = (y[k] + y*[m - k]) + i w*[k] (y[k] - y*[m - k]), of which the inverse
 * transform is x[2j] + i x[2j + 1]. */
SIMD_INLINE void part_halves(const simd_fft *f, spectrum s, int64_t first, int64_t end)
{
    const int64_t m = f->m, im = s.im;
    const real *w = f->halves;
    const real scale = f->weighted ? 1 : (real)0.5;
    for (int64_t k = first; k < end; k++) {
        real *a = s.at + k * s.width, *b = s.at + (m - k) * s.width;
        const real c = w[2 * k], d = -w[2 * k + 1];
        for (int64_t l = 0; l < s.lanes && k == 0; l++) {
            const real low = a[l], high = b[l];
            a[l] = low + high;
            a[l + im] = low - high;
        }
        if (k == 0)
            continue;
#pragma omp simd
        for (int64_t l = 0; l < s.lanes; l++) {
            const real pr = (a[l] + b[l]) * scale, pi = (a[l + im] - b[l + im]) * scale;
            const real qr = (a[l] - b[l]) * scale, qi = (a[l + im] + b[l + im]) * scale;
            const real tr = qr * c - qi * d, ti = qr * d + qi * c;
            a[l] = pr - ti;
            a[l + im] = pi + tr;
            b[l] = pr + ti;
            b[l + im] = tr - pi;
        }
    }
}

/* How many k of these are to be done. */
static int64_t half_count(const simd_fft *f)
{
    return f->m / 2 + 1;
}

/* An odd number of real ones: frequencies that count twice. */
SIMD_INLINE void weigh(const simd_fft *f, spectrum s)
{
    for (int64_t k = 1; f->weighted && k <= f->n / 2; k++)
        for (int64_t l = 0; l < s.lanes; l++) {
            s.at[k * s.width + l] *= 2;
            s.at[k * s.width + s.im + l] *= 2;
        }
}

/* The same number of them: pairs n - k, which are conjugates. */
SIMD_INLINE void conjugate(const simd_fft *f, spectrum s)
{
    const real scale = f->weighted ? 1 : (real)0.5;
    for (int64_t l = 0; l < s.lanes; l++)
        s.at[s.im + l] = 0;
    for (int64_t k = 1; k <= f->n / 2; k++) {
        real *a = s.at + k * s.width, *b = s.at + (f->n - k) * s.width;
        for (int64_t l = 0; l < s.lanes; l++) {
            a[l] *= scale;
            a[l + s.im] *= scale;
            b[l] = a[l];
            b[l + s.im] = -a[l + s.im];
        }
    }
}

/* What a line has in memory before and after the transform of its pairs. */
typedef struct ends {
    int64_t in, in_numbers, out, out_numbers; /* how many, and how wide each is */
    bool in_paired, out_paired;               /* real numbers, two of which are a pair */
} ends;

static ends ends_of(const simd_fft *f)
{
    const int64_t n = f->n, half = n / 2 + 1;
    const bool paired = f->halves != NULL;
    switch (f->kind) {
    case SIMD_FFT_TO: return (ends){n, 1, half, 2, paired, false};
    case SIMD_FFT_FROM: return (ends){half, 2, n, 1, false, paired};
    case SIMD_FFT_PAIRS:
    default: return (ends){n, 2, n, 2, false, false};
    }
}

static int64_t pairs_of(int64_t count, bool paired)
{
    return paired ? count / 2 : count;
}

/* ---- NaN and infinity ------------------------------------------------------------------------ */

/* Where a number of a line is not finite, all results of the line are NaN, as those of the
 * reference are; passes would mix them in their own way, and leave some out. */

static bool is_finite(real x)
{
    return x - x == 0;
}

/* Whether numbers of the line are not finite; imaginary parts of frequencies 0 and n / 2 of real
 * numbers do not count. */
static bool is_spoilt(const simd_fft *f, int64_t i)
{
    const ends e = ends_of(f);
    const int64_t step = e.in_numbers * f->inner;
    const real *x =
        (const real *)f->x + (i / f->inner * e.in * f->inner + i % f->inner) * e.in_numbers;
    for (int64_t k = 0; k < e.in; k++)
        for (int64_t part = 0; part < e.in_numbers; part++) {
            const bool counts = f->kind != SIMD_FFT_FROM || part == 0 || (k > 0 && 2 * k != f->n);
            if (counts && !is_finite(x[k * step + part]))
                return true;
        }
    return false;
}

static void spoil(const simd_fft *f, int64_t i)
{
    const ends e = ends_of(f);
    const int64_t step = e.out_numbers * f->inner;
    real *y = (real *)f->y + (i / f->inner * e.out * f->inner + i % f->inner) * e.out_numbers;
    for (int64_t k = 0; k < e.out; k++)
        for (int64_t part = 0; part < e.out_numbers; part++)
            y[k * step + part] = (real)NAN;
}

/* The line's first results tell whether it is to be looked at: the sum of its numbers is one. */
static void keep_spoilt(const simd_fft *f, int64_t i)
{
    const ends e = ends_of(f);
    const int64_t step = e.out_numbers * f->inner;
    const real *y =
        (const real *)f->y + (i / f->inner * e.out * f->inner + i % f->inner) * e.out_numbers;
    const real next = e.out > 1 ? y[step] : 0, other = e.out_numbers > 1 ? y[1] : 0;
    if (!(is_finite(y[0]) && is_finite(other) && is_finite(next)) && is_spoilt(f, i))
        spoil(f, i);
}

/* ---- several lines at once ------------------------------------------------------------------- */

/* The i-th group of lines, with two buffers. */
static void group(const simd_fft *f, int64_t i, real *x, real *y)
{
    const ends e = ends_of(f);
    const side in = side_of(f, i, e.in, e.in_numbers, e.in_paired);
    const side out = side_of(f, i, e.out, e.out_numbers, e.out_paired);
    load(&in, f->x, pairs_of(e.in, e.in_paired), x);
    const spectrum from = {x, PAIR, LINES, LINES};
    if (f->kind == SIMD_FFT_FROM && f->halves)
        part_halves(f, from, 0, half_count(f));
    else if (f->kind == SIMD_FFT_FROM)
        conjugate(f, from);
    const real *made = transform(&f->core, x, y, parts_of(f->inverse || f->kind == SIMD_FFT_FROM));
    const spectrum to = {made == x ? x : y, PAIR, LINES, LINES};
    if (f->kind == SIMD_FFT_TO && f->halves)
        join_halves(f, to, 0, half_count(f));
    else if (f->kind == SIMD_FFT_TO)
        weigh(f, to);
    store(&out, f->y, pairs_of(e.out, e.out_paired), made);
    for (int64_t l = 0; l < in.lines; l++)
        keep_spoilt(f, i * LINES + l);
}

static int64_t groups_of(const simd_fft *f)
{
    return simd_divide_up(f->outer * f->inner, LINES);
}

static void share_of_groups(const void *context, simd_member m)
{
    const simd_fft *f = context;
    const int64_t pairs = simd_fft_pairs(f);
    real *x = (real *)f->scratch + m.me * 2 * pairs * PAIR;
    for (int64_t i = simd_first(m, groups_of(f)); i < simd_end(m, groups_of(f)); i++)
        group(f, i, x, x + pairs * PAIR);
}

/* ---- a line at a time ------------------------------------------------------------------------ */

/* One line, as pairs one after the other. */
typedef struct line {
    const simd_fft *f;
    const real *from;   /* of a transform in two steps, [n1, n2] pairs */
    real *between, *to; /* after its first step, [n1, n2]; after its second, [n2, n1] */
    real *buffers;      /* two for each member */
    parts part;
} line;

/* Columns [first, first + LINES) of a matrix of pairs with n in a row. */
static side columns_at(int64_t first, int64_t n)
{
    side s = {.lines = simd_smaller(LINES, n - first), .step = 2 * n, .im = 1};
    for (int64_t l = 0; l < s.lines; l++)
        s.at[l] = 2 * (first + l);
    s.columns = s.lines == LINES;
    return s;
}

/* Rows [first, first + LINES) of a matrix of pairs [rows, n]. */
static side rows_at(int64_t first, int64_t rows, int64_t n)
{
    side s = {.lines = simd_smaller(LINES, rows - first), .step = 2, .im = 1, .rows = true};
    for (int64_t l = 0; l < s.lines; l++)
        s.at[l] = 2 * n * (first + l);
    return s;
}

/* x [n1][2][LINES] times columns [first, first + count) of twist. */
static void twist(const simd_fft_split *s, int64_t first, int64_t count, real *x, parts part)
{
    for (int64_t k = 0; k < s->n1; k++, x += PAIR) {
        const real *w = (const real *)s->twist + 2 * (k * s->n2 + first);
        real *xr = x + part.re, *xi = x + part.im;
        for (int64_t l = 0; l < count; l++) {
            const real r = xr[l], i = xi[l];
            xr[l] = r * w[2 * l] - i * w[2 * l + 1];
            xi[l] = r * w[2 * l + 1] + i * w[2 * l];
        }
    }
}

static void first_step(const void *context, simd_member m)
{
    const line *c = context;
    const simd_fft_split *s = &c->f->split;
    const int64_t blocks = simd_divide_up(s->n2, LINES);
    const int64_t pairs = simd_fft_pairs(c->f);
    real *x = c->buffers + m.me * 2 * pairs * PAIR, *y = x + pairs * PAIR;
    for (int64_t b = simd_first(m, blocks); b < simd_end(m, blocks); b++) {
        const side columns = columns_at(b * LINES, s->n2);
        load(&columns, c->from, s->n1, x);
        real *made = transform(&s->columns, x, y, c->part);
        twist(s, b * LINES, columns.lines, made, c->part);
        store(&columns, c->between, s->n1, made);
    }
}

static void second_step(const void *context, simd_member m)
{
    const line *c = context;
    const simd_fft_split *s = &c->f->split;
    const int64_t blocks = simd_divide_up(s->n1, LINES);
    const int64_t pairs = simd_fft_pairs(c->f);
    real *x = c->buffers + m.me * 2 * pairs * PAIR, *y = x + pairs * PAIR;
    for (int64_t b = simd_first(m, blocks); b < simd_end(m, blocks); b++) {
        const side rows = rows_at(b * LINES, s->n1, s->n2), columns = columns_at(b * LINES, s->n1);
        load(&rows, c->between, s->n2, x);
        store(&columns, c->to, s->n2, transform(&s->rows, x, y, c->part));
    }
}

static void two_steps(line *c, const real *from, real *to, bool inverse)
{
    c->from = from;
    c->to = to;
    c->part = parts_of(inverse);
    simd_team(c->f->threads, first_step, c);
    simd_team(c->f->threads, second_step, c);
}

/* y = x w, or x* w* conjugated again if `inverse`: pairs. */
static void turn_line(real *y, const real *x, const real *w, int64_t n, bool inverse)
{
    const real sign = inverse ? -1 : 1;
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
        const real r = x[2 * j], i = x[2 * j + 1], c = w[2 * j], d = w[2 * j + 1] * sign;
        y[2 * j] = r * c - i * d;
        y[2 * j + 1] = r * d + i * c;
    }
}

/* The transform of m pairs x in y; both have room for the convolution, and x is overwritten. */
static void transform_line(line *c, real *x, real *y, bool inverse)
{
    const simd_fft *f = c->f;
    const int64_t length = f->split.n1 * f->split.n2;
    if (!f->chirp) {
        two_steps(c, x, y, inverse);
        return;
    }
    turn_line(x, x, f->chirp, f->m, inverse);
    memset(x + 2 * f->m, 0, (size_t)(length - f->m) * 2 * sizeof *x);
    two_steps(c, x, y, inverse);
    turn_line(x, y, f->filter, length, inverse);
    two_steps(c, x, y, !inverse);
    turn_line(y, y, f->chirp, f->m, inverse);
}

/* `count` numbers, `wide` each, from places that are from_step apart to others. */
static void move(real *to, int64_t to_step, const real *from, int64_t from_step, int64_t count,
                 int64_t wide)
{
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < wide; i++)
            to[j * to_step + i] = from[j * from_step + i];
}

/* Real numbers become pairs with imaginary parts of 0, or the other way. */
static void widen(real *x, int64_t n)
{
    for (int64_t j = n - 1; j >= 0; j--) {
        x[2 * j] = x[j];
        x[2 * j + 1] = 0;
    }
}

static void narrow(real *x, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        x[j] = x[2 * j];
}

/* Where numbers lie as pairs one after the other, they are read and written without copies. */
static void one_line(const simd_fft *f, int64_t i)
{
    const ends e = ends_of(f);
    const int64_t room = 2 * simd_fft_room(f);
    const int64_t outer = i / f->inner, inner = i % f->inner;
    const int64_t x_step = e.in_numbers * f->inner, y_step = e.out_numbers * f->inner;
    const real *x = (const real *)f->x + (outer * e.in * f->inner + inner) * e.in_numbers;
    real *y = (real *)f->y + (outer * e.out * f->inner + inner) * e.out_numbers;
    real *a = f->scratch, *b = a + room, *between = b + room;
    line c = {.f = f, .between = between, .buffers = between + room};
    const bool odd_reals = f->kind != SIMD_FFT_PAIRS && !f->halves;
    const bool direct = f->inner == 1 && !f->chirp && !odd_reals;
    const bool inverse = f->inverse || f->kind == SIMD_FFT_FROM;
    real *made = direct ? y : b;
    const spectrum before = {a, 2, 1, 1}, after = {made, 2, 1, 1};
    if (direct && f->kind != SIMD_FFT_FROM) {
        two_steps(&c, x, made, inverse);
    } else {
        move(a, e.in_numbers, x, x_step, e.in, e.in_numbers);
        if (f->kind == SIMD_FFT_TO && odd_reals)
            widen(a, f->n);
        if (f->kind == SIMD_FFT_FROM && odd_reals)
            conjugate(f, before);
        else if (f->kind == SIMD_FFT_FROM)
            part_halves(f, before, 0, half_count(f));
        transform_line(&c, a, made, inverse);
    }
    if (f->kind == SIMD_FFT_TO && odd_reals)
        weigh(f, after);
    else if (f->kind == SIMD_FFT_TO)
        join_halves(f, after, 0, half_count(f));
    if (f->kind == SIMD_FFT_FROM && odd_reals)
        narrow(b, f->n);
    if (!direct)
        move(y, y_step, made, e.out_numbers, e.out, e.out_numbers);
    keep_spoilt(f, i);
}

void SIMD(fft)(const simd_fft *f)
{
    if (f->split.n1 == 0) {
        simd_team(f->threads, share_of_groups, f);
        return;
    }
    for (int64_t i = 0; i < f->outer * f->inner; i++)
        one_line(f, i);
}
