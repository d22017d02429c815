/* Adjective–noun pairs from blocks of ten-column rows.

   What a block means is defined by etl/amod/reference.py; this file only does it fast.

   A block is worked off in chunks of some 100 KB that end between sentences. Each chunk is
   indexed first: one vectorised pass writes down the place of every tab and newline, and one bit
   for every byte that is NUL or not ASCII. With the index a row's columns are where the index says,
   no byte of a column is looked at unless it matters, and a wrong number of columns shows as a wrong
   difference of two indices. Only id, head and relation of each row are read; words and tags only
   of amod rows and their heads.
*/
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define HAVE_X86 1
#include <immintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((noinline, cold))
#define PREFETCH(p) __builtin_prefetch(p)
#define COUNT_TRAILING_ZEROS(x) ((uint32_t)__builtin_ctzll(x))
#else
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define COLD
#define PREFETCH(p) ((void)(p))
static uint32_t COUNT_TRAILING_ZEROS(uint64_t x) {
    uint32_t n = 0;
    while (!(x & 1)) x >>= 1, n++;
    return n;
}
#endif

#define CHUNK ((size_t)128 << 10)
#define SAMPLE 200
#define COLUMNS 10
#define MAX_DIGITS 8

typedef unsigned char byte;

/* In the order of etl.amod.reference.REJECTIONS. */
enum {
    REJECT_NUL,
    REJECT_UTF8,
    REJECT_COLUMNS,
    REJECT_ID,
    REJECT_HEAD,
    REJECT_DUPLICATE_ID,
    REJECT_SELF_HEAD,
    REJECT_HEAD_MISSING,
    REJECTIONS
};
static const char *const REJECTION_NAMES[REJECTIONS] = {
    "nul", "utf8", "columns", "id", "head", "duplicate_id", "self_head", "head_missing"};

enum { LEFT_NOT_ADJECTIVE, LEFT_NOT_NOUN, LEFT_NO_LETTER, LEFT_OUT };
static const char *const LEFT_OUT_NAMES[LEFT_OUT] = {
    "dependent_not_adjective", "head_not_noun", "no_letter_or_digit"};

typedef struct {
    uint64_t count, line;
    uint32_t size;
    byte sample[SAMPLE];
} Tally;

#define TAG_SLOTS 256 /* a power of two, several times the number of tags */
#define TAG_DEPENDENT 1
#define TAG_HEAD 2
typedef struct {
    uint64_t key; /* the tag's bytes, zero-padded; 0: free */
    byte flags;
} Tag;

typedef struct {
    uint64_t id;   /* key of read_number */
    uint32_t at;   /* index, in the index of tabs and newlines, of the row's first tab */
    uint32_t line; /* number within the chunk */
} Row;

typedef struct {
    uint64_t head; /* key of read_number */
    uint32_t row;
} Amod;

/* Pairs: records of count, sizes and both words in an arena; an open-addressing table of places. */
typedef struct {
    uint64_t count;
    uint32_t adjective, noun; /* bytes; the words follow, padded to 8 bytes */
} Record;
typedef struct {
    uint32_t tag;   /* upper half of the hash */
    uint32_t place; /* 1 + offset / 8 in the arena; 0: free */
} Slot;

/* Pairs wait until there are some, so that their slots and records, most of which lie outside the
   fast caches, are fetched at the same time. */
#define WAITING 32
typedef struct {
    uint64_t hash;
    size_t at; /* in the words */
    uint32_t adjective, noun;
} Waiting;

typedef struct {
    PyObject_HEAD
    uint64_t first_id; /* key of read_number, as a single digit */
    int ranges, adjective_by_lemma, noun_by_lemma, lowercase;
    byte unknown_tag;
    Tag penn[TAG_SLOTS], universal[TAG_SLOTS];

    byte *arena;
    size_t arena_used, arena_size;
    Slot *slots;
    size_t n_slots, n_pairs;
    byte *words; /* of the pairs waiting, lower-cased, each pair zero-padded to 8 bytes */
    size_t words_used, words_size;
    Waiting waiting[WAITING];
    uint32_t n_waiting;

    uint32_t *marks;    /* places of tabs and newlines in the chunk */
    uint32_t *newlines; /* which of the marks are newlines */
    uint64_t *odd;      /* one bit a byte: NUL or not ASCII */
    size_t index_size;  /* bytes of chunk that the three have room for */
    size_t n_marks, n_newlines, n_groups;
    Row *rows, *sorted;
    Amod *amods;
    size_t rows_size;

    uint64_t lines, bytes, sentences, tokens, amod, pairs, crlf;
    Tally rejected[REJECTIONS], left_out[LEFT_OUT];
} Counter;

/* ---- bytes ---- */

static inline uint64_t swap64(uint64_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_bswap64(x);
#else
    x = (x >> 8 & 0x00FF00FF00FF00FF) | (x & 0x00FF00FF00FF00FF) << 8;
    x = (x >> 16 & 0x0000FFFF0000FFFF) | (x & 0x0000FFFF0000FFFF) << 16;
    return x >> 32 | x << 32;
#endif
}

