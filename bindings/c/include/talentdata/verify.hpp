// Files held against their receipts, and statements that apply changes to tables. Included by talentdata.hpp.
#pragma once

#include <talentdata/json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// What a file is, and how it differs from what an export has written.
struct verification {
  /// Whether the file is what was written, byte for byte.
  bool holds = false;
  /// The report: what differs, and what the file is.
  std::string json{};

  explicit operator bool() const noexcept { return holds; }
};

/// Holds a file against the receipt of the export that wrote it, which is the path of a file, too.
inline result<verification> try_verify(const std::string &file, const std::string &receipt) {
  bool holds = false;
  talentdata_json_text *raw = nullptr;
  if (talentdata_error *cause = talentdata_verify(file.c_str(), receipt.c_str(), &holds, &raw)) return error(cause);
  const json_text report(raw);
  return verification{holds, std::string(report.json())};
}

/// The statement that applies the changes of a mirror to a table with the column _key and these; see
/// talentdata_merge_sql.
inline result<std::string> try_merge_sql(talentdata_dialect dialect, const std::string &table,
                                         const std::vector<std::string> &columns) {
  std::vector<const char *> names;
  for (const std::string &column : columns) names.push_back(column.c_str());
  talentdata_statement *raw = nullptr;
  if (talentdata_error *cause =
          talentdata_merge_sql(dialect, table.c_str(), names.data(), names.size(), &raw)) {
    return error(cause);
  }
  const detail::handle<talentdata_statement, talentdata_statement_free> statement(raw);
  return std::string(
      detail::sure<std::string_view>([&](auto *out) { return talentdata_statement_text(statement.get(), out); }));
}

#if defined(__cpp_exceptions)
inline verification verify(const std::string &file, const std::string &receipt) {
  return detail::take(try_verify(file, receipt));
}
inline std::string merge_sql(talentdata_dialect dialect, const std::string &table,
                             const std::vector<std::string> &columns) {
  return detail::take(try_merge_sql(dialect, table, columns));
}
#endif

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
