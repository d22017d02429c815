/* Faults below any library: replaces libc's calls on files (LD_PRELOAD) and numbers those in one
 * folder, made by Python, Arrow's C++, or delta-rs and Sail in Rust. At one of them it injects a
 * fault (tests/faults/interposer.py lists them).
 *
 * The folder, the number and the fault are in a file that all processes of a case map, in the
 * layout that interposer.py has too; without it, calls are passed on unchanged. The environment
 * variable FAULTS_CONTROL names the file for a new process, faults_attach() for a forked one.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NONE, KILL, STOP, ERROR, FULL, TORN, LIE, SHORT };
enum { READS = 'r', CHANGES = 'c', WRITES = 'w', SYNCS = 's' };

#define LINES 8192
#define WIDTH 240
#define DESCRIPTORS 4096

struct control {
    int32_t fault;
    int32_t group;   /* process group that KILL kills; 0: only this process */
    int64_t target;  /* number of the operation, from 1 */
    int64_t count;   /* operations so far */
    int64_t fired;   /* number of the disturbed operation; 0: none yet */
    char root[1000];
    char lines[LINES][WIDTH]; /* kind, call and path of each operation */
};

static struct control *control;
static char inside[DESCRIPTORS][160]; /* path of each descriptor in the folder; empty: outside */

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) { fprintf(stderr, "no %s to call\n", name); abort(); }
    return function;
}
/* Looks a function up once for each call site. */
#define CALL(name) ({ static __typeof__(&name) known; if (!known) known = REAL(name); known; })

int faults_attach(const char *path) {
    int fd = CALL(open)(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return -1;
    void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CALL(close)(fd);
    if (mapped == MAP_FAILED) return -1;
    control = mapped;
    memset(inside, 0, sizeof inside);
    return 0;
}

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("FAULTS_CONTROL");
    if (path && *path) faults_attach(path);
}

static const char *below(const char *path) {
    if (!control || !path || !control->root[0]) return NULL;
    size_t length = strlen(control->root);
    if (strncmp(path, control->root, length) || (path[length] != '/' && path[length])) return NULL;
    return path[length] ? path + length + 1 : ".";
}

static int known(int fd) {
    return control && fd >= 0 && fd < DESCRIPTORS && inside[fd][0];
}

/* The path of a call relative to the folder; NULL if it is outside. */
static const char *named(int folder, const char *path, char *buffer) {
    if (!control || !path) return NULL;
    if (path[0] == '/') return below(path);
    if (!known(folder)) return NULL;
    snprintf(buffer, 160, "%s/%s", inside[folder], path);
    return buffer;
}

static void remember(int fd, const char *path) {
    if (fd >= 0 && fd < DESCRIPTORS) snprintf(inside[fd], sizeof inside[fd], "%s", path ? path : "");
}

/* Count an operation; the fault to apply to it. KILL and STOP are applied here. */
static int operation(char kind, const char *call, const char *path) {
    int64_t number = __atomic_add_fetch(&control->count, 1, __ATOMIC_SEQ_CST);
    if (number <= LINES)
        snprintf(control->lines[number - 1], WIDTH, "%c %s %s", kind, call, path);
    int fault = control->fault;
    if (fault == FULL) {
        /* A full disk stays full. */
        int needs_space = kind == WRITES || !strcmp(call, "create") || !strcmp(call, "mkdir");
        if (number < control->target || !needs_space) return NONE;
        if (!control->fired) control->fired = number;
        return FULL;
    }
    if (fault == NONE || number != control->target) return NONE;
    control->fired = number;
    if (fault == KILL || (fault == TORN && kind != WRITES)) {
        kill(control->group ? -control->group : getpid(), SIGKILL);
        for (;;) pause();
    }
    if (fault == STOP) {
        kill(getpid(), SIGSTOP);
        return NONE;
    }
    if (fault == SHORT && kind != WRITES && strcmp(call, "read")) return NONE;
    return fault;
}

#define FAIL(fault) do { errno = (fault) == FULL ? ENOSPC : EIO; return -1; } while (0)

static int opened(int (*call)(void *), void *arguments, int flags, const char *path) {
    if (!path) {
        int fd = call(arguments);
        if (control) remember(fd, NULL);
        return fd;
    }
    int writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT);
    int fault = operation(writes ? CHANGES : READS, flags & O_CREAT ? "create" : "open", path);
    if (fault == ERROR || fault == FULL) FAIL(fault);
    int fd = call(arguments);
    if (fault == LIE && fd >= 0) {
        CALL(close)(fd);
        FAIL(fault);
    }
    remember(fd, path);
    return fd;
}

struct opening { int folder; const char *path; int flags; mode_t mode; };

