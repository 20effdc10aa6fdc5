/* Uniform and normal numbers of graph/random.h.  The generator is scalar: its products of 64 bits
 * have no vector instruction.  What it draws becomes numbers in loops that the compiler vectorises,
 * all in double as in the reference. */
#include "backends/simd/kernels/functions_f64.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"

#include <tgmath.h>

enum { PIECE = 1024, PAIRS = PIECE / 2, BLOCK = 4 }; /* numbers; BLOCK: of the generator */

/* A piece of the stream: element 2 i is even[i], element 2 i + 1 odd[i]. */
typedef struct numbers {
    int64_t first, count, pairs; /* the last block may have more than count */
    double even[PAIRS], odd[PAIRS];
} numbers;

static void draw(const simd_random *a, int64_t piece, numbers *u)
{
    u->first = piece * PIECE;
    u->count = a->count - u->first < PIECE ? a->count - u->first : PIECE;
    int64_t blocks = (u->count + BLOCK - 1) / BLOCK;
    u->pairs = blocks * (BLOCK / 2);
    for (int64_t b = 0; b < blocks; b++) {
        double four[BLOCK];
        wgi_uniform4(&a->stream, (uint64_t)(u->first / BLOCK + b), four);
        u->even[2 * b] = four[0];
        u->odd[2 * b] = four[1];
        u->even[2 * b + 1] = four[2];
        u->odd[2 * b + 1] = four[3];
    }
}

/* Box and Muller, as wgi_normal4; both functions of an angle have its quarter and rest in common */
static void make_normal(numbers *u)
{
#pragma omp simd
    for (int64_t i = 0; i < u->pairs; i++) {
        int64_t q;
        double radius = sqrt(-2.0 * simd_log(1.0 - u->even[i]));
        double rest = simd_quarter(6.283185307179586 * u->odd[i], &q);
        u->even[i] = radius * simd_sin_of_quarter(rest, q + 1);
        u->odd[i] = radius * simd_sin_of_quarter(rest, q);
    }
}

/* y = shift + scale u */
static void put(const simd_random *a, const numbers *u)
{
    double y[PIECE];
#pragma omp simd
    for (int64_t i = 0; i < u->pairs; i++) {
        y[2 * i] = a->shift + a->scale * u->even[i];
        y[2 * i + 1] = a->shift + a->scale * u->odd[i];
    }
    if (a->is_f64)
        memcpy((double *)a->y + u->first, y, (size_t)u->count * sizeof *y);
    else
        for (int64_t i = 0; i < u->count; i++)
            ((float *)a->y)[u->first + i] = (float)y[i];
}

static void uniform_piece(const void *args, int64_t piece)
{
    numbers u;
    draw(args, piece, &u);
    put(args, &u);
}

static void normal_piece(const void *args, int64_t piece)
{
    numbers u;
    draw(args, piece, &u);
    make_normal(&u);
    put(args, &u);
}

SIMD_INLINE void all_pieces(const simd_random *a, void (*one)(const void *args, int64_t piece))
{
    simd_tasks(a->count < 1 << 12 ? 1 : a->threads, (a->count + PIECE - 1) / PIECE, one, a);
}

void SIMD(uniform)(const simd_random *a)
{
    all_pieces(a, uniform_piece);
}

void SIMD(normal)(const simd_random *a)
{
    all_pieces(a, normal_piece);
}
