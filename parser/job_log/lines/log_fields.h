#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// Walks the `key = value` pairs of a line of the job log. They are split at ", " outside double
/// quotes.
class LogFields {
 public:
  struct Field {
    std::string_view key;
    std::string_view value;  ///< a quoted one as the text of its JSON string
    bool quoted = false;
  };

  explicit LogFields(std::string_view text) : rest_(text) {}

  /// The next pair; false at the end. The views hold until the next call. A part that is no pair is
  /// skipped and remembered.
  bool next(Field& field);

  /// Whether a part of the line was no `key = value`, or a quote had no end.
  bool malformed() const { return malformed_; }

 private:
  std::string_view cutPart();

  std::string_view rest_;
  std::string unquoted_;
  bool malformed_ = false;
};

}  // namespace pipetrace
