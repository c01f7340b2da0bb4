// Files held against their receipts. Included by talentdata.hpp.
#pragma once

#include <talentdata/json.hpp>

#include <string>
#include <string_view>
#include <utility>

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

#if defined(__cpp_exceptions)
inline verification verify(const std::string &file, const std::string &receipt) {
  return detail::take(try_verify(file, receipt));
}
#endif

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
