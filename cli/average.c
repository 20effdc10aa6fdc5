/* wengert average: the mean of the weights of several models of the same shape. */
#include "cli/cli.h"
#include "cli/values.h"
#include "wengert/train/average.h"
#include "wengert/train/checkpoint.h"
#include "wengert/translate/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAST = 1000 };

static const struct argp_option table[] = {
    {"last", LAST, "N", 0, "average the last N checkpoints that --save-freq saved in FOLDER", 0},
    {"model", 'm', "FOLDER", 0, "folder of --last", 0},
    {0},
};

typedef struct request {
    long last;
    const char *folder; /* the argument of --last */
    char **arguments;   /* output, then files or one folder */
    int n;
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case LAST: r->last = number_argument(state, "--last", arg, 1, 100000); break;
    case 'm': take_argument(state, &r->folder, "folder", arg); break;
    case ARGP_KEY_ARGS:
        r->arguments = state->argv + state->next;
        r->n = state->argc - state->next;
        break;
    case ARGP_KEY_END:
        if (r->n + (r->folder != NULL) < 2 || (r->folder && !r->last))
            argp_error(state, "expected OUTPUT FILE..., or --last N OUTPUT FOLDER");
        if (r->last && r->n > 2)
            argp_error(state, "--last: expected one folder, got '%s' as well", r->arguments[2]);
        if (r->last && r->n == 2)
            take_argument(state, &r->folder, "folder", r->arguments[1]);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* The checkpoints of --last, oldest first.  Returns an exit code; complains. */
static int find_last(const request *r, char ***paths, size_t *n)
{
    wg_error error;
    if (wg_folder_check(r->folder, &error) != WG_OK ||
        wg_checkpoint_models(r->folder, (size_t)r->last, paths, n, &error) != WG_OK)
        return complain_error(&error);
    if (*n == (size_t)r->last)
        return EXIT_OK;
    complain("%s: expected %ld checkpoints of --save-freq, got %zu; train with --keep %ld",
             r->folder, r->last, *n, r->last);
    return EXIT_DATA;
}

static int average(const char *output, const char *const *paths, size_t n, wg_error *error)
{
    wg_status status = wg_average_files(paths, n, output, error);
    for (size_t i = 0; status == WG_OK && i < n; i++)
        fprintf(stderr, "%s\n", paths[i]);
    return exit_code(status);
}

/* A training that runs removes its oldest checkpoint when it saves a new one. */
static bool has_vanished(const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (access(paths[i], F_OK) != 0 && errno == ENOENT)
            return true;
    return false;
}

/* The mean of the last checkpoints; *vanished: one of them was removed meanwhile. */
static int try_last(const request *r, bool *vanished, wg_error *error)
{
    char **found = NULL;
    size_t n = 0;
    int code = find_last(r, &found, &n);
    if (code == EXIT_OK)
        code = average(r->arguments[0], (const char *const *)found, n, error);
    *vanished = code == EXIT_IO && has_vanished((const char *const *)found, n);
    for (size_t i = 0; i < n; i++)
        free(found[i]);
    free(found);
    return code;
}

static int average_last(const request *r)
{
    enum { TRIES = 100 };
    wg_error error = {.status = WG_OK};
    int code = EXIT_OK;
    bool again = true;
    for (int i = 0; i < TRIES && again; i++)
        code = try_last(r, &again, &error);
    complain_error(&error);
    return code;
}

static int average_given(const request *r)
{
    wg_error error;
    average(r->arguments[0], (const char *const *)r->arguments + 1, (size_t)r->n - 1, &error);
    return complain_error(&error);
}

/* Only a mean is replaced: the weights of a training, or a file that stands where OUTPUT was
 * forgotten, could not be made again. */
static int check_replaced(const char *path)
{
    struct stat s;
    wg_error error;
    bool was;
    if (lstat(path, &s) != 0)
        return check_absent(path);
    if (S_ISLNK(s.st_mode)) {
        complain("%s: expected a regular file to replace, or none, got a symbolic link", path);
        return EXIT_IO;
    }
    if (!S_ISREG(s.st_mode) || s.st_size == 0)
        return EXIT_OK;
    wg_status status = was_made_by(path, "average", &was, &error);
    if (was)
        return EXIT_OK;
    if (status != WG_OK && status != WG_EDATA) /* it cannot be told */
        return complain_error(&error);
    complain("%s%s; OUTPUT, which comes first, replaces only a mean that this command has written",
             status == WG_OK ? path : error.text, status == WG_OK ? ": weights, but no mean" : "");
    return status == WG_OK ? EXIT_USAGE : exit_code(status);
}

int command_average(int argc, char **argv)
{
    static const struct argp argp = {table,
                                     parse,
                                     "OUTPUT FILE...\n--last N OUTPUT FOLDER",
                                     "Writes the mean of the weights to OUTPUT; translate, score "
                                     "and evaluate load it with --weights.",
                                     NULL,
                                     NULL,
                                     NULL};
    request r = {0};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    code = check_replaced(r.arguments[0]);
    if (code == EXIT_OK)
        code = check_writable(r.arguments[0]);
    if (code == EXIT_OK)
        code = r.last ? average_last(&r) : average_given(&r);
    return code;
}
