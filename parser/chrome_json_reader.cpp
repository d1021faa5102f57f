#include "parser/chrome_json_reader.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "parser/chrome_batch.h"
#include "parser/chrome_collector.h"
#include "parser/chrome_format.h"
#include "parser/chrome_metadata.h"
#include "parser/json_splitter.h"
#include "trace/turns.h"

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

/// Below this a file is read sooner than a thread is started.
constexpr std::size_t kWorthThreads = std::size_t{4} << 20;

/// More than two have nothing to do: one takes the pieces apart, the other puts them together.
int threadsFor(ByteSource& source, const ReadRequest& request) {
  const auto size = source.plainSize();
  return size && *size < kWorthThreads ? 1 : std::min(threadCount(request.threads), 2);
}

/// Calls `use` with all that `splitter` gives, batch by batch in its order.
template <typename Use>
void readBatches(JsonSplitter& splitter, ChromeReading reading, int threads, const Use& use) {
  std::mutex mutex;
  std::int64_t next = 0;
  Turns::run(threads, [&](Turns& turns) {
    ChromeBatch batch(reading);
    while (true) {
      std::int64_t number = 0;
      {
        const std::lock_guard lock(mutex);
        if (!batch.fill(splitter)) return;
        number = next++;
      }
      if (!turns.await(number)) return;
      use(batch);
      turns.finish();
    }
  });
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
  std::int64_t pieces = 0;
  const auto add = [&](const ChromeBatch::Piece& piece) {
    if (piece.kind == ChromeBatch::Kind::kField) {
      collector.addField(piece.key, piece.text);
      if (piece.key != cf::kOtherData) return;
      if (auto metadata = readChromeMetadata(piece.text)) {
        collector.setMetadata(std::move(*metadata));
      }
      return;
    }
    ++pieces;
    if (piece.kind == ChromeBatch::Kind::kEvent) {
      collector.add(*piece.event, piece.line);
    } else {
      note(diagnostics, source, piece.line, "an event is no valid JSON and was left out", "");
    }
  };
  readBatches(splitter, reading_, threadsFor(source, request), [&](const ChromeBatch& batch) {
    for (const ChromeBatch::Piece& piece : batch.pieces()) add(piece);
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
  outcome.events = collector.finish(request);
  outcome.arrows = collector.arrows();
  if (outcome.events == 0) {
    outcome.whyNone = pieces == 0 ? "it is JSON without any element of \"traceEvents\""
                                  : "it is JSON with " + std::to_string(pieces) +
                                        " trace events, none with a length";
  }
  return outcome;
}

}  // namespace pipetrace
