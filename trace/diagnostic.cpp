#include "trace/diagnostic.h"

#include <algorithm>
#include <utility>

#include "trace/text/log_numbers.h"

namespace pipetrace {

void Diagnostics::add(Diagnostic diagnostic) {
  auto same = std::find_if(list_.begin(), list_.end(), [&](const Diagnostic& d) {
    return d.severity == diagnostic.severity && d.file == diagnostic.file &&
           d.message == diagnostic.message;
  });
  if (same != list_.end()) {
    same->count = addCounts(same->count, diagnostic.count);
  } else {
    list_.push_back(std::move(diagnostic));
  }
}

bool Diagnostics::hasFindings() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const Diagnostic& d) { return d.severity >= Severity::kWarning; });
}

std::string toText(const Diagnostic& diagnostic) {
  static constexpr const char* kSeverity[] = {"note", "warning", "error"};
  std::string text = diagnostic.file;
  if (diagnostic.line > 0) text += ":" + std::to_string(diagnostic.line);
  if (!text.empty()) text += ": ";
  text += kSeverity[static_cast<int>(diagnostic.severity)];
  text += ": " + diagnostic.message;
  if (diagnostic.count > 1) text += " (" + std::to_string(diagnostic.count) + " times)";
  if (!diagnostic.advice.empty()) text += "; " + diagnostic.advice;
  return text;
}

}  // namespace pipetrace
