/* Counts the calls that change files below a folder, of all processes of a command, and strikes at one of them:
   a kill of all processes, a kill in the middle of a write, or an error. Loaded before libc (LD_PRELOAD), so it
   needs no right to trace. A process finds what to do in the file that the variable HEADROLES_STRIKE names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LENGTH 4096

struct strike {
    atomic_long count; /* changes so far, of all processes */
    long at, half, error, lasting, group, alone;
    char root[LENGTH], log[LENGTH];
};

static struct strike *strike;

__attribute__((visibility("default"))) void begin_strike(const char *file) {
    int descriptor = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return;
    void *mapped = mmap(0, sizeof *strike, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (mapped != MAP_FAILED) strike = mapped;
}

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("HEADROLES_STRIKE");
    if (file) begin_strike(file);
}

/* Write the path of a file below the root, without points, and return whether it lies there. */
static int inside(int folder, const char *path, char *out) {
    char whole[2 * LENGTH] = "", link[40];
    if (!path || path[0] != '/') {
        ssize_t size = 0;
        if (folder == AT_FDCWD) {
            if (syscall(SYS_getcwd, whole, LENGTH) < 0) return 0;
            size = strlen(whole);
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            size = readlink(link, whole, LENGTH - 1);
            if (size <= 0) return 0;
        }
        whole[size] = 0;
        if (path) whole[size++] = '/';
        whole[size] = 0;
    }
    if (path) strncat(whole, path, LENGTH - 1);
    if (whole[0] != '/') return 0;
    char clean[2 * LENGTH] = "", *rest = whole, *part;
    while ((part = strsep(&rest, "/"))) {
        if (!*part || !strcmp(part, ".")) continue;
        if (!strcmp(part, "..")) {
            char *last = strrchr(clean, '/');
            if (last) *last = 0;
            continue;
        }
        strcat(strcat(clean, "/"), part);
    }
    size_t length = strlen(strike->root);
    if (strncmp(clean, strike->root, length) || clean[length] != '/') return 0;
    snprintf(out, LENGTH, "%s", clean + length + 1);
    return 1;
}

static void kill_all(void) {
    syscall(SYS_kill, strike->alone ? strike->group : -strike->group, SIGKILL);
}

/* Count a change; return 0 to go on, 1 to do half of it and die, -1 to fail with the error in errno. */
static int change(const char *event, int grows, const char *first, const char *second) {
    char line[3 * LENGTH];
    int size = snprintf(line, sizeof line, "%s %s%s%s\n", event, first, second ? " " : "", second ? second : "");
    long number = atomic_fetch_add(&strike->count, 1) + 1;
    int log = syscall(SYS_openat, AT_FDCWD, strike->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log >= 0) {
        syscall(SYS_write, log, line, size);
        syscall(SYS_close, log);
    }
    if (!strike->at || (number != strike->at && !(strike->lasting && grows && number > strike->at))) return 0;
    if (strike->error) {
        errno = strike->error;
        return -1;
    }
    if (strike->half) return 1;
    kill_all();
    return 0;
}

static int at_path(const char *event, int grows, int folder, const char *path) {
    char place[LENGTH];
    return strike && path && inside(folder, path, place) ? change(event, grows, place, 0) : 0;
}

static int at_paths(const char *event, int from, const char *old, int to, const char *new) {
    char first[LENGTH] = "", second[LENGTH] = "";
    if (!strike) return 0;
    int both = inside(from, old, first) | inside(to, new, second);
    return both ? change(event, 0, first, second) : 0;
}

static int at_file(const char *event, int grows, int file) {
    char place[LENGTH];
    struct stat status;
    if (!strike || fstat(file, &status) || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return 0;
    return inside(file, 0, place) ? change(event, grows, place, 0) : 0;
}

#define NEXT(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))
#define WRITES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))
#define MODE(flags, last) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, last); mode = va_arg(rest, mode_t); va_end(rest); }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        MODE(flags, flags) \
        if (WRITES(flags) && at_path("open", 1, AT_FDCWD, path) < 0) return -1; \
        return NEXT(name)(path, flags, mode); \
    }
#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        MODE(flags, flags) \
        if (WRITES(flags) && at_path("open", 1, folder, path) < 0) return -1; \
        return NEXT(name)(folder, path, flags, mode); \
    }
#define FOPEN(name) \
    FILE *name(const char *path, const char *mode) { \
        if (strpbrk(mode, "wa+") && at_path("open", 1, AT_FDCWD, path) < 0) return 0; \
        return NEXT(name)(path, mode); \
    }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64) FOPEN(fopen) FOPEN(fopen64)

int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

ssize_t write(int file, const void *data, size_t size) {
    int how = at_file("write", 1, file);
    if (how > 0) {
        syscall(SYS_write, file, data, size / 2);
        kill_all();
    }
    return how < 0 ? -1 : syscall(SYS_write, file, data, size);
}

