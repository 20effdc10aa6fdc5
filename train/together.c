/* A run on several ranks: what they check of each other and what they exchange beside gradients. */
#include "backends/store.h"
#include "files/checksum.h"
#include "files/read.h"
#include "graph/error.h"
#include "graph/threads.h"
#include "train/owner.h"
#include "train/trainer.h"
#include "wengert/backends/isa.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

wg_status wgi_agree(wg_trainer *t, wg_status own)
{
    return t->options.ranks ? wg_ranks_agree(t->options.ranks, own, &t->error) : own;
}

/* Room for `bytes` of each rank; NULL on all ranks if one has no memory. */
static void *room_for_all(wg_trainer *t, size_t bytes)
{
    void *all = calloc((size_t)wg_ranks_count(t->options.ranks), bytes + 1);
    wg_status status = all ? WG_OK : wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    if (wgi_agree(t, status) == WG_OK)
        return all;
    free(all);
    return NULL;
}

/* ---- what must be the same ------------------------------------------------------------------- */

enum { MOST_FACTS = 160 };

typedef struct facts {
    size_t n;
    const char *name[MOST_FACTS];
    uint64_t hash[MOST_FACTS];
} facts;

static void add_hash(facts *f, const char *name, uint64_t hash)
{
    if (f->n == MOST_FACTS)
        return;
    f->name[f->n] = name;
    f->hash[f->n++] = hash;
}

static void add_bytes(facts *f, const char *name, const void *bytes, size_t size)
{
    add_hash(f, name, wgi_xxh64(bytes, size, 0));
}

/* The file of the program, which is the library's too where that is linked statically. */
static void add_program(facts *f)
{
    char *bytes = NULL;
    size_t size = 0;
    uint64_t hash = 0;
    if (wgi_file_read(&bytes, &size, "/proc/self/exe", (size_t)1 << 30, NULL) == WG_OK)
        hash = wgi_xxh64(bytes, size, 0);
    free(bytes);
    add_hash(f, "program", hash);
}

/* Whether all ranks have the tensor, and with the same numbers after an update. */
static bool is_common(const wg_trainer *t, const wg_tensor *x)
{
    return wgi_owner_of(x->name) != WGI_OWNER_GRADIENT &&
           !(wgi_is_moment(x->name) && t->options.shard_optimizer);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const wg_tensor *const *)a)->name, (*(const wg_tensor *const *)b)->name);
}

/* Those tensors in the order of their names, which the caller frees; the status is the same on all
 * ranks. */
static wg_status list_common(wg_trainer *t, const wg_tensor ***list, size_t *n)
{
    const wg_tensor *x;
    *list = calloc(wg_store_count(t->store) + 1, sizeof(wg_tensor *));
    *n = 0;
    for (size_t i = 0; *list && (x = wg_store_at(t->store, i)); i++)
        if (is_common(t, x))
            (*list)[(*n)++] = x;
    if (*n)
        qsort(*list, *n, sizeof(wg_tensor *), by_name);
    wg_status status =
        wgi_agree(t, *list ? WG_OK : wgi_error_set(&t->error, WG_ENOMEM, "out of memory"));
    if (status == WG_OK)
        return WG_OK;
    free(*list);
    *list = NULL;
    return status;
}

/* The graph of the first update, with the optimizer and its numbers, as one process would have
 * it. */
static wg_status add_model(facts *f, wg_trainer *t)
{
    const wg_source *source = &t->train.s;
    wg_trainer_options o = t->options;
    wg_shape *shapes;
    wg_batch_size size;
    wgi_step_graph s;
    wg_status status = wgi_plans_describe(&t->plans, source, 0, 0, &shapes, &size, &t->error);
    if (status != WG_OK)
        return status;
    o.shard_optimizer = false;
    wgi_step_build(&s, &o, source->fields, source->n_fields, shapes, WGI_STEP_UPDATES, 0);
    status = wg_graph_status(s.graph); /* it was planned before */
    uint64_t hash = status == WG_OK ? wg_graph_hash(s.graph) : 0;
    for (size_t i = 0; status == WG_OK && i < wg_graph_value_count(s.graph); i++) {
        const wg_value *v = wg_graph_value(s.graph, i);
        if (v->name && v->node->op->flags & (WG_OP_PARAMETER | WG_OP_STATE))
            hash = wgi_xxh64(v->name, strlen(v->name), hash);
    }
    wgi_plans_keep(&t->plans, s.graph);
    add_hash(f, "model", hash);
    return status == WG_OK ? WG_OK : wgi_error_set(&t->error, status, "out of memory");
}

