/* Functions of elements one after the other, strip by strip, so that values between them stay in
 * the first cache and are never written to memory.  Steps of one rounding each, of which each reads
 * what the one before has made, are a chain: values between them stay in registers (chain.h).
 * Another step, and the last elements of a strip, have the loop of the function alone
 * (elementwise.c).  Both have the bits of the function alone. */
#include "backends/simd/kernels/ahead.h"
#include "backends/simd/kernels/chain.h"
#include "backends/simd/kernels/loops.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"

#include <string.h>

enum { STRIP = SIMD_STRIP };

/* Where a broadcast operand stands: in a row of its own, `offset` elements after its beginning. */
typedef struct walk {
    wgi_cursor row;
    int64_t offset;
} walk;

typedef struct task {
    const simd_steps *a;
    const simd_program *p;
    simd_loop *loop[SIMD_STEPS];
    int end[SIMD_STEPS];            /* of the chain that begins with the step: behind its last */
    bool direct[SIMD_STEP_RESULTS]; /* the result is written where it belongs, not copied there */
    walk walk[SIMD_STEP_OPERANDS];
    const real *place[SIMD_PLACES]; /* of the strip */
    real *made[SIMD_STEPS];         /* where the step writes */
    real buffer[SIMD_PLACES][STRIP];
} task;

enum {
    NUMBERS = SIMD_STEP_OPERANDS,
    RESULTS = NUMBERS + SIMD_STEP_NUMBERS,
    VALUES = RESULTS + SIMD_STEP_RESULTS /* the first places of those */
};

static void fill(real *to, real x, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        to[i] = x;
}

static real element(const simd_step_operand *o, const void *x, int64_t i)
{
    return o->is_bool ? ((const uint8_t *)x)[i] != 0 : ((const real *)x)[i];
}

/* n elements from x[at], or n times that one. */
static void spread(const simd_step_operand *o, const void *x, int64_t at, int64_t n, real *to)
{
    if (!o->rows.step[0])
        fill(to, element(o, x, at), n);
    else if (!o->is_bool)
        memcpy(to, (const real *)x + at, (size_t)n * sizeof *to);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = ((const uint8_t *)x)[at + i] != 0;
}

/* To element i of the result. */
static walk walk_to(const wgi_rows *r, int64_t i)
{
    walk w = {.offset = i % r->size};
    int64_t row = i / r->size;
    for (int k = r->rank - 1; k >= 0; k--) {
        w.row.index[k] = row % r->dim[k];
        w.row.at[0] += w.row.index[k] * r->stride[0][k];
        row /= r->dim[k];
    }
    return w;
}

/* How many whole rows begin here, of those along the innermost axis outside of rows; `left`
 * elements are wanted. */
static int64_t whole_rows(const wgi_rows *r, const walk *w, int64_t left)
{
    int k = r->rank - 1;
    return k < 0 || w->offset ? 0 : simd_smaller(left / r->size, r->dim[k] - w->row.index[k]);
}

