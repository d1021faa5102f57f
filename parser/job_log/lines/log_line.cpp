#include "parser/job_log/lines/log_line.h"

#include <array>
#include <utility>

#include "parser/json/json_string.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

constexpr std::array<std::pair<std::string_view, LogLineKind>, 8> kMarks = {{
    {lf::kInfo, LogLineKind::kInfo},
    {lf::kStream, LogLineKind::kStream},
    {lf::kMeta, LogLineKind::kMeta},
    {lf::kClock, LogLineKind::kClock},
    {lf::kKernel, LogLineKind::kKernel},
    {lf::kCounter, LogLineKind::kCounter},
    {lf::kEnd, LogLineKind::kEnd},
    {kFirstStepMark, LogLineKind::kFirstStep},
}};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

LogLine classifyLogLine(std::string_view text) {
  for (std::size_t at = text.find(lf::kMark); at != std::string_view::npos;
       at = text.find(lf::kMark, at + 1)) {
    const std::string_view rest = text.substr(at);
    for (const auto& [mark, kind] : kMarks) {
      if (rest.starts_with(mark)) return {kind, rest, rest.substr(mark.size())};
    }
  }
  return {};
}

std::string_view LogFields::cutPart() {
  bool quoted = false;
  for (std::size_t i = 0; i < rest_.size(); ++i) {
    const char c = rest_[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (quoted && c == '\\') {
      ++i;
    } else if (c == ',' && !quoted && rest_.substr(i, 2) == ", ") {
      const std::string_view part = rest_.substr(0, i);
      rest_.remove_prefix(i + 2);
      return part;
    }
  }
  malformed_ = malformed_ || quoted;
  const std::string_view part = quoted ? std::string_view{} : rest_;
  rest_ = {};
  return part;
}

bool LogFields::next(Field& field) {
  while (!rest_.empty()) {
    const std::string_view part = trimmed(cutPart());
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      malformed_ = true;
      continue;
    }
    field.key = trimmed(part.substr(0, equals));
    field.value = trimmed(part.substr(equals + 1));
    field.quoted = field.value.size() >= 2 && field.value.front() == '"';
    if (field.key.empty() || field.value.empty()) {
      malformed_ = true;
      continue;
    }
    if (!field.quoted) return true;
    unquoted_.clear();
    const bool closed = field.value.back() == '"';
    if (closed && appendFromJsonString(unquoted_, field.value.substr(1, field.value.size() - 2))) {
      field.value = unquoted_;
      return true;
    }
    malformed_ = true;
  }
  return false;
}

}  // namespace pipetrace
