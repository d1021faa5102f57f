#include "apps/pipe_trace/outputs/profile_outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/present/doubt_sentences.h"
#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/print.h"
#include "apps/cli/program.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/shared_options.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "ingest/load_run.h"
#include "ingest/output_files.h"
#include "parser/foreign/logs/pipeline_logger_writer.h"
#include "trace/error.h"
#include "trace/files/output_names.h"
#include "trace/files/output_set.h"
#include "trace/text/fit_to_print.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

bool isLoggerName(const std::string& name) {
  return name.starts_with("pipeline_rank") && name.ends_with(".json");
}

/// The files of that name which a folder holds already.
std::vector<std::string> pipelineLoggersIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (isLoggerName(entry.path().filename().string())) files.push_back(entry.path().string());
  }
  return files;
}

/// Throws Error for a file of another run, which would be read as part of this one.
void refuseOthers(const std::string& folder, const std::set<std::string>& own) {
  for (const std::string& file : pipelineLoggersIn(folder)) {
    const std::string name = fs::path(file).filename().string();
    if (own.contains(name)) continue;
    throw Error(fmt::format(
        "{} holds {}, of a rank that is not written now; choose another folder, or move it away",
        folder, name));
  }
}

/// Throws Error where the folder of --pipeline-logger is an input folder, or in one: there its
/// files would be read as part of the run the next time. Also where one of its files is an input.
void requireOutside(const std::string& folder, const std::vector<std::string>& inputs) {
  const fs::path behind = fileBehind(folder);
  for (const std::string& input : inputs) {
    if (input == "-") continue;
    const fs::path outer = fileBehind(input);
    std::error_code error;
    if (!fs::is_directory(outer, error)) {
      if (outer.parent_path() != behind || !isLoggerName(outer.filename())) continue;
      throw Error(fmt::format("{} is an input; choose another folder than {}", input, folder));
    }
    const auto [inOuter, rest] =
        std::mismatch(outer.begin(), outer.end(), behind.begin(), behind.end());
    if (inOuter != outer.end()) continue;
    throw Error(
        fmt::format("{} is {}the input folder {}, where its files would be read as part of "
                    "the run; choose another folder",
                    folder, rest == behind.end() ? "" : "in ", input));
  }
}

/// Adds the file of each rank of a run to `files`. Returns the line to print. Throws Error where
/// the folder holds such a file of a rank that the run does not have.
std::string addPipelineLoggers(const Timeline& timeline, const std::string& folder,
                               OutputSet& files) {
  files.makeFolder(folder);
  std::set<std::string> names;
  std::size_t jobs = 0;
  for (const auto& [rank, info] : timeline.ranks) {
    const PipelineLoggerWriter logger(timeline, rank);
    if (logger.jobs() == 0) continue;
    const std::string path = pipelineLoggerPath(folder, rank);
    names.insert(fs::path(path).filename().string());
    logger.write(files.add(path));
    jobs += logger.jobs();
  }
  refuseOthers(folder, names);
  return fmt::format("wrote {}: {} jobs and messages of {} ranks\n", folder, jobs, names.size());
}

/// `--name` and `--no-name`, of which the last one holds.
void addSwitch(CLI::App& app, const std::string& name, bool& value, const char* on,
               const char* off) {
  app.add_flag_callback(
         "--" + name, [&value] { value = true; }, on)
      ->trigger_on_parse();
  app.add_flag_callback(
         "--no-" + name, [&value] { value = false; }, off)
      ->trigger_on_parse();
}

/// Throws Error for a name like "a.json,b.csv", which is hardly meant as one.
void refuseList(const std::string& output) {
  const std::size_t comma = output.find(',');
  if (comma == std::string::npos || !profileFormatOfFile(output.substr(0, comma)) ||
      !profileFormatOfFile(output)) {
    return;
  }
  throw Error(fmt::format("{} looks like several outputs: give -o for each, as in -o {} -o {}",
                          output, output.substr(0, comma), output.substr(comma + 1)));
}