static inline uint64_t load64(const byte *p) {
    uint64_t x;
    memcpy(&x, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = swap64(x);
#endif
    return x;
}

#define EACH_BYTE(x) ((uint64_t)0x0101010101010101 * (x))

/* Reads a decimal number of 1 to 8 digits without leading zeros, of which the last is at end[-1];
   the 8 bytes before `end` must be readable. The key is the number's digits, a byte each: it
   orders and compares like the number, which is all that is asked of ids. */
static inline int read_number(const byte *end, uint32_t size, uint64_t *key) {
    if (UNLIKELY(size - 1 >= MAX_DIGITS)) return 0;
    uint32_t shift = 8 * (8 - size);
    uint64_t x = (load64(end - 8) ^ EACH_BYTE('0')) >> shift; /* digits as 0..9, the first lowest */
    uint64_t leading_zero = ((x & 0xff) == 0) & (size > 1);
    uint64_t no_digit = ((x + EACH_BYTE(0x76)) | x) & (EACH_BYTE(0x80) >> shift);
    *key = swap64(x << shift);
    return LIKELY((leading_zero | no_digit) == 0);
}

/* The same for a number with fewer than 8 readable bytes up to its end. */
static COLD int read_number_at_start(const byte *end, uint32_t size, uint64_t *key) {
    byte padded[8] = {0};
    if (size - 1 >= MAX_DIGITS) return 0;
    memcpy(padded + 8 - size, end - size, size);
    return read_number(padded + 8, size, key);
}

static COLD int is_number(const byte *p, size_t size) {
    if (size - 1 >= MAX_DIGITS || (p[0] == '0' && size > 1)) return 0;
    for (size_t i = 0; i < size; i++)
        if (p[i] < '0' || p[i] > '9') return 0;
    return 1;
}

/* A CoNLL-U range (3-4) or empty node (3.1). */
static COLD int is_range(const byte *p, size_t size) {
    for (size_t i = 1; i + 1 < size; i++) {
        if (p[i] != '-' && p[i] != '.') continue;
        const byte *after = p + i + 1;
        return is_number(p, i) && is_number(after, size - i - 1) && *after != '0' &&
               (p[i] == '.' || *p != '0');
    }
    return 0;
}

/* Whether Python's strict decoder takes it. */
static COLD int is_utf8(const byte *p, size_t size) {
    const byte *end = p + size;
    while (p < end) {
        byte c = *p++;
        if (c < 0x80) continue;
        size_t more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
        if (c < 0xC2 || c > 0xF4 || (size_t)(end - p) < more) return 0;
        byte low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80; /* no overlong forms */
        byte high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF; /* no surrogates, <= U+10FFFF */
        if (*p < low || *p > high) return 0;
        while (--more) {
            if ((*++p & 0xC0) != 0x80) return 0;
        }
        p++;
    }
    return 1;
}

/* ---- the index ---- */

static inline void index_masks(Counter *self, uint64_t marks, uint64_t newlines, uint32_t base) {
    uint32_t *mark = self->marks + self->n_marks;
    uint32_t *newline = self->newlines + self->n_newlines;
    uint32_t number = (uint32_t)self->n_marks;
    while (marks) {
        uint64_t lowest = marks & (~marks + 1);
        *mark++ = base + COUNT_TRAILING_ZEROS(marks);
        *newline = number++;
        newline += (newlines & lowest) != 0;
        marks ^= lowest;
    }
    self->n_marks = number;
    self->n_newlines = (size_t)(newline - self->newlines);
}

/* The high bit of every zero byte of x. */
static inline uint64_t zero_bytes(uint64_t x) {
    return ~(((x & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f)) | x) & EACH_BYTE(0x80);
}

/* The high bits of the eight bytes, gathered in byte order. */
static inline uint64_t gather(uint64_t high) {
    return ((high >> 7) * 0x0102040810204080) >> 56;
}

static void index_portable(Counter *self, const byte *p, size_t groups, uint32_t base) {
    for (size_t g = 0; g < groups; g++, base += 64) {
        uint64_t marks = 0, newlines = 0, odd = 0;
        for (int i = 0; i < 8; i++, p += 8) {
            uint64_t x = load64(p);
            uint64_t newline = zero_bytes(x ^ EACH_BYTE('\n'));
            uint64_t tab = zero_bytes(x ^ EACH_BYTE('\t'));
            marks |= gather(newline | tab) << (8 * i);
            newlines |= gather(newline) << (8 * i);
            odd |= gather((zero_bytes(x) | x) & EACH_BYTE(0x80)) << (8 * i);
        }
        self->odd[base / 64] = odd;
        index_masks(self, marks, newlines, base);
    }
}

#ifdef HAVE_X86
static void index_sse2(Counter *self, const byte *p, size_t groups, uint32_t base) {
    const __m128i tab = _mm_set1_epi8('\t'), newline = _mm_set1_epi8('\n');
    const __m128i zero = _mm_setzero_si128();
    for (size_t g = 0; g < groups; g++, base += 64) {
        uint64_t marks = 0, newlines = 0, odd = 0;
        for (int i = 0; i < 4; i++, p += 16) {
            __m128i v = _mm_loadu_si128((const __m128i *)p);
            __m128i n = _mm_cmpeq_epi8(v, newline);
            __m128i m = _mm_or_si128(n, _mm_cmpeq_epi8(v, tab));
            __m128i o = _mm_or_si128(v, _mm_cmpeq_epi8(v, zero));
            marks |= (uint64_t)(uint32_t)_mm_movemask_epi8(m) << (16 * i);
            newlines |= (uint64_t)(uint32_t)_mm_movemask_epi8(n) << (16 * i);
            odd |= (uint64_t)(uint32_t)_mm_movemask_epi8(o) << (16 * i);
        }
        self->odd[base / 64] = odd;
        index_masks(self, marks, newlines, base);
    }
}

/* Writes marks in eights, needed or not, since a loop of unknown length costs more in mispredicted
   branches than the spare writes do; the arrays have room for them. */
__attribute__((target("avx2,bmi,popcnt"))) static void index_avx2(Counter *self, const byte *p,
                                                                  size_t groups, uint32_t base) {
    const __m256i tab = _mm256_set1_epi8('\t'), newline = _mm256_set1_epi8('\n');
    const __m256i zero = _mm256_setzero_si256();
    uint32_t *const marks_out = self->marks, *const newlines_out = self->newlines;
    size_t n_marks = self->n_marks, n_newlines = self->n_newlines;
    for (size_t g = 0; g < groups; g++, base += 64, p += 64) {
        __m256i v0 = _mm256_loadu_si256((const __m256i *)p);
        __m256i v1 = _mm256_loadu_si256((const __m256i *)(p + 32));
        __m256i n0 = _mm256_cmpeq_epi8(v0, newline), n1 = _mm256_cmpeq_epi8(v1, newline);
        __m256i m0 = _mm256_or_si256(n0, _mm256_cmpeq_epi8(v0, tab));
        __m256i m1 = _mm256_or_si256(n1, _mm256_cmpeq_epi8(v1, tab));
        __m256i o0 = _mm256_or_si256(v0, _mm256_cmpeq_epi8(v0, zero));
        __m256i o1 = _mm256_or_si256(v1, _mm256_cmpeq_epi8(v1, zero));
#define MASK(low, high)                              \
    ((uint64_t)(uint32_t)_mm256_movemask_epi8(low) | \
     (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32)
        uint64_t marks = MASK(m0, m1), newlines = MASK(n0, n1);
        self->odd[base / 64] = MASK(o0, o1);
#undef MASK
        uint32_t found = (uint32_t)_mm_popcnt_u64(marks);
        uint32_t found_newlines = (uint32_t)_mm_popcnt_u64(newlines);
        uint32_t *out = newlines_out + n_newlines;
        n_newlines += found_newlines;
        for (;;) {
            for (int i = 0; i < 2; i++) { /* at a bit 64 (none left) the mask below is all ones */
                uint64_t below = (newlines & (0 - newlines)) - 1;
                out[i] = (uint32_t)n_marks + (uint32_t)_mm_popcnt_u64(marks & below);
                newlines &= newlines - 1;
            }
            if (LIKELY(found_newlines <= 2)) break;
            found_newlines -= 2;
            out += 2;
        }
        out = marks_out + n_marks;
        n_marks += found;
        for (;;) {
            for (int i = 0; i < 8; i++) {
                out[i] = base + (uint32_t)_tzcnt_u64(marks);
                marks &= marks - 1;
            }
            if (found <= 8) break;
            found -= 8;
            out += 8;
        }
    }
    self->n_marks = n_marks;
    self->n_newlines = n_newlines;
}
#endif

typedef void (*Indexer)(Counter *, const byte *, size_t, uint32_t);
static Indexer index_groups = index_portable;

static int reserve(Counter *self, size_t size) {
    if (size <= self->index_size) return 0;
    size_t room = size + 128; /* the vectorised index writes past its end */
    uint32_t *marks = realloc(self->marks, room * sizeof *marks);
    if (marks) self->marks = marks;
    uint32_t *newlines = realloc(self->newlines, room * sizeof *newlines);
    if (newlines) self->newlines = newlines;
    uint64_t *odd = realloc(self->odd, (room / 64 + 1) * sizeof *odd);
    if (odd) self->odd = odd;
    if (!marks || !newlines || !odd) {
        PyErr_NoMemory();
        return -1;
    }
    self->index_size = size;
    return 0;
}

static int index_chunk(Counter *self, const byte *p, size_t size) {
    if (reserve(self, size)) return -1;
    self->n_marks = self->n_newlines = 0;
    size_t whole = size / 64, rest = size % 64;
    self->n_groups = whole + (rest > 0);
    index_groups(self, p, whole, 0);
    if (rest) {
        byte padded[64];
        memset(padded, ' ', 64);
        memcpy(padded, p + 64 * whole, rest);
        index_groups(self, padded, 1, (uint32_t)(64 * whole));
    }
    if (self->n_newlines + 1 > self->rows_size) { /* one more for a last line without newline */
        size_t n = self->n_newlines + self->n_newlines / 2 + 64;
        Row *rows = realloc(self->rows, n * sizeof *rows);
        if (rows) self->rows = rows;
        Row *sorted = realloc(self->sorted, n * sizeof *sorted);
        if (sorted) self->sorted = sorted;
        Amod *amods = realloc(self->amods, n * sizeof *amods);
        if (amods) self->amods = amods;
        if (!rows || !sorted || !amods) {
            PyErr_NoMemory();
            return -1;
        }
        self->rows_size = n;
    }
    return 0;
}

/* ---- tallies ---- */

static COLD void tally(Tally *tally, uint64_t line, const byte *row, size_t size, uint64_t count) {
    if (tally->count == 0) {
        tally->line = line;
        tally->size = (uint32_t)(size < SAMPLE ? size : SAMPLE);
        memcpy(tally->sample, row, tally->size);
    }
    tally->count += count;
}

/* ---- pairs ---- */

static inline uint64_t hash_words(const byte *words, size_t size, uint32_t adjective) {
    uint64_t h = adjective * 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < size; i += 8) {
        h = (h ^ load64(words + i)) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    h *= 0xD6E8FEB86659FD93u;
    return h ^ (h >> 29);
}

static inline size_t padded(size_t size) { return (size + 7) & ~(size_t)7; }

static int grow_slots(Counter *self) {
    size_t n = self->n_slots ? 2 * self->n_slots : 4096;
    Slot *slots = calloc(n, sizeof *slots);
    if (!slots) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t at = 0; at < self->arena_used;) {
        const Record *record = (const Record *)(self->arena + at);
        size_t size = padded((size_t)record->adjective + record->noun);
        uint64_t h = hash_words((const byte *)(record + 1), size, record->adjective);
        size_t i = h & (n - 1);
        while (slots[i].place) i = (i + 1) & (n - 1);
        slots[i].tag = (uint32_t)(h >> 32);
        slots[i].place = (uint32_t)(at / 8 + 1);
        at += sizeof *record + size;
    }
    free(self->slots);
    self->slots = slots;
    self->n_slots = n;
    return 0;
}

static int count_pair(Counter *self, const Waiting *pair) {
    const byte *words = self->words + pair->at;
    size_t size = padded((size_t)pair->adjective + pair->noun);
    if (UNLIKELY(10 * (self->n_pairs + 1) > 6 * self->n_slots) && grow_slots(self)) return -1;
    uint32_t tag = (uint32_t)(pair->hash >> 32);
    size_t mask = self->n_slots - 1, i = pair->hash & mask;
    for (; self->slots[i].place; i = (i + 1) & mask) {
        if (self->slots[i].tag != tag) continue;
        Record *record = (Record *)(self->arena + 8 * (size_t)(self->slots[i].place - 1));
        if (record->adjective == pair->adjective && record->noun == pair->noun &&
            memcmp(record + 1, words, size) == 0) {
            record->count++;
            return 0;
        }
    }
    size_t need = self->arena_used + sizeof(Record) + size;
    if (need / 8 >= UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "pairs fill 32 GB; drain them sooner");
        return -1;
    }
    if (need > self->arena_size) {
        size_t room = self->arena_size ? self->arena_size + self->arena_size / 2 : 1 << 16;
        if (room < need) room = 2 * need;
        byte *arena = realloc(self->arena, room);
        if (!arena) {
            PyErr_NoMemory();
            return -1;
        }
        self->arena = arena;
        self->arena_size = room;
    }
    Record *record = (Record *)(self->arena + self->arena_used);
    record->count = 1;
    record->adjective = pair->adjective;
    record->noun = pair->noun;
    memcpy(record + 1, words, size);
    self->slots[i].tag = tag;
    self->slots[i].place = (uint32_t)(self->arena_used / 8 + 1);
    self->arena_used = need;
    self->n_pairs++;
    return 0;
}

