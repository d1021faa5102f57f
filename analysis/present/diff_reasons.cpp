#include "analysis/present/diff_reasons.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "analysis/ratio.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

using Place = std::pair<int, int>;  // stage, position

/// Changes that are at most this far apart are alike.
constexpr double kAlike = 0.02;
/// Kinds with this share of a place's work are all of it.
constexpr double kAllWork = 0.95;

/// The clear changes of one place that go the same way.
struct PlaceChange {
  Place place;
  std::set<JobKind> kinds;
  bool isAllWork = false;
  double a = 0;  // of a micro-batch's jobs
  double b = 0;
  int rank = -1;
  int microBatch = -1;
  double factorAlone = 0;
  std::vector<int> ranks;

  double factor() const { return rank >= 0 || microBatch >= 0 ? factorAlone : ratio(b, a); }
  bool isAlike(const PlaceChange& other) const {
    return kinds == other.kinds && isAllWork == other.isAllWork && rank < 0 && other.rank < 0 &&
           microBatch < 0 && other.microBatch < 0 && std::abs(factor() - other.factor()) <= kAlike;
  }
};

std::vector<PlaceChange> placeChanges(const RunDiff& diff) {
  std::map<Place, double> work;
  for (const JobChange& change : diff.jobs) work[{change.stage, change.position}] += change.a;
  // By place, then longer ones apart from shorter ones.
  std::map<std::pair<Place, bool>, PlaceChange> changes;
  for (const JobChange& change : diff.jobs) {
    if (!change.isClear) continue;
    const Place place(change.stage, change.position);
    const auto [known, isNew] = changes.try_emplace({place, change.b > change.a});
    PlaceChange& all = known->second;
    if (isNew) {
      all.place = place;
      all.rank = change.rank;
      all.microBatch = change.microBatch;
      all.factorAlone = change.factorAlone;
      all.ranks = change.ranks;
    }
    if (all.rank != change.rank) all.rank = -1;
    if (all.microBatch != change.microBatch) all.microBatch = -1;
    all.kinds.insert(change.kind);
    all.a += change.a;
    all.b += change.b;
  }
  std::vector<PlaceChange> list;
  for (auto& [key, change] : changes) {
    change.isAllWork = change.a >= kAllWork * work.at(change.place);
    // A kind that changed otherwise than the others is said by itself.
    list.push_back(std::move(change));
  }
  return list;
}

/// The differences of parts, each of which one reason takes.
class PartShares {
 public:
  explicit PartShares(const RunDiff& diff) : diff_(diff), isTaken_(diff.parts.size()) {}

  /// The differences of the parts that are wanted and were not taken before.
  template <typename Wanted>
  Nanoseconds take(const Wanted& isWanted) {
    sum_ = sure_ = 0;
    for (std::size_t i = 0; i < diff_.parts.size(); ++i) {
      const DiffPart& part = diff_.parts[i];
      if (isTaken_[i] || !isWanted(part)) continue;
      isTaken_[i] = true;
      sum_ += part.difference();
      if (!part.sure || part.sure->isBeyondNoise()) sure_ += part.difference();
    }
    return sum_;
  }
  /// Whether less than half of what was taken last is of parts that differ beyond noise.
  bool isNoise() const { return 2 * (sum_ < 0 ? -sure_ : sure_) < std::abs(sum_); }

 private:
  const RunDiff& diff_;
  std::vector<bool> isTaken_;
  Nanoseconds sum_ = 0;   // of what was taken last
  Nanoseconds sure_ = 0;  // ... of parts that differ beyond noise
};

std::string kindsText(const PlaceChange& change) {
  if (change.isAllWork && change.kinds.size() > 1) return "jobs";
  std::string text;
  for (const JobKind kind : change.kinds) text += (text.empty() ? "" : " and ") + jobsText(kind);
  return text;
}

