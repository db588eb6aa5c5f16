/* A disk that fails on command. Loaded before the C library (LD_PRELOAD), it intercepts the calls that reach the database.
 *
 * The file named by FAULT selects the calls that fail, in four words: the call (sync, write, short, truncate, read), the end
 * of the file name, the error number, and how many such calls still succeed. `short` writes half, and fails the next time, as
 * a disk does that fills up. Without the file no call fails. Each failure appends a byte to the file FAULT.met. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int done, halves;

/* Whether the file's name has this ending. */
static int is_named(int file, const char *end) {
    char link[32], name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name - 1);
    size_t wanted = strlen(end);
    return length >= (ssize_t)wanted && memcmp(name + length - wanted, end, wanted) == 0;
}

/* Returns the error number of this call, or 0 if it succeeds. */
static int fault(const char *call, int file) {
    const char *control = getenv("FAULT");
    char text[128], what[16], end[64], met[4096];
    int number, working, kept = errno;
    if (control == NULL) return 0;
    int opened = syscall(SYS_openat, AT_FDCWD, control, O_RDONLY | O_CLOEXEC);
    errno = kept;
    if (opened < 0) {
        done = 0;
        return 0;
    }
    ssize_t length = syscall(SYS_read, opened, text, sizeof text - 1);
    syscall(SYS_close, opened);
    errno = kept;
    if (length <= 0) return 0;
    text[length] = 0;
    if (sscanf(text, "%15s %63s %d %d", what, end, &number, &working) != 4) return 0;
    if (strcmp(what, call) != 0 || !is_named(file, end) || done++ < working) return 0;
    snprintf(met, sizeof met, "%s.met", control);
    int noted = syscall(SYS_openat, AT_FDCWD, met, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    syscall(SYS_write, noted, "!", 1);
    syscall(SYS_close, noted);
    errno = number;
    return number;
}

/* Returns how many bytes of a write succeed, or -1. */
static ssize_t room(int file, size_t length) {
    if (fault("write", file)) return -1;
    if (length < 2 || !fault("short", file)) return length;
    return halves++ % 2 == 0 ? (ssize_t)(length / 2) : -1;
}

int fsync(int file) { return fault("sync", file) ? -1 : syscall(SYS_fsync, file); }
int fdatasync(int file) { return fault("sync", file) ? -1 : syscall(SYS_fdatasync, file); }

int ftruncate64(int file, off64_t length) {
    return fault("truncate", file) ? -1 : syscall(SYS_ftruncate, file, length);
}
int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

ssize_t write(int file, const void *from, size_t length) {
    ssize_t fits = room(file, length);
    return fits < 0 ? -1 : syscall(SYS_write, file, from, fits);
}
ssize_t pwrite64(int file, const void *from, size_t length, off64_t at) {
    ssize_t fits = room(file, length);
    return fits < 0 ? -1 : syscall(SYS_pwrite64, file, from, fits, at);
}
ssize_t pwrite(int file, const void *from, size_t length, off_t at) { return pwrite64(file, from, length, at); }

ssize_t read(int file, void *into, size_t length) {
    return fault("read", file) ? -1 : syscall(SYS_read, file, into, length);
}
ssize_t pread64(int file, void *into, size_t length, off64_t at) {
    return fault("read", file) ? -1 : syscall(SYS_pread64, file, into, length, at);
}
ssize_t pread(int file, void *into, size_t length, off_t at) { return pread64(file, into, length, at); }
