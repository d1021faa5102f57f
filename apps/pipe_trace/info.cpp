#include "apps/pipe_trace/info.h"

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/present/contents_report.h"
#include "apps/cli/command_app.h"
#include "apps/cli/print.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "parser/profile/arrow.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

struct InfoOptions {
  LoadRunOptions load;
  bool json = false;
};

void addInfoOptions(CommandApp& app, InfoOptions& options) {
  app.description(
      "Lists what is in job logs and profiles: their format, the numbers of ranks, steps, jobs,\n"
      "events, counter samples and flow arrows, how the ranks are arranged, and the findings.");
  app.describeEnd(exitCodesOfReading(), {"pipe-trace info profile.json --json"});
  addLoadRunOptions(app, options.load);
  app.add_flag("--json", options.json, "Print it as JSON, with all findings");
}

std::string formatsOf(const std::vector<LoadedFile>& files) {
  std::vector<std::string> names;
  for (const LoadedFile& file : files) {
    const std::string name(file.format);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The arrows that the inputs hold. Logs have none, so theirs are those that a profile of them
/// gets. The same holds for a part of a profile.
std::int64_t flowsOf(const std::vector<LoadedFile>& files, const Timeline& timeline,
                     const Selection& selection) {
  std::int64_t flows = 0;
  bool areHeld = true;
  for (const LoadedFile& file : files) {
    areHeld = areHeld && file.arrows.has_value();
    flows += file.arrows.value_or(0);
  }
  if (areHeld && (selection.isAll() || flows == 0)) return flows;
  return static_cast<std::int64_t>(findArrows(timeline).size());
}

}  // namespace

void describeInfo(CommandApp& app) {
  static InfoOptions options;
  addInfoOptions(app, options);
}

int infoCommand(int argc, char** argv, const TraceReaders& readers) {
  InfoOptions options;
  CommandApp app("pipe-trace info");
  addInfoOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  Diagnostics diagnostics;
  std::vector<LoadedFile> files;
  const Selection& selection = options.load.selection;
  const Timeline timeline =
      selected(loadAndReport(options.load, readers, diagnostics, &files).takeTimeline(), selection);
  const InputContents contents{.format = formatsOf(files),
                               .run = contentsOf(timeline),
                               .flows = flowsOf(files, timeline, selection)};
  if (options.json) {
    writeWholeFile("-", contentsJson(contents, diagnostics));
  } else {
    printText(contentsText(contents, diagnostics));
  }
  return exitCodeOf(options.load, diagnostics);
}

}  // namespace pipetrace
