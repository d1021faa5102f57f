#include "analysis/clocks/alignment.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analysis/clocks/align_by_messages.h"
#include "analysis/clocks/align_clocks.h"
#include "analysis/clocks/causal_fit.h"
#include "analysis/clocks/host_clocks.h"
#include "analysis/clocks/job_crossings.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

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
    return isRankClock_ ? clockRanksOf(timeline) : clockHostsOf(timeline);
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