static int count_waiting(Counter *self) {
    uint32_t n = self->n_waiting;
    self->n_waiting = 0;
    self->words_used = 0;
    if (self->n_slots) {
        for (uint32_t i = 0; i < n; i++) {
            const Slot *slot = self->slots + (self->waiting[i].hash & (self->n_slots - 1));
            if (slot->place) PREFETCH(self->arena + 8 * (size_t)(slot->place - 1));
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (count_pair(self, self->waiting + i)) return -1;
    return 0;
}

/* Puts the pair at the end of the words in the queue. */
static inline int add_pair(Counter *self, uint32_t adjective, uint32_t noun) {
    byte *words = self->words + self->words_used;
    size_t size = (size_t)adjective + noun;
    memset(words + size, 0, 8);
    Waiting *pair = self->waiting + self->n_waiting++;
    pair->hash = hash_words(words, padded(size), adjective);
    pair->at = self->words_used;
    pair->adjective = adjective;
    pair->noun = noun;
    if (self->n_slots) PREFETCH(self->slots + (pair->hash & (self->n_slots - 1)));
    self->words_used += padded(size);
    return self->n_waiting == WAITING ? count_waiting(self) : 0;
}

static int reserve_words(Counter *self, size_t size) {
    if (LIKELY(size <= self->words_size)) return 0;
    byte *words = realloc(self->words, 2 * size);
    if (!words) {
        PyErr_NoMemory();
        return -1;
    }
    self->words = words;
    self->words_size = 2 * size;
    return 0;
}

/* A word in memory order of which only the first n < 8 bytes count. */
static inline uint64_t first_bytes(uint64_t x, size_t n) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return n ? x >> (64 - 8 * n) : 0;
#else
    return x & (((uint64_t)1 << (8 * n)) - 1);
#endif
}

static inline int any_ascii_alnum(const byte *p, size_t size) {
    for (size_t i = 0; i < size; i++)
        if ((byte)(p[i] - '0') < 10 || (byte)((p[i] | 0x20) - 'a') < 26) return 1;
    return 0;
}

/* str.lower and str.isalnum, asked of Python itself, so that all implementations agree. */
static COLD Py_ssize_t put_word_unicode(Counter *self, size_t at, const byte *p, size_t size,
                                        int *alnum) {
    Py_ssize_t put = -1, n = 0;
    PyObject *lower = NULL, *word = PyUnicode_DecodeUTF8((const char *)p, (Py_ssize_t)size, NULL);
    if (!word) return -1;
    lower = self->lowercase ? PyObject_CallMethod(word, "lower", NULL) : Py_NewRef(word);
    const char *utf8 = lower ? PyUnicode_AsUTF8AndSize(lower, &n) : NULL;
    if (utf8 && reserve_words(self, at + (size_t)n + 16) == 0) {
        memcpy(self->words + at, utf8, (size_t)n);
        *alnum = 0;
        Py_ssize_t length = PyUnicode_GET_LENGTH(lower);
        for (Py_ssize_t i = 0; i < length && !*alnum; i++)
            *alnum = Py_UNICODE_ISALNUM(PyUnicode_READ_CHAR(lower, i));
        put = n;
    }
    Py_XDECREF(lower);
    Py_DECREF(word);
    return put;
}

/* Puts a word at self->words + at, lower-cased if asked; returns its size, -1 on error. Words are
   read 8 bytes at a time: at least 8 bytes of other columns follow FORM and LEMMA. */
static inline Py_ssize_t put_word(Counter *self, size_t at, const byte *p, size_t size,
                                  int *alnum) {
    if (reserve_words(self, at + size + 16)) return -1;
    byte *out = self->words + at;
    uint64_t not_ascii = 0;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t x;
        memcpy(&x, p + i, 8);
        uint64_t low = x & EACH_BYTE(0x7f);
        uint64_t upper = (low + EACH_BYTE(0x80 - 'A')) & ~(low + EACH_BYTE(0x7f - 'Z'));
        uint64_t lower = x | ((upper & ~x & EACH_BYTE(0x80)) >> 2); /* sets 0x20 */
        lower = self->lowercase ? lower : x;
        memcpy(out + i, &lower, 8);
        size_t left = size - i;
        not_ascii |= left >= 8 ? x : first_bytes(x, left);
    }
    if (UNLIKELY(not_ascii & EACH_BYTE(0x80))) return put_word_unicode(self, at, p, size, alnum);
    *alnum = any_ascii_alnum(p, size);
    return (Py_ssize_t)size;
}

