#include "analysis/run/steps/device_work.h"

#include <map>
#include <optional>
#include <tuple>

#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

namespace keys = device_arguments;

/// By rank, stage and step.
using Works = std::map<std::tuple<int, std::int32_t, std::int32_t>, StageDeviceWork>;

class Reader {
 public:
  explicit Reader(const Timeline& timeline)
      : timeline_(timeline),
        kernels_(timeline.strings.find(keys::kKernels)),
        busy_(timeline.strings.find(keys::kDeviceBusy)),
        comm_(timeline.strings.find(keys::kCommInside)) {}

  /// Whether any event can have the arguments.
  bool canHave() const { return kernels_ && busy_ && comm_; }

  /// Adds a job that has them.
  void add(const Event& job, Works& to, int rank) const {
    std::optional<std::int64_t> kernels;
    std::optional<std::int64_t> busy;
    std::optional<std::int64_t> comm;
    for (const Argument& argument : timeline_.argumentsOf(job)) {
      if (argument.type != ArgumentType::kInteger) continue;
      if (argument.key == kernels_) kernels = argument.integer;
      if (argument.key == busy_) busy = argument.integer;
      if (argument.key == comm_) comm = argument.integer;
    }
    if (!kernels || !busy || !comm) return;
    StageDeviceWork& work = to[{rank, job.stage, job.step}];
    ++work.jobs;
    work.kernels += *kernels;
    work.length += job.duration();
    work.busy += *busy;
    work.commInside += *comm;
  }

 private:
  const Timeline& timeline_;
  std::optional<StringId> kernels_;
  std::optional<StringId> busy_;
  std::optional<StringId> comm_;
};

}  // namespace

std::vector<StageDeviceWork> deviceWorkOf(const Timeline& timeline) {
  const Reader reader(timeline);
  std::vector<StageDeviceWork> list;
  if (!reader.canHave()) return list;
  const Phase phase = countedPhaseOf(timeline);
  Works found;
  for (const Track& track : timeline.tracks) {
    if (track.lane != kComputeLane) continue;
    for (const Event& job : track.events) {
      const bool counts = isCompute(job.kind) && job.phase == phase;
      if (counts && job.argumentCount > 0) reader.add(job, found, track.rank);
    }
  }
  for (auto& [key, work] : found) {
    std::tie(work.rank, work.stage, work.step) = key;
    list.push_back(work);
  }
  return list;
}

std::vector<StageDeviceWork> overSteps(const std::vector<StageDeviceWork>& work) {
  std::vector<StageDeviceWork> sums;
  for (const StageDeviceWork& each : work) {
    if (sums.empty() || sums.back().rank != each.rank || sums.back().stage != each.stage) {
      sums.push_back(each);
      continue;
    }
    StageDeviceWork& sum = sums.back();
    sum.jobs += each.jobs;
    sum.kernels += each.kernels;
    sum.length += each.length;
    sum.busy += each.busy;
    sum.commInside += each.commInside;
  }
  return sums;
}

}  // namespace pipetrace
