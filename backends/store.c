/* The store: a growing array of tensors and an open-addressing table from name to place. */
#include "backends/store.h"
#include "graph/grow.h"
#include "graph/mix.h"
#include "ops/initial.h"
#include "wengert/ops/table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Threads that decode have stores of their own over that of the model, and make plans at the same
 * time.  All that these change in the common base is what they note of a tensor: it is atomic. */
typedef struct wgi_owned {
    wg_tensor tensor;
    void *block;       /* memory that tensor.data lies in; NULL: a piece of the store */
    atomic_uint role;  /* a wgi_role, with TOLD if it is what a plan knew */
    atomic_bool loose; /* from a file, not used by a plan yet: see wgi_store_fill */
} wgi_owned;

enum { TOLD = 4 /* a bit that no role has */ };

typedef struct wgi_note {
    char *key, *text;
} wgi_note;

struct wg_store {
    uint64_t seed;
    wg_store *base;     /* NULL, or where to look further */
    wgi_owned **tensor; /* each on its own: addresses given out stay valid */
    size_t count, capacity;
    size_t *slot; /* place + 1 in `tensor`, 0: free */
    size_t slots; /* 0 or a power of two            */
    wgi_seal seal;
    bool sparse;  /* see wgi_store_new_sparse */
    void **piece; /* see wgi_store_reserve; of the last one `rest` bytes at `next` are free */
    size_t n_pieces, cap_pieces;
    char *next;
    size_t rest;
    char *source; /* NULL, or the file that filled it */
    wgi_note *notes;
    size_t n_notes, cap_notes;
};

wg_store *wg_store_new(uint64_t seed)
{
    wg_store *s = calloc(1, sizeof *s);
    if (s)
        s->seed = seed;
    return s;
}

wg_store *wg_store_new_over(wg_store *base)
{
    wg_store *s = wg_store_new(base ? base->seed : 0);
    if (s)
        s->base = base;
    return s;
}

wg_store *wgi_store_new_sparse(wg_store *base)
{
    wg_store *s = wg_store_new_over(base);
    if (s)
        s->sparse = true;
    return s;
}

static void free_tensor(wgi_owned *t)
{
    if (!t)
        return;
    free((char *)(uintptr_t)t->tensor.name);
    free(t->block);
    free(t);
}

static void free_note(const wgi_note *note)
{
    free(note->key);
    free(note->text);
}

static void free_pieces(wg_store *s)
{
    while (s->n_pieces > 0)
        free(s->piece[--s->n_pieces]);
    s->rest = 0;
}

void wg_store_free(wg_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        free_tensor(s->tensor[i]);
    for (size_t i = 0; i < s->n_notes; i++)
        free_note(&s->notes[i]);
    free(s->notes);
    free(s->source);
    free_pieces(s);
    free(s->piece);
    free(s->tensor);
    free(s->slot);
    free(s);
}

size_t wg_store_count(const wg_store *s)
{
    return s ? s->count : 0;
}

const wg_tensor *wg_store_at(const wg_store *s, size_t i)
{
    return s && i < s->count ? &s->tensor[i]->tensor : NULL;
}

/* The slot of that name, or the free one where it belongs. */
static size_t *slot_of(const wg_store *s, const char *name)
{
    size_t i = (size_t)wgi_hash_text(name) & (s->slots - 1);
    while (s->slot[i] && strcmp(s->tensor[s->slot[i] - 1]->tensor.name, name) != 0)
        i = (i + 1) & (s->slots - 1);
    return &s->slot[i];
}

size_t wgi_store_place(const wg_store *s, const char *name)
{
    return s->slots ? *slot_of(s, name) - 1 : SIZE_MAX; /* of 0: SIZE_MAX too */
}

const wg_tensor *wg_store_find(const wg_store *s, const char *name)
{
    if (!s || !name)
        return NULL;
    size_t place = wgi_store_place(s, name);
    return place != SIZE_MAX ? &s->tensor[place]->tensor : wg_store_find(s->base, name);
}

