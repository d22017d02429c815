/* Adjective–noun pairs from blocks of ten-column rows.

   etl/amod/reference.py defines what a block means; this file only does it fast.

   A block is processed in chunks of some tens of KB that end between sentences. Each chunk is
   indexed first: one vectorised pass writes three bits for every byte, namely whether it is a tab
   or newline, a newline, and NUL or not ASCII. The bits of a row, mostly fewer than 57, are then
   one word each, in which columns are counted and found without reading their bytes. Only id, head
   and relation of each row are read; words and tags only of amod rows and their heads.
*/
#define PY_SSIZE_T_CLEAN
/* One build for Python 3.11 and all later versions: only their stable ABI is used. */
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define HAVE_X86 1
#include <immintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((noinline, cold))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define PREFETCH(p) __builtin_prefetch(p)
#define COUNT_TRAILING_ZEROS(x) ((uint32_t)__builtin_ctzll(x))
#define COUNT_BITS(x) ((uint32_t)__builtin_popcountll(x))
#else
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define COLD
#define ALWAYS_INLINE inline
#define PREFETCH(p) ((void)(p))
static uint32_t COUNT_TRAILING_ZEROS(uint64_t x) {
    uint32_t n = 0;
    while (!(x & 1)) x >>= 1, n++;
    return n;
}
static uint32_t COUNT_BITS(uint64_t x) {
    uint32_t n = 0;
    for (; x; x &= x - 1) n++;
    return n;
}
#endif

#define CHUNK ((size_t)32 << 10)
/* Groups of 64 bytes without marks after a chunk, which may be read. */
#define INDEX_SLACK 1
/* Bytes of the shortest row: ten columns, two of them numbers. */
#define LEAST_ROW 12
#define SAMPLE 200
#define COLUMNS 10
#define MAX_DIGITS 8
#define AMOD_COLUMN ((uint64_t)0x646f6d6109) /* "\tamod", the first byte lowest */

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
#define TAG_BITS 2
typedef struct {
    uint64_t key; /* the tag's bytes, zero-padded; 0: free */
    uint32_t flags; /* TAG_DEPENDENT, TAG_HEAD; above, of a universal tag a bit of its own, and of a
                       Penn tag the bits of the universal tags that fit it */
} Tag;

typedef struct {
    uint64_t id;  /* key */
    size_t start; /* position within the chunk */
} Row;

typedef struct {
    uint64_t head; /* key */
    const Row *row;
} Amod;

/* Bit i of each bitmap (of word i / 64 as little-endian bytes) is for byte i of the chunk. */
typedef struct {
    uint64_t *marks;    /* whether it is a tab or a newline */
    uint64_t *newlines; /* whether it is a newline */
    uint64_t *odd;      /* whether it is NUL or not ASCII */
} Index;

/* Pairs: records of count, sizes and both words in an arena, with an open-addressing table. */
typedef struct {
    uint64_t count;
    uint32_t adjective, noun; /* bytes; the words follow, padded to 8 bytes */
} Record;
typedef struct {
    uint32_t hash;
    uint32_t place; /* 1 + offset / 8 in the arena; 0: free */
} Slot;

/* Pairs wait in a queue, so that their slots and records, most of which are outside the fast
   caches, are fetched at the same time. */
#define WAITING 32
typedef struct {
    size_t at; /* in the words */
    uint32_t hash, adjective, noun;
} Waiting;

typedef struct {
    PyObject_HEAD
    uint64_t least_id[64], least_head[64]; /* keys, by the size of the column */
    int ranges, adjective_by_lemma, noun_by_lemma, lowercase;
    byte unknown_tag;
    Tag penn[TAG_SLOTS], universal[TAG_SLOTS];

    byte *arena;
    size_t arena_used, arena_size;
    Slot *slots;
    size_t n_slots, n_pairs;
    byte *words; /* of the queued pairs, lower-cased, each pair zero-padded to 8 bytes */
    size_t words_used, words_size;
    Waiting waiting[WAITING];
    uint32_t n_waiting;

    Index index;
    Row *rows, *sorted; /* of a sentence */
    Amod *amods;
    size_t index_size; /* bytes of chunk that fit into index, rows and amods */
    int busy;          /* a thread is counting without the GIL */

    uint64_t lines, bytes, sentences, tokens, amod, pairs, crlf, contradicting, column_headers;
    Tally rejected[REJECTIONS], left_out[LEFT_OUT];
} Counter;

/* Blocks are counted without the GIL, which errors must take. */
static COLD void no_memory(void) {
    PyGILState_STATE lock = PyGILState_Ensure();
    PyErr_NoMemory();
    PyGILState_Release(lock);
}

static COLD void overflow(const char *message) {
    PyGILState_STATE lock = PyGILState_Ensure();
    PyErr_SetString(PyExc_OverflowError, message);
    PyGILState_Release(lock);
}

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

static inline void store64(uint64_t *to, uint64_t x) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = swap64(x);
#endif
    *to = x;
}

#define EACH_BYTE(x) ((uint64_t)0x0101010101010101 * (x))

/* Ids and heads are decimal numbers of 1 to 8 digits without leading zeros. Their key is their
   digits, one byte each, which orders and compares like the number. Returns the digits of the
   number of `size` bytes that ends before `end`, the last one highest, as the bytes 0 to 9 if they
   are digits; the 8 bytes before `end` must be readable. */
static inline uint64_t digits_before(const byte *end, size_t size) {
    return (load64(end - 8) ^ EACH_BYTE('0')) & ~(uint64_t)0 << ((0 - 8 * size) & 63);
}

/* Not 0 if one of the bytes is not a digit. */
static inline uint64_t not_digits(uint64_t digits) {
    return ((digits + EACH_BYTE(0x76)) | digits) & EACH_BYTE(0x80);
}

/* Fills in the smallest key of a number, at least `key`, for each size of its column; if no number
   has that size, a value above all keys. */
static void least_keys(uint64_t least[64], uint64_t key) {
    for (uint32_t size = 0; size < 64; size++) {
        uint64_t first = size == 1 ? 0 : (uint64_t)1 << (8 * (size - 1) & 63);
        least[size] = size - 1 >= MAX_DIGITS ? ~(uint64_t)0 : first < key ? key : first;
    }
}

