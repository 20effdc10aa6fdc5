/* Settings by name: one parser and one printer for all options, by kind. */
#include "wengert/translate/settings.h"
#include "text/unicode/unicode.h"

#include "graph/error.h"
#include "graph/sizes.h"
#include "translate/presets.h"

#include <errno.h>
#include <float.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- fields ---------------------------------------------------------------------------------- */

/* The field of an option; settings may be const. */
static void *field(const wg_settings *s, const wg_option *o)
{
    return (char *)s + o->offset;
}

/* The size of a field by kind, and how many allocated texts it holds. */
static const struct {
    size_t size;
    int texts;
} kinds[] = {
    [WG_OPTION_BOOL] = {sizeof(bool), 0},        [WG_OPTION_WHOLE] = {sizeof(int64_t), 0},
    [WG_OPTION_SEED] = {sizeof(uint64_t), 0},    [WG_OPTION_REAL] = {sizeof(double), 0},
    [WG_OPTION_AMOUNT] = {sizeof(wg_amount), 0}, [WG_OPTION_BYTES] = {sizeof(int64_t), 0},
    [WG_OPTION_CHOICE] = {sizeof(int), 0},       [WG_OPTION_WORDS] = {sizeof(char *), 1},
    [WG_OPTION_TEXT] = {sizeof(char *), 1},      [WG_OPTION_PAIR] = {2 * sizeof(char *), 2},
};

static size_t index_of(const wg_option *o)
{
    return (size_t)(o - wg_option_at(0));
}

bool wg_settings_given(const wg_settings *s, const wg_option *o)
{
    return s->given[index_of(o) / 64] >> index_of(o) % 64 & 1;
}

static void mark_given(wg_settings *s, const wg_option *o)
{
    s->given[index_of(o) / 64] |= (uint64_t)1 << index_of(o) % 64;
}

static bool texts_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool wg_settings_equal(const wg_settings *a, const wg_settings *b, const wg_option *o)
{
    const void *x = field(a, o), *y = field(b, o);
    if (o->kind == WG_OPTION_AMOUNT) {
        const wg_amount *m = x, *n = y;
        return m->n == n->n && (m->n == 0 || m->unit == n->unit);
    }
    for (int i = 0; i < kinds[o->kind].texts; i++)
        if (!texts_equal(((char *const *)x)[i], ((char *const *)y)[i]))
            return false;
    return kinds[o->kind].texts || memcmp(x, y, kinds[o->kind].size) == 0;
}

/* ---- from text ------------------------------------------------------------------------------- */

/* A parsed value, before it is stored in its field. */
typedef union content {
    bool yes;
    int64_t whole;
    uint64_t seed;
    double real;
    wg_amount amount;
    int choice;
    char *texts[2];
} content;

/* The index of word[0..n) among the choices, or -1. */
static int choice_of(const char *choices, const char *word, size_t n)
{
    int i = 0;
    for (const char *at = choices; *at; i++) {
        size_t length = strcspn(at, "|");
        if (length == n && memcmp(at, word, n) == 0)
            return i;
        at += length + (at[length] == '|');
    }
    return -1;
}

/* "a, b or c" of "a|b|c" */
static wg_status expect_choice(const wg_option *o, wg_error *why)
{
    bool several = o->kind == WG_OPTION_WORDS && o->max > 1;
    wgi_error_set(why, WG_EINVAL, "%s", several ? "some of: " : "");
    for (const char *at = o->choices; *at;) {
        int n = (int)strcspn(at, "|");
        const char *next = at + n + (at[n] == '|');
        const char *before = at == o->choices ? "" : *next ? ", " : " or ";
        wgi_error_add(why, "%s%.*s", before, n, at);
        at = next;
    }
    return WG_EINVAL;
}

static wg_status read_bool(content *out, const char *text, wg_error *why)
{
    static const char *const no[] = {"false", "no", "off", "0"}, *const yes[] = {"true", "yes",
                                                                                 "on", "1"};
    for (size_t i = 0; i < WG_COUNT(yes); i++)
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            out->yes = strcmp(text, yes[i]) == 0;
            return WG_OK;
        }
    return wgi_error_set(why, WG_EINVAL, "true or false");
}

