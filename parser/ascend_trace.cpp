#include "parser/ascend_trace.h"

#include <algorithm>
#include <array>

namespace pipetrace {
namespace {

constexpr std::string_view kHardware = "Ascend Hardware";

bool isOthers(const ForeignTrace::Process& process) {
  constexpr std::array<std::string_view, 7> kNames = {
      "CANN", "HCCL", "Communication", "Overlap Analysis", "AI Core Freq", "AscendCL", "MindSpore"};
  return std::find(kNames.begin(), kNames.end(), process.contents->name) != kNames.end();
}

}  // namespace

bool isAscendTrace(const ForeignTrace& trace) {
  const auto& processes = trace.processes;
  return std::any_of(processes.begin(), processes.end(),
                     [](const auto& process) { return process.contents->name == kHardware; }) ||
         std::count_if(processes.begin(), processes.end(), isOthers) >= 2;
}

void placeAscendTrace(ForeignTrace& trace) {
  for (ForeignTrace::Process& process : trace.processes) process.rank = trace.firstRank;
  for (ForeignTrace::Lane& lane : trace.lanes) {
    const ForeignTrace::Process& process = trace.processes[lane.process];
    const std::string& name = process.contents->name;
    lane.rank = trace.firstRank;
    lane.name = name.empty() ? "process " + toText(*process.pid) : name;
    lane.name += ": ";
    lane.name += lane.thread->name.empty() ? "thread " + toText(*lane.tid) : lane.thread->name;
  }
  RankInfo& info = trace.timeline.ranks[trace.firstRank];
  for (const ForeignTrace::Process& process : trace.processes) {
    if (process.contents->name == kHardware) info.device = process.contents->labels;
  }
}

}  // namespace pipetrace