static inline size_t tag_slot(uint64_t key) {
    return (size_t)((key * 0x9E3779B97F4A7C15u) >> 56) & (TAG_SLOTS - 1);
}

static inline int find_tag(const Tag *tags, uint64_t key, byte *flags) {
    for (size_t i = tag_slot(key); tags[i].key; i = (i + 1) & (TAG_SLOTS - 1)) {
        if (tags[i].key == key) {
            *flags = tags[i].flags;
            return 1;
        }
    }
    return 0;
}

/* A tag as a number; 0, which is no tag's, if it is empty or longer than any. */
static inline uint64_t tag_key(const byte *p, size_t size, const byte *end) {
    uint64_t key = 0;
    if (size - 1 >= 8) return 0;
    if (LIKELY(end - p >= 8)) return load64(p) & (~(uint64_t)0 >> (64 - 8 * size));
    for (size_t i = size; i--;) key = key << 8 | p[i];
    return key;
}

/* Whether the row may be a dependent or a head: the Penn tag decides, else the universal one. */
static inline byte tag_flags(const Counter *self, const byte *chunk, const uint32_t *tabs,
                             const byte *end) {
    byte flags;
    if (find_tag(self->penn, tag_key(chunk + tabs[3] + 1, tabs[4] - tabs[3] - 1, end), &flags) ||
        find_tag(self->universal, tag_key(chunk + tabs[2] + 1, tabs[3] - tabs[2] - 1, end),
                 &flags))
        return flags;
    return self->unknown_tag;
}