/// "stage 2's jobs", "backwards of stages 1 and 3", "rank 6's jobs".
std::string subjectOf(const std::vector<PlaceChange>& alike, std::size_t places) {
  const PlaceChange& first = alike.front();
  const std::string jobs = kindsText(first);
  const auto [stage, position] = first.place;
  if (first.rank >= 0) {
    return "rank " + std::to_string(first.rank) + "'s " + jobs +
           (stage >= 0 ? " (stage " + std::to_string(stage) + ")" : std::string());
  }
  if (first.microBatch >= 0) {
    return "stage " + std::to_string(stage) + "'s " + jobs + " of micro-batch " +
           std::to_string(first.microBatch);
  }
  if (stage < 0 && position < 0) return jobs;
  const char* const word = stage >= 0 ? "stage" : "position";
  if (alike.size() == 1) {
    return stage >= 0 ? "stage " + std::to_string(stage) + "'s " + jobs
                      : jobs + " of position " + std::to_string(position);
  }
  if (alike.size() == places) return jobs + " of all " + word + "s";
  std::vector<int> numbers;
  for (const PlaceChange& each : alike) {
    numbers.push_back(stage >= 0 ? each.place.first : each.place.second);
  }
  return jobs + " of " + word + "s " + numbersText(numbers);
}

DiffReason reasonOf(const std::vector<PlaceChange>& alike, std::size_t places, PartShares& shares) {
  double a = 0;
  double b = 0;
  Nanoseconds time = 0;
  for (const PlaceChange& each : alike) {
    a += each.a;
    b += each.b;
    time += shares.take([&](const DiffPart& part) {
      const bool isHere = Place(part.stage, part.position) == each.place;
      if (part.isBusy) return isHere && each.kinds.contains(part.kind);
      if (part.bubbleClass == BubbleClass::kPeerWait)
        return each.rank >= 0 && part.rank == each.rank;
      return isHere && part.bubbleClass == BubbleClass::kImbalance &&
             (each.place.first >= 0 || each.place.second >= 0);
    });
  }
  const double factor = alike.size() == 1 ? alike.front().factor() : ratio(b, a);
  return {subjectOf(alike, places) + " " + takesText(factor), time};
}

void addJobs(const RunDiff& diff, PartShares& shares, std::vector<DiffReason>& reasons) {
  std::set<Place> places;
  for (const JobChange& change : diff.jobs) places.insert({change.stage, change.position});
  std::vector<PlaceChange> changes = placeChanges(diff);
  while (!changes.empty()) {
    // Those that are alike with the largest change.
    const auto largest = std::max_element(
        changes.begin(), changes.end(),
        [](const auto& x, const auto& y) { return std::abs(x.b - x.a) < std::abs(y.b - y.a); });
    const PlaceChange model = *largest;
    std::vector<PlaceChange> alike;
    if (model.rank >= 0 || model.microBatch >= 0) {
      alike.push_back(model);
      changes.erase(largest);
    } else {
      std::vector<PlaceChange> others;
      for (PlaceChange& each : changes) {
        (each.isAlike(model) ? alike : others).push_back(std::move(each));
      }
      changes = std::move(others);
    }
    reasons.push_back(reasonOf(alike, places.size(), shares));
  }
}

bool isOfLink(const DiffPart& part, MeasuredRun::Link link) {
  return part.bubbleClass == BubbleClass::kTransfer && part.rank == link.first &&
         part.peer == link.second;
}

std::string insteadText(double a, double b) {
  return formatDuration(std::llround(b)) + " instead of " + formatDuration(std::llround(a));
}

/// Where most links changed the same way, they are one reason.
void addLinks(const RunDiff& diff, PartShares& shares, std::vector<DiffReason>& reasons) {
  for (const bool isLonger : {true, false}) {
    std::vector<const LinkChange*> changed;
    for (const LinkChange& link : diff.links) {
      if (link.isClear && (link.b > link.a) == isLonger) changed.push_back(&link);
    }
    const auto take = [&](const LinkChange& link) {
      return shares.take([&](const DiffPart& part) { return isOfLink(part, link.link); });
    };
    if (changed.size() > 2 && 2 * changed.size() > diff.links.size()) {
      std::sort(changed.begin(), changed.end(),
                [](const auto* x, const auto* y) { return x->b - x->a < y->b - y->a; });
      const LinkChange& middle = *changed[(changed.size() - 1) / 2];
      Nanoseconds time = 0;
      for (const LinkChange* const link : changed) time += take(*link);
      reasons.push_back({"messages on " + std::to_string(changed.size()) + " of " +
                             std::to_string(diff.links.size()) + " links take " +
                             (isLonger ? "longer" : "less time") + ", such as " +
                             insteadText(middle.a, middle.b) + " between " +
                             ranksText({middle.link.first, middle.link.second}),
                         time});
      continue;
    }
    for (const LinkChange* const link : changed) {
      reasons.push_back({"messages between " + ranksText({link->link.first, link->link.second}) +
                             " take " + insteadText(link->a, link->b),
                         take(*link)});
    }
  }
}