/* Whether the bytes are such a number, at any position, and its key. */
static int read_number(const byte *p, size_t size, uint64_t *key) {
    if (size - 1 >= MAX_DIGITS || (p[0] == '0' && size > 1)) return 0;
    *key = 0;
    for (size_t i = 0; i < size; i++) {
        if (p[i] < '0' || p[i] > '9') return 0;
        *key = *key << 8 | (uint64_t)(p[i] - '0');
    }
    return 1;
}

static COLD int is_number(const byte *p, size_t size) {
    uint64_t ignored;
    return read_number(p, size, &ignored);
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

/* Whether Python's strict UTF-8 decoder accepts it. */
static COLD int is_utf8(const byte *p, size_t size) {
    const byte *end = p + size;
    while (p < end) {
        if (end - p >= 8 && !(load64(p) & EACH_BYTE(0x80))) {
            p += 8;
            continue;
        }
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

/* The high bit of every zero byte of x. */
static inline uint64_t zero_bytes(uint64_t x) {
    return ~(((x & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f)) | x) & EACH_BYTE(0x80);
}

/* The high bits of the eight bytes, gathered in byte order. */
static inline uint64_t gather(uint64_t high) {
    return ((high >> 7) * 0x0102040810204080) >> 56;
}

static void index_portable(const Index *index, const byte *p, size_t from, size_t to) {
    for (size_t g = from; g < to; g++) {
        uint64_t marks = 0, newlines = 0, odd = 0;
        for (int i = 0; i < 8; i++, p += 8) {
            uint64_t x = load64(p);
            uint64_t newline = zero_bytes(x ^ EACH_BYTE('\n'));
            uint64_t tab = zero_bytes(x ^ EACH_BYTE('\t'));
            marks |= gather(newline | tab) << (8 * i);
            newlines |= gather(newline) << (8 * i);
            odd |= gather((zero_bytes(x) | x) & EACH_BYTE(0x80)) << (8 * i);
        }
        store64(index->marks + g, marks);
        store64(index->newlines + g, newlines);
        store64(index->odd + g, odd);
    }
}

#ifdef HAVE_X86
static void index_sse2(const Index *index, const byte *p, size_t from, size_t to) {
    const __m128i tab = _mm_set1_epi8('\t'), newline = _mm_set1_epi8('\n');
    const __m128i zero = _mm_setzero_si128();
    for (size_t g = from; g < to; g++) {
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
        index->marks[g] = marks;
        index->newlines[g] = newlines;
        index->odd[g] = odd;
    }
}

__attribute__((target("avx2"))) static void index_avx2(const Index *index, const byte *p,
                                                       size_t from, size_t to) {
    const __m256i tab = _mm256_set1_epi8('\t'), newline = _mm256_set1_epi8('\n');
    const __m256i zero = _mm256_setzero_si256();
    for (size_t g = from; g < to; g++, p += 64) {
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
        index->marks[g] = MASK(m0, m1);
        index->newlines[g] = MASK(n0, n1);
        index->odd[g] = MASK(o0, o1);
#undef MASK
    }
}

__attribute__((target("avx512f,avx512bw"))) static void index_avx512(const Index *index,
                                                                     const byte *p, size_t from,
                                                                     size_t to) {
    const __m512i tab = _mm512_set1_epi8('\t'), newline = _mm512_set1_epi8('\n');
    for (size_t g = from; g < to; g++, p += 64) {
        __m512i v = _mm512_loadu_si512(p);
        uint64_t newlines = _mm512_cmpeq_epi8_mask(v, newline);
        index->marks[g] = newlines | _mm512_cmpeq_epi8_mask(v, tab);
        index->newlines[g] = newlines;
        index->odd[g] = _mm512_movepi8_mask(v) | _mm512_testn_epi8_mask(v, v);
    }
}
#endif

/* Indexes the groups of 64 bytes `from` to `to`; the first begins at p. */
typedef void (*Indexer)(const Index *, const byte *, size_t, size_t);
static Indexer index_groups = index_portable;

static int reserve(Counter *self, size_t size) {
    if (size <= self->index_size) return 0;
    size_t groups = size / 64 + 1 + INDEX_SLACK, n = size / LEAST_ROW + 1;
    uint64_t **bits[] = {&self->index.marks, &self->index.newlines, &self->index.odd};
    for (int i = 0; i < 3; i++) {
        uint64_t *words = realloc(*bits[i], groups * sizeof *words);
        if (!words) goto none;
        *bits[i] = words;
    }
    Row **rows[] = {&self->rows, &self->sorted};
    for (int i = 0; i < 2; i++) {
        Row *more = realloc(*rows[i], n * sizeof *more);
        if (!more) goto none;
        *rows[i] = more;
    }
    Amod *amods = realloc(self->amods, n * sizeof *amods);
    if (!amods) goto none;
    self->amods = amods;
    self->index_size = size;
    return 0;
none:
    no_memory();
    return -1;
}

static int index_chunk(Counter *self, const byte *p, size_t size) {
    if (reserve(self, size)) return -1;
    size_t whole = size / 64;
    byte padded[64 * (1 + INDEX_SLACK)];
    memset(padded, ' ', sizeof padded);
    memcpy(padded, p + 64 * whole, size % 64);
    index_groups(&self->index, p, 0, whole);
    index_groups(&self->index, padded, whole, whole + 1 + INDEX_SLACK);
    return 0;
}

/* The bits from byte `at` on, the lowest first: at least 57, then zeros. */
static inline uint64_t bits_from(const uint64_t *bits, size_t at) {
    return load64((const byte *)bits + at / 8) >> (at % 8);
}

static inline void set_bit(uint64_t *bits, size_t at) {
    ((byte *)bits)[at / 8] |= (byte)(1 << at % 8);
}

/* The position of the first bit at or after `at`, which must exist. */
static inline size_t next_bit(const uint64_t *bits, size_t at) {
    uint64_t found = bits_from(bits, at);
    while (UNLIKELY(!found)) {
        at = (at & ~(size_t)7) + 64;
        found = bits_from(bits, at);
    }
    return at + COUNT_TRAILING_ZEROS(found);
}

/* ---- tallies ---- */

/* Counts lines in the chunk; the first begins at `start`. */
static COLD void tally(const Counter *self, Tally *tally, const byte *chunk, size_t start,
                       uint64_t count) {
    if (tally->count == 0) {
        size_t stop = next_bit(self->index.newlines, start), size = stop - start;
        size -= size && chunk[stop - 1] == '\r';
        tally->line = self->lines + 1;
        for (size_t at = 0; (at = next_bit(self->index.newlines, at)) < start; at++) tally->line++;
        tally->size = (uint32_t)(size < SAMPLE ? size : SAMPLE);
        memcpy(tally->sample, chunk + start, tally->size);
    }
    tally->count += count;
}

/* ---- pairs ---- */

/* Words of up to this size are compared without a loop, whose end would be mispredicted. */
#define SHORT 32
#define FACTOR ((uint64_t)0xD6E8FEB86659FD93)

/* A word's part of its pair's hash, from its first 16 bytes, zero-padded, in memory order. It is
   taken from registers, since memory that was just written in other pieces is slow to read. */
static inline uint64_t hash_first(uint64_t first, uint64_t second) {
    return first * 0xA0761D6478BD642F + second * 0xE7037ED1A0B428DB;
}

/* The same for any word. */
static COLD uint64_t hash_word(const byte *p, size_t size) {
    uint64_t first[2] = {0, 0}, h;
    memcpy(first, p, size < 16 ? size : 16);
    h = hash_first(first[0], first[1]);
    for (size_t i = 16; i < size; i++) h = (h ^ p[i]) * FACTOR;
    return h;
}

static inline uint32_t hash_pair(uint64_t adjective, uint64_t noun) {
    uint64_t h = (adjective ^ adjective >> 32) * FACTOR + noun;
    h = (h ^ h >> 32) * FACTOR;
    return (uint32_t)(h >> 32);
}

/* Whether the first `size` bytes are equal; both have SHORT readable bytes. */
static inline int same_words(const byte *a, const byte *b, size_t size) {
    if (UNLIKELY(size > SHORT)) return memcmp(a, b, size) == 0;
    uint64_t differing = load64(a) ^ load64(b);
    differing |= size > 8 ? load64(a + 8) ^ load64(b + 8) : 0;
    differing |= size > 16 ? load64(a + 16) ^ load64(b + 16) : 0;
    differing |= size > 24 ? load64(a + 24) ^ load64(b + 24) : 0;
    return differing == 0;
}

static inline size_t padded(size_t size) { return (size + 7) & ~(size_t)7; }

#define HUGE_PAGE ((size_t)2 << 20)

/* Zeroed memory, in huge pages if it is large: a look-up would mostly miss the TLB of small
   pages. */
static void *zeroed(size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (size >= HUGE_PAGE && size % HUGE_PAGE == 0) {
        void *memory = aligned_alloc(HUGE_PAGE, size);
        if (!memory) return NULL;
        (void)madvise(memory, size, MADV_HUGEPAGE); /* advice only: a refusal is harmless */
        return memset(memory, 0, size);
    }
#endif
    return calloc(size, 1);
}

/* The first slot for a hash: its upper bits, so that growing the table keeps the order of slots and
   passes through memory once. */
static inline size_t slot_of(const Counter *self, uint32_t hash) {
    return (size_t)((uint64_t)hash * self->n_slots >> 32);
}

static int grow_slots(Counter *self) {
    Slot *old = self->slots;
    size_t n = self->n_slots, mask = (n ? 2 * n : 4096) - 1;
    Slot *slots = zeroed((mask + 1) * sizeof *slots);
    if (!slots) {
        no_memory();
        return -1;
    }
    self->slots = slots;
    self->n_slots = mask + 1;
    for (size_t at = 0; at < n; at++) {
        if (!old[at].place) continue;
        size_t i = slot_of(self, old[at].hash);
        while (slots[i].place) i = (i + 1) & mask;
        slots[i] = old[at];
    }
    free(old);
    return 0;
}

static int count_pair(Counter *self, const Waiting *pair) {
    const byte *words = self->words + pair->at;
    size_t size = padded((size_t)pair->adjective + pair->noun);
    if (UNLIKELY(10 * (self->n_pairs + 1) > 6 * self->n_slots) && grow_slots(self)) return -1;
    size_t mask = self->n_slots - 1, i = slot_of(self, pair->hash);
    for (; self->slots[i].place; i = (i + 1) & mask) {
        if (self->slots[i].hash != pair->hash) continue;
        Record *record = (Record *)(self->arena + 8 * (size_t)(self->slots[i].place - 1));
        if (record->adjective == pair->adjective && record->noun == pair->noun &&
            same_words((const byte *)(record + 1), words, size)) {
            record->count++;
            return 0;
        }
    }
    size_t need = self->arena_used + sizeof(Record) + size;
    if (need / 8 >= UINT32_MAX) {
        overflow("pairs fill 32 GB; drain them sooner");
        return -1;
    }
    if (need + SHORT > self->arena_size) { /* bytes to read after the last record */
        size_t room = self->arena_size ? self->arena_size + self->arena_size / 2 : 1 << 16;
        if (room < need + SHORT) room = 2 * need + SHORT;
        byte *arena = realloc(self->arena, room);
        if (!arena) {
            no_memory();
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
    self->slots[i].hash = pair->hash;
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
            const Slot *slot = self->slots + slot_of(self, self->waiting[i].hash);
            if (slot->place) PREFETCH(self->arena + 8 * (size_t)(slot->place - 1));
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (count_pair(self, self->waiting + i)) return -1;
    return 0;
}

/* Queues the pair at the end of the words. */
static inline int add_pair(Counter *self, uint32_t adjective, uint32_t noun, uint32_t hash) {
    byte *words = self->words + self->words_used;
    size_t size = (size_t)adjective + noun;
    memset(words + size, 0, 8);
    Waiting *pair = self->waiting + self->n_waiting++;
    pair->hash = hash;
    pair->at = self->words_used;
    pair->adjective = adjective;
    pair->noun = noun;
    if (self->n_slots) PREFETCH(self->slots + slot_of(self, pair->hash));
    self->words_used += padded(size);
    return self->n_waiting == WAITING ? count_waiting(self) : 0;
}

static int reserve_words(Counter *self, size_t size) {
    if (LIKELY(size <= self->words_size)) return 0;
    byte *words = realloc(self->words, 2 * size);
    if (!words) {
        no_memory();
        return -1;
    }
    self->words = words;
    self->words_size = 2 * size;
    return 0;
}

/* A word in memory order with only its first n < 8 bytes. */
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

/* The names of Python's methods, made once. */
static PyObject *LOWER, *ISALNUM;

/* Whether a character of the text is a letter or digit; -1 on error. */
static COLD int any_alnum(PyObject *text) {
    Py_ssize_t length = PyUnicode_GetLength(text);
    int found = 0;
    for (Py_ssize_t i = 0; i < length && !found; i++) {
        PyObject *character = PyUnicode_Substring(text, i, i + 1);
        PyObject *answer =
            character ? PyObject_CallMethodObjArgs(character, ISALNUM, NULL) : NULL;
        found = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        Py_XDECREF(character);
    }
    return found;
}

/* Python's own str.lower and str.isalnum, so that all implementations agree. */
static COLD Py_ssize_t put_word_unicode(Counter *self, size_t at, const byte *p, size_t size,
                                        uint64_t *hash, int *alnum) {
    PyGILState_STATE lock = PyGILState_Ensure();
    Py_ssize_t put = -1, n = 0;
    PyObject *lower = NULL, *word = PyUnicode_DecodeUTF8((const char *)p, (Py_ssize_t)size, NULL);
    if (!word) goto done;
    lower = self->lowercase ? PyObject_CallMethodObjArgs(word, LOWER, NULL) : Py_NewRef(word);
    const char *utf8 = lower ? PyUnicode_AsUTF8AndSize(lower, &n) : NULL;
    if (utf8 && reserve_words(self, at + (size_t)n + 8 + SHORT) == 0) {
        memcpy(self->words + at, utf8, (size_t)n);
        *hash = hash_word(self->words + at, (size_t)n);
        *alnum = any_ascii_alnum((const byte *)utf8, (size_t)n) ? 1 : any_alnum(lower);
        put = *alnum < 0 ? -1 : n;
    }
done:
    Py_XDECREF(lower);
    Py_XDECREF(word);
    PyGILState_Release(lock);
    return put;
}

/* A word in memory order with its ASCII letters in lower case and other bytes unchanged. */
static inline uint64_t to_lower(uint64_t x) {
    uint64_t low = x & EACH_BYTE(0x7f);
    uint64_t upper = (low + EACH_BYTE(0x80 - 'A')) & ~(low + EACH_BYTE(0x7f - 'Z'));
    return x | ((upper & ~x & EACH_BYTE(0x80)) >> 2); /* sets 0x20 */
}

/* Copies a word to self->words + at, lower-cased if asked; returns its size, -1 on error. `end` is
   the end of the block; at least 8 bytes of other columns follow FORM and LEMMA. */
static inline Py_ssize_t put_word(Counter *self, size_t at, const byte *p, size_t size,
                                  const byte *end, uint64_t *hash, int *alnum) {
    static const byte kept[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                  255, 255, 255, 255, 255, 255, 255, 255};
    if (reserve_words(self, at + size + 8 + SHORT)) return -1;
    byte *out = self->words + at;
    uint64_t not_ascii = 0, x, y, kept_x, kept_y;
    if (LIKELY(size <= 16 && end - p >= 16)) { /* without a loop, whose end would be mispredicted */
        memcpy(&kept_x, kept + 16 - size, 8);
        memcpy(&kept_y, kept + 24 - size, 8);
        memcpy(&x, p, 8);
        memcpy(&y, p + 8, 8);
        not_ascii = (x & kept_x) | (y & kept_y);
        x = self->lowercase ? to_lower(x) : x;
        y = self->lowercase ? to_lower(y) : y;
        memcpy(out, &x, 8);
        memcpy(out + 8, &y, 8);
        *hash = hash_first(x & kept_x, y & kept_y);
    } else {
        for (size_t i = 0; i < size; i += 8) {
            memcpy(&x, p + i, 8);
            y = self->lowercase ? to_lower(x) : x;
            memcpy(out + i, &y, 8);
            not_ascii |= size - i >= 8 ? x : first_bytes(x, size - i);
        }
        *hash = hash_word(out, size);
    }
    if (UNLIKELY(not_ascii & EACH_BYTE(0x80)))
        return put_word_unicode(self, at, p, size, hash, alnum);
    *alnum = any_ascii_alnum(p, size);
    return (Py_ssize_t)size;
}

static inline size_t tag_slot(uint64_t key) {
    return (size_t)((key * 0x9E3779B97F4A7C15u) >> 56) & (TAG_SLOTS - 1);
}

static inline int find_tag(const Tag *tags, uint64_t key, uint32_t *flags) {
    for (size_t i = tag_slot(key); tags[i].key; i = (i + 1) & (TAG_SLOTS - 1)) {
        if (tags[i].key == key) {
            *flags = tags[i].flags;
            return 1;
        }
    }
    return 0;
}

/* A tag as a number; 0 if it is empty or longer than any tag. */
static inline uint64_t tag_key(const byte *p, size_t size, const byte *end) {
    uint64_t key = 0;
    if (size - 1 >= 8) return 0;
    if (LIKELY(end - p >= 8)) return load64(p) & (~(uint64_t)0 >> (64 - 8 * size));
    for (size_t i = size; i--;) key = key << 8 | p[i];
    return key;
}

/* Whether the row may be a dependent or a head: the Penn tag decides if it fits the universal tag
   beside it, else the universal one. */
static inline uint32_t tag_flags(const Counter *self, const byte *const *tabs, const byte *end,
                                 uint64_t *contradicting) {
    uint32_t penn, universal;
    uint64_t fifth = tag_key(tabs[3] + 1, (size_t)(tabs[4] - tabs[3] - 1), end);
    uint64_t fourth = tag_key(tabs[2] + 1, (size_t)(tabs[3] - tabs[2] - 1), end);
    int is_penn = find_tag(self->penn, fifth, &penn);
    if (is_penn && (fourth == fifth || !find_tag(self->universal, fourth, &universal)))
        return penn;
    if (is_penn) {
        if (LIKELY(!(universal >> TAG_BITS) || (penn & universal) >> TAG_BITS)) return penn;
        *contradicting = 1;
        return universal;
    }
    return find_tag(self->universal, fourth, &universal) ? universal : self->unknown_tag;
}

/* The column of the word: the lemma if the rules say so and it is not missing. The size of a
   missing form is 0. */
static inline const byte *choose_word(const byte *const *tabs, int by_lemma, size_t *size) {
    const byte *lemma = tabs[1] + 1, *form = tabs[0] + 1;
    *size = (size_t)(tabs[2] - lemma);
    if (by_lemma && *size && !(*size == 1 && *lemma == '_')) return lemma;
    *size = (size_t)(tabs[1] - form);
    if (*size == 1 && *form == '_') *size = 0;
    return form;
}

/* ---- sentences ---- */

/* The first n tabs of a row. */
static inline void find_tabs(const Counter *self, const byte *chunk, size_t start, int n,
                             const byte **tabs) {
    uint64_t marks = bits_from(self->index.marks, start), x = marks;
    for (int i = 1; i < n; i++) x &= x - 1;
    if (LIKELY(x)) {
        for (int i = 0; i < n; i++, marks &= marks - 1)
            tabs[i] = chunk + start + COUNT_TRAILING_ZEROS(marks);
        return;
    }
    for (int i = 0; i < n; i++, start++) { /* a long row */
        start = next_bit(self->index.marks, start);
        tabs[i] = chunk + start;
    }
}

/* Reads one amod relation. */
static int read_amod(Counter *self, const byte *chunk, const Row *row, const Row *head,
                     const byte *end) {
    const byte *tabs[5], *head_tabs[5];
    uint64_t adjective_hash, noun_hash, contradicting = 0;
    int left, alnum, ignored;
    self->amod++;
    find_tabs(self, chunk, row->start, 5, tabs);
    find_tabs(self, chunk, head->start, 5, head_tabs);
    uint32_t dependent_flags = tag_flags(self, tabs, end, &contradicting);
    uint32_t head_flags = tag_flags(self, head_tabs, end, &contradicting);
    self->contradicting += contradicting;
    if (!(dependent_flags & TAG_DEPENDENT)) {
        left = LEFT_NOT_ADJECTIVE;
    } else if (!(head_flags & TAG_HEAD)) {
        left = LEFT_NOT_NOUN;
    } else {
        size_t size;
        const byte *word = choose_word(tabs, self->adjective_by_lemma, &size);
        Py_ssize_t adjective = put_word(self, self->words_used, word, size, end, &adjective_hash,
                                        &alnum);
        if (adjective < 0) return -1;
        word = choose_word(head_tabs, self->noun_by_lemma, &size);
        size_t at = self->words_used + (size_t)adjective;
        Py_ssize_t noun = put_word(self, at, word, size, end, &noun_hash, &ignored);
        if (noun < 0) return -1;
        if (LIKELY(alnum && noun)) {
            self->pairs++;
            return add_pair(self, (uint32_t)adjective, (uint32_t)noun,
                            hash_pair(adjective_hash, noun_hash));
        }
        left = LEFT_NO_LETTER;
    }
    tally(self, &self->left_out[left], chunk, row->start, 1);
    return 0;
}

static int by_id(const void *a, const void *b) {
    uint64_t x = ((const Row *)a)->id, y = ((const Row *)b)->id;
    return (x > y) - (x < y);
}

/* Rows of one id in the order of the text. */
static int by_id_and_start(const void *a, const void *b) {
    size_t x = ((const Row *)a)->start, y = ((const Row *)b)->start;
    int order = by_id(a, b);
    return order ? order : (x > y) - (x < y);
}

/* The row with an id among n rows in ascending order of ids, or NULL. The search starts where the
   row is if ids have no gap between it and the row `near`, since the head of an adjective is mostly
   within a few words of it. */
static inline const Row *find_id(const Row *rows, size_t n, size_t near, uint64_t id) {
    const Row *row = rows + near, *last = rows + n - 1;
    int64_t ahead = (int64_t)(id - row->id); /* of keys: too far by 246 for each ten */
    ahead -= ahead > 123 ? 246 : ahead < -123 ? -246 : 0;
    size_t guess = near + (size_t)ahead;
    if (LIKELY(guess < n && rows[guess].id == id)) return rows + guess;
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
    Row key = {id, 0};
    return bsearch(&key, rows, n, sizeof *rows, by_id);
}

/* Judges the n rows of a sentence, m of them amod. */
static int finish_sentence(Counter *self, const byte *chunk, size_t n, size_t m, int ascending,
                           const byte *end) {
    const Row *ordered = self->rows;
    size_t tokens = n;
    if (UNLIKELY(!ascending)) {
        memcpy(self->sorted, self->rows, n * sizeof *self->sorted);
        qsort(self->sorted, n, sizeof *self->sorted, by_id_and_start);
        ordered = self->sorted;
        size_t repeated = SIZE_MAX; /* the first row with an id of an earlier one */
        for (size_t i = 1; i < n; i++)
            if (ordered[i].id == ordered[i - 1].id && ordered[i].start < repeated)
                repeated = ordered[i].start;
        if (repeated != SIZE_MAX) {
            tally(self, &self->rejected[REJECT_DUPLICATE_ID], chunk, repeated, n);
            return 0;
        }
    }
    for (size_t i = 0; i < m; i++) {
        const Row *row = self->amods[i].row;
        const Row *head = find_id(ordered, n, (size_t)(row - self->rows), self->amods[i].head);
        if (UNLIKELY(!head || head->id == row->id)) {
            int reason = head ? REJECT_SELF_HEAD : REJECT_HEAD_MISSING;
            tally(self, &self->rejected[reason], chunk, row->start, 1);
            tokens--;
        } else if (read_amod(self, chunk, row, head, end)) {
            return -1;
        }
    }
    self->tokens += tokens;
    self->sentences += tokens > 0;
    return 0;
}

static inline int is_sentence_mark(const byte *p, size_t size) {
    return size >= 5 && memcmp(p, ">>>>>", 5) == 0;
}

/* Whether a line is a comment that names columns, `# global.columns = …`, in whatever case. */
static int names_columns(const byte *p, size_t size) {
    static const char name[] = "global.columns";
    const byte *end = p + size;
    if (!size || *p++ != '#') return 0;
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    if ((size_t)(end - p) < sizeof name - 1) return 0;
    for (size_t i = 0; i < sizeof name - 1; i++)
        if ((p[i] | ('a' <= name[i] ? 0x20 : 0)) != (byte)name[i]) return 0;
    return 1;
}

/* The length of the character of white space, or byte order mark, at p; 0 for other characters. */
static COLD size_t space_size(const byte *p, size_t size) {
    if (*p == ' ' || (*p >= '\t' && *p <= '\r') || (*p >= 0x1C && *p <= 0x1F)) return 1;
    if (size >= 2 && *p == 0xC2 && (p[1] == 0x85 || p[1] == 0xA0)) return 2;
    if (size < 3) return 0;
    uint32_t c = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
    if (c >= 0xE28080 && c <= 0xE2808A) return 3; /* U+2000 to U+200A */
    return c == 0xE19A80 || c == 0xE280A8 || c == 0xE280A9 || c == 0xE280AF || c == 0xE2819F ||
           c == 0xE38080 || c == 0xEFBBBF ? 3 : 0;
}

/* Whether a line has only white space. */
static inline int is_blank(const byte *p, size_t size) {
    while (size) {
        size_t space = space_size(p, size);
        if (!space) return 0;
        p += space;
        size -= space;
    }
    return 1;
}

/* Reads one line that is not blank, a comment or a sentence mark, and checks everything that can be
   wrong with it. Returns a reason to reject it, SKIP, or, with its columns read, REJECTIONS. `stop`
   is the position of its newline. */
enum { SKIP = REJECTIONS + 1 };
typedef struct {
    uint64_t id, head;
    int amod;
} Line;
static COLD uint32_t judge_line(const Counter *self, const byte *chunk, size_t start, size_t stop,
                                Line *line) {
    const byte *p = chunk + start, *tabs[COLUMNS];
    size_t size = stop - start, at = start;
    size -= size && p[size - 1] == '\r';
    if (memchr(p, 0, size)) return REJECT_NUL;
    if (!is_utf8(p, size)) return REJECT_UTF8;
    for (int i = 0; i < COLUMNS; i++, at++) {
        at = next_bit(self->index.marks, at);
        tabs[i] = chunk + at;
        if ((at == stop) != (i == COLUMNS - 1)) return REJECT_COLUMNS;
    }
    size_t digits = (size_t)(tabs[0] - p);
    if (!read_number(p, digits, &line->id))
        return self->ranges && is_range(p, digits) ? SKIP : REJECT_ID;
    if (line->id < self->least_id[digits]) return REJECT_ID;
    if (!read_number(tabs[5] + 1, (size_t)(tabs[6] - tabs[5] - 1), &line->head))
        return REJECT_HEAD;
    line->amod = tabs[7] - tabs[6] == 5 && memcmp(tabs[6] + 1, "amod", 4) == 0;
    return REJECTIONS;
}

/* Whether there are ten marks; if so, also the bits of the sixth to the eighth, perhaps with
   more. */
static ALWAYS_INLINE int find_columns(uint64_t marks, int fast_pdep, uint64_t *sixth_on) {
    uint64_t x = marks;
#ifdef HAVE_X86
    if (fast_pdep) { /* its intrinsic is not allowed in code compiled for all processors */
        __asm__("pdep %1, %2, %0" : "=r"(*sixth_on) : "r"(marks), "r"((uint64_t)0xe0));
        return COUNT_BITS(marks) == COLUMNS;
    }
#endif
    (void)fast_pdep;
    for (int i = 0; i < 5; i++) x &= x - 1;
    *sixth_on = x;
    for (int i = 0; i < 4; i++) x &= x - 1;
    return x && !(x & (x - 1));
}

/* Reads a row of ASCII without NUL from the bits of its marks, including its newline. Returns false
   if anything is wrong or unusual; then `judge_line` decides. */
static ALWAYS_INLINE int read_row(const Counter *self, const byte *p, uint64_t marks, int fast_pdep,
                                  uint64_t *id, uint64_t *head, int *amod) {
    uint64_t sixth;
    if (UNLIKELY(!find_columns(marks, fast_pdep, &sixth))) return 0;
    uint64_t seventh = sixth & (sixth - 1), eighth = seventh & (seventh - 1);
    size_t id_size = COUNT_TRAILING_ZEROS(marks), head_end = COUNT_TRAILING_ZEROS(seventh);
    size_t head_size = head_end - COUNT_TRAILING_ZEROS(sixth) - 1;
    uint64_t x = digits_before(p + id_size, id_size), y = digits_before(p + head_end, head_size);
    if (UNLIKELY(not_digits(x) | not_digits(y))) return 0;
    *id = swap64(x);
    *head = swap64(y);
    if (UNLIKELY(*id < self->least_id[id_size] || *head < self->least_head[head_size])) return 0;
    /* the relation with the tab before it */
    *amod = load64(p + COUNT_TRAILING_ZEROS(eighth) - 8) >> 24 == AMOD_COLUMN;
    return 1;
}

/* Reads the lines of the n indexed bytes of the chunk, which end with a sentence. `end` is the end
   of the block. */
static ALWAYS_INLINE int read_lines(Counter *self, const byte *chunk, size_t n, const byte *end,
                                    int fast_pdep) {
    const Index index = self->index;
    Row *row = self->rows;
    Amod *amod = self->amods;
    int64_t last_id = -1;
    int ascending = 1;

    for (size_t start = 0, next; start < n; start = next) {
        const byte *p = chunk + start;
        uint64_t newlines = bits_from(index.newlines, start);
        uint64_t bytes = newlines ^ (newlines - 1), id, head; /* of the line, a bit each */
        int is_amod;
        if (LIKELY((byte)(*p - '0') <= 9 && newlines && !(bits_from(index.odd, start) & bytes) &&
                   read_row(self, p, bits_from(index.marks, start) & bytes, fast_pdep, &id, &head,
                            &is_amod))) {
            size_t size = COUNT_TRAILING_ZEROS(newlines);
            next = start + size + 1;
            if (UNLIKELY(p[size - 1] == '\r')) self->crlf++;
        } else {
            size_t stop = next_bit(index.newlines, start), size = stop - start;
            next = stop + 1;
            if (UNLIKELY(size && p[size - 1] == '\r')) {
                size--;
                self->crlf++;
            }
            if (UNLIKELY(size >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)) {
                p += 3; /* the byte order mark of a file that was appended */
                start += 3;
                size -= 3;
            }
            if (LIKELY(!size || *p == '#' || is_sentence_mark(p, size) || is_blank(p, size))) {
                self->column_headers += (uint64_t)names_columns(p, size);
                if (row != self->rows &&
                    finish_sentence(self, chunk, (size_t)(row - self->rows),
                                    (size_t)(amod - self->amods), ascending, end))
                    return -1;
                row = self->rows;
                amod = self->amods;
                last_id = -1;
                ascending = 1;
                continue;
            }
            Line judged;
            uint32_t reason = judge_line(self, chunk, start, stop, &judged);
            if (UNLIKELY(reason < REJECTIONS))
                tally(self, &self->rejected[reason], chunk, start, 1);
            if (UNLIKELY(reason != REJECTIONS)) continue;
            id = judged.id;
            head = judged.head;
            is_amod = judged.amod;
        }
        ascending &= (int64_t)id > last_id;
        last_id = (int64_t)id;
        row->id = id;
        row->start = start;
        /* written whether amod or not: a mispredicted branch would cost more than the write */
        amod->head = head;
        amod->row = row;
        amod += is_amod;
        row++;
    }
    if (row != self->rows &&
        finish_sentence(self, chunk, (size_t)(row - self->rows), (size_t)(amod - self->amods),
                        ascending, end))
        return -1;
    for (size_t i = 0; i <= n / 64; i++) self->lines += COUNT_BITS(self->index.newlines[i]);
    return 0;
}

static int read_lines_portable(Counter *self, const byte *chunk, size_t n, const byte *end) {
    return read_lines(self, chunk, n, end, 0);
}

#ifdef HAVE_X86
#define BMI __attribute__((target("bmi,bmi2,popcnt")))
BMI static int read_lines_bmi(Counter *self, const byte *chunk, size_t n, const byte *end) {
    return read_lines(self, chunk, n, end, 0);
}

/* Processors with AVX-512 also have this instruction in hardware. */
BMI static int read_lines_pdep(Counter *self, const byte *chunk, size_t n, const byte *end) {
    return read_lines(self, chunk, n, end, 1);
}
#endif

typedef int (*Reader)(Counter *, const byte *, size_t, const byte *);
static Reader read_chunk = read_lines_portable;

/* How many of the first n bytes to read so that the next line is not a row; 0 if there is no such
   place. At least one more byte of the block follows them. */
static size_t sentences_end(const byte *chunk, size_t n, const byte *end) {
    for (size_t at = n; at--;) {
        if (chunk[at] != '\n') continue;
        const byte *p = chunk + at + 1, *stop;
        if (*p == '#' || is_sentence_mark(p, (size_t)(end - p))) return at + 1;
        if (*p > ' ' && *p < 0xC2) continue; /* no white space begins so */
        stop = memchr(p, '\n', (size_t)(end - p));
        if (is_blank(p, (size_t)((stop ? stop : end) - p))) return at + 1;
    }
    return 0;
}

static int feed(Counter *self, const byte *block, size_t size) {
    const byte *end = block + size;
    size_t at = 0, chunk_size = CHUNK;
    while (at < size) {
        const byte *chunk = block + at;
        size_t n = size - at < chunk_size ? size - at : chunk_size;
        if (at + n < size) {
            n = sentences_end(chunk, n, end);
            if (!n) { /* a sentence longer than the chunk */
                chunk_size *= 2;
                continue;
            }
        }
        if (index_chunk(self, chunk, n)) return -1;
        if (chunk[n - 1] != '\n') { /* the end of the block counts as a newline */
            set_bit(self->index.marks, n);
            set_bit(self->index.newlines, n);
        }
        /* The eight bytes that `read_row` reads before the end of a number may not exist before the
           first rows of the block. */
        if (!at) *(byte *)self->index.odd = 0xff;
        if (read_chunk(self, chunk, n, end)) return -1;
        at += n;
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
        tags[i].flags = (uint32_t)flags;
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
    least_keys(self->least_id, first_id);
    least_keys(self->least_head, 0);
    self->unknown_tag = unknown_tag;
    memset(self->penn, 0, sizeof self->penn);
    memset(self->universal, 0, sizeof self->universal);
    return fill_tags(self->penn, penn) || fill_tags(self->universal, universal) ? -1 : 0;
}

static void counter_dealloc(Counter *self) {
    free(self->arena);
    free(self->slots);
    free(self->words);
    free(self->index.marks);
    free(self->index.newlines);
    free(self->index.odd);
    free(self->rows);
    free(self->sorted);
    free(self->amods);
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type); /* which each object of a type made from a specification holds */
}

static PyObject *counter_feed(Counter *self, PyObject *block) {
    Py_buffer view;
    if (PyObject_GetBuffer(block, &view, PyBUF_SIMPLE)) return NULL;
    int failed = 1;
    if (self->busy)
        PyErr_SetString(PyExc_RuntimeError, "another thread feeds this counter");
    else if ((uint64_t)view.len >= UINT32_MAX - 128)
        PyErr_Format(PyExc_ValueError, "got a block of %zd bytes; expected less than 4 GB",
                     view.len);
    else {
        self->busy = 1;
        Py_BEGIN_ALLOW_THREADS
        failed = feed(self, view.buf, (size_t)view.len);
        Py_END_ALLOW_THREADS
        self->busy = 0;
    }
    PyBuffer_Release(&view);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

/* The bucket of a pair is the lowest byte of its noun's CRC-32, as in zlib. */
#define BUCKETS 256
static uint32_t crc_table[256];

static void make_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t x = i;
        for (int bit = 0; bit < 8; bit++) x = x & 1 ? x >> 1 ^ 0xEDB88320u : x >> 1;
        crc_table[i] = x;
    }
}

static inline byte bucket_of(const byte *noun, size_t size) {
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < size; i++) crc = crc >> 8 ^ crc_table[(crc ^ noun[i]) & 0xFF];
    return (byte)~crc;
}

static inline size_t record_size(const Record *record) {
    return sizeof *record + padded((size_t)record->adjective + record->noun);
}

/* Where the pairs of a bucket begin, in rows and in bytes of their words. */
typedef struct {
    size_t rows, adjectives, nouns;
} Place;

/* Writes the bucket of each record to `bucket` and the positions of all buckets to `places`. */
static void find_buckets(const Counter *self, byte *bucket, Place places[BUCKETS + 1]) {
    memset(places, 0, (BUCKETS + 1) * sizeof *places);
    for (size_t at = 0, i = 0; at < self->arena_used; i++) {
        const Record *record = (const Record *)(self->arena + at);
        bucket[i] = bucket_of((const byte *)(record + 1) + record->adjective, record->noun);
        Place *next = places + bucket[i] + 1;
        next->rows++;
        next->adjectives += record->adjective;
        next->nouns += record->noun;
        at += record_size(record);
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        places[i + 1].rows += places[i].rows;
        places[i + 1].adjectives += places[i].adjectives;
        places[i + 1].nouns += places[i].nouns;
    }
}

/* Writes the records as Arrow's buffers, bucket by bucket; `places` is consumed. */
static void write_pairs(const Counter *self, const byte *bucket, Place places[BUCKETS + 1],
                        char *const out[5]) {
    const Place end = places[BUCKETS];
    for (size_t at = 0, i = 0; at < self->arena_used; i++) {
        const Record *record = (const Record *)(self->arena + at);
        const byte *words = (const byte *)(record + 1);
        Place *to = places + bucket[i];
        int32_t adjective = (int32_t)to->adjectives, noun = (int32_t)to->nouns;
        int64_t count = (int64_t)record->count;
        memcpy(out[0] + 4 * to->rows, &adjective, 4);
        memcpy(out[1] + adjective, words, record->adjective);
        memcpy(out[2] + 4 * to->rows, &noun, 4);
        memcpy(out[3] + noun, words + record->adjective, record->noun);
        memcpy(out[4] + 8 * to->rows, &count, 8);
        to->rows++;
        to->adjectives += record->adjective;
        to->nouns += record->noun;
        at += record_size(record);
    }
    int32_t adjectives = (int32_t)end.adjectives, nouns = (int32_t)end.nouns;
    memcpy(out[0] + 4 * end.rows, &adjectives, 4);
    memcpy(out[2] + 4 * end.rows, &nouns, 4);
}

static PyObject *drained(const Counter *self, byte *bucket) {
    Place places[BUCKETS + 1];
    find_buckets(self, bucket, places);
    const Place end = places[BUCKETS];
    if (end.adjectives > INT32_MAX || end.nouns > INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "words fill more than 2 GB; drain them sooner");
        return NULL;
    }
    size_t sizes[6] = {4 * (end.rows + 1), end.adjectives, 4 * (end.rows + 1), end.nouns,
                       8 * end.rows, 4 * BUCKETS};
    PyObject *parts[6], *result = NULL;
    char *out[6];
    int complete = 1;
    for (int i = 0; i < 6; i++) {
        parts[i] = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)sizes[i]);
        if (parts[i])
            out[i] = PyBytes_AsString(parts[i]);
        else
            complete = 0;
    }
    if (complete) {
        for (size_t i = 0; i < BUCKETS; i++) {
            int32_t rows = (int32_t)places[i + 1].rows;
            memcpy(out[5] + 4 * i, &rows, 4);
        }
        write_pairs(self, bucket, places, out);
        result = Py_BuildValue("nOOOOOO", (Py_ssize_t)end.rows, parts[0], parts[1], parts[2],
                               parts[3], parts[4], parts[5]);
    }
    for (int i = 0; i < 6; i++) Py_XDECREF(parts[i]);
    return result;
}