static wg_status read_whole(content *out, const wg_option *o, const char *text, wg_error *why)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    out->whole = n;
    bool blank = *text == ' ' || *text == '\t' || *text == '\n';
    if (end == text || *end || blank || errno || !((double)n >= o->min && (double)n <= o->max))
        return wgi_error_set(why, WG_EINVAL, "a whole number from %.0f to %.0f", o->min, o->max);
    return WG_OK;
}

static wg_status read_bytes(content *out, const char *text, wg_error *why)
{
    if (wgi_size_read(text, &out->whole))
        return WG_OK;
    return wgi_error_set(why, WG_EINVAL, "bytes, such as 512M or 2G");
}

static wg_status read_seed(content *out, const char *text, wg_error *why)
{
    char *end;
    errno = 0;
    out->seed = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return wgi_error_set(why, WG_EINVAL, "a whole number from 0 to %llu",
                             (unsigned long long)UINT64_MAX);
    return WG_OK;
}

static wg_status read_real(content *out, const wg_option *o, const char *text, wg_error *why)
{
    if (!wgi_real_read(text, &out->real) || !(out->real >= o->min && out->real <= o->max))
        return wgi_error_set(why, WG_EINVAL, "a number from %g to %g", o->min, o->max);
    out->real += 0.0; /* -0 is 0 */
    return WG_OK;
}

static wg_status read_amount(content *out, const char *text, wg_error *why)
{
    static const int64_t max = 1000000000000000;
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    char unit = *end ? *end : 'u';
    if (*text < '0' || *text > '9' || errno || n > max || !strchr("uet", unit) || (*end && end[1]))
        return wgi_error_set(
            why, WG_EINVAL, "an amount such as 10e (epochs), 8000u (updates) or 5000000t (tokens)");
    out->amount = (wg_amount){n, n ? unit : 'u'};
    return WG_OK;
}

static wg_status read_choice(content *out, const wg_option *o, const char *text, wg_error *why)
{
    int i = choice_of(o->choices, text, strlen(text));
    out->choice = i + (int)o->min;
    return i >= 0 ? WG_OK : expect_choice(o, why);
}

/* All words of all values become one text, separated by blanks. */
static wg_status read_words(content *out, const wg_option *o, const char *const *values, size_t n,
                            wg_error *why)
{
    int words = 0;
    size_t room = 1;
    for (size_t i = 0; i < n; i++)
        room += strlen(values[i]) + 1;
    char *to = out->texts[0] = calloc(room, 1);
    for (size_t i = 0; i < n; i++)
        for (const char *at = values[i] + strspn(values[i], " ,"); *at; at += strspn(at, " ,")) {
            size_t length = strcspn(at, " ,");
            if (choice_of(o->choices, at, length) < 0 || words++ >= o->max)
                return expect_choice(o, why);
            if (to)
                to += sprintf(to, "%s%.*s", words > 1 ? " " : "", (int)length, at);
            at += length;
        }
    return words < o->min ? expect_choice(o, why) : WG_OK;
}

static wg_status read_texts(content *out, const wg_option *o, const char *const *values, size_t n,
                            wg_error *why)
{
    size_t max = o->kind == WG_OPTION_PAIR ? 2 : 1;
    while (n > 0 && !values[n - 1][0]) /* "" is no text */
        n--;
    if (n > max)
        return wgi_error_set(why, WG_EINVAL, "%zu values at most", max);
    if (o->kind == WG_OPTION_PAIR && n > 0 && (double)n < o->min)
        return wgi_error_set(why, WG_EINVAL,
                             "the files of source and target (type lm has one text: train-set, "
                             "valid-set)");
    for (size_t i = 0; i < n; i++)
        if (!values[i][0] || !wgi_utf8_valid(values[i], strlen(values[i])))
            return wgi_error_set(why, WG_EINVAL,
                                 values[i][0] ? "a text in UTF-8" : "no empty text");
    for (size_t i = 0; i < n; i++)
        out->texts[i] = strdup(values[i]);
    return WG_OK;
}

