#include "analysis/run/clocks/alignment.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/clocks/causal_fit.h"
#include "analysis/run/clocks/host_clocks.h"
#include "analysis/run/clocks/job_crossings.h"
#include "analysis/run/clocks/move_times.h"
#include "trace/diagnostic.h"
#include "trace/text/decimal_time.h"
#include "trace/text/ranks_text.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

/// Warns of offsets in rank 0's log: other clocks are converted to rank 0's, which has none.
void checkRankZero(const std::vector<ClockReading>& readings, Diagnostics& diagnostics) {
  const auto count = std::count_if(readings.begin(), readings.end(),
                                   [](const ClockReading& each) { return each.offset != 0; });
  if (count == 0) return;
  diagnostics.add({.message = "the log of rank 0 gives an offset from rank 0's own clock, which is "
                              "ignored",
                   .advice = "are the logs of several runs or pipelines mixed, or renumbered?",
                   .count = count});
}

__extension__ using Wide = __int128;

Nanoseconds widestBound(const RankClock& clock) {
  Nanoseconds widest = 0;
  for (const ClockReading& reading : clock.readings()) widest = std::max(widest, reading.bound);
  return widest;
}

/// Whether the other clock is within both bounds of what these readings say.
bool agree(const std::vector<ClockReading>& readings, const RankClock& other) {
  const Nanoseconds bound = widestBound(other);
  return std::all_of(readings.begin(), readings.end(), [&](const ClockReading& reading) {
    const Wide apart = Wide{other.toRankZero(reading.when)} - reading.when - reading.offset;
    const Wide most = Wide{reading.bound} + bound;
    return apart <= most && -apart <= most;
  });
}

/// Gives the ranks of a host one clock: the most exact of theirs, and on rank 0's host that of
/// rank 0. Else a message between two of them might be received before it is sent, as each
/// comparison is off by something else. A rank whose own comparisons say otherwise keeps its own.
void shareClocks(const Timeline& timeline, RankClocks& clocks) {
  std::map<std::string, RankClock> ofHosts;
  for (const auto& [rank, clock] : clocks) {
    const std::string& host = timeline.ranks.at(rank).host;
    const auto [best, isFirst] = ofHosts.try_emplace(host, clock);
    if (!isFirst && widestBound(clock) < widestBound(best->second)) best->second = clock;
  }
  const auto zero = timeline.ranks.find(0);
  if (zero != timeline.ranks.end()) {
    ofHosts.insert_or_assign(zero->second.host, RankClock({ClockReading{}}));
  }
  for (auto& [rank, clock] : clocks) {
    const std::string& host = timeline.ranks.at(rank).host;
    if (host.empty() || !agree(clock.readings(), ofHosts.at(host))) continue;
    clock = ofHosts.at(host);
  }
}

/// The clocks of the ranks whose times are converted.
RankClocks clocksOf(const Timeline& timeline, Diagnostics& diagnostics) {
  RankClocks clocks;
  std::vector<int> without;
  for (const auto& [rank, info] : timeline.ranks) {
    if (info.clockReadings.empty()) {
      if (rank != 0) without.push_back(rank);
      continue;
    }
    RankClock clock(info.clockReadings);
    if (clock.contradictions() > 0) {
      diagnostics.add({.message = "comparisons of rank " + std::to_string(rank) +
                                  "'s clock with rank 0's contradict each other; the less exact "
                                  "ones were not used",
                       .advice = "was the clock set during the run?",
                       .count = clock.contradictions()});
    }
    if (rank == 0) checkRankZero(info.clockReadings, diagnostics);
    if (rank != 0 && !clock.readings().empty()) clocks.emplace(rank, std::move(clock));
  }
  if (!clocks.empty() && !without.empty()) {
    diagnostics.add({.message = "unlike others, " + ranksText(without) +
                                (without.size() == 1 ? " has" : " have") +
                                " no comparisons with rank 0's clock; times of " +
                                ranksText(without) + " stay as they are",
                     .advice = "--align none leaves the times of all ranks as they are"});
  }
  return clocks;
}

/// Ranks of several hosts may have clocks that differ. Nobody compared them.
void noteSeveralHosts(const Timeline& timeline, Diagnostics& diagnostics) {
  std::map<std::string, std::vector<int>> hosts;
  for (const auto& [rank, info] : timeline.ranks) {
    if (!info.clockReadings.empty()) return;
    if (!info.host.empty()) hosts[info.host].push_back(rank);
  }
  if (hosts.size() < 2) return;
  diagnostics.add({.severity = Severity::kNote,
                   .message = "the ranks ran on " + std::to_string(hosts.size()) + " hosts (" +
                              hosts.begin()->first + ", " + std::next(hosts.begin())->first +
                              (hosts.size() > 2 ? ", …" : "") +
                              "), whose clocks were not compared; times of different hosts may be "
                              "shifted against each other"});
}

