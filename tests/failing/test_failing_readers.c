/* What the program reads besides models: lines as they arrive, the metrics of a training, its own
 * options.  Whatever allocation fails, there is an exit code and no leak. */
#include "tests/failing/memory.h"
#include "tests/folder.h"

#include "cli/lines.h"
#include "cli/metrics.h"
#include "cli/settings_args.h"
#include "files/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

/* ---- every allocation ------------------------------------------------------------------------ */

/* Some reading: an exit code, and a digest that tells its result from others. */
typedef int reading(uint64_t *digest);

static void fail_each(const char *what, reading *read, size_t min)
{
    uint64_t expected = 0, digest;
    assert_int_equal(read(&expected), EXIT_OK);
    fail_from_now(0, false);
    assert_int_equal(read(&expected), EXIT_OK);
    size_t total = fail_no_more();
    check_that(total >= min, "%s: only %zu allocations", what, total);
    for (int for_good = 0; for_good < 2; for_good++)
        for (size_t i = 1; i <= total; i++) {
            size_t blocks = live_blocks();
            digest = 0;
            fail_from_now(i, for_good);
            int code = read(&digest);
            fail_no_more();
            check_that(code == EXIT_RUN || (code == EXIT_OK && digest == expected),
                       "%s: allocation %zu of %zu fails%s: exit code %d", what, i, total,
                       for_good ? " and all after" : "", code);
            check_that(live_blocks() == blocks, "%s: allocation %zu of %zu fails: a leak", what, i,
                       total);
        }
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* All lines of a descriptor, at most `max` at a time, each ended by a '|'. */
static int all_lines(int fd, size_t max, char *out, size_t size)
{
    lines l = {.fd = fd};
    size_t n = 1, used = 0;
    int code = EXIT_OK;
    out[0] = '\0';
    while (code == EXIT_OK && n > 0) {
        const char *const *line;
        code = lines_next(&l, max, &line, &n);
        assert_true(n <= max);
        for (size_t i = 0; i < n; i++)
            used += (size_t)snprintf(out + used, size - used, "%s|", line[i]);
    }
    lines_free(&l);
    return code;
}

static int pipe_with(const char *bytes, size_t size)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], bytes, size), size);
    close(fds[1]);
    return fds[0];
}

static void lines_are_as_they_were_written(void **state)
{
    (void)state;
#define BYTES(bytes) bytes, sizeof bytes - 1
    static const struct {
        const char *bytes;
        size_t size;
        const char *expected;
    } cases[] = {
        {BYTES(""), ""},
        {BYTES("\n"), "|"},
        {BYTES("a"), "a|"},
        {BYTES("a\nb"), "a|b|"},
        {BYTES("a\r\n\r\nb\r"), "a||b|"},
        {BYTES("\xef\xbb\xbf"
               "a\n\xef\xbb\xbf\n"),
         "a|\xef\xbb\xbf|"},
        {BYTES("\xef\xbb"), "\xef\xbb|"},
        {BYTES("abc"), "abc|"},
        {BYTES("a\0b\0\n\0"), "a b | |"},
    };
    char got[100];
    for (int i = 0; i < WG_COUNT(cases); i++)
        for (size_t max = 1; max < 4; max++) {
            int fd = pipe_with(cases[i].bytes, cases[i].size);
            assert_int_equal(all_lines(fd, max, got, sizeof got), EXIT_OK);
            check_that(strcmp(got, cases[i].expected) == 0, "case %d, %zu at a time: '%s'", i, max,
                       got);
            close(fd);
        }
    assert_int_equal(all_lines(-1, 1, got, sizeof got), EXIT_IO);
}

/* Who writes a line waits for what becomes of it: a line is taken as soon as it is complete. */
static void a_line_is_taken_when_it_arrives(void **state)
{
    (void)state;
    int fds[2];
    const char *const *line;
    size_t n;
    assert_int_equal(pipe(fds), 0);
    lines l = {.fd = fds[0]};
    assert_int_equal(write(fds[1], "one\ntwo\nthr", 11), 11);
    assert_int_equal(lines_next(&l, 100, &line, &n), EXIT_OK);
    assert_int_equal(n, 2);
    assert_string_equal(line[1], "two");
    assert_int_equal(write(fds[1], "ee\n", 3), 3);
    assert_int_equal(lines_next(&l, 100, &line, &n), EXIT_OK);
    assert_int_equal(n, 1);
    assert_string_equal(line[0], "three");
    close(fds[1]);
    assert_int_equal(lines_next(&l, 100, &line, &n), EXIT_OK);
    assert_int_equal(n, 0);
    lines_free(&l);
    close(fds[0]);
}

