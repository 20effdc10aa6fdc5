#include "files/replace.h"
#include "graph/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- replacing a file ------------------------------------------------------------------------ */

struct wgi_file_writer {
    int fd;
    int error; /* errno of the first failure, or 0 */
    size_t used;
    char buffer[1 << 16];
};

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0) /* no progress and no errno: treated as a full disk */
            errno = ENOSPC;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static bool flush(wgi_file_writer *w)
{
    size_t n = w->used;
    w->used = 0;
    if (!w->error && !write_all(w->fd, w->buffer, n))
        w->error = errno;
    return !w->error;
}

bool wgi_file_put(wgi_file_writer *w, const void *bytes, size_t size)
{
    if (w->used + size > sizeof w->buffer && !flush(w))
        return false;
    if (size > sizeof w->buffer) {
        if (!w->error && !write_all(w->fd, bytes, size))
            w->error = errno;
    } else if (size) {
        memcpy(w->buffer + w->used, bytes, size);
        w->used += size;
    }
    return !w->error;
}

/* Syncs the folder of a file, so that a rename in it is on disk.  Cuts the name off the path. */
static bool sync_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    int fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    /* EINVAL: a file system without anything to sync */
    bool ok = fsync(fd) == 0 || errno == EINVAL;
    int saved = errno;
    ok = close(fd) == 0 && ok;
    errno = saved;
    return ok;
}

wg_status wgi_file_replace(const char *path, void (*write)(wgi_file_writer *w, void *context),
                           void *context, wg_error *error)
{
    size_t room = strlen(path) + 32;
    char *temporary = malloc(room);
    wgi_file_writer *w = malloc(sizeof *w);
    wg_status status = WG_OK;
    struct stat s;
    /* a rename would replace a device or a pipe */
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode)) {
        status = wgi_error_file(error, WG_EIO, path,
                                "expected a regular file to replace, or none, got a %s",
                                S_ISDIR(s.st_mode) ? "directory" : "pipe or device");
        goto end;
    }
    if (!temporary || !w) {
        status = wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
        goto end;
    }
    snprintf(temporary, room, "%s.tmp-%ld", path, (long)getpid());
    w->used = 0;
    w->error = 0;
    w->fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        status = wgi_error_errno(error, temporary, "open for writing");
        goto end;
    }
    write(w, context);
    if (!flush(w)) {
        errno = w->error;
        status = wgi_error_errno(error, temporary, "write");
    } else if (fsync(w->fd) != 0) {
        status = wgi_error_errno(error, temporary, "fsync");
    }
    if (close(w->fd) != 0 && status == WG_OK)
        status = wgi_error_errno(error, temporary, "close");
    if (status == WG_OK && rename(temporary, path) != 0)
        status = wgi_error_errno(error, path, "rename");
    if (status != WG_OK)
        unlink(temporary);
    else if (!sync_folder(temporary))
        status = wgi_error_errno(error, path, "fsync of its folder");
end:
    free(w);
    free(temporary);
    return status;
}

/* ---- a second name --------------------------------------------------------------------------- */

typedef struct copying {
    int from;
    int error; /* errno of the first failure to read, or 0 */
} copying;

static void copy(wgi_file_writer *w, void *context)
{
    copying *c = context;
    char bytes[1 << 14];
    ssize_t n;
    while ((n = read(c->from, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && !wgi_file_put(w, bytes, (size_t)n))
            return;
    if (n < 0)
        w->error = c->error = errno;
}

static wg_status copy_file(const char *from, const char *to, wg_error *error)
{
    copying c = {open(from, O_RDONLY | O_CLOEXEC), 0};
    if (c.from < 0)
        return wgi_error_errno(error, from, "open");
    wg_status status = wgi_file_replace(to, copy, &c, error);
    close(c.from);
    return status;
}

wg_status wgi_file_link(const char *from, const char *to, wg_error *error)
{
    size_t room = strlen(to) + 32;
    char *temporary = malloc(room);
    if (!temporary)
        return wgi_error_file(error, WG_ENOMEM, to, "no memory to write it");
    snprintf(temporary, room, "%s.tmp-%ld", to, (long)getpid());
    unlink(temporary);
    wg_status status = WG_OK;
    bool linked = link(from, temporary) == 0;
    if (!linked)
        status =
            errno == ENOENT ? wgi_error_errno(error, from, "link") : copy_file(from, to, error);
    else if (rename(temporary, to) != 0)
        status = wgi_error_errno(error, to, "rename");
    unlink(temporary); /* renaming a file to another name of the same file leaves both */
    if (linked && status == WG_OK && !sync_folder(temporary))
        status = wgi_error_errno(error, to, "fsync of its folder");
    free(temporary);
    return status;
}
