#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipetrace {

/// Options of a command that came as a JSON object, which pipetrace_run.h describes, in their
/// order.
class JsonOptions {
 public:
  JsonOptions() = default;
  /// Throws Error for a text that is no such object. Null or empty: no options.
  explicit JsonOptions(const char* text);

  /// Takes an option out that the command does not have: its values; empty: it is not given.
  std::vector<std::string> take(std::string_view name);
  /// The values of an option; empty: it is not given.
  std::vector<std::string> valuesOf(std::string_view name) const;
  /// As words of a command line: "--scale=rank=6:0.8".
  std::vector<std::string> words() const;

 private:
  struct Option {
    std::string name;                 ///< without dashes in front, with dashes between words
    std::optional<std::string> text;  ///< none: a flag
  };
  std::vector<Option> options_;
};

}  // namespace pipetrace