static wg_status read_value(content *out, const wg_option *o, const char *const *values, size_t n,
                            wg_error *why)
{
    switch (o->kind) {
    case WG_OPTION_WORDS: return read_words(out, o, values, n, why);
    case WG_OPTION_TEXT:
    case WG_OPTION_PAIR: return read_texts(out, o, values, n, why);
    default: break;
    }
    if (n != 1)
        return wgi_error_set(why, WG_EINVAL, "one value");
    switch (o->kind) {
    case WG_OPTION_BOOL: return read_bool(out, values[0], why);
    case WG_OPTION_WHOLE: return read_whole(out, o, values[0], why);
    case WG_OPTION_SEED: return read_seed(out, values[0], why);
    case WG_OPTION_REAL: return read_real(out, o, values[0], why);
    case WG_OPTION_AMOUNT: return read_amount(out, values[0], why);
    case WG_OPTION_BYTES: return read_bytes(out, values[0], why);
    default: return read_choice(out, o, values[0], why);
    }
}

/* ---- setting --------------------------------------------------------------------------------- */

/* Parses the values and stores them in their field.  The caller marks the option as given. */
static wg_status put(wg_settings *s, const wg_option *o, const char *const *values, size_t n,
                     wg_error *error)
{
    content v = {.texts = {NULL, NULL}};
    char **texts = field(s, o);
    int n_texts = kinds[o->kind].texts;
    wg_status status = read_value(&v, o, values, n, error);
    if (status != WG_OK) {
        wgi_error_prefix(error, status, "%s: expected ", o->name);
        wgi_error_add(error, ", got %s", n ? "'" : "nothing");
        for (size_t i = 0; i < n; i++)
            wgi_error_add(error, "%s%s", values[i], i + 1 < n ? " " : "'");
    }
    for (int i = 0; i < n_texts && status == WG_OK; i++)
        if (!v.texts[i] && (o->kind == WG_OPTION_WORDS || ((size_t)i < n && values[i][0])))
            status = wgi_error_set(error, WG_ENOMEM, "%s: out of memory", o->name);
    for (int i = 0; i < n_texts; i++)
        free(status == WG_OK ? texts[i] : v.texts[i]);
    if (status == WG_OK)
        memcpy(texts, &v, kinds[o->kind].size);
    return status; /* NOLINT(clang-analyzer-unix.Malloc): the texts are freed or the settings' */
}

/* Sets the options of a recipe that were not given. */
static wg_status follow_recipe(wg_settings *s, const char *const (*row)[2], wg_error *error)
{
    wg_status status = WG_OK;
    for (; status == WG_OK && (*row)[0]; row++) {
        const wg_option *o = wg_option_find((*row)[0]);
        if (!wg_settings_given(s, o))
            status = put(s, o, &(*row)[1], 1, error);
    }
    return status;
}

/* Sets every option that was not given: to its default or the size of the network, then to what the
 * recipe of the preset says. */
static wg_status apply_preset(wg_settings *s, wg_error *error)
{
    const wgi_preset *preset = wgi_preset_find(s->preset);
    const wg_transformer_config *network = wg_transformer_find(preset->network);
    wg_settings sizes = {.net = *network};
    wg_status status = WG_OK;
    const wg_option *o;
    for (size_t i = 0; status == WG_OK && (o = wg_option_at(i)); i++) {
        if (wg_settings_given(s, o) || o->offset == offsetof(wg_settings, preset))
            continue;
        if (o->default_value)
            status = put(s, o, &o->default_value, 1, error);
        else
            memcpy(field(s, o), field(&sizes, o), kinds[o->kind].size);
    }
    if (status == WG_OK)
        status = follow_recipe(s, preset->recipe, error);
    if (status == WG_OK && s->type == WG_TYPE_LM)
        status = follow_recipe(s, wgi_language_recipe, error);
    s->net.name = network->name;
    return status;
}

