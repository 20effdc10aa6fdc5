/* Shared by the commands of the program. */
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
int command_run(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_devices(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_ops(int argc, char **argv);
int command_onnx(int argc, char **argv);
int command_export(int argc, char **argv);
int command_paper(int argc, char **argv);
/* with WG_HAVE_TRAINING */
int command_train(int argc, char **argv);
int command_translate(int argc, char **argv);
int command_score(int argc, char **argv);
int command_evaluate(int argc, char **argv);
int command_generate(int argc, char **argv);
int command_stop(int argc, char **argv);
int command_average(int argc, char **argv);
int command_import(int argc, char **argv);
int command_info(int argc, char **argv);
int command_plot(int argc, char **argv);
int command_bleu(int argc, char **argv);

/** The exit code for a status. */
int exit_code(wg_status status);

/** "wengert: TEXT" on stderr. */
void complain(const char *format, ...) WG_PRINTF(1, 2);

/** Flushes standard output.  If that or an earlier write failed, complains with the cause, which is
 * errno, and returns EXIT_IO; what is written later goes nowhere. */
int flush_output(void);

/** Complains about an error, unless its status is WG_OK; returns its exit code. */
int complain_error(const wg_error *error);

/** The i-th of a list of names, NULL past the end. */
typedef const char *name_at(size_t i);
const char *op_name_at(size_t i);
const char *model_name_at(size_t i);

/** Complains that there is no `what` of that name, suggests the nearest and lists all. */
void complain_unknown(const char *what, const char *name, name_at *at);

/** A file that a command is to write; path NULL: none. */
typedef struct result_file {
    const char *path;
    bool onnx;           /* an ONNX model, which may replace one, too */
    bool npy;            /* an array of NumPy, likewise */
    bool text;           /* it may replace any text; otherwise it must be a result */
    const char *force;   /* the option that would set `text`; NULL: there is none */
    const char *ending;  /* that a name with an ending must have, as in ".svg"; NULL: any */
    const char *made_by; /* weights, which may replace those of was_made_by; NULL: none */
} result_file;

/** Checks, before the work, that the outputs can be written; what is there stays.  Complains and
 * returns EXIT_USAGE if one of them would overwrite another, an input (NULL: none), standard input,
 * a file of a model, or one that does not begin like a result of these commands, or has a name that
 * ends as that of another format; EXIT_IO if it cannot be written. */
int check_outputs(const result_file *outputs, size_t n, const char *const *inputs, size_t n_inputs);
/** After a stat of the file that failed, with errno: EXIT_OK if it is not there; complains and
 * returns EXIT_IO if that cannot be told. */
int check_absent(const char *path);
/** Whether the file has weights that the command `maker` has written.  Fails as wg_safetensors_open
 * does; *was is then false. */
wg_status was_made_by(const char *path, const char *maker, bool *was, wg_error *error);
/** Checks that the file can be written, whatever is there. */
int check_writable(const char *path);
/** Writes size bytes to the file at `path`, after what standard output has if it is the same file.
 * Complains and returns EXIT_IO if that fails. */
int write_file(const char *path, const void *bytes, size_t size);

/** The same for what `put` writes, which is buffered in memory until it is complete. */
int write_stream(const char *path, void (*put)(FILE *f, const void *context), const void *context);

/** EXIT_USAGE after a message that suggests another option in place of one that there is not; else
 * EXIT_OK, also for what argp refuses. */
int check_option_names(const struct argp *argp, int argc, char **argv);

/** argp_parse of a whole command line: EXIT_OK, or complains that there was no memory and returns
 * EXIT_RUN, or EXIT_USAGE as check_option_names.  (Other usage errors end the program in there.) */
int parse_arguments(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* Takes the only argument of a command, a `what`; argp_error if it was given already. */
void take_argument(const struct argp_state *state, const char **argument, const char *what,
                   const char *text);

#endif
