/* Maps of characters in SentencePiece models from anybody: those that lead outside are refused. */
#include "tests/allocations.h"
#include "tests/vocabularies.h"
#include "text/charsmap.h"

#ifdef WG_HAVE_SENTENCEPIECE

enum { UNITS = 512, BASE = 2, NORMALIZER = 3, DENORMALIZER = 5 };

static const uint32_t a_value = 1u << 31, ends = 1 << 8;

static uint32_t to_base(size_t from, size_t base)
{
    return (uint32_t)(from ^ base) << 10;
}

/* A map: its trie, the number of bytes that it says the trie has, and its replacements. */
typedef struct map {
    uint32_t units[UNITS];
    uint32_t trie;
    const char *replacements;
    size_t n_replacements;
} map;

/* "A" becomes "a", "AB" becomes "b"; no other unit is a child of anything. */
static map good_map(void)
{
    static const char replacements[] = "a\0b";
    map m = {.trie = sizeof m.units, .replacements = replacements, .n_replacements = 4};
    const size_t a = BASE ^ 'A', children = BASE + 8, ab = children ^ 'B', last = BASE + 16;
    for (uint32_t i = 0; i < UNITS; i++)
        m.units[i] = (i ^ 0x99) & 0xff;
    m.units[0] = to_base(0, BASE);
    m.units[a] = to_base(a, children) | ends | 'A';
    m.units[children] = a_value | 0;
    m.units[ab] = to_base(ab, last) | ends | 'B';
    m.units[last] = a_value | 2;
    return m;
}

static size_t put_map(char *bytes, const map *m)
{
    memcpy(bytes, &m->trie, sizeof m->trie);
    memcpy(bytes + sizeof m->trie, m->units, sizeof m->units);
    memcpy(bytes + sizeof m->trie + sizeof m->units, m->replacements, m->n_replacements);
    return sizeof m->trie + sizeof m->units + m->n_replacements;
}

static size_t put_field(char *to, unsigned number, const char *bytes, size_t size)
{
    to[0] = (char)(number << 3 | 2);
    to[1] = (char)(size | 0x80); /* the length, as two digits to the base of 128 */
    to[2] = (char)(size >> 7);
    memcpy(to + 3, bytes, size);
    return size + 3;
}

/* Opens a model with that map in the field `spec`. */
static wg_status open_with(wg_vocabulary **v, const map *m, unsigned spec)
{
    enum { CHARSMAP = 2 };
    char bytes[1 << 12], inner[1 << 12];
    size_t size, n = put_field(inner, CHARSMAP, bytes, put_map(bytes, m));
    wg_vocabulary *plain = make(WG_VOCABULARY_BPE, 60);
    assert_int_equal(wg_vocabulary_save(plain, path_of("model"), &error), WG_OK);
    wg_vocabulary_free(plain);
    char *model = read_bytes(path_of("model"), &size), *all = malloc(size + sizeof inner + 8);
    assert_non_null(all);
    memcpy(all, model, size);
    size += put_field(all + size, spec, inner, n);
    const char *path = write_bytes("model", all, size);
    free(model);
    free(all);
    return wg_vocabulary_open(v, path, &error);
}

static void a_good_map_rewrites_text(void **state)
{
    (void)state;
    const map m = good_map();
    wg_vocabulary *v;
    check_that(open_with(&v, &m, NORMALIZER) == WG_OK, "%s", error.text);
    check_there_and_back(v, "A AB AA", "a b aa");
    wg_vocabulary_free(v);
}

static void refused(const char *why, const map *m)
{
    wg_vocabulary *v;
    for (unsigned spec = NORMALIZER; spec <= DENORMALIZER; spec += DENORMALIZER - NORMALIZER) {
        wg_status status = open_with(&v, m, spec);
        check_that(status == WG_EDATA && !v, "%s: %s", why, wg_status_text(status));
        assert_non_null(strstr(error.text, "a damaged one"));
    }
}

static void maps_that_lead_outside_are_refused(void **state)
{
    (void)state;
    const size_t a = BASE ^ 'A', children = BASE + 8;
    map m = good_map();
    m.units[0] = UINT32_MAX << 10;
    refused("the children of the root lie outside", &m);
    m = good_map();
    m.units[a] = 1 << 9 | 1 << 20 | ends | 'A';
    refused("the children of a node lie outside", &m);
    m = good_map();
    m.units[children] = a_value | 4;
    refused("a replacement begins behind the last", &m);
    m = good_map();
    m.n_replacements = 3;
    refused("the last replacement has no end", &m);
    m = good_map();
    m.trie = sizeof m.units + 4;
    refused("the trie takes all", &m);
    m = good_map();
    m.trie = 0;
    refused("no trie", &m);
    m = good_map();
    m.units[a] = to_base(a, BASE) | ends | 'A';
    m.units[BASE] = a_value;
    refused("a circle, in which more keys end than there is room for", &m);
}

