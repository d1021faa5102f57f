#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrace {

enum class Severity : std::uint8_t { kNote, kWarning, kError };

/// Something about the input that the user should know, found while going on with the rest.
struct Diagnostic {
  Severity severity = Severity::kWarning;
  std::string file;
  std::int64_t line = 0;  ///< 1-based line of the first case; 0: not about one line
  std::string message;
  std::string advice;  ///< what to try; may be empty
  /// What is said in place of `message` of several files that tell the like, if that differs.
  std::string ofSeveral{};
  /// What is this one's own then, told behind `ofSeveral` with that of the others: "rank 3 F2".
  std::string share{};
  std::int64_t count = 1;  ///< how often it was found in that file
};

/// Diagnostics in the order of their first case, equal ones (severity, file, message) counted.
class Diagnostics {
 public:
  void add(Diagnostic diagnostic);
  const std::vector<Diagnostic>& list() const { return list_; }
  bool empty() const { return list_.empty(); }
  /// Whether any is a warning or worse: what --strict asks.
  bool hasFindings() const;

 private:
  std::vector<Diagnostic> list_;
};

/// "logs/workerlog.0:17: warning: message (3 times); advice"
std::string toText(const Diagnostic& diagnostic);

}  // namespace pipetrace
