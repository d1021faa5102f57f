#include "parser/foreign/kineto_trace.h"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/names/foreign_names.h"
#include "parser/profile/common_format.h"
#include "parser/trace_reader.h"
#include "trace/text/log_numbers.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

constexpr std::string_view kDistributed = "distributedInfo";
constexpr std::string_view kBase = common_format::kBaseTime;

std::optional<int> numberIn(const nlohmann::json& object, const char* key, int atLeast) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto number = parseNumber<int>(found->dump());
  if (!number || *number < atLeast || *number > kHighestRank) return std::nullopt;
  return number;
}

/// The categories that are treated differently.
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

/// The span of a training step, and the step's number.
struct StepSpan {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::int32_t step = 0;
};

class KinetoPlacer {
 public:
  KinetoPlacer(ForeignTrace& trace, const KinetoInfo& info, ForeignNames& names)
      : trace_(trace), timeline_(trace.timeline), info_(info), names_(names) {
    std::transform(std::begin(kWords), std::end(kWords), wordIds_.begin(),
                   [&](const Word& word) { return timeline_.strings.intern(word.text); });
  }

  void place() {
    rank_ = info_.rank.value_or(trace_.firstRank);
    hasDevice_ = std::any_of(trace_.lanes.begin(), trace_.lanes.end(),
                             [&](const auto& lane) { return isDevice(lane); });
    nameLanes();
    findSteps();
    const auto isOfDevice = [&](const ForeignTrace::Lane* lane) { return isDevice(*lane); };
    std::vector<ForeignTrace::Lane*> lanes;
    for (ForeignTrace::Lane& lane : trace_.lanes) lanes.push_back(&lane);
    const auto devices = std::stable_partition(lanes.begin(), lanes.end(), std::not_fn(isOfDevice));
    readHostLanes(std::span(lanes.begin(), devices));
    std::sort(steps_.begin(), steps_.end());
    readDeviceLanes(std::span(devices, lanes.end()));
    if (jobs_.empty()) return;
    trace_.made.emplace_back().events = std::move(jobs_);
    ForeignTrace::Lane compute = trace_.lanes.front();
    compute.thread = &trace_.made.back();
    compute.name = kComputeLane;
    trace_.lanes.push_back(compute);
    std::erase_if(trace_.lanes, [](const auto& lane) { return lane.thread->events.empty(); });
  }

 private:
  Category categoryOf(const Event& event) const {
    if (event.kind == JobKind::kKernel) return Category::kKernel;
    const StringId id = names_.categoryOf(event);
    if (id == 0) return Category::kHost;
    const auto found = std::find(wordIds_.begin(), wordIds_.end(), id);
    return found == wordIds_.end() ? Category::kHost : kWords[found - wordIds_.begin()].category;
  }

  bool isDevice(const ForeignTrace::Lane& lane) const {
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
    std::vector<char> isStep(timeline_.strings.size());
    for (StringId id = 0; id < isStep.size(); ++id) {
      isStep[id] = timeline_.strings[id].starts_with(kStep) ? 1 : 0;
    }
    std::vector<std::vector<StepSpan>> found(trace_.lanes.size());
    inParallel(trace_.threads, found.size(), [&](std::size_t lane) {
      for (const Event& event : trace_.lanes[lane].thread->events) {
        if (isStep[event.name] == 0 || categoryOf(event) != Category::kAnnotation) continue;
        const auto step =
            parseNumber<std::int32_t>(timeline_.strings[event.name].substr(kStep.size()));
        if (step && *step >= 0) found[lane].push_back({event.begin, event.end, *step});
      }
    });
    for (const auto& spans : found) spans_.insert(spans_.end(), spans.begin(), spans.end());
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

  /// The number that ties an event on a device to the operator that launched it.
  std::optional<std::int64_t> externalId(const Event& event) const {
    for (const Argument& argument : timeline_.argumentsOf(event)) {
      if (argument.key == externalId_ && argument.type == ArgumentType::kInteger) {
        return argument.integer;
      }
    }
    return std::nullopt;
  }

  /// Whether the annotation is a job; if so, the event gets the kind and numbers in its name.
  bool describeAnnotation(Event& event) {
    if (names_.describeAsAsked(event)) return isComputeLane(event.kind);
    const JobName& name = names_.known(event.name);
    const bool isUsed = isComputeLane(name.kind) || (!hasDevice_ && name.kind != JobKind::kOther);
    if (!isUsed) return false;
    event.kind = name.kind;
    return isComputeLane(name.kind);
  }

  /// The findings of one thread about a lane. One thread looks at the names afterwards, since only
  /// few matter.
  struct LaneReading {
    std::vector<std::pair<std::int64_t, std::int32_t>> steps;
    std::vector<std::size_t> named;  // events whose names may say something
  };

  void readHostLanes(std::span<ForeignTrace::Lane* const> lanes) {
    std::vector<LaneReading> readings(lanes.size());
    inParallel(trace_.threads, lanes.size(),
               [&](std::size_t i) { readings[i] = readHostLane(*lanes[i]->thread); });
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      steps_.insert(steps_.end(), readings[i].steps.begin(), readings[i].steps.end());
      takeJobs(lanes[i]->thread->events, readings[i].named);
    }
  }