/* The column that stands for the word: the lemma if so ruled and it is not missing. */
static inline const byte *choose_word(const byte *chunk, const uint32_t *tabs, int by_lemma,
                                      size_t *size) {
    const byte *lemma = chunk + tabs[1] + 1;
    *size = tabs[2] - tabs[1] - 1;
    if (by_lemma && *size && !(*size == 1 && *lemma == '_')) return lemma;
    *size = tabs[1] - tabs[0] - 1;
    return chunk + tabs[0] + 1;
}

/* ---- sentences ---- */

static inline size_t row_start(const Counter *self, const Row *row) {
    return row->at ? (size_t)self->marks[row->at - 1] + 1 : 0;
}

static COLD void tally_row(const Counter *self, Tally *to, const byte *chunk, const Row *row,
                           uint64_t count) {
    size_t start = row_start(self, row), stop = self->marks[row->at + COLUMNS - 1];
    if (stop > start && chunk[stop - 1] == '\r') stop--;
    tally(to, self->lines + row->line + 1, chunk + start, stop - start, count);
}

/* Reads one amod relation. */
static int read_amod(Counter *self, const byte *chunk, const Row *row, const Row *head,
                     const byte *end) {
    const uint32_t *tabs = self->marks + row->at, *head_tabs = self->marks + head->at;
    int left, alnum, ignored;
    self->amod++;
    if (!(tag_flags(self, chunk, tabs, end) & TAG_DEPENDENT)) {
        left = LEFT_NOT_ADJECTIVE;
    } else if (!(tag_flags(self, chunk, head_tabs, end) & TAG_HEAD)) {
        left = LEFT_NOT_NOUN;
    } else {
        size_t size;
        const byte *word = choose_word(chunk, tabs, self->adjective_by_lemma, &size);
        Py_ssize_t adjective = put_word(self, self->words_used, word, size, &alnum);
        if (adjective < 0) return -1;
        word = choose_word(chunk, head_tabs, self->noun_by_lemma, &size);
        size_t at = self->words_used + (size_t)adjective;
        Py_ssize_t noun = put_word(self, at, word, size, &ignored);
        if (noun < 0) return -1;
        if (LIKELY(alnum && noun)) {
            self->pairs++;
            return add_pair(self, (uint32_t)adjective, (uint32_t)noun);
        }
        left = LEFT_NO_LETTER;
    }
    tally_row(self, &self->left_out[left], chunk, row, 1);
    return 0;
}

static int by_id(const void *a, const void *b) {
    uint64_t x = ((const Row *)a)->id, y = ((const Row *)b)->id;
    return (x > y) - (x < y);
}

/* The row with an id among n rows in ascending order of ids, or NULL. Looked for from the row
   `near`, since the head of an adjective is mostly within a few words of it. */
static inline const Row *find_id(const Row *rows, size_t n, size_t near, uint64_t id) {
    const Row *row = rows + near, *last = rows + n - 1;
    for (int steps = 0; steps < 12; steps++) {
        if (row->id == id) return row;
        if (row->id < id) {
            if (row == last || row[1].id > id) return NULL;
            row++;
        } else {
            if (row == rows || row[-1].id < id) return NULL;
            row--;
        }
    }
    Row key = {id, 0, 0};
    return bsearch(&key, rows, n, sizeof *rows, by_id);
}

