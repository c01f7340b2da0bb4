/* A disk that remembers only what was synced: preloaded into a process, it notes in the folder
 * TALENTDATA_TEST_DISK what each fsync makes last. The content of a file goes into a file that is
 * named by its inode, the names in a folder with their inodes into the file "names".
 *
 * The fsync that TALENTDATA_TEST_FAIL_SYNC names, counted from 0, fails. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Notes are whole or not there, whenever the process is killed. */
static FILE *begin(char *temporary, size_t size, const char *disk) {
    snprintf(temporary, size, "%s/unfinished", disk);
    return fopen(temporary, "w");
}

static int end(FILE *note, const char *temporary, const char *disk, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", disk, name);
    return fclose(note) == 0 ? rename(temporary, path) : -1;
}

static int note_file(int file, ino_t inode, const char *disk) {
    char self[64], temporary[4096], name[32], piece[65536];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file);
    snprintf(name, sizeof name, "%llu", (unsigned long long)inode);
    int source = open(self, O_RDONLY);
    FILE *note = begin(temporary, sizeof temporary, disk);
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

static int note_folder(int folder, const char *disk) {
    char temporary[4096];
    DIR *names = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY));
    FILE *note = begin(temporary, sizeof temporary, disk);
    if (names == NULL || note == NULL) {
        return -1;
    }
    struct dirent *entry;
    struct stat status;
    while ((entry = readdir(names)) != NULL) {
        if (fstatat(folder, entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode)) {
            fprintf(note, "%llu %s\n", (unsigned long long)status.st_ino, entry->d_name);
        }
    }
    closedir(names);
    return end(note, temporary, disk, "names");
}

int fsync(int file) {
    static int synced = 0;
    const char *failing = getenv("TALENTDATA_TEST_FAIL_SYNC");
    if (failing != NULL && synced++ == atoi(failing)) {
        errno = EIO;
        return -1;
    }
    struct stat status;
    const char *disk = getenv("TALENTDATA_TEST_DISK");
    if (disk != NULL && fstat(file, &status) == 0) {
        int noted = S_ISDIR(status.st_mode) ? note_folder(file, disk)
                                            : note_file(file, status.st_ino, disk);
        if (noted != 0) {
            perror("the test's disk");
            abort();
        }
    }
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return real(file);
}
