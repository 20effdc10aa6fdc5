/* System calls of files that fail.  Preloaded into a program, it is told by the environment:
 *
 *     WENGERT_FAIL=KIND:N    call N of those that KIND is about fails; KIND:N+: and all after it
 *     WENGERT_FAIL_LOG=FILE  gets a line at the end: the number of these calls; or, where one has
 *                        failed, its name, the path and the errno
 *
 * The kinds are the names of errnos, or SHORT: a read or write of half of the bytes.  Calls are
 * those of regular files and folders below the current one and of standard input and output.
 *
 * The calls are caught where they enter the kernel, by seccomp, so those from within the C library
 * are among them; a signal handler makes the call, or does not.  On a machine other than x86-64, or
 * where seccomp is not to be had, the exit code is 77. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if !defined(__x86_64__)
#error "written for the registers of x86-64"
#endif

/* ---- the calls ------------------------------------------------------------------------------- */

/* What a call may meet with. */
enum {
    OPENS = 1,
    READS = 2,
    WRITES = 4,
    MAKES = 8,
    LOOKS = 16,
    CLOSES = 32,
    SYNCS = 64,
    MAPS = 128
};

/* Where its file is told: a descriptor as argument `fd`, or a path as argument `path`; -1: not. */
static const struct call {
    int number, fd, path;
    unsigned meets;
    const char *name;
} all_calls[] = {
    {SYS_open, -1, 0, OPENS, "open"},
    {SYS_openat, -1, 1, OPENS, "openat"},
    {SYS_read, 0, -1, READS, "read"},
    {SYS_pread64, 0, -1, READS, "pread"},
    {SYS_write, 0, -1, WRITES, "write"},
    {SYS_pwrite64, 0, -1, WRITES, "pwrite"},
    {SYS_writev, 0, -1, WRITES, "writev"},
    {SYS_close, 0, -1, CLOSES, "close"},
    {SYS_fsync, 0, -1, SYNCS, "fsync"},
    {SYS_fdatasync, 0, -1, SYNCS, "fdatasync"},
    {SYS_fstat, 0, -1, LOOKS, "fstat"},
    {SYS_stat, -1, 0, LOOKS, "stat"},
    {SYS_lstat, -1, 0, LOOKS, "lstat"},
    {SYS_newfstatat, 0, 1, LOOKS, "newfstatat"},
    {SYS_statx, 0, 1, LOOKS, "statx"},
    {SYS_access, -1, 0, LOOKS, "access"},
    {SYS_faccessat, -1, 1, LOOKS, "faccessat"},
    {SYS_faccessat2, -1, 1, LOOKS, "faccessat2"},
    {SYS_lseek, 0, -1, LOOKS, "lseek"},
    {SYS_getdents64, 0, -1, LOOKS, "getdents"},
    {SYS_flock, 0, -1, LOOKS, "flock"},
    {SYS_mkdir, -1, 0, MAKES, "mkdir"},
    {SYS_mkdirat, -1, 1, MAKES, "mkdirat"},
    {SYS_rmdir, -1, 0, MAKES, "rmdir"},
    {SYS_rename, -1, 0, MAKES, "rename"},
    {SYS_renameat, -1, 1, MAKES, "renameat"},
    {SYS_renameat2, -1, 1, MAKES, "renameat2"},
    {SYS_link, -1, 0, MAKES, "link"},
    {SYS_linkat, -1, 1, MAKES, "linkat"},
    {SYS_unlink, -1, 0, LOOKS, "unlink"},
    {SYS_unlinkat, -1, 1, LOOKS, "unlinkat"},
    {SYS_truncate, -1, 0, WRITES, "truncate"},
    {SYS_ftruncate, 0, -1, WRITES, "ftruncate"},
};
enum { CALLS = sizeof all_calls / sizeof *all_calls };
static const struct call mmap_call = {SYS_mmap, 4, -1, MAPS, "mmap"};

