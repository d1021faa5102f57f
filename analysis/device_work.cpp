#include "analysis/device_work.h"

#include <map>
#include <optional>
#include <utility>

#include "trace/device_arguments.h"

namespace pipetrace {
namespace {

namespace keys = device_arguments;

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
  void add(const Event& job, std::map<std::pair<int, std::int32_t>, StageDeviceWork>& to,
           int rank) const {
    std::optional<std::int64_t> kernels;
    std::optional<std::int64_t> busy;
    std::optional<std::int64_t> comm;
    for (const Argument& argument : timeline_.argumentsOf(job)) {
      if (argument.type != ArgumentType::kInteger) continue;
      if (argument.key == *kernels_) kernels = argument.integer;
      if (argument.key == *busy_) busy = argument.integer;
      if (argument.key == *comm_) comm = argument.integer;
    }
    if (!kernels || !busy || !comm) return;
    StageDeviceWork& work = to[{rank, job.stage}];
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
  std::map<std::pair<int, std::int32_t>, StageDeviceWork> found;
  for (const Track& track : timeline.tracks) {
    if (track.lane != kComputeLane) continue;
    for (const Event& job : track.events) {
      if (isCompute(job.kind) && job.argumentCount > 0) reader.add(job, found, track.rank);
    }
  }
  for (auto& [key, work] : found) {
    work.rank = key.first;
    work.stage = key.second;
    list.push_back(work);
  }
  return list;
}

}  // namespace pipetrace
