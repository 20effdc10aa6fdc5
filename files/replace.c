#include "files/replace.h"
#include "files/read.h"
#include "graph/error.h"
#include "graph/mix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- temporary files ------------------------------------------------------------------------- */

static const char opening[] = ".wengert-", ending[] = ".tmp", hexadecimal[] = "0123456789abcdef";
enum {
    OPENING = sizeof opening - 1,
    DIGITS = 16,
    NAME = OPENING + DIGITS + sizeof ending - 1,
    TRIES = 100
};

static bool is_temporary(const char *name)
{
    return strlen(name) == NAME && memcmp(name, opening, OPENING) == 0 &&
           strspn(name + OPENING, hexadecimal) == DIGITS &&
           strcmp(name + OPENING + DIGITS, ending) == 0;
}

/* A name for a temporary file is unlikely to be taken, and one that is makes no harm. */
static uint64_t random_number(void)
{
    uint64_t n;
    struct timespec now = {0};
    if (getrandom(&n, sizeof n, GRND_NONBLOCK) == (ssize_t)sizeof n)
        return n;
    clock_gettime(CLOCK_REALTIME, &now);
    return wgi_mix64((uint64_t)now.tv_nsec + ((uint64_t)getpid() << 32));
}

/* Another name at the end of the path. */
static void rename_temporary(char *path)
{
    uint64_t n = random_number();
    char *digit = path + strlen(path) - NAME + OPENING;
    for (int i = 0; i < DIGITS; i++)
        digit[i] = hexadecimal[n >> (4 * i) & 15];
}

/* The path of a temporary file beside the one at `path`, the caller's to free; NULL without
 * memory. */
static char *temporary_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    char *t = malloc(folder + NAME + 1);
    if (!t)
        return NULL;
    memcpy(t, path, folder);
    memcpy(t + folder, opening, OPENING);
    memset(t + folder + OPENING, '0', DIGITS);
    memcpy(t + folder + OPENING + DIGITS, ending, sizeof ending);
    rename_temporary(t);
    return t;
}

/* Locks the file as that of a living process; false if it was removed before.  Where there are no
 * locks, nothing is taken for abandoned either. */
static bool claim(int fd)
{
    struct stat s;
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    return fstat(fd, &s) != 0 || s.st_nlink > 0;
}

/* Makes and locks the file, under another name if that one is taken; -1: see errno. */
static int create_temporary(char *path)
{
    for (int i = 0; i < TRIES; i++, rename_temporary(path)) {
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST && errno != EINTR)
            return -1;
        if (fd >= 0 && claim(fd))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    errno = EEXIST;
    return -1;
}

static void remove_if_abandoned(int folder, const char *name)
{
    struct stat s;
    int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(fd);
}

void wgi_file_remove_abandoned(const char *folder)
{
    DIR *d = opendir(folder);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has d */
    for (struct dirent *e; d && (e = readdir(d));)
        if (is_temporary(e->d_name))
            remove_if_abandoned(dirfd(d), e->d_name);
    if (d)
        closedir(d);
}

/* ---- replacing a file ------------------------------------------------------------------------ */

struct wgi_file_writer {
    int fd;
    int error; /* errno of the first failure, or 0 */
    size_t used;
    char buffer[1 << 16];
};

/* Where the file is at (HERE), or at byte `at` of it. */
enum { HERE = -1 };
static bool write_all(int fd, const char *bytes, size_t size, off_t at)
{
    while (size) {
        ssize_t n = at == HERE ? write(fd, bytes, size) : pwrite(fd, bytes, size, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0) /* no progress and no errno: treated as a full disk */
            errno = ENOSPC;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
        at += at == HERE ? 0 : n;
    }
    return true;
}

static bool flush(wgi_file_writer *w)
{
    size_t n = w->used;
    w->used = 0;
    if (!w->error && !write_all(w->fd, w->buffer, n, HERE))
        w->error = errno;
    return !w->error;
}

bool wgi_file_put(wgi_file_writer *w, const void *bytes, size_t size)
{
    if (w->used + size > sizeof w->buffer && !flush(w))
        return false;
    if (size > sizeof w->buffer) {
        if (!w->error && !write_all(w->fd, bytes, size, HERE))
            w->error = errno;
    } else if (size) {
        memcpy(w->buffer + w->used, bytes, size);
        w->used += size;
    }
    return !w->error;
}

bool wgi_file_put_over(wgi_file_writer *w, size_t at, const void *bytes, size_t size)
{
    if (flush(w) && !write_all(w->fd, bytes, size, (off_t)at))
        w->error = errno;
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
    close(fd); /* of a folder that is synced: nothing can be lost any more */
    errno = saved;
    return ok;
}

/* Is it a link like /dev/stdout, which a rename would take away? */
static bool is_of_proc(const char *path)
{
    static const char proc[] = "/proc/";
    char target[sizeof proc];
    return readlink(path, target, sizeof proc) >= (ssize_t)sizeof proc - 1 &&
           memcmp(target, proc, sizeof proc - 1) == 0;
}

/* A rename would replace a device or a pipe. */
static wg_status check_target(const char *path, wg_error *error)
{
    struct stat s;
    if (is_of_proc(path))
        return wgi_error_file(error, WG_EIO, path,
                              "expected a regular file to replace, or none, got a link to an open "
                              "file");
    if (stat(path, &s) != 0 ||
        S_ISREG(s.st_mode)) /* what else is wrong, opening or renaming says */
        return WG_OK;
    return wgi_error_file(error, WG_EIO, path,
                          "expected a regular file to replace, or none, got %s",
                          wgi_file_mode_text(s.st_mode));
}

