#include "files/read.h"
#include "graph/error.h"
#include "graph/large_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

wg_status wgi_file_exists(const char *path, bool *exists, wg_error *error)
{
    struct stat s;
    *exists = stat(path, &s) == 0;
    return *exists || errno == ENOENT || errno == ENOTDIR
               ? WG_OK
               : wgi_error_errno(error, path, "look for it");
}

const char *wgi_folder_missing(const char *path)
{
    struct stat s;
    if (!*path)
        return "the name is empty";
    if (stat(path, &s) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return NULL;
        return lstat(path, &s) == 0 && S_ISLNK(s.st_mode) ? "a link to nothing" : "no such folder";
    }
    switch (s.st_mode & S_IFMT) {
    case S_IFDIR: return NULL;
    case S_IFREG: return "a file, not a folder";
    case S_IFIFO: return "a FIFO, not a folder";
    default: return "not a folder";
    }
}

const char *wgi_file_mode_text(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFLNK: return "a symbolic link";
    case S_IFDIR: return "a directory";
    case S_IFIFO: return "a FIFO";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    default: return "something else";
    }
}

wg_status wgi_file_open(int *fd, size_t *size, const char *path, wg_error *error)
{
    struct stat s;
    wg_status status = WG_OK;
    do
        *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (*fd < 0 && errno == EINTR);
    if (*fd < 0 || fstat(*fd, &s) != 0)
        status = wgi_error_errno(error, path, "open");
    else if (!S_ISREG(s.st_mode))
        status = wgi_error_file(error, WG_EIO, path, "expected a regular file, got %s",
                                wgi_file_mode_text(s.st_mode));
    else
        *size = (size_t)s.st_size;
    if (status != WG_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

wg_status wgi_file_read_at(int fd, void *bytes, size_t size, uint64_t offset, const char *path,
                           wg_error *error)
{
    for (size_t done = 0; done < size;) {
        size_t piece = size - done < 1 << 30 ? size - done : 1 << 30;
        ssize_t got = pread(fd, (char *)bytes + done, piece, (off_t)(offset + done));
        if (got < 0 && errno != EINTR)
            return wgi_error_errno(error, path, "read");
        if (got == 0)
            return wgi_error_file(error, WG_EIO, path, "became shorter while it was read");
        done += got > 0 ? (size_t)got : 0;
    }
    return WG_OK;
}

ssize_t wgi_file_read_on(int fd, char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

wg_status wgi_file_read(char **bytes, size_t *size, const char *path, size_t max, wg_error *error)
{
    int fd;
    *bytes = NULL;
    *size = 0;
    wg_status status = wgi_file_open(&fd, size, path, error);
    if (status != WG_OK)
        return status;
    ssize_t n = 0;
    if (*size > max)
        status = wgi_error_file(error, WG_EDATA, path, "expected at most %zu bytes, got %zu", max,
                                *size);
    else if (!(*bytes = wgi_in_large_pages(malloc(*size + 1), *size + 1)))
        status = wgi_error_file(error, WG_ENOMEM, path, "no memory to read it");
    else if ((n = wgi_file_read_on(fd, *bytes, *size)) < 0)
        status = wgi_error_errno(error, path, "read");
    close(fd);
    if (status != WG_OK) {
        free(*bytes);
        *bytes = NULL;
        n = 0;
    } else {
        (*bytes)[n] = '\0'; /* NOLINT(clang-analyzer-core.NullDereference): it was read */
    }
    *size = (size_t)n;
    return status;
}
