/* All steps of lstm and gru for each instruction set: units of parts of a vector and of several
 * panels, batches that leave rows over, both directions, sequences that end early, against the
 * definition in double. */
#include "tests/simd.h"

#include <math.h>

/* The sequences and states of a problem: results of the kernels, and what they should be. */
enum { GATES_OF, H, C_OR_M, DP, DQ, DH0, DC0, RESULTS };

typedef struct problem {
    simd_recurrent s;
    int64_t gates, place; /* G; batch times steps */
    int64_t size[RESULTS];
    double *must[RESULTS];
} problem;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Of sequence b in its k-th step */
static int64_t place_of(const simd_recurrent *s, int64_t b, int64_t k)
{
    return b * s->steps + (s->reverse ? s->steps - 1 - k : k);
}

static bool has_ended(const simd_recurrent *s, int64_t b, int64_t k)
{
    int64_t t = s->reverse ? s->steps - 1 - k : k;
    return (s->lengths64 && t >= s->lengths64[b]) || (s->lengths32 && t >= s->lengths32[b]);
}

static double before(const problem *p, int which, const float *first, int64_t b, int64_t k,
                     int64_t u)
{
    const simd_recurrent *s = &p->s;
    return k > 0 ? p->must[which][place_of(s, b, k - 1) * s->units + u]
                 : (double)first[b * s->units + u];
}

/* (wh h)[row] + bh[row] */
static double product(const problem *p, int64_t b, int64_t k, int64_t row)
{
    const simd_recurrent *s = &p->s;
    double sum = s->gru ? (double)s->bh[row] : 0;
    for (int64_t u = 0; u < s->units; u++)
        sum += (double)s->wh[row * s->units + u] * before(p, H, s->h0, b, k, u);
    return sum;
}

static void forward_unit(problem *p, int64_t b, int64_t k, int64_t u)
{
    const simd_recurrent *s = &p->s;
    int64_t U = s->units, at = place_of(s, b, k), first = at * p->gates * U + u;
    double sum[4], in[4], *gates = p->must[GATES_OF] + first, h;
    for (int64_t g = 0; g < p->gates; g++) {
        sum[g] = product(p, b, k, g * U + u);
        in[g] = (double)s->p[first + g * U];
    }
    if (s->gru) {
        double r = sigmoid(in[0] + sum[0]), z = sigmoid(in[1] + sum[1]), m = sum[2];
        double n = tanh(in[2] + r * m);
        gates[0] = r, gates[U] = z, gates[2 * U] = n;
        p->must[C_OR_M][at * U + u] = m;
        h = (1 - z) * n + z * before(p, H, s->h0, b, k, u);
    } else {
        double c = before(p, C_OR_M, s->c0, b, k, u);
        for (int g = 0; g < 4; g++)
            gates[g * U] = g == 2 ? tanh(in[g] + sum[g]) : sigmoid(in[g] + sum[g]);
        c = has_ended(s, b, k) ? c : gates[U] * c + gates[0] * gates[2 * U];
        p->must[C_OR_M][at * U + u] = c;
        h = gates[3 * U] * tanh(c);
    }
    p->must[H][at * U + u] = has_ended(s, b, k) ? before(p, H, s->h0, b, k, u) : h;
}

/* dp and dq of a unit; dh0 and dc0 hold what the steps behind have sent, and what passes by the
 * product stays there. */
static void backward_unit(problem *p, int64_t b, int64_t k, int64_t u)
{
    const simd_recurrent *s = &p->s;
    int64_t U = s->units, at = place_of(s, b, k), first = at * p->gates * U + u;
    const double *g = p->must[GATES_OF] + first;
    double *dp = p->must[DP] + first, *dq = p->must[DQ] + first;
    double *to_h = p->must[DH0] + b * U + u, *to_c = p->must[DC0] + b * U + u;
    double h = (double)s->dh[at * U + u] + *to_h, c = p->must[C_OR_M][at * U + u];
    *to_h = has_ended(s, b, k) ? h : 0;
    if (!s->gru)
        *to_c += (double)s->dc[at * U + u];
    if (has_ended(s, b, k))
        return;
    if (s->gru) {
        double r = g[0], z = g[U], n = g[2 * U], a = h * (1 - z) * (1 - n * n);
        dp[0] = dq[0] = a * c * r * (1 - r);
        dp[U] = dq[U] = h * (before(p, H, s->h0, b, k, u) - n) * z * (1 - z);
        dp[2 * U] = a;
        dq[2 * U] = a * r;
        *to_h = h * z;
        return;
    }
    double i = g[0], f = g[U], n = g[2 * U], o = g[3 * U], t = tanh(c);
    double d = *to_c + h * o * (1 - t * t);
    dp[0] = dq[0] = d * n * i * (1 - i);
    dp[U] = dq[U] = d * before(p, C_OR_M, s->c0, b, k, u) * f * (1 - f);
    dp[2 * U] = dq[2 * U] = d * i * (1 - n * n);
    dp[3 * U] = dq[3 * U] = h * t * o * (1 - o);
    *to_c = d * f;
}

static void by_definition(problem *p)
{
    const simd_recurrent *s = &p->s;
    for (int64_t k = 0; k < s->steps; k++)
        for (int64_t i = 0; i < s->batch * s->units; i++)
            forward_unit(p, i / s->units, k, i % s->units);
    for (int64_t k = s->steps - 1; k >= 0; k--) {
        for (int64_t i = 0; i < s->batch * s->units; i++)
            backward_unit(p, i / s->units, k, i % s->units);
        for (int64_t i = 0; i < s->batch * s->units; i++)
            for (int64_t row = 0; row < p->gates * s->units; row++)
                p->must[DH0][i] +=
                    p->must[DQ][place_of(s, i / s->units, k) * p->gates * s->units + row] *
                    (double)s->wh[row * s->units + i % s->units];
    }
}

