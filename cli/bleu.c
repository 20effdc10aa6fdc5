/* wengert bleu: scores translations against references, as sacreBLEU does. */
#include "cli/cli.h"
#include "cli/values.h"
#include "graph/grow.h"
#include "text/internal.h"
#include "wengert/text/bleu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SMOOTH = 1000, SMOOTH_VALUE, CHRF, WORD_ORDER, BLANKS, SCORE_ONLY, WIDTH };

/* clang-format off */
static const struct argp_option table[] = {
    {"input", 'i', "FILE", 0, "translations, one per line (default: standard input)", 0},
    {"tokenize", 't', "13a|none|intl|char", 0, "tokenizer of BLEU (default: 13a)", 0},
    {"smooth", SMOOTH, "exp|none|floor|add-k", 0,
     "smoothing of BLEU for n-gram orders without a match (default: exp)", 0},
    {"smooth-value", SMOOTH_VALUE, "X", 0,
     "value for floor (default: 0.1) or add-k (default: 1)", 0},
    {"lowercase", 'l', 0, 0, "ignore case", 0},
    {"sentences", 's', 0, 0,
     "print a score for each line as well; BLEU uses the effective order", 0},
    {"chrf", CHRF, 0, 0, "compute chrF instead of BLEU", 0},
    {"word-order", WORD_ORDER, "N", 0,
     "count word n-grams up to N in chrF as well; 2 is chrF++", 0},
    {"blanks", BLANKS, 0, 0, "count blanks as characters in chrF", 0},
    {"score-only", SCORE_ONLY, 0, 0, "print only the number", 0},
    {"width", WIDTH, "N", 0, "decimals of --score-only and --sentences (default: 2)", 0},
    {0},
};
/* clang-format on */

typedef struct request {
    const char *input, **references; /* files */
    size_t n_references;
    const char *of_bleu; /* a given option that applies to BLEU only */
    wg_bleu_options bleu;
    wg_chrf_options chrf;
    bool use_chrf, score_only, sentences;
    int width;
} request;

/* ---- options --------------------------------------------------------------------------------- */

