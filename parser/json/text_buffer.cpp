#include "parser/json/text_buffer.h"

#include <algorithm>
#include <string>

#include "parser/json/json_string.h"

namespace pipetrace {

void TextBuffer::addJson(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), isPlainInJson)) {
    add('"');
    add(text);
    add('"');
  } else {
    std::string json;
    appendJsonString(json, text);
    add(json);
  }
}

}  // namespace pipetrace
