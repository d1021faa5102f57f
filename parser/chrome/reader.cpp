#include "parser/chrome/reader.h"

#include <algorithm>

#include "parser/chrome/arrow_ends.h"
#include "parser/chrome/blocks.h"
#include "parser/chrome/collector.h"
#include "parser/chrome/elements.h"
#include "parser/chrome/event.h"
#include "parser/chrome/format.h"
#include "parser/chrome/parsed_block.h"
#include "parser/chrome/trace.h"
#include "parser/json/json_splitter.h"
#include "parser/json/json_value_scanner.h"
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

/// Reading a smaller file takes less time than starting a thread.
constexpr std::size_t kWorthThreads = std::size_t{4} << 20;

int threadsFor(ByteSource& source, const ReadRequest& request, std::size_t blockSize) {
  const auto size = source.plainSize();
  const bool isSmall = size && *size < std::min(kWorthThreads, 16 * blockSize);
  return isSmall ? 1 : threadCount(request.threads);
}

void readPiece(const JsonSplitter::Piece& piece, ParsedChromeBlock& parsed) {
  switch (piece.kind) {
    case JsonSplitter::Kind::kField: return parsed.addField(piece.key, piece.text);
    case JsonSplitter::Kind::kBroken: return parsed.addBroken(ChromePlace({}, piece.line));
    case JsonSplitter::Kind::kEvent: return readChromeElement(piece.text, piece.line, parsed);
  }
}

/// The work of each thread that reads a trace. `size`: of the input; 0: not known.
void readBlocks(ChromeBlocks& blocks, Turns& turns, double size, ChromeTrace& trace) {
  ParsedChromeBlock parsed(trace.file);
  ChromeBlocks::Block block;
  const auto use = [&](const JsonSplitter::Piece& piece) { readPiece(piece, parsed); };
  while (blocks.next(block, use)) {
    const std::size_t read = readChromeElements(block.text, block.line, parsed);
    if (!turns.await(block.number)) return;
    if (blocks.settle(block, read)) {
      trace.read = size > 0 ? static_cast<double>(block.end) / size : 0;
      parsed.moveTo(trace);
    } else {
      parsed.forget();
    }
    turns.finish();
  }
}

/// Whether the input is events alone, one after the other, without the brackets of a list.
bool isBareList(std::string_view head) {
  head = withoutBlanks(head);
  if (!head.starts_with('{')) return false;
  JsonValueScanner scanner;
  std::size_t last = 0;
  while (last < head.size() && scanner.feed(head[last]) == JsonValueScanner::Result::kMore) ++last;
  if (last == head.size()) return false;
  const std::string_view first = head.substr(0, last + 1);
  ChromeEvent event;
  return first.find(chrome_format::kTraceEvents) == std::string_view::npos &&
         parseChromeEvent(first, event) && !event.phase.empty();
}

/// Whether a field of the trace, besides its events, is used.
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
  std::string_view inner = withoutBlanks(head.substr(1));
  // Some programs write a comma before each element, the first one too.
  if (inner.starts_with(',')) inner = withoutBlanks(inner.substr(1));
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
  const bool isBare = isBareList(source.peek(kProbeSize));
  JsonSplitter splitter(
      source,
      {.array = chrome_format::kTraceEvents, .isWanted = isWantedField, .isBareList = isBare});
  ChromeTrace trace{.timeline = timeline, .diagnostics = diagnostics, .file = source.name()};
  const auto size = static_cast<double>(source.plainSize().value_or(0));
  ChromeBlocks blocks(splitter, reading_ == ChromeReading::kFast ? blockSize_ : 0);
  Turns::run(threadsFor(source, request, blockSize_), [&](Turns& turns) {
    try {
      readBlocks(blocks, turns, size, trace);
    } catch (...) {
      blocks.giveUp();
      throw;
    }
  });
  if (splitter.isNested()) {
    diagnostics.add(
        {.severity = Severity::kNote,
         .file = source.name(),
         .message = "its \"traceEvents\" is no list but a whole trace, which was read"});
  }
  if (splitter.cutOff()) {
    note(diagnostics, source, 0,
         splitter.cutInElement() ? "the file ends in the middle of an event, which was left out"
                                 : "the file ends before its JSON does",
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
  outcome.process = std::move(trace.recorded);
  if (outcome.events == 0) {
    outcome.whyNone = trace.elements == 0 ? "it is JSON without any element of \"traceEvents\""
                                          : "it is JSON with " + std::to_string(trace.elements) +
                                                " trace events, none with a length";
  }
  return outcome;
}

}  // namespace pipetrace