/* Room for one more tensor and its slot. */
static bool reserve(wg_store *s)
{
    if (!WGI_RESERVE(s->tensor, s->capacity, s->count + 1))
        return false;
    if (2 * (s->count + 1) <= s->slots)
        return true;
    size_t slots = s->slots ? 2 * s->slots : 64;
    size_t *slot = calloc(slots, sizeof *slot);
    if (!slot)
        return false;
    free(s->slot);
    s->slot = slot;
    s->slots = slots;
    for (size_t i = 0; i < s->count; i++)
        *slot_of(s, s->tensor[i]->tensor.name) = i + 1;
    return true;
}

static char *new_block(const wg_store *s, wg_dtype dtype, const wg_shape *shape)
{
    size_t bytes = wg_shape_bytes(shape, dtype);
    if (bytes >= SIZE_MAX - WGI_ALIGN)
        return NULL;
    return s->sparse ? calloc(1, bytes + WGI_ALIGN) : wgi_zeroed_alloc(bytes + WGI_ALIGN);
}

bool wgi_store_reserve(wg_store *s, size_t bytes)
{
    if (bytes <= s->rest || s->sparse)
        return true;
    if (bytes >= SIZE_MAX - WGI_ALIGN || !WGI_RESERVE(s->piece, s->cap_pieces, s->n_pieces + 1))
        return false;
    char *piece = wgi_zeroed_alloc(bytes + WGI_ALIGN);
    if (!piece)
        return false;
    size_t past = (size_t)((uintptr_t)piece % WGI_ALIGN);
    s->piece[s->n_pieces++] = piece;
    s->next = piece + (past ? WGI_ALIGN - past : 0);
    s->rest = bytes;
    return true;
}

/* Zeros of the last piece, if they suffice. */
static bool cut(wg_store *s, wgi_owned *t)
{
    size_t bytes = wgi_store_room(t->tensor.dtype, &t->tensor.shape);
    if (s->n_pieces == 0 || bytes > s->rest)
        return false;
    t->tensor.data = s->next;
    s->next += bytes;
    s->rest -= bytes;
    return true;
}

static void set_block(wgi_owned *t, char *block)
{
    size_t past = (size_t)((uintptr_t)block % WGI_ALIGN);
    t->block = block;
    t->tensor.data = block + (past ? WGI_ALIGN - past : 0);
}

static wgi_owned *new_tensor(wg_store *s, const char *name, wg_dtype dtype, const wg_shape *shape)
{
    wgi_owned *t = calloc(1, sizeof *t);
    char *own = strdup(name), *block = NULL;
    if (t && own) {
        t->tensor = (wg_tensor){.name = own, .dtype = dtype, .shape = *shape};
        if (cut(s, t))
            return t;
        block = new_block(s, dtype, shape);
    }
    if (!block) {
        free(t);
        free(own);
        return NULL;
    }
    set_block(t, block);
    return t;
}

/* A tensor of zeros of its own, whose name it does not have yet; NULL without memory. */
static wgi_owned *add_own(wg_store *s, const char *name, wg_dtype dtype, const wg_shape *shape)
{
    wgi_owned *t = reserve(s) ? new_tensor(s, name, dtype, shape) : NULL;
    if (t) {
        s->tensor[s->count++] = t;
        *slot_of(s, name) = s->count;
    }
    return t;
}

wg_status wg_store_add(wg_store *s, const char *name, wg_dtype dtype, const wg_shape *shape,
                       const wg_tensor **out)
{
    const wg_tensor *ignored;
    out = out ? out : &ignored;
    *out = NULL;
    if (!s || !name || !shape || !wg_shape_valid(shape, dtype))
        return WG_EINVAL;
    const wg_tensor *old = wg_store_find(s, name);
    if (old && old->dtype != dtype)
        return WG_EDTYPE;
    if (old && !wg_shape_equal(&old->shape, shape))
        return WG_ESHAPE;
    if (old) {
        *out = old;
        return WG_OK;
    }
    const wgi_owned *t = add_own(s, name, dtype, shape);
    *out = t ? &t->tensor : NULL;
    return t ? WG_OK : WG_ENOMEM;
}

/* ---- what a file has ------------------------------------------------------------------------- */

