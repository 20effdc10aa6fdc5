/* wengert stop: has a training run saved and ended, wherever it runs. */
#include "cli/cli.h"
#include "wengert/train/folder.h"

#include <time.h>

enum { NO_WAIT = 1000 };

static const struct argp_option table[] = {
    {"no-wait", NO_WAIT, 0, 0, "do not wait until the training has ended", 0},
    {0},
};

typedef struct request {
    const char *folder;
    bool leaves;
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case NO_WAIT: r->leaves = true; break;
    case ARGP_KEY_ARG: take_argument(state, &r->folder, "folder", arg); break;
    case ARGP_KEY_NO_ARGS: argp_error(state, "no folder given"); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int stop(const request *r)
{
    wg_error error;
    bool is = true;
    wg_status status = wg_folder_stop(r->folder, &error);
    while (status == WG_OK && is && !r->leaves) {
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        status = wg_folder_is_training(r->folder, &is, &error);
    }
    return status == WG_OK ? EXIT_OK : complain_error(&error);
}

int command_stop(int argc, char **argv)
{
    request r = {NULL, false};
    const struct argp argp = {
        table,
        parse,
        "FOLDER",
        "Ends the training that runs in a folder, on this machine or another.\v"
        "The training stops after the update in progress and saves; the command that has started "
        "it resumes it.  A training on several machines is stopped in this way, since `mpirun' "
        "does not hand on signals reliably.  The command waits until the training has ended.",
        NULL,
        NULL,
        NULL};
    int code = parse_arguments(&argp, argc, argv, ARGP_IN_ORDER, &r);
    return code == EXIT_OK ? stop(&r) : code;
}
