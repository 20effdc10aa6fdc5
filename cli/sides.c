/* Two runs of one graph on the same numbers. */
#include "backends/store.h"
#include "cli/diff.h"
#include "graph/element.h"
#include "graph/threads.h"

#include <stdlib.h>
#include <string.h>

/* ---- the numbers both start from ------------------------------------------------------------- */

static bool is_stored(const wg_node *n)
{
    return n->op->flags & (WG_OP_PARAMETER | WG_OP_STATE);
}

/* Every parameter and state of g with its initial value. */
static wg_status draw_leaves(wg_store *store, const wg_graph *g, int threads)
{
    const wg_tensor *t;
    wg_status status = store ? WG_OK : WG_ENOMEM;
    for (size_t i = 0; i < wg_graph_node_count(g) && status == WG_OK; i++)
        if (is_stored(wg_graph_node(g, i)))
            status = wgi_store_leaf(store, wg_graph_node(g, i)->out[0], threads, &t);
    return status;
}

static int make_numbers(side *s, const wg_graph *g, const diff_request *r)
{
    wg_error error;
    s->numbers = wg_store_new(r->seed);
    wg_status status = draw_leaves(s->numbers, g, wgi_threads(r->backends.threads));
    if (status != WG_OK)
        complain("the parameters: %s", wg_status_text(status));
    else if (r->kind == DIFF_WEIGHTS &&
             (status = wg_store_load(s->numbers, s->label, &error)) != WG_OK)
        complain_error(&error);
    return exit_code(status);
}

/* Elements in another dtype, rounded to nearest. */
static void convert(void *to, wg_dtype as, const void *from, wg_dtype dtype, int64_t count)
{
    if (as == dtype) {
        memcpy(to, from, (size_t)count * wg_dtype_size(dtype));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        wgi_put_element(to, as, i, wgi_get_element(from, dtype, i));
}

/* Fills the leaves of a plan from the numbers in the dtypes of g. */
static int fill_leaves(side *s, const wg_graph *g, const source *from, uint64_t seed)
{
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        const wg_value *v = n->n_out ? n->out[0] : NULL, *here = v ? s->map[v->id] : NULL;
        bool input = n->op->flags & WG_OP_INPUT;
        void *to = here && (input || is_stored(n)) ? wg_plan_data(s->plan, here) : NULL;
        if (!to)
            continue;
        void *drawn = input ? malloc(wg_value_bytes(v) + 1) : NULL;
        const wg_tensor *t = input ? NULL : wg_store_find(s->numbers, v->name);
        if (drawn)
            source_fill(from, v, drawn, seed);
        const void *numbers = t ? t->data : drawn;
        if (numbers)
            convert(to, here->dtype, numbers, v->dtype, wg_value_count(v));
        free(drawn);
        if (!numbers) {
            complain("out of memory");
            return EXIT_RUN;
        }
    }
    return EXIT_OK;
}

/* ---- graphs and plans ------------------------------------------------------------------------ */

static int dtype_of(const char *name, wg_dtype *out)
{
    static const wg_dtype floats[] = {WG_F64, WG_F32, WG_BF16, WG_F16};
    for (int i = 0; i < WG_COUNT(floats); i++)
        if (strcmp(name, wg_dtype_name(floats[i])) == 0) {
            *out = floats[i];
            return EXIT_OK;
        }
    complain("--dtypes: expected f64, f32, bf16 or f16, got '%s'", name);
    return EXIT_USAGE;
}

/* A copy of g in the side's dtype. */
static int copy_graph(side *s, const wg_graph *g, const diff_request *r)
{
    wg_clone_options o = {0};
    int code = r->kind == DIFF_DTYPES ? dtype_of(s->label, &o.floats_as) : EXIT_OK;
    s->map = calloc(wg_graph_value_count(g) + 1, sizeof(wg_value *));
    if (code == EXIT_OK && s->map)
        s->g = wg_graph_clone(g, &o, s->map);
    if (code == EXIT_OK && wg_graph_status(s->g) != WG_OK) {
        complain("%s: %s", s->label, wg_graph_message(s->g));
        code = exit_code(wg_graph_status(s->g));
    }
    return code;
}

/* Computes outputs and assigned values; without assignments, so that leaves stay as they are. */
static int make_plan(side *s, const diff_request *r)
{
    const wg_backend_list *list = r->kind == DIFF_BACKENDS ? &s->list : &r->backends.set[0].list;
    size_t n = wg_graph_output_count(s->g), n_assigns = wg_graph_assign_count(s->g);
    wg_value **wanted = calloc(n + n_assigns + 1, sizeof *wanted), *leaf;
    for (size_t i = 0; wanted && i < n; i++)
        wanted[i] = wg_graph_output(s->g, i);
    for (size_t i = 0; wanted && i < n_assigns; i++)
        wg_graph_assign_at(s->g, i, &leaf, &wanted[n + i]);
    wg_status status = wanted ? wg_plan_create(&s->plan, s->g,
                                               &(wg_plan_options){.outputs = wanted,
                                                                  .n_outputs = n + n_assigns,
                                                                  .backends = list->backend,
                                                                  .n_backends = list->count,
                                                                  .threads = r->backends.threads,
                                                                  .seed = r->seed,
                                                                  .keep_all = true,
                                                                  .no_fuse = r->no_fuse})
                              : WG_ENOMEM;
    free(wanted);
    const char *why = wg_graph_message(s->g);
    if (status != WG_OK)
        complain("%s: %s", s->label, *why ? why : wg_status_text(status));
    return exit_code(status);
}

static int run_side(side *s, const wg_graph *g, const source *from, const diff_request *r)
{
    wg_error error;
    int code = EXIT_OK;
    if (r->kind == DIFF_BACKENDS && wg_backend_list_open(&s->list, s->label, &error) != WG_OK)
        code = complain_error(&error);
    if (code == EXIT_OK)
        code = copy_graph(s, g, r);
    if (code == EXIT_OK)
        code = make_numbers(s, g, r);
    if (code == EXIT_OK)
        code = make_plan(s, r);
    if (code == EXIT_OK)
        code = fill_leaves(s, g, from, r->seed);
    if (code == EXIT_OK && wg_plan_run(s->plan, r->step) != WG_OK) {
        complain("%s: %s", s->label, wg_plan_message(s->plan));
        code = EXIT_DATA;
    }
    return code;
}

int sides_run(side s[2], wg_graph *g, const source *from, const diff_request *r)
{
    const char *comma = strchr(r->pair, ',');
    int lengths[2] = {(int)(comma - r->pair), (int)strlen(comma + 1)}, code = EXIT_OK;
    for (int i = 0; i < 2 && code == EXIT_OK; i++) {
        const char *label = i ? comma + 1 : r->pair;
        if (lengths[i] >= (int)sizeof s[i].label) {
            complain("'%.*s' is longer than %zu bytes", lengths[i], label, sizeof s[i].label - 1);
            return EXIT_USAGE;
        }
        snprintf(s[i].label, sizeof s[i].label, "%.*s", lengths[i], label);
        code = run_side(&s[i], g, from, r);
    }
    return code;
}

void sides_free(side s[2])
{
    for (int i = 0; i < 2; i++) {
        wg_plan_free(s[i].plan);
        wg_graph_free(s[i].g);
        wg_store_free(s[i].numbers);
        wg_backend_list_close(&s[i].list);
        free(s[i].map);
    }
}
