#include "parser/job_log/lines/log_fields.h"

#include "parser/json/json_string.h"

namespace pipetrace {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

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
