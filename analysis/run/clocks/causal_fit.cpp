#include "analysis/run/clocks/causal_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/run/clocks/offset_strip.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

// Where a strip is wide enough, its line stays that far from its edges: two times are rounded, and
// two offsets at the ends of each line.
constexpr Nanoseconds kRounding = 4;
constexpr int kMostRounds = 100;
constexpr int kRoundsForRounding = 3;

/// The bounds of a host's offset from another clock.
struct Bounds {
  std::vector<OffsetBound> lower;
  std::vector<OffsetBound> upper;
  bool areBoth() const { return !lower.empty() && !upper.empty(); }
};

/// The share of the host's span that has passed at `time`; may be outside 0 to 1.
double shareAt(const ClockHost& host, double time) {
  const auto begin = static_cast<double>(host.span.begin);
  const double length = std::max(1.0, static_cast<double>(host.span.end) - begin);
  return (time - begin) / length;
}

class Fitting {
 public:
  Fitting(const std::vector<ClockHost>& hosts, const std::vector<Crossing>& crossings)
      : hosts_(hosts), crossings_(crossings), touching_(hosts.size()), ranges_(hosts.size()) {
    fit_.clocks.resize(hosts.size());
    for (std::size_t i = 0; i < crossings.size(); ++i) {
      touching_[crossings[i].from].push_back(i);
      touching_[crossings[i].to].push_back(i);
    }
  }

  CausalFit run() {
    if (hosts_.empty() || !fits()) return std::move(fit_);
    ranges_[0] = OffsetRange{};
    fit_.clocks[0].isKnown = true;
    while (fit_.contradiction.empty() && placeNext()) {
    }
    if (fit_.contradiction.empty()) moveIntoOrder();
    for (std::size_t host = 0; host < hosts_.size(); ++host) setBound(host);
    return std::move(fit_);
  }

 private:
  /// Whether products of two distances in time fit 128 bits.
  bool fits() const {
    constexpr Nanoseconds kMost = Nanoseconds{1} << 60;  // 36 years
    Timeline::Span all = hosts_.front().span;
    for (const ClockHost& host : hosts_) {
      all.begin = std::min(all.begin, host.span.begin);
      all.end = std::max(all.end, host.span.end);
    }
    Nanoseconds length = 0;
    return !__builtin_sub_overflow(all.end, all.begin, &length) && length < kMost;
  }

  /// The bounds of `host` from crossings with hosts for which `clockOf` gives the offset of a time.
  template <typename OffsetAt>
  Bounds boundsOf(std::size_t host, const OffsetAt& offsetAt) const {
    Bounds bounds;
    for (const std::size_t i : touching_[host]) {
      const Crossing& each = crossings_[i];
      const bool arrives = each.to == host;
      const std::size_t other = arrives ? each.from : each.to;
      const Nanoseconds time = arrives ? each.sent : each.received;
      const std::optional<Nanoseconds> offset = offsetAt(other, time);
      if (!offset) continue;
      const Nanoseconds own = arrives ? each.received : each.sent;
      (arrives ? bounds.lower : bounds.upper)
          .push_back({.when = own, .offset = time + *offset - own, .cause = i});
    }
    return bounds;
  }

  /// The offset between two hosts as their crossings bound it, with the least slack that they need.
  /// Nothing: they do not tie the clocks, or contradict each other.
  std::optional<OffsetRange> rangeBetween(std::size_t host, std::size_t other) {
    const auto [known, isNew] = between_.try_emplace({host, other});
    if (!isNew) return known->second;
    Bounds bounds = boundsOf(host, [&](std::size_t each, Nanoseconds) {
      return each == other ? std::optional<Nanoseconds>(0) : std::nullopt;
    });
    if (!bounds.areBoth()) return std::nullopt;
    const OffsetStrip strip(hosts_[host].span, std::move(bounds.lower), std::move(bounds.upper));
    const double slack = strip.leastSlack();
    if (slack > kClockTolerance) {
      contradict(hosts_[host], hosts_[other], slack, strip.contradictions());
      return std::nullopt;
    }
    return known->second = strip.range(slack);
  }

  void contradict(const ClockHost& a, const ClockHost& b, double slack,
                  const std::vector<std::size_t>& causes) {
    if (!fit_.contradiction.empty()) return;
    std::set<std::string> texts;
    for (const std::size_t cause : causes) texts.insert(crossings_[cause].text());
    std::string list;
    for (const std::string& text : texts) list += (list.empty() ? "" : "; ") + text;
    fit_.contradiction = "with any offset and drift between the clocks of " + a.text() + " and " +
                         b.text() + ", some messages are received " +
                         formatDuration(static_cast<Nanoseconds>(slack)) +
                         " or more before they are sent: " + list;
  }