/* Of a large file not all lines are taken at once. */
static void a_large_file_comes_in_parts(void **state)
{
    (void)state;
    enum { LINES = 400000 };
    const char *const *line, *path = path_of("many");
    size_t n = 1, total = 0, calls = 0;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < LINES; i++)
        fprintf(f, "line %d\n", i);
    assert_int_equal(fclose(f), 0);
    lines l = {.fd = open(path, O_RDONLY)};
    assert_true(l.fd >= 0);
    for (; n > 0; total += n, calls++) {
        char expected[20];
        assert_int_equal(lines_next(&l, SIZE_MAX, &line, &n), EXIT_OK);
        snprintf(expected, sizeof expected, "line %zu", total);
        assert_true(n == 0 || strcmp(line[0], expected) == 0);
    }
    assert_int_equal(total, LINES);
    assert_in_range(calls, 3, 100);
    close(l.fd);
    lines_free(&l);
}

static void ring(int number)
{
    (void)number;
}

/* A signal while the program waits for a line changes nothing. */
static void a_signal_does_not_end_the_lines(void **state)
{
    (void)state;
    const struct sigaction without_restart = {.sa_handler = ring};
    const struct itimerval soon = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    int fds[2];
    char got[20];
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        poll(NULL, 0, 200);
        _exit(write(fds[1], "late\n", 5) == 5 ? 0 : 1);
    }
    close(fds[1]);
    assert_int_equal(sigaction(SIGALRM, &without_restart, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_int_equal(all_lines(fds[0], 5, got, sizeof got), EXIT_OK);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_string_equal(got, "late|");
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(fds[0]);
}

static int read_lines(uint64_t *digest)
{
    static const char text[] = "a\nb c\r\nd\0e\nf";
    char got[50];
    int fd = pipe_with(text, sizeof text - 1);
    int code = all_lines(fd, 2, got, sizeof got);
    close(fd);
    *digest = wgi_xxh64(got, strlen(got), 0);
    return code;
}

/* As many bytes as are read at a time, of which a line is taken. */
static int read_full_buffer(uint64_t *digest)
{
    enum { PIECE = 1 << 16 };
    static char text[PIECE], got[PIECE + 10];
    memset(text, 'x', sizeof text);
    text[1] = '\n';
    int fd = pipe_with(text, sizeof text);
    int code = all_lines(fd, 1, got, sizeof got);
    close(fd);
    *digest = wgi_xxh64(got, strlen(got), 0);
    return code;
}

static void lines_without_memory(void **state)
{
    (void)state;
    fail_each("lines", read_lines, 2);
    fail_each("a full buffer", read_full_buffer, 3);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static int read_costs(uint64_t *digest)
{
    series s;
    int code = series_read(&s, folder, "train", "cost");
    *digest =
        wgi_xxh64(s.value, s.n * sizeof *s.value, wgi_xxh64(s.update, s.n * sizeof(double), 0));
    series_free(&s);
    return code;
}

/* Records of other kinds, and those that lack the value, are passed over. */
static void metrics_are_series(void **state)
{
    (void)state;
    write_text("metrics.jsonl", "{\"kind\": \"train\", \"update\": 1, \"cost\": 2.5}\n"
                                "{\"kind\": \"valid\", \"update\": 1, \"cost\": 9}\n"
                                "{\"update\": 1, \"cost\": 9}\n"
                                "{\"kind\": 3, \"update\": 1, \"cost\": 9}\n"
                                "{\"kind\": \"train\", \"cost\": 9}\n"
                                "{\"kind\": \"train\", \"update\": \"1\", \"cost\": 9}\n"
                                "{\"kind\": \"train\", \"update\": 1}\n"
                                "{\"kind\": \"train\", \"update\": 2, \"cost\": 1}\n");
    series s;
    assert_int_equal(series_read(&s, folder, "train", "cost"), EXIT_OK);
    assert_int_equal(s.n, 2);
    assert_true(s.update[0] == 1 && s.value[0] == 2.5 && s.update[1] == 2 && s.value[1] == 1);
    series_free(&s);
    fail_each("metrics", read_costs, 3);
}

static void metrics_that_cannot_be_read(void **state)
{
    (void)state;
    uint64_t digest;
    write_text("metrics.jsonl", "{\"kind\": \"train\", \"update\": 1, \"cost\": 2.5}\n{\"kind\"\n");
    assert_int_equal(read_costs(&digest), EXIT_DATA);
    static const char *const no_records[] = {"[]\n", "{\"cost\": null}\n", "{\"cost\": [1]}\n"};
    for (int i = 0; i < WG_COUNT(no_records); i++) {
        write_text("metrics.jsonl", no_records[i]);
        assert_int_equal(read_costs(&digest), EXIT_DATA);
    }
    remove(path_of("metrics.jsonl"));
    assert_int_equal(read_costs(&digest), EXIT_IO);
    if (access("/proc/self/mem", R_OK) == 0) { /* Linux: its first byte cannot be read */
        assert_int_equal(symlink("/proc/self/mem", path_of("metrics.jsonl")), 0);
        assert_int_equal(read_costs(&digest), EXIT_IO);
        remove(path_of("metrics.jsonl"));
    }
}

/* ---- options --------------------------------------------------------------------------------- */

static int read_options(uint64_t *digest)
{
    char *argv[] = {
        "wengert", "--train-sets", "a", "b",       "--valid-metrics", "bleu",
        "chrf",    "-s",           "7", "--quiet", "--config",        (char *)path_of("o.yml"),
        NULL};
    settings_args a;
    wg_settings s;
    int code = settings_args_init(&a, WG_FOR_TRAINING);
    if (code != EXIT_OK)
        return code;
    /* a lack of memory would end the process: it goes on, and is told by what comes next */
    error_t failed = argp_parse(&a.argp, WG_COUNT(argv) - 1, argv,
                                ARGP_IN_ORDER | ARGP_NO_EXIT | ARGP_NO_ERRS, NULL, &a);
    code = failed || wg_settings_init(&s) != WG_OK ? EXIT_RUN : EXIT_OK;
    if (code == EXIT_OK) {
        code = settings_args_apply(&a, &s);
        *digest = s.seed + (s.valid_metrics ? strlen(s.valid_metrics) : 0) + (s.net.heads << 8);
        wg_settings_free(&s);
    }
    settings_args_free(&a);
    return code;
}

/* An empty text is no word, so that there may be any number of them. */
static void an_option_takes_as_many_words_as_there_is_room_for(void **state)
{
    (void)state;
    char *argv[4 + MAX_GIVEN_VALUES] = {"wengert", "--valid-metrics", "bleu"};
    settings_args a;
    for (int i = 3; i < 3 + MAX_GIVEN_VALUES; i++)
        argv[i] = "";
    assert_int_equal(settings_args_init(&a, WG_FOR_TRAINING), EXIT_OK);
    argp_parse(&a.argp, 3 + MAX_GIVEN_VALUES, argv, ARGP_IN_ORDER | ARGP_NO_EXIT | ARGP_NO_ERRS,
               NULL, &a);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.given[0].n, MAX_GIVEN_VALUES);
    settings_args_free(&a);
}

static void options_without_memory(void **state)
{
    (void)state;
    write_text("o.yml", "heads: 2\n");
    fail_each("options", read_options, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_as_they_were_written),
        cmocka_unit_test(a_line_is_taken_when_it_arrives),
        cmocka_unit_test(a_large_file_comes_in_parts),
        cmocka_unit_test(a_signal_does_not_end_the_lines),
        cmocka_unit_test(lines_without_memory),
        cmocka_unit_test(metrics_are_series),
        cmocka_unit_test(metrics_that_cannot_be_read),
        cmocka_unit_test(an_option_takes_as_many_words_as_there_is_room_for),
        cmocka_unit_test(options_without_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