static void spread_rows(const simd_step_operand *o, const void *x, int64_t at, int64_t rows,
                        real *to)
{
    const int64_t size = o->rows.size, step = o->rows.stride[0][o->rows.rank - 1], n = rows * size;
    if (step == 0) { /* one row again and again: twice as much with each copy */
        spread(o, x, at, size, to);
        for (int64_t done = size; done < n; done *= 2)
            memcpy(to + done, to, (size_t)simd_smaller(done, n - done) * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        spread(o, x, at + i * step, size, to + i * size);
}

/* By so many whole rows, or else by m elements of one. */
static void advance(walk *w, const wgi_rows *r, int64_t rows, int64_t m)
{
    w->offset += rows ? 0 : m;
    if (!rows && w->offset < r->size)
        return;
    w->offset = 0;
    if (rows > 1) {
        w->row.index[r->rank - 1] += rows - 1;
        w->row.at[0] += (rows - 1) * r->stride[0][r->rank - 1];
    }
    wgi_cursor_next(r, &w->row);
}

/* The next n elements of operand k: where they lie, if that is in one row, else copied. */
static const real *walk_on(task *t, int k, int64_t n)
{
    const simd_step_operand *o = &t->p->operand[k];
    const void *x = t->a->in[k];
    walk *w = &t->walk[k];
    real *to = t->buffer[k];
    const real *there = (const real *)x + w->row.at[0] + w->offset;
    const bool lies_there = o->rows.step[0] && !o->is_bool && o->rows.size - w->offset >= n;
    for (int64_t left = n, m; left > 0; left -= m, to += m) {
        int64_t at = w->row.at[0] + w->offset * o->rows.step[0];
        int64_t rows = whole_rows(&o->rows, w, left);
        m = rows ? rows * o->rows.size : simd_smaller(o->rows.size - w->offset, left);
        if (rows && !lies_there)
            spread_rows(o, x, at, rows, to);
        else if (!lies_there)
            spread(o, x, at, m, to);
        advance(w, &o->rows, rows, m);
    }
    return lies_there ? there : t->buffer[k];
}

/* A result may lie where an operand does that later steps read. */
static bool is_direct(const task *t, int r)
{
    const simd_program *p = t->p;
    for (int k = 0; k < p->n_operands; k++)
        if (t->a->in[k] == t->a->out[r] && p->operand[k].last > p->result[r].step)
            return false;
    return !p->result[r].is_bool;
}

static bool reads(const simd_step *step, int place)
{
    bool found = false;
    for (int k = 0; k < step->n_in; k++)
        found |= step->in[k] == place;
    return found;
}

/* Behind the last step of the chain that begins with step s. */
static int chain_end(const simd_program *p, int s)
{
    int end = s + 1;
    if (chain_has(p->step[s].f))
        while (end < p->n_steps && chain_has(p->step[end].f) &&
               reads(&p->step[end], p->step[end - 1].out))
            end++;
    return end;
}

/* Whether all elements there are one number. */
static bool is_number(const simd_program *p, int place)
{
    return place < NUMBERS ? p->operand[place].how == SIMD_ONE : place < RESULTS;
}

static void begin(task *t, int64_t from, int64_t n)
{
    const simd_program *p = t->p;
    int64_t most = n < STRIP ? n : STRIP;
    for (int s = 0; s < p->n_steps; s++) {
        t->loop[s] = SIMD(loop_of)(p->step[s].f, is_number(p, p->step[s].in[0]),
                                   p->step[s].n_in > 1 && is_number(p, p->step[s].in[1]));
        t->end[s] = chain_end(p, s);
    }
    for (int k = 0; k < SIMD_PLACES; k++)
        t->place[k] = t->buffer[k];
    for (int k = 0; k < p->n_operands; k++)
        if (p->operand[k].how == SIMD_ONE)
            fill(t->buffer[k], element(&p->operand[k], t->a->in[k], 0), most);
        else if (p->operand[k].how == SIMD_SPREAD)
            t->walk[k] = walk_to(&p->operand[k].rows, from);
    for (int k = 0; k < p->n_numbers; k++)
        fill(t->buffer[NUMBERS + k], (real)p->number[k], most);
    for (int r = 0; r < p->n_results; r++)
        t->direct[r] = is_direct(t, r);
}

/* Elements from, .., n - 1 of the strip */
static void run_step(const task *t, int s, int64_t from, int64_t n)
{
    const simd_step *step = &t->p->step[s];
    const real parameters[] = {(real)step->parameter, (real)step->upper};
    const real *in[3];
    for (int k = 0; k < 3; k++)
        in[k] = k < step->n_in ? t->place[step->in[k]] + from : parameters;
    t->loop[s](in[0], in[1], in[2], t->made[s] + from, n - from);
}

/* ---- chains ---------------------------------------------------------------------------------- */

static void run_chain(const task *t, int s, int end, int64_t n)
{
    const simd_program *p = t->p;
    chain_link link[SIMD_STEPS];
    for (int i = s; i < end; i++) {
        const simd_step *step = &p->step[i];
        const bool alone = step->last == i + 1 && i + 1 < end && step->out >= VALUES;
        chain_link *k = &link[i - s];
        *k = (chain_link){.f = step->f,
                          .y = alone ? NULL : t->made[i],
                          .parameter = (real)step->parameter,
                          .upper = (real)step->upper};
        for (int j = 0; j < step->n_in; j++)
            if (i == s || step->in[j] != p->step[i - 1].out)
                k->in[j] = t->place[step->in[j]];
    }
    chain_run(link, link + (end - s), n);
}

static void store(const task *t, int r, int64_t from, int64_t n)
{
    const real *x = t->buffer[RESULTS + r];
    if (!t->p->result[r].is_bool)
        memcpy((real *)t->a->out[r] + from, x, (size_t)n * sizeof *x);
    else
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)t->a->out[r])[from + i] = x[i] != 0;
}

/* Elements from, .., from + n - 1. */
static void run_strip(task *t, int64_t from, int64_t n)
{
    const simd_program *p = t->p;
    const bool is_far = p->count >= SIMD_FAR;
    for (int k = 0; k < p->n_operands; k++)
        if (p->operand[k].how == SIMD_DENSE) {
            t->place[k] = (const real *)t->a->in[k] + from;
            if (is_far)
                simd_ask_ahead(t->place[k], n);
        } else if (p->operand[k].how == SIMD_SPREAD) {
            t->place[k] = walk_on(t, k, n);
        }
    for (int s = 0; s < p->n_steps; s++) {
        int out = p->step[s].out, r = out - RESULTS;
        bool direct = r >= 0 && r < p->n_results && t->direct[r];
        real *y = direct ? (real *)t->a->out[r] + from : t->buffer[out];
        for (int64_t i = 0; is_far && direct && i < n; i += SIMD_LINE)
            __builtin_prefetch(y + n + i, 1);
        t->place[out] = t->made[s] = y;
    }
    for (int s = 0; s < p->n_steps; s = t->end[s]) {
        int64_t whole = t->end[s] - s > 1 ? n - n % CHAIN_BLOCK : 0;
        if (whole)
            run_chain(t, s, t->end[s], whole);
        for (int i = s; whole < n && i < t->end[s]; i++)
            run_step(t, i, whole, n);
    }
    for (int r = 0; r < p->n_results; r++)
        if (!t->direct[r])
            store(t, r, from, n);
}

static void run_piece(const void *args, int64_t piece)
{
    task t;
    t.a = args;
    t.p = t.a->program;
    int64_t from = piece * WGI_PIECE, end = from + WGI_PIECE;
    end = end < t.p->count ? end : t.p->count;
    begin(&t, from, end - from);
    for (; from < end; from += STRIP)
        run_strip(&t, from, end - from < STRIP ? end - from : STRIP);
}

void SIMD(steps)(const simd_steps *a)
{
    const simd_program *p = a->program;
    int64_t work = p->count * p->n_steps;
    simd_tasks(work < 1 << 15 ? 1 : a->threads, (p->count + WGI_PIECE - 1) / WGI_PIECE, run_piece,
               a);
}