/* Judges the n rows of a sentence, m of them amod. */
static int finish_sentence(Counter *self, const byte *chunk, size_t n, size_t m, int ascending,
                           const byte *end) {
    const Row *ordered = self->rows;
    size_t tokens = n;
    if (UNLIKELY(!ascending)) {
        memcpy(self->sorted, self->rows, n * sizeof *self->sorted);
        qsort(self->sorted, n, sizeof *self->sorted, by_id);
        ordered = self->sorted;
        for (size_t i = 1; i < n; i++) {
            if (ordered[i].id == ordered[i - 1].id) {
                tally_row(self, &self->rejected[REJECT_DUPLICATE_ID], chunk, self->rows, n);
                return 0;
            }
        }
    }
    for (size_t i = 0; i < m; i++) {
        const Row *row = self->rows + self->amods[i].row;
        const Row *head = find_id(ordered, n, self->amods[i].row, self->amods[i].head);
        if (UNLIKELY(!head || head->id == row->id)) {
            int reason = head ? REJECT_SELF_HEAD : REJECT_HEAD_MISSING;
            tally_row(self, &self->rejected[reason], chunk, row, 1);
            tokens--;
        } else if (read_amod(self, chunk, row, head, end)) {
            return -1;
        }
    }
    self->tokens += tokens;
    self->sentences += tokens > 0;
    return 0;
}

/* The first byte at or after `from` that is NUL or not ASCII; UINT32_MAX: none in the chunk. */
static inline uint32_t find_odd(const Counter *self, uint32_t from) {
    size_t group = from / 64;
    uint64_t odd = self->odd[group] & ~(uint64_t)0 << (from % 64);
    while (!odd) {
        if (++group >= self->n_groups) return UINT32_MAX;
        odd = self->odd[group];
    }
    return (uint32_t)(64 * group) + COUNT_TRAILING_ZEROS(odd);
}

static inline int is_sentence_mark(const byte *p, size_t size) {
    return size >= 5 && memcmp(p, ">>>>>", 5) == 0;
}

/* Reads the first n_lines lines of the indexed chunk, which end with a sentence. `before` bytes
   of the block precede the chunk, `end` is the block's. */
static int read_chunk(Counter *self, const byte *chunk, size_t n_lines, size_t before,
                      const byte *end) {
    const uint32_t *marks = self->marks;
    Row *rows = self->rows;
    Amod *amods = self->amods;
    size_t n = 0, m = 0;
    int ascending = 1;
    uint32_t at = 0, start = 0;
    uint32_t odd = 0; /* from the line at hand up to here all is ASCII without NUL */
    uint32_t too_near = before < 8 ? (uint32_t)(8 - before) : 0; /* to the start of the block */
    uint64_t crlf = 0, last_id = 0;
    uint32_t amod;
    memcpy(&amod, "amod", 4);

    for (size_t line = 0; line < n_lines; line++) {
        uint32_t newline = self->newlines[line], stop = marks[newline];
        const uint32_t *tabs = marks + at;
        const byte *p = chunk + start;
        uint32_t next = stop + 1, reason;
        uint64_t id, head;
        if (UNLIKELY(stop > start && chunk[stop - 1] == '\r')) {
            stop--;
            crlf++;
        }
        if ((byte)(*p - '0') > 9 &&
            (stop == start || *p == '#' || is_sentence_mark(p, stop - start))) {
            if (n && finish_sentence(self, chunk, n, m, ascending, end)) return -1;
            n = m = 0;
            ascending = 1;
            goto next_line;
        }
        if (UNLIKELY(odd < stop) && (odd = find_odd(self, start)) < stop) {
            reason = REJECT_NUL;
            if (memchr(p, 0, stop - start)) goto reject;
            reason = REJECT_UTF8;
            if (!is_utf8(p, stop - start)) goto reject;
        }
        reason = REJECT_COLUMNS;
        if (UNLIKELY(newline - at != COLUMNS - 1)) goto reject;

        int near = UNLIKELY(tabs[0] < too_near);
        uint32_t digits = tabs[0] - start;
        if (UNLIKELY(!(near ? read_number_at_start(chunk + tabs[0], digits, &id)
                            : read_number(chunk + tabs[0], digits, &id)))) {
            if (self->ranges && is_range(p, digits)) goto next_line;
            reason = REJECT_ID;
            goto reject;
        }
        reason = REJECT_ID;
        if (UNLIKELY(id < self->first_id)) goto reject;
        reason = REJECT_HEAD;
        digits = tabs[6] - tabs[5] - 1;
        if (UNLIKELY(!(near ? read_number_at_start(chunk + tabs[6], digits, &head)
                            : read_number(chunk + tabs[6], digits, &head))))
            goto reject;

        if (UNLIKELY(n && id <= last_id)) ascending = 0;
        last_id = id;
        rows[n].id = id;
        rows[n].at = at;
        rows[n].line = (uint32_t)line;
        /* written whether amod or not: whether it is cannot be foretold, and a branch would be
           mispredicted more dearly than a write costs */
        amods[m].row = (uint32_t)n;
        amods[m].head = head;
        uint32_t relation; /* read from its end, since the block may end right after it */
        memcpy(&relation, chunk + tabs[7] - 4, 4);
        m += (relation == amod) & (tabs[7] - tabs[6] == 5);
        n++;
        goto next_line;

    reject:
        tally(&self->rejected[reason], self->lines + line + 1, chunk + start, stop - start, 1);
    next_line:
        at = newline + 1;
        start = next;
    }
    if (n && finish_sentence(self, chunk, n, m, ascending, end)) return -1;
    self->lines += n_lines;
    self->crlf += crlf;
    return 0;
}