/* As argp_error, with the list of names. */
static void fail_choice(const struct argp_state *state, const char *option, const char *text,
                        const char *(*name)(int))
{
    char list[100] = "";
    for (int i = 0; name(i); i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", name(i));
    argp_error(state, "%s: expected one of %s, got '%s'", option, list, text);
}

static int one_of(const struct argp_state *state, const char *option, const char *text,
                  const char *(*name)(int))
{
    int i = 0;
    while (name(i) && strcmp(name(i), text) != 0)
        i++;
    if (!name(i))
        fail_choice(state, option, text, name);
    return i;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case 'i': r->input = arg; break;
    case 't':
        r->of_bleu = "--tokenize";
        r->bleu.tokenizer = one_of(state, r->of_bleu, arg, wg_bleu_tokenizer_name);
        break;
    case SMOOTH:
        r->of_bleu = "--smooth";
        r->bleu.smoothing = one_of(state, r->of_bleu, arg, wg_bleu_smoothing_name);
        break;
    case SMOOTH_VALUE:
        r->of_bleu = "--smooth-value";
        r->bleu.smoothing_value = real_argument(state, r->of_bleu, arg, ABOVE_0, 1e9, "above 0");
        break;
    case 'l': r->bleu.lowercase = r->chrf.lowercase = true; break;
    case 's': r->sentences = true; break;
    case CHRF: r->use_chrf = true; break;
    case WORD_ORDER:
        r->chrf.word_order = (int)number_argument(state, "--word-order", arg, 0, 16);
        break;
    case BLANKS: r->chrf.keep_blanks = true; break;
    case SCORE_ONLY: r->score_only = true; break;
    case WIDTH: r->width = (int)number_argument(state, "--width", arg, 0, 17); break;
    case ARGP_KEY_ARG: r->references[r->n_references++] = arg; break;
    case ARGP_KEY_END:
        if (!r->n_references)
            argp_error(state, "no references given");
        r->use_chrf = r->use_chrf || r->chrf.word_order || r->chrf.keep_blanks;
        if (r->use_chrf && r->of_bleu)
            argp_error(state, "%s applies to BLEU, not to chrF", r->of_bleu);
        if (r->bleu.smoothing_value != 0 && r->bleu.smoothing != WG_BLEU_FLOOR &&
            r->bleu.smoothing != WG_BLEU_ADD_K)
            argp_error(state, "--smooth-value applies to --smooth floor and add-k");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

typedef struct lines {
    char **line;
    size_t n, room;
} lines;

static void free_lines(lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->line[i]);
    free(l->line);
}

/* A copy of a line.  A NUL byte becomes a byte that is not UTF-8 either. */
static bool add_line(lines *l, const wgi_slice *text)
{
    char *line = WGI_RESERVE(l->line, l->room, l->n + 1) ? malloc(text->size + 1) : NULL;
    if (!line)
        return false;
    memcpy(line, text->text, text->size);
    line[text->size] = '\0';
    for (char *nul; (nul = memchr(line, '\0', text->size));)
        *nul = '\xff';
    l->line[l->n++] = line;
    return true;
}

/* What comes through a pipe, or from standard input if path is NULL. */
static int read_stream(wgi_text *out, const char *path)
{
    enum { PIECE = 1 << 16 };
    const char *name = path ? path : "standard input";
    bool has_room = true;
    errno = 0;
    FILE *opened = path ? fopen(path, "rbe") : NULL, *f = path ? opened : stdin;
    if (!f) {
        complain("%s: %s", name, strerror(errno));
        return EXIT_IO;
    }
    for (size_t room = 0; !feof(f) && !ferror(f) && has_room;)
        if ((has_room = WGI_RESERVE(out->bytes, room, out->size + PIECE)))
            out->size += fread(out->bytes + out->size, 1, PIECE, f);
    int code = !has_room ? EXIT_RUN : ferror(f) ? EXIT_IO : EXIT_OK;
    if (code != EXIT_OK)
        complain("%s: %s", name, strerror(has_room ? errno : ENOMEM));
    if (opened)
        fclose(opened);
    if (code == EXIT_OK && out->size > 1 && memcmp(out->bytes, "\x1f\x8b", 2) == 0) {
        complain("%s: expected plain text, got gzip; unpack it, or give a file", name);
        code = EXIT_DATA;
    }
    return code;
}

static int read_lines(lines *l, const char *path)
{
    struct stat s;
    wg_error error = {.status = WG_OK};
    wgi_text text = {0};
    bool is_file = path && stat(path, &s) == 0 && S_ISREG(s.st_mode), has_room = true;
    int code =
        is_file ? exit_code(wgi_text_read_all(&text, path, &error)) : read_stream(&text, path);
    if (is_file)
        complain_error(&error);
    size_t mark = wgi_mark_size(text.bytes, text.size);
    wgi_slice rest = {mark ? text.bytes + mark : text.bytes, text.size - mark}, line;
    while (code == EXIT_OK && has_room && wgi_next_line(&rest, &line))
        has_room = add_line(l, &line);
    free(text.bytes);
    if (has_room)
        return code;
    complain("%s: out of memory", path ? path : "standard input");
    return EXIT_RUN;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* The score of n lines from line `first` on, as a number and as text. */
static wg_status score(const request *r, const lines *h, const char *const *references, size_t n,
                       double *number, char *text, size_t size)
{
    const char *const *hypotheses = (const char *const *)h->line;
    if (r->use_chrf) {
        wg_status status = wg_chrf_compute(number, hypotheses, references, n, &r->chrf);
        if (status == WG_OK)
            wg_chrf_print(*number, &r->chrf, text, size);
        return status;
    }
    wg_bleu b;
    wg_status status = wg_bleu_compute(&b, hypotheses, references, n, &r->bleu);
    if (status == WG_OK) {
        wg_bleu_print(&b, text, size);
        *number = b.score;
    }
    return status;
}

static wg_status print_sentences(const request *r, const lines *h, const char *const *references)
{
    request one = *r;
    one.bleu.effective_order = true;
    const char **refs = calloc(r->n_references, sizeof *refs);
    wg_status status = refs ? WG_OK : WG_ENOMEM;
    for (size_t i = 0; i < h->n && status == WG_OK; i++) {
        double number = 0;
        char text[256];
        for (size_t k = 0; k < r->n_references; k++)
            refs[k] = references[k * h->n + i];
        status =
            score(&one, &(lines){.line = h->line + i, .n = 1}, refs, 1, &number, text, sizeof text);
        if (status == WG_OK)
            printf("%.*f\n", r->width, number);
    }
    free(refs);
    return status;
}

static wg_status print_score(const request *r, const lines *h, const char *const *references)
{
    double number = 0;
    char text[256], signature[256];
    wg_status status = score(r, h, references, h->n, &number, text, sizeof text);
    if (status != WG_OK)
        return status;
    if (r->score_only) {
        printf("%.*f\n", r->width, number);
        return WG_OK;
    }
    if (r->use_chrf)
        wg_chrf_signature(&r->chrf, signature, sizeof signature);
    else
        wg_bleu_signature(&r->bleu, signature, sizeof signature);
    printf("%s\n%s\n", text, signature);
    return WG_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Reads all files, which must have the same number of lines; references[k * lines + i]. */
static int read_all(const request *r, lines *h, lines *references)
{
    int code = read_lines(h, r->input);
    for (size_t k = 0; k < r->n_references && code == EXIT_OK; k++) {
        size_t before = references->n;
        code = read_lines(references, r->references[k]);
        size_t n = references->n - before;
        if (code == EXIT_OK && n != h->n) {
            complain("%s: expected %zu lines, as many as there are translations; got %zu",
                     r->references[k], h->n, n);
            code = EXIT_DATA;
        }
    }
    return code;
}

int command_bleu(int argc, char **argv)
{
    static const struct argp argp = {
        table,
        parse,
        "REFERENCES...",
        "Scores translations against one or more files of references by BLEU or chrF.  Scores "
        "and signature are those of sacreBLEU 2.",
        0,
        0,
        0};
    request r = {.references = calloc((size_t)argc, sizeof *r.references), .width = 2};
    lines h = {0}, references = {0};
    if (!r.references) {
        complain("out of memory");
        return EXIT_RUN;
    }
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    r.bleu.references = r.chrf.references = r.n_references;
    if (code == EXIT_OK)
        code = read_all(&r, &h, &references);
    if (code == EXIT_OK) {
        const char *const *texts = (const char *const *)references.line;
        wg_status status = r.sentences ? print_sentences(&r, &h, texts) : WG_OK;
        if (status == WG_OK)
            status = print_score(&r, &h, texts);
        if (status != WG_OK)
            complain("%s", wg_status_text(status));
        code = exit_code(status);
    }
    free_lines(&h);
    free_lines(&references);
    free(r.references);
    return code;
}
