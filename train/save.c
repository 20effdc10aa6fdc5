/* What a run writes to its folder as it goes on. */
#include "files/read.h"
#include "graph/error.h"
#include "train/checkpoint_files.h"
#include "train/trainer.h"
#include "wengert/train/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_complete(const wg_trainer *t, int64_t update)
{
    bool exists = false;
    char *path = wgi_checkpoint_path(t->options.folder, WGI_FILE_PROGRESS, update);
    wg_status status = path ? wgi_file_exists(path, &exists, NULL) : WG_ENOMEM;
    free(path);
    return status == WG_OK && exists;
}

/* The newest checkpoint that was written, -1 if there is none: that of the last update, if nothing
 * failed but to make it the folder's own. */
static int64_t last_complete(const wg_trainer *t)
{
    if (is_complete(t, t->progress.update))
        return t->progress.update;
    return t->saved >= 0 && is_complete(t, t->saved) ? t->saved : -1;
}

wg_status wgi_trainer_blame_folder(wg_trainer *t, wg_status status)
{
    if (status == WG_OK)
        return WG_OK;
    wg_status there = wgi_lock_check(&t->lock, t->options.folder, &t->error);
    int64_t update = last_complete(t);
    if (there != WG_OK || status != WG_EIO)
        return there == WG_OK ? status : there;
    if (update >= 0)
        return wgi_error_line(&t->error, status,
                              "the checkpoint of update %" PRId64 " is intact; the run resumes "
                              "from it",
                              update);
    return t->saved < 0 ? wgi_error_line(&t->error, status, "nothing was saved yet") : status;
}

wg_status wgi_trainer_save_best(wg_trainer *t, const char *metric)
{
    const char *folder = t->options.folder;
    wg_status status = wgi_lock_check(&t->lock, folder, &t->error);
    if (status != WG_OK)
        return status;
    char *path = wg_folder_path(folder, "best-%s.safetensors", metric);
    status = path
                 ? wg_checkpoint_write_model(t->store, &t->task.files, path, &t->error)
                 : wgi_error_file(&t->error, WG_ENOMEM, folder, "no memory to save the best model");
    free(path);
    return wgi_trainer_blame_folder(t, status);
}

static wg_status write_checkpoint(wg_trainer *t, wg_checkpoint_reason reason)
{
    wg_status status = wgi_lock_check(&t->lock, t->options.folder, &t->error);
    if (status == WG_OK && t->task.renew)
        status = t->task.renew(t->task.context, t);
    if (status == WG_OK)
        status = wgi_report_saving(t);
    wg_checkpoint_options files = t->task.files;
    files.moments = t->shards.whole;
    if (status == WG_OK)
        status = wgi_checkpoint_save(t->options.folder, t->store, &t->progress, &files, reason,
                                     &t->error);
    return wgi_trainer_blame_folder(t, status);
}

wg_status wgi_trainer_save(wg_trainer *t, wg_checkpoint_reason reason)
{
    double start = wgi_seconds();
    if (t->saved == t->progress.update || !t->saves)
        return WG_OK;
    wg_ranks_doing(t->options.ranks, "saving update %" PRId64, t->progress.update);
    wg_status status = wgi_shards_share_averages(t);
    if (status == WG_OK)
        status = wgi_ranks_compare_state(t);
    if (status == WG_OK)
        status = wgi_shards_gather(t);
    if (status == WG_OK)
        status = wgi_agree(t, t->options.folder ? write_checkpoint(t, reason) : WG_OK);
    wgi_shards_free_whole(&t->shards);
    if (status != WG_OK)
        return status;
    t->saved = t->progress.update;
    t->span.start += wgi_seconds() - start;
    wgi_report_saved(t);
    return WG_OK;
}
