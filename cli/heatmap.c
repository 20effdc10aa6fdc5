#include "cli/heatmap.h"
#include "cli/cli.h"
#include "cli/gnuplot.h"
#include "graph/json.h"
#include "translate/translator.h"

#include <stdlib.h>
#include <string.h>

/* The map: columns are source tokens, rows are target tokens. */
typedef struct map {
    const char **source, **target; /* their texts */
    size_t columns, rows;
    const float *weight; /* [rows, columns] */
} map;

static const char *piece(const wg_vocabulary *v, int32_t id)
{
    const char *text = wg_vocabulary_piece(v, id);
    return !text ? "?" : strcmp(text, " ") == 0 ? "\xe2\x90\xa3" : text; /* U+2423, the open box */
}

/* The token of column i of the source: a mark of the sentence or one of its n ids. */
static int32_t source_token(const wgi_marks *marks, size_t columns, const int32_t *ids, size_t n,
                            size_t i)
{
    size_t first = marks->source_bos >= 0;
    if (i < first)
        return marks->source_bos;
    bool is_end = marks->source_eos >= 0 && i + 1 == columns;
    return is_end || i - first >= n ? marks->source_eos : ids[i - first];
}

/* The texts of the tokens, with those around the sentence. */
static wg_status name_tokens(map *m, const char *line, const wg_translator *t,
                             const wg_hypothesis *h)
{
    const wg_vocabulary *from = wg_translator_vocabulary(t, 0),
                        *to = wg_translator_vocabulary(t, 1);
    int32_t *ids = NULL;
    size_t n = 0;
    *m = (map){.columns = h->source_tokens, .rows = h->n, .weight = h->attention};
    m->source = calloc(m->columns + 1, sizeof *m->source);
    m->target = calloc(m->rows + 1, sizeof *m->target);
    wg_status status = m->source && m->target
                           ? wg_vocabulary_encode(from, line, strlen(line), &ids, &n)
                           : WG_ENOMEM;
    for (size_t i = 0; status == WG_OK && i < m->columns; i++)
        m->source[i] = piece(from, source_token(wgi_translator_marks(t), m->columns, ids, n, i));
    for (size_t i = 0; status == WG_OK && i < m->rows; i++)
        m->target[i] = piece(to, h->ids[i]);
    free(ids);
    return status;
}

static void put_numbers(FILE *f, const void *context)
{
    const map *m = context;
    wgi_json j = {.file = f};
    wgi_json_begin(&j, NULL, '{');
    wgi_json_begin(&j, "source", '[');
    for (size_t i = 0; i < m->columns; i++)
        wgi_json_text(&j, NULL, m->source[i]);
    wgi_json_end(&j, ']');
    wgi_json_begin(&j, "target", '[');
    for (size_t i = 0; i < m->rows; i++)
        wgi_json_text(&j, NULL, m->target[i]);
    wgi_json_end(&j, ']');
    wgi_json_begin(&j, "attention", '[');
    for (size_t i = 0; i < m->rows; i++) {
        wgi_json_begin(&j, NULL, '[');
        for (size_t k = 0; k < m->columns; k++)
            wgi_json_real(&j, NULL, m->weight[i * m->columns + k]);
        wgi_json_end(&j, ']');
    }
    wgi_json_end(&j, ']');
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
    frame f = {.left = 20 + LETTER * (double)longest(m->target, m->rows),
               .top = 20 + LETTER * (double)longest(m->source, m->columns)};
    f.width = f.left + CELL * (double)m->columns + RIGHT;
    f.height = f.top + CELL * (double)m->rows + BOTTOM;
    return f;
}

static void write_script(const map *m, const frame *s, FILE *f)
{
    fputs("$weights << end_of_weights\n", f);
    for (size_t i = 0; i < m->rows; i++) {
        for (size_t k = 0; k < m->columns; k++)
            fprintf(f, "%.5f ", m->weight[i * m->columns + k]);
        fputc('\n', f);
    }
    fputs("end_of_weights\n"
          "set palette defined (0 'white', 0.5 '#6baed6', 1 '#08306b')\n"
          "set cbrange [0:1]\nunset key\nunset xtics\nunset ytics\nset border lw 0.5\n",
          f);
    fprintf(f,
            "set lmargin at screen %g\nset rmargin at screen %g\nset tmargin at screen %g\nset "
            "bmargin at screen %g\n",
            s->left / s->width, 1 - RIGHT / s->width, 1 - s->top / s->height, BOTTOM / s->height);
    fprintf(f, "set xrange [-0.5:%g]\nset yrange [%g:-0.5]\n", (double)m->columns - 0.5,
            (double)m->rows - 0.5);
    for (size_t i = 0; i < m->columns; i++) {
        fputs("set label ", f);
        gnuplot_text(f, m->source[i]);
        fprintf(f, " at first %zu, screen %g rotate by 90 left\n", i, 1 - (s->top - 6) / s->height);
    }
    for (size_t i = 0; i < m->rows; i++) {
        fputs("set label ", f);
        gnuplot_text(f, m->target[i]);
        fprintf(f, " at screen %g, first %zu right\n", (s->left - 6) / s->width, i);
    }
    fputs("plot $weights matrix with image\n", f);
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

static int write_picture(const map *m, const char *path)
{
    frame size = frame_of(m);
    FILE *script = gnuplot_begin(picture_format(path), size.width, size.height);
    if (!script)
        return EXIT_RUN;
    write_script(m, &size, script);
    return gnuplot_end(script, path);
}

int heatmap_write(const char *path, size_t line_number, const char *line,
                  const wg_translator *translator, const wg_hypothesis *h)
{
    map m = {0};
    if (!h->attention || !h->n || !h->source_tokens)
        return EXIT_OK; /* an empty line */
    char *picture = beside(path, line_number, NULL), *numbers = beside(path, line_number, "json");
    wg_status status = name_tokens(&m, line, translator, h);
    int code = picture && numbers ? exit_code(status) : EXIT_RUN;
    if (code != EXIT_OK)
        complain("%s: %s", path, wg_status_text(status == WG_OK ? WG_ENOMEM : status));
    if (code == EXIT_OK)
        code = write_stream(numbers, put_numbers, &m);
    if (code == EXIT_OK)
        code = write_picture(&m, picture);
    free(m.source);
    free(m.target);
    free(picture);
    free(numbers);
    return code;
}
