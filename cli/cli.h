/* What the commands of the program share. */
#ifndef WG_CLI_CLI_H
#define WG_CLI_CLI_H

#include "wengert.h"

#include <argp.h>
#include <stdio.h>

/* Exit codes, the same for every command. */
enum { EXIT_OK = 0, EXIT_RUN = 1, EXIT_USAGE = 2, EXIT_DATA = 3, EXIT_IO = 4 };

typedef struct command {
    const char *name, *doc;
    int (*run)(int argc, char **argv); /* argv[0] is "wengert NAME" */
} command;

int command_graph(int argc, char **argv);
int command_gradcheck(int argc, char **argv);
int command_devices(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_ops(int argc, char **argv);
/* with WG_HAVE_TRAINING */
int command_train(int argc, char **argv);
int command_translate(int argc, char **argv);
int command_score(int argc, char **argv);
int command_evaluate(int argc, char **argv);
int command_average(int argc, char **argv);
int command_info(int argc, char **argv);
int command_plot(int argc, char **argv);
int command_bleu(int argc, char **argv);

/** The exit code that stands for a status. */
int exit_code(wg_status status);

/** "wengert: TEXT" on stderr. */
void complain(const char *format, ...) WG_PRINTF(1, 2);

/** The i-th of a list of names, NULL past the end. */
typedef const char *name_at(size_t i);
const char *op_name_at(size_t i);
const char *model_name_at(size_t i);

/** Complains that there is no `what` of that name, suggests the nearest and lists what there is. */
void complain_unknown(const char *what, const char *name, name_at *at);

/** Can the file be written?  To be asked before the work whose result goes there; what the file
 * holds stays.  NULL is no file
 *  and can be.  Complains and returns EXIT_IO if it cannot. */
int check_output(const char *path);
/** Writes size bytes to the file at `path`; complains and returns EXIT_IO if that fails. */
int write_file(const char *path, const void *bytes, size_t size);

/** The same for what `put` writes, which is held in memory until all of it is there. */
int write_stream(const char *path, void (*put)(FILE *f, const void *context), const void *context);

/* The one argument that a command takes, a `what`: argp_error if there is one already. */
void take_argument(const struct argp_state *state, const char **argument, const char *what,
                   const char *text);

/* An integer argument of an option: argp_error unless it is in [least, most]. */
long number_argument(const struct argp_state *state, const char *option, const char *text, long min,
                     long max);

#endif
