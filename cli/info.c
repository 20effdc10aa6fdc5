/* wengert info: describes a model folder. */
#include "cli/cli.h"
#include "graph/error.h"
#include "train/progress.h"
#include "wengert/train/folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct argp_option table[] = {
    {"model", 'm', "FOLDER", 0, "the model folder, as for other commands", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **folder = state->input;
    switch (key) {
    case 'm':
    case ARGP_KEY_ARG: take_argument(state, folder, "folder", arg); break;
    case ARGP_KEY_END:
        if (!*folder)
            argp_error(state, "no folder given");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- settings -------------------------------------------------------------------------------- */

static int print_settings(const char *folder)
{
    wg_settings s;
    const wg_option *o;
    wg_error error;
    wg_status status = wg_folder_settings(&s, folder, &error);
    int group = -1;
    if (status != WG_OK)
        return complain_error(&error);
    for (size_t i = 0; status == WG_OK && (o = wg_option_at(i)); i++) {
        char *text = NULL;
        if (o->group != group) {
            printf("%s%s\n", i ? "\n" : "", wg_option_group_title(o->group));
            group = o->group;
        }
        status = wg_settings_get(&s, o, &text);
        if (status == WG_OK)
            printf("  %-24s %s\n", o->name, text);
        else
            complain("%s: %s: %s", folder, o->name, wg_status_text(status));
        free(text);
    }
    wg_settings_free(&s);
    return exit_code(status);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* The number with a comma between groups of three digits. */
static const char *grouped(int64_t n, char text[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)n), at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

/* Sums over all tensors whose names begin with the same part; tensors are ordered by name. */
static void print_parts(const wg_safetensors *file)
{
    const wg_file_tensor *t;
    char number[32];
    int64_t all = 0, sum = 0;
    for (size_t i = 0; (t = wg_safetensors_at(file, i)); i++)
        all += wg_shape_count(&t->shape);
    printf("  %-24s %15s\n", "parameters", grouped(all, number));
    for (size_t i = 0; (t = wg_safetensors_at(file, i)); i++) {
        const wg_file_tensor *next = wg_safetensors_at(file, i + 1);
        size_t n = strcspn(t->name, "/");
        sum += wg_shape_count(&t->shape);
        if (next && strncmp(t->name, next->name, n) == 0 && strcspn(next->name, "/") == n)
            continue;
        char part[200];
        snprintf(part, sizeof part, "%.*s", (int)n, t->name);
        wgi_text_disarm(part, false);
        printf("    %-22s %15s\n", part, grouped(sum, number));
        sum = 0;
    }
}

static int print_parameters(const char *path)
{
    wg_safetensors *file = NULL;
    wg_error error;
    if (wg_safetensors_open(&file, path, &error) == WG_OK)
        print_parts(file);
    wg_safetensors_close(file);
    return complain_error(&error);
}

/* ---- vocabularies ---------------------------------------------------------------------------- */

static int print_vocabularies(const char *folder)
{
    static const char *const kinds[] = {"bpe", "unigram", "words", "characters"};
    wg_vocabularies v;
    wg_error error;
    wg_status status = wg_vocabularies_open(&v, folder, &error);
    bool joint = status == WG_OK && v.side[0] == v.side[1];
    for (int i = 0; status == WG_OK && i < (joint ? 1 : 2); i++)
        printf("  %-24s %lld tokens (%s)\n",
               joint ? "joint"
               : i   ? "target"
                     : "source",
               (long long)wg_vocabulary_size(v.side[i]), kinds[wg_vocabulary_kind_of(v.side[i])]);
    wg_vocabularies_free(&v);
    return complain_error(&error);
}

/* ---- progress -------------------------------------------------------------------------------- */

static void print_count(const char *name, int64_t n)
{
    printf("  %-24s %" PRId64 "\n", name, n);
}

static int print_progress(const char *path)
{
    wg_progress p;
    wg_error error = {.status = WG_OK};
    if (wgi_progress_read(&p, NULL, path, &error) != WG_OK)
        return complain_error(&error);
    print_count("update", p.update);
    print_count("epoch", p.cursor.epoch);
    print_count("sentences", p.sentences);
    print_count("target-tokens", p.tokens);
    printf("  %-24s %.1f\n", "seconds", p.seconds);
    print_count("stalled", p.stalled);
    for (size_t i = 0; i < p.n_best; i++) {
        char label[64];
        snprintf(label, sizeof label, "best %s", p.best[i].metric);
        wgi_text_disarm(label, false);
        printf("  %-24s %.6g, after update %" PRId64 "\n", label, p.best[i].value,
               p.best[i].update);
    }
    return EXIT_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* A file that is gone meanwhile, as a training run removes them, is left out. */
static int print_file(const char *folder, const char *name)
{
    struct stat s;
    char number[32], *path = wg_folder_path(folder, "%s", name);
    bool known = path && stat(path, &s) == 0;
    int code = EXIT_OK;
    char shown[sizeof((struct dirent *)0)->d_name];
    snprintf(shown, sizeof shown, "%s", name);
    wgi_text_disarm(shown, false);
    if (known)
        printf("  %-24s %15s%s\n", shown, S_ISDIR(s.st_mode) ? "" : grouped(s.st_size, number),
               S_ISDIR(s.st_mode) ? "folder" : " bytes");
    else if (!path || errno != ENOENT) {
        complain("%s/%s: %s", folder, name, path ? strerror(errno) : "out of memory");
        code = path ? EXIT_IO : EXIT_RUN;
    }
    free(path);
    return code;
}

static int print_files(const char *folder)
{
    struct dirent **entry;
    int code = EXIT_OK, n = scandir(folder, &entry, visible, alphasort);
    if (n < 0) {
        code = errno == ENOMEM ? EXIT_RUN : EXIT_IO;
        complain("%s: %s", folder, strerror(errno));
        return code;
    }
    for (int i = 0; i < n; i++) {
        int failed = print_file(folder, entry[i]->d_name);
        code = failed ? failed : code;
        free(entry[i]);
    }
    free(entry);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The parts, in the order of printing.  A part is skipped if its `file` is missing. */
static const struct {
    const char *title, *file;
    int (*print)(const char *path);
} parts[] = {
    {"Progress", WG_FILE_PROGRESS, print_progress}, {"Weights", WG_FILE_MODEL, print_parameters},
    {"Vocabularies", NULL, print_vocabularies},     {"", NULL, print_settings},
    {"Folder contents", NULL, print_files},
};

int command_info(int argc, char **argv)
{
    static const struct argp argp = {
        table,    parse,
        "FOLDER", "Describes a model folder: progress, weights, vocabularies, settings, files.",
        NULL,     NULL,
        NULL};
    const char *folder = NULL;
    wg_error error;
    int code = parse_arguments(&argp, argc, argv, 0, &folder);
    if (code != EXIT_OK)
        return code;
    if (wg_folder_check(folder, &error) != WG_OK)
        return complain_error(&error);
    for (size_t i = 0; i < WG_COUNT(parts); i++) {
        bool has = true;
        if (parts[i].file && wg_folder_has(folder, parts[i].file, &has, &error) != WG_OK)
            return complain_error(&error);
        if (!has)
            continue;
        char *path = parts[i].file ? wg_folder_path(folder, "%s", parts[i].file) : strdup(folder);
        printf("%s%s%s", i ? "\n" : "", parts[i].title, parts[i].title[0] ? "\n" : "");
        int failed = path ? parts[i].print(path) : EXIT_RUN;
        if (!path)
            complain("%s: out of memory", folder);
        code = failed ? failed : code;
        free(path);
    }
    return code;
}
