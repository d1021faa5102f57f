#include "parser/kineto_trace.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "parser/log_numbers.h"

namespace pipetrace {
namespace {

/// The categories that make a difference.
enum class Category : std::uint8_t { kHost, kAnnotation, kKernel, kCopy, kDeviceAnnotation };

struct Word {
  std::string_view text;
  Category category;
};

constexpr Word kWords[] = {{"user_annotation", Category::kAnnotation},
                           {"kernel", Category::kKernel},
                           {"gpu_memcpy", Category::kCopy},
                           {"gpu_memset", Category::kCopy},
                           {"gpu_user_annotation", Category::kDeviceAnnotation}};

constexpr std::string_view kStep = "ProfilerStep#";

std::string_view withoutBlanks(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// A stretch of time, and a number of the operators in it, that belong to a training step.
struct StepSpan {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::int32_t step = 0;
};

class KinetoPlacer {
 public:
  KinetoPlacer(ForeignTrace& trace, const KinetoInfo& info, ForeignNames& names)
      : trace_(trace), timeline_(trace.timeline), info_(info), names_(names) {}

  void place() {
    rank_ = info_.rank.value_or(trace_.firstRank);
    hasDevice_ = std::any_of(trace_.lanes.begin(), trace_.lanes.end(),
                             [&](const auto& lane) { return isDevice(lane); });
    nameLanes();
    findSteps();
    for (ForeignTrace::Lane& lane : trace_.lanes) {
      if (!isDevice(lane)) readHostLane(*lane.thread);
    }
    std::sort(steps_.begin(), steps_.end());
    for (ForeignTrace::Lane& lane : trace_.lanes) {
      if (isDevice(lane)) readDeviceLane(*lane.thread);
    }
    if (jobs_.empty()) return;
    trace_.made.emplace_back().events = std::move(jobs_);
    ForeignTrace::Lane compute = trace_.lanes.front();
    compute.thread = &trace_.made.back();
    compute.name = kComputeLane;
    trace_.lanes.push_back(compute);
    std::erase_if(trace_.lanes, [](const auto& lane) { return lane.thread->events.empty(); });
  }

 private:
  Category categoryOf(const Event& event) {
    if (event.kind == JobKind::kKernel) return Category::kKernel;
    const StringId id = names_.categoryOf(event);
    if (id == 0) return Category::kHost;
    const auto found = std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& word) {
      return word.text == timeline_.strings[id];
    });
    return found == std::end(kWords) ? Category::kHost : found->category;
  }

  bool isDevice(const ForeignTrace::Lane& lane) {
    const Category category = categoryOf(lane.thread->events.front());
    return category != Category::kHost && category != Category::kAnnotation;
  }

  void nameLanes() {
    std::set<std::size_t> devices;
    for (const ForeignTrace::Lane& lane : trace_.lanes) {
      if (isDevice(lane)) devices.insert(lane.process);
    }
    RankInfo& info = timeline_.ranks[rank_];
    info.worldSize = info_.worldSize;
    for (ForeignTrace::Process& process : trace_.processes) process.rank = rank_;
    for (ForeignTrace::Lane& lane : trace_.lanes) {
      const ChromeProcess& process = *trace_.processes[lane.process].contents;
      lane.rank = rank_;
      lane.name = withoutBlanks(lane.thread->name);
      if (lane.name.empty()) lane.name = "thread " + toText(*lane.tid);
      if (!devices.contains(lane.process)) continue;
      if (info.device.empty()) info.device = process.labels;
      if (devices.size() > 1) lane.name = process.labels + " " + lane.name;
    }
  }

  void findSteps() {
    for (const ForeignTrace::Lane& lane : trace_.lanes) {
      for (const Event& event : lane.thread->events) {
        std::string_view name = timeline_.strings[event.name];
        if (!name.starts_with(kStep) || categoryOf(event) != Category::kAnnotation) continue;
        name.remove_prefix(kStep.size());
        const auto step = parseNumber<std::int32_t>(name);
        if (step && *step >= 0) spans_.push_back({event.begin, event.end, *step});
      }
    }
    std::sort(spans_.begin(), spans_.end(),
              [](const StepSpan& a, const StepSpan& b) { return a.begin < b.begin; });
  }

