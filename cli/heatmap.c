#include "cli/heatmap.h"
#include "cli/cli.h"
#include "cli/gnuplot.h"
#include "graph/json.h"
#include "translate/translator.h"

#include <stdlib.h>
#include <string.h>

/* The maps, whose columns are keys and whose rows are queries. */
typedef struct map {
    const char **column, **row; /* texts of their tokens */
    size_t columns, rows, heads;
    bool cross;          /* keys are of the source, queries of the target */
    const float *weight; /* [heads, rows, columns] */
} map;

static const char *piece(const wg_vocabulary *v, int32_t id)
{
    const char *text = wg_vocabulary_piece(v, id);
    return !text ? "?" : strcmp(text, " ") == 0 ? "\xe2\x90\xa3" : text; /* U+2423, the open box */
}

/* What the rows and columns of `of`, a scope or NULL, are. */
static void set_sides(map *m, const wg_hypothesis *h, const char *of, bool *source_rows)
{
    const char *last = of ? strrchr(of, '/') : NULL;
    *source_rows = of && strncmp(of, "encoder", strlen("encoder")) == 0;
    m->cross = !*source_rows && !(last && strcmp(last, "/self_attn") == 0);
    m->columns = h->attention_columns;
    m->rows = h->attention_rows;
    m->heads = h->attention_maps;
    m->weight = h->attention;
}

/* The token of column i of the source: a mark of the sentence or one of its n ids. */
static int32_t source_token(const wgi_sentence_marks *marks, size_t columns, const int32_t *ids,
                            size_t n, size_t i)
{
    size_t first = marks->source_bos >= 0;
    if (i < first)
        return marks->source_bos;
    bool is_end = marks->source_eos >= 0 && i + 1 == columns;
    return is_end || i - first >= n ? marks->source_eos : ids[i - first];
}

/* Texts of n tokens of the source, with the marks of the sentence. */
static wg_status name_source(const char **text, size_t n, const char *line, const wg_vocabulary *v,
                             const wgi_sentence_marks *marks)
{
    int32_t *ids = NULL;
    size_t count = 0;
    wg_status status = wg_vocabulary_encode(v, line, strlen(line), &ids, &count);
    for (size_t i = 0; status == WG_OK && i < n; i++)
        text[i] = piece(v, source_token(marks, n, ids, count, i));
    free(ids);
    return status;
}

/* Of the target as it is predicted, or shifted by one, as it is read, after the token `start`. */
static void name_target(const char **text, size_t n, const wg_hypothesis *h, const wg_vocabulary *v,
                        bool shifted, int32_t start)
{
    for (size_t i = 0; i < n; i++)
        text[i] = piece(v, !shifted ? h->ids[i] : i > 0 ? h->ids[i - 1] : start);
}

/* The texts of the tokens, with those around the sentence. */
static wg_status name_tokens(map *m, const char *line, const wg_translator *t,
                             const wg_hypothesis *h, const char *of)
{
    const wg_vocabulary *from = wg_translator_vocabulary(t, 0),
                        *to = wg_translator_vocabulary(t, 1);
    const wgi_sentence_marks *marks = wgi_translator_marks(t);
    bool source_rows;
    wg_status status = WG_OK;
    set_sides(m, h, of, &source_rows);
    m->column = calloc(m->columns + 1, sizeof *m->column);
    m->row = calloc(m->rows + 1, sizeof *m->row);
    if (!m->column || !m->row)
        return WG_ENOMEM;
    if (m->cross || source_rows)
        status = name_source(m->column, m->columns, line, from, marks);
    else
        name_target(m->column, m->columns, h, to, true, marks->start);
    if (source_rows && status == WG_OK)
        status = name_source(m->row, m->rows, line, from, marks);
    else if (!source_rows)
        name_target(m->row, m->rows, h, to, false, marks->start);
    return status;
}

