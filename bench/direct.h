/* A matrix product straight in oneDNN's interface, to compare plans with what the library itself
 * reaches. */
#ifndef WG_BENCH_DIRECT_H
#define WG_BENCH_DIRECT_H

#include "wengert/graph/status.h"

#include <stdbool.h>
#include <stdint.h>

/* y [m, n] = x [m, k] w [k, n], dense f32; x may be given as [k, m], w as [n, k].  The caller's
 * memory. */
typedef struct bench_product {
    int64_t m, n, k;
    bool transpose_x, transpose_w;
    float *x, *w, *y;
} bench_product;

typedef struct bench_direct bench_direct;

/* By its matmul, with w as it lies there, or `packed`: brought into oneDNN's favourite layout by
 * each run.  NULL if that fails.  The product's memory, but not the struct, must live as long. */
bench_direct *bench_direct_open(const bench_product *p, bool packed);
void bench_direct_close(bench_direct *d); /* NULL is allowed */
/* A bench_subject's run, with the bench_direct as context. */
wg_status bench_direct_run(void *direct);

/* The same by its sgemm, with the bench_product as context. */
wg_status bench_sgemm_run(void *product);

#endif
