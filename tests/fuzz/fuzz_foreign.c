/* Any bytes as the model of another program, a folder of weights, settings and vocabularies:
 * refused with a message, and no model is made; or a model folder that is opened, translates a line
 * and scores one, and that is the same once exported and imported again.
 *
 * The parts of an input: a line "LAYOUT LIST", config.json, the list of tokens, a SentencePiece
 * model for both sides (empty: none), and model.safetensors. */
#include "wengert/translate/foreign.h"
#include "tests/fuzz/fuzz.h"
#include "wengert/translate/folder.h"
#include "wengert/translate/translator.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAYOUT, CONFIG, LIST, PIECES, WEIGHTS, PARTS };

static wg_error error;

/* ---- folders --------------------------------------------------------------------------------- */

/* An empty folder of that name. */
static const char *empty_folder(char path[64], const char *name)
{
    DIR *d = opendir(fuzz_path(path, name));
    for (struct dirent *e; d && (e = readdir(d));) {
        char file[400];
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        NEED(e->d_name[0] == '.' || unlink(file) == 0);
    }
    NEED(d ? closedir(d) == 0 : mkdir(path, 0777) == 0);
    return path;
}

/* The one of the names with which the text begins, else the first. */
static const char *named(const fuzz_part *part, size_t from, const char *const *names)
{
    for (const char *const *name = names; *name; name++)
        if (part->size >= from + strlen(*name) &&
            memcmp(part->text + from, *name, strlen(*name)) == 0)
            return *name;
    return names[0];
}

/* Writes the file for both sides; the line break that ends the part is not of the model. */
static void write_pieces(const fuzz_part *part)
{
    char file[64];
    if (part->size < 2)
        return;
    fuzz_file(file, "given/source.spm", part->text, part->size - 1);
    fuzz_file(file, "given/target.spm", part->text, part->size - 1);
}

/* Writes what an input describes into the folder "given"; returns the layout. */
static const char *write_given(char path[64], const fuzz_part *part)
{
    static const char *const layouts[] = {"torch", "fairseq", "marian", NULL};
    static const char *const lists[] = {"vocab.txt", "vocab.json", "vocab.yml",
                                        "dict.txt",  "vocab.spm",  NULL};
    char file[64], name[64];
    const char *layout = named(&part[LAYOUT], 0, layouts);
    empty_folder(path, "given");
    snprintf(name, sizeof name, "given/%s", named(&part[LAYOUT], strlen(layout) + 1, lists));
    fuzz_file(file, name, part[LIST].text, part[LIST].size);
    if (part[CONFIG].size)
        fuzz_file(file, "given/config.json", part[CONFIG].text, part[CONFIG].size);
    write_pieces(&part[PIECES]);
    fuzz_file(file, "given/" WG_FILE_MODEL, part[WEIGHTS].text, part[WEIGHTS].size);
    return layout;
}

static wg_status import(const char *layout, const char *from, const char *to)
{
    wg_settings s;
    wg_foreign_report report;
    NEED(wg_settings_init(&s) == WG_OK);
    NEED_OK(wg_settings_set(&s, "model", to, &error) == WG_OK, error.text);
    const wg_foreign_options o = {.layout = layout, .path = from, .settings = &s};
    wg_status status = wg_foreign_import(&o, &report, &error);
    NEED(status != WG_OK || report.tensors > 0);
    wg_settings_free(&s);
    return status;
}

/* ---- what an imported model can do ----------------------------------------------------------- */

static void use(const char *folder)
{
    static const char *const line[] = {"the house is green"}, *const target[] = {"das Haus"};
    const wg_translator_options o = {.threads = 1};
    const wg_search_options search = {.beam = 2, .max_length = 4};
    wg_translator *t = NULL;
    wg_translation *found;
    NEED_OK(wg_translator_open(&t, folder, &o, &error) == WG_OK, error.text);
    wg_status status = wg_translator_run(t, line, 1, &search, &found);
    NEED(status == WG_OK || wg_translator_message(t)[0]);
    if (status == WG_OK)
        wg_translations_free(found, 1);
    status = wg_translator_score(t, line, target, 1, &search, &found);
    NEED(status == WG_OK || wg_translator_message(t)[0]);
    if (status == WG_OK)
        wg_translations_free(found, 1);
    wg_translator_free(t);
}

/* The weights of both folders. */
static void need_same_weights(const char *a, const char *b)
{
    char path[2][128];
    snprintf(path[0], sizeof path[0], "%s/%s", a, WG_FILE_MODEL);
    snprintf(path[1], sizeof path[1], "%s/%s", b, WG_FILE_MODEL);
    NEED(fuzz_same(path[0], path[1]));
}

/* What is exported is imported again; ids of fairseq's tokens, and so the rows, may be others. */
static void there_and_back(const char *layout, const char *made)
{
    char written[64], again[64];
    empty_folder(written, "written");
    empty_folder(again, "again");
    if (wg_foreign_export(layout, made, NULL, written, NULL, &error) != WG_OK) {
        NEED(error.text[0]);
        return;
    }
    NEED_OK(import(layout, written, again) == WG_OK, error.text);
    if (strcmp(layout, "torch") == 0)
        need_same_weights(made, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char given[64], made[64], file[64];
    fuzz_part part[PARTS];
    struct stat s;
    fuzz_cut(data, size, part, PARTS);
    const char *layout = write_given(given, part);
    wg_status status = import(layout, given, empty_folder(made, "made"));
    fuzz_accepted(status == WG_OK);
    if (status != WG_OK) {
        NEED(error.text[0] && stat(fuzz_path(file, "made/" WG_FILE_CONFIG), &s) != 0);
        return 0;
    }
    use(made);
    there_and_back(layout, made);
    return 0;
}