/* Amounts, whose unused bytes say nothing. */
static void add_amount(facts *f, const char *name, wg_amount a)
{
    const int64_t numbers[] = {a.n, a.unit};
    add_bytes(f, name, numbers, sizeof numbers);
}

static wg_status list_facts(facts *f, wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    const wg_checkpoint_options *files = &t->task.files;
    wg_isa isa = wg_isa_best();
    if (isa == WG_ISA_AVX2_VNNI) /* its products are of integers: training does without */
        isa = WG_ISA_AVX2;
    add_program(f);
    add_bytes(f, "instruction set", &isa, sizeof isa);
    for (size_t i = 0; i < files->n_settings; i++)
        add_bytes(f, files->settings[i].key, files->settings[i].text,
                  strlen(files->settings[i].text));
    add_hash(f, "training data", t->train.s.hash);
    add_hash(f, "validation data", t->valid.s.hash);
    add_hash(f, "number of training batches", (uint64_t)t->train.s.batches);
    add_hash(f, "number of validation batches", (uint64_t)t->valid.s.batches);
    add_hash(f, "vocabularies", t->task.vocabularies);
    add_hash(f, "bucket size", o->reduce.bucket_bytes);
    add_hash(f, "dtype of messages", (uint64_t)o->reduce.wire);
    add_hash(f, "sharding of the optimizer", o->shard_optimizer);
    add_amount(f, "length of the run", o->after);
    add_amount(f, "interval of reports", o->report);
    add_amount(f, "interval of validations", o->validate);
    add_amount(f, "interval of checkpoints", o->save);
    add_hash(f, "patience", (uint64_t)o->patience);
    if (o->metrics)
        add_bytes(f, "list of metrics", o->metrics, strlen(o->metrics));
    return add_model(f, t);
}

/* The first fact of which a rank has another than rank 0. */
static wg_status find_difference(wg_trainer *t, const facts *own, const facts *all)
{
    const wg_ranks *ranks = t->options.ranks;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without memory the status says so */
    for (size_t i = 0; i < own->n; i++)
        for (int r = 1; r < wg_ranks_count(ranks); r++)
            if (all[r].n != all[0].n || all[r].hash[i] != all[0].hash[i])
                return wgi_error_set(&t->error, WG_EINVAL,
                                     "%s has another %s than %s: all ranks need the same "
                                     "program, model, data and settings",
                                     wg_ranks_name(ranks, r),
                                     all[r].n == all[0].n ? own->name[i] : "list of settings",
                                     wg_ranks_name(ranks, 0));
    return WG_OK;
}

wg_status wgi_ranks_compare(wg_trainer *t)
{
    if (!t->options.ranks)
        return WG_OK;
    facts *own = calloc(1, sizeof *own);
    wg_status status =
        own ? list_facts(own, t) : wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    status = wgi_agree(t, status);
    facts *all = status == WG_OK ? room_for_all(t, sizeof *all) : NULL;
    if (all) {
        wg_ranks_gather(t->options.ranks, own, sizeof *own, all);
        status = find_difference(t, own, all);
    } else if (status == WG_OK) {
        status = WG_ENOMEM;
    }
    free(own);
    free(all);
    return status;
}

/* ---- the state ------------------------------------------------------------------------------- */

