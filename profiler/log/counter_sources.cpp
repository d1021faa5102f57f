#include "profiler/log/counter_sources.h"

#include <cstdint>
#include <utility>

namespace pipetrace {
namespace {

std::uint64_t addressOf(const std::string& text) {
  return text.empty() ? 0 : reinterpret_cast<std::uintptr_t>(text.c_str());
}

}  // namespace

void CounterSources::add(std::string name, std::string unit, std::function<double()> value) {
  const std::lock_guard lock(mutex_);
  sources_.push_back(
      std::make_unique<Source>(Source{std::move(name), std::move(unit), std::move(value)}));
  next_ = kNsMin;  // a run that is shorter than the interval has a sample, too
}

void CounterSources::sample(CounterRing& ring, Nanoseconds now, bool isWanted) {
  const std::lock_guard lock(mutex_);
  if (now < next_) return;
  next_ = next_ > now - kInterval ? next_ + kInterval : now + kInterval;
  if (!isWanted) return;
  for (const auto& source : sources_) {
    try {
      ring.push({.name = addressOf(source->name),
                 .unit = addressOf(source->unit),
                 .monotonic = now,
                 .value = source->value()});
    } catch (...) {
      ++failures_;  // it does not end the training
    }
  }
}

std::int64_t CounterSources::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

Nanoseconds CounterSources::untilNext(Nanoseconds now) const {
  const std::lock_guard lock(mutex_);
  if (sources_.empty()) return kNsMax;
  return next_ <= now ? 0 : next_ - now;
}

}  // namespace pipetrace
