#include "parser/foreign/chrome_process.h"

#include "trace/text/log_numbers.h"

namespace pipetrace {

void ChromeId::setText(std::string_view from) {
  const auto value = parseNumber<std::int64_t>(from);
  isText = !value || std::to_string(*value) != from;
  number = isText ? 0 : *value;
  text = isText ? from : std::string_view();
}

std::string toText(const ChromeId& id) { return id.isText ? id.text : std::to_string(id.number); }

}  // namespace pipetrace