  /// The offset from the first host's clock, by way of `other`, which is known.
  OffsetRange by(std::size_t other, std::size_t host, const OffsetRange& between) const {
    const auto through = [&](Nanoseconds time, const OffsetRange::End& offset) {
      const OffsetRange& further = ranges_[other];
      const double share = shareAt(hosts_[other], static_cast<double>(time) + offset.middle());
      const auto at = [&](double begin, double end) { return begin * (1 - share) + end * share; };
      OffsetRange::End sum;
      sum.low = at(share <= 1 ? further.begin.low : further.begin.high,
                   share >= 0 ? further.end.low : further.end.high);
      sum.high = at(share <= 1 ? further.begin.high : further.begin.low,
                    share >= 0 ? further.end.high : further.end.low);
      // The other clock is read at a moment that is known to half of that only.
      const double moment = OffsetStrip::kMostDrift * (offset.high - offset.low) / 2;
      return OffsetRange::End{sum.low + offset.low - moment, sum.high + offset.high + moment};
    };
    return {through(hosts_[host].span.begin, between.begin),
            through(hosts_[host].span.end, between.end)};
  }

  static double width(const OffsetRange& range) {
    return std::max(range.begin.high - range.begin.low, range.end.high - range.end.low);
  }

  /// Gives a line to the host whose offset is known best; false: to none.
  bool placeNext() {
    std::optional<std::pair<std::size_t, OffsetRange>> best;
    for (std::size_t host = 1; host < hosts_.size(); ++host) {
      if (fit_.clocks[host].isKnown) continue;
      for (std::size_t other = 0; other < hosts_.size(); ++other) {
        if (!fit_.clocks[other].isKnown) continue;
        const auto between = rangeBetween(host, other);
        if (!between) continue;
        const OffsetRange range = by(other, host, *between);
        if (!best || width(range) < width(best->second)) best.emplace(host, range);
      }
    }
    if (!best || !fit_.contradiction.empty()) return false;
    ranges_[best->first] = best->second;
    FittedClock& clock = fit_.clocks[best->first];
    clock.isKnown = true;
    clock.begin = best->second.begin.middle();
    clock.end = best->second.end.middle();
    return true;
  }

  std::optional<Nanoseconds> offsetNow(std::size_t host, Nanoseconds time) const {
    const FittedClock& clock = fit_.clocks[host];
    if (!clock.isKnown) return std::nullopt;
    // Relative to the span's begin, so that the numbers are small.
    const auto passed = static_cast<double>(time - hosts_[host].span.begin);
    const double length =
        std::max(1.0, static_cast<double>(hosts_[host].span.end - hosts_[host].span.begin));
    return static_cast<Nanoseconds>(
        std::floor(clock.begin + (clock.end - clock.begin) * (passed / length)));
  }

  /// The crossing that ends longest before it begins, by the lines, and how long. Negative: that
  /// long after.
  std::pair<std::size_t, Nanoseconds> worst() const {
    std::pair<std::size_t, Nanoseconds> worst(0, kNsMin);
    for (std::size_t i = 0; i < crossings_.size(); ++i) {
      const Crossing& each = crossings_[i];
      const auto from = offsetNow(each.from, each.sent);
      const auto to = offsetNow(each.to, each.received);
      if (!from || !to) continue;
      const Nanoseconds early = each.sent + *from - (each.received + *to);
      if (early > worst.second) worst = {i, early};
    }
    return worst;
  }

  /// Fits each host to the lines of all others, in turn, until nothing is out of order.
  void moveIntoOrder() {
    for (int round = 0; round < kMostRounds; ++round) {
      const Nanoseconds early = worst().second;
      if (early <= -kRounding / 2) return;
      if (early <= kRounding && round >= kRoundsForRounding) return;
      for (std::size_t host = 1; host < hosts_.size(); ++host) {
        if (fit_.clocks[host].isKnown) moveBetweenOthers(host);
      }
    }
    const auto [crossing, early] = worst();
    if (early <= kClockTolerance) return;
    const Crossing& each = crossings_[crossing];
    contradict(hosts_[each.from], hosts_[each.to], static_cast<double>(early), {crossing});
  }

  void moveBetweenOthers(std::size_t host) {
    Bounds bounds =
        boundsOf(host, [&](std::size_t other, Nanoseconds time) { return offsetNow(other, time); });
    if (!bounds.areBoth()) return;
    const OffsetStrip strip(hosts_[host].span, std::move(bounds.lower), std::move(bounds.upper));
    std::optional<OffsetRange> range = strip.range(-static_cast<double>(kRounding));
    if (!range) range = strip.range(strip.leastSlack());
    if (!range) return;
    fit_.clocks[host].begin = range->begin.middle();
    fit_.clocks[host].end = range->end.middle();
  }

  void setBound(std::size_t host) {
    FittedClock& clock = fit_.clocks[host];
    if (!clock.isKnown) return;
    const auto distance = [](const OffsetRange::End& range, double offset) {
      return std::max(range.high - offset, offset - range.low);
    };
    clock.bound = std::max(distance(ranges_[host].begin, clock.begin),
                           distance(ranges_[host].end, clock.end));
  }

  const std::vector<ClockHost>& hosts_;
  const std::vector<Crossing>& crossings_;
  std::vector<std::vector<std::size_t>> touching_;  // by host: crossings
  std::vector<OffsetRange> ranges_;                 // by host: of the offset from the first's clock
  std::map<std::pair<std::size_t, std::size_t>, std::optional<OffsetRange>> between_;
  CausalFit fit_;
};

}  // namespace

CausalFit fitClocks(const std::vector<ClockHost>& hosts, const std::vector<Crossing>& crossings) {
  return Fitting(hosts, crossings).run();
}

}  // namespace pipetrace
