#include <algorithm>
#include <array>
#include <iterator>

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/names/programs/programs.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

constexpr std::string_view kHardware = "Ascend Hardware";

bool isOthers(const ForeignTrace::Process& process) {
  constexpr std::array<std::string_view, 7> kNames = {
      "CANN", "HCCL", "Communication", "Overlap Analysis", "AI Core Freq", "AscendCL", "MindSpore"};
  return std::find(kNames.begin(), kNames.end(), process.contents->name) != kNames.end();
}

/// The span of a training step, as its name says: ProfilerStep#7.
struct StepSpan {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::int32_t step = 0;
};

std::vector<StepSpan> stepsOn(const ForeignTrace& trace, std::size_t process) {
  constexpr std::string_view kStep = "ProfilerStep#";
  std::vector<StepSpan> steps;
  for (const ForeignTrace::Lane& lane : trace.lanes) {
    if (lane.process != process) continue;
    for (const Event& event : lane.thread->events) {
      const std::string_view name = trace.timeline.strings[event.name];
      if (!name.starts_with(kStep)) continue;
      const auto step = parseNumber<std::int32_t>(name.substr(kStep.size()));
      if (step && *step >= 0) steps.push_back({event.begin, event.end, *step});
    }
  }
  std::sort(steps.begin(), steps.end(),
            [](const StepSpan& a, const StepSpan& b) { return a.begin < b.begin; });
  return steps;
}

/// Gives steps to the host's events only: the time of an event on a device does not show its step.
void giveSteps(ForeignTrace& trace, std::size_t process) {
  const std::vector<StepSpan> steps = stepsOn(trace, process);
  if (steps.empty()) return;
  for (ForeignTrace::Lane& lane : trace.lanes) {
    if (lane.process != process) continue;
    for (Event& event : lane.thread->events) {
      const auto next = std::partition_point(steps.begin(), steps.end(), [&](const StepSpan& step) {
        return step.begin <= event.begin;
      });
      if (next == steps.begin() || event.step != kNotGiven) continue;
      if (event.begin < std::prev(next)->end) event.step = std::prev(next)->step;
    }
  }
}

}  // namespace

bool isAscendTrace(const ForeignTrace& trace) {
  const auto& processes = trace.processes;
  return std::any_of(processes.begin(), processes.end(),
                     [](const auto& process) { return process.contents->name == kHardware; }) ||
         std::count_if(processes.begin(), processes.end(), isOthers) >= 2;
}

void placeAscendTrace(ForeignTrace& trace) {
  trace.recorded.isRankGuessed = !trace.nameRank;
  for (ForeignTrace::Process& process : trace.processes) process.rank = trace.onlyRank();
  for (ForeignTrace::Lane& lane : trace.lanes) {
    const ForeignTrace::Process& process = trace.processes[lane.process];
    const std::string& name = process.contents->name;
    lane.rank = trace.onlyRank();
    lane.name = name.empty() ? "process " + toText(*process.pid) : name;
    lane.name += ": ";
    const std::string number = (name == kHardware ? "stream " : "thread ") + toText(*lane.tid);
    lane.name += lane.thread->name.empty() ? number : lane.thread->name;
  }
  for (std::size_t i = 0; i < trace.processes.size(); ++i) giveSteps(trace, i);
  RankInfo& info = trace.timeline.ranks[trace.onlyRank()];
  for (const ForeignTrace::Process& process : trace.processes) {
    if (process.contents->name == kHardware) info.device = process.contents->labels;
  }
}

}  // namespace pipetrace