#define PWRITE(name) \
    ssize_t name(int file, const void *data, size_t size, off_t start) { \
        int how = at_file("write", 1, file); \
        if (how > 0) { \
            syscall(SYS_pwrite64, file, data, size / 2, start); \
            kill_all(); \
        } \
        return how < 0 ? -1 : syscall(SYS_pwrite64, file, data, size, start); \
    }
PWRITE(pwrite) PWRITE(pwrite64)

ssize_t writev(int file, const struct iovec *parts, int count) {
    int how = at_file("write", 1, file);
    if (how > 0) {
        syscall(SYS_write, file, parts[0].iov_base, parts[0].iov_len / 2);
        kill_all();
    }
    return how < 0 ? -1 : syscall(SYS_writev, file, parts, count);
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
    int how = at_file("write", 1, fileno(file));
    if (how > 0) {
        NEXT(fwrite)(data, 1, size * count / 2, file);
        fflush(file);
        kill_all();
    }
    return how < 0 ? 0 : NEXT(fwrite)(data, size, count, file);
}

#define COPY(name, number) \
    ssize_t name(int to, int from, off_t *start, size_t size) { \
        int how = at_file("write", 1, to); \
        if (how > 0) { \
            syscall(number, to, from, start, size / 2); \
            kill_all(); \
        } \
        return how < 0 ? -1 : syscall(number, to, from, start, size); \
    }
COPY(sendfile, SYS_sendfile) COPY(sendfile64, SYS_sendfile)

ssize_t copy_file_range(int from, off_t *first, int to, off_t *second, size_t size, unsigned flags) {
    int how = at_file("write", 1, to);
    if (how > 0) {
        syscall(SYS_copy_file_range, from, first, to, second, size / 2, flags);
        kill_all();
    }
    return how < 0 ? -1 : syscall(SYS_copy_file_range, from, first, to, second, size, flags);
}

#define OF_FILE(event, name, types, ...) \
    int name types { return at_file(event, 1, file) < 0 ? -1 : NEXT(name)(__VA_ARGS__); }
OF_FILE("truncate", ftruncate, (int file, off_t size), file, size)
OF_FILE("truncate", ftruncate64, (int file, off_t size), file, size)
OF_FILE("truncate", fallocate, (int file, int how, off_t start, off_t size), file, how, start, size)
OF_FILE("sync", fsync, (int file), file)
OF_FILE("sync", fdatasync, (int file), file)

int posix_fallocate(int file, off_t start, off_t size) { /* returns its error */
    return at_file("truncate", 1, file) < 0 ? errno : NEXT(posix_fallocate)(file, start, size);
}
int posix_fallocate64(int file, off_t start, off_t size) { return posix_fallocate(file, start, size); }

#define OF_PATH(event, grows, name, folder, types, ...) \
    int name types { return at_path(event, grows, folder, path) < 0 ? -1 : NEXT(name)(__VA_ARGS__); }
OF_PATH("truncate", 1, truncate, AT_FDCWD, (const char *path, off_t size), path, size)
OF_PATH("truncate", 1, truncate64, AT_FDCWD, (const char *path, off_t size), path, size)
OF_PATH("mkdir", 1, mkdir, AT_FDCWD, (const char *path, mode_t mode), path, mode)
OF_PATH("mkdir", 1, mkdirat, place, (int place, const char *path, mode_t mode), place, path, mode)
OF_PATH("remove", 0, unlink, AT_FDCWD, (const char *path), path)
OF_PATH("rmdir", 0, rmdir, AT_FDCWD, (const char *path), path)
OF_PATH(flags & AT_REMOVEDIR ? "rmdir" : "remove", 0, unlinkat, place, (int place, const char *path, int flags),
        place, path, flags)
OF_PATH("link", 0, symlink, AT_FDCWD, (const char *old, const char *path), old, path)
OF_PATH("link", 0, symlinkat, place, (const char *old, int place, const char *path), old, place, path)

int remove(const char *path) {
    struct stat status;
    return !lstat(path, &status) && S_ISDIR(status.st_mode) ? rmdir(path) : unlink(path);
}

#define OF_PATHS(event, name, from, to, types, ...) \
    int name types { return at_paths(event, from, old, to, new) < 0 ? -1 : NEXT(name)(__VA_ARGS__); }
OF_PATHS("rename", rename, AT_FDCWD, AT_FDCWD, (const char *old, const char *new), old, new)
OF_PATHS("rename", renameat, a, b, (int a, const char *old, int b, const char *new), a, old, b, new)
OF_PATHS("rename", renameat2, a, b, (int a, const char *old, int b, const char *new, unsigned flags), a, old, b,
         new, flags)
OF_PATHS("link", link, AT_FDCWD, AT_FDCWD, (const char *old, const char *new), old, new)
OF_PATHS("link", linkat, a, b, (int a, const char *old, int b, const char *new, int flags), a, old, b, new, flags)