static void put_texts(wgi_json *j, const char *key, const char *const *text, size_t n)
{
    wgi_json_begin(j, key, '[');
    for (size_t i = 0; i < n; i++)
        wgi_json_text(j, NULL, text[i]);
    wgi_json_end(j, ']');
}

static void put_weights(wgi_json *j, const char *key, const map *m, size_t head)
{
    wgi_json_begin(j, key, '[');
    for (size_t i = 0; i < m->rows; i++) {
        wgi_json_begin(j, NULL, '[');
        for (size_t k = 0; k < m->columns; k++)
            wgi_json_real(j, NULL, m->weight[(head * m->rows + i) * m->columns + k]);
        wgi_json_end(j, ']');
    }
    wgi_json_end(j, ']');
}

static void put_numbers(FILE *f, const void *context)
{
    const map *m = context;
    wgi_json j = {.file = f};
    wgi_json_begin(&j, NULL, '{');
    put_texts(&j, m->cross ? "source" : "keys", m->column, m->columns);
    put_texts(&j, m->cross ? "target" : "queries", m->row, m->rows);
    if (m->heads == 1) {
        put_weights(&j, "attention", m, 0);
    } else {
        wgi_json_begin(&j, "heads", '[');
        for (size_t h = 0; h < m->heads; h++)
            put_weights(&j, NULL, m, h);
        wgi_json_end(&j, ']');
    }
    wgi_json_end(&j, '}');
}

/* The margins for the labels, in pixels. */
typedef struct frame {
    double width, height, left, top;
} frame;
enum { CELL = 24, LETTER = 9, RIGHT = 100, BOTTOM = 20 };

/* Characters of the longest label. */
static size_t longest(const char *const *text, size_t n)
{
    size_t max = 0;
    for (size_t i = 0; i < n; i++) {
        size_t letters = 0;
        for (const char *c = text[i]; *c; c++)
            letters += (*c & 0xc0) != 0x80; /* the first byte of a character */
        max = letters > max ? letters : max;
    }
    return max;
}

static frame frame_of(const map *m)
{
    frame f = {.left = 20 + LETTER * (double)longest(m->row, m->rows),
               .top = 20 + LETTER * (double)longest(m->column, m->columns)};
    f.width = f.left + CELL * (double)m->columns + RIGHT;
    f.height = f.top + CELL * (double)m->rows + BOTTOM;
    return f;
}

/* The frames of several heads beside and below each other. */
typedef struct grid {
    frame each;
    size_t in_a_row;
    double width, height;
} grid;

static grid grid_of(const map *m)
{
    grid g = {.each = frame_of(m), .in_a_row = 1};
    while (g.in_a_row * g.in_a_row < m->heads)
        g.in_a_row++;
    const size_t rows = (m->heads + g.in_a_row - 1) / g.in_a_row;
    g.width = g.each.width * (double)g.in_a_row;
    g.height = g.each.height * (double)rows;
    return g;
}

static void write_labels(const map *m, const grid *g, double left, double top, FILE *f)
{
    for (size_t i = 0; i < m->columns; i++) {
        fputs("set label ", f);
        gnuplot_text(f, m->column[i]);
        fprintf(f, " at first %zu, screen %g rotate by 90 left\n", i, 1 - (top - 6) / g->height);
    }
    for (size_t i = 0; i < m->rows; i++) {
        fputs("set label ", f);
        gnuplot_text(f, m->row[i]);
        fprintf(f, " at screen %g, first %zu right\n", (left - 6) / g->width, i);
    }
}

