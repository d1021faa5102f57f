#include "parser/load_timeline.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "parser/byte_source.h"
#include "parser/find_logs.h"
#include "parser/reader_registry.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

std::vector<FoundLog> filesOf(const std::vector<std::string>& inputs) {
  std::vector<FoundLog> files;
  for (const std::string& input : inputs) {
    std::error_code error;  // whatever is wrong with the name, opening it will say
    if (input != "-" && fs::is_directory(input, error)) {
      const std::vector<FoundLog> logs = findLogs(input);
      files.insert(files.end(), logs.begin(), logs.end());
    } else {
      files.push_back({input, rankOfLogName(fs::path(input).filename().string())});
    }
  }
  return files;
}

/// One sentence for inputs that held nothing between them.
std::string nothingIn(const std::vector<FoundLog>& files, const std::string& whyFirst) {
  std::string text = "no job in " + files.front().path + ": " + whyFirst;
  if (files.size() > 1) {
    text += ", and none in " + std::to_string(files.size() - 1) + " more";
  }
  return text +
         "; give a folder of workerlog.<rank> files, one such file, or a profile that pipe-trace "
         "wrote";
}

}  // namespace

Timeline loadTimeline(const std::vector<std::string>& inputs, const LoadOptions& options,
                      Diagnostics& diagnostics) {
  const std::vector<FoundLog> files = filesOf(inputs);
  if (files.empty()) throw Error("nothing to read: name a folder of job logs or a profile");

  Timeline timeline;
  const auto readers = makeTraceReaders();
  std::string whyFirst;
  std::vector<Diagnostic> withoutJobs;  // told if there are others, else the error says it
  for (const FoundLog& file : files) {
    ByteSource source(file.path);
    const TraceReader* reader = chooseReader(readers, source.peek(TraceReader::kProbeSize));
    if (reader == nullptr) throw Error(source.name() + " is in no format that can be read");
    ReadRequest request{.rank = file.rank, .run = options.run, .threads = options.threads};
    if (!timeline.ranks.empty()) request.nextRank = timeline.ranks.rbegin()->first + 1;
    const ReadOutcome outcome = reader->read(source, request, timeline, diagnostics);
    if (!source.damage().empty()) {
      diagnostics.add({.file = source.name(),
                       .message = source.damage() + "; what came before was read",
                       .advice = "copy the file again"});
    }
    if (outcome.events > 0) continue;
    if (whyFirst.empty()) whyFirst = outcome.whyNone;
    withoutJobs.push_back({.file = source.name(),
                           .message = "no job in it: " + outcome.whyNone,
                           .advice = "that rank is missing from the profile"});
  }
  if (timeline.eventCount() == 0) throw Error(nothingIn(files, whyFirst));
  for (Diagnostic& diagnostic : withoutJobs) diagnostics.add(std::move(diagnostic));
  timeline.sort();
  // Everything after this subtracts times from each other.
  const Timeline::Span span = timeline.span();
  if (Nanoseconds length = 0; __builtin_sub_overflow(span.end, span.begin, &length)) {
    throw Error(
        "the inputs span more than 292 years: the clock of one of the logs is wrong; leave that "
        "log out");
  }
  return timeline;
}

}  // namespace pipetrace
