/* linear_scan and its gradient.  x is seen as [outer, size, inner]; the lines of one outer index
 * run beside each other, so that memory is read in its order. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/scan.h"

enum { LINES = 64 }; /* side by side */

/* Lines [first, first + width) of one outer index: where they begin, and how they go on. */
typedef struct lines {
    int64_t at, step, size, width; /* elements: of the first step, between steps; steps; lines */
    int64_t initial;               /* where their initial states are */
} lines;

static int64_t blocks_of(const wgi_axis *s)
{
    return s->outer * ((s->inner + LINES - 1) / LINES);
}

/* Block b in the direction of the scan. */
static lines lines_of(const wgi_axis *s, bool reverse, int64_t b)
{
    int64_t across = (s->inner + LINES - 1) / LINES, first = b % across * LINES, outer = b / across;
    lines l = {.at = outer * s->size * s->inner + first,
               .step = s->inner,
               .size = s->size,
               .width = s->inner - first < LINES ? s->inner - first : LINES,
               .initial = outer * s->inner + first};
    if (reverse) {
        l.at += (s->size - 1) * s->inner;
        l.step = -l.step;
    }
    return l;
}

static wgi_axis axis_of(const wg_call *c)
{
    const wg_linear_scan_attrs *a = c->node->attrs;
    const wg_shape *x = &c->node->in[0]->shape;
    return wgi_axis_of(x, a->axis);
}

static void scan(const lines *l, const real *a, const real *x, const real *initial, real *y)
{
    wide state[LINES] = {0};
    for (int64_t j = 0; j < l->width && initial; j++)
        state[j] = initial[l->initial + j];
    for (int64_t t = 0, at = l->at; t < l->size; t++, at += l->step)
        for (int64_t j = 0; j < l->width; j++) {
            state[j] = a[at + j] * state[j] + x[at + j];
            y[at + j] = (real)state[j];
        }
}

void KERNEL(linear_scan)(wg_call *c)
{
    const wg_linear_scan_attrs *a = c->node->attrs;
    wgi_axis s = axis_of(c);
    int64_t blocks = blocks_of(&s);
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, s.outer *s.size *s.inner))
    for (int64_t b = 0; b < blocks; b++) {
        lines l = lines_of(&s, a->reverse, b);
        scan(&l, c->in[0], c->in[1], c->node->n_in > 2 ? c->in[2] : NULL, c->out[0]);
    }
}

/* From the last step to the first. */
static void scan_grad(const lines *l, const wg_call *c)
{
    const real *dy = c->in[0], *a = c->in[1], *y = c->in[2],
               *initial = c->node->n_in > 3 ? c->in[3] : NULL;
    real *da = c->out[0], *dx = c->out[1], *dinitial = c->out[2];
    wide carried[LINES] = {0}; /* a[t+1] dx[t+1] */
    for (int64_t t = l->size - 1; t >= 0; t--)
        for (int64_t j = 0, at = l->at + t * l->step; j < l->width; j++) {
            wide d = dy[at + j] + carried[j], before = t > 0     ? y[at - l->step + j]
                                                       : initial ? initial[l->initial + j]
                                                                 : 0;
            dx[at + j] = (real)d;
            da[at + j] = (real)(d * before);
            carried[j] = a[at + j] * d;
        }
    for (int64_t j = 0; j < l->width; j++)
        dinitial[l->initial + j] = (real)carried[j];
}

void KERNEL(linear_scan_grad)(wg_call *c)
{
    const wg_linear_scan_attrs *a = c->node->attrs;
    wgi_axis s = axis_of(c);
    int64_t blocks = blocks_of(&s);
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, s.outer *s.size *s.inner))
    for (int64_t b = 0; b < blocks; b++) {
        lines l = lines_of(&s, a->reverse, b);
        scan_grad(&l, c);
    }
}
