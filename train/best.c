/* The best models of a run that is resumed: a file that is damaged or missing is made again from a
 * checkpoint with the same weights, or else no longer counts. */
#include "files/read.h"
#include "files/replace.h"
#include "graph/error.h"
#include "train/checkpoint_files.h"
#include "train/owner.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Whether the file is there and matches its checksums; *why says what is wrong otherwise.  A
 * failure to read it is no damage. */
static wg_status look_at(const char *path, bool *whole, wg_error *why)
{
    bool exists;
    wg_safetensors *f = NULL;
    *whole = false;
    wg_status status = wgi_file_exists(path, &exists, why);
    if (status == WG_OK)
        status = exists ? wg_safetensors_open(&f, path, why)
                        : wgi_error_file(why, WG_EDATA, path, "it is missing");
    *whole = status == WG_OK;
    wg_safetensors_close(f);
    why->text[strcspn(why->text, "\n")] = '\0'; /* one tensor tells enough */
    return status == WG_EDATA || status == WG_EUNSUPPORTED ? WG_OK : status;
}

/* Validation is of the averages, where there are any. */
static wgi_file_kind kind_of_best(const wg_trainer *t)
{
    const wg_tensor *tensor;
    for (size_t i = 0; (tensor = wg_store_at(t->store, i)); i++)
        if (wgi_owner_of(tensor->name) == WGI_OWNER_AVERAGE)
            return WGI_FILE_AVERAGE;
    return WGI_FILE_MODEL;
}

/* Makes the file again if the checkpoint of its update is there and whole; *made: it was. */
static wg_status make_again(wg_trainer *t, const wg_best *best, const char *path, const char *why,
                            bool *made)
{
    char *from = NULL;
    wg_error wrong;
    wg_status status =
        wgi_checkpoint_find(&from, t->options.folder, kind_of_best(t), best->update, &t->error);
    *made = false;
    if (status == WG_OK && from)
        status = look_at(from, made, &wrong);
    if (status != WG_OK && from)
        t->error = wrong;
    if (status == WG_OK && *made)
        status = wgi_file_link(from, path, &t->error);
    if (status == WG_OK && *made)
        wgi_report_note(t, "%s; it is made again from %s", why, from);
    free(from);
    return status;
}

/* The next validation then finds a best model, whatever its value. */
static void forget(wg_trainer *t, size_t i)
{
    wg_progress *p = &t->progress;
    char deciding[WG_METRIC_NAME];
    if (wgi_trainer_metric(t, 0, deciding) && strcmp(deciding, p->best[i].metric) == 0)
        p->stalled = 0;
    p->n_best--;
    memmove(&p->best[i], &p->best[i + 1], (p->n_best - i) * sizeof p->best[0]);
}

static wg_status give_up(wg_trainer *t, size_t i, const char *why)
{
    wg_best lost = t->progress.best[i];
    bool moved;
    wg_status status =
        wgi_checkpoint_set_best_aside(t->options.folder, lost.metric, &moved, &t->error);
    if (status != WG_OK)
        return status;
    wgi_report_note(t,
                    "%s; no checkpoint has its weights, those of update %" PRId64
                    ", so the best model is looked for again%s",
                    why, lost.update,
                    moved ? "; the file is now in " WG_FOLDER_CHECKPOINTS "/damaged/" : "");
    forget(t, i);
    return WG_OK;
}

/* *counts: the i-th best model is still one. */
static wg_status check_one(wg_trainer *t, size_t i, bool *counts)
{
    const wg_best *best = &t->progress.best[i];
    wg_error why;
    char *path = wg_folder_path(t->options.folder, "best-%s.safetensors", best->metric);
    if (!path)
        return wgi_error_file(&t->error, WG_ENOMEM, t->options.folder, "out of memory");
    wg_status status = look_at(path, counts, &why);
    if (status != WG_OK)
        t->error = why;
    else if (!*counts)
        status = make_again(t, best, path, why.text, counts);
    free(path);
    return status == WG_OK && !*counts ? give_up(t, i, why.text) : status;
}

wg_status wgi_trainer_check_best(wg_trainer *t)
{
    wg_status status = WG_OK;
    for (size_t i = 0; i < t->progress.n_best && status == WG_OK;) {
        bool counts = false;
        status = check_one(t, i, &counts);
        i += counts;
    }
    return status;
}
