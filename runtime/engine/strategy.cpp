#include "runtime/engine/strategy.h"

#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

#include "schedule/build_schedule.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using Setter = std::function<void(Strategy& strategy, std::string_view value)>;

template <typename Number>
Number numberIn(std::string_view text, Number least, Number most) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool isNumber = error == std::errc() && end == text.data() + text.size();
  if (!isNumber || !(number >= least) || !(number <= most)) {
    std::ostringstream why;
    why << "it is no number from " << least;
    if (most < std::numeric_limits<Number>::max()) {
      why << " to " << most;
    } else {
      why << " on";
    }
    throw Error(why.str());
  }
  return number;
}

void setStashUpdate(Strategy& strategy, std::string_view value) {
  if (value != "newest" && value != "oldest") throw Error("it is newest or oldest");
  strategy.stashUpdate = value == "newest" ? StashUpdate::kNewest : StashUpdate::kOldest;
}

/// PaddlePaddle's names of schedules.
void setScheduleMode(Strategy& strategy, std::string_view value) {
  strategy.plan.schedule = value;
  for (const ScheduleInfo& info : knownSchedules()) {
    if (!info.paddleMode.empty() && info.paddleMode == value) strategy.plan.schedule = info.name;
  }
}

/// Replicas take the mean over the rows of all, so that a sum would be another learning rate.
void requireGradientScale(std::string_view value) {
  if (!truthIn(value)) {
    throw Error(
        "the gradients of replicas are those of the mean over all rows; multiply the learning rate "
        "by the number of replicas for their sum");
  }
}

void requireSemi(std::string_view value) {
  if (value == "semi") return;
  throw Error(
      "the engine finds no partition by itself; say semi, and name the blocks of each stage in "
      "`partition`");
}

using Setters = std::map<std::string, Setter, std::less<>>;

Setters makeSetters() {
  Setters setters = {
      {"auto_mode", [](Strategy&, std::string_view value) { requireSemi(value); }},
      {"clip_grad_norm",
       [](Strategy& strategy, std::string_view value) {
         strategy.clipNorm = numberIn(value, 0.0, std::numeric_limits<double>::max());
       }},
      {"enable_send_recv_overlap",
       [](Strategy& strategy, std::string_view value) { strategy.overlaps = truthIn(value); }},
      {"gradient_scale", [](Strategy&, std::string_view value) { requireGradientScale(value); }},
      {"loss_scale",
       [](Strategy& strategy, std::string_view value) { strategy.lossScale = lossScaleIn(value); }},
      {"partition",
       [](Strategy& strategy, std::string_view value) { strategy.partitionFile = value; }},
      {"precision",
       [](Strategy& strategy, std::string_view value) {
         strategy.precision = precisionOf(std::string(value));
       }},
      {"recompute_ratio",
       [](Strategy& strategy, std::string_view value) {
         strategy.recomputeRatio = numberIn(value, 0.0, 1.0);
       }},
      {"schedule_mode", setScheduleMode},
      {"stash_update", setStashUpdate},
  };
  for (const ScheduleOption& option : kScheduleOptions) {
    for (const std::string& key : keysOf(option)) {
      setters[key] = [&option](Strategy& strategy, std::string_view value) {
        setFromText(strategy.plan, option, value);
      };
    }
  }
  setters["accumulate_steps"] = setters.at("micro_batches");
  return setters;
}

const Setters& setters() {
  static const Setters kSetters = makeSetters();
  return kSetters;
}

}  // namespace

void setOption(Strategy& strategy, std::string_view name, std::string_view value) {
  const auto found = setters().find(name);
  if (found == setters().end()) {
    std::string known;
    for (const std::string& each : strategyOptions()) known += (known.empty() ? "" : ", ") + each;
    throw Error("a strategy has no option " + std::string(name) + "; it has " + known);
  }
  try {
    found->second(strategy, value);
  } catch (const Error& error) {
    throw Error(found->first + " = " + std::string(value) + ": " + error.what());
  }
}

LossScale lossScaleIn(std::string_view text) {
  if (text == "dynamic") return LossScale::dynamic();
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end) throw Error("give a number, such as 1024, or dynamic");
  return LossScale::fixed(value);
}

LossScale lossScaleOf(const Strategy& strategy) {
  const bool isFp16 = strategy.precision == Precision::kFp16;
  if (!strategy.lossScale) return LossScale::fixed(isFp16 ? kUsualLossScale : 1);
  if (isFp16) return *strategy.lossScale;
  throw Error(
      std::string("--loss-scale is for --precision fp16; small gradients do not vanish in ") +
      nameOf(strategy.precision));
}

std::vector<std::string> strategyOptions() {
  std::vector<std::string> names;
  for (const auto& [name, setter] : setters()) names.push_back(name);
  return names;
}

}  // namespace pipetrace