/// Throws Error where every name has another format than --format.
void refuseIdleFormat(const ProfileOutputs& outputs) {
  const auto format = profileFormatOf(outputs.format);
  if (!format || outputs.names.empty()) return;
  for (const std::string& output : outputs.names) {
    const auto named = profileFormatOfFile(output);
    if (!named || *named == *format) return;
  }
  throw Error(
      fmt::format("--format {} contradicts the name {}: leave it out, or choose a name "
                  "that ends in .{}",
                  outputs.format, outputs.names.front(), outputs.format));
}

ProfileSummary writeOne(const Timeline& timeline, const ProfileOutputs& outputs,
                        const LoadRunOptions& load, const std::string& output, OutputFile& file,
                        std::atomic<std::int64_t>& bytes) {
  nowDoing("writing a profile");
  const std::atomic<std::int64_t> notKnown{0};
  const ProgressBar bar("writing " + std::filesystem::path(output).filename().string(), bytes,
                        notKnown, {.begin = load.begin, .quiet = load.quiet || output == "-"});
  file.countInto(&bytes);
  const ProfileSummary summary = writeProfile(timeline, formatOf(output, outputs),
                                              {.flows = outputs.flows,
                                               .absoluteTime = outputs.absoluteTime,
                                               .csvSafe = outputs.csvSafe,
                                               .threads = load.reading.threads},
                                              file);
  if (!file.target().empty()) file.prepare();  // so that all its bytes are counted
  file.countInto(nullptr);
  return summary;
}

}  // namespace

std::string adviceOnSize(const std::string& path, std::int64_t bytes, std::int64_t limit) {
  if (bytes < limit) return {};
  constexpr double kGiga = 1e9;
  return fmt::format(
      "{}: note: it is {:.1f} GB, and Perfetto's UI stops near 2 GB. To get a smaller file, write "
      "a "
      "part of the run (--steps A:B, --ranks LIST), leave the arrows out (--no-flows), or write "
      "NAME.pftrace\n",
      path, static_cast<double>(bytes) / kGiga);
}

void addProfileOutputs(CommandApp& app, ProfileOutputs& outputs, LoadRunOptions& load) {
  CLI::Option* const output =
      app.add_option(
             "-o,--output", outputs.names,
             "Output to write: " + profileFormatList() +
                 ", or - for standard output; may be given several times. A chart shows the "
                 "last complete step, or those of --steps")
          ->type_name("FILE")
          ->transform([](const std::string& name) { return name == "/dev/stdout" ? "-" : name; })
          ->allow_extra_args(false);
  app.writes(output);
  addThemeOptions(app, output, outputs.theme, outputs.isDark);
  app.add_option("--format", outputs.format,
                 "Format of outputs whose name does not say it, as of -")
      ->type_name(fmt::format("{}", fmt::join(profileFormatNames(), "|")))
      ->check(CLI::IsMember(profileFormatNames()).description(""));
  app.add_option("--pipeline-logger", outputs.pipelineLogger,
                 "Folder to write the run into as PipelineLogger of the VPipe walkthrough does: "
                 "pipeline_rank<r>.json with the starts and ends of jobs and messages")
      ->type_name("DIR")
      ->check(notEmpty());
  addSwitch(app, "bubbles", load.bubbles, "Write profiles with lanes of idle time (default)",
            "... without them");
  // Not in the help: tests see the advice without a large file.
  app.add_option("--large-json", outputs.largeJson)->group("");
  addSwitch(app, "flows", outputs.flows, "Write profiles with arrows between the jobs (default)",
            "... without them");
  app.add_flag("--csv-safe", outputs.csvSafe,
               "Write CSV for spreadsheets: an apostrophe before names that they would run as "
               "formulas");
  app.add_flag(
      "--absolute-time", outputs.absoluteTime,
      "Write profiles whose times are those of the clock, not counted from the first event: "
      "since the Unix epoch, in Chrome JSON since midnight (UTC)");
}

bool wantsPicture(const ProfileOutputs& outputs) {
  return std::any_of(outputs.names.begin(), outputs.names.end(), [&](const std::string& name) {
    return formatOf(name, outputs) == ProfileFormat::kSvg;
  });
}

