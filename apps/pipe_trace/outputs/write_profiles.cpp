#include "apps/pipe_trace/outputs/write_profiles.h"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>

#include "apps/cli/large_json.h"
#include "apps/cli/profile_format.h"
#include "apps/cli/progress_bar.h"
#include "apps/pipe_trace/outputs/outputs.h"
#include "apps/pipe_trace/outputs/pipeline_loggers.h"

namespace pipetrace {
namespace {

ProfileSummary writeOne(const Timeline& timeline, const PipeTraceOptions& options,
                        const std::string& output, OutputFile& file,
                        std::atomic<std::int64_t>& bytes) {
  const std::atomic<std::int64_t> notKnown{0};
  const ProgressBar bar(
      "writing " + std::filesystem::path(output).filename().string(), bytes, notKnown,
      {.begin = options.load.begin, .quiet = options.load.quiet || output == "-"});
  file.countInto(&bytes);
  const ProfileSummary summary = writeProfile(timeline, formatOf(output, options),
                                              {.flows = options.flows,
                                               .absoluteTime = options.absoluteTime,
                                               .threads = options.load.reading.threads},
                                              file);
  if (!file.target().empty()) file.prepare();  // so that all its bytes are counted
  file.countInto(nullptr);
  return summary;
}

}  // namespace

WrittenProfiles writeProfiles(const Timeline& timeline, const Picture& picture,
                              const PipeTraceOptions& options, OutputSet& files) {
  WrittenProfiles written;
  for (const std::string& output : options.outputs) {
    OutputFile& file = files.add(output);
    std::atomic<std::int64_t> bytes{0};
    std::string what;
    if (formatOf(output, options) == ProfileFormat::kSvg) {
      file.write(picture.svg);
      what = picture.what;
    } else {
      what = summaryText(writeOne(timeline, options, output, file, bytes));
    }
    written.lines += fmt::format("wrote {}: {}\n", output, what);
    if (formatOf(output, options) == ProfileFormat::kChromeJson) {
      written.advice += adviceOnSize(output, bytes, options.largeJson);
    }
  }
  if (!options.pipelineLogger.empty()) {
    written.lines += addPipelineLoggers(timeline, options.pipelineLogger, files);
  }
  return written;
}

}  // namespace pipetrace