  LaneReading readHostLane(ChromeProcess::Thread& thread) const {
    const auto comesFirst = [](const Event& a, const Event& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    };
    // Most threads are in order already, and sorting takes time and memory even then.
    if (!std::is_sorted(thread.events.begin(), thread.events.end(), comesFirst)) {
      std::stable_sort(thread.events.begin(), thread.events.end(), comesFirst);
    }
    LaneReading reading;
    for (std::size_t i = 0; i < thread.events.size(); ++i) {
      Event& event = thread.events[i];
      const std::int32_t step = spans_.empty() ? kNotGiven : stepAt(event.begin);
      if (event.step != step) event.step = step;
      if (step != kNotGiven) {
        if (const auto id = externalId(event)) reading.steps.emplace_back(*id, step);
      }
      if (names_.isAsked() || categoryOf(event) == Category::kAnnotation) {
        reading.named.push_back(i);
      }
    }
    return reading;
  }

  /// Moves the jobs among the named events of a lane of the host to the compute lane.
  void takeJobs(std::vector<Event>& events, const std::vector<std::size_t>& named) {
    Nanoseconds jobEnd = kNsMin;
    std::vector<std::size_t> jobs;
    for (const std::size_t i : named) {
      Event& event = events[i];
      if (categoryOf(event) != Category::kAnnotation) {
        names_.describeAsAsked(event);
        continue;
      }
      if (!describeAnnotation(event)) continue;
      if (event.begin < jobEnd) {
        event.kind = JobKind::kOther;  // part of the job around it
        continue;
      }
      jobEnd = event.end;
      names_.give(event, names_.known(event.name));
      jobs_.push_back(event);
      jobs.push_back(i);
    }
    if (jobs.empty()) return;
    std::size_t kept = jobs.front();
    auto job = jobs.begin();
    for (std::size_t i = kept; i < events.size(); ++i) {
      if (job != jobs.end() && *job == i) {
        ++job;
      } else {
        events[kept++] = events[i];
      }
    }
    events.resize(kept);
  }

  void readDeviceLanes(std::span<ForeignTrace::Lane* const> lanes) {
    inParallel(trace_.threads, lanes.size(), [&](std::size_t i) {
      for (Event& event : lanes[i]->thread->events) {
        if (const auto id = externalId(event)) event.step = stepOf(*id);
      }
    });
    for (const ForeignTrace::Lane* lane : lanes) {
      for (Event& event : lane->thread->events) {
        if (names_.describeAsAsked(event)) continue;
        const Category category = categoryOf(event);
        if (category == Category::kCopy) event.kind = JobKind::kCopy;
        if (category == Category::kKernel) names_.describe(event);
      }
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
  std::array<StringId, std::size(kWords)> wordIds_{};
  StringId externalId_ = timeline_.strings.intern("External id");
};

}  // namespace

bool KinetoInfo::isField(std::string_view key) { return key == kDistributed || key == kBase; }

void KinetoInfo::readField(std::string_view key, std::string_view json) {
  if (!isField(key)) return;
  isThere = true;
  if (key == kBase) {
    base = parseNumber<Nanoseconds>(json);
    return;
  }
  const auto object = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
  if (!object.is_object()) return;
  rank = numberIn(object, "rank", 0);
  worldSize = numberIn(object, "world_size", 1);
}

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
