#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace pipetrace {

/// The lines of an HTTP/1 request before its body. The text must outlive the object.
class HttpRequest {
 public:
  /// With it the lines end.
  static constexpr std::string_view kEnd = "\r\n\r\n";

  explicit HttpRequest(std::string_view text);

  /// "GET"; empty where the first line is none of HTTP/1.
  std::string_view method() const { return method_; }
  std::string_view path() const { return path_; }
  /// The value of the first header of that name, in any case; empty: there is none.
  std::string_view header(std::string_view name) const;

 private:
  std::string_view method_;
  std::string_view path_;
  std::string_view headers_;
};

/// A part of a file: from `begin` up to `end`, which is not in it.
struct WantedBytes {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool isPart = false;  ///< a range was asked for
};

/// The part of `size` bytes that the value of a header `Range` names, cut at their end. All of them
/// for several ranges, and for a text that is none, as HTTP allows. Nothing where the range has no
/// byte of them.
std::optional<WantedBytes> wantedBytes(std::string_view range, std::size_t size);

}  // namespace pipetrace