static int64_t compare(const problem *p, int which, const float *got, const char *isa)
{
    for (int64_t i = 0; i < p->size[which]; i++) {
        double must = p->must[which][i], error = fabs((double)got[i] - must);
        if (!(error <= 4e-6 * fmax(1, fabs(must))))
            fail_msg("%s, %s of %lld units, result %d[%lld]: %.9g, expected %.9g", isa,
                     p->s.gru ? "gru" : "lstm", (long long)p->s.units, which, (long long)i,
                     (double)got[i], must);
    }
    return p->size[which];
}

/* Forward into new rooms, then backward; `inplace`: gates where p lies, and then dp (of gru dq)
 * where the gates are. */
static void run_both(const problem *p, const simd_table *table, int threads, bool inplace,
                     float *r[RESULTS])
{
    simd_recurrent s = p->s;
    for (int i = 0; i < RESULTS; i++)
        r[i] = room(p->size[i]);
    size_t bytes = (size_t)simd_recurrent_scratch(s.batch, s.units) * sizeof(float);
    float *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64), *back = r[s.gru ? DQ : DP];
    assert_non_null(scratch);
    s.threads = threads;
    s.scratch = scratch;
    s.gates = r[GATES_OF], s.h = r[H], s.dp = r[DP], s.dq = r[DQ], s.dh0 = r[DH0], s.dc0 = r[DC0];
    s.c = s.m = r[C_OR_M];
    if (inplace) {
        memcpy(s.gates, s.p, (size_t)p->size[GATES_OF] * sizeof *scratch);
        s.p = s.gates;
    }
    table->recurrent_forward(&s);
    if (inplace) {
        memcpy(back, s.gates, (size_t)p->size[GATES_OF] * sizeof *scratch);
        s.gates = back;
    }
    table->recurrent_backward(&s);
    free(scratch);
}

/* Not all kinds of cells have all results. */
static bool has(const problem *p, int which)
{
    return !(which == DQ && !p->s.gru) && !(which == DC0 && p->s.gru);
}

/* In place, on fewer threads than there are panels of units and on more: the bits of `one`. */
static void check_threads(const problem *p, const simd_table *table, float *const one[RESULTS])
{
    static const int threads[] = {3, 16};
    for (int k = 0; k < WG_COUNT(threads); k++) {
        float *more[RESULTS];
        run_both(p, table, threads[k], true, more);
        for (int i = 0; i < RESULTS; i++) {
            check_that(
                !has(p, i) || memcmp(one[i], more[i], (size_t)p->size[i] * sizeof(float)) == 0,
                "%s, result %d: other bits in place on %d threads", table->isa, i, threads[k]);
            free_room(more[i], p->size[i]);
        }
    }
}

static int64_t check_tables(const setting *s, const problem *p)
{
    int64_t compared = 0;
    for (int t = 0; t < s->n_tables; t++) {
        float *one[RESULTS];
        run_both(p, s->table[t], 1, false, one);
        check_threads(p, s->table[t], one);
        for (int i = 0; i < RESULTS; i++) {
            if (has(p, i))
                compared += compare(p, i, one[i], s->table[t]->isa);
            free_room(one[i], p->size[i]);
        }
    }
    return compared;
}

/* variant: bit 0 gru, bit 1 reverse, bits 2 and 3 lengths of 64 or 32 bits */
static int64_t check(setting *s, int64_t batch, int64_t steps, int64_t units, int variant)
{
    int64_t G = variant & 1 ? 3 : 4, rows = batch * steps, state = batch * units;
    int64_t lengths64[64];
    int32_t lengths32[64];
    for (int b = 0; b < batch; b++)
        lengths64[b] = lengths32[b] = (int32_t)((b + 1) % (steps + 1));
    float *x[] = {numbers(s, rows * G * units),
                  numbers(s, G * units * units),
                  numbers(s, 3 * units),
                  numbers(s, state),
                  numbers(s, state),
                  numbers(s, rows * units),
                  numbers(s, rows * units)};
    for (int64_t i = 0; i < G * units * units; i++)
        x[1][i] /= sqrtf((float)units);
    problem p = {.s = {.gru = variant & 1,
                       .reverse = variant & 2,
                       .batch = batch,
                       .steps = steps,
                       .units = units,
                       .p = x[0],
                       .wh = x[1],
                       .bh = x[2],
                       .h0 = x[3],
                       .c0 = x[4],
                       .dh = x[5],
                       .dc = x[6],
                       .lengths64 = variant & 4 ? lengths64 : NULL,
                       .lengths32 = variant & 8 ? lengths32 : NULL},
                 .gates = G,
                 .size = {rows * G * units, rows * units, rows * units, rows * G * units,
                          rows * G * units, state, state}};
    for (int i = 0; i < RESULTS; i++)
        assert_non_null(p.must[i] = calloc((size_t)p.size[i], sizeof(double)));
    by_definition(&p);
    int64_t compared = check_tables(s, &p);
    for (int i = 0; i < RESULTS; i++) {
        free(p.must[i]);
        free(x[i]);
    }
    return compared;
}

static void steps_are_their_equations(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},  {2, 3, 5},   {3, 2, 16},  {5, 4, 17},
                                       {7, 3, 64}, {13, 3, 70}, {33, 2, 130}};
    setting s = all_tables();
    int64_t compared = 0;
    for (int k = 0; k < WG_COUNT(sizes); k++)
        for (int variant = 0; variant < 12; variant++)
            compared += check(&s, sizes[k][0], sizes[k][1], sizes[k][2], variant);
    print_message("%lld elements\n", (long long)compared);
    assert_true(compared > 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_their_equations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