ProfileFormat formatOf(const std::string& output, const ProfileOutputs& outputs) {
  if (const auto format = profileFormatOfFile(output)) return *format;
  if (const auto format = profileFormatOf(outputs.format)) {
    if (!output.empty()) return *format;
  } else if (output == "-") {
    return ProfileFormat::kChromeJson;
  }
  const bool isPage = output.ends_with(".html") || output.ends_with(".htm");
  throw Error(fmt::format(
      "cannot write {}: an output is {}, - for standard output, or with --format any name{}",
      output.empty() ? "\"\"" : output, profileFormatList(),
      isPage ? "; pipe-trace report INPUT... -o " + output + " writes a page" : ""));
}

void checkOutputs(const ProfileOutputs& outputs, const LoadRunOptions& load) {
  if (!outputs.pipelineLogger.empty()) {
    requireOutside(outputs.pipelineLogger, load.inputs);
    checkOutputFiles(pipelineLoggersIn(outputs.pipelineLogger), load);
  }
  refuseIdleFormat(outputs);
  for (const std::string& output : outputs.names) {
    if (output == "-" && outputs.json) {
      throw Error("-o - and --json both want standard output; write the profile to a file");
    }
    refuseList(output);
    formatOf(output, outputs);
  }
  checkOutputFiles(outputs.names, load);
}

WrittenProfiles writeProfiles(const Timeline& timeline, const Picture& picture,
                              const ProfileOutputs& outputs, const LoadRunOptions& load,
                              OutputSet& files) {
  WrittenProfiles written;
  for (const std::string& output : outputs.names) {
    OutputFile& file = files.add(output);
    std::atomic<std::int64_t> bytes{0};
    std::string what;
    if (formatOf(output, outputs) == ProfileFormat::kSvg) {
      file.write(picture.svg);
      what = picture.what;
    } else {
      what = summaryText(writeOne(timeline, outputs, load, output, file, bytes));
    }
    written.lines += fmt::format("wrote {}: {}\n", output, what);
    if (formatOf(output, outputs) == ProfileFormat::kChromeJson) {
      written.advice += adviceOnSize(output, bytes, outputs.largeJson);
    }
  }
  if (!outputs.pipelineLogger.empty()) {
    written.lines += addPipelineLoggers(timeline, outputs.pipelineLogger, files);
  }
  return written;
}

bool printsSummary(const ProfileOutputs& outputs, const LoadRunOptions& load) {
  const auto& names = outputs.names;
  return !outputs.json && (!load.quiet || names.empty()) &&
         std::find(names.begin(), names.end(), "-") == names.end();
}

int writeAndReport(Run run, const ProfileOutputs& outputs, const LoadRunOptions& load,
                   const Diagnostics& diagnostics, const SummaryText& report, bool force) {
  const std::vector<Doubt> doubts =
      load.beginsWithDoubts ? doubtsOf(run, diagnostics) : doubtAndReport(load, run, diagnostics);
  if (outputs.names.empty() || outputs.json) requireMeaning(doubts, force);
  const bool isMeaningless = !force && areMeaningless(doubts);
  const BubbleChoice bubbles = bubblesFor(run, load);
  auto [timeline, summary] = std::move(run).ready(bubbles);
  const Selection& selection = load.selection;
  Picture picture;
  if (wantsPicture(outputs))
    picture = pictureOfSteps(timeline, summary, selection, themeOf(outputs.theme, outputs.isDark));
  timeline = selected(std::move(timeline), selection);
  summary = selected(std::move(summary), selection);
  OutputSet outputFiles;
  const WrittenProfiles written = writeProfiles(timeline, picture, outputs, load, outputFiles);

  const auto& names = outputs.names;
  const bool toStdout = std::find(names.begin(), names.end(), "-") != names.end();
  std::string results;
  if (outputs.json) {
    results = report(timeline, summary, doubts);
  } else if (printsSummary(outputs, load)) {
    results = fitToPrint(
        (isMeaningless ? noFiguresText(doubts) + "\n" : report(timeline, summary, doubts)) +
        (written.lines.empty() ? "" : "\n" + written.lines));
  }
  if (!results.empty()) outputFiles.add("-", results);
  outputFiles.commit();
  if (!load.quiet) {
    printError(written.advice);
    if (toStdout || outputs.json) printError(written.lines);
  }
  return isMeaningless ? kExitCouldNot : exitCodeOf(load, diagnostics, doubts);
}

}  // namespace pipetrace