static PyObject *counter_drain(Counter *self, PyObject *ignored) {
    (void)ignored;
    byte *bucket = malloc(self->n_pairs + 1);
    if (!bucket) return PyErr_NoMemory();
    PyObject *result = drained(self, bucket);
    free(bucket);
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
            "{sKsKsKsKsKsKsKsKsKsOsO}", "lines", (unsigned long long)self->lines, "bytes",
            (unsigned long long)self->bytes, "sentences", (unsigned long long)self->sentences,
            "tokens", (unsigned long long)self->tokens, "amod", (unsigned long long)self->amod,
            "pairs", (unsigned long long)self->pairs, "crlf", (unsigned long long)self->crlf,
            "contradicting_tags", (unsigned long long)self->contradicting, "column_headers",
            (unsigned long long)self->column_headers, "rejected", rejected, "left_out", left_out);
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

static PyType_Slot counter_slots[] = {
    {Py_tp_doc, "Counts adjective–noun pairs; see etl.amod.kernel.PairCounter."},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_init, counter_init},
    {Py_tp_dealloc, counter_dealloc},
    {Py_tp_methods, counter_methods},
    {Py_tp_getset, counter_properties},
    {0, NULL}};

static PyType_Spec counter_spec = {.name = "adnominal.etl.amod._kernel.Counter",
                                   .basicsize = sizeof(Counter),
                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                   .slots = counter_slots};

