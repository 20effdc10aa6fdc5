/* The kernels of the simd backend in each instruction set that this CPU has, and memory for them.
 * Tests of kernels of f32 and f64 are compiled twice, as these are: `real` is the element type. */
#ifndef WG_TESTS_SIMD_H
#define WG_TESTS_SIMD_H

#include "tests/test.h"
#include "wengert/backends/isa.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"

#include <float.h>
#include <math.h>

#ifdef SIMD_F64
typedef long double wide; /* of what is expected */
static const double EPSILON = DBL_EPSILON;
#else
typedef double wide;
static const double EPSILON = (double)FLT_EPSILON;
#endif

enum { MAX = 40000, GUARD = 16, TABLES = 6 };

typedef struct setting {
    const simd_table *table[TABLES];
    int n_tables;
    uint64_t seed;
} setting;

/* Not what is there already: with WG_NATIVE_KERNELS the sets have the same kernels. */
static inline void add_table(setting *s, const simd_table *table)
{
    if (s->n_tables == 0 || table->f32 != s->table[s->n_tables - 1]->f32)
        s->table[s->n_tables++] = table;
}

static inline setting all_tables(void)
{
    setting s = {.seed = 1};
    add_table(&s, &wgi_simd_table_base);
#if defined(__x86_64__)
    wg_isa best = wg_isa_best();
    if (best >= WG_ISA_AVX2)
        add_table(&s, &wgi_simd_table_avx2);
    if (best >= WG_ISA_AVX512_CORE)
        add_table(&s, &wgi_simd_table_avx512);
#endif
    return s;
}

#if defined(__x86_64__)
/* Whether the set is this processor's and below the cap, if there is one */
static inline bool has_avx2_vnni(void)
{
    const char *cap = getenv(WG_ISA_VARIABLE);
    if (cap && *cap)
        return wg_isa_best() == WG_ISA_AVX2_VNNI;
    setenv(WG_ISA_VARIABLE, wg_isa_name(WG_ISA_AVX2_VNNI), 1);
    wg_isa best = wg_isa_best();
    unsetenv(WG_ISA_VARIABLE);
    return best == WG_ISA_AVX2_VNNI;
}
#endif

/* The same for products of integers: with VNNI, no other kernels are compiled again. */
static inline setting integer_tables(void)
{
    setting s = all_tables();
#if defined(__x86_64__)
    if (has_avx2_vnni())
        s.table[s.n_tables++] = &wgi_simd_table_avx2vnni;
    if (wg_isa_best() >= WG_ISA_AVX512_CORE_VNNI)
        s.table[s.n_tables++] = &wgi_simd_table_avx512vnni;
    if (wg_isa_best() >= WG_ISA_AVX512_CORE_AMX)
        s.table[s.n_tables++] = &wgi_simd_table_amx;
#endif
    return s;
}

/* The same for products of f32; but only that of AMX where the environment asks for it, since the
 * test then runs once more without. */
static inline setting product_tables(void)
{
#if defined(__x86_64__)
    if (wg_isa_best() >= WG_ISA_AVX512_CORE_AMX)
        return (setting){{&wgi_simd_table_amx}, 1, 1};
#endif
    return all_tables();
}

/* The kernels of `real` */
static inline const simd_float_table *floats_of(const simd_table *table)
{
#ifdef SIMD_F64
    return table->f64;
#else
    return table->f32;
#endif
}

/* How many times as slow sanitizers make the plain loops of tests, more or less */
#ifdef __SANITIZE_ADDRESS__
enum { SLOWER = 5 };
#else
enum { SLOWER = 1 };
#endif

/* How often a test of many drawn cases draws them */
static inline int drawn_cases(int count)
{
    return (count + SLOWER - 1) / SLOWER;
}

/* In [0, count) */
static inline int64_t draw(setting *s, int64_t count)
{
    s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(s->seed >> 33) % count;
}

static inline real *numbers(setting *s, int64_t count)
{
    real *x = malloc((size_t)(count + 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < count; i++) {
        s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (real)((double)(s->seed >> 33) * 0x1p-30 - 1);
    }
    return x;
}

/* A result of `count` numbers, NaN at first, between guards. */
static inline real *room(int64_t count)
{
    real *x = malloc((size_t)(count + 2 * GUARD) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < count + 2 * GUARD; i++)
        x[i] = i < GUARD || i >= count + GUARD ? 12345 : NAN;
    return x + GUARD;
}

static inline void free_room(real *x, int64_t count)
{
    for (int64_t i = 1; i <= GUARD; i++)
        assert_true(x[-i] == 12345 && x[count + i - 1] == 12345);
    free(x - GUARD);
}

#endif
