/* A file system that misbehaves on demand, preloaded into a process.
 *
 * It counts the calls that change the files in the directory TALENTDATA_TEST_DIRECTORY, from 0. Before call
 * number TALENTDATA_TEST_CALL it does what TALENTDATA_TEST_EVENT says: "kill" and "stop" are signals to the
 * process itself, and a number is the errno with which the call fails. A failing write writes the first half. With the
 * call "rename" or "unlink" the event comes before the first such call on a name that ends with TALENTDATA_TEST_NAME.
 *
 * In the directory TALENTDATA_TEST_DISK it notes what each fsync makes permanent: the content of a file in a
 * file that is named "file-" and its inode, and the names in a directory with their inodes, those of directories
 * with a slash, in a file that is named "names-" and the inode of the directory. A removed file stays there as
 * "inode-" and its number, so that no other file gets that.
 *
 * TALENTDATA_TEST_FLOCK is the errno of every flock. The owner of files whose name ends with
 * TALENTDATA_TEST_FOREIGN appears to be another user. */

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
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void must(int succeeded) {
  if (!succeeded) {
    perror("the test's disk");
    abort();
  }
}

static int begins_with(const char *text, const char *start) {
  return start != NULL && strncmp(text, start, strlen(start)) == 0;
}

static int ends_with(const char *text, const char *end) {
  size_t length = strlen(text), wanted = end == NULL ? 0 : strlen(end);
  return end != NULL && length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* The path of an open file; empty if it is unknown. */
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

/* The name of a note; empty if none are taken. */
static const char *note_of(const char *kind, ino_t inode, char *name) {
  const char *disk = getenv("TALENTDATA_TEST_DISK");
  *name = '\0';
  if (disk != NULL) {
    snprintf(name, PATH_MAX, "%s/%s%llu", disk, kind, (unsigned long long)inode);
  }
  return name;
}

/* Records the content of a file or directory. A note is complete or absent, whenever the process is killed. */
static void note(int file) {
  char name[PATH_MAX], unfinished[PATH_MAX], self[64];
  struct stat status;
  must(fstat(file, &status) == 0);
  note_of(S_ISDIR(status.st_mode) ? "names-" : "file-", status.st_ino, name);
  note_of("unfinished-", 0, unfinished);
  if (*name == '\0') {
    return;
  }
  snprintf(self, sizeof self, "/proc/self/fd/%d", file);
  int source = open(self, O_RDONLY);
  FILE *note = fopen(unfinished, "w");
  must(source >= 0 && note != NULL);
  DIR *names = S_ISDIR(status.st_mode) ? fdopendir(source) : NULL;
  struct dirent *entry;
  while (names != NULL && (entry = readdir(names)) != NULL) {
    int dots = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (!dots && fstatat(source, entry->d_name, &status, 0) == 0) {
      const char *mark = S_ISDIR(status.st_mode) ? "/" : "";
      unsigned long long inode = status.st_ino;
      fprintf(note, "%llu %s%s\n", inode, entry->d_name, mark);
    }
  }
  ssize_t sent = names == NULL;
  while (sent > 0) {
    sent = sendfile(fileno(note), source, NULL, 1 << 20);
  }
  must(sent == 0);
  must((names != NULL ? closedir(names) : close(source)) == 0);
  must(fclose(note) == 0 && REAL(rename)(unfinished, name) == 0);
}

/* Keeps a file that loses its name. */
static void keep(const char *path) {
  char kept[PATH_MAX];
  struct stat status;
  if (begins_with(path, getenv("TALENTDATA_TEST_DIRECTORY")) && lstat(path, &status) == 0 &&
      *note_of("inode-", status.st_ino, kept) != '\0') {
    must(link(path, kept) == 0);
  }
}

int fsync(int file) {
  char path[PATH_MAX];
  if (event("fsync", path_of(file, path)) != 0) {
    return -1;
  }
  /* What was noted is on the disk. */
  note(file);
  return 0;
}

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if ((flags & O_CREAT) != 0 && event("open", path) != 0) {
    return -1;
  }
  return REAL(open64)(path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t length) {
  char path[PATH_MAX];
  if (event("write", path_of(file, path)) != 0) {
    int failure = errno;
    must(REAL(write)(file, bytes, length / 2) >= 0);
    errno = failure;
    return -1;
  }
  return REAL(write)(file, bytes, length);
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

int rmdir(const char *path) { return event("rmdir", path) != 0 ? -1 : REAL(rmdir)(path); }

int mkdir(const char *path, mode_t mode) {
  char name[PATH_MAX];
  struct stat status;
  int result = event("mkdir", path) != 0 ? -1 : REAL(mkdir)(path, mode);
  /* What was noted of an older directory with the same inode is not of this one. */
  if (result == 0 && lstat(path, &status) == 0 && *note_of("names-", status.st_ino, name) != '\0') {
    REAL(unlink)(name);
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

int statx(int directory, const char *restrict path, int flags, unsigned mask, struct statx *restrict status) {
  char name[PATH_MAX];
  int result = REAL(statx)(directory, path, flags, mask, status);
  int is_open = (flags & AT_EMPTY_PATH) != 0 && *path == '\0';
  const char *foreign = getenv("TALENTDATA_TEST_FOREIGN");
  if (result == 0 && ends_with(is_open ? path_of(directory, name) : path, foreign)) {
    status->stx_uid += 1;
  }
  return result;
}
