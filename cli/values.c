#include "cli/values.h"
#include "graph/sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

long number_argument(const struct argp_state *state, const char *option, const char *text, long min,
                     long max)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end || errno || n < min || n > max)
        argp_error(state, "%s: expected a whole number from %ld to %ld, got '%s'", option, min, max,
                   text);
    return n;
}

size_t bytes_argument(const struct argp_state *state, const char *option, const char *text)
{
    int64_t bytes = 0;
    if (!wgi_size_read(text, &bytes))
        argp_error(state, "%s: expected bytes, such as 512M or 2G, got '%s'", option, text);
    return (size_t)bytes;
}

uint64_t seed_argument(const struct argp_state *state, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (end == text || *end || errno || strchr(text, '-'))
        argp_error(state, "--seed: expected a whole number, got '%s'", text);
    return n;
}

double real_argument(const struct argp_state *state, const char *option, const char *text,
                     double min, double max, const char *range)
{
    double x;
    if (!wgi_real_read(text, &x) || !(x >= min && x <= max))
        argp_error(state, "%s: expected a number %s, got '%s'", option, range, text);
    return x;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* One operand "4096x512@9", "scalar"; *end is where it stops. */
static bool parse_operand(const char *text, const char **end, wg_sample_operand *x)
{
    x->shape = (wg_shape){0};
    if (strncmp(text, "scalar", 6) == 0) {
        *end = text + 6;
    } else {
        do {
            char *after;
            long long n = strtoll(text, &after, 10);
            if (after == text || *text < '0' || x->shape.rank == WG_MAX_RANK)
                return false;
            x->shape.dim[x->shape.rank++] = n;
            *end = after;
            text = after + 1;
        } while (**end == 'x');
    }
    if (**end == '@') {
        char *after;
        long long n = strtoll(*end + 1, &after, 10);
        if (after == *end + 1 || n < 1)
            return false;
        x->lo = 0;
        x->hi = (double)n;
        *end = after;
    }
    return **end == ',' || !**end;
}

bool parse_shapes(const char *text, wg_sample_operand in[WG_MAX_SAMPLE_OPERANDS], int *n)
{
    const char *end = text;
    for (*n = 0; *n < WG_MAX_SAMPLE_OPERANDS; text = end + 1) {
        if (!parse_operand(text, &end, &in[(*n)++]))
            return false;
        if (!*end)
            return true;
    }
    return false;
}