static void clear(wg_store *s)
{
    while (s->count > 0)
        free_tensor(s->tensor[--s->count]);
    free(s->slot);
    free_pieces(s);
    s->slot = NULL;
    s->slots = 0;
}

wg_status wgi_store_fill(wg_store *s, const wg_tensor *list, size_t n, const char *source,
                         wgi_seal seal, bool loose)
{
    char *own = strdup(source);
    bool ok = own != NULL;
    size_t room = 0;
    for (size_t i = 0; i < n; i++)
        room += wgi_store_room(list[i].dtype, &list[i].shape);
    (void)wgi_store_reserve(s, room); /* else each has memory of its own */
    for (size_t i = 0; ok && i < n; i++) {
        wgi_owned *t = add_own(s, list[i].name, list[i].dtype, &list[i].shape);
        size_t bytes = wgi_tensor_bytes(&list[i]);
        ok = t != NULL;
        if (ok && bytes)
            memcpy(t->tensor.data, list[i].data, bytes);
        if (ok)
            atomic_store_explicit(&t->loose, loose, memory_order_relaxed);
    }
    if (!ok) {
        clear(s);
        free(own);
        return WG_ENOMEM;
    }
    free(s->source);
    s->source = own;
    s->seal = seal;
    return WG_OK;
}

const char *wgi_store_source(const wg_store *s)
{
    while (s && !s->source)
        s = s->base;
    return s ? s->source : NULL;
}

wgi_role wgi_store_role(const wg_store *s, size_t i)
{
    return (wgi_role)(atomic_load_explicit(&s->tensor[i]->role, memory_order_relaxed) & ~TOLD);
}

void wgi_store_set_role(wg_store *s, size_t i, wgi_role role)
{
    atomic_uint *own = &s->tensor[i]->role;
    if (!(atomic_load_explicit(own, memory_order_relaxed) & TOLD))
        atomic_store_explicit(own, role, memory_order_relaxed);
}

/* ---- notes ----------------------------------------------------------------------------------- */

static size_t find_note(const wg_store *s, const char *key)
{
    size_t i = 0;
    while (i < s->n_notes && strcmp(s->notes[i].key, key) != 0)
        i++;
    return i;
}

static wg_status put_note(wg_store *s, size_t place, const char *key, const char *text)
{
    wgi_note *notes = wgi_grow(s->notes, &s->cap_notes, s->n_notes + 1, sizeof *notes);
    wgi_note note = {notes ? strdup(key) : NULL, notes ? strdup(text) : NULL};
    s->notes = notes ? notes : s->notes;
    if (!note.key || !note.text) {
        free_note(&note);
        return WG_ENOMEM;
    }
    if (place < s->n_notes)
        free_note(&s->notes[place]);
    s->notes[place] = note;
    s->n_notes += place == s->n_notes;
    return WG_OK;
}

wg_status wg_store_set_note(wg_store *s, const char *key, const char *text)
{
    if (!s || !key || !*key)
        return WG_EINVAL;
    size_t place = find_note(s, key);
    if (text)
        return put_note(s, place, key, text);
    if (place < s->n_notes) {
        free_note(&s->notes[place]);
        s->n_notes--;
        memmove(&s->notes[place], &s->notes[place + 1], (s->n_notes - place) * sizeof *s->notes);
    }
    return WG_OK;
}

const char *wg_store_note(const wg_store *s, const char *key)
{
    size_t place = s && key ? find_note(s, key) : 0;
    return s && key && place < s->n_notes ? s->notes[place].text : NULL;
}

size_t wg_store_note_count(const wg_store *s)
{
    return s ? s->n_notes : 0;
}