/// The readings of ranks whose times were converted.
void moveReadings(Timeline& timeline, const RankClocks& clocks) {
  for (const auto& [rank, clock] : clocks) {
    std::vector<ClockReading>& readings = timeline.ranks.at(rank).clockReadings;
    readings = clock.readings();
    for (ClockReading& reading : readings) {
      reading = {.when = clock.toRankZero(reading.when), .offset = 0, .bound = reading.bound};
    }
  }
}

void reportMovedRanks(const RankClocks& clocks, Diagnostics& diagnostics) {
  std::vector<int> ranks;
  std::uint64_t farthest = 0;
  Nanoseconds bound = 0;
  for (const auto& [rank, clock] : clocks) {
    ranks.push_back(rank);
    for (const ClockReading& reading : clock.readings()) {
      const auto offset = static_cast<std::uint64_t>(reading.offset);
      farthest = std::max(farthest, reading.offset < 0 ? 0 - offset : offset);
      bound = std::max(bound, reading.bound);
    }
  }
  diagnostics.add({.severity = Severity::kNote,
                   .message = "times of " + ranksText(ranks) +
                              " were moved into rank 0's clock, by up to " +
                              formatDuration(static_cast<Nanoseconds>(farthest)) +
                              "; by the logs they are exact to within " + formatDuration(bound)});
}

/// The outcome of an alignment by messages.
enum class ByMessages : std::uint8_t {
  kNothing,  ///< no messages tie the clocks of two hosts
  kAligned,
  kAlignedWithJobs,  ///< the same, and jobs counted, too
  kRefused,          ///< messages contradict each other
};

/// Evidence of how clocks are apart, beside messages.
struct ClockEvidence {
  bool areJobs = false;      ///< jobs too, between ranks that exchange no messages (jobCrossings())
  bool isRankClock = false;  ///< ranks of one host have clocks of their own, too
  bool mayRefuse = true;     ///< a contradiction is a warning; else it is passed over
};

Nanoseconds rounded(double time) { return static_cast<Nanoseconds>(std::llround(time)); }

std::vector<ClockReading> readingsOf(const ClockHost& host, const FittedClock& clock) {
  const Nanoseconds bound = static_cast<Nanoseconds>(std::ceil(clock.bound));
  return {{host.span.begin, rounded(clock.begin), bound},
          {host.span.end, rounded(clock.end), bound}};
}

/// Warns of the hosts that messages do not tie to the first.
void reportUnknown(const std::vector<ClockHost>& hosts, const CausalFit& fit, bool isAsked,
                   Diagnostics& diagnostics) {
  std::vector<int> ranks;
  std::string names;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (fit.clocks[i].isKnown) continue;
    ranks.insert(ranks.end(), hosts[i].ranks.begin(), hosts[i].ranks.end());
    names += (names.empty() ? "" : ", ") + hosts[i].text();
  }
  const bool areAll = std::none_of(fit.clocks.begin() + 1, fit.clocks.end(),
                                   [](const FittedClock& clock) { return clock.isKnown; });
  if (ranks.empty() || (areAll && !isAsked)) return;
  std::sort(ranks.begin(), ranks.end());
  diagnostics.add({.message = "no messages in both directions tie the clock of " + names +
                              " to that of " + hosts.front().text() + "; times of " +
                              ranksText(ranks) + " stay as they are",
                   .advice = "--align none leaves the times of all ranks as they are"});
}

void reportMoved(const std::vector<ClockHost>& hosts, const CausalFit& fit, bool areJobs,
                 Diagnostics& diagnostics) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<int> ranks;
  double farthest = 0;
  double bound = 0;
  std::string each;
  std::size_t moved = 0;
  for (std::size_t i = 1; i < hosts.size(); ++i) {
    const FittedClock& clock = fit.clocks[i];
    if (!clock.isKnown) continue;
    ranks.insert(ranks.end(), hosts[i].ranks.begin(), hosts[i].ranks.end());
    farthest = std::max({farthest, std::abs(clock.begin), std::abs(clock.end)});
    bound = std::max(bound, clock.bound);
    if (++moved > kMostNamed) continue;
    each += (each.empty() ? "" : ", ") + hosts[i].text() + " by " + (clock.begin < 0 ? "-" : "") +
            formatDuration(rounded(std::abs(clock.begin)));
  }
  std::sort(ranks.begin(), ranks.end());
  diagnostics.add({.severity = Severity::kNote,
                   .message = "times of " + ranksText(ranks) + " were moved into the clock of " +
                              hosts.front().text() + " by the order of " +
                              (areJobs ? "jobs and messages" : "messages") + ", by up to " +
                              formatDuration(rounded(farthest)) + " (" + each +
                              (moved > kMostNamed ? ", …" : "") + "); they are exact to within " +
                              formatDuration(rounded(std::ceil(bound)))});
}

