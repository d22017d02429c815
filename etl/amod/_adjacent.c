/* Counts a list of word pairs in running text: `etl.amod.adjacent` defines what is counted.
 *
 * One pass over the UTF-8 bytes. A word of up to 15 ASCII letters is found, lower-cased and hashed in
 * one step if the processor has SSE2; any other word is read byte by byte. A Bloom filter of the
 * hashes of two neighbours rejects nearly all that are not in the list, so only the words of the few
 * others are looked up.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>
#define WITH_SSE2
#endif

#define LONGEST 255         /* bytes of a word; a longer one is truncated and never matches */
#define FILTER_BITS_A_PAIR 32
#define PRIME 1099511628211ull

typedef struct {
    uint64_t hash;
    uint32_t at;            /* in `bytes` */
    uint16_t size;
    uint16_t used;
} Word;

typedef struct {
    uint64_t key;           /* position of the first word << 32 | that of the second, plus one */
    uint64_t count;
} Pair;

typedef struct {
    PyObject_HEAD
    unsigned char *bytes;
    Word *words;
    Pair *pairs;
    Py_ssize_t *order;      /* position in `pairs` of each pair of the list */
    uint64_t *filter;
    size_t word_mask, pair_mask;
    int filter_shift;       /* reduces 64 bits of a hash to a position in the filter */
    Py_ssize_t size;        /* pairs of the list */
    int lowercase;
} Counter;

static unsigned char lower[256], same[256];  /* the letter or digit of an ASCII byte, else 0 */

static inline uint64_t mixed(uint64_t hash) {
    hash ^= hash >> 32;
    return hash * 0x9e3779b97f4a7c15ull;
}

/* The bit of the filter for two neighbours, from the hashes of their words. */
static inline size_t filter_bit(const Counter *self, uint64_t first, uint64_t second) {
    return mixed(first * PRIME + second) >> self->filter_shift;
}

/* Decodes a character of several bytes; returns its size, 0 if the bytes are not UTF-8. */
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

/* The hash of a word that was read byte by byte: of blocks of sixteen bytes, padded with zeros. */
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

/* Reads the word that begins at `at`, without its hash; returns the byte after it. */
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
/* All ones for each of sixteen bytes that lies between two given ASCII bytes. */
static inline __m128i between(__m128i bytes, char least, char most) {
    return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8((char)(least - 1))),
                         _mm_cmplt_epi8(bytes, _mm_set1_epi8((char)(most + 1))));
}

static const unsigned char ones_then_zeros[32] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

/* Reads a word of up to 15 ASCII letters and digits that does not continue after them. */
static inline size_t short_word(const Counter *self, const unsigned char *at, Current *word) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    __m128i capital = between(bytes, 'A', 'Z');
    __m128i lowered = _mm_or_si128(bytes, _mm_and_si128(capital, _mm_set1_epi8(32)));
    __m128i letter = _mm_or_si128(between(lowered, 'a', 'z'), between(bytes, '0', '9'));
    unsigned other = ~(unsigned)_mm_movemask_epi8(letter) & 0xffff;
    if (!other) return 0;
    size_t size = (size_t)__builtin_ctz(other);
    if (!size || at[size] >= 0x80 || at[size] == '-') return 0;
    /* A mask writes zeros after the word: a branch on its length would be mispredicted. */
    __m128i mask = _mm_loadu_si128((const __m128i *)(ones_then_zeros + 16 - size));
    __m128i kept = _mm_and_si128(self->lowercase ? lowered : bytes, mask);
    _mm_storeu_si128((__m128i *)word->bytes, kept);
    uint64_t half[2] = {(uint64_t)_mm_cvtsi128_si64(kept),
                        (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(kept, kept))};
    word->size = size;
    word->hash = hash_of(half[0], half[1]);
    return size;
}
#endif

/* Reads the word that begins at `at`; returns the byte after it. */
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

/* The slot of a word in the table, or the free slot where it would be inserted. */
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

/* Counts two neighbours if the list has them; the first is at `at` and is read again. */
static void count_pair(
    Counter *self, const unsigned char *at, const unsigned char *end, const Current *second
) {
    Current first;
    read_word(self, at, end, &first);
    if (first.size > LONGEST || second->size > LONGEST) return;
    size_t places[2] = {place_of(self, &first), place_of(self, second)};
    if (!self->words[places[0]].used || !self->words[places[1]].used) return;
    Pair *pair = pair_of(self, places[0], places[1]);
    pair->count += pair->key != 0;
}