const char *wg_store_note_key(const wg_store *s, size_t i)
{
    return s && i < s->n_notes ? s->notes[i].key : NULL;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* Takes back the last wg_store_add: no other name was put into the table after it. */
static void forget_last(wg_store *s)
{
    wgi_owned *t = s->tensor[s->count - 1];
    *slot_of(s, t->tensor.name) = 0;
    s->count--;
    free_tensor(t);
}

static wgi_role role_of(const wg_node *leaf)
{
    return leaf->op == &wg_op_parameter ? WGI_ROLE_PARAMETER
           : leaf->op != &wg_op_state   ? WGI_ROLE_UNKNOWN
           : leaf->phase == WG_UPDATE   ? WGI_ROLE_OPTIMIZER
                                        : WGI_ROLE_STATE;
}

/* A file filled the store, or one below, and should have had that leaf.  States of its own a store
 * may add over one that is complete. */
static bool is_sealed(const wg_store *s, wgi_role role)
{
    if (s->seal == WGI_SEAL_ALL)
        return true;
    for (; role == WGI_ROLE_PARAMETER && s; s = s->base)
        if (s->seal != WGI_SEAL_NONE)
            return true;
    return false;
}

/* Gives a state from a file the shape that the plan needs, and zeros. */
static bool reshape_state(const wg_store *s, wgi_owned *t, const wg_value *leaf)
{
    char *block = new_block(s, leaf->dtype, &leaf->shape);
    if (!block)
        return false;
    free(t->block);
    set_block(t, block);
    t->tensor.dtype = leaf->dtype;
    t->tensor.shape = leaf->shape;
    return true;
}

static bool fits(const wg_tensor *t, const wg_value *leaf)
{
    return t->dtype == leaf->dtype && wg_shape_equal(&t->shape, &leaf->shape);
}

/* The store's own tensor of that name, or else its base's. */
static wgi_owned *find_owned(const wg_store *s, const char *name)
{
    for (; s; s = s->base) {
        size_t place = wgi_store_place(s, name);
        if (place != SIZE_MAX)
            return s->tensor[place];
    }
    return NULL;
}

/* Makes room for a state that `t`, the tensor of its name, does not fit: t itself takes the new
 * shape, if no plan has used it, or the store gets a tensor of its own over that of its base. */
static wg_status refit(wg_store *s, wgi_owned *t, const wg_value *leaf)
{
    if (wgi_store_place(s, leaf->name) == SIZE_MAX)
        return add_own(s, leaf->name, leaf->dtype, &leaf->shape) ? WG_OK : WG_ENOMEM;
    if (atomic_load_explicit(&t->loose, memory_order_relaxed))
        return reshape_state(s, t, leaf) ? WG_OK : WG_ENOMEM;
    return t->tensor.dtype == leaf->dtype ? WG_ESHAPE : WG_EDTYPE;
}

/* A plan uses t for that.  The first one that knows decides: if another thread's comes before, the
 * exchange does nothing. */
static void note_use(wgi_owned *t, wgi_role role)
{
    unsigned known = atomic_load_explicit(&t->role, memory_order_relaxed),
             now = role | (role != WGI_ROLE_UNKNOWN ? TOLD : 0);
    atomic_store_explicit(&t->loose, false, memory_order_relaxed);
    if (!(known & TOLD))
        atomic_compare_exchange_strong_explicit(&t->role, &known, now, memory_order_relaxed,
                                                memory_order_relaxed);
}

wg_status wgi_store_leaf(wg_store *s, const wg_value *leaf, int threads, const wg_tensor **out)
{
    wgi_role role = role_of(leaf->node);
    wgi_owned *t = find_owned(s, leaf->name);
    bool misfit = t && role != WGI_ROLE_PARAMETER && !fits(&t->tensor, leaf), fresh = !t || misfit;
    size_t before = s->count;
    *out = NULL;
    if (!t && is_sealed(s, role))
        return WG_EDATA;
    wg_status status = misfit ? refit(s, t, leaf) : WG_OK;
    if (status == WG_OK)
        status = wg_store_add(s, leaf->name, leaf->dtype, &leaf->shape, out);
    if (status == WG_OK && fresh && role != WGI_ROLE_UNKNOWN)
        status = wgi_initial_values((*out)->data, s->seed, (*out)->name, leaf, threads);
    if (status != WG_OK) {
        if (s->count > before)
            forget_last(s);
        *out = NULL;
        return status;
    }
    note_use(find_owned(s, leaf->name), role);
    return WG_OK;
}
