#include "train/rows.h"

int64_t wgi_rows_in(const wg_shape *s)
{
    return s->rank ? s->dim[0] : 1;
}

int64_t wgi_first_row(const wg_shape *s, int64_t before, int64_t total, int64_t r, int64_t size)
{
    const int64_t rows = wgi_rows_in(s), width = rows ? wg_shape_count(s) / rows : 0;
    const int64_t border = total / size * r + total % size * r / size;
    if (width == 0)
        return r > 0 ? rows : 0;
    int64_t row = border <= before ? 0 : (border - before + width - 1) / width;
    return row < rows ? row : rows;
}

const wg_rows *wgi_shard_rows(const wg_ranks *ranks, wg_value *const *params, size_t n)
{
    const int64_t rank = wg_ranks_rank(ranks), size = wg_ranks_count(ranks);
    wg_rows *rows = n ? wg_graph_alloc(wg_graph_of(params[0]), n * sizeof *rows) : NULL;
    int64_t total = 0, before = 0;
    for (size_t i = 0; i < n; i++)
        total += wg_value_count(params[i]);
    for (size_t i = 0; i < n && rows; i++) {
        const wg_shape *s = &params[i]->shape;
        rows[i].first = wgi_first_row(s, before, total, rank, size);
        rows[i].count = wgi_first_row(s, before, total, rank + 1, size) - rows[i].first;
        before += wg_value_count(params[i]);
    }
    return rows;
}