static void write_head(const map *m, const grid *g, size_t head, FILE *f)
{
    const frame *s = &g->each;
    const size_t row = head / g->in_a_row, column = head % g->in_a_row;
    const double x = s->width * (double)column, y = s->height * (double)row;
    /* with one row and one column more, outside of the axes: an image has at least two of each */
    fputs("$weights << end_of_weights\n", f);
    for (size_t i = 0; i <= m->rows; i++) {
        for (size_t k = 0; k <= m->columns; k++)
            fprintf(f, "%.5f ",
                    i < m->rows && k < m->columns ? m->weight[(head * m->rows + i) * m->columns + k]
                                                  : 0);
        fputc('\n', f);
    }
    fputs("end_of_weights\nunset label\n", f);
    fprintf(f,
            "set lmargin at screen %g\nset rmargin at screen %g\nset tmargin at screen %g\nset "
            "bmargin at screen %g\n",
            (x + s->left) / g->width, (x + s->width - RIGHT) / g->width,
            1 - (y + s->top) / g->height, 1 - (y + s->height - BOTTOM) / g->height);
    write_labels(m, g, x + s->left, y + s->top, f);
    if (m->heads > 1)
        fprintf(f, "set label 'head %zu' at screen %g, screen %g left\n", head,
                (x + s->width - RIGHT + 10) / g->width, 1 - (y + s->top - 20) / g->height);
    fputs("plot $weights matrix with image\n", f);
}

static void write_script(const map *m, const grid *g, FILE *f)
{
    fputs("set palette defined (0 'white', 0.5 '#6baed6', 1 '#08306b')\n"
          "set cbrange [0:1]\nunset key\nunset xtics\nunset ytics\nset border lw 0.5\n",
          f);
    fprintf(f, "set xrange [-0.5:%g]\nset yrange [%g:-0.5]\n", (double)m->columns - 0.5,
            (double)m->rows - 0.5);
    if (m->heads > 1)
        fputs("set multiplot\n", f);
    for (size_t h = 0; h < m->heads; h++)
        write_head(m, g, h, f);
    if (m->heads > 1)
        fputs("unset multiplot\n", f);
}

/* path with -number before its last dot, and `extension` instead of what follows if that is not
 * NULL */
static char *beside(const char *path, size_t number, const char *extension)
{
    size_t stem = (size_t)(strrchr(path, '.') - path), room = strlen(path) + 40;
    char *name = malloc(room), suffix[24] = "";
    if (number > 0)
        snprintf(suffix, sizeof suffix, "-%zu", number + 1);
    if (name)
        snprintf(name, room, "%.*s%s.%s", (int)stem, path, suffix,
                 extension ? extension : path + stem + 1);
    return name;
}

int heatmap_check(const char *path, const model *m)
{
    char *numbers = path ? beside(path, 0, "json") : NULL;
    int code = path && !numbers
                   ? EXIT_RUN
                   : model_check_outputs(m, (result_file[]){{.path = path}, {.path = numbers}}, 2);
    free(numbers);
    return code;
}

static int write_picture(const map *m, const char *path)
{
    const grid size = grid_of(m);
    FILE *script = gnuplot_begin(picture_format(path), size.width, size.height);
    if (!script)
        return EXIT_RUN;
    write_script(m, &size, script);
    return gnuplot_end(script, path);
}

int heatmap_write(const char *path, size_t line_number, const char *line, const model *from,
                  const wg_hypothesis *h, const char *of)
{
    map m = {0};
    if (!h->attention || !h->n || !h->source_tokens)
        return EXIT_OK; /* an empty line */
    char *picture = beside(path, line_number, NULL), *numbers = beside(path, line_number, "json");
    wg_status status = name_tokens(&m, line, from->translator, h, of);
    int code = picture && numbers ? exit_code(status) : EXIT_RUN;
    if (code != EXIT_OK)
        complain("%s: %s", path, wg_status_text(status == WG_OK ? WG_ENOMEM : status));
    if (code == EXIT_OK)
        code = model_check_outputs(from, (result_file[]){{.path = picture}, {.path = numbers}}, 2);
    if (code == EXIT_OK)
        code = write_stream(numbers, put_numbers, &m);
    if (code == EXIT_OK)
        code = write_picture(&m, picture);
    free(m.column);
    free(m.row);
    free(picture);
    free(numbers);
    return code;
}
