/* Counting a list of word pairs in running text: `etl.amod.adjacent` defines what is counted.
 *
 * One pass over the UTF-8 bytes. A word of up to 15 ASCII letters is found, lower-cased and hashed in
 * one step where the processor has SSE2; any other is read byte by byte. A filter of 64 Ki bits
 * tells nearly every word that no pair has, so that the table of words is looked at for the few
 * others. A pair is looked up where a word follows a listed first word.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>
#define WITH_SSE2
#endif

#define LONGEST 255         /* bytes of a word; of a longer one the first are kept, and no match */
#define FILTER_BITS 16
#define PRIME 1099511628211ull

typedef struct {
    uint64_t hash;
    uint32_t at;            /* in `bytes` */
    uint16_t size;
    uint8_t first;          /* whether a pair begins with the word */
    uint8_t used;
} Word;

typedef struct {
    uint64_t key;           /* first word's place << 32 | second word's place, plus one */
    uint64_t count;
} Pair;

typedef struct {
    PyObject_HEAD
    unsigned char *bytes;
    Word *words;
    Pair *pairs;
    Py_ssize_t *order;      /* place in `pairs` of each pair of the list */
    size_t word_mask, pair_mask;
    Py_ssize_t size;        /* pairs of the list */
    int lowercase;
    uint64_t filter[1 << (FILTER_BITS - 6)];
} Counter;

static unsigned char lower[256], same[256];  /* the letter or digit of an ASCII byte, else 0 */

static inline uint64_t mixed(uint64_t hash) {
    hash ^= hash >> 32;
    return hash * 0x9e3779b97f4a7c15ull;
}

static inline size_t filter_bit(uint64_t hash) { return mixed(hash) >> (64 - FILTER_BITS); }

static inline int in_filter(const Counter *self, uint64_t hash) {
    size_t bit = filter_bit(hash);
    return self->filter[bit >> 6] >> (bit & 63) & 1;
}

/* A character of more than one byte; its size, 0 where the bytes are no UTF-8. */
static inline int decoded(const unsigned char *at, const unsigned char *end, Py_UCS4 *character) {
    int size = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : *at >= 0xc2 ? 2 : 0;
    if (!size || end - at < size) return 0;
    Py_UCS4 value = *at & (0xff >> (size + 1));
    for (int i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        value = value << 6 | (at[i] & 0x3f);
    }
    *character = value;
    return size;
}

static inline int encoded(Py_UCS4 value, unsigned char *out) {
    if (value < 0x80) { out[0] = (unsigned char)value; return 1; }
    if (value < 0x800) {
        out[0] = 0xc0 | value >> 6; out[1] = 0x80 | (value & 0x3f); return 2;
    }
    if (value < 0x10000) {
        out[0] = 0xe0 | value >> 12; out[1] = 0x80 | (value >> 6 & 0x3f);
        out[2] = 0x80 | (value & 0x3f); return 3;
    }
    out[0] = 0xf0 | value >> 18; out[1] = 0x80 | (value >> 12 & 0x3f);
    out[2] = 0x80 | (value >> 6 & 0x3f); out[3] = 0x80 | (value & 0x3f);
    return 4;
}

/* Whether a letter or digit begins at `at`. */
static inline int begins_word(const unsigned char *at, const unsigned char *end) {
    Py_UCS4 character;
    if (at >= end) return 0;
    if (*at < 0x80) return same[*at] != 0;
    return decoded(at, end, &character) && Py_UNICODE_ISALNUM(character);
}

typedef struct { uint64_t hash; size_t size; unsigned char bytes[LONGEST + 17]; } Current;

static inline uint64_t hash_of(uint64_t one, uint64_t two) {
    one *= 0x9e3779b97f4a7c15ull;
    two *= 0xc2b2ae3d27d4eb4full;
    return (one ^ (one >> 29)) + (two ^ (two >> 31));
}

/* The hash of a word that was read byte by byte: of its bytes by sixteens, zeros behind the last. */
static inline void add_hash(Current *word) {
    size_t size = word->size < LONGEST ? word->size : LONGEST;
    memset(word->bytes + size, 0, 16);
    uint64_t hash = 0;
    for (size_t at = 0; at < size; at += 16) {
        uint64_t half[2];
        memcpy(half, word->bytes + at, 16);
        hash = hash * PRIME + hash_of(half[0], half[1]);
    }
    word->hash = hash;
}

static inline void add(Current *word, unsigned char byte) {
    if (word->size < LONGEST) word->bytes[word->size] = byte;
    word->size++;
}

