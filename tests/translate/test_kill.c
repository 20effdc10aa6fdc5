/* Trainings killed at any moment, again and again: the folder can always be gone on with, and in
 * the end its parameters, averages and moments are those of a training that was never killed, to
 * the last bit.
 *
 * WENGERT_TEST_KILLS=200 for more than the usual number.  The trainings run in processes of their
 * own: this program, with the folder as its argument. */
#include "graph/clock.h"
#include "tests/training.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { KILLS = 20 };

static const char often[] = "numbers 60; save-freq 1u; valid-freq 3u; length-multiple 64; after 8u";

static void tell_first(void *context, const wg_event *e)
{
    int *told = context;
    if (e->kind == WG_EVENT_UPDATE && !*told) {
        *told = 1;
        puts("update");
        fflush(stdout);
    }
}

/* The process that is killed: its first update is told by a line. */
static int child(const char *folder)
{
    wg_settings s = small_training(folder, often);
    wg_trainer *t = NULL;
    wg_error error;
    int told = 0;
    wg_status status = wg_translation_trainer(&t, &s, &(wg_listener){tell_first, &told}, &error);
    if (status == WG_OK)
        status = wg_trainer_run(t, NULL);
    if (status != WG_OK)
        fprintf(stderr, "%s\n", t ? wg_trainer_message(t) : error.text);
    wg_trainer_free(t);
    wg_settings_free(&s);
    return (int)status;
}

static pid_t start(const char *folder, FILE **from)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "test_kill", folder, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *from = fdopen(ends[0], "r");
    assert_non_null(*from);
    return pid;
}

static int end_of(pid_t pid, FILE *from)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    fclose(from);
    return status;
}

static void sleep_for(double s)
{
    struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
    nanosleep(&t, NULL);
}

static void wait_for_update(FILE *from)
{
    char line[40];
    assert_non_null(fgets(line, sizeof line, from));
}

static void killed_trainings_end_like_one_that_was_not(void **state)
{
    (void)state;
    static const char whole[] = "kill_whole", killed[] = "kill_killed";
    const char *asked = getenv("WENGERT_TEST_KILLS");
    int kills = 0, wanted = asked ? atoi(asked) : KILLS, finished = 0;
    uint32_t random = (uint32_t)time(NULL);
    FILE *from;
    remove_folder(whole);
    double begun = wgi_seconds();
    pid_t pid = start(whole, &from);
    wait_for_update(from);
    double to_update =
        wgi_seconds() - begun; /* then the rest of the updates, with their checkpoints */
    assert_int_equal(end_of(pid, from), 0);
    double rest = wgi_seconds() - begun - to_update;
    remove_folder(killed);
    for (int i = 0; kills < wanted || !finished; i++) {
        check_that(i < 20 * wanted + 100, "%d processes, %d killed, %d trainings finished", i,
                   kills, finished);
        random = random * 1664525 + 1013904223;
        double share = (double)(random >> 8) / (double)(1 << 24);
        pid = start(killed, &from);
        if (kills >= wanted) {    /* let the last one finish */
        } else if (random & 64) { /* while it starts, or a little later */
            sleep_for(1.2 * to_update * share);
            kill(pid, SIGKILL);
        } else { /* among updates */
            char line[40];
            if (fgets(line, sizeof line, from))
                sleep_for(rest * share * share);
            kill(pid, SIGKILL);
        }
        int status = end_of(pid, from);
        if (WIFSIGNALED(status)) {
            assert_int_equal(WTERMSIG(status), SIGKILL);
            kills++;
            continue;
        }
        check_that(WEXITSTATUS(status) == 0, "the training could not go on: status %d",
                   WEXITSTATUS(status));
        same_training(whole, killed);
        remove_folder(killed);
        finished++;
    }
    printf("%d killed, %d finished\n", kills, finished);
    remove_folder(whole);
    remove_folder(killed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_trainings_end_like_one_that_was_not)};
    return argc > 1 ? child(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
