/* A file system that misbehaves on demand, preloaded into a process.
 *
 * It counts the calls that change the files in the directory TALENTDATA_TEST_DIRECTORY, from 0. Before call
 * number TALENTDATA_TEST_CALL it does what TALENTDATA_TEST_EVENT says: "kill" and "stop" are signals to the
 * process itself, a number is the errno with which the call fails. With the call "rename" or "unlink" the
 * event comes before the first such call on a name that ends with TALENTDATA_TEST_NAME.
 *
 * In the directory TALENTDATA_TEST_DISK it notes what each fsync makes permanent: the content of a file in a
 * file that is named by its inode, and the names in a directory with their inodes, those of directories with a
 * slash, in a file with the inode of the directory behind "names-". A removed file stays there as "inode-" and its
 * number, so that no other file gets that.
 *
 * TALENTDATA_TEST_FLOCK is the errno of every flock. With TALENTDATA_TEST_CLOCK the time of day jumps by a
 * year, back and forth, at every look. The owner of files whose name ends with TALENTDATA_TEST_FOREIGN
 * appears to be another user. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int begins_with(const char *text, const char *start) {
    return start != NULL && strncmp(text, start, strlen(start)) == 0;
}

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), wanted = end == NULL ? 0 : strlen(end);
    return end != NULL && length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* The path of an open file; empty if it cannot be told. */
static const char *path_of(int file, char *path) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file);
    ssize_t length = readlink(self, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = '\0';
    return path;
}

/* Counts a call; nonzero if it has to fail. */
static int event(const char *call, const char *path) {
    static atomic_int counted = 0;
    if (!begins_with(path, getenv("TALENTDATA_TEST_DIRECTORY"))) {
        return 0;
    }
    int number = atomic_fetch_add(&counted, 1);
    const char *wanted = getenv("TALENTDATA_TEST_CALL"), *event = getenv("TALENTDATA_TEST_EVENT");
    if (wanted == NULL || event == NULL) {
        return 0;
    }
    int named = strcmp(wanted, call) == 0 && ends_with(path, getenv("TALENTDATA_TEST_NAME"));
    if (!named && (*wanted < '0' || *wanted > '9' || atoi(wanted) != number)) {
        return 0;
    }
    if (strcmp(event, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(event, "stop") == 0) {
        raise(SIGSTOP);
        return 0;
    }
    errno = atoi(event);
    return -1;
}

/* Notes are complete or absent, whenever the process is killed. */
static FILE *begin(char *temporary, const char *disk) {
    snprintf(temporary, PATH_MAX, "%s/unfinished", disk);
    return fopen(temporary, "w");
}

static int end(FILE *note, const char *temporary, const char *disk, const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", disk, name);
    return fclose(note) == 0 ? REAL(rename)(temporary, path) : -1;
}

static int note_file(int file, ino_t inode, const char *disk) {
    char self[64], temporary[PATH_MAX], name[32], piece[65536];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file);
    snprintf(name, sizeof name, "%llu", (unsigned long long)inode);
    int source = open(self, O_RDONLY);
    FILE *note = begin(temporary, disk);
    if (source < 0 || note == NULL) {
        return -1;
    }
    ssize_t length;
    while ((length = read(source, piece, sizeof piece)) > 0) {
        fwrite(piece, 1, (size_t)length, note);
    }
    close(source);
    return length < 0 ? -1 : end(note, temporary, disk, name);
}

/* Keeps a file that loses its name. */
static void keep(const char *path) {
    const char *disk = getenv("TALENTDATA_TEST_DISK");
    struct stat status;
    if (disk != NULL && begins_with(path, getenv("TALENTDATA_TEST_DIRECTORY")) &&
        lstat(path, &status) == 0) {
        char kept[PATH_MAX];
        snprintf(kept, sizeof kept, "%s/inode-%llu", disk, (unsigned long long)status.st_ino);
        if (link(path, kept) != 0) {
            perror("the test's disk");
            abort();
        }
    }
}

