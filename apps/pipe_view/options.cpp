#include "apps/pipe_view/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string_view>

#include "chart/draw/chart_picture.h"

namespace pipetrace {
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

/// "2:4" into steps 2 to 4.
void readSteps(const std::string& text, ExportOptions& picture) {
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const auto first = number(std::string_view(text).substr(0, colon));
    const auto last = number(std::string_view(text).substr(colon + 1));
    if (first && last && *first <= *last) {
      picture.steps = StepChoice{*first, *last};
      return;
    }
  }
  throw CLI::ValidationError(
      "--steps", fmt::format("'{}' is no range of steps; write FIRST:LAST, like 2:4", text));
}

}  // namespace

void addPipeViewOptions(CLI::App& app, ViewerOptions& options) {
  app.description("Shows a profile as a Gantt chart, in a window or as a picture.");
  app.footer(
      "Exit codes: 0 done; 2 could not.\n"
      "Example: pipe-view profile.json --export profile.png\n"
      "Mouse and keys: see the Help menu of the window, or docs/viewer.md.");
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return "pipe-view: " + CLI::FailureMessage::simple(failed, error);
  });
  app.set_version_flag("--version", "pipe-view " PIPETRACE_VERSION);

  CLI::Option* inputs = app.add_option(
      "FILE", options.inputs, "Profiles, job logs or folders of them, shown as one profile");
  CLI::Option* picture =
      app.add_option("--export", options.picture.path,
                     "Write a picture instead of opening a window; needs no display")
          ->type_name("NAME.png|NAME.svg")
          ->needs(inputs);
  app.add_option_function<std::string>(
         "--size", [&options](const std::string& text) { readSize(text, options.picture); },
         "Size of the picture in pixels (default: 1600 wide, as high as the rows ask for)")
      ->type_name("WxH")
      ->needs(picture);
  CLI::Option* all =
      app.add_flag("--all", options.picture.isAll, "Export the whole run")->needs(picture);
  CLI::Option* step =
      app.add_option_function<int>(
             "--step",
             [&options](int n) {
               options.picture.steps = StepChoice{n, n};
             },
             "Export this step (default: a few steps, so that micro-batch numbers are legible)")
          ->type_name("N")
          ->check(CLI::NonNegativeNumber)
          ->needs(picture)
          ->excludes(all);
  app.add_option_function<std::string>(
         "--steps", [&options](const std::string& text) { readSteps(text, options.picture); },
         "Export these steps, both included")
      ->type_name("A:B")
      ->needs(picture)
      ->excludes(all)
      ->excludes(step);
}

}  // namespace pipetrace