/// Messages say more of two ranks than their jobs do.
std::size_t addJobs(const Timeline& timeline, const std::vector<ClockHost>& hosts,
                    std::vector<Crossing>& crossings) {
  std::set<std::pair<int, int>> links;
  for (const Crossing& each : crossings) {
    if (isTransfer(each.event->kind)) links.insert({each.sender, each.receiver});
  }
  const std::size_t before = crossings.size();
  for (const Crossing& each : jobCrossings(timeline, hosts)) {
    if (!links.contains({each.sender, each.receiver})) crossings.push_back(each);
  }
  return crossings.size() - before;
}

/// Converts the times of every host to the first host's clock, so that no message is received
/// before it is sent (fitClocks()). Ranks of the converted hosts then have clock readings that say
/// so, with an offset of 0 and how exact the conversion is. Those of the log are dropped.
///
/// Nothing is converted where messages contradict each other, which is a warning, and where there
/// is one host. Hosts that no messages in both directions tie to the first stay as they are. That
/// is a warning if others are tied, or if `isAsked`. The returned timeline is sorted.
Timeline alignedByMessages(Timeline timeline, bool isAsked, const ClockEvidence& evidence,
                           Diagnostics& diagnostics, ByMessages& result) {
  result = ByMessages::kNothing;
  const std::vector<ClockHost> hosts =
      evidence.isRankClock ? clockRanksOf(timeline) : clockHostsOf(timeline);
  if (hosts.size() < 2) return timeline;
  std::vector<Crossing> crossings = crossingsOf(timeline, hosts);
  const bool areJobs = evidence.areJobs && addJobs(timeline, hosts, crossings) > 0;
  const CausalFit fit = fitClocks(hosts, crossings);
  if (!fit.contradiction.empty()) {
    if (!evidence.mayRefuse) return timeline;
    result = ByMessages::kRefused;
    diagnostics.add({.message = fit.contradiction + "; no clock was aligned",
                     .advice = "was a clock set during the run, or are logs of several runs mixed? "
                               "--align none leaves all times as they are",
                     .doubt = DoubtKind::kContradiction});
    return timeline;
  }
  reportUnknown(hosts, fit, isAsked, diagnostics);
  RankClocks clocks;
  for (std::size_t i = 1; i < hosts.size(); ++i) {
    if (!fit.clocks[i].isKnown) continue;
    for (const int rank : hosts[i].ranks) {
      clocks.emplace(rank, RankClock(readingsOf(hosts[i], fit.clocks[i])));
    }
  }
  if (clocks.empty() || !moveTimes(timeline, clocks)) return timeline;
  result = areJobs ? ByMessages::kAlignedWithJobs : ByMessages::kAligned;
  for (const auto& [rank, clock] : clocks) {
    std::vector<ClockReading>& readings = timeline.ranks[rank].clockReadings;
    readings = clock.readings();
    for (ClockReading& reading : readings) {
      reading = {.when = clock.toRankZero(reading.when), .offset = 0, .bound = reading.bound};
    }
  }
  for (const int rank : hosts.front().ranks) {
    if (rank == 0) continue;
    timeline.ranks[rank].clockReadings = {{.when = hosts.front().span.begin}};
  }
  reportMoved(hosts, fit, areJobs, diagnostics);
  return timeline;
}

bool hasReadings(const Timeline& timeline) {
  return std::any_of(timeline.ranks.begin(), timeline.ranks.end(), [](const auto& rank) {
    return rank.first != 0 && !rank.second.clockReadings.empty();
  });
}

bool namesSeveralHosts(const Timeline& timeline) {
  std::set<std::string> names;
  for (const auto& [rank, info] : timeline.ranks) {
    if (!info.host.empty()) names.insert(info.host);
  }
  return names.size() > 1;
}

/// a - b; where that does not fit 64 bits, the nearest number of either sign that does.
Nanoseconds difference(Nanoseconds a, Nanoseconds b) {
  Nanoseconds result = 0;
  if (__builtin_sub_overflow(a, b, &result)) result = a < b ? -kNsMax : kNsMax;
  return std::max(result, -kNsMax);
}

