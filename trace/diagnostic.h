#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/doubt_kind.h"

namespace pipetrace {

enum class Severity : std::uint8_t { kNote, kWarning, kError };

/// One remark about bad or odd input. It does not end the program: the rest is read on.
struct Diagnostic {
  Severity severity = Severity::kWarning;
  std::string file;
  std::int64_t line = 0;  ///< 1-based line of the first case; 0: not about one line
  std::string message;
  std::string advice;  ///< what to try; may be empty
  /// Replaces `message` where several files have this remark and are reported in one line. Empty:
  /// `message` serves for several files as well.
  std::string ofSeveral{};
  /// The part that differs from file to file, as in "rank 3 F2". The parts follow `ofSeveral`.
  std::string share{};
  std::int64_t count = 1;  ///< how often it was found in that file
  /// The doubt that it raises: reports begin with it. kNone: figures are as good without it.
  DoubtKind doubt = DoubtKind::kNone;
};

/// Diagnostics in the order of their first cases. Those of equal severity, file and message are one
/// diagnostic with a count.
class Diagnostics {
 public:
  void add(Diagnostic diagnostic);
  const std::vector<Diagnostic>& list() const { return list_; }
  bool empty() const { return list_.empty(); }
  /// Whether any is a warning or an error. --strict fails then.
  bool hasFindings() const;

 private:
  std::vector<Diagnostic> list_;
};

/// One line of text: "logs/workerlog.0:17: warning: message (3 times); advice".
std::string toText(const Diagnostic& diagnostic);

}  // namespace pipetrace