/* Writes the open temporary file and gives it its name. */
static wg_status fill(wgi_file_writer *w, void (*write)(wgi_file_writer *w, void *context),
                      void *context, const char *temporary, const char *path, wg_error *error)
{
    write(w, context);
    if (!flush(w)) {
        errno = w->error;
        return wgi_error_errno(error, path, "write");
    }
    if (fsync(w->fd) != 0)
        return wgi_error_errno(error, path, "fsync");
    return rename(temporary, path) == 0 ? WG_OK : wgi_error_errno(error, path, "rename");
}

static wg_status replace(wgi_file_writer *w, void (*write)(wgi_file_writer *w, void *context),
                         void *context, char *temporary, const char *path, wg_error *error)
{
    w->used = 0;
    w->error = 0;
    w->fd = create_temporary(temporary);
    if (w->fd < 0)
        return wgi_error_errno(error, path, "open for writing");
    wg_status status = fill(w, write, context, temporary, path, error);
    if (status != WG_OK)
        unlink(temporary);
    if (close(w->fd) != 0 && status == WG_OK)
        status = wgi_error_errno(error, path, "close");
    if (status == WG_OK && !sync_folder(temporary))
        status = wgi_error_errno(error, path, "fsync of its folder");
    return status;
}

wg_status wgi_file_replace(const char *path, void (*write)(wgi_file_writer *w, void *context),
                           void *context, wg_error *error)
{
    wg_status status = check_target(path, error);
    if (status != WG_OK)
        return status;
    char *temporary = temporary_path(path);
    wgi_file_writer *w = malloc(sizeof *w);
    status = temporary && w ? replace(w, write, context, temporary, path, error)
                            : wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    free(w);
    free(temporary);
    return status;
}

typedef struct span {
    const void *bytes;
    size_t size;
} span;

static void put_span(wgi_file_writer *w, void *context)
{
    const span *s = context;
    wgi_file_put(w, s->bytes, s->size);
}

wg_status wgi_file_replace_bytes(const char *path, const void *bytes, size_t size, wg_error *error)
{
    return wgi_file_replace(path, put_span, &(span){bytes, size}, error);
}

/* ---- a second name --------------------------------------------------------------------------- */

static void copy(wgi_file_writer *w, void *context)
{
    const int *from = context;
    char bytes[1 << 14];
    ssize_t n;
    while ((n = read(*from, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && !wgi_file_put(w, bytes, (size_t)n))
            return;
    if (n < 0)
        w->error = errno;
}

static bool link_temporary(const char *from, char *temporary)
{
    bool linked = false;
    for (int i = 0; i < TRIES && !linked; i++) {
        linked = link(from, temporary) == 0;
        if (!linked && errno != EEXIST)
            break;
        if (!linked)
            rename_temporary(temporary);
    }
    return linked;
}

/* `from` is open as fd.  Its lock keeps the temporary name, which is one of the same file. */
static wg_status link_open(int fd, const char *from, const char *to, char *temporary,
                           wg_error *error)
{
    wg_status status = WG_OK;
    if (flock(fd, LOCK_SH | LOCK_NB) != 0)
        errno = 0; /* there are no locks, or another has it: then nobody takes it for abandoned */
    if (!link_temporary(from, temporary))
        return wgi_file_replace(to, copy, &fd, error);
    if (rename(temporary, to) != 0)
        status = wgi_error_errno(error, to, "rename");
    unlink(temporary); /* renaming a file to another name of the same file leaves both */
    if (status == WG_OK && !sync_folder(temporary))
        status = wgi_error_errno(error, to, "fsync of its folder");
    return status;
}

wg_status wgi_file_link(const char *from, const char *to, wg_error *error)
{
    int fd;
    size_t size;
    char *temporary = temporary_path(to);
    if (!temporary)
        return wgi_error_file(error, WG_ENOMEM, to, "no memory to write it");
    wg_status status = wgi_file_open(&fd, &size, from, error);
    if (status == WG_OK) {
        status = link_open(fd, from, to, temporary, error);
        close(fd);
    }
    free(temporary);
    return status;
}

/* ---- logs ------------------------------------------------------------------------------------ */

wg_status wgi_file_append(FILE **out, const char *path, size_t size, wg_error *error)
{
    struct stat s;
    wg_status status = WG_OK;
    *out = NULL;
    if (lstat(path, &s) == 0 && !S_ISREG(s.st_mode))
        return wgi_error_file(error, WG_EIO, path,
                              "expected a regular file to continue, or none, got %s",
                              wgi_file_mode_text(s.st_mode));
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0 || fstat(fd, &s) != 0)
        /* NOLINTNEXTLINE(bugprone-branch-clone): in this order */
        status = wgi_error_errno(error, path, "open for writing");
    else if (!S_ISREG(s.st_mode)) /* since then */
        status = wgi_error_file(error, WG_EIO, path, "expected a regular file, got %s",
                                wgi_file_mode_text(s.st_mode));
    else if ((size_t)s.st_size > size && ftruncate(fd, (off_t)size) != 0)
        status = wgi_error_errno(error, path, "shorten it");
    else if (!(*out = fdopen(fd, "a")))
        status = wgi_error_errno(error, path, "open for writing");
    if (!*out && fd >= 0)
        close(fd);
    return status;
}
