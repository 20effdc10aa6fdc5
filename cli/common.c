#include "cli/cli.h"
#include "graph/error.h"
#include "graph/nearest.h"
#include "graph/text_buffer.h"
#include "wengert/models/models.h"
#include "wengert/ops/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int exit_code(wg_status status)
{
    switch (status) {
    case WG_OK: return EXIT_OK;
    case WG_EINVAL: return EXIT_USAGE;
    case WG_EDATA: return EXIT_DATA;
    case WG_EIO: return EXIT_IO;
    default: return EXIT_RUN;
    }
}

void complain(const char *format, ...)
{
    char text[2 * WG_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wgi_text_disarm(text, true);
    fflush(stdout); /* keeps both streams in order */
    fprintf(stderr, "wengert: %s\n", text);
}

int flush_output(void)
{
    int why = errno, nowhere;
    if (fflush(stdout) != 0)
        why = errno;
    else if (!ferror(stdout))
        return EXIT_OK;
    complain("standard output: %s", why ? strerror(why) : "cannot be written");
    if ((nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        close(nowhere);
        clearerr(stdout); /* it has been reported */
    }
    return EXIT_IO;
}

int complain_error(const wg_error *error)
{
    if (error->status != WG_OK)
        complain("%s", error->text);
    return exit_code(error->status);
}

const char *op_name_at(size_t i)
{
    const wg_op *op = wg_op_at(i);
    return op ? op->name : NULL;
}

const char *model_name_at(size_t i)
{
    const wg_model *m = wg_model_at(i);
    return m ? m->name : NULL;
}

void complain_unknown(const char *what, const char *name, name_at *at)
{
    const char *nearest = NULL, *other;
    size_t min = SIZE_MAX;
    for (size_t i = 0; (other = at(i)); i++) {
        size_t distance = wgi_name_distance(name, other);
        if (distance < min) {
            min = distance;
            nearest = other;
        }
    }
    if (nearest)
        complain("no %s '%s'; did you mean '%s'?", what, name, nearest);
    else
        complain("no %s '%s'", what, name);
    fputs("Available:", stderr);
    size_t column = 10;
    for (size_t i = 0; (other = at(i)); i++) {
        if (column + strlen(other) + 1 > 96) {
            fputs("\n ", stderr);
            column = 1;
        }
        fprintf(stderr, " %s", other);
        column += strlen(other) + 1;
    }
    fputc('\n', stderr);
}

int parse_arguments(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    int code = check_option_names(argp, argc, argv);
    if (code != EXIT_OK)
        return code;
    error_t failed = argp_parse(argp, argc, argv, flags, NULL, input);
    if (failed)
        complain("cannot read the command line: %s", strerror(failed));
    return failed ? EXIT_RUN : EXIT_OK;
}

void take_argument(const struct argp_state *state, const char **argument, const char *what,
                   const char *text)
{
    if (*argument)
        argp_error(state, "expected one %s, got '%s' and '%s'", what, *argument, text);
    *argument = text;
}