static void scan(Counter *self, const unsigned char *at, const unsigned char *end) {
    const unsigned char *previous = NULL;  /* start of the word right before */
    uint64_t hash = 0;                     /* of that word */
    Current word;
    while (at < end) {
        const unsigned char *behind = *at == '-' ? at : read_word(self, at, end, &word);
        if (behind > at) {
            if (previous) {
                size_t bit = filter_bit(self, hash, word.hash);
                if (self->filter[bit >> 6] >> (bit & 63) & 1) count_pair(self, previous, end, &word);
            }
            previous = at;
            hash = word.hash;
            at = behind;
            if (at < end && *at == ' ') at++;
            continue;
        }
        if (*at == ' ' || *at == '\t') { at++; continue; }
        Py_UCS4 character = *at;
        int size = *at < 0x80 ? 1 : decoded(at, end, &character);
        if (!size || !Py_UNICODE_ISSPACE(character) || Py_UNICODE_ISLINEBREAK(character))
            previous = NULL;
        at += size ? size : 1;
    }
}

/* Characters of several bytes that normalisation does not change and that are no line breaks: up to
 * U+02FF except U+0085, and the dashes, quotes, dots and currencies of running text. */
static inline int is_inert(Py_UCS4 character) {
    return (character >= 0xa0 && character < 0x300) ||
           (character >= 0x2010 && character < 0x2028) ||
           (character >= 0x2030 && character < 0x205f) ||
           (character >= 0x20a0 && character < 0x20c0);
}

#define LEAST_WIDTH 40      /* of a wrapped block's longest line, in characters */
#define MOST_WIDTH 120

/* A block of lines, to decide whether it was wrapped: see `etl.corpora.text`. */
typedef struct {
    int lines, last;        /* characters of the last line */
    int width, room;        /* of the longest; the least for a line and the next word */
} Block;

static inline int was_wrapped(const Block *block) {
    return block->lines > 1 && block->width >= LEAST_WIDTH && block->width <= MOST_WIDTH &&
           block->room > block->width;
}

/* Adds a line of inert characters; returns whether it ended a block that was wrapped. */
static int add_line(Block *block, const unsigned char *at, const unsigned char *end) {
    if (block->width > MOST_WIDTH) {
        /* Only the end of the block is still needed. */
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        if (at < end && *at != 0xc2) return 0;
    }
    int length = 0, first = 0, in_word = 0, words = 0;
    while (at < end && length <= MOST_WIDTH) {
        int is_space = *at == ' ' || *at == '\t';
        if (*at == 0xc2 && at[1] == 0xa0) { is_space = 1; at++; }
        if (is_space) {
            in_word = 0;
        } else if ((*at & 0xc0) != 0x80) {
            if (!in_word && words++) length++;  /* the space between two words */
            in_word = 1;
            length++;
            first += words == 1;
        }
        at++;
    }
    int wrapped = 0;
    if (!length) {
        wrapped = was_wrapped(block);
        *block = (Block){0, 0, 0, 0};
        return wrapped;
    }
    if (block->lines) {
        int takes = block->last + 1 + first;
        if (block->lines == 1 || takes < block->room) block->room = takes;
    }
    if (length > block->width) block->width = length;
    block->last = length;
    block->lines++;
    return 0;
}

/* Whether a text gives the counts of the document that `etl.corpora.text.text_events` makes of it:
 * it is not empty and has no NUL, nothing that normalisation changes, and no wrapped block of
 * lines. A no may be wrong, a yes never is. */
static int is_plain(const unsigned char *at, const unsigned char *end) {
    const unsigned char *start = at, *line = at;
    Block block = {0, 0, 0, 0};
    int holds = 0, lines = 0;
    if (end - at > 1000000) return 0;
    while (at < end) {
#ifdef WITH_SSE2
        while (end - at >= 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)at);
            /* As signed numbers, all bytes that are not ASCII lie below the control characters. */
            unsigned special = (unsigned)_mm_movemask_epi8(_mm_cmplt_epi8(bytes, _mm_set1_epi8(32)));
            if (special) {
                at += __builtin_ctz(special);
                break;
            }
            at += 16;
        }
        if (at >= end) break;
#endif
        if (*at >= ' ' && *at < 0x80) { at++; continue; }
        if (*at == '\n') {
            if (add_line(&block, line, at)) return 0;
            line = ++at;
            lines++;
            continue;
        }
        if (*at == '\t') { at++; continue; }
        Py_UCS4 character;
        int size = *at < 0x80 ? 0 : decoded(at, end, &character);
        if (!size || !is_inert(character)) return 0;
        at += size;
    }
    if (lines && (add_line(&block, line, end) || was_wrapped(&block))) return 0;
    for (at = start; at < end && !holds; at++) holds = *at > ' ' && *at < 0x7f;
    return holds;
}

