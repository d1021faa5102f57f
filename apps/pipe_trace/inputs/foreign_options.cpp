#include "apps/pipe_trace/inputs/foreign_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "apps/cli/command_app.h"
#include "parser/foreign/names/name_preset.h"
#include "trace/error.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

std::string presetList() { return fmt::format("{}", fmt::join(namePresets(), ", ")); }

bool isThere(const std::string& word) {
  std::error_code fault;
  return findNamePreset(word) != nullptr || word == "-" || std::filesystem::exists(word, fault);
}

/// Throws Error for a word that is neither a preset nor a file.
void check(const std::string& word) {
  if (isThere(word)) return;
  const std::string meant = nearestName(word, namePresets());
  throw Error("--kinds: there is no preset and no file " + (word.empty() ? "\"\"" : word) +
              "; presets are " + presetList() + "; " +
              (meant.empty() ? "check the name" : "did you mean " + meant + "?"));
}

/// The presets and files of the option's values, each of which may be a list with commas.
std::vector<std::string> kindsIn(const std::vector<std::string>& values) {
  std::vector<std::string> words;
  for (const std::string& value : values) {
    if (isThere(value)) {
      words.push_back(value);
      continue;
    }
    for (std::size_t from = 0; from <= value.size();) {
      const std::size_t end = std::min(value.find(',', from), value.size());
      words.push_back(value.substr(from, end - from));
      check(words.back());
      from = end + 1;
    }
  }
  return words;
}

}  // namespace

void addForeignOptions(CommandApp& app, LoadRunOptions& options) {
  CLI::Option* const pattern =
      app.add_option("--pattern", options.reading.pattern,
                     "Read any program's logs: a regular expression (RE2) with the groups type, "
                     "start, end or duration, micro_batch_id, step, rank, ...")
          ->type_name("REGEX");
  app.add_option_function<std::string>(
         "--time-unit",
         [&options](const std::string& name) {
           static const std::map<std::string, Nanoseconds> units = {
               {"ns", 1}, {"us", kNsPerUs}, {"ms", kNsPerMs}, {"s", kNsPerSecond}};
           options.reading.timeUnit = units.at(name);
         },
         "The unit of the times that --pattern finds (default: ms)")
      ->type_name("ns|us|ms|s")
      ->check(CLI::IsMember({"ns", "us", "ms", "s"}).description(""))
      ->needs(pattern);
  CLI::Option* const kinds =
      app.add_option_function<std::vector<std::string>>(
             "--kinds",
             [&options](const std::vector<std::string>& list) {
               options.reading.kinds = kindsIn(list);
             },
             "What the names of other tracers mean (docs/inputs.md): a preset (" + presetList() +
                 ") or a file that maps names to kinds of jobs; ./torch is a file; may be given "
                 "several times")
          ->type_name("FILE.json|PRESET")
          ->allow_extra_args(false);
  app.offer(kinds, namePresets());
  app.add_option_function<std::string>(
         "--time",
         [&options](const std::string& name) {
           static const std::map<std::string, JobTime> times = {
               {"auto", JobTime::kAuto}, {"device", JobTime::kDevice}, {"host", JobTime::kHost}};
           options.reading.jobTime = times.at(name);
         },
         "The times of jobs in other programs' traces: when their work ran, or those of the host's "
         "annotations (default: auto, the device's where there is one)")
      ->type_name("auto|device|host")
      ->check(CLI::IsMember({"auto", "device", "host"}).description(""));
}

}  // namespace pipetrace