/* Updates what depends on option o, after a change of it. */
static wg_status follow(wg_settings *s, const wg_option *o, wg_error *error)
{
    static const char *const implied[] = {"numbers", "tiny"};
    const wg_option *preset = wg_option_find("preset");
    bool sets =
        o->offset == offsetof(wg_settings, train_sets) || o->offset == offsetof(wg_settings, type);
    wg_status status = WG_OK;
    if (sets && !wg_settings_given(s, preset))
        status = put(s, preset, &implied[s->train_sets[0] || s->type == WG_TYPE_LM], 1, error);
    if (status == WG_OK && (sets || o == preset))
        status = apply_preset(s, error);
    s->schedule.d_model = s->net.d_model;
    return status;
}

wg_status wg_settings_assign(wg_settings *s, const wg_option *o, const char *const *values,
                             size_t n, wg_error *error)
{
    wgi_error_clear(error);
    if (!s || !o || (n && !values))
        return wgi_error_set(error, WG_EINVAL, "settings, option and values must not be NULL");
    wg_status status = put(s, o, values, n, error);
    if (status != WG_OK)
        return status;
    mark_given(s, o);
    return follow(s, o, error);
}

wg_status wg_settings_set(wg_settings *s, const char *name, const char *value, wg_error *error)
{
    const wg_option *o = wg_option_find(name);
    if (!o) {
        const char *nearest = wg_option_nearest(name);
        wgi_error_clear(error);
        wgi_error_set(error, WG_EINVAL, "no option '%s'", name ? name : "");
        if (nearest)
            wgi_error_add(error, "; did you mean '%s'?", nearest);
        return WG_EINVAL;
    }
    const char *both[] = {value, value};
    size_t n = !value ? 0 : o->kind == WG_OPTION_PAIR ? (size_t)o->min : 1;
    return wg_settings_assign(s, o, both, n, error);
}

/* ---- the struct ------------------------------------------------------------------------------ */

wg_status wg_settings_init(wg_settings *s)
{
    static const char *const initial = "numbers";
    if (!s)
        return WG_EINVAL;
    *s = (wg_settings){0};
    const wg_option *preset = wg_option_find("preset");
    wg_status status = put(s, preset, &initial, 1, NULL);
    if (status == WG_OK)
        status = follow(s, preset, NULL);
    if (status != WG_OK)
        wg_settings_free(s);
    return status;
}

void wg_settings_free(wg_settings *s)
{
    const wg_option *o;
    for (size_t i = 0; s && (o = wg_option_at(i)); i++)
        for (int k = 0; k < kinds[o->kind].texts; k++)
            free(((char **)field(s, o))[k]);
    if (s)
        *s = (wg_settings){0};
}

wg_status wg_settings_copy(wg_settings *out, const wg_settings *s)
{
    if (!out || !s)
        return WG_EINVAL;
    wg_status status = WG_OK;
    const wg_option *o;
    *out = *s;
    for (size_t i = 0; (o = wg_option_at(i)); i++)
        for (int k = 0; k < kinds[o->kind].texts; k++) {
            char **to = (char **)field(out, o) + k;
            if (*to && !(*to = strdup(*to)))
                status = WG_ENOMEM;
        }
    if (status != WG_OK)
        wg_settings_free(out);
    return status;
}

/* Copies the value of o from one struct to the other. */
static wg_status take(wg_settings *to, const wg_settings *from, const wg_option *o)
{
    char *texts[2] = {NULL, NULL};
    int n = kinds[o->kind].texts;
    for (int i = 0; i < n; i++) {
        const char *text = ((char *const *)field(from, o))[i];
        if (text && !(texts[i] = strdup(text))) {
            /* NOLINTBEGIN(clang-analyzer-unix.Malloc): there are no more than two */
            free(texts[0]);
            return WG_ENOMEM;
            /* NOLINTEND(clang-analyzer-unix.Malloc) */
        }
    }
    for (int i = 0; i < n; i++)
        free(((char **)field(to, o))[i]);
    memcpy(field(to, o), n ? (void *)texts : field(from, o), kinds[o->kind].size);
    mark_given(to, o);
    return WG_OK;
}

/* Adds "NAME: expected OLD, as in the model, got NEW" to the refusals before it, if there are any.
 * WG_EINVAL, or WG_ENOMEM. */