/* A tag of more than 32 bits may be another field for another reader. */
static void tags_that_readers_cut_off_are_refused(void **state)
{
    (void)state;
    wg_vocabulary *v = make(WG_VOCABULARY_BPE, 60);
    size_t size;
    assert_int_equal(wg_vocabulary_save(v, path_of("model"), &error), WG_OK);
    wg_vocabulary_free(v);
    char *model = read_bytes(path_of("model"), &size), all[1 << 14];
    assert_true(size + 6 < sizeof all);
    memcpy(all, model, size);
    memcpy(all + size, "\x9a\x80\x80\x80\x10", 6); /* 2^32 + the tag of the normalizer, empty */
    free(model);
    assert_int_equal(wg_vocabulary_open(&v, write_bytes("model", all, size + 6), &error), WG_EDATA);
}

static wg_status open_model(void *path)
{
    wg_vocabulary *v;
    wg_status status = wg_vocabulary_open(&v, path, &error);
    wg_vocabulary_free(v);
    return status;
}

static void a_model_is_not_opened_without_memory(void **state)
{
    (void)state;
    const map m = good_map();
    wg_vocabulary *v;
    assert_int_equal(open_with(&v, &m, NORMALIZER), WG_OK);
    wg_vocabulary_free(v);
    assert_in_range(fail_each("model", open_model, (void *)path_of("model"), WG_OK), 4, 1000);
}

