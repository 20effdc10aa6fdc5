#include "backends/cpu/any/rows_of_ids.h"
#include "backends/cpu/kernel.h"

/* Two tensors that are walked with the ids. */
enum { X, OTHER, WALKED };

typedef struct walk {
    const wg_shape *ids;
    int axis, last;
    int64_t stride[WALKED][WG_MAX_RANK];
    cpu_ids_kernel *kernel;
    int64_t rows, columns; /* of a task; a line along the axis lies within one task */
    int64_t pieces;        /* of a row, each a task's */
} walk;

/* Where a row begins: its index along each axis but the last, and its element of each tensor. */
typedef struct place {
    int64_t index[WG_MAX_RANK];
    int64_t at[WALKED];
} place;

static void move(const walk *w, place *p, int k, int64_t by)
{
    p->index[k] += by;
    p->at[OTHER] += by * w->stride[OTHER][k];
    if (k != w->axis) /* along the axis the ids say where */
        p->at[X] += by * w->stride[X][k];
}

static place place_of(const walk *w, int64_t row)
{
    place p = {.at = {0}};
    for (int k = w->last - 1; k >= 0; k--) {
        int64_t size = w->ids->dim[k];
        move(w, &p, k, row % size);
        row /= size;
    }
    return p;
}

static void next_row(const walk *w, place *p)
{
    for (int k = w->last - 1; k >= 0; k--) {
        move(w, p, k, 1);
        if (p->index[k] < w->ids->dim[k])
            return;
        move(w, p, k, -w->ids->dim[k]);
    }
}

static void run_task(const wg_call *c, const walk *w, int64_t task)
{
    int64_t row_size = w->ids->dim[w->last], rows = cpu_count(c->node->in[1]) / row_size;
    int64_t first = task / w->pieces * w->rows, column = task % w->pieces * w->columns;
    int64_t end = first + w->rows < rows ? first + w->rows : rows, left = row_size - column;
    bool along = w->axis == w->last;
    cpu_ids row = {.count = left < w->columns ? left : w->columns,
                   .beside = along ? 0 : 1,
                   .step = w->stride[X][w->axis]};
    place p = place_of(w, first);
    for (int64_t i = first; i < end; i++, next_row(w, &p)) {
        row.ids = i * row_size + column;
        row.other = p.at[OTHER] + column;
        row.at = p.at[X] + (along ? 0 : column);
        w->kernel(c, &row);
    }
}

static void run_tasks(const wg_call *c, const void *loop, int64_t first, int64_t end)
{
    for (int64_t task = first; task < end; task++)
        run_task(c, loop, task);
}

/* A line that has one id along the last axis, as where the logit of a class is taken: all of them
 * are one row. */
typedef struct single {
    cpu_ids_kernel *kernel;
    int64_t size; /* of the axis */
} single;

static bool is_single(const wg_shape *ids, const wg_shape *x, const wg_shape *other)
{
    int last = ids->rank - 1;
    for (int k = 0; k < last; k++)
        if (x->dim[k] != ids->dim[k] || other->dim[k] != ids->dim[k])
            return false;
    return ids->dim[last] == 1 && other->dim[last] == 1;
}

static void run_single(const wg_call *c, const void *loop, int64_t first, int64_t end)
{
    const single *s = loop;
    s->kernel(c, &(const cpu_ids){.count = end - first,
                                  .ids = first,
                                  .other = first,
                                  .at = first * s->size,
                                  .beside = s->size,
                                  .step = 1});
}

/* Lines along the last axis are whole rows; of others, those of neighbouring columns make a task,
 * for each index of the axes before. */
void wgi_cpu_each_row_of_ids(const wg_call *c, int axis, const wg_shape *x, const wg_shape *other,
                             cpu_ids_kernel *kernel)
{
    enum { ROWS = 64, COLUMNS = 256 };
    const wg_shape *ids = &c->node->in[1]->shape;
    walk w = {.ids = ids, .axis = axis, .last = ids->rank - 1, .kernel = kernel, .rows = 1};
    int64_t count = wg_shape_count(ids), rows;
    if (!count)
        return;
    if (axis == w.last && is_single(ids, x, other)) {
        cpu_share(c, &(const single){kernel, x->dim[axis]}, count, cpu_threads(c, count),
                  run_single);
        return;
    }
    rows = count / ids->dim[w.last];
    wg_shape_strides(x, w.stride[X]);
    wg_shape_strides(other, w.stride[OTHER]);
    if (axis == w.last)
        w.rows = ROWS;
    for (int k = axis; k < w.last; k++)
        w.rows *= ids->dim[k];
    w.columns = axis == w.last || ids->dim[w.last] < COLUMNS ? ids->dim[w.last] : COLUMNS;
    w.pieces = (ids->dim[w.last] + w.columns - 1) / w.columns;
    cpu_share(c, &w, (rows + w.rows - 1) / w.rows * w.pieces, cpu_threads(c, count), run_tasks);
}
