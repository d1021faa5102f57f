#include "parser/chrome/reader.h"

#include <algorithm>

#include "parser/chrome/arrow_ends.h"
#include "parser/chrome/collector.h"
#include "parser/chrome/elements.h"
#include "parser/chrome/format.h"
#include "parser/chrome/share.h"
#include "parser/chrome/stretches.h"
#include "parser/chrome/trace.h"
#include "parser/json/json_splitter.h"
#include "trace/threads/turns.h"

namespace pipetrace {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view withoutBlanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

void note(Diagnostics& diagnostics, const ByteSource& source, std::int64_t line,
          const char* message, const char* advice) {
  diagnostics.add({.file = source.name(), .line = line, .message = message, .advice = advice});
}

/// Below this a file is read sooner than a thread is started.
constexpr std::size_t kWorthThreads = std::size_t{4} << 20;

int threadsFor(ByteSource& source, const ReadRequest& request, std::size_t stretch) {
  const auto size = source.plainSize();
  const bool isSmall = size && *size < std::min(kWorthThreads, 16 * stretch);
  return isSmall ? 1 : threadCount(request.threads);
}

void readPiece(const JsonSplitter::Piece& piece, ChromeShare& share) {
  switch (piece.kind) {
    case JsonSplitter::Kind::kField: return share.addField(piece.key, piece.text);
    case JsonSplitter::Kind::kBroken: return share.addBroken(ChromePlace({}, piece.line));
    case JsonSplitter::Kind::kEvent: return readChromeElement(piece.text, piece.line, share);
  }
}

/// What one of the threads does that read a trace. `size`: of the input, 0 if that is not known.
void readStretches(ChromeStretches& stretches, Turns& turns, double size, ChromeTrace& trace) {
  ChromeShare share(trace.file);
  ChromeStretches::Stretch stretch;
  const auto use = [&](const JsonSplitter::Piece& piece) { readPiece(piece, share); };
  while (stretches.next(stretch, use)) {
    const std::size_t read = readChromeElements(stretch.text, stretch.line, share);
    if (!turns.await(stretch.number)) return;
    if (stretches.settle(stretch, read)) {
      trace.read = size > 0 ? static_cast<double>(stretch.end) / size : 0;
      share.moveTo(trace);
    } else {
      share.forget();
    }
    turns.finish();
  }
}

/// Of the fields of a trace besides its events.
bool isWantedField(std::string_view key) {
  return key == chrome_format::kOtherData || KinetoInfo::isField(key);
}

bool hasSpans(const ChromeTrace& trace) {
  for (const auto& [pid, process] : trace.processes) {
    for (const auto& [tid, thread] : process.threads) {
      if (!thread.events.empty()) return true;
    }
  }
  return false;
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
  JsonSplitter splitter(source, {.array = chrome_format::kTraceEvents, .isWanted = isWantedField});
  ChromeTrace trace{.timeline = timeline, .diagnostics = diagnostics, .file = source.name()};
  const auto size = static_cast<double>(source.plainSize().value_or(0));
  ChromeStretches stretches(splitter, reading_ == ChromeReading::kFast ? stretch_ : 0);
  Turns::run(threadsFor(source, request, stretch_), [&](Turns& turns) {
    try {
      readStretches(stretches, turns, size, trace);
    } catch (...) {
      stretches.giveUp();
      throw;
    }
  });
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
  outcome.arrows = trace.metadata ? trace.arrows : countChromeArrows(trace.ends, hasSpans(trace));
  outcome.events = ChromeCollector(trace).finish(request);
  if (outcome.events == 0) {
    outcome.whyNone = trace.elements == 0 ? "it is JSON without any element of \"traceEvents\""
                                          : "it is JSON with " + std::to_string(trace.elements) +
                                                " trace events, none with a length";
  }
  return outcome;
}

}  // namespace pipetrace