/* The word that begins at `at`, without its hash; the byte behind it. */
static const unsigned char *read_bytes(
    const Counter *self, const unsigned char *at, const unsigned char *end, Current *word
) {
    const unsigned char *table = self->lowercase ? lower : same;
    word->size = 0;
    for (;;) {
        unsigned char byte;
        while (at < end && (byte = table[*at])) { add(word, byte); at++; }
        if (at >= end) return at;
        if (*at == '-') {
            if (!word->size || !begins_word(at + 1, end)) return at;
            add(word, '-');
            at++;
            continue;
        }
        if (*at < 0x80) return at;
        Py_UCS4 character;
        int size = decoded(at, end, &character);
        if (!size) return at;
        if (character == 0x2010 || character == 0x2011) {
            if (!word->size || !begins_word(at + size, end)) return at;
            add(word, '-');
        } else if (Py_UNICODE_ISALNUM(character)) {
            unsigned char out[4];
            int count = encoded(self->lowercase ? Py_UNICODE_TOLOWER(character) : character, out);
            for (int i = 0; i < count; i++) add(word, out[i]);
        } else {
            return at;
        }
        at += size;
    }
}

#ifdef WITH_SSE2
/* Where a byte of sixteen lies between two others, both of ASCII: all ones. */
static inline __m128i between(__m128i bytes, char least, char most) {
    return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8((char)(least - 1))),
                         _mm_cmplt_epi8(bytes, _mm_set1_epi8((char)(most + 1))));
}

/* A word of up to 15 ASCII letters and digits that no hyphen and no other character goes on. */
static inline size_t short_word(const Counter *self, const unsigned char *at, Current *word) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    __m128i capital = between(bytes, 'A', 'Z');
    __m128i lowered = _mm_or_si128(bytes, _mm_and_si128(capital, _mm_set1_epi8(32)));
    __m128i letter = _mm_or_si128(between(lowered, 'a', 'z'), between(bytes, '0', '9'));
    unsigned other = ~(unsigned)_mm_movemask_epi8(letter) & 0xffff;
    if (!other) return 0;
    size_t size = (size_t)__builtin_ctz(other);
    if (!size || at[size] >= 0x80 || at[size] == '-') return 0;
    _mm_storeu_si128((__m128i *)word->bytes, self->lowercase ? lowered : bytes);
    uint64_t half[2];
    memcpy(half, word->bytes, 16);
    if (size < 8) {
        half[0] &= ((uint64_t)1 << (8 * size)) - 1;
        half[1] = 0;
    } else {
        half[1] &= ((uint64_t)1 << (8 * (size - 8))) - 1;
    }
    word->size = size;
    word->hash = hash_of(half[0], half[1]);
    return size;
}
#endif

/* The word that begins at `at`; the byte behind it. */
static inline const unsigned char *read_word(
    const Counter *self, const unsigned char *at, const unsigned char *end, Current *word
) {
#ifdef WITH_SSE2
    if (end - at >= 17) {
        size_t size = short_word(self, at, word);
        if (size) return at + size;
    }
#endif
    at = read_bytes(self, at, end, word);
    add_hash(word);
    return at;
}

/* The place of a word in the table: its own, or the free one where it would stand. */
static inline size_t place_of(const Counter *self, const Current *word) {
    size_t at = mixed(word->hash) & self->word_mask;
    for (;; at = (at + 1) & self->word_mask) {
        const Word *entry = &self->words[at];
        if (!entry->used) return at;
        if (entry->hash == word->hash && entry->size == word->size &&
            !memcmp(self->bytes + entry->at, word->bytes, word->size)) return at;
    }
}

static inline Pair *pair_of(const Counter *self, size_t first, size_t second) {
    uint64_t key = ((uint64_t)first << 32 | second) + 1;
    size_t at = (size_t)(mixed(key * PRIME)) & self->pair_mask;
    while (self->pairs[at].key && self->pairs[at].key != key) at = (at + 1) & self->pair_mask;
    return &self->pairs[at];
}

static void scan(Counter *self, const unsigned char *at, const unsigned char *end) {
    Py_ssize_t previous = -1;  /* place of the listed first word that stands right before */
    Current word;
    while (at < end) {
        const unsigned char *behind = *at == '-' ? at : read_word(self, at, end, &word);
        if (behind > at) {
            at = behind;
            Py_ssize_t first = -1;
            if (in_filter(self, word.hash) && word.size <= LONGEST) {
                size_t place = place_of(self, &word);
                if (self->words[place].used) {
                    if (previous >= 0) {
                        Pair *pair = pair_of(self, (size_t)previous, place);
                        pair->count += pair->key != 0;
                    }
                    if (self->words[place].first) first = (Py_ssize_t)place;
                }
            }
            previous = first;
            if (at < end && *at == ' ') at++;
            continue;
        }
        if (*at == ' ' || *at == '\t') { at++; continue; }
        Py_UCS4 character = *at;
        int size = *at < 0x80 ? 1 : decoded(at, end, &character);
        if (!size || !Py_UNICODE_ISSPACE(character) || Py_UNICODE_ISLINEBREAK(character))
            previous = -1;
        at += size ? size : 1;
    }
}

static void dealloc(PyObject *object) {
    Counter *self = (Counter *)object;
    PyMem_Free(self->bytes);
    PyMem_Free(self->words);
    PyMem_Free(self->pairs);
    PyMem_Free(self->order);
    Py_TYPE(object)->tp_free(object);
}