/// How far the times of a rank may be off, which readings say that need no further move.
std::optional<Nanoseconds> boundOf(int rank, const Timeline& aligned) {
  const auto info = aligned.ranks.find(rank);
  if (info == aligned.ranks.end()) return std::nullopt;
  std::optional<Nanoseconds> bound;
  for (const ClockReading& reading : info->second.clockReadings) {
    if (reading.offset != 0) return std::nullopt;
    bound = std::max(bound, std::optional(reading.bound));
  }
  return bound;
}

/// Messages that are received before they are sent, by more than the bounds of the clocks allow.
struct EarlyMessages {
  std::int64_t count = 0;
  Nanoseconds mostEarly = 0;
  std::string example;  // the message that is earliest

  void add(const Crossing& message, Nanoseconds early) {
    ++count;
    if (early <= mostEarly) return;
    mostEarly = early;
    example = message.text();
  }

  void report(AlignBy done, AlignBy asked, Diagnostics& diagnostics) const {
    if (count == 0) return;
    std::string advice;
    if (done == AlignBy::kLog) {
      advice = "what the logs know of the clocks is wrong; --align causal goes by the messages";
    } else if (done == AlignBy::kNone && asked != AlignBy::kCausal) {
      advice = "--align causal puts the clocks right by the order of messages";
    }
    diagnostics.add({.message = "messages arrive before they are sent, " + example + " by " +
                                formatDuration(mostEarly),
                     .advice = std::move(advice),
                     .count = count,
                     .doubt = DoubtKind::kClocksApart});
  }
};

/// The clocks of a run before and after it is aligned.
class ClockTable {
 public:
  /// `isRankClock`: as of ClockEvidence.
  ClockTable(const Timeline& asLogged, bool isRankClock, int threads)
      : threads_(threads), isRankClock_(isRankClock), before_(hostsOf(asLogged)) {
    for (const ClockHost& host : before_) {
      table_.push_back({.host = host.text(), .ranks = host.ranks});
    }
    visitCrossings(asLogged, before_, threads, [&](const Crossing& each) {
      for (const std::size_t host : {each.from, each.to}) {
        ++table_[host].messages;
        if (earlyBy(each) > 0) ++table_[host].violationsBefore;
      }
    });
  }

  /// `areMoved`: whether any times may have been. If not, and no message was early before, none is.
  std::vector<HostAlignment> after(const Timeline& aligned, bool areMoved,
                                   EarlyMessages& disproving) {
    const std::vector<ClockHost> after = areMoved ? hostsOf(aligned) : before_;
    for (std::size_t i = 0; i < table_.size(); ++i) addMove(i, aligned, after[i]);
    std::vector<char> isDisproved(table_.size());
    const bool areInOrder =
        !areMoved && std::all_of(table_.begin(), table_.end(), [](const HostAlignment& host) {
          return host.violationsBefore == 0;
        });
    if (areInOrder) return bounded(isDisproved);
    visitCrossings(aligned, after, threads_, [&](const Crossing& each) {
      const Nanoseconds early = earlyBy(each);
      if (early <= 0) return;
      Nanoseconds allowed = kClockTolerance;
      for (const std::size_t host : {each.from, each.to}) {
        ++table_[host].violationsAfter;
        table_[host].residual = std::max(table_[host].residual, early);
        allowed += table_[host].bound.value_or(0);
      }
      if (early <= allowed) return;
      disproving.add(each, early);
      isDisproved[each.from] = isDisproved[each.to] = 1;
    });
    return bounded(isDisproved);
  }

 private:
  std::vector<ClockHost> hostsOf(const Timeline& timeline) const {
    return isRankClock_ ? clockRanksOf(timeline, threads_) : clockHostsOf(timeline, threads_);
  }

  std::vector<HostAlignment> bounded(const std::vector<char>& isDisproved) {
    for (std::size_t i = 1; i < table_.size(); ++i) {
      HostAlignment& host = table_[i];
      if (isDisproved[i] != 0) host.bound.reset();
      if (host.bound) host.bound = std::max(*host.bound, host.residual);
    }
    return std::move(table_);
  }

  /// How long before it is sent a message is received.
  static Nanoseconds earlyBy(const Crossing& message) {
    return difference(message.sent, message.received);
  }

