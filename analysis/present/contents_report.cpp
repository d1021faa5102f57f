#include "analysis/present/contents_report.h"

#include <nlohmann/json.hpp>

#include "trace/text/decimal_time.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUnknown = "unknown";

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

Json orNull(const std::optional<int>& number) { return number ? Json(*number) : Json(); }

Json toJson(const StatedTopology& topology) {
  if (topology.isUnknown()) return kUnknown;
  Json object = {{"pp", orNull(topology.pipelineRanks)},
                 {"dp", orNull(topology.replicas)},
                 {"vpp", orNull(topology.chunks)}};
  if (topology.tensorRanks) object["tp"] = *topology.tensorRanks;
  if (!topology.ranksOfStage.empty()) object["ranks_of_stage"] = topology.ranksOfStage;
  return object;
}

Json toJson(const StatedClock& clock) {
  if (clock.isUnknown()) return kUnknown;
  return {{"source", clock.sources.empty() ? Json() : Json(joined(clock.sources))},
          {"aligned", clock.aligned},
          {"bound_ns", clock.hasReadings ? Json(clock.bound) : Json()}};
}

Json toJson(const Diagnostic& diagnostic) {
  static constexpr const char* kSeverity[] = {"note", "warning", "error"};
  return {{"severity", kSeverity[static_cast<int>(diagnostic.severity)]},
          {"file", diagnostic.file},
          {"line", diagnostic.line},
          {"count", diagnostic.count},
          {"message", diagnostic.message},
          {"advice", diagnostic.advice}};
}

std::string line(std::string name, const std::string& value) {
  constexpr std::size_t kColumn = 10;
  name.resize(std::max(name.size() + 1, kColumn), ' ');
  return name + fitInLine(value) + "\n";
}

/// "12", "12, of them 3 evaluate and 1 predict".
std::string stepsText(const RunContents& run) {
  std::string others;
  for (const auto& [phase, steps] : run.stepsOfPhase) {
    others += (others.empty() ? ", of them " : " and ") + std::to_string(steps) + " " +
              std::string(logName(phase));
  }
  return std::to_string(run.steps) + others;
}

std::string toText(const StatedTopology& topology) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::optional<int>& number) {
    if (number) parts.push_back(name + (" " + std::to_string(*number)));
  };
  add("pp", topology.pipelineRanks);
  add("dp", topology.replicas);
  add("vpp", topology.chunks);
  add("tp", topology.tensorRanks);
  if (!topology.ranksOfStage.empty()) {
    parts.push_back("stages on ranks " + pipetrace::toText(topology.ranksOfStage));
  }
  return topology.isUnknown() ? kUnknown : joined(parts);
}

std::string toText(const StatedClock& clock) {
  if (clock.isUnknown()) return kUnknown;
  std::string text = joined(clock.sources);
  if (clock.hasReadings) {
    if (!text.empty()) text += ", ";
    text += clock.aligned ? "all times in rank 0's clock" : "each rank in its own clock";
    text += ", known to within " + formatDuration(clock.bound);
  }
  return text;
}

std::string toText(const Diagnostics& diagnostics) {
  std::int64_t counts[3] = {};
  for (const Diagnostic& each : diagnostics.list()) ++counts[static_cast<int>(each.severity)];
  static constexpr const char* kOne[] = {"note", "warning", "error"};
  std::string text;
  for (int severity = 2; severity >= 0; --severity) {
    const std::int64_t count = counts[severity];
    if (count == 0) continue;
    if (!text.empty()) text += ", ";
    text += countText(count, kOne[severity]);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string contentsText(const InputContents& contents, const Diagnostics& diagnostics) {
  const RunContents& run = contents.run;
  const auto count = [](const char* name, std::int64_t number) {
    return line(name, std::to_string(number));
  };
  std::string begin;
  appendMilliseconds(begin, run.span.begin);
  return line("format", contents.format) + count("ranks", run.ranks) + count("runs", run.runs) +
         line("steps", stepsText(run)) + count("jobs", run.jobs) + count("events", run.events) +
         line("counters", std::to_string(run.counters) +
                              (run.counterNames.empty() ? "" : ": " + joined(run.counterNames))) +
         count("flows", contents.flows) +
         line("time", formatDuration(run.span.end - run.span.begin) + " from " + begin +
                          " ms since the epoch") +
         line("topology", toText(run.topology)) + line("clock", toText(run.clock)) +
         line("findings", toText(diagnostics));
}

std::string contentsJson(const InputContents& contents, const Diagnostics& diagnostics) {
  const RunContents& run = contents.run;
  Json findings = Json::array();
  for (const Diagnostic& diagnostic : diagnostics.list()) findings.push_back(toJson(diagnostic));
  Json report = {{"format", contents.format},  {"ranks", run.ranks},
                 {"runs", run.runs},           {"steps", run.steps},
                 {"jobs", run.jobs},           {"events", run.events},
                 {"counters", run.counters},   {"counter_names", run.counterNames},
                 {"flows", contents.flows},    {"begin_ns", run.span.begin},
                 {"end_ns", run.span.end},     {"topology", toJson(run.topology)},
                 {"clock", toJson(run.clock)}, {"diagnostics", findings}};
  if (!run.stepsOfPhase.empty()) {
    Json& steps = report["steps_of_phase"] = Json::object();
    for (const auto& [phase, count] : run.stepsOfPhase) steps[std::string(logName(phase))] = count;
  }
  // Names of files need not be UTF-8.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipetrace
