#include "cli/settings_args.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION = 4000, CONFIG = 'c' };

/* ---- the table of options as argp has it ----------------------------------------------------- */

static int key_of(const wg_option *o)
{
    return o->letter ? o->letter : OPTION + (int)(o - wg_option_at(0));
}

static const wg_option *option_of(const settings_args *a, int key)
{
    const wg_option *o;
    for (size_t i = 0; (o = wg_option_at(i)); i++)
        if (o->use & a->use && key_of(o) == key)
            return o;
    return NULL;
}

/* A text that is freed with a; NULL without memory, which settings_args_init reports. */
static char *text(settings_args *a, const char *format, ...) WG_PRINTF(2, 3);
static char *text(settings_args *a, const char *format, ...)
{
    char buffer[400];
    va_list list;
    va_start(list, format);
    vsnprintf(buffer, sizeof buffer, format, list);
    va_end(list);
    return a->texts[a->n_texts++] = strdup(buffer);
}

static void add_row(settings_args *a, struct argp_option row)
{
    a->rows[a->n_rows++] = row;
}

/* A hidden alias: argp cannot break a line of many names. */
static void add_alias(settings_args *a, const char *name, int group)
{
    add_row(a, (struct argp_option){
                   .name = name, .flags = OPTION_ALIAS | OPTION_HIDDEN, .group = group});
}

/* The help text: the text of the table, other names, the default. */
static const char *doc_of(settings_args *a, const wg_option *o)
{
    char names[200] = "";
    for (const char *at = o->aliases; at && *at; at += strcspn(at, "|"), at += *at == '|') {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s --%.*s", used ? "," : "; also",
                 (int)strcspn(at, "|"), at);
    }
    bool of_model = !(a->use & WG_FOR_TRAINING) &&
                    o->use & WG_FOR_TRAINING; /* its settings have the default then */
    if (!o->default_value || !o->default_value[0] || o->kind == WG_OPTION_BOOL || of_model)
        return text(a, "%s%s", o->doc, names);
    return text(a, "%s%s (default: %s)", o->doc, names, o->default_value);
}

static void add_option(settings_args *a, const wg_option *o)
{
    bool choices = o->choices && o->max <= 1;
    int group = o->group + 1;
    add_row(a, (struct argp_option){
                   .name = o->name,
                   .key = key_of(o),
                   .arg = choices   ? o->choices
                          : o->unit ? o->unit
                                    : "true|false",
                   .flags = o->implied_value ? OPTION_ARG_OPTIONAL : 0,
                   .doc = doc_of(a, o),
                   .group = group,
               });
    for (const char *at = o->aliases; at && *at; at += strcspn(at, "|"), at += *at == '|')
        add_alias(a, text(a, "%.*s", (int)strcspn(at, "|"), at), group);
    /* in the program that translates, this is what Marian calls so */
    if (!(a->use & WG_FOR_TRAINING) && strcmp(o->name, "max-input-length") == 0)
        add_alias(a, "max-length", group);
}

/* ---- parsing --------------------------------------------------------------------------------- */

static bool accepts(const wg_option *o, const char *const *values, size_t n,
                    const struct argp_state *state)
{
    wg_settings s;
    wg_status status = wg_settings_init(&s);
    if (status == WG_OK)
        status = wg_settings_assign(&s, o, values, n, NULL);
    wg_settings_free(&s);
    if (status == WG_ENOMEM)
        argp_failure(state, EXIT_RUN, 0, "out of memory");
    return status == WG_OK;
}

/* Whether an option that takes numbers is followed by one: perhaps by one that it does not accept,
 * which is an error then, and no folder. */
static bool is_number_for(const wg_option *o, const char *word)
{
    char *end;
    bool numbers = o->kind == WG_OPTION_WHOLE || o->kind == WG_OPTION_REAL;
    strtod(word, &end);
    return numbers && end != word && !*end;
}