/* How many of the indexed lines to read so that the next one is no row: 0 if there is no such
   place. All lines are followed by at least one more byte of the block. */
static size_t lines_to_boundary(const Counter *self, const byte *chunk, const byte *end) {
    for (size_t lines = self->n_newlines; lines; lines--) {
        const byte *p = chunk + self->marks[self->newlines[lines - 1]] + 1;
        if (p < end && (*p == '\n' || *p == '#' || is_sentence_mark(p, (size_t)(end - p)) ||
                        (*p == '\r' && p + 1 < end && p[1] == '\n')))
            return lines;
    }
    return 0;
}

static int feed(Counter *self, const byte *block, size_t size) {
    const byte *end = block + size;
    size_t at = 0, chunk_size = CHUNK;
    while (at < size) {
        const byte *chunk = block + at;
        size_t n = size - at < chunk_size ? size - at : chunk_size;
        int last = at + n == size;
        if (index_chunk(self, chunk, n)) return -1;
        size_t lines = self->n_newlines;
        if (last) {
            if (chunk[n - 1] != '\n') {
                self->marks[self->n_marks] = (uint32_t)n;
                self->newlines[self->n_newlines++] = (uint32_t)self->n_marks++;
                lines++;
            }
        } else {
            lines = lines_to_boundary(self, chunk, end);
            if (!lines) { /* a sentence longer than the chunk */
                chunk_size *= 2;
                continue;
            }
        }
        if (read_chunk(self, chunk, lines, at, end)) return -1;
        at += last ? n : (size_t)self->marks[self->newlines[lines - 1]] + 1;
        chunk_size = CHUNK;
    }
    self->bytes += size;
    return count_waiting(self);
}

/* ---- Python ---- */

static int fill_tags(Tag *tags, PyObject *flags_by_tag) {
    PyObject *key, *value;
    Py_ssize_t at = 0, filled = 0;
    while (PyDict_Next(flags_by_tag, &at, &key, &value)) {
        Py_ssize_t size = 0;
        const char *tag = PyUnicode_AsUTF8AndSize(key, &size);
        long flags = PyLong_AsLong(value);
        if (!tag || PyErr_Occurred()) return -1;
        if (size < 1 || size > 8 || ++filled > TAG_SLOTS / 2) {
            PyErr_Format(PyExc_ValueError,
                         "got tag %R; expected 1 to 8 bytes, at most %d tags", key, TAG_SLOTS / 2);
            return -1;
        }
        uint64_t number = 0;
        for (Py_ssize_t i = size; i--;) number = number << 8 | (byte)tag[i];
        size_t i = tag_slot(number);
        while (tags[i].key) i = (i + 1) & (TAG_SLOTS - 1);
        tags[i].key = number;
        tags[i].flags = (byte)flags;
    }
    return 0;
}

static int counter_init(Counter *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"first_id",           "ranges",        "penn",      "universal",
                            "unknown_tag",        "adjective_by_lemma", "noun_by_lemma",
                            "lowercase",          NULL};
    PyObject *penn, *universal;
    unsigned int first_id;
    unsigned char unknown_tag;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IpO!O!bppp", names, &first_id, &self->ranges,
                                     &PyDict_Type, &penn, &PyDict_Type, &universal, &unknown_tag,
                                     &self->adjective_by_lemma, &self->noun_by_lemma,
                                     &self->lowercase))
        return -1;
    self->first_id = first_id;
    self->unknown_tag = unknown_tag;
    memset(self->penn, 0, sizeof self->penn);
    memset(self->universal, 0, sizeof self->universal);
    return fill_tags(self->penn, penn) || fill_tags(self->universal, universal) ? -1 : 0;
}

static void counter_dealloc(Counter *self) {
    free(self->arena);
    free(self->slots);
    free(self->words);
    free(self->marks);
    free(self->newlines);
    free(self->odd);
    free(self->rows);
    free(self->sorted);
    free(self->amods);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *counter_feed(Counter *self, PyObject *block) {
    Py_buffer view;
    if (PyObject_GetBuffer(block, &view, PyBUF_SIMPLE)) return NULL;
    int failed = 1;
    if ((uint64_t)view.len >= UINT32_MAX - 128)
        PyErr_Format(PyExc_ValueError, "got a block of %zd bytes; expected less than 4 GB",
                     view.len);
    else
        failed = feed(self, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *counter_drain(Counter *self, PyObject *ignored) {
    (void)ignored;
    size_t adjectives = 0, nouns = 0, n = self->n_pairs;
    for (size_t at = 0; at < self->arena_used;) {
        const Record *record = (const Record *)(self->arena + at);
        adjectives += record->adjective;
        nouns += record->noun;
        at += sizeof *record + padded((size_t)record->adjective + record->noun);
    }
    if (adjectives > INT32_MAX || nouns > INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "words fill more than 2 GB; drain them sooner");
        return NULL;
    }
    PyObject *parts[5] = {
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((n + 1) * sizeof(int32_t))),
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)adjectives),
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((n + 1) * sizeof(int32_t))),
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)nouns),
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * sizeof(int64_t))),
    };
    PyObject *result = NULL;
    if (parts[0] && parts[1] && parts[2] && parts[3] && parts[4]) {
        char *out[5];
        for (int i = 0; i < 5; i++) out[i] = PyBytes_AS_STRING(parts[i]);
        int32_t adjective = 0, noun = 0;
        size_t i = 0;
        for (size_t at = 0; at < self->arena_used; i++) {
            const Record *record = (const Record *)(self->arena + at);
            const byte *words = (const byte *)(record + 1);
            int64_t count = (int64_t)record->count;
            memcpy(out[0] + 4 * i, &adjective, 4);
            memcpy(out[1] + adjective, words, record->adjective);
            memcpy(out[2] + 4 * i, &noun, 4);
            memcpy(out[3] + noun, words + record->adjective, record->noun);
            memcpy(out[4] + 8 * i, &count, 8);
            adjective += (int32_t)record->adjective;
            noun += (int32_t)record->noun;
            at += sizeof *record + padded((size_t)record->adjective + record->noun);
        }
        memcpy(out[0] + 4 * i, &adjective, 4);
        memcpy(out[2] + 4 * i, &noun, 4);
        result = Py_BuildValue("nOOOOO", (Py_ssize_t)n, parts[0], parts[1], parts[2], parts[3],
                               parts[4]);
    }
    for (int i = 0; i < 5; i++) Py_XDECREF(parts[i]);
    if (!result) return NULL;
    free(self->arena);
    free(self->slots);
    self->arena = NULL;
    self->slots = NULL;
    self->arena_used = self->arena_size = self->n_slots = self->n_pairs = 0;
    return result;
}

