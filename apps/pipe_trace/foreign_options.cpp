#include "apps/pipe_trace/foreign_options.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace pipetrace {

void addForeignOptions(CLI::App& app, LoadRunOptions& options) {
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
  app.add_option("--kinds", options.reading.kindsFile,
                 "File that maps names of other tracers to kinds of jobs (docs/inputs.md)")
      ->type_name("FILE.json");
  app.add_option_function<std::string>(
         "--time",
         [&options](const std::string& name) {
           static const std::map<std::string, JobTime> times = {
               {"auto", JobTime::kAuto}, {"device", JobTime::kDevice}, {"host", JobTime::kHost}};
           options.reading.jobTime = times.at(name);
         },
         "The times of jobs in traces of host and device: when the device ran them, or when the "
         "host launched them (default: auto, the device where there is one)")
      ->type_name("auto|device|host")
      ->check(CLI::IsMember({"auto", "device", "host"}).description(""));
}

}  // namespace pipetrace
