#include "parser/chrome/elements.h"

#include "parser/chrome/event.h"
#include "parser/chrome/parsed_block.h"
#include "parser/json/json_splitter.h"

namespace pipetrace {
namespace {

/// The length of the element at the start of the text; 0 where it does not end as it should.
std::size_t lengthOfElement(std::string_view text) {
  JsonValueScanner scanner;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (scanner.feed(text[i])) {
      case JsonValueScanner::Result::kMore: break;
      case JsonValueScanner::Result::kEnded: return i + 1;
      case JsonValueScanner::Result::kEndedBefore: return i;
      case JsonValueScanner::Result::kBroken: return 0;
    }
  }
  return 0;
}

void addByLibrary(std::string_view element, ChromeEvent& event, const ChromePlace& place,
                  ParsedChromeBlock& parsed) {
  if (parseChromeEvent(element, event)) {
    parsed.add(event, place);
  } else {
    parsed.addBroken(place);
  }
}

}  // namespace

std::size_t readChromeElements(std::string_view text, std::int64_t line,
                               ParsedChromeBlock& parsed) {
  constexpr std::string_view kBetween = " \t\r\n,";
  ChromePlace place(text, line);
  ChromeEvent event;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(kBetween, at)) != std::string_view::npos) {
    const std::string_view rest = text.substr(at);
    place.moveTo(at);
    std::size_t length = readPlainChromeEvent(rest, event);
    if (length > 0) {
      parsed.add(event, place);
    } else {
      length = lengthOfElement(rest);
      if (length == 0) return at;
      addByLibrary(rest.substr(0, length), event, place, parsed);
    }
    at += length;
  }
  return text.size();
}

void readChromeElement(std::string_view text, std::int64_t line, ParsedChromeBlock& parsed) {
  ChromeEvent event;
  addByLibrary(text, event, ChromePlace(text, line), parsed);
}

}  // namespace pipetrace
