/* The page of a plan: its private graph, and how it is run. */
#include "backends/plan/facts.h"
#include "backends/plan/plan.h"
#include "graph/error.h"
#include "graph/page/page.h"

#include <stdlib.h>

static wgi_page_step step_of(const wg_plan *p, size_t i)
{
    wg_plan_step s = wg_plan_step_at(p, i);
    return (wgi_page_step){.node = s.node,
                           .backend = s.backend,
                           .kernel = s.kernel,
                           .refused = s.refused,
                           .seconds = s.runs ? s.seconds / (double)s.runs : 0,
                           .inplace = s.inplace,
                           .again = s.again,
                           .scratch = p->program.work[i].scratch};
}

/* A storage as a block; what is not in the buffer is in use for all of the run. */
static wgi_page_block block_of(const wg_plan *p, const wgi_storage *s)
{
    if (s->kind != WGI_STORAGE_BUFFER)
        return (wgi_page_block){0, 0, 0, (int64_t)p->program.n_work};
    return (wgi_page_block){s->bytes, s->offset, s->first, s->last};
}

wg_status wg_plan_write_page(const wg_plan *p, const char *title, FILE *file, wg_error *error)
{
    wgi_error_clear(error);
    if (!p || !file)
        return wgi_error_set(error, WG_EINVAL, "wg_plan_write_page: an argument is NULL");
    size_t n_steps = p->program.n_work, n_blocks = p->layout.n_storages;
    wgi_page_step *steps = calloc(n_steps + 1, sizeof *steps);
    wgi_page_block *blocks = calloc(n_blocks + 1, sizeof *blocks);
    wg_status status = WG_ENOMEM;
    if (steps && blocks) {
        for (size_t i = 0; i < n_steps; i++)
            steps[i] = step_of(p, i);
        for (size_t i = 0; i < n_blocks; i++)
            blocks[i] = block_of(p, &p->layout.storage[i]);
        status = wgi_page_write(p->g, title,
                                &(wgi_page_run){.steps = steps,
                                                .n_steps = n_steps,
                                                .blocks = blocks,
                                                .n_blocks = n_blocks,
                                                .block_of = p->layout.storage_of,
                                                .buffer_bytes = p->layout.buffer_bytes},
                                file, error);
    } else
        wgi_error_set(error, status, "out of memory");
    free(steps);
    free(blocks);
    return status;
}
