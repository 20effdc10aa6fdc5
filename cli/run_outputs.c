/* The outputs of a model: in files, or as a table. */
#include "cli/run.h"
#include "files/npy.h"
#include "graph/element.h"
#include "graph/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

const char *output_name(const wg_graph *g, size_t i, char text[OUTPUT_NAME])
{
    const char *name = wg_graph_output_name(g, i);
    if (*name)
        snprintf(text, OUTPUT_NAME, "%s", name);
    else
        snprintf(text, OUTPUT_NAME, "output%zu", i);
    return text;
}

/* The output of that name; the number of outputs if there is none. */
static size_t find_output(const wg_graph *g, const char *name)
{
    char text[OUTPUT_NAME];
    size_t i = 0, n = wg_graph_output_count(g);
    while (i < n && strcmp(output_name(g, i, text), name) != 0)
        i++;
    return i;
}

static int complain_no_output(const char *name, const char *model, const wg_graph *g)
{
    size_t n = wg_graph_output_count(g);
    char(*text)[OUTPUT_NAME] = calloc(n + 1, sizeof *text);
    const char **names = calloc(n + 1, sizeof *names);
    for (size_t i = 0; text && names && i < n; i++)
        names[i] = output_name(g, i, text[i]);
    complain_no_such(model, "output", name, names, text && names ? n : 0);
    free(text);
    free(names);
    return EXIT_USAGE;
}

int outputs_check(const array_list *arrays, const source *s, const wg_graph *g)
{
    if (wg_graph_output_count(g) == 0) {
        complain("%s: it has no outputs", s->name);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < arrays->n; i++)
        if (find_output(g, arrays->name[i]) == wg_graph_output_count(g))
            return complain_no_output(arrays->name[i], s->name, g);
    return EXIT_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static wg_tensor tensor_of(wg_plan *p, const wg_value *v, const char *name)
{
    return (wg_tensor){name, v->dtype, v->shape, wg_plan_data(p, v)};
}

static int write_tensors(const char *file, wg_plan *p, const wg_graph *g)
{
    static const wg_file_note note = {WG_NOTE_MADE_BY, "run"};
    size_t n = wg_graph_output_count(g);
    wg_error error = {.status = WG_ENOMEM, .text = "out of memory"};
    wg_tensor *tensors = calloc(n + 1, sizeof *tensors);
    char(*text)[OUTPUT_NAME] = calloc(n + 1, sizeof *text);
    for (size_t i = 0; tensors && text && i < n; i++)
        tensors[i] = tensor_of(p, wg_graph_output(g, i), output_name(g, i, text[i]));
    wg_status status =
        tensors && text ? wg_safetensors_write(file, tensors, n, &note, 1, &error) : WG_ENOMEM;
    free(tensors);
    free(text);
    return status == WG_OK ? EXIT_OK : complain_error(&error);
}

static int write_array(const char *file, const char *name, wg_plan *p, const wg_graph *g)
{
    wg_error error;
    const wg_value *v = wg_graph_output(g, find_output(g, name));
    const wg_tensor t = tensor_of(p, v, name);
    return wgi_npy_write(file, &t, &error) == WG_OK ? EXIT_OK : complain_error(&error);
}

/* ---- a table --------------------------------------------------------------------------------- */

enum { FIRST = 6, NUMBER = 32 };

static const char *number_text(const void *data, wg_dtype dtype, int64_t i, char text[NUMBER])
{
    double x = wgi_get_element(data, dtype, i);
    if (wg_dtype_is_int(dtype))
        snprintf(text, NUMBER, "%lld", (long long)wgi_get_int(data, dtype, i));
    else
        snprintf(text, NUMBER, "%.6g",
                 isnan(x) ? fabs(x) : x); /* the sign of a NaN means nothing */
    return text;
}

/* What a row tells of all elements; those that are NaN count apart. */
typedef struct summary {
    int64_t min, max; /* the places of these elements; -1: there is none */
    int64_t n_nan;
    double mean;
} summary;

static summary summarize(const void *data, wg_dtype dtype, int64_t count)
{
    summary s = {.min = -1, .max = -1};
    double sum = 0, least = 0, most = 0;
    for (int64_t i = 0; i < count; i++) {
        double x = wgi_get_element(data, dtype, i);
        if (isnan(x)) {
            s.n_nan++;
            continue;
        }
        if (s.min < 0 || x < least) {
            least = x;
            s.min = i;
        }
        if (s.max < 0 || x > most) {
            most = x;
            s.max = i;
        }
        sum += x;
    }
    s.mean = s.min < 0 ? 0 : sum / (double)(count - s.n_nan);
    return s;
}

static void print_row(const char *name, int width, const wg_value *v, const void *data)
{
    char shown[OUTPUT_NAME], shape[200], least[NUMBER] = "-", most[NUMBER] = "-",
                                         mean[NUMBER] = "-";
    int64_t count = wg_value_count(v);
    summary s = summarize(data, v->dtype, count);
    snprintf(shown, sizeof shown, "%s", name);
    wgi_text_disarm(shown, false);
    if (s.min >= 0) {
        number_text(data, v->dtype, s.min, least);
        number_text(data, v->dtype, s.max, most);
        snprintf(mean, sizeof mean, "%.6g", s.mean);
    }
    printf("%-*s %-5s %-14s %12s %12s %12s", width, shown, wg_dtype_name(v->dtype),
           wg_shape_text(&v->shape, shape, sizeof shape), least, most, mean);
    for (int64_t i = 0; i < count && i < FIRST; i++)
        printf(i ? " %s" : "  %s", number_text(data, v->dtype, i, least));
    printf("%s", count > FIRST ? " ..." : "");
    if (s.n_nan)
        printf("  (NaN: %lld of %lld)", (long long)s.n_nan, (long long)count);
    printf("\n");
}

static int print_table(wg_plan *p, const wg_graph *g)
{
    enum { WIDEST = 40 };
    char text[OUTPUT_NAME];
    size_t width = strlen("output"), n = wg_graph_output_count(g);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(output_name(g, i, text));
        width = length > width ? length : width;
    }
    width = width < WIDEST ? width : WIDEST;
    printf("%-*s %-5s %-14s %12s %12s %12s  first numbers\n", (int)width, "output", "dtype",
           "shape", "minimum", "maximum", "mean");
    for (size_t i = 0; i < n; i++) {
        const wg_value *v = wg_graph_output(g, i);
        print_row(output_name(g, i, text), (int)width, v, wg_plan_data(p, v));
    }
    return EXIT_OK;
}

int outputs_deliver(const char *file, const array_list *arrays, wg_plan *p, const wg_graph *g)
{
    int code = file ? write_tensors(file, p, g) : EXIT_OK;
    for (size_t i = 0; i < arrays->n && code == EXIT_OK; i++)
        code = write_array(arrays->file[i], arrays->name[i], p, g);
    if (!file && arrays->n == 0)
        code = print_table(p, g);
    return code;
}