  void addMove(std::size_t i, const Timeline& aligned, const ClockHost& after) {
    HostAlignment& host = table_[i];
    const Timeline::Span& from = before_[i].span;
    const Nanoseconds atBegin = difference(after.span.begin, from.begin);
    const Nanoseconds atEnd = difference(after.span.end, from.end);
    host.isMoved = atBegin != 0 || atEnd != 0;
    host.offset = atBegin;
    if (from.end > from.begin) {
      constexpr double kMillion = 1e6;
      host.drift = kMillion * static_cast<double>(difference(atEnd, atBegin)) /
                   static_cast<double>(difference(from.end, from.begin));
    }
    host.bound = 0;
    for (const int rank : host.ranks) {
      const std::optional<Nanoseconds> bound = boundOf(rank, aligned);
      if (i > 0 && !bound) {
        host.bound.reset();
        return;
      }
      host.bound = std::max(host.bound, bound);
    }
  }

  int threads_;
  bool isRankClock_;
  std::vector<ClockHost> before_;
  std::vector<HostAlignment> table_;
};

/// Keeps how far clocks were apart, for those who look at the times that were moved.
void noteApart(const PlainlyApart& apart, Timeline& timeline) {
  for (const PlainlyApart::Pair& pair : apart.pairs) {
    for (const int rank : {pair.maker, pair.user}) {
      Nanoseconds& known = timeline.ranks[rank].clockApart;
      known = std::max(known, pair.by);
    }
  }
}

}  // namespace

Timeline alignedByLog(Timeline timeline, Diagnostics& diagnostics) {
  noteSeveralHosts(timeline, diagnostics);
  RankClocks clocks = clocksOf(timeline, diagnostics);
  shareClocks(timeline, clocks);
  std::erase_if(clocks, [](const auto& entry) {
    const std::vector<ClockReading>& readings = entry.second.readings();
    return std::all_of(readings.begin(), readings.end(),
                       [](const ClockReading& reading) { return reading.offset == 0; });
  });
  if (clocks.empty()) return timeline;
  if (!moveTimes(timeline, clocks)) {
    diagnostics.add(
        {.message = "with the offsets that the logs give, ranks would be 292 years "
                    "apart; no clock was aligned",
         .advice = "a `Profiler Clock:` line is wrong; --align none ignores such lines"});
    return timeline;
  }
  moveReadings(timeline, clocks);
  reportMovedRanks(clocks, diagnostics);
  return timeline;
}

Timeline aligned(Timeline timeline, AlignBy by, Diagnostics& diagnostics, Alignment* result,
                 int threads) {
  const bool goesByOrder =
      by == AlignBy::kCausal || (by == AlignBy::kBest && !hasReadings(timeline));
  const PlainlyApart apart = goesByOrder ? plainlyApart(timeline, threads) : PlainlyApart{};
  const bool isPlain = !apart.pairs.empty();
  std::optional<ClockTable> table;  // on one host no message can be early by its clock
  if (result != nullptr || namesSeveralHosts(timeline)) {
    table.emplace(timeline, apart.areOnOneHost, threads);
  }
  const bool asksMessages =
      by == AlignBy::kCausal || (goesByOrder && (isPlain || namesSeveralHosts(timeline)));
  AlignBy done = AlignBy::kNone;
  auto byMessages = ByMessages::kNothing;
  if (asksMessages) {
    const bool isAsked = by == AlignBy::kCausal;
    const bool hadReason = isAsked || namesSeveralHosts(timeline);
    timeline = alignedByMessages(
        std::move(timeline), isAsked,
        {.areJobs = isAsked || isPlain, .isRankClock = apart.areOnOneHost, .mayRefuse = hadReason},
        diagnostics, byMessages);
    const bool withJobs = byMessages == ByMessages::kAlignedWithJobs;
    if (byMessages == ByMessages::kAligned || withJobs) done = AlignBy::kCausal;
    if (withJobs || (done == AlignBy::kCausal && !hadReason)) noteApart(apart, timeline);
  }
  const bool asksLog =
      by == AlignBy::kLog || (by == AlignBy::kBest && byMessages == ByMessages::kNothing);
  if (asksLog) {
    if (hasReadings(timeline)) done = AlignBy::kLog;
    timeline = alignedByLog(std::move(timeline), diagnostics);
  }
  if (table) {
    EarlyMessages early;
    std::vector<HostAlignment> hosts = table->after(timeline, done != AlignBy::kNone, early);
    // Where alignment was refused, a warning has said so.
    if (byMessages != ByMessages::kRefused) early.report(done, by, diagnostics);
    if (result != nullptr) *result = {done, std::move(hosts)};
  }
  return timeline;
}

}  // namespace pipetrace