/// The rank on which most of a class is blamed; -1: none has four fifths.
int rankToBlame(const RunDiff& diff, BubbleClass bubbleClass, Nanoseconds all) {
  for (const DiffPart& part : diff.parts) {
    if (part.isBusy || part.bubbleClass != bubbleClass || part.rank < 0) continue;
    const Nanoseconds time = part.difference();
    if (5 * std::abs(time) >= 4 * std::abs(all) && (time < 0) == (all < 0)) return part.rank;
  }
  return -1;
}

std::string classText(const RunDiff& diff, BubbleClass bubbleClass, Nanoseconds time) {
  const int rank = rankToBlame(diff, bubbleClass, time);
  const BubbleClassRow& row = rowOf(bubbleClass);
  std::string text = time < 0 ? row.shorter : row.longer;
  if (const std::size_t place = text.find('@'); place != std::string::npos) {
    text.replace(place, 1, rank < 0 ? "" : " of rank " + std::to_string(rank));
  }
  return text;
}

void addRest(const RunDiff& diff, PartShares& shares, std::vector<DiffReason>& reasons) {
  for (const bool isOfB : {true, false}) {
    const MeasuredRun& with = isOfB ? diff.b : diff.a;
    const MeasuredRun& without = isOfB ? diff.a : diff.b;
    if (!with.kinds.contains(JobKind::kRecompute) || without.kinds.contains(JobKind::kRecompute)) {
      continue;
    }
    const Nanoseconds time = shares.take(
        [](const DiffPart& part) { return part.isBusy && part.kind == JobKind::kRecompute; });
    reasons.push_back({std::string(isOfB ? "B" : "only A") + " recomputes activations", time});
  }
  const Nanoseconds own = shares.take(
      [](const DiffPart& part) { return !part.isBusy && isOfSchedule(part.bubbleClass); });
  if (own != 0) {
    const bool differ = diff.a.schedule != diff.b.schedule;
    const std::string schedule =
        differ ? diff.b.schedule + " in place of " + diff.a.schedule : "the schedule itself";
    reasons.push_back({schedule + " leaves " + (own < 0 ? "less" : "more") + " idle time", own,
                       differ, !differ && shares.isNoise()});
  }
  for (const BubbleClass each : kReportedClasses) {
    const Nanoseconds time =
        shares.take([&](const DiffPart& part) { return !part.isBusy && part.bubbleClass == each; });
    if (time == 0) continue;
    reasons.push_back(
        {.text = classText(diff, each, time), .time = time, .isNoise = shares.isNoise()});
  }
  const Nanoseconds busy = shares.take([](const DiffPart&) { return true; });
  if (busy != 0) {
    reasons.push_back({.text = std::string("jobs take ") + (busy < 0 ? "less time" : "longer") +
                               ", each by little",
                       .time = busy,
                       .isNoise = shares.isNoise()});
  }
}

/// The time between steps, of which the loading of data is a reason by itself.
void addPauses(const RunDiff& diff, std::vector<DiffReason>& reasons) {
  if (!diff.wall) return;
  const Nanoseconds loads = diff.loads->difference();
  const auto a = static_cast<double>(diff.loads->a);
  const auto b = static_cast<double>(diff.loads->b);
  if (loads != 0) {
    reasons.push_back(
        {std::string("data loaders take ") + insteadText(a, b) + " between steps", loads});
  }
  const Nanoseconds rest = diff.between->difference() - loads;
  if (rest == 0) return;
  reasons.push_back({std::string(rest < 0 ? "less" : "more") + " time passes between steps (" +
                         insteadText(static_cast<double>(diff.between->a) - a,
                                     static_cast<double>(diff.between->b) - b) +
                         ")",
                     rest});
}

}  // namespace

std::string listedText(const DiffReason& reason) {
  return reason.text + (reason.isNoise ? ", within noise" : "");
}

std::string jobsText(JobKind kind) {
  const std::string_view plural = rowOf(kind).plural;
  return std::string(plural.empty() ? "jobs" : plural);
}

std::string shareOf(double share) { return fixedText(100 * std::abs(share), 1) + " %"; }

std::string signedShare(double share) {
  const std::string text = shareOf(share);
  return (text == "0.0 %" ? "" : share < 0 ? "-" : "+") + text;
}

