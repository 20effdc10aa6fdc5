#include "files/lock.h"
#include "graph/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = "/.wengert.lock";

/* Whether the path still leads to the open file: the process that had locked it may have removed it
 * after it was opened here. */
static bool is_current(int fd, const char *path)
{
    struct stat open_one, there;
    return fstat(fd, &open_one) == 0 && stat(path, &there) == 0 &&
           open_one.st_ino == there.st_ino && open_one.st_dev == there.st_dev;
}

static wg_status refuse(int fd, const char *folder, wg_error *error)
{
    char text[24] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    long pid = n > 0 ? strtol(text, NULL, 10) : 0;
    char who[48] = "another process";
    if (pid > 0)
        snprintf(who, sizeof who, "process %ld", pid);
    return wgi_error_file(error, WG_EIO, folder,
                          "%s is training in this folder: wait until it ends, stop it, or use "
                          "another folder",
                          who);
}

/* Opens and locks the file, which stays open if another process has locked it. */
static wg_status open_locked(wgi_lock *l, const char *folder, wg_error *error)
{
    for (;;) {
        l->fd = open(l->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
        if (l->fd < 0 && errno == EINTR)
            continue;
        if (l->fd < 0)
            return wgi_error_errno(error, l->path, "open for writing");
        bool locked = flock(l->fd, LOCK_EX | LOCK_NB) == 0;
        if (!locked && errno == EWOULDBLOCK)
            return refuse(l->fd, folder, error);
        l->unsupported = !locked && errno != EINTR;
        if (l->unsupported || (locked && is_current(l->fd, l->path)))
            return WG_OK;
        close(l->fd);
    }
}

/* For the message of those that are refused: what fails here does no harm. */
static void write_number(int fd)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) < 0)
        errno = 0;
}

static wg_status remember(wgi_lock *l, const char *folder, wg_error *error)
{
    struct stat s;
    if (stat(folder, &s) != 0)
        return wgi_error_errno(error, folder, "look for it");
    l->device = s.st_dev;
    l->inode = s.st_ino;
    return WG_OK;
}

wg_status wgi_lock_take(wgi_lock *out, const char *folder, wg_error *error)
{
    size_t n = strlen(folder);
    *out = (wgi_lock){.path = malloc(n + sizeof name), .fd = -1};
    if (!out->path)
        return wgi_error_file(error, WG_ENOMEM, folder, "no memory to lock it");
    memcpy(out->path, folder, n);
    memcpy(out->path + n, name, sizeof name);
    wg_status status = open_locked(out, folder, error);
    if (status == WG_OK)
        status = remember(out, folder, error);
    if (status == WG_OK) {
        write_number(out->fd);
        return WG_OK;
    }
    if (out->fd >= 0)
        close(out->fd);
    free(out->path);
    *out = (wgi_lock){.path = NULL, .fd = -1};
    return status;
}

wg_status wgi_lock_check(const wgi_lock *l, const char *folder, wg_error *error)
{
    struct stat s;
    if (!l->path)
        return WG_OK;
    bool there = stat(folder, &s) == 0;
    if (!there && errno != ENOENT && errno != ENOTDIR)
        return wgi_error_errno(error, folder, "look for it");
    if (there && s.st_dev == l->device && s.st_ino == l->inode)
        return WG_OK;
    return wgi_error_file(error, WG_EIO, folder,
                          "it was renamed or removed while this process trained in it; what was "
                          "saved is where the folder is now");
}

void wgi_lock_release(wgi_lock *l)
{
    if (!l->path)
        return;
    if (is_current(l->fd, l->path))
        unlink(l->path);
    close(l->fd);
    free(l->path);
    *l = (wgi_lock){.path = NULL, .fd = -1};
}
