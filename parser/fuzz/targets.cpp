#include "parser/fuzz/targets.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "parser/chrome_json_reader.h"
#include "parser/chrome_writer.h"
#include "parser/csv_writer.h"
#include "parser/job_head.h"
#include "parser/job_log_reader.h"
#include "parser/perfetto_reader.h"
#include "parser/perfetto_writer.h"
#include "parser/pipeline_logger_reader.h"
#include "parser/sqlite_reader.h"
#include "parser/test_timelines.h"
#include "parser/utf8.h"
#include "trace/error.h"
#include "trace/log_format.h"

namespace pipetrace::fuzz {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void checkEvents(const Timeline& timeline) {
  for (const Track& track : timeline.tracks) {
    require(timeline.ranks.contains(track.rank), "every track's rank is known");
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      const Event& event = track.events[i];
      require(event.begin <= event.end, "no event ends before it begins");
      require(i == 0 || !startsBefore(event, track.events[i - 1]), "events are in order");
      require(event.name < timeline.strings.size(), "names are interned");
      for (const Argument& argument : timeline.argumentsOf(event)) {
        require(argument.key < timeline.strings.size(), "keys are interned");
        require(argument.type != ArgumentType::kText || argument.text < timeline.strings.size(),
                "texts are interned");
      }
    }
  }
}

void writeNowhere(const Timeline& timeline) {
  try {
    OutputFile out("/dev/null");
    writeChromeJson(timeline, {}, out);
    writePerfetto(timeline, {}, out);
    writeCsv(timeline, out);
  } catch (const Error&) {
    // A profile of more centuries than a number holds is refused.
  }
}

void readAndCheck(const TraceReader& reader, const std::string& bytes) {
  reader.probe(bytes);
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("fuzz", bytes);
  const ReadOutcome outcome = reader.read(source, {}, timeline, diagnostics);
  timeline.sort();
  require(static_cast<std::size_t>(outcome.events) == timeline.eventCount(), "events are counted");
  require((outcome.events == 0) == !outcome.whyNone.empty(), "nothing is explained");
  checkEvents(timeline);
  writeNowhere(timeline);
}

/// What comes of the bytes and what is said about them.
std::string resultOf(const TraceReader& reader, const std::string& bytes) {
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("fuzz", bytes);
  const ReadOutcome outcome = reader.read(source, {}, timeline, diagnostics);
  timeline.sort();
  std::string text = test::describe(timeline) + outcome.whyNone;
  for (const Diagnostic& diagnostic : diagnostics.list()) text += "\n" + toText(diagnostic);
  return text;
}

}  // namespace

void readAsJobLog(const std::string& bytes) {
  readAndCheck(JobLogReader(), bytes);
  require(resultOf(JobLogReader(LogReading::kFast), bytes) ==
              resultOf(JobLogReader(LogReading::kByPattern), bytes),
          "logs are read alike by hand and by pattern");
  for (std::size_t from = 0; from < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', from), bytes.size());
    const std::string line = toUtf8(std::string_view(bytes).substr(from, end - from));
    from = end + 1;
    if (line.find(log_format::kInfo) == std::string::npos) continue;
    const auto byHand = readCanonicalHead(line);
    if (!byHand) continue;
    JobHead byPattern;
    require(readHeadByPattern(line, byPattern) == HeadResult::kRead, "the pattern reads it too");
    require(*byHand == byPattern, "both ways read the same");
  }
}

void readAsChromeJson(const std::string& bytes) {
  readAndCheck(ChromeJsonReader(), bytes);
  require(resultOf(ChromeJsonReader(ChromeReading::kFast), bytes) ==
              resultOf(ChromeJsonReader(ChromeReading::kByLibrary), bytes),
          "traces are read alike by hand and by the library");
}

void readAsPerfetto(const std::string& bytes) { readAndCheck(PerfettoReader(), bytes); }

void readAsSqlite(const std::string& bytes) { readAndCheck(SqliteReader(), bytes); }

void readAsPipelineLogger(const std::string& bytes) { readAndCheck(PipelineLoggerReader(), bytes); }

}  // namespace pipetrace::fuzz
