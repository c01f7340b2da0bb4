/* Runs each line of its input as SQL on the database in its argument, like any C program that uses SQLite.
 *
 * An answer begins with a line: `=`, or `!` for an error, and the length of the text that follows. Each row of the text
 * ends with a newline, and tabs separate values. The part of a value after U+0000 is omitted. */

#include <stdio.h>
#include <string.h>

#include "sqlite3.h"

static char answer[1 << 24];
static size_t used;

static int add(void *unused, int count, char **values, char **names) {
  (void)unused, (void)names;
  for (int i = 0; i < count; i++) {
    const char *value = values[i] ? values[i] : "NULL";
    if (used + strlen(value) + 2 > sizeof answer) return 1;
    used += (size_t)sprintf(answer + used, "%s%s", i ? "\t" : "", value);
  }
  answer[used++] = '\n';
  return 0;
}

int main(int argc, char **argv) {
  static char line[1 << 20];
  sqlite3 *connection;
  if (argc != 2 || sqlite3_open(argv[1], &connection) != SQLITE_OK) return 1;
  sqlite3_busy_timeout(connection, 10000);
  printf("%s\n", sqlite3_libversion());
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    used = 0;
    int code = sqlite3_exec(connection, line, add, NULL, NULL);
    if (code != SQLITE_OK) used = (size_t)snprintf(answer, sizeof answer, "%s", sqlite3_errmsg(connection));
    printf("%c%zu\n", code == SQLITE_OK ? '=' : '!', used);
    fwrite(answer, 1, used, stdout);
    fflush(stdout);
  }
  return sqlite3_close(connection);
}
