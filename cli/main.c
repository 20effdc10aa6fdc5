/* wengert COMMAND ...: finds and runs the command; output that cannot be written is an error. */
#include "wengert/backends/isa.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int command_help(int argc, char **argv);

static const command commands[] = {
#ifdef WG_HAVE_TRAINING
    {"train", "train a Transformer on parallel text, or a language model", command_train},
    {"stop", "stop a training run", command_stop},
    {"translate", "translate standard input", command_translate},
    {"score", "score given translations by log probability", command_score},
    {"evaluate", "evaluate a translator on parallel text, or a language model", command_evaluate},
    {"generate", "draw texts from a language model", command_generate},
    {"average", "average the weights of several models", command_average},
    {"import", "make a model folder of another program's weights", command_import},
    {"info", "describe a model folder", command_info},
    {"plot", "plot the metrics of a training run", command_plot},
    {"bleu", "score translations against references", command_bleu},
#endif
    {"graph", "print or draw a model, its gradient or its plan", command_graph},
    {"run", "run a model on numbers in files", command_run},
    {"diff", "compare two graphs, or one run in two ways", command_diff},
    {"onnx", "describe an ONNX model", command_onnx},
    {"export", "write a model as ONNX, or in another program's form", command_export},
    {"gradcheck", "check derivatives of ops and models numerically", command_gradcheck},
    {"devices", "list the backends and measure the machine's limits", command_devices},
    {"bench", "time an op, a model or a training step on the backends", command_bench},
    {"ops", "list the ops, or describe one", command_ops},
    {"paper", "run a claim of the Transformer's paper as an experiment", command_paper},
    {"help", "show the help of a command", command_help},
};
enum { N_COMMANDS = WG_COUNT(commands) };

static const char *command_name_at(size_t i)
{
    return i < N_COMMANDS ? commands[i].name : NULL;
}

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    complain_unknown("command", name, command_name_at);
    return NULL;
}

static int run_command(const command *c, int argc, char **argv)
{
    char name[64];
    snprintf(name, sizeof name, "wengert %s", c->name);
    argv[0] = name;
    return c->run(argc, argv);
}

static void print_help(FILE *f)
{
    fprintf(f, "Usage: wengert COMMAND [OPTION...]\n\n"
               "Graph-based automatic differentiation: train and use a Transformer, draw "
               "graphs,\ncheck derivatives, measure speed.\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].doc);
    fprintf(f,
            "\nwengert COMMAND --help lists the options of a command; wengert --version prints the "
            "version.\n"
            "Exit codes: 0 success, 1 run-time failure, 2 usage error, 3 bad data, 4 input/output "
            "error.\n");
}

static int command_help(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        print_help(stdout);
        return EXIT_OK;
    }
    const command *c = find_command(argv[1]);
    if (!c)
        return EXIT_USAGE;
    if (c->run == command_help) {
        print_help(stdout);
        return EXIT_OK;
    }
    char help[] = "--help", *args[] = {NULL, help, NULL};
    return run_command(c, 2, args);
}

/* Runs at exit, also after argp's: lost output is a failure. */
static void check_stdout(void)
{
    bool failed = ferror(stdout);
    errno = 0;
    if (fclose(stdout) != 0 || failed) {
        complain("standard output: %s", errno ? strerror(errno) : "cannot be written");
        _exit(EXIT_IO);
    }
}

/* A closed descriptor 0, 1 or 2 would be that of the next file that is opened, and messages would
 * be written into it.  They become /dev/null, opened so that using them is an error. */
static void open_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(EXIT_IO);
}

/* Enough room for what most commands print: it is then written once, at exit, where the reason of a
 * failure is still known. */
static void buffer_stdout(void)
{
    static char room[1 << 16];
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, room, _IOFBF, sizeof room);
}

int main(int argc, char **argv)
{
    open_standard_descriptors();
    buffer_stdout();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error ... */
    signal(SIGXFSZ, SIG_IGN); /* ... and so is a file beyond its size limit */
    atexit(check_stdout);
    argp_err_exit_status = EXIT_USAGE;
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
        print_help(stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("wengert %s\n", WG_VERSION);
        return EXIT_OK;
    }
    const command *c = find_command(argv[1]);
    wg_isa cap; /* a misspelt cap must not be ignored */
    wg_error error;
    if (c && wg_isa_cap(&cap, &error) != WG_OK)
        return complain_error(&error);
    return c ? run_command(c, argc - 1, argv + 1) : EXIT_USAGE;
}
