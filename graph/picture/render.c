/* Graphviz in a child process: a layout may take very long, crash on strange input, and leaks; and
 * libcgraph crashes where it has no memory. */
#include "graph/picture/internal.h"

#ifdef WG_HAVE_GRAPHVIZ
#include "graph/clock.h"
#include "graph/error.h"
#include "graph/grow.h"

#include <graphviz/gvc.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the child ------------------------------------------------------------------------------- */

static int silent(char *message)
{
    (void)message;
    return 0;
}

wg_status wgi_picture_lay_out(void *drawing, const char *format, FILE *file)
{
    if (strcmp(format, "png") == 0)
        agsafeset(drawing, (char *)"dpi", (char *)"132", (char *)"");
    GVC_t *gvc = gvContext();
    return gvc && gvLayout(gvc, drawing, "dot") == 0 && gvRender(gvc, drawing, format, file) == 0
               ? WG_OK
               : WG_EIO;
}

enum { NO_MEMORY = 2 }; /* exit code of the child, besides 0 and 1 */

/* Graphviz writes some messages straight to standard error, which goes to the pipe `complaints`;
 * what does not fit there is lost, so that the child never waits for a reader. */
static int child(wgi_picture_work *work, wg_picture *p, wg_picture_format format, int to,
                 int complaints)
{
    agseterrf(silent);
    fcntl(complaints, F_SETFL, O_NONBLOCK);
    dup2(complaints, STDERR_FILENO);
    FILE *f = fdopen(to, "wb");
    wg_status status = f ? work(p, format, f) : WG_ENOMEM;
    if (status == WG_OK && fflush(f) == 0)
        return 0;
    return status == WG_ENOMEM ? NO_MEMORY : 1;
}

/* ---- the parent ------------------------------------------------------------------------------ */

typedef struct bytes {
    char *data;
    size_t used, size;
} bytes;

static wg_status grow(bytes *b)
{
    return WGI_RESERVE(b->data, b->size, b->used + (1 << 15)) ? WG_OK : WG_ENOMEM;
}

static wg_status read_until(wg_picture *p, int from, double deadline, bytes *b)
{
    char why[WGI_ERRNO_TEXT];
    for (;;) {
        double left = deadline - wgi_seconds();
        struct pollfd one = {.fd = from, .events = POLLIN};
        int ready = left > 0 ? poll(&one, 1, left < 1e6 ? (int)(1e3 * left) + 1 : 1000000000) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0 && wgi_seconds() >= deadline)
            return wgi_error_set(p->error, WG_ETIMEOUT,
                                 "the layout of %zu boxes took longer than %.3g s: draw less of "
                                 "the graph (a smaller depth, --depth 1), open it in a browser "
                                 "(--html) or write DOT",
                                 wg_picture_box_count(p), p->options.seconds);
        if (ready <= 0)
            continue;
        if (grow(b) != WG_OK)
            return WG_ENOMEM;
        ssize_t n = read(from, b->data + b->used, b->size - b->used);
        if (n == 0)
            return WG_OK;
        if (n > 0)
            b->used += (size_t)n;
        else if (errno != EINTR)
            return wgi_error_set(p->error, WG_EIO, "the layout could not be read: %s",
                                 wgi_errno_text(why));
    }
}

/* The first line that the child, which has ended, wrote to its standard error; without the name of
 * the program, which libgvc does not know. */
static void read_complaint(int from, char *text, size_t size)
{
    static const char nobody[] = "(null): ";
    ssize_t n = read(from, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (strncmp(text, nobody, sizeof nobody - 1) == 0)
        memmove(text, text + sizeof nobody - 1, strlen(text) - (sizeof nobody - 1) + 1);
}

/* `report`: a failure becomes the message, and what the child complained of without failing the
 * warning. */
static wg_status wait_for(wg_picture *p, pid_t pid, int complaints, bool report)
{
    int how = 0;
    pid_t done;
    char text[400] = "";
    while ((done = waitpid(pid, &how, 0)) < 0 && errno == EINTR)
        ;
    if (!report)
        return WG_EIO;
    if (done == pid)
        read_complaint(complaints, text, sizeof text);
    if (done == pid && WIFEXITED(how) && WEXITSTATUS(how) == 0) {
        if (*text)
            wgi_error_warn(p->error,
                           "Graphviz: %s (draw less of the graph, with a smaller depth, or write "
                           "SVG)",
                           text);
        return WG_OK;
    }
    if (done == pid && WIFEXITED(how) && WEXITSTATUS(how) == NO_MEMORY)
        return WG_ENOMEM;
    if (done == pid && WIFSIGNALED(how))
        return wgi_error_set(p->error, WG_EIO, "Graphviz was killed by signal %d", WTERMSIG(how));
    return wgi_error_set(p->error, WG_EIO, "Graphviz could not lay out or render the picture%s%s",
                         *text ? ": " : "", text);
}

static bool open_pipes(int picture[2], int complaints[2])
{
    if (pipe(picture) != 0)
        return false;
    if (pipe(complaints) == 0)
        return true;
    int why = errno;
    close(picture[0]);
    close(picture[1]);
    errno = why;
    return false;
}

wg_status wgi_picture_in_child(wg_picture *p, wgi_picture_work *work, wg_picture_format format,
                               FILE *file)
{
    int pipes[2], complaints[2];
    char why[WGI_ERRNO_TEXT];
    bytes b = {0};
    if (!open_pipes(pipes, complaints))
        return wgi_error_set(p->error, WG_EIO, "pipe: %s", wgi_errno_text(why));
    double deadline = format == WG_PICTURE_DOT ? INFINITY : wgi_seconds() + p->options.seconds;
    fflush(NULL); /* or the child would hold a second copy of what is buffered */
    pid_t pid = fork();
    if (pid == 0) {
        close(pipes[0]);
        _exit(child(work, p, format, pipes[1], complaints[1]));
    }
    close(pipes[1]);
    close(complaints[1]);
    if (pid < 0) {
        wgi_error_set(p->error, WG_EIO, "fork: %s", wgi_errno_text(why));
        close(pipes[0]);
        close(complaints[0]);
        return WG_EIO;
    }
    wg_status status = read_until(p, pipes[0], deadline, &b);
    close(pipes[0]);
    if (status != WG_OK)
        kill(pid, SIGKILL);
    wg_status end = wait_for(p, pid, complaints[0], status == WG_OK);
    close(complaints[0]);
    if (status == WG_OK)
        status = end;
    if (status == WG_OK && (fwrite(b.data, 1, b.used, file) != b.used || fflush(file) != 0))
        status = wgi_error_set(p->error, WG_EIO, "the picture could not be written: %s",
                               wgi_errno_text(why));
    free(b.data);
    return status;
}
#else
typedef int wgi_picture_render_is_empty; /* an empty translation unit is not ISO C */
#endif