std::string signedTime(Nanoseconds time) {
  return (time == 0 ? "" : time < 0 ? "-" : "+") + formatDuration(std::abs(time));
}

std::string takesText(double factor) {
  if (factor >= 2) return "take " + factorText(factor) + " times as long";
  return "take " + shareOf(factor - 1) + (factor < 1 ? " less time" : " longer");
}

std::string intervalText(const std::optional<ConfidenceInterval>& sure, double whole) {
  if (!sure || whole <= 0) return {};
  const auto text = [&](double value) {
    const std::string share = fixedText(100 * value / whole, 1);
    return share == "-0.0" ? std::string("0.0") : share;
  };
  return text(sure->low) + " to " + text(sure->high) + " %";
}

std::string placeText(int stage, int position) {
  if (stage >= 0) return "stage " + std::to_string(stage);
  if (position >= 0) return "position " + std::to_string(position);
  return {};
}

std::string moreText(Nanoseconds time) {
  return formatDuration(std::abs(time)) + (time < 0 ? " less" : " more");
}

std::string partName(const DiffPart& part) {
  const std::string place = placeText(part.stage, part.position);
  if (part.isBusy) return jobsText(part.kind) + (place.empty() ? "" : " of " + place);
  std::string who = place;
  if (part.peer >= 0) {
    who = ranksText({part.rank, part.peer});
  } else if (part.rank >= 0) {
    who = "rank " + std::to_string(part.rank);
  }
  return std::string(bubbleClassName(part.bubbleClass)) + (who.empty() ? "" : " (" + who + ")");
}

std::string changeName(const JobChange& job) {
  const std::string place = placeText(job.stage, job.position);
  return jobsText(job.kind) + (place.empty() ? "" : " of " + place);
}

std::string changeName(const LinkChange& link) {
  return "messages, " + ranksText({link.link.first, link.link.second});
}

std::vector<DiffSum> sumsOf(const RunDiff& diff) {
  std::vector<DiffSum> sums;
  for (const DiffPart& part : diff.parts) {
    const std::string name =
        part.isBusy ? jobsText(part.kind) : std::string(bubbleClassName(part.bubbleClass));
    if (sums.empty() || sums.back().name != name) sums.push_back({.name = name});
    sums.back().a += part.a;
    sums.back().b += part.b;
  }
  if (diff.wall) {
    sums.push_back({"loading data, until next", diff.loads->a, diff.loads->b});
    sums.push_back({"other time until next", diff.between->a - diff.loads->a,
                    diff.between->b - diff.loads->b});
  }
  std::erase_if(sums, [](const DiffSum& sum) { return sum.a == 0 && sum.b == 0; });
  return sums;
}

std::string unitText(const RunDiff& diff) {
  return std::string(diff.wall ? "wall time of a " : "") +
         (diff.how.isPerMicroBatch ? "micro-batch" : "step");
}

std::vector<const DiffPart*> partsThatDiffer(const RunDiff& diff) {
  constexpr Nanoseconds kPartsOfStep = 1000;
  std::vector<const DiffPart*> parts;
  for (const DiffPart& part : diff.parts) {
    const bool isLarge = std::abs(part.difference()) * kPartsOfStep >= diff.step.a;
    const bool isBeyond = !part.sure || part.sure->isBeyondNoise();
    if (part.difference() != 0 && isLarge && isBeyond) parts.push_back(&part);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto* x, const auto* y) {
    return std::abs(x->difference()) > std::abs(y->difference());
  });
  return parts;
}

std::vector<DiffReason> changeReasons(const RunDiff& diff) {
  PartShares shares(diff);
  std::vector<DiffReason> reasons;
  addJobs(diff, shares, reasons);
  addLinks(diff, shares, reasons);
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& x, const auto& y) {
    return std::abs(x.time) > std::abs(y.time);
  });
  return reasons;
}

std::vector<DiffReason> reasonsOf(const RunDiff& diff) {
  PartShares shares(diff);
  std::vector<DiffReason> reasons;
  addJobs(diff, shares, reasons);
  addLinks(diff, shares, reasons);
  addRest(diff, shares, reasons);
  addPauses(diff, reasons);
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& x, const auto& y) {
    return std::abs(x.time) > std::abs(y.time);
  });
  return reasons;
}

}  // namespace pipetrace