static const struct {
    const char *name;
    Indexer indexer;
    Reader reader;
} INSTRUCTIONS[] = {
#ifdef HAVE_X86
    {"avx512", index_avx512, read_lines_pdep},
    {"avx2", index_avx2, read_lines_bmi},
    {"sse2", index_sse2, read_lines_portable},
#endif
    {"portable", index_portable, read_lines_portable},
};
#define N_INSTRUCTIONS (sizeof INSTRUCTIONS / sizeof *INSTRUCTIONS)

static int runs_here(size_t indexer) {
#ifdef HAVE_X86
    if (indexer == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (indexer == 1)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#endif
    (void)indexer;
    return 1;
}

static void choose(size_t indexer) {
    index_groups = INSTRUCTIONS[indexer].indexer;
    read_chunk = INSTRUCTIONS[indexer].reader;
}

static PyObject *instructions(PyObject *module, PyObject *ignored) {
    (void)module;
    (void)ignored;
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && i < N_INSTRUCTIONS; i++) {
        if (!runs_here(i)) continue;
        PyObject *name = PyUnicode_FromString(INSTRUCTIONS[i].name);
        if (!name || PyList_Append(names, name)) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *use(PyObject *module, PyObject *name) {
    (void)module;
    for (size_t i = 0; i < N_INSTRUCTIONS; i++) {
        if (runs_here(i) && PyUnicode_Check(name) &&
            PyUnicode_CompareWithASCIIString(name, INSTRUCTIONS[i].name) == 0) {
            choose(i);
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
                             .m_name = "adnominal.etl.amod._kernel",
                             .m_doc = "The compiled extraction kernel (etl/amod/kernel.py).",
                             .m_size = -1,
                             .m_methods = module_methods};

PyMODINIT_FUNC PyInit__kernel(void) {
    make_crc_table();
    for (size_t i = N_INSTRUCTIONS; i--;)
        if (runs_here(i)) choose(i);
    LOWER = PyUnicode_InternFromString("lower");
    ISALNUM = PyUnicode_InternFromString("isalnum");
    if (!LOWER || !ISALNUM) return NULL;
    PyObject *result = PyModule_Create(&module);
    PyObject *type = result ? PyType_FromModuleAndSpec(result, &counter_spec, NULL) : NULL;
    if (!type || PyModule_AddObjectRef(result, "Counter", type)) Py_CLEAR(result);
    Py_XDECREF(type);
    return result;
}
