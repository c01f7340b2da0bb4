// Files compared with their receipts. Included by talentdata.hpp.
#pragma once

#include <talentdata/json.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// What a file is, compared with what an export has written.
struct verification {
  /// Whether the file is what was written, byte for byte.
  bool matches = false;
  /// The report: what the file is, and what was written.
  std::string json{};

  explicit operator bool() const noexcept { return matches; }
};

/// Checks a file against its export receipt, which is JSON or the path of a file with it.
inline result<verification> try_verify(const std::string &file, const std::string &receipt) {
  bool matches = false;
  talentdata_json_text *raw = nullptr;
  if (talentdata_error *cause = talentdata_verify(file.c_str(), receipt.c_str(), &matches, &raw)) return error(cause);
  const json_text report(raw);
  return verification{matches, std::string(report.json())};
}

#if defined(__cpp_exceptions)
inline verification verify(const std::string &file, const std::string &receipt) {
  return detail::take(try_verify(file, receipt));
}
#endif

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