static void dealloc(PyObject *object) {
    Counter *self = (Counter *)object;
    PyMem_Free(self->bytes);
    PyMem_Free(self->words);
    PyMem_Free(self->pairs);
    PyMem_Free(self->order);
    PyMem_Free(self->filter);
    Py_TYPE(object)->tp_free(object);
}

/* The position of a listed word, which is inserted if it is new; -1 with an error set. */
static Py_ssize_t listed(Counter *self, PyObject *text, size_t *used) {
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
        *entry = (Word){word.hash, (uint32_t)*used, (uint16_t)word.size, 1};
        *used += word.size;
    }
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
    size_t words = table_size(2 * size), pairs = table_size(size), bits = 1 << 16;
    self->filter_shift = 64 - 16;
    while (bits < FILTER_BITS_A_PAIR * (size_t)size) {
        bits *= 2;
        self->filter_shift--;
    }
    self->lowercase = lowercase;
    self->word_mask = words - 1;
    self->pair_mask = pairs - 1;
    self->bytes = PyMem_Malloc((size_t)(2 * size + 1) * (LONGEST + 8));
    self->words = PyMem_Calloc(words, sizeof(Word));
    self->pairs = PyMem_Calloc(pairs, sizeof(Pair));
    self->order = PyMem_Calloc((size_t)size + 1, sizeof(Py_ssize_t));
    self->filter = PyMem_Calloc(bits / 64, sizeof(uint64_t));
    if (!self->bytes || !self->words || !self->pairs || !self->order || !self->filter) {
        PyErr_NoMemory();
        return -1;
    }
    size_t used = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        Py_ssize_t first = listed(self, PyList_GET_ITEM(firsts, i), &used);
        Py_ssize_t second = first < 0 ? -1 : listed(self, PyList_GET_ITEM(seconds, i), &used);
        if (second < 0) return -1;
        size_t bit = filter_bit(self, self->words[first].hash, self->words[second].hash);
        self->filter[bit >> 6] |= (uint64_t)1 << (bit & 63);
        Pair *pair = pair_of(self, (size_t)first, (size_t)second);
        pair->key = ((uint64_t)first << 32 | (uint64_t)second) + 1;
        self->order[i] = pair - self->pairs;
    }
    self->size = size;
    return 0;
}

static PyObject *feed(PyObject *object, PyObject *text) {
    Py_ssize_t size;
    const unsigned char *bytes = (const unsigned char *)PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes) return NULL;
    scan((Counter *)object, bytes, bytes + size);
    Py_RETURN_NONE;
}

/* Counts the plain texts; returns the rows of the others, which must become documents first. */
static PyObject *feed_texts(PyObject *object, PyObject *args) {
    Counter *self = (Counter *)object;
    Py_buffer offsets, data;
    Py_ssize_t first, rows;
    if (!PyArg_ParseTuple(args, "y*y*nn", &offsets, &data, &first, &rows)) return NULL;
    const int32_t *ends = (const int32_t *)offsets.buf + first;
    PyObject *others = NULL;
    if (first < 0 || rows < 0 || offsets.len / 4 < first + rows + 1) {
        PyErr_SetString(PyExc_ValueError, "fewer offsets than rows");
        goto done;
    }
    others = PyList_New(0);
    for (Py_ssize_t row = 0; others && row < rows; row++) {
        if (ends[row] < 0 || ends[row] > ends[row + 1] || ends[row + 1] > data.len) {
            PyErr_SetString(PyExc_ValueError, "offsets outside of the data");
            Py_CLEAR(others);
            break;
        }
        const unsigned char *start = (const unsigned char *)data.buf + ends[row];
        const unsigned char *end = (const unsigned char *)data.buf + ends[row + 1];
        if (is_plain(start, end)) {
            scan(self, start, end);
            continue;
        }
        PyObject *number = PyLong_FromSsize_t(row);
        if (!number || PyList_Append(others, number)) Py_CLEAR(others);
        Py_XDECREF(number);
    }
done:
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&data);
    return others;
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
    {"feed", feed, METH_O, "Count the pairs of a text."},
    {"feed_texts", feed_texts, METH_VARARGS,
     "Count Arrow texts (offsets, data, first row, rows); return the rows that are not plain."},
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
