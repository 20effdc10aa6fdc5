/* wengert generate: texts drawn from a language model. */
#include "cli/model.h"

#include <errno.h>
#include <string.h>

/* Prints the texts, each ended by a newline; texts that may have several lines are separated by an
 * empty one. */
static int print_texts(const model *m, const wg_text *text, size_t n)
{
    errno = 0;
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(text[i].text);
        if (i && m->settings.join_lines)
            fputc('\n', stdout);
        fputs(text[i].text, stdout);
        if (!size || text[i].text[size - 1] != '\n')
            fputc('\n', stdout);
    }
    return flush_output();
}

static int generate(const model *m)
{
    const wg_settings *s = &m->settings;
    const wg_generate_options o = {
        .sampling = s->sampling, .length = s->length, .samples = s->samples, .seed = s->seed};
    const size_t n = (size_t)s->samples;
    wg_text *text = NULL;
    wg_status status =
        wg_language_model_generate(m->language, m->n_files ? m->files[0] : "", &o, &text);
    if (status != WG_OK) {
        complain("%s", wg_language_model_message(m->language));
        return exit_code(status);
    }
    if (text[0].unknown && !s->quiet)
        complain("tokens of the prompt that are not in the vocabulary: %zu", text[0].unknown);
    int code = print_texts(m, text, n);
    wg_texts_free(text, n);
    return code;
}

int command_generate(int argc, char **argv)
{
    static const model_command asks = {
        .use = WG_FOR_GENERATION,
        .usage = "FOLDER [PROMPT]\n--model FOLDER [PROMPT]",
        .doc = "Samples texts from a language model trained by `wengert train --type lm': each "
               "continues PROMPT or, without one, starts from nothing.\v"
               "The same seed draws the same texts; the default is the seed of the training run.  "
               "Options not given are taken from the model's config.yml.",
        .max_files = 1,
        .models = GENERATES,
    };
    model m;
    int code = model_parse(&m, &asks, argc, argv);
    if (code == EXIT_OK)
        code = model_open(&m);
    if (code == EXIT_OK)
        code = generate(&m);
    model_close(&m);
    return code;
}