static const struct kind {
    const char *name;
    int error; /* 0: it is cut in half */
    unsigned met_by;
} kinds[] = {
    {"EIO", EIO, ~0u},
    {"ENOSPC", ENOSPC, WRITES | MAKES | SYNCS},
    {"EMFILE", EMFILE, OPENS},
    {"EINTR", EINTR, OPENS | READS | WRITES | CLOSES},
    {"SHORT", 0, READS | WRITES},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- whose files ----------------------------------------------------------------------------- */

static char here[PATH_MAX];
static size_t here_length;

static bool is_here(const char *path)
{
    return path[0] != '/' || strncmp(path, here, here_length) == 0;
}

/* The path of an open file. */
static void path_of(int fd, char path[PATH_MAX])
{
    char name[40];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    long n = syscall(SYS_readlink, name, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
}

/* The path that the call is about, if it counts: messages on standard error do not. */
static bool takes_part(const struct call *c, const long long a[6], char path[PATH_MAX])
{
    const char *given = c->path >= 0 ? (const char *)(uintptr_t)a[c->path] : NULL;
    path[0] = '\0';
    if (given && *given) {
        snprintf(path, PATH_MAX, "%s", given);
        return is_here(path);
    }
    int fd = c->fd >= 0 ? (int)a[c->fd] : -1;
    if (fd < 0 || fd == 2)
        return false;
    path_of(fd, path);
    return *path == '/' && is_here(path);
}

/* ---- failing --------------------------------------------------------------------------------- */

static const struct kind *kind;
static size_t fail_at;
static bool for_good;
static atomic_size_t calls;
static atomic_flag logged = ATOMIC_FLAG_INIT;
static const char *log_path;

static void write_log(const char *text)
{
    int fd = log_path ? (int)syscall(SYS_open, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd >= 0) {
        syscall(SYS_write, fd, text, strlen(text));
        syscall(SYS_close, fd);
    }
}

static void log_failure(const struct call *c, const char *path)
{
    char text[PATH_MAX + 80];
    if (atomic_flag_test_and_set(&logged))
        return;
    snprintf(text, sizeof text, "%s %s %s\n", c->name, path, kind->name);
    write_log(text);
}

static long long make(const struct call *c, const long long a[6])
{
    long result = syscall(c->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return result == -1 ? -errno : result;
}

static bool fails(const struct call *c, const long long a[6], char path[PATH_MAX])
{
    if (!(c->meets & kind->met_by) || !takes_part(c, a, path))
        return false;
    size_t call = ++calls;
    return fail_at && (call == fail_at || (for_good && call > fail_at));
}

static long long answer(const struct call *c, long long a[6])
{
    char path[PATH_MAX];
    if (!fails(c, a, path))
        return make(c, a);
    log_failure(c, path);
    if (!kind->error) {
        bool is_half = c->number != SYS_writev && c->number != SYS_ftruncate;
        a[2] = is_half && a[2] > 1 ? a[2] / 2 : a[2];
        return make(c, a);
    }
    if (c->meets == CLOSES) /* which leaves the descriptor closed, whatever it says */
        make(c, a);
    return -kind->error;
}

static void caught(int number, siginfo_t *info, void *context)
{
    (void)number;
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    int saved = errno;
    long long a[6] = {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]};
    const struct call *c = &mmap_call;
    for (size_t i = 0; i < CALLS; i++)
        if (all_calls[i].number == info->si_syscall)
            c = &all_calls[i];
    r[REG_RAX] = answer(c, a);
    errno = saved;
}

/* ---- catching -------------------------------------------------------------------------------- */

/* Calls by the function syscall(), with which this file makes them, pass; those of the table are
 * caught; all others pass. */
static bool catch_calls(void)
{
    enum { BEFORE = 9, AFTER = 5, STUB = 128 /* bytes, more than syscall() has */ };
    uint64_t stub = (uint64_t)(uintptr_t)dlsym(RTLD_NEXT, "syscall");
    struct sock_filter filter[BEFORE + 2 * CALLS + AFTER] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(stub >> 32), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, (uint32_t)stub),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, STUB, 0, 2 * CALLS + AFTER),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (size_t i = 0; i < CALLS; i++) {
        filter[BEFORE + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                              (uint32_t)all_calls[i].number, 0, 1);
        filter[BEFORE + 2 * i + 1] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    }
    /* mmap comes last, and only that of a file is caught: glibc maps the stack of a thread while
     * all signals are blocked */
    memcpy(&filter[BEFORE + 2 * CALLS],
           (const struct sock_filter[AFTER]){
               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)mmap_call.number, 0, 3),
               BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 1, 0),
               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
           },
           AFTER * sizeof *filter);
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_NODEFER};
    action.sa_sigaction = caught;
    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void unusable(const char *why)
{
    fprintf(stderr, "failing files: %s\n", why);
    exit(77);
}

__attribute__((constructor)) static void begin(void)
{
    const char *asked = getenv("WENGERT_FAIL");
    log_path = getenv("WENGERT_FAIL_LOG");
    size_t name = asked ? strcspn(asked, ":") : 0;
    for (size_t i = 0; name && i < KINDS; i++)
        if (strlen(kinds[i].name) == name && strncmp(kinds[i].name, asked, name) == 0)
            kind = &kinds[i];
    if (!asked)
        return;
    if (!kind || asked[name] != ':')
        unusable("expected WENGERT_FAIL=KIND:N or KIND:N+");
    char *end;
    fail_at = strtoull(asked + name + 1, &end, 10);
    for_good = *end == '+';
    if (!getcwd(here, sizeof here))
        unusable("no current folder");
    here_length = strlen(here);
    unsetenv("LD_PRELOAD");
    if (!catch_calls())
        unusable("no seccomp");
}

__attribute__((destructor)) static void end(void)
{
    char text[40];
    if (!kind || fail_at)
        return;
    snprintf(text, sizeof text, "%zu\n", (size_t)calls);
    write_log(text);
}