static wg_status refuse(const wg_settings *model, const wg_settings *over, const wg_option *o,
                        wg_error *error)
{
    char *old = NULL, *new = NULL;
    wg_status status = wg_settings_get(model, o, &old);
    if (status == WG_OK)
        status = wg_settings_get(over, o, &new);
    if (status != WG_OK)
        wgi_error_set(error, status, "out of memory");
    else
        status = wgi_error_item(error, WG_EINVAL, "%s: expected %s, as in the model, got %s",
                                o->name, old, new);
    free(old);
    free(new);
    return status;
}

/* Before the first update of imported weights, only what they are made for must stay. */
static bool may_change(const wg_settings *model, const wg_option *o)
{
    static const size_t free[] = {offsetof(wg_settings, net.dropout),
                                  offsetof(wg_settings, net.attention_dropout),
                                  offsetof(wg_settings, net.activation_dropout)};
    bool any = o->use & WG_MAY_CHANGE || (model->pretrained && !(o->use & WG_FOR_IMPORT));
    for (size_t i = 0; i < WG_COUNT(free); i++)
        any = any || (model->pretrained && o->offset == free[i]);
    return any;
}

/* How to build vocabularies says nothing where the model was given them: the command that began the
 * run says it again, but config.yml has what they are. */
static bool says_nothing(const wg_settings *model, const wg_option *o)
{
    return model->vocabs[0] && (o->offset == offsetof(wg_settings, vocab_kind) ||
                                o->offset == offsetof(wg_settings, vocab_size) ||
                                o->offset == offsetof(wg_settings, vocab_tokenized));
}

wg_status wg_settings_override(wg_settings *model, const wg_settings *over, wg_error *error)
{
    wgi_error_clear(error);
    wg_status status = WG_OK;
    const wg_option *o;
    for (size_t i = 0; status != WG_ENOMEM && (o = wg_option_at(i)); i++)
        if (wg_settings_given(over, o) && !wg_settings_equal(model, over, o) &&
            !may_change(model, o) && !says_nothing(model, o))
            status = refuse(model, over, o, error);
    if (status != WG_OK)
        return status;
    for (size_t i = 0; status == WG_OK && (o = wg_option_at(i)); i++)
        if (wg_settings_given(over, o) && !says_nothing(model, o))
            status = take(model, over, o);
    return status == WG_OK ? WG_OK : wgi_error_set(error, status, "out of memory");
}

/* ---- what goes together ---------------------------------------------------------------------- */

static bool positions_are_learned(const wg_settings *s)
{
    return s->net.positions == WG_POSITIONS_LEARNED;
}

/* True if the schedule ends at a known update. */
static bool falls(const wg_settings *s)
{
    return s->schedule.kind == WG_SCHEDULE_COSINE || s->schedule.kind == WG_SCHEDULE_LINEAR;
}

static bool validates(const wg_settings *s)
{
    bool pairs = s->valid_sets[0] || !s->train_sets[0];
    return s->valid_freq.n > 0 && (s->type == WG_TYPE_LM ? s->valid_set != NULL : pairs);
}

int64_t wg_settings_longest(const wg_settings *s)
{
    int64_t room = s->batch_tokens, multiple = s->length_multiple > 1 ? s->length_multiple : 1;
    if (positions_are_learned(s) && s->net.max_positions < room)
        room = s->net.max_positions;
    int marks = s->type == WG_TYPE_LM ? 0 : s->source_marks == WG_SOURCE_BOTH ? 2 : 1;
    return room / multiple * multiple - marks; /* lengths include the marks, then padding */
}

