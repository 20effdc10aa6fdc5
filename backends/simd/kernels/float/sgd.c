/* Stochastic gradient descent:
 *
 *     d = g + decay p,  v = momentum v + d,  p = p - rate d        without velocities
 *                                            p = p - rate v        with them
 *                                            p = p - rate (d + momentum v)    with Nesterov's */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"

enum { PIECE = 1 << 13, FEW_PIECES = 4 };

static void step(const simd_sgd *a, int64_t from, int64_t to)
{
    const real *p = a->p, *g = a->g;
    real *new_p = a->new_p, rate = (real)a->rate, decay = (real)a->decay;
#pragma omp simd
    for (int64_t i = from; i < to; i++)
        new_p[i] = p[i] - rate * (g[i] + decay * p[i]);
}

static void step_with_velocity(const simd_sgd *a, int64_t from, int64_t to)
{
    const real *p = a->p, *g = a->g, *velocity = a->velocity;
    real *new_p = a->new_p, *new_velocity = a->new_velocity;
    real rate = (real)a->rate, decay = (real)a->decay, momentum = (real)a->momentum;
    bool nesterov = a->nesterov;
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        real pi = p[i], d = g[i] + decay * pi, v = momentum * velocity[i] + d;
        new_velocity[i] = v;
        new_p[i] = pi - rate * (nesterov ? d + momentum * v : v);
    }
}

static void step_piece(const void *args, int64_t piece)
{
    const simd_sgd *a = args;
    int64_t from = piece * PIECE, to = from + PIECE < a->count ? from + PIECE : a->count;
    if (a->velocity)
        step_with_velocity(a, from, to);
    else
        step(a, from, to);
}

void SIMD(sgd)(const simd_sgd *a)
{
    int64_t pieces = (a->count + PIECE - 1) / PIECE;
    simd_tasks(pieces < FEW_PIECES ? 1 : a->threads, pieces, step_piece, a);
}
