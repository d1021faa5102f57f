#include "parser/chrome_json_reader.h"

#include "parser/chrome_collector.h"
#include "parser/chrome_event.h"
#include "parser/chrome_format.h"
#include "parser/chrome_metadata.h"
#include "parser/json_splitter.h"
#include "parser/plain_chrome_event.h"

namespace pipetrace {
namespace {

namespace cf = chrome_format;

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view withoutBlanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

void note(Diagnostics& diagnostics, const ByteSource& source, std::int64_t line,
          const char* message, const char* advice) {
  diagnostics.add({.file = source.name(), .line = line, .message = message, .advice = advice});
}

/// Adds the events that come next as long as they are plain, and says how many those were.
std::int64_t addPlainEvents(JsonSplitter& splitter, ChromeEvent& event,
                            ChromeCollector& collector) {
  std::int64_t count = 0;
  for (std::string_view ahead = splitter.ahead(); !ahead.empty(); ahead = splitter.ahead()) {
    const std::size_t length = readPlainChromeEvent(ahead, event);
    if (length == 0) break;
    collector.add(event, splitter.line());
    splitter.take(length);
    ++count;
  }
  return count;
}

}  // namespace

FormatMatch ChromeJsonReader::probe(std::string_view head) const {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  head = withoutBlanks(head);
  if (head.empty()) return FormatMatch::kNo;
  const std::string_view inner = withoutBlanks(head.substr(1));
  const char first = inner.empty() ? '\0' : inner.front();
  const bool isArray = head.front() == '[' && (first == '{' || first == ']');
  const bool isObject = head.front() == '{' && (first == '"' || first == '}');
  if (!isArray && !isObject) return FormatMatch::kNo;
  const bool hasEvents = head.find("\"traceEvents\"") != std::string_view::npos ||
                         head.find("\"ph\"") != std::string_view::npos;
  return hasEvents ? FormatMatch::kCertain : FormatMatch::kLikely;
}

ReadOutcome ChromeJsonReader::read(ByteSource& source, const ReadRequest& request,
                                   Timeline& timeline, Diagnostics& diagnostics) const {
  JsonSplitter splitter(source);
  ChromeCollector collector(timeline, diagnostics, source.name());
  JsonSplitter::Piece piece;
  ChromeEvent event;
  std::int64_t pieces = 0;
  while (true) {
    if (reading_ == ChromeReading::kFast) pieces += addPlainEvents(splitter, event, collector);
    if (!splitter.next(piece)) break;
    if (piece.kind == JsonSplitter::Kind::kField) {
      if (piece.key != cf::kOtherData) continue;
      if (auto metadata = readChromeMetadata(piece.text)) {
        collector.setMetadata(std::move(*metadata));
      }
      continue;
    }
    ++pieces;
    if (piece.kind == JsonSplitter::Kind::kEvent && parseChromeEvent(piece.text, event)) {
      collector.add(event, piece.line);
    } else {
      note(diagnostics, source, piece.line, "an event is no valid JSON and was left out", "");
    }
  }
  if (splitter.cutOff()) {
    note(diagnostics, source, 0, "the file ends before its JSON does",
         "events are missing; copy or record it again");
  }
  if (request.run >= 0) {
    diagnostics.add(
        {.severity = Severity::kNote,
         .file = source.name(),
         .message = "a profile holds one run only, which was read whatever --run says"});
  }
  ReadOutcome outcome;
  outcome.events = collector.finish(request);
  if (outcome.events == 0) {
    outcome.whyNone = pieces == 0 ? "it is JSON without any element of \"traceEvents\""
                                  : "it is JSON with " + std::to_string(pieces) +
                                        " trace events, none with a length";
  }
  return outcome;
}

}  // namespace pipetrace
