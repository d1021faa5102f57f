#include "parser/json/text_buffer.h"

#include <string>

#include "parser/json/json_string.h"

namespace pipetrace {

namespace {

/// Without branches, as most strings are short and plain.
bool isPlain(std::string_view text) {
  bool isPlain = true;
  for (const char c : text) isPlain &= isPlainInJson(c);
  return isPlain;
}

}  // namespace

void TextBuffer::addJson(std::string_view text) {
  if (isPlain(text)) {
    addQuoted(text);
  } else {
    std::string json;
    appendJsonString(json, text);
    add(json);
  }
}

}  // namespace pipetrace