static PyObject *tallies(const Tally *tallies, const char *const *names, int n) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < n; i++) {
        if (!tallies[i].count) continue;
        PyObject *value =
            Py_BuildValue("KKy#", (unsigned long long)tallies[i].count,
                          (unsigned long long)tallies[i].line, (const char *)tallies[i].sample,
                          (Py_ssize_t)tallies[i].size);
        if (!value || PyDict_SetItemString(dict, names[i], value)) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *counter_stats(Counter *self, PyObject *ignored) {
    (void)ignored;
    PyObject *rejected = tallies(self->rejected, REJECTION_NAMES, REJECTIONS);
    PyObject *left_out = rejected ? tallies(self->left_out, LEFT_OUT_NAMES, LEFT_OUT) : NULL;
    PyObject *result = NULL;
    if (left_out)
        result = Py_BuildValue(
            "{sKsKsKsKsKsKsKsOsO}", "lines", (unsigned long long)self->lines, "bytes",
            (unsigned long long)self->bytes, "sentences", (unsigned long long)self->sentences,
            "tokens", (unsigned long long)self->tokens, "amod", (unsigned long long)self->amod,
            "pairs", (unsigned long long)self->pairs, "crlf", (unsigned long long)self->crlf,
            "rejected", rejected, "left_out", left_out);
    Py_XDECREF(rejected);
    Py_XDECREF(left_out);
    return result;
}

static PyObject *counter_nbytes(Counter *self, void *ignored) {
    (void)ignored;
    return PyLong_FromSize_t(self->arena_size + self->n_slots * sizeof(Slot));
}

static PyMethodDef counter_methods[] = {
    {"feed", (PyCFunction)counter_feed, METH_O, "Count the pairs of a block of whole sentences."},
    {"drain", (PyCFunction)counter_drain, METH_NOARGS,
     "(pairs, adjective offsets, adjective bytes, noun offsets, noun bytes, counts); empties."},
    {"stats", (PyCFunction)counter_stats, METH_NOARGS, "All counts but the pairs', as a dict."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef counter_properties[] = {
    {"nbytes", (getter)counter_nbytes, NULL, "Bytes of memory held by the pairs.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject CounterType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "etl.amod._kernel.Counter",
    .tp_basicsize = sizeof(Counter),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Counts adjective–noun pairs; see etl.amod.kernel.PairCounter.",
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)counter_init,
    .tp_dealloc = (destructor)counter_dealloc,
    .tp_methods = counter_methods,
    .tp_getset = counter_properties,
};

static const struct {
    const char *name;
    Indexer indexer;
} INDEXERS[] = {
#ifdef HAVE_X86
    {"avx2", index_avx2},
    {"sse2", index_sse2},
#endif
    {"portable", index_portable},
};
#define N_INDEXERS (sizeof INDEXERS / sizeof *INDEXERS)

static int runs_here(size_t indexer) {
#ifdef HAVE_X86
    if (indexer == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("popcnt");
#endif
    (void)indexer;
    return 1;
}

static PyObject *instructions(PyObject *module, PyObject *ignored) {
    (void)module;
    (void)ignored;
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && i < N_INDEXERS; i++) {
        if (!runs_here(i)) continue;
        PyObject *name = PyUnicode_FromString(INDEXERS[i].name);
        if (!name || PyList_Append(names, name)) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *use(PyObject *module, PyObject *name) {
    (void)module;
    for (size_t i = 0; i < N_INDEXERS; i++) {
        if (runs_here(i) && PyUnicode_Check(name) &&
            PyUnicode_CompareWithASCIIString(name, INDEXERS[i].name) == 0) {
            index_groups = INDEXERS[i].indexer;
            Py_RETURN_NONE;
        }
    }
    return PyErr_Format(PyExc_ValueError, "got %R; expected one of instructions()", name);
}

static PyMethodDef module_methods[] = {
    {"instructions", instructions, METH_NOARGS,
     "The instruction sets that this processor can index with, the one in use by default first."},
    {"use", use, METH_O, "Index with another of instructions(): for tests."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef module = {PyModuleDef_HEAD_INIT,
                             .m_name = "etl.amod._kernel",
                             .m_doc = "The compiled extraction kernel (etl/amod/kernel.py).",
                             .m_size = -1,
                             .m_methods = module_methods};

PyMODINIT_FUNC PyInit__kernel(void) {
    for (size_t i = N_INDEXERS; i--;)
        if (runs_here(i)) index_groups = INDEXERS[i].indexer;
    if (PyType_Ready(&CounterType)) return NULL;
    PyObject *result = PyModule_Create(&module);
    if (result && PyModule_AddObjectRef(result, "Counter", (PyObject *)&CounterType))
        Py_CLEAR(result);
    return result;
}