/* Whatever a unit is changed to: refused, or SentencePiece stays inside (which sanitizers see). */
static void changed_maps_are_refused_or_harmless(void **state)
{
    (void)state;
    size_t n, opened = 0, not_opened = 0;
    uint32_t random = 1;
    for (int i = 0; i < 200; i++) {
        map m = good_map();
        const size_t places[] = {0, BASE ^ 'A', BASE + 8, (BASE + 8) ^ 'B', BASE + 16};
        random = random * 1664525 + 1013904223;
        m.units[places[i % 5]] ^= 1u << (random >> 27) | 1u << (random >> 16 & 31);
        wg_vocabulary *v;
        wg_status status = open_with(&v, &m, NORMALIZER);
        assert_true(status == WG_OK || status == WG_EDATA);
        opened += status == WG_OK;
        not_opened += status != WG_OK;
        if (status != WG_OK)
            continue;
        free(encode(v, "A AB ABBA \x01\x02\x7f the house AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                    60, &n));
        wg_vocabulary_free(v);
    }
    check_that(opened > 20 && not_opened > 20, "%zu opened, %zu refused", opened, not_opened);
}

#endif

/* ---- the check alone ------------------------------------------------------------------------- */

/* A map in which bases are reached over and over.  From base C_k, the key "a" ends at C_k+1 and "x"
 * leads to one base for all k, whose 256 children are looked at again each time, since more keys
 * have ended on the way. */
enum {
    CHAIN = 256,
    SHARED = 512,
    LEAVES = 768,
    MANY = 1024,
    MAP_BYTES = (MANY + 1) * 4 + 2,
    MAP_LIMIT = 1 << 24
};

static void make_tangle(char *bytes, uint32_t links)
{
    const uint32_t value = 1u << 31, end = 1 << 8, a = 64, x = 128, trie = MANY * 4;
    uint32_t units[MANY];
    for (uint32_t i = 0; i < MANY; i++)
        units[i] = value;
    units[0] = (0 ^ (uint32_t)CHAIN) << 10;
    for (uint32_t k = 0; k < links; k++) {
        units[CHAIN + (k ^ a)] = ((CHAIN + (k ^ a)) ^ (CHAIN + k + 1)) << 10 | end | a;
        units[CHAIN + (k ^ x)] = ((CHAIN + (k ^ x)) ^ (uint32_t)SHARED) << 10 | x;
    }
    for (uint32_t c = 0; c < 256; c++)
        units[SHARED + c] = ((SHARED + c) ^ (LEAVES + c)) << 10 | c;
    memcpy(bytes, &trie, sizeof trie);
    memcpy(bytes + sizeof trie, units, sizeof units);
    memcpy(bytes + MAP_BYTES - 2, "a", 2);
}

static void a_map_that_takes_too_long_is_refused(void **state)
{
    (void)state;
    char bytes[MAP_BYTES];
    make_tangle(bytes, 8);
    assert_int_equal(wgi_charsmap_check(bytes, sizeof bytes), WG_OK);
    make_tangle(bytes, 31);
    assert_int_equal(wgi_charsmap_check(bytes, sizeof bytes), WG_EDATA);
}

/* From base CHAIN + k, "a" leads to CHAIN + k + 1, and a key ends there. */
static void make_chain(char *bytes, uint32_t links)
{
    const uint32_t value = 1u << 31, end = 1 << 8, a = 64, trie = MANY * 4;
    uint32_t units[MANY];
    for (uint32_t i = 0; i < MANY; i++)
        units[i] = value;
    units[0] = (0 ^ (uint32_t)CHAIN) << 10;
    for (uint32_t k = 0; k < links; k++)
        units[CHAIN + (k ^ a)] = ((CHAIN + (k ^ a)) ^ (CHAIN + k + 1)) << 10 | end | a;
    memcpy(bytes, &trie, sizeof trie);
    memcpy(bytes + sizeof trie, units, sizeof units);
    memcpy(bytes + MAP_BYTES - 2, "a", 2);
}

/* SentencePiece has room for 32. */
static void more_keys_on_one_way_than_there_is_room_for(void **state)
{
    (void)state;
    char bytes[MAP_BYTES];
    make_chain(bytes, 32);
    assert_int_equal(wgi_charsmap_check(bytes, sizeof bytes), WG_OK);
    make_chain(bytes, 33);
    assert_int_equal(wgi_charsmap_check(bytes, sizeof bytes), WG_EDATA);
}

/* A trie without keys, and no replacement behind it. */
static void a_trie_that_takes_all_is_refused(void **state)
{
    (void)state;
    char bytes[MAP_BYTES];
    make_chain(bytes, 0);
    assert_int_equal(wgi_charsmap_check(bytes, MAP_BYTES), WG_OK);
    bytes[MAP_BYTES - 3] = 0;
    assert_int_equal(wgi_charsmap_check(bytes, MAP_BYTES - 2), WG_EDATA);
}

static void a_map_that_is_too_large_is_refused(void **state)
{
    (void)state;
    char *bytes = calloc(MAP_LIMIT + 1, 1);
    assert_non_null(bytes);
    make_tangle(bytes, 1);
    assert_int_equal(wgi_charsmap_check(bytes, MAP_LIMIT), WG_OK);
    assert_int_equal(wgi_charsmap_check(bytes, MAP_LIMIT + 1), WG_EDATA);
    free(bytes);
}

static wg_status check_tangle(void *bytes)
{
    return wgi_charsmap_check(bytes, MAP_BYTES);
}

static void memory_that_lacks_is_told(void **state)
{
    (void)state;
    char bytes[MAP_BYTES];
    make_tangle(bytes, 8);
    assert_in_range(fail_each("charsmap", check_tangle, bytes, WG_OK), 3, 100);
}

static void no_map_is_a_good_map(void **state)
{
    (void)state;
    assert_int_equal(wgi_charsmap_check("", 0), WG_OK);
    for (size_t size = 1; size <= 6; size++) /* no room for a trie */
        assert_int_equal(wgi_charsmap_check("\0\0\0\0\0\0", size), WG_EDATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef WG_HAVE_SENTENCEPIECE
        cmocka_unit_test(a_good_map_rewrites_text),
        cmocka_unit_test(maps_that_lead_outside_are_refused),
        cmocka_unit_test(tags_that_readers_cut_off_are_refused),
        cmocka_unit_test(changed_maps_are_refused_or_harmless),
        cmocka_unit_test(a_model_is_not_opened_without_memory),
#endif
        cmocka_unit_test(a_map_that_takes_too_long_is_refused),
        cmocka_unit_test(more_keys_on_one_way_than_there_is_room_for),
        cmocka_unit_test(a_trie_that_takes_all_is_refused),
        cmocka_unit_test(a_map_that_is_too_large_is_refused),
        cmocka_unit_test(memory_that_lacks_is_told),
        cmocka_unit_test(no_map_is_a_good_map),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