/* The place of a listed word, put into the table if it is new; -1 with an error set. */
static Py_ssize_t listed(Counter *self, PyObject *text, int first, size_t *used) {
    Py_ssize_t size;
    const unsigned char *bytes = (const unsigned char *)PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes) return -1;
    Current word;
    if (!size || size > LONGEST || *bytes == '-' ||
        read_word(self, bytes, bytes + size, &word) != bytes + size || word.size > LONGEST) {
        PyErr_Format(PyExc_ValueError, "%R is not one word", text);
        return -1;
    }
    size_t place = place_of(self, &word);
    Word *entry = &self->words[place];
    if (!entry->used) {
        memcpy(self->bytes + *used, word.bytes, word.size);
        *entry = (Word){word.hash, (uint32_t)*used, (uint16_t)word.size, 0, 1};
        *used += word.size;
        size_t bit = filter_bit(word.hash);
        self->filter[bit >> 6] |= (uint64_t)1 << (bit & 63);
    }
    entry->first |= (uint8_t)first;
    return (Py_ssize_t)place;
}

static size_t table_size(Py_ssize_t entries) {
    size_t size = 64;
    while (size < (size_t)entries * 2) size *= 2;
    return size;
}

static int init(PyObject *object, PyObject *args, PyObject *kwargs) {
    Counter *self = (Counter *)object;
    static char *names[] = {"firsts", "seconds", "lowercase", NULL};
    PyObject *firsts, *seconds;
    int lowercase = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!|p", names, &PyList_Type, &firsts,
                                     &PyList_Type, &seconds, &lowercase)) return -1;
    Py_ssize_t size = PyList_GET_SIZE(firsts);
    if (size != PyList_GET_SIZE(seconds) || self->words) {
        PyErr_SetString(PyExc_ValueError, "expected two lists of one length, once");
        return -1;
    }
    size_t words = table_size(2 * size), pairs = table_size(size);
    self->lowercase = lowercase;
    self->word_mask = words - 1;
    self->pair_mask = pairs - 1;
    self->bytes = PyMem_Malloc((size_t)(2 * size + 1) * (LONGEST + 8));
    self->words = PyMem_Calloc(words, sizeof(Word));
    self->pairs = PyMem_Calloc(pairs, sizeof(Pair));
    self->order = PyMem_Calloc((size_t)size + 1, sizeof(Py_ssize_t));
    if (!self->bytes || !self->words || !self->pairs || !self->order) {
        PyErr_NoMemory();
        return -1;
    }
    size_t used = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        Py_ssize_t first = listed(self, PyList_GET_ITEM(firsts, i), 1, &used);
        Py_ssize_t second = first < 0 ? -1 : listed(self, PyList_GET_ITEM(seconds, i), 0, &used);
        if (second < 0) return -1;
        Pair *pair = pair_of(self, (size_t)first, (size_t)second);
        pair->key = ((uint64_t)first << 32 | (uint64_t)second) + 1;
        self->order[i] = pair - self->pairs;
    }
    self->size = size;
    return 0;
}

static PyObject *feed(PyObject *object, PyObject *text) {
    Counter *self = (Counter *)object;
    Py_buffer view;
    if (PyUnicode_Check(text)) {
        Py_ssize_t size;
        const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
        if (!bytes) return NULL;
        scan(self, (const unsigned char *)bytes, (const unsigned char *)bytes + size);
        Py_RETURN_NONE;
    }
    if (PyObject_GetBuffer(text, &view, PyBUF_SIMPLE)) return NULL;
    scan(self, view.buf, (const unsigned char *)view.buf + view.len);
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}

static PyObject *counts(PyObject *object, PyObject *unused) {
    Counter *self = (Counter *)object;
    PyObject *list = PyList_New(self->size);
    for (Py_ssize_t i = 0; list && i < self->size; i++) {
        PyObject *count = PyLong_FromUnsignedLongLong(self->pairs[self->order[i]].count);
        if (!count) { Py_CLEAR(list); break; }
        PyList_SET_ITEM(list, i, count);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"feed", feed, METH_O, "Count the pairs of a text (str, or bytes in UTF-8)."},
    {"counts", counts, METH_NOARGS, "The counts so far, in the order of the list."},
    {NULL, NULL, 0, NULL}};

static PyTypeObject counter_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "etl.amod._adjacent.Counter",
    .tp_basicsize = sizeof(Counter),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Counts a list of pairs of words in texts.",
    .tp_new = PyType_GenericNew,
    .tp_init = init,
    .tp_dealloc = dealloc,
    .tp_methods = methods};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_adjacent", "See etl.amod.adjacent.", -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__adjacent(void) {
    for (int c = '0'; c <= '9'; c++) lower[c] = same[c] = (unsigned char)c;
    for (int c = 'a'; c <= 'z'; c++) lower[c] = same[c] = (unsigned char)c;
    for (int c = 'A'; c <= 'Z'; c++) { lower[c] = (unsigned char)(c + 32); same[c] = (unsigned char)c; }
    if (PyType_Ready(&counter_type) < 0) return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made && PyModule_AddObjectRef(made, "Counter", (PyObject *)&counter_type) < 0) Py_CLEAR(made);
    return made;
}
