#include "analysis/causes/device_state.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/median.h"

namespace pipetrace {
namespace {

// Reasons of clock events, as NVML numbers them (nvmlClocksEventReasons…).
constexpr std::int64_t kPowerReasons = 0x4 | 0x80;  // the software's cap, the hardware's brake
constexpr std::int64_t kHeatReasons = 0x20 | 0x40;  // slowed down by software, by hardware

/// "GPU 0 SM clock" and "gpu_sm_clock" have both words.
bool isNamed(const CounterSeries& counter, std::initializer_list<std::string_view> words) {
  std::string name = counter.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::all_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

const CounterSeries* find(const Timeline& timeline, int rank,
                          std::initializer_list<std::string_view> words) {
  for (const CounterSeries& counter : timeline.counters) {
    if (counter.rank == rank && !counter.samples.empty() && isNamed(counter, words)) {
      return &counter;
    }
  }
  return nullptr;
}

std::optional<double> meanOf(const CounterSeries* counter) {
  if (counter == nullptr) return std::nullopt;
  double sum = 0;
  for (const CounterSample& sample : counter->samples) sum += sample.value;
  return sum / static_cast<double>(counter->samples.size());
}

/// By how much a counter that only grows has grown, and in which time.
std::optional<double> grownShare(const CounterSeries* counter) {
  if (counter == nullptr || counter->samples.size() < 2) return std::nullopt;
  const CounterSample& first = counter->samples.front();
  const CounterSample& last = counter->samples.back();
  if (last.time <= first.time) return std::nullopt;
  return std::clamp((last.value - first.value) / static_cast<double>(last.time - first.time), 0.0,
                    1.0);
}

/// The share of samples with one of the reasons.
std::optional<double> shareWith(const CounterSeries* reasons, std::int64_t mask) {
  if (reasons == nullptr) return std::nullopt;
  const auto count = std::count_if(
      reasons->samples.begin(), reasons->samples.end(),
      [&](const auto& sample) { return (static_cast<std::int64_t>(sample.value) & mask) != 0; });
  return static_cast<double>(count) / static_cast<double>(reasons->samples.size());
}

const CounterSeries* clockOf(const Timeline& timeline, int rank) {
  return find(timeline, rank, {"sm", "clock"});
}

}  // namespace

bool DeviceState::isReason() const {
  constexpr double kLower = 0.97;
  constexpr double kShare = 0.05;
  constexpr double kMuchMemory = 1e9;
  return (clock && peersClock && *clock < kLower * *peersClock) || byPower.value_or(0) >= kShare ||
         byHeat.value_or(0) >= kShare || linkErrors.value_or(0) > 0 ||
         othersMemory.value_or(0) >= kMuchMemory;
}

DeviceState deviceStateOf(const Timeline& timeline, int rank) {
  DeviceState state;
  state.clock = meanOf(clockOf(timeline, rank));
  std::vector<double> others;
  for (const auto& [other, info] : timeline.ranks) {
    const auto clock = other == rank ? std::nullopt : meanOf(clockOf(timeline, other));
    if (clock) others.push_back(*clock);
  }
  if (!others.empty()) state.peersClock = medianOf(others);
  const CounterSeries* const reasons = find(timeline, rank, {"clock", "reasons"});
  state.byPower = grownShare(find(timeline, rank, {"power_violation"}));
  if (!state.byPower) state.byPower = shareWith(reasons, kPowerReasons);
  state.byHeat = grownShare(find(timeline, rank, {"thermal_violation"}));
  if (!state.byHeat) state.byHeat = shareWith(reasons, kHeatReasons);
  if (const CounterSeries* const errors = find(timeline, rank, {"nvlink", "errors"})) {
    state.linkErrors = errors->samples.back().value - errors->samples.front().value;
  }
  if (const CounterSeries* const memory = find(timeline, rank, {"memory_of_others"})) {
    double most = 0;
    for (const CounterSample& sample : memory->samples) most = std::max(most, sample.value);
    state.othersMemory = most;
  }
  return state;
}

}  // namespace pipetrace