/* The texts and the network of a language model, or of one that translates. */
static wg_status check_type(const wg_settings *s, wg_error *error)
{
    bool lm = s->type == WG_TYPE_LM;
    const char *metrics = s->valid_metrics ? s->valid_metrics : "";
    if (!lm && (s->train_set || s->valid_set))
        return wgi_error_set(error, WG_EINVAL,
                             "train-set and valid-set are for type lm; a model that translates "
                             "takes train-sets and valid-sets");
    if (!lm)
        return s->net.encoder_layers
                   ? WG_OK
                   : wgi_error_set(error, WG_EINVAL,
                                   "encoder-layers is 0, must be at least 1 unless type is lm");
    if (s->train_sets[0] || s->valid_sets[0] || s->vocabs[1])
        return wgi_error_set(error, WG_EINVAL,
                             "%s are two, but type lm has one text: train-set, valid-set, and one "
                             "vocabulary",
                             s->train_sets[0]   ? "train-sets"
                             : s->valid_sets[0] ? "valid-sets"
                                                : "vocabs");
    if (!s->train_set)
        return wgi_error_set(error, WG_EINVAL, "train-set must be given where type is lm");
    if (s->net.encoder_layers)
        return wgi_error_set(error, WG_EINVAL, "encoder-layers is %lld, must be 0 where type is lm",
                             (long long)s->net.encoder_layers);
    if (strstr(metrics, "bleu") || strstr(metrics, "chrf"))
        return wgi_error_set(error, WG_EINVAL,
                             "valid-metrics are %s, must be among cross-entropy, perplexity and "
                             "accuracy where type is lm",
                             metrics);
    return WG_OK;
}

wg_status wg_settings_check(const wg_settings *s, wg_error *error)
{
    wgi_error_clear(error);
    wg_status status = check_type(s, error);
    if (status != WG_OK)
        return status;
    wg_transformer_config net = s->net;
    net.source_vocabulary = net.target_vocabulary = 1; /* the vocabularies are not known yet */
    if (wg_transformer_check(&net, error) != WG_OK) {
        for (char *at = error ? error->text : NULL; at && (at = strchr(at, '_'));)
            *at = '-'; /* options have the names of fields, with dashes */
        return WG_EINVAL;
    }
    long long longest = wg_settings_longest(s), max = s->max_length, multiple = s->length_multiple;
    if (longest < 1)
        return wgi_error_set(error, WG_EINVAL,
                             "length-multiple is %lld, must be at most mini-batch-words (%lld)%s",
                             multiple, (long long)s->batch_tokens,
                             positions_are_learned(s) ? " and max-positions" : "");
    if (positions_are_learned(s) && (max < 1 || max > longest))
        return wgi_error_set(error, WG_EINVAL,
                             "max-length is %lld, must be from 1 to %lld: max-positions is %lld, "
                             "and sentences are padded to multiples of %lld",
                             max, longest, (long long)s->net.max_positions, multiple);
    if (falls(s) && s->schedule.updates == 0 && s->after.n == 0)
        return wgi_error_set(error, WG_EINVAL,
                             "lr-updates is 0, must be given where lr-schedule is cosine or linear "
                             "and after is 0");
    if (falls(s) && s->schedule.updates != 0 && s->schedule.updates <= s->schedule.warmup)
        return wgi_error_set(
            error, WG_EINVAL,
            "lr-updates is %lld, must be above lr-warmup (%lld): the rate falls to "
            "lr-floor until then, and stays there",
            (long long)s->schedule.updates, (long long)s->schedule.warmup);
    if (s->search.max_factor == 0 && s->search.max_extra == 0)
        return wgi_error_set(error, WG_EINVAL,
                             "max-length-factor and max-length-extra are both 0: no translation "
                             "would have a token");
    if (s->smoothing >= 1)
        return wgi_error_set(error, WG_EINVAL, "exponential-smoothing is %g, must be below 1",
                             s->smoothing);
    if (s->clip_norm > 0 && (float)s->clip_norm < FLT_MIN)
        return wgi_error_set(error, WG_EINVAL, "clip-norm is %g, must be 0 or at least %g",
                             s->clip_norm, (double)FLT_MIN);
    if (s->early_stopping > 0 && !validates(s))
        return wgi_error_set(error, WG_EINVAL,
                             "early-stopping is %lld, but nothing is validated: %s and valid-freq "
                             "must be given",
                             (long long)s->early_stopping,
                             s->type == WG_TYPE_LM ? "valid-set" : "valid-sets");
    return WG_OK;
}
