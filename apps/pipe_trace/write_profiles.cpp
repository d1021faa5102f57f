#include "apps/pipe_trace/write_profiles.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "apps/cli/large_json.h"
#include "apps/cli/profile_format.h"
#include "apps/cli/progress_bar.h"
#include "apps/pipe_trace/outputs.h"
#include "trace/files/output_set.h"

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
  return writeProfile(timeline, formatOf(output, options),
                      {.flows = options.flows,
                       .absoluteTime = options.absoluteTime,
                       .threads = options.load.reading.threads},
                      file);
}

}  // namespace

std::string writeProfiles(const Timeline& timeline, const Picture& picture,
                          const PipeTraceOptions& options) {
  std::string lines;
  OutputSet files;
  std::vector<std::unique_ptr<std::atomic<std::int64_t>>> sizes;
  for (const std::string& output : options.outputs) {
    OutputFile& file = files.add(output);
    auto& bytes = *sizes.emplace_back(std::make_unique<std::atomic<std::int64_t>>(0));
    std::string what;
    if (formatOf(output, options) == ProfileFormat::kSvg) {
      file.write(picture.svg);
      what = picture.what;
    } else {
      what = summaryText(writeOne(timeline, options, output, file, bytes));
    }
    lines += fmt::format("wrote {}: {}\n", output, what);
  }
  files.commit();
  if (options.load.quiet) return lines;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string& output = options.outputs[i];
    if (formatOf(output, options) != ProfileFormat::kChromeJson) continue;
    std::fputs(adviceOnSize(output, *sizes[i], options.largeJson).c_str(), stderr);
  }
  return lines;
}

}  // namespace pipetrace
