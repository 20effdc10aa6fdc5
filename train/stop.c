#include "train/stop.h"
#include "files/lock.h"
#include "files/read.h"
#include "files/replace.h"
#include "graph/error.h"
#include "wengert/train/folder.h"

#include <stdlib.h>
#include <unistd.h>

bool wgi_stop_is_asked(const char *folder)
{
    char *path = wg_folder_path(folder, WG_FILE_STOP);
    bool asked = path && access(path, F_OK) == 0;
    free(path);
    return asked;
}

void wgi_stop_forget(const char *folder)
{
    char *path = wg_folder_path(folder, WG_FILE_STOP);
    if (path)
        unlink(path);
    free(path);
}

wg_status wg_folder_is_training(const char *folder, bool *is, wg_error *error)
{
    wgi_lock lock;
    wg_error busy;
    wg_status status = wg_folder_has(folder, ".wengert.lock", is, error);
    if (status != WG_OK || !*is)
        return status;
    *is = wgi_lock_take(&lock, folder, &busy) != WG_OK || lock.unsupported;
    wgi_lock_release(&lock);
    return WG_OK;
}

wg_status wg_folder_stop(const char *folder, wg_error *error)
{
    bool is;
    const char *missing = wgi_folder_missing(folder);
    if (missing)
        return wgi_error_file(error, WG_EIO, folder, "%s", missing);
    wg_status status = wg_folder_is_training(folder, &is, error);
    if (status == WG_OK && !is)
        return wgi_error_file(error, WG_EINVAL, folder, "no training runs in this folder");
    if (status != WG_OK)
        return status;
    char *path = wg_folder_path(folder, WG_FILE_STOP);
    status = path ? wgi_file_replace_bytes(path, "stop\n", 5, error)
                  : wgi_error_file(error, WG_ENOMEM, folder, "no memory to stop its training");
    free(path);
    return status;
}