  std::int32_t stepAt(Nanoseconds time) const {
    const auto next = std::partition_point(spans_.begin(), spans_.end(),
                                           [&](const StepSpan& s) { return s.begin <= time; });
    if (next == spans_.begin()) return kNotGiven;
    const StepSpan& span = *std::prev(next);
    return time < span.end ? span.step : kNotGiven;
  }

  /// The number that ties what a device did to the operator that launched it.
  std::optional<std::int64_t> externalId(const Event& event) const {
    for (const Argument& argument : timeline_.argumentsOf(event)) {
      if (argument.key == externalId_ && argument.type == ArgumentType::kInteger) {
        return argument.integer;
      }
    }
    return std::nullopt;
  }

  /// Whether the annotation is a job; if so it is told what its name says.
  bool describeAnnotation(Event& event) {
    if (names_.describeAsAsked(event)) return isComputeLane(event.kind);
    const JobName& name = names_.known(event.name);
    const bool isUsed = isComputeLane(name.kind) || (!hasDevice_ && name.kind != JobKind::kOther);
    if (!isUsed) return false;
    event.kind = name.kind;
    return isComputeLane(name.kind);
  }

  void readHostLane(ChromeProcess::Thread& thread) {
    const auto comesFirst = [](const Event& a, const Event& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    };
    // Most threads are in order already, and sorting takes time and memory even then.
    if (!std::is_sorted(thread.events.begin(), thread.events.end(), comesFirst)) {
      std::stable_sort(thread.events.begin(), thread.events.end(), comesFirst);
    }
    Nanoseconds jobEnd = kNsMin;
    std::size_t kept = 0;
    for (Event& event : thread.events) {
      event.step = stepAt(event.begin);
      if (const auto id = externalId(event); id && event.step != kNotGiven) {
        steps_.emplace_back(*id, event.step);
      }
      bool isJob = false;
      if (categoryOf(event) == Category::kAnnotation) {
        isJob = describeAnnotation(event);
        if (isJob && event.begin < jobEnd) {
          event.kind = JobKind::kOther;  // part of the job around it
          isJob = false;
        }
      } else {
        names_.describeAsAsked(event);
      }
      if (!isJob) {
        thread.events[kept++] = event;
        continue;
      }
      jobEnd = event.end;
      names_.give(event, names_.known(event.name));
      jobs_.push_back(event);
    }
    thread.events.resize(kept);
  }

  void readDeviceLane(ChromeProcess::Thread& thread) {
    for (Event& event : thread.events) {
      if (const auto id = externalId(event)) event.step = stepOf(*id);
      if (names_.describeAsAsked(event)) continue;
      const Category category = categoryOf(event);
      if (category == Category::kCopy) event.kind = JobKind::kCopy;
      if (category == Category::kKernel) names_.describe(event);
    }
  }

  std::int32_t stepOf(std::int64_t id) const {
    const auto found =
        std::lower_bound(steps_.begin(), steps_.end(), std::pair{id, std::int32_t{kNotGiven}});
    return found != steps_.end() && found->first == id ? found->second : kNotGiven;
  }

  ForeignTrace& trace_;
  Timeline& timeline_;
  const KinetoInfo& info_;
  ForeignNames& names_;
  int rank_ = 0;
  bool hasDevice_ = false;
  std::vector<StepSpan> spans_;
  std::vector<std::pair<std::int64_t, std::int32_t>> steps_;  // external id, step
  std::vector<Event> jobs_;
  StringId externalId_ = timeline_.strings.intern("External id");
};

}  // namespace

bool isKinetoTrace(const ForeignTrace& trace) {
  constexpr std::array<std::string_view, 3> kTypical = {"cpu_op", "cuda_runtime",
                                                        "gpu_user_annotation"};
  std::array<StringId, kTypical.size()> ids{};
  std::transform(kTypical.begin(), kTypical.end(), ids.begin(),
                 [&](std::string_view text) { return trace.timeline.strings.intern(text); });
  const ForeignNames names(nullptr, trace.timeline);
  for (const ForeignTrace::Lane& lane : trace.lanes) {
    for (const Event& event : lane.thread->events) {
      const StringId category = names.categoryOf(event);
      if (category != 0 && std::find(ids.begin(), ids.end(), category) != ids.end()) return true;
    }
  }
  return false;
}

void placeKinetoTrace(ForeignTrace& trace, const KinetoInfo& info, ForeignNames& names) {
  if (!trace.lanes.empty()) KinetoPlacer(trace, info, names).place();
}

}  // namespace pipetrace