static int note_directory(int directory, ino_t inode, const char *disk) {
    char temporary[PATH_MAX], name[32];
    snprintf(name, sizeof name, "names-%llu", (unsigned long long)inode);
    DIR *names = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY));
    FILE *note = begin(temporary, disk);
    if (names == NULL || note == NULL) {
        return -1;
    }
    struct dirent *entry;
    struct stat status;
    while ((entry = readdir(names)) != NULL) {
        int dots = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (dots || fstatat(directory, entry->d_name, &status, 0) != 0) {
            continue;
        }
        const char *mark = S_ISDIR(status.st_mode) ? "/" : "";
        fprintf(note, "%llu %s%s\n", (unsigned long long)status.st_ino, entry->d_name, mark);
    }
    closedir(names);
    return end(note, temporary, disk, name);
}

int fsync(int file) {
    char path[PATH_MAX];
    if (event("fsync", path_of(file, path)) != 0) {
        return -1;
    }
    struct stat status;
    const char *disk = getenv("TALENTDATA_TEST_DISK");
    if (disk != NULL && fstat(file, &status) == 0) {
        int noted = S_ISDIR(status.st_mode) ? note_directory(file, status.st_ino, disk)
                                            : note_file(file, status.st_ino, disk);
        if (noted != 0) {
            perror("the test's disk");
            abort();
        }
    }
    return REAL(fsync)(file);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if ((flags & O_CREAT) != 0 && event("open", path) != 0) {
        return -1;
    }
    int file = REAL(open64)(path, flags, mode);
    struct stat status;
    const char *disk = getenv("TALENTDATA_TEST_DISK");
    if (disk != NULL && file >= 0 && (flags & O_EXCL) != 0 && fstat(file, &status) == 0) {
        /* An older file had the same inode. */
        char note[PATH_MAX];
        snprintf(note, sizeof note, "%s/%llu", disk, (unsigned long long)status.st_ino);
        REAL(unlink)(note);
    }
    return file;
}

ssize_t write(int file, const void *bytes, size_t length) {
    char path[PATH_MAX];
    return event("write", path_of(file, path)) != 0 ? -1 : REAL(write)(file, bytes, length);
}

int ftruncate64(int file, off64_t length) {
    char path[PATH_MAX];
    return event("truncate", path_of(file, path)) != 0 ? -1 : REAL(ftruncate64)(file, length);
}

int fchmod(int file, mode_t mode) {
    char path[PATH_MAX];
    return event("chmod", path_of(file, path)) != 0 ? -1 : REAL(fchmod)(file, mode);
}

int rename(const char *from, const char *to) {
    if (event("rename", from) != 0) {
        return -1;
    }
    keep(to);
    return REAL(rename)(from, to);
}

int rmdir(const char *path) {
    return event("rmdir", path) != 0 ? -1 : REAL(rmdir)(path);
}

int mkdir(const char *path, mode_t mode) {
    if (event("mkdir", path) != 0) {
        return -1;
    }
    int result = REAL(mkdir)(path, mode);
    struct stat status;
    const char *disk = getenv("TALENTDATA_TEST_DISK");
    if (disk != NULL && result == 0 && lstat(path, &status) == 0) {
        /* A directory that was removed had the same inode. */
        char note[PATH_MAX];
        snprintf(note, sizeof note, "%s/names-%llu", disk, (unsigned long long)status.st_ino);
        REAL(unlink)(note);
    }
    return result;
}

int unlink(const char *path) {
    if (event("unlink", path) != 0) {
        return -1;
    }
    keep(path);
    return REAL(unlink)(path);
}

int flock(int file, int operation) {
    const char *failure = getenv("TALENTDATA_TEST_FLOCK");
    if (failure != NULL) {
        errno = atoi(failure);
        return -1;
    }
    return REAL(flock)(file, operation);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static atomic_int looks = 0;
    int result = REAL(clock_gettime)(clock, now);
    if (clock == CLOCK_REALTIME && getenv("TALENTDATA_TEST_CLOCK") != NULL) {
        now->tv_sec += (atomic_fetch_add(&looks, 1) % 3 - 1) * 365 * 24 * 60 * 60;
    }
    return result;
}

int statx(int directory, const char *restrict path, int flags, unsigned mask,
          struct statx *restrict status) {
    char name[PATH_MAX];
    int result = REAL(statx)(directory, path, flags, mask, status);
    if (result != 0) {
        return result;
    }
    int is_open = (flags & AT_EMPTY_PATH) != 0 && *path == '\0';
    if (ends_with(is_open ? path_of(directory, name) : path, getenv("TALENTDATA_TEST_FOREIGN"))) {
        status->stx_uid += 1;
    }
    return result;
}