#define OPEN(name)                                                                               \
    static int call_##name(void *given) {                                                        \
        struct opening *o = given;                                                               \
        return CALL(name)(o->path, o->flags, o->mode);                                           \
    }                                                                                            \
    int name(const char *path, int flags, ...) {                                                 \
        va_list rest;                                                                            \
        va_start(rest, flags);                                                                   \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                  \
        va_end(rest);                                                                            \
        struct opening o = {AT_FDCWD, path, flags, mode};                                        \
        return opened(call_##name, &o, flags, below(path));                                      \
    }
#define OPENAT(name)                                                                             \
    static int call_##name(void *given) {                                                        \
        struct opening *o = given;                                                               \
        return CALL(name)(o->folder, o->path, o->flags, o->mode);                                \
    }                                                                                            \
    int name(int folder, const char *path, int flags, ...) {                                     \
        va_list rest;                                                                            \
        va_start(rest, flags);                                                                   \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                  \
        va_end(rest);                                                                            \
        char buffer[160];                                                                        \
        struct opening o = {folder, path, flags, mode};                                          \
        return opened(call_##name, &o, flags, named(folder, path, buffer));                      \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    if (known(fd)) inside[fd][0] = 0;
    return CALL(close)(fd);
}

#define OPENDIR_FAILS(path)                                                                      \
    const char *place = below(path);                                                             \
    if (place) {                                                                                 \
        int fault = operation(READS, "list", place);                                             \
        if (fault == ERROR || fault == LIE) { errno = EIO; return NULL; }                        \
    }
DIR *opendir(const char *path) {
    OPENDIR_FAILS(path)
    DIR *folder = CALL(opendir)(path);
    if (place && folder) remember(dirfd(folder), place);
    return folder;
}

#define WRITE(name, size, ...)                                                                   \
    {                                                                                            \
        if (!known(fd)) return CALL(name)(fd, buffer, size, ##__VA_ARGS__);                      \
        int fault = operation(WRITES, "write", inside[fd]);                                      \
        if (fault == ERROR || fault == FULL) FAIL(fault);                                        \
        if ((fault == SHORT || fault == TORN) && size > 1) {                                     \
            ssize_t done = CALL(name)(fd, buffer, size / 2, ##__VA_ARGS__);                      \
            if (fault == SHORT) return done;                                                     \
            kill(control->group ? -control->group : getpid(), SIGKILL);                          \
            for (;;) pause();                                                                    \
        }                                                                                        \
        ssize_t done = CALL(name)(fd, buffer, size, ##__VA_ARGS__);                              \
        if (fault == LIE) FAIL(fault);                                                           \
        return done;                                                                             \
    }
ssize_t write(int fd, const void *buffer, size_t size) WRITE(write, size)
ssize_t pwrite(int fd, const void *buffer, size_t size, off_t at) WRITE(pwrite, size, at)
ssize_t pwrite64(int fd, const void *buffer, size_t size, off64_t at) WRITE(pwrite64, size, at)
ssize_t writev(int fd, const struct iovec *buffer, int size) WRITE(writev, size)

#define READ(name, ...)                                                                          \
    {                                                                                            \
        if (!known(fd)) return CALL(name)(fd, buffer, size, ##__VA_ARGS__);                      \
        int fault = operation(READS, "read", inside[fd]);                                        \
        if (fault == ERROR || fault == LIE) FAIL(ERROR);                                         \
        size_t wanted = fault == SHORT && size > 1 ? size / 2 : size;                            \
        return CALL(name)(fd, buffer, wanted, ##__VA_ARGS__);                                    \
    }
ssize_t read(int fd, void *buffer, size_t size) READ(read)
ssize_t pread(int fd, void *buffer, size_t size, off_t at) READ(pread, at)
ssize_t pread64(int fd, void *buffer, size_t size, off64_t at) READ(pread64, at)

/* Calls that return 0 or -1 and take paths or a descriptor. */
#define CHANGE(kind, what, place, call)                                                          \
    {                                                                                            \
        char buffer[160];                                                                        \
        (void)buffer;                                                                            \
        const char *path_below = place;                                                          \
        if (!path_below) return call;                                                            \
        int fault = operation(kind, what, path_below);                                           \
        if (fault == ERROR || fault == FULL) FAIL(fault);                                        \
        int result = call;                                                                       \
        if (fault == LIE && !result) FAIL(fault);                                                \
        return result;                                                                           \
    }
int rename(const char *from, const char *to)
    CHANGE(CHANGES, "rename", below(to), CALL(rename)(from, to))
int renameat(int f, const char *from, int t, const char *to)
    CHANGE(CHANGES, "rename", named(t, to, buffer), CALL(renameat)(f, from, t, to))
int renameat2(int f, const char *from, int t, const char *to, unsigned flags)
    CHANGE(CHANGES, "rename", named(t, to, buffer), CALL(renameat2)(f, from, t, to, flags))
int link(const char *from, const char *to)
    CHANGE(CHANGES, "link", below(to), CALL(link)(from, to))
int linkat(int f, const char *from, int t, const char *to, int flags)
    CHANGE(CHANGES, "link", named(t, to, buffer), CALL(linkat)(f, from, t, to, flags))
int symlink(const char *from, const char *to)
    CHANGE(CHANGES, "symlink", below(to), CALL(symlink)(from, to))
int unlink(const char *path)
    CHANGE(CHANGES, "unlink", below(path), CALL(unlink)(path))
int unlinkat(int folder, const char *path, int flags)
    CHANGE(CHANGES, "unlink", named(folder, path, buffer), CALL(unlinkat)(folder, path, flags))
int rmdir(const char *path)
    CHANGE(CHANGES, "rmdir", below(path), CALL(rmdir)(path))
int mkdir(const char *path, mode_t mode)
    CHANGE(CHANGES, "mkdir", below(path), CALL(mkdir)(path, mode))
int mkdirat(int folder, const char *path, mode_t mode)
    CHANGE(CHANGES, "mkdir", named(folder, path, buffer), CALL(mkdirat)(folder, path, mode))
int ftruncate(int fd, off_t size)
    CHANGE(CHANGES, "truncate", known(fd) ? inside[fd] : NULL, CALL(ftruncate)(fd, size))
int ftruncate64(int fd, off64_t size)
    CHANGE(CHANGES, "truncate", known(fd) ? inside[fd] : NULL, CALL(ftruncate64)(fd, size))
int fsync(int fd)
    CHANGE(SYNCS, "sync", known(fd) ? inside[fd] : NULL, CALL(fsync)(fd))
int fdatasync(int fd)
    CHANGE(SYNCS, "sync", known(fd) ? inside[fd] : NULL, CALL(fdatasync)(fd))
