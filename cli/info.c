/* wengert info: describes a model folder. */
#include "cli/model.h"
#include "wengert/train/folder.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
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

static wg_status print_settings(const char *path, char *message, size_t size)
{
    wg_settings s;
    const wg_option *o;
    wg_status status = wg_settings_init(&s);
    if (status == WG_OK)
        status = wg_settings_read_yaml(&s, path, message, size);
    int group = -1;
    for (size_t i = 0; status == WG_OK && (o = wg_option_at(i)); i++) {
        char *text = NULL;
        if (o->group != group) {
            printf("%s%s\n", i ? "\n" : "", wg_option_group_title(o->group));
            group = o->group;
        }
        if (wg_settings_get(&s, o, &text) == WG_OK)
            printf("  %-24s %s\n", o->name, text);
        free(text);
    }
    wg_settings_free(&s);
    return status;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* The number with a comma after each three digits. */
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
        printf("    %-22.*s %15s\n", (int)n, t->name, grouped(sum, number));
        sum = 0;
    }
}

static wg_status print_parameters(const char *path, char *message, size_t size)
{
    wg_safetensors *file = NULL;
    wg_status status = wg_safetensors_open(&file, path, message, size);
    if (status == WG_OK)
        print_parts(file);
    wg_safetensors_close(file);
    return status;
}

/* ---- vocabularies ---------------------------------------------------------------------------- */

static wg_status print_vocabularies(const char *folder, char *message, size_t size)
{
    static const char *const kinds[] = {"bpe", "unigram", "words", "characters"};
    wg_vocabularies v;
    wg_status status = wg_vocabularies_open(&v, folder, message, size);
    bool joint = status == WG_OK && v.side[0] == v.side[1];
    for (int i = 0; status == WG_OK && i < (joint ? 1 : 2); i++)
        printf("  %-24s %lld tokens (%s)\n",
               joint ? "joint"
               : i   ? "target"
                     : "source",
               (long long)wg_vocabulary_size(v.side[i]), kinds[wg_vocabulary_kind_of(v.side[i])]);
    wg_vocabularies_free(&v);
    return status;
}

/* ---- progress -------------------------------------------------------------------------------- */

static void print_number(const char *key, const json_t *value)
{
    if (json_is_integer(value))
        printf("  %-24s %lld\n", key, (long long)json_integer_value(value));
    else if (json_is_real(value))
        printf("  %-24s %.1f\n", key, json_real_value(value));
}

static wg_status print_progress(const char *path, char *message, size_t size)
{
    static const char *const shown[] = {"update",        "epoch",   "sentences",
                                        "target-tokens", "seconds", "stalled"};
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error), *entry;
    const char *metric;
    if (!root) {
        snprintf(message, size, "%s:%d: %s", path, error.line, error.text);
        return WG_EDATA;
    }
    for (size_t i = 0; i < WG_COUNT(shown); i++)
        print_number(shown[i], json_object_get(root, shown[i]));
    json_object_foreach(json_object_get(root, "best"), metric, entry)
    {
        char label[64];
        snprintf(label, sizeof label, "best %s", metric);
        printf("  %-24s %.6g, after update %lld\n", label,
               json_number_value(json_object_get(entry, "value")),
               (long long)json_integer_value(json_object_get(entry, "update")));
    }
    json_decref(root);
    return WG_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static wg_status print_files(const char *folder, char *message, size_t size)
{
    struct dirent **entry;
    char number[32];
    int n = scandir(folder, &entry, visible, alphasort);
    if (n < 0) {
        snprintf(message, size, "%s: %s", folder, strerror(errno));
        return WG_EIO;
    }
    for (int i = 0; i < n; i++) {
        struct stat s;
        char *path = wg_folder_path(folder, "%s", entry[i]->d_name);
        if (path && stat(path, &s) == 0)
            printf("  %-24s %15s%s\n", entry[i]->d_name,
                   S_ISDIR(s.st_mode) ? "" : grouped(s.st_size, number),
                   S_ISDIR(s.st_mode) ? "folder" : " bytes");
        free(path);
        free(entry[i]);
    }
    free(entry);
    return WG_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The parts, in the order of printing.  A part is skipped if its `file` is missing. */
static const struct {
    const char *title, *file;
    wg_status (*print)(const char *path, char *message, size_t size);
} parts[] = {
    {"Progress", WG_FILE_PROGRESS, print_progress}, {"Weights", WG_FILE_MODEL, print_parameters},
    {"Vocabularies", NULL, print_vocabularies},     {"", WG_FILE_CONFIG, print_settings},
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
    char message[500];
    int code = EXIT_OK;
    if (argp_parse(&argp, argc, argv, 0, NULL, &folder) != 0)
        return EXIT_USAGE;
    if (model_folder(folder) != EXIT_OK)
        return EXIT_IO;
    for (size_t i = 0; i < WG_COUNT(parts); i++) {
        if (parts[i].file && !wg_folder_has(folder, parts[i].file))
            continue;
        char *path = parts[i].file ? wg_folder_path(folder, "%s", parts[i].file) : strdup(folder);
        printf("%s%s%s", i ? "\n" : "", parts[i].title, parts[i].title[0] ? "\n" : "");
        wg_status status = path ? parts[i].print(path, message, sizeof message) : WG_ENOMEM;
        free(path);
        if (status == WG_OK)
            continue;
        complain("%s", status == WG_ENOMEM ? "out of memory" : message);
        code = exit_code(status);
    }
    return code;
}
