/* A Transformer trained and used within one program: English number phrases to German ones.
 *
 *   number_translator [UPDATES [FOLDER]]
 *
 * The 20 updates by default only show how it is done; with 500, a minute at most, it translates. */
#include "wengert/translate/trainer.h"
#include "wengert/translate/translator.h"

#include <stdio.h>
#include <stdlib.h>

static void tell(void *unused, const wg_event *event)
{
    (void)unused;
    if (event->kind != WG_EVENT_UPDATE && *event->text)
        puts(event->text);
}

/* What `wengert train` takes as flags; all other settings are those of the preset "numbers". */
static wg_status make_settings(wg_settings *s, const char *updates, const char *folder,
                               wg_error *error)
{
    const char *const given[][2] = {
        {"model", folder},       {"after", updates},
        {"overwrite", "true"},   {"disp-freq", "10u"},
        {"numbers", "2000"},     {"d-model", "32"},
        {"d-ff", "64"},          {"encoder-layers", "1"},
        {"decoder-layers", "1"}, {"mini-batch-words", "1024"},
        {"lr-warmup", "100"},
    };
    wg_status status = wg_settings_init(s);
    for (size_t i = 0; i < WG_COUNT(given) && status == WG_OK; i++)
        status = wg_settings_set(s, given[i][0], given[i][1], error);
    return status;
}

static wg_status train(const wg_settings *s, wg_error *error)
{
    const wg_listener listener = {.tell = tell};
    wg_trainer *t = NULL;
    wg_status status = wg_translation_trainer(&t, s, &listener, error);
    if (status == WG_OK && (status = wg_trainer_run(t, NULL)) != WG_OK)
        snprintf(error->text, sizeof error->text, "%s", wg_trainer_message(t));
    wg_trainer_free(t);
    return status;
}

/* Needs nothing of the run but its folder: this half could be another program. */
static wg_status translate(const char *folder, wg_error *error)
{
    enum { LINES = 3 };
    const char *const lines[LINES] = {"seven", "forty-two", "three hundred forty-two"};
    const wg_search_options search = {.beam = 4, .alpha = 0.6, .penalty = WG_PENALTY_GNMT};
    wg_translator *t = NULL;
    wg_translation *found = NULL;
    wg_status status = wg_translator_open(&t, folder, NULL, error);
    if (status == WG_OK && (status = wg_translator_run(t, lines, LINES, &search, &found)) != WG_OK)
        snprintf(error->text, sizeof error->text, "%s", wg_translator_message(t));
    for (int i = 0; i < LINES && status == WG_OK; i++)
        printf("%s -> %s  (log p %.2f)\n", lines[i], found[i].text,
               found[i].hypothesis.log_probability);
    wg_translations_free(found, found ? LINES : 0);
    wg_translator_free(t);
    return status;
}

int main(int argc, char **argv)
{
    char updates[32];
    wg_error error = {.status = WG_OK};
    const char *folder = argc > 2 ? argv[2] : "number_translator.model";
    wg_settings s = {0};
    snprintf(updates, sizeof updates, "%ldu", argc > 1 ? strtol(argv[1], NULL, 10) : 20L);
    wg_status status = make_settings(&s, updates, folder, &error);
    if (status == WG_OK)
        status = train(&s, &error);
    if (status == WG_OK)
        status = translate(folder, &error);
    wg_settings_free(&s);
    if (status != WG_OK)
        fprintf(stderr, "%s\n", *error.text ? error.text : wg_status_text(status));
    return status != WG_OK;
}
