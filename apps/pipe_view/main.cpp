#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/common_commands.h"
#include "apps/cli/program.h"
#include "apps/cli/selection_options.h"
#include "apps/cli/shared_options.h"
#include "chart/draw/chart_picture.h"
#include "trace/error.h"
#include "trace/files/unfinished_files.h"
#include "viewer/window/run_viewer.h"

namespace pipetrace {

/// pipe-view: without a command it shows INPUT.
const Program& pipeView();

namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// "1600x900" into width and height.
void readSize(const std::string& text, ExportOptions& picture) {
  const std::size_t cross = text.find('x');
  if (cross != std::string::npos) {
    picture.width = number(std::string_view(text).substr(0, cross));
    picture.height = number(std::string_view(text).substr(cross + 1));
    const auto isPossible = [](const std::optional<int>& side) {
      return side && *side > 0 && *side <= kMaxPictureSide;
    };
    if (isPossible(picture.width) && isPossible(picture.height)) return;
  }
  throw CLI::ValidationError(
      "--size", fmt::format("'{}' is no size; write WIDTHxHEIGHT in pixels, like 1600x900, at most "
                            "{} each",
                            text, kMaxPictureSide));
}

/// The closed range of a half-open one.
StepChoice choiceOf(const NumberRange& steps) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int32_t>::max();
  const std::int64_t last = steps.end == NumberRange::kOpen ? kLast : steps.end - 1;
  return {static_cast<std::int32_t>(steps.begin), static_cast<std::int32_t>(last)};
}

void addPicture(CommandApp& app, CLI::Option* find, ExportOptions& to) {
  CLI::Option* picture = app.add_option("--export", to.path,
                                        "Write a picture, NAME.png, NAME.pdf or NAME.svg, instead "
                                        "of opening a window; needs no display")
                             ->type_name("FILE")
                             ->excludes("--follow");
  app.writes(picture);
  app.add_option_function<std::string>(
         "--size", [&to](const std::string& text) { readSize(text, to); },
         "Size of the picture in pixels (default: 1600 wide, as high as the rows need)")
      ->type_name("WxH")
      ->needs(picture);
  addThemeOptions(app, picture, to.theme, to.isDark);
  app.add_option("--scale", to.scale,
                 "Pixels of a PNG for each pixel of the size, such as 2 for screens of high "
                 "resolution (default: 1)")
      ->type_name("N")
      ->check(range(kLeastScale, kMostScale))
      ->needs(picture);
  app.add_flag("--classes,!--no-classes", to.showsClasses,
               "Bubbles with tints and texts of their classes (default), or as plain idle time")
      ->needs(picture);
  CLI::Option* all = app.add_flag("--all", to.isAll,
                                  "Export the whole run; where steps would be too narrow to read, "
                                  "a column for each step")
                         ->needs(picture)
                         ->excludes(find);
  CLI::Option* step = addStepOption(
                          app,
                          [&to](int number) {
                            to.steps = StepChoice{number, number};
                          },
                          " (default: a few steps, so that micro-batch numbers are legible)")
                          ->needs(picture)
                          ->excludes(all)
                          ->excludes(find);
  addStepsOption(app, [&to](const NumberRange& steps) { to.steps = choiceOf(steps); })
      ->needs(picture)
      ->excludes(all)
      ->excludes(step)
      ->excludes(find);
  app.add_flag("--critical-path", to.showsCriticalPath,
               "Outline the jobs on the critical paths of the steps shown, at most 64")
      ->needs(picture);
}

void addPipeViewOptions(CommandApp& app, ViewerOptions& options) {
  app.description(
      "Shows a profile as a Gantt chart, in a window or as a picture.\n"
      "The Help menu of the window, and docs/viewer.md, list its mouse buttons and keys.\n\n"
      "Other commands (each has its own --help; a file of that name is read as ./man):\n" +
      pipeView().commandList());
  app.describeEnd({{"0", "done"}, {"2", "could not"}},
                  {"pipe-view profile.json", "pipe-view logs --export step.png --step 3",
                   "pipe-view logs --find 'step:12 rank:3 mb:2'"});
  addVersion(app);
  CLI::Option* inputs =
      app.add_option("INPUT", options.inputs,
                     "Profiles, job logs or folders of them, shown as one profile")
          ->type_name("");
  addAlignOption(app, options.align);
  CLI::Option* with =
      app.add_option("--with", options.with,
                     "Show a second run under the first, a profile or a folder of job logs, and "
                     "compare both")
          ->type_name("INPUT");
  app.add_flag("--follow", options.follow,
               "Show a run that goes on: the chart grows with the job logs until they are closed")
      ->needs(inputs)
      ->excludes(with);
  app.add_flag("--sample", options.isSample, "Open a simulated run with planted faults")
      ->excludes(inputs);
  app.add_flag("--fresh", options.isFresh, "Open the window as if it was the first time");
  CLI::Option* find =
      app.add_option("--find", options.find,
                     "Show the first job or bubble that matches, as in the search of the window: "
                     "'step:12 rank:3 mb:2'; with --export: its step")
          ->type_name("QUERY")
          ->needs(inputs);
  addPicture(app, find, options.picture);
  app.adviseOn([](const std::string& argument) -> std::string {
    return argument.starts_with("-o") || argument.starts_with("--out") ? "--export" : "";
  });
}

void describeViewing(CommandApp& app) {
  static ViewerOptions options;
  addPipeViewOptions(app, options);
}

int viewInputs(int argc, char** argv) {
  ViewerOptions options;
  CommandApp app("pipe-view");
  addPipeViewOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  if (!options.picture.path.empty() && options.inputs.empty() && !options.isSample) {
    throw Error("nothing to export; name a profile or a folder of job logs, or give --sample");
  }
  if (!options.with.empty() && options.inputs.empty() && !options.isSample) {
    throw Error("--with needs a run to compare with; name it first");
  }
  return runViewer(options, argv[0]);
}

Program makeProgram() {
  Program program{.name = "pipe-view",
                  .summary = "shows runs and plans as Gantt charts",
                  .describe = describeViewing,
                  .run = viewInputs,
                  .commands = {},
                  .insteadOf = {},
                  .firstMayBe = {}};
  addCommonCommands(program, pipeView);
  return program;
}

}  // namespace

const Program& pipeView() {
  static const Program program = makeProgram();
  return program;
}

}  // namespace pipetrace

int main(int argc, char** argv) {
  pipetrace::removeUnfinishedFilesOnSignals();
  return pipetrace::runProgram(pipetrace::pipeView(), argc, argv);
}