wg_status wgi_ranks_start(wg_trainer *t)
{
    struct start {
        wg_progress progress;
        int64_t saved;
        double seconds_until;
        bool resumes;
    } start = {t->progress, t->saved, t->seconds_until, t->resumes};
    wg_ranks *ranks = t->options.ranks;
    const wg_tensor **list;
    size_t n;
    if (!ranks)
        return WG_OK;
    wg_ranks_broadcast(ranks, &start, sizeof start, 0);
    t->progress = start.progress;
    t->saved = start.saved;
    t->seconds_until = start.seconds_until;
    t->resumes = start.resumes;
    wg_status status = list_common(t, &list, &n);
    if (status != WG_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        wg_ranks_broadcast(ranks, list[i]->data, wgi_tensor_bytes(list[i]), 0);
    free(list);
    return WG_OK;
}

/* Which rank has gone astray if those marked in `differs` are not as rank 0: rank 0 itself if it
 * stands alone. */
static int astray(const uint64_t *all, size_t n, size_t i, int count)
{
    int others = 0, first = 0;
    for (int r = count - 1; r > 0; r--)
        if (all[(size_t)r * n + i] != all[i]) {
            others++;
            first = r;
        }
    return count > 2 && others == count - 1 ? 0 : first;
}

static wg_status find_astray(wg_trainer *t, const wg_tensor **list, const uint64_t *all, size_t n)
{
    const wg_ranks *ranks = t->options.ranks;
    const int count = wg_ranks_count(ranks);
    for (size_t i = 0; i < n; i++)
        for (int r = 1; r < count; r++)
            if (all[(size_t)r * n + i] != all[i])
                return wgi_error_set(
                    &t->error, WG_EDATA,
                    "update %" PRId64
                    " is not saved: %s has other numbers in %s than the other ranks, first "
                    "noticed now; its memory or its processor may be at fault.  The checkpoints "
                    "are unchanged: run the same command to go on from the last one",
                    t->progress.update, wg_ranks_name(ranks, astray(all, n, i, count)),
                    list[i]->name);
    return WG_OK;
}

wg_status wgi_ranks_compare_state(wg_trainer *t)
{
    const wg_tensor **list;
    size_t n;
    if (!t->options.ranks)
        return WG_OK;
    wg_status status = list_common(t, &list, &n);
    if (status != WG_OK)
        return status;
    uint64_t *own = calloc(n + 1, sizeof *own), *all = NULL;
    status = wgi_agree(t, own ? WG_OK : wgi_error_set(&t->error, WG_ENOMEM, "out of memory"));
    for (size_t i = 0; own && i < n && status == WG_OK; i++)
        own[i] = wgi_xxh64(list[i]->data, wgi_tensor_bytes(list[i]), 0);
    if (status == WG_OK && !(all = room_for_all(t, n * sizeof *all)))
        status = WG_ENOMEM;
    if (status == WG_OK) {
        wg_ranks_gather(t->options.ranks, own, n * sizeof *own, all);
        status = find_astray(t, list, all, n);
    }
    free(list);
    free(own);
    free(all);
    return status;
}

/* ---- reports --------------------------------------------------------------------------------- */

wg_status wgi_ranks_add(wg_trainer *t, wgi_means *m)
{
    double x[2 + WG_MAX_METRICS] = {(double)m->weight, (double)m->examples};
    if (!t->options.ranks)
        return WG_OK;
    for (size_t i = 0; i < m->n; i++)
        x[2 + i] = m->metric[i].value;
    wg_status status = wg_ranks_sum(t->options.ranks, x, WG_COUNT(x), &t->error);
    m->weight = (int64_t)x[0];
    m->examples = (int64_t)x[1];
    for (size_t i = 0; i < m->n; i++)
        m->metric[i].value = x[2 + i];
    return status;
}

void wgi_ranks_first_text(wg_trainer *t, char *text, size_t size)
{
    wg_ranks *ranks = t->options.ranks;
    if (!ranks)
        return;
    char *all = room_for_all(t, size);
    if (!all)
        return;
    wg_ranks_gather(ranks, text, size, all);
    int r = 0;
    while (r + 1 < wg_ranks_count(ranks) && !all[(size_t)r * size])
        r++;
    if (all[(size_t)r * size])
        snprintf(text, size, "; on %s%.*s", wg_ranks_name(ranks, r), (int)size - 120,
                 all + (size_t)r * size + 1);
    free(all);
}

void wgi_ranks_note_binding(wg_trainer *t)
{
    wg_ranks *ranks = t->options.ranks;
    const int64_t own[3] = {wgi_threads(t->options.threads), wgi_threads_processors(),
                            sysconf(_SC_NPROCESSORS_ONLN)};
    int64_t(*all)[3] = ranks ? room_for_all(t, sizeof own) : NULL;
    if (!all)
        return;
    wg_ranks_gather(ranks, own, sizeof own, all);
    for (int r = 0; r < wg_ranks_count(ranks); r++)
        if (all[r][1] < all[r][0] || (all[r][1] == 1 && all[r][2] > 1 && !t->options.threads))
            wgi_report_note(t,
                            "%s is bound to %" PRId64 " of %" PRId64 " processors and has %" PRId64
                            " threads: mpirun --bind-to none leaves it all of them",
                            wg_ranks_name(ranks, r), all[r][1], all[r][2], all[r][0]);
    free(all);
}
