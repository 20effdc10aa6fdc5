/* The child process that lays a picture out: system calls that are interrupted are taken up again,
 * those that fail have a status and a message, and so has a child that dies. */
#include "tests/test.h"
#include "wengert/graph/picture.h"
#include "wengert/ops/ops.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- what goes wrong ------------------------------------------------------------------------- */

typedef enum call {
    NONE,
    PIPE,
    PIPE_2,
    FORK,
    POLL,
    READ,
    WAIT,
    REALLOC,
    CHILD_DIES,
    CHILD_FAILS
} call;

static struct {
    call wrong;
    int error; /* what errno says    */
    int times; /* how often, from now */
    int waits; /* calls that went right before */
} plan;

static bool goes_wrong(call c)
{
    if (plan.wrong != c || plan.times == 0)
        return false;
    plan.times--;
    errno = plan.error;
    return true;
}

int __real_pipe(int *ends);
pid_t __real_fork(void);
int __real_poll(struct pollfd *f, nfds_t n, int milliseconds);
ssize_t __real_read(int f, void *to, size_t size);
pid_t __real_waitpid(pid_t pid, int *how, int options);
void *__real_realloc(void *p, size_t size);
int __wrap_pipe(int *ends);
pid_t __wrap_fork(void);
int __wrap_poll(struct pollfd *f, nfds_t n, int milliseconds);
ssize_t __wrap_read(int f, void *to, size_t size);
pid_t __wrap_waitpid(pid_t pid, int *how, int options);
void *__wrap_realloc(void *p, size_t size);

int __wrap_pipe(int *ends)
{
    if (plan.wrong == PIPE_2 && plan.times == 1 && !plan.waits++)
        return __real_pipe(ends);
    return goes_wrong(PIPE) || goes_wrong(PIPE_2) ? -1 : __real_pipe(ends);
}

pid_t __wrap_fork(void)
{
    if (goes_wrong(FORK))
        return -1;
    pid_t pid = __real_fork();
    if (pid == 0 && goes_wrong(CHILD_DIES))
        raise(SIGKILL);
    if (pid == 0 && goes_wrong(CHILD_FAILS))
        _exit(1);
    return pid;
}

int __wrap_poll(struct pollfd *f, nfds_t n, int milliseconds)
{
    return goes_wrong(POLL) ? -1 : __real_poll(f, n, milliseconds);
}

ssize_t __wrap_read(int f, void *to, size_t size)
{
    return goes_wrong(READ) ? -1 : __real_read(f, to, size);
}

pid_t __wrap_waitpid(pid_t pid, int *how, int options)
{
    return goes_wrong(WAIT) ? -1 : __real_waitpid(pid, how, options);
}

void *__wrap_realloc(void *p, size_t size)
{
    return goes_wrong(REALLOC) ? NULL : __real_realloc(p, size);
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* The picture of y = tanh(x) into text, with `wrong` going wrong. */
static wg_status draw(wg_picture_format format, call wrong, int error, char *text, size_t size,
                      char *message)
{
    wg_graph *g = wg_graph_new();
    wg_output(wg_tanh(wg_input(g, "x", WG_F32, WG_SHAPE(3))), "y");
    wg_picture *p = NULL;
    assert_int_equal(wg_picture_create(&p, g, NULL, NULL), WG_OK);
    wg_error why;
    char *all = NULL;
    size_t bytes;
    FILE *file = open_memstream(&all, &bytes);
    assert_non_null(file);
    plan.wrong = wrong;
    plan.error = error;
    plan.times = 1;
    plan.waits = 0;
    wg_status status = wg_picture_write(p, format, file, &why);
    plan.wrong = NONE;
    snprintf(message, 200, "%.199s", why.text);
    fclose(file);
    memset(text, 0, size);
    memcpy(text, all, bytes < size ? bytes : size - 1);
    free(all);
    wg_picture_free(p);
    wg_graph_free(g);
    return status;
}

static void interrupted_calls_are_taken_up_again(void **state)
{
    (void)state;
    static const call interrupted[] = {NONE, POLL, READ, WAIT};
    char text[64], message[200];
    for (int i = 0; i < WG_COUNT(interrupted); i++) {
        wg_status status = draw(WG_PICTURE_SVG, interrupted[i], EINTR, text, sizeof text, message);
        check_that(status == WG_OK, "call %d: %s", (int)interrupted[i], message);
        check_that(strncmp(text, "<?xml", 5) == 0, "call %d: %s", (int)interrupted[i], text);
    }
}

static void pixels_are_png(void **state)
{
    (void)state;
    char text[64], message[200];
    assert_int_equal(draw(WG_PICTURE_PNG, NONE, 0, text, sizeof text, message), WG_OK);
    assert_memory_equal(text, "\x89PNG\r\n\x1a\n", 8);
}

static void failures_have_a_status_and_a_message(void **state)
{
    (void)state;
    static const struct {
        call wrong;
        int error;
        wg_status status;
        const char *message;
    } cases[] = {
        {PIPE, EMFILE, WG_EIO, "pipe: Too many open files"},
        {PIPE_2, EMFILE, WG_EIO, "pipe: Too many open files"},
        {FORK, EAGAIN, WG_EIO, "fork: Resource temporarily unavailable"},
        {READ, EIO, WG_EIO, "the layout could not be read: Input/output error"},
        {WAIT, ECHILD, WG_EIO, "Graphviz could not lay out or render the picture"},
        {REALLOC, ENOMEM, WG_ENOMEM, "out of memory"},
        {CHILD_DIES, 0, WG_EIO, "Graphviz was killed by signal 9"},
        {CHILD_FAILS, 0, WG_EIO, "Graphviz could not lay out or render the picture"},
    };
    char text[64], message[200];
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_status status =
            draw(WG_PICTURE_SVG, cases[i].wrong, cases[i].error, text, sizeof text, message);
        assert_int_equal(status, cases[i].status);
        assert_string_equal(message, cases[i].message);
        assert_string_equal(text, ""); /* nothing is in the file */
    }
}

/* A graph that is too wide for the pixels of a PNG is scaled down; Graphviz says so on standard
 * error, from which it becomes the warning. */
static void nothing_is_written_to_standard_error(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
    for (int i = 0; i < 400; i++)
        wg_name(wg_output(wg_tanh(x), NULL), "a_label_that_makes_its_box_wide_%d", i);
    wg_picture *p = NULL;
    assert_int_equal(wg_picture_create(&p, g, &(wg_picture_options){.full = true}, NULL), WG_OK);
    FILE *file = tmpfile(), *captured = tmpfile();
    assert_true(file && captured);
    int before = dup(STDERR_FILENO);
    dup2(fileno(captured), STDERR_FILENO);
    wg_error why;
    wg_status status = wg_picture_write(p, WG_PICTURE_PNG, file, &why);
    dup2(before, STDERR_FILENO);
    check_that(status == WG_OK, "%s", why.text);
    assert_int_equal(lseek(fileno(captured), 0, SEEK_END), 0);
    check_that(strncmp(why.warning, "Graphviz: graph is too large", 28) == 0, "'%s'", why.warning);
    close(before);
    fclose(captured);
    fclose(file);
    wg_picture_free(p);
    wg_graph_free(g);
}

/* libcgraph forgets 48 bytes of a graph for which it gets no id (agalloc in agopen). */
WG_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:agalloc\n";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupted_calls_are_taken_up_again),
        cmocka_unit_test(pixels_are_png),
        cmocka_unit_test(nothing_is_written_to_standard_error),
        cmocka_unit_test(failures_have_a_status_and_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