/* Takes the words after the option in argv that are its values. */
static void take_values(given_option *g, char *arg, struct argp_state *state)
{
    const wg_option *o = g->option;
    if (arg)
        g->values[g->n++] = arg;
    while (g->n < MAX_GIVEN_VALUES && state->next < state->argc) {
        const char *word = state->argv[state->next];
        bool flag = word[0] == '-' && word[1];
        bool wanted = false;
        g->values[g->n] = word;
        if (o->kind == WG_OPTION_PAIR)
            wanted = !flag && g->n < 2;
        else if (g->n == 0 || (o->kind == WG_OPTION_WORDS && o->max > 1))
            wanted = !flag && (is_number_for(o, word) || accepts(o, g->values, g->n + 1, state));
        if (!wanted)
            break;
        g->n++;
        state->next++;
    }
    if (g->n == 0)
        g->values[g->n++] = o->implied_value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    settings_args *a = state->input;
    const wg_option *o = option_of(a, key);
    if (key == CONFIG) {
        if (a->n_configs == MAX_CONFIGS)
            argp_error(state, "--config given more than %d times", MAX_CONFIGS);
        a->configs[a->n_configs++] = arg;
        return 0;
    }
    if (!o)
        return ARGP_ERR_UNKNOWN;
    if (a->has_folder && strcmp(o->name, "model") == 0)
        argp_error(state, "expected one folder, got '%s' and --model %s",
                   settings_args_value(a, "model"), arg);
    if (a->n == MAX_GIVEN)
        argp_error(state, "more than %d options given", MAX_GIVEN);
    a->given[a->n] = (given_option){.option = o};
    take_values(&a->given[a->n++], arg, state);
    return 0;
}

void settings_args_model(settings_args *a, const char *folder, const struct argp_state *state)
{
    const char *model = settings_args_value(a, "model");
    take_argument(state, &model, "folder", folder);
    if (a->n == MAX_GIVEN)
        argp_error(state, "more than %d options", MAX_GIVEN);
    a->given[a->n++] = (given_option){wg_option_find("model"), {folder}, 1};
    a->has_folder = true;
}

/* ---- what commands see ----------------------------------------------------------------------- */

int settings_args_init(settings_args *a, unsigned use)
{
    *a = (settings_args){.use = use};
    const wg_option *o;
    int group = -1;
    for (size_t i = 0; (o = wg_option_at(i)); i++) {
        if (!(o->use & use))
            continue;
        if (o->group != group) {
            group = o->group;
            add_row(a, (struct argp_option){.doc = text(a, "%s:", wg_option_group_title(group)),
                                            .group = group + 1});
        }
        add_option(a, o);
    }
    add_row(a, (struct argp_option){
                   .name = "config",
                   .key = CONFIG,
                   .arg = "FILE",
                   .doc = "read options from a YAML file; flags override them (may be repeated)",
                   .group = WG_GROUP_FILES + 1});
    a->argp = (struct argp){.options = a->rows, .parser = parse};
    for (size_t i = 0; i < a->n_texts; i++)
        if (!a->texts[i]) {
            complain("out of memory");
            settings_args_free(a);
            return EXIT_RUN;
        }
    return EXIT_OK;
}

void settings_args_free(settings_args *a)
{
    for (size_t i = 0; i < a->n_texts; i++)
        free(a->texts[i]);
    a->n_texts = 0;
}

int settings_args_apply(const settings_args *a, wg_settings *s)
{
    wg_error error;
    for (size_t i = 0; i < a->n_configs; i++)
        if (wg_settings_read_yaml(s, a->configs[i], &error) != WG_OK)
            return complain_error(&error);
    for (size_t i = 0; i < a->n; i++) {
        const given_option *g = &a->given[i];
        if (wg_settings_assign(s, g->option, g->values, g->n, &error) != WG_OK) {
            complain("--%s", error.text);
            return exit_code(error.status);
        }
    }
    return EXIT_OK;
}

const char *settings_args_value(const settings_args *a, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->given[i].option->name, name) == 0)
            value = a->given[i].values[0];
    return value;
}

bool settings_args_has_model(const settings_args *a)
{
    wg_settings s;
    wg_error unread; /* complained of when they are applied */
    bool has = settings_args_value(a, "model") != NULL;
    if (has || wg_settings_init(&s) != WG_OK)
        return has;
    for (size_t i = 0; i < a->n_configs; i++)
        if (wg_settings_read_yaml(&s, a->configs[i], &unread) == WG_OK)
            has = s.model && *s.model;
    wg_settings_free(&s);
    return has;
}

void settings_args_note_idle(const settings_args *a, const wg_settings *s, bool distributed)
{
    for (size_t i = 0; i < a->n; i++) {
        const wg_option *o = a->given[i].option;
        bool heeded = !o->needs || (o->has_effect ? o->has_effect(s) : distributed);
        if (!heeded && !s->quiet)
            complain("--%s has no effect without %s", o->name, o->needs);
    }
}
