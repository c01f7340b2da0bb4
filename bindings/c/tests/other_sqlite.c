/* Stands for another SQLite where the machine has none: it answers 77 to everything. */
int sqlite3_open(const char *name, void **database);
int sqlite3_prepare_v2(void *database, const char *sql, int size, void **statement, const char **tail);
int sqlite3_step(void *statement);
int sqlite3_column_int(void *statement, int column);
int sqlite3_finalize(void *statement);
int sqlite3_close(void *database);

int sqlite3_open(const char *name, void **database) { return (void)name, (void)database, 77; }
int sqlite3_prepare_v2(void *database, const char *sql, int size, void **statement, const char **tail) {
  return (void)database, (void)sql, (void)size, (void)statement, (void)tail, 77;
}
int sqlite3_step(void *statement) { return (void)statement, 77; }
int sqlite3_column_int(void *statement, int column) { return (void)statement, (void)column, 77; }
int sqlite3_finalize(void *statement) { return (void)statement, 77; }
int sqlite3_close(void *database) { return (void)database, 77; }
