#include "parser/foreign/found_jobs/find_jobs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "parser/foreign/found_jobs/join_turns.h"

namespace pipetrace {
namespace {

using Run = HostRun;
using Names = HostRuns::Names;

constexpr std::int32_t kNone = HostRun::kNone;
/// A call of autograd that refers to this part of a forward or less only touches it, as the one of
/// a loss that stands by itself.
constexpr std::int64_t kTouches = 10;
/// Forwards with the same operators that show what they have in common beside these.
constexpr std::size_t kEnough = 3;
/// An operator behind a forward that comes later than this is not its own, if it also comes later
/// than some times the usual pause between two operators.
constexpr Nanoseconds kLate = 100'000;
constexpr Nanoseconds kLatePauses = 4;
/// Before a loss that is no part of the forward it takes this and more, some times the usual.
constexpr Nanoseconds kBeforeLoss = 80'000;
constexpr Nanoseconds kLateTimes = 4;
constexpr std::size_t kMostOfLoss = 8;
constexpr Nanoseconds kLongLoss = 500'000;
/// A backward may have as much time around it, or this part of its length.
constexpr Nanoseconds kAround = 1'000'000;
constexpr Nanoseconds kAroundPart = 5;
/// A run shorter than this part of the usual forward is no forward.
constexpr Nanoseconds kShort = HostRuns::kShort;

class JobFinder {
 public:
  explicit JobFinder(const HostFacts& facts)
      : facts_(facts), operators_(facts.operators), runs_(facts) {}

  FoundJobs find() {
    for (const Run& run : runsOf()) (run.isBackward ? calls_ : forwards_).push_back(run);
    giveRootsToBackwards();
    listNumbers();
    cutForwards();
    findOwners();
    const bool areLinked = std::any_of(calls_.begin(), calls_.end(),
                                       [](const Run& call) { return call.owner != kNone; });
    if (auto turns = joinTurns(runs_, forwards_, cores_, calls_)) {
      if (!turns->areTold) return FoundJobs{.areTurns = true};
      forwards_ = std::move(turns->forwards);
      cores_ = std::move(turns->cores);
      calls_ = std::move(turns->calls);
      for (const Run& run : turns->unplaced) addUnplaced(run);
    }
    joinCalls();
    if (!areLinked && facts_.hasMessages) {
      keepLongForwards();
    } else {
      keepLinkedForwards();
      widenPairs();
      widenBackwards();
    }
    return jobs();
  }

 private:
  const HostOperator& at(std::size_t i) const { return operators_[i]; }
  bool isCutBetween(std::size_t before, std::size_t after) const {
    return runs_.isCutBetween(before, after);
  }
  Names namesOf(const Run& run) const { return runs_.namesOf(run); }
  Nanoseconds busyOf(const Run& run) const { return runs_.busyOf(run); }

  /// How late an operator comes after the one before it; 0 where a collective is between them.
  Nanoseconds gapBefore(std::size_t i) const {
    const Nanoseconds from = at(i - 1).begin;
    const auto next = std::lower_bound(facts_.collectives.begin(), facts_.collectives.end(), from);
    const bool isCollective = next != facts_.collectives.end() && *next < at(i).begin;
    return isCollective ? 0 : at(i).begin - at(i - 1).end;
  }

  std::vector<Run> runsOf() const {
    std::vector<Run> runs;
    std::int64_t last = HostOperator::kNoNumber;  // of the call of autograd
    for (std::size_t i = 0; i < operators_.size(); ++i) {
      const HostOperator& each = at(i);
      const bool isCut = i == 0 || isCutBetween(i - 1, i);
      const bool isOther = i == 0 || each.isBackward != runs.back().isBackward ||
                           each.annotated != runs.back().annotated;
      const bool rises = each.isBackward && each.annotated == HostOperator::kNoJob &&
                         each.number != HostOperator::kNoNumber &&
                         last != HostOperator::kNoNumber && each.number > last;
      if (isCut || isOther || rises) {
        runs.push_back({i, i, each.isBackward, each.annotated, isCut});
        last = HostOperator::kNoNumber;
      }
      runs.back().end = i + 1;
      if (each.number != HostOperator::kNoNumber) last = each.number;
    }
    return runs;
  }

  /// Operators without a number right before a backward make the gradient that it begins with.
  void giveRootsToBackwards() {
    for (Run& call : calls_) {
      if (call.isCutBefore || call.annotated != HostOperator::kNoJob) continue;
      const auto next = std::partition_point(forwards_.begin(), forwards_.end(),
                                             [&](const Run& f) { return f.first < call.first; });
      if (next == forwards_.begin()) continue;
      Run& before = *std::prev(next);
      if (before.end != call.first || before.annotated != HostOperator::kNoJob) continue;
      while (before.end - before.first > 1 &&
             at(before.end - 1).number == HostOperator::kNoNumber) {
        --before.end;
        --call.first;
      }
    }
  }

  struct Numbers {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };

  std::optional<Numbers> numbersOf(const Run& run) const {
    std::optional<Numbers> numbers;
    for (std::size_t i = run.first; i < run.end; ++i) {
      const std::int64_t number = at(i).number;
      if (number == HostOperator::kNoNumber) continue;
      if (!numbers) numbers = Numbers{number, number};
      numbers->first = std::min(numbers->first, number);
      numbers->last = std::max(numbers->last, number);
    }
    return numbers;
  }

  struct Numbered {
    std::int64_t number = 0;
    std::size_t place = 0;  // of the operator
  };

  /// Lists the operators of forwards by number. The last operator with a number made what has it:
  /// those before made nothing that counts.
  void listNumbers() {
    std::int64_t highest = HostOperator::kNoNumber;
    for (const Run& run : forwards_) {
      for (std::size_t i = run.first; i < run.end; ++i) {
        if (at(i).number < highest || at(i).number == HostOperator::kNoNumber) continue;
        highest = at(i).number;
        numbered_.push_back({highest, i});
      }
    }
  }

  /// The operator of a forward that made what has that number; null: the trace lacks it.
  const Numbered* makerOf(std::int64_t number) const {
    const auto next =
        std::partition_point(numbered_.begin(), numbered_.end(),
                             [&](const Numbered& each) { return each.number <= number; });
    return next == numbered_.begin() ? nullptr : &*std::prev(next);
  }

  /// The forward's run with the operator at that place.
  std::int32_t forwardAt(std::size_t place) const {
    return static_cast<std::int32_t>(forwardFrom(place + 1)) - 1;
  }

  /// Cuts a run where calls refer to parts of it that do not overlap.
  void cutForwards() {
    std::vector<Numbers> calls;
    for (const Run& call : calls_) {
      if (const auto numbers = numbersOf(call)) calls.push_back(*numbers);
    }
    std::sort(calls.begin(), calls.end(),
              [](const Numbers& a, const Numbers& b) { return a.first < b.first; });
    std::vector<Numbers> parts;  // of numbers, that no call connects with others
    for (const Numbers& call : calls) {
      if (parts.empty() || call.first > parts.back().last) {
        parts.push_back(call);
      } else {
        parts.back().last = std::max(parts.back().last, call.last);
      }
    }
    std::vector<Run> cut;
    for (Run run : forwards_) {
      const auto numbers = numbersOf(run);
      if (!numbers || run.annotated != HostOperator::kNoJob) {
        cut.push_back(run);
        continue;
      }
      auto part = std::partition_point(parts.begin(), parts.end(),
                                       [&](const Numbers& p) { return p.last < numbers->first; });
      for (; part != parts.end() && std::next(part) != parts.end(); ++part) {
        // The last operator with a number of this part; what follows is of the next one.
        std::size_t place = run.end;
        for (std::size_t i = run.first; i < run.end; ++i) {
          if (at(i).number != HostOperator::kNoNumber && at(i).number <= part->last) place = i + 1;
        }
        const Numbered* const next = makerOf(std::next(part)->first);
        if (next == nullptr || next->place < place || next->place >= run.end) break;
        if (place == run.first) continue;
        Run first = run;
        first.end = place;
        cut.push_back(first);
        run.first = place;
        run.isCutBefore = false;
      }
      cut.push_back(run);
    }
    forwards_ = std::move(cut);
  }

  /// Links calls with their forwards, and cuts calls that serve several.
  void findOwners() {
    for (const Run& run : forwards_) cores_.push_back({.first = run.end, .end = run.first});
    std::vector<Run> cut;
    for (const Run& call : calls_) addOwned(call, cut);
    calls_ = std::move(cut);
  }

  void addOwned(const Run& call, std::vector<Run>& cut) {
    std::map<std::int32_t, std::int64_t> counts;
    std::int64_t most = 0;
    std::vector<const Numbered*> owners;
    for (std::size_t i = call.first; i < call.end; ++i) {
      const HostOperator& each = at(i);
      const bool counted = each.isBackward && each.number != HostOperator::kNoNumber;
      owners.push_back(counted ? makerOf(each.number) : nullptr);
      if (owners.back() != nullptr)
        most = std::max(most, ++counts[forwardAt(owners.back()->place)]);
    }
    Run part = call;
    part.end = part.first;
    for (std::size_t i = call.first; i < call.end; ++i) {
      const Numbered* const made = owners[i - call.first];
      const std::int32_t owner = made == nullptr ? kNone : forwardAt(made->place);
      const bool isCounted = owner != kNone && counts.at(owner) * kTouches > most;
      if (isCounted) {
        Run& core = cores_[static_cast<std::size_t>(owner)];
        core.first = std::min(core.first, made->place);
        core.end = std::max(core.end, made->place + 1);
      }
      if (isCounted && part.owner != kNone && owner != part.owner &&
          call.annotated == HostOperator::kNoJob) {
        cut.push_back(part);
        part.first = i;
        part.isCutBefore = false;
        part.owner = kNone;
      }
      if (isCounted && part.owner == kNone) part.owner = owner;
      part.end = i + 1;
    }
    cut.push_back(part);
  }

  /// Whether a backward refers to an operator of the run.
  bool isLinked(std::size_t forward) const { return cores_[forward].end > cores_[forward].first; }

  /// The forward's run that begins at that operator or later.
  std::size_t forwardFrom(std::size_t place) const {
    const auto next = std::partition_point(forwards_.begin(), forwards_.end(),
                                           [&](const Run& run) { return run.first < place; });
    return static_cast<std::size_t>(next - forwards_.begin());
  }

  /// Whether nothing but operators of no forward stands from one operator to before another.
  bool isOneJob(std::size_t from, std::size_t to) const {
    if (to > 0 && from > 0 && isCutBetween(from - 1, to)) return false;
    for (std::size_t f = forwardFrom(from); f < forwards_.size() && forwards_[f].first < to; ++f) {
      if (isLinked(f) || forwards_[f].annotated != HostOperator::kNoJob) return false;
    }
    return true;
  }

  /// Calls in a row that serve one forward are one backward. A call that goes over the same
  /// operators again is the other half of it.
  void joinCalls() {
    std::vector<Run> joined;
    std::set<std::int64_t> numbers;  // of the last one
    for (const Run& call : calls_) {
      std::vector<std::int64_t> own;
      for (std::size_t i = call.first; i < call.end; ++i) {
        if (at(i).isBackward && at(i).number != HostOperator::kNoNumber)
          own.push_back(at(i).number);
      }
      const bool isAgain = std::any_of(
          own.begin(), own.end(), [&](std::int64_t number) { return numbers.contains(number); });
      const bool isOne = !joined.empty() && joined.back().annotated == call.annotated &&
                         (call.annotated != HostOperator::kNoJob || !isAgain) &&
                         (joined.back().owner == call.owner || call.owner == kNone) &&
                         isOneJob(joined.back().end, call.first);
      if (isOne) {
        joined.back().end = call.end;
      } else {
        joined.push_back(call);
        numbers.clear();
      }
      numbers.insert(own.begin(), own.end());
    }
    calls_ = std::move(joined);
  }

  /// Gives backwards the operators of no forward around them: those that look up what to compute,
  /// and those that take the gradients.
  void widenBackwards() {
    std::map<std::int32_t, int> halves;  // by owner
    for (const Run& call : calls_) ++halves[call.owner];
    std::size_t before = 0;  // the end of the call before
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      Run& call = calls_[c];
      const std::size_t next = c + 1 < calls_.size() ? calls_[c + 1].first : operators_.size();
      if (call.annotated == HostOperator::kNoJob) {
        const bool isHalf = call.owner != kNone && halves[call.owner] > 1;
        const Nanoseconds length = at(call.end - 1).end - at(call.first).begin;
        const Nanoseconds most = isHalf ? kNsMax : std::max(kAround, length / kAroundPart);
        while (call.first > before && isFree(call.first - 1) &&
               !isCutBetween(call.first - 1, call.first) &&
               (at(call.first).begin - at(call.first - 1).begin < most ||
                at(call.first - 1).number == HostOperator::kNoNumber)) {
          --call.first;
        }
        std::size_t parting = next;
        // Between two backwards in a row, the longest pause parts them.
        if (c + 1 < calls_.size() && isOneJob(call.end, next)) {
          parting = call.end;
          for (std::size_t i = call.end; i <= next; ++i) {
            if (gapBefore(i) > gapBefore(parting)) parting = i;
          }
        }
        while (call.end < parting && isFree(call.end) && !isCutBetween(call.end - 1, call.end) &&
               gapBefore(call.end) < kLate) {
          ++call.end;
        }
      }
      before = call.end;
    }
  }

  /// Gives fused pairs the operators of no forward around them, and forwards those behind them.
  /// Between two jobs in a row, the longest pause parts them.
  void widenPairs() {
    std::vector<Run*> jobs;
    bool arePairs = false;
    for (std::size_t f = 0; f < forwards_.size(); ++f) {
      if (isKept_[f]) jobs.push_back(&forwards_[f]);
      arePairs = arePairs || forwards_[f].isPair();
    }
    if (!arePairs) return;
    for (Run& call : calls_) jobs.push_back(&call);
    std::sort(jobs.begin(), jobs.end(),
              [](const Run* a, const Run* b) { return a->first < b->first; });
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      Run& job = *jobs[j];
      if (job.isPair()) widenBefore(job, j > 0 ? jobs[j - 1]->end : 0);
      if (job.annotated != HostOperator::kNoJob || job.isBackward) continue;
      widenBehind(job, j + 1 < jobs.size() ? jobs[j + 1]->first : operators_.size());
    }
    for (std::size_t f = 0; f < forwards_.size(); ++f) {
      if (isKept_[f]) whole_[f].end = std::max(whole_[f].end, forwards_[f].end);
      if (forwards_[f].isPair()) whole_[f] = forwards_[f];
    }
  }

  /// `from`: the end of the job before.
  void widenBefore(Run& job, std::size_t from) const {
    const Nanoseconds length = at(job.end - 1).end - at(job.first).begin;
    const Nanoseconds most = std::max(kAround, length / kAroundPart);
    const std::size_t first = partingOf(from, job.first);
    while (job.first > first && isLoose(job.first - 1) && !isCutBetween(job.first - 1, job.first) &&
           at(job.first).begin - at(job.first - 1).begin < most) {
      --job.first;
    }
  }

  /// `to`: the first operator of the job behind.
  void widenBehind(Run& job, std::size_t to) const {
    const std::size_t end = partingOf(job.end, to);
    while (job.end < end && isLoose(job.end) && !isCutBetween(job.end - 1, job.end) &&
           gapBefore(job.end) < kLate) {
      ++job.end;
    }
  }

  bool isLoose(std::size_t place) const {
    return !at(place).isBackward && at(place).annotated == HostOperator::kNoJob;
  }

  /// The operator after the longest pause between two jobs, or after a cut.
  std::size_t partingOf(std::size_t from, std::size_t to) const {
    std::size_t parting = from;
    Nanoseconds longest = kNsMin;
    for (std::size_t i = std::max<std::size_t>(from, 1); i <= to && i < operators_.size(); ++i) {
      const Nanoseconds gap = isCutBetween(i - 1, i) ? kNsMax : gapBefore(i);
      if (gap <= longest) continue;
      longest = gap;
      parting = i;
    }
    return parting;
  }

  /// Whether an operator is of no job and no backward.
  bool isFree(std::size_t place) const {
    if (at(place).isBackward || at(place).annotated != HostOperator::kNoJob) return false;
    const auto next = std::partition_point(whole_.begin(), whole_.end(),
                                           [&](const Run& run) { return run.first <= place; });
    if (next == whole_.begin()) return true;
    const auto forward = static_cast<std::size_t>(next - whole_.begin()) - 1;
    return !isKept_[forward] || whole_[forward].end <= place;
  }

  static bool endsWith(const Names& names, const Names& end) {
    return names.size() > end.size() && std::equal(end.rbegin(), end.rend(), names.rbegin());
  }

  /// Leaves the forwards that a backward refers to, those with the same operators, and annotated
  /// ones.
  void keepLinkedForwards() {
    whole_ = forwards_;
    isKept_.assign(forwards_.size(), false);
    std::map<Names, std::vector<std::size_t>> alike;  // by the operators that have a backward
    std::vector<Nanoseconds> lengths;
    for (std::size_t f = 0; f < forwards_.size(); ++f) {
      const Run& run = forwards_[f];
      if (run.isPair()) {
        isKept_[f] = true;
      } else if (run.annotated != HostOperator::kNoJob) {
        isKept_[f] = facts_.annotated[static_cast<std::size_t>(run.annotated)] == JobKind::kForward;
      } else if (isLinked(f)) {
        isKept_[f] = true;
        alike[namesOf(cores_[f])].push_back(f);
        lengths.push_back(busyOf(run));
      }
    }
    std::vector<std::pair<const Names*, Margins>> known;  // the most frequent first
    std::vector<std::size_t> few;
    for (const auto& [names, runs] : alike) {
      if (runs.size() >= kEnough) {
        known.emplace_back(&names, trim(runs));
        giveEnds(runs, known.back().second);
      } else {
        few.insert(few.end(), runs.begin(), runs.end());
      }
    }
    if (!few.empty()) {
      std::sort(few.begin(), few.end());
      trim(few);
    }
    std::stable_sort(known.begin(), known.end(), [&](const auto& a, const auto& b) {
      return alike.at(*a.first).size() > alike.at(*b.first).size();
    });
    const Nanoseconds median = medianOf(lengths);
    for (std::size_t f = 0; f < forwards_.size(); ++f) {
      if (isKept_[f] || forwards_[f].annotated != HostOperator::kNoJob) continue;
      for (const auto& [names, margins] : known)
        isKept_[f] = isKept_[f] || cutOut(f, *names, margins);
      if (!isKept_[f] && busyOf(forwards_[f]) * 2 > median && median > 0) addUnplaced(forwards_[f]);
    }
  }

  /// How many operators belong to a forward before and after those that have a backward.
  struct Margins {
    std::size_t before = 0;
    std::size_t after = 0;
  };

  /// Leaves, of each run, its core and the operators that most of the runs have before and behind
  /// theirs, but for those that usually come late.
  Margins trim(const std::vector<std::size_t>& runs) {
    Margins margins;
    leaveLossOut(runs);
    std::vector<std::size_t> left = runs;
    const auto isMost = [&](std::size_t count) { return count * 4 >= runs.size() * 3; };
    while (true) {
      const std::size_t n = margins.before + 1;
      left = withUsualName(left, [&](std::size_t f) -> const HostOperator* {
        return cores_[f].first < forwards_[f].first + n ? nullptr : &at(cores_[f].first - n);
      });
      if (!isMost(left.size())) break;
      margins.before = n;
    }
    std::vector<Nanoseconds> pauses;
    for (const std::size_t f : runs) {
      for (std::size_t i = cores_[f].first + 1; i < cores_[f].end; ++i) {
        pauses.push_back(gapBefore(i));
      }
    }
    const Nanoseconds late = std::max(kLate, medianOf(std::move(pauses)) * kLatePauses);
    left = runs;
    while (true) {
      const std::size_t n = margins.after;
      left = withUsualName(left, [&](std::size_t f) -> const HostOperator* {
        return cores_[f].end + n >= forwards_[f].end ? nullptr : &at(cores_[f].end + n);
      });
      if (!isMost(left.size())) break;
      std::vector<Nanoseconds> gaps;
      for (const std::size_t f : left) {
        gaps.push_back(gapBefore(cores_[f].end + n));
      }
      if (partOf(gaps, 4) > late) break;
      margins.after = n + 1;
    }
    for (const std::size_t f : runs) {
      Run& run = forwards_[f];
      const Run& core = cores_[f];
      run.first = std::max(run.first, core.first - std::min(core.first, margins.before));
      run.end = std::min(run.end, core.end + margins.after);
    }
    return margins;
  }

  /// Gives runs that were cut only because another forward follows the operators that the others
  /// have behind theirs.
  void giveEnds(const std::vector<std::size_t>& runs, const Margins& margins) {
    const auto endOf = [&](std::size_t f) {
      return namesOf({.first = cores_[f].end, .end = cores_[f].end + margins.after});
    };
    const auto hasEnd = [&](std::size_t f) {
      return forwards_[f].end == cores_[f].end + margins.after;
    };
    const auto usual = std::find_if(runs.begin(), runs.end(), hasEnd);
    if (margins.after == 0 || usual == runs.end()) return;
    const Names names = endOf(*usual);
    for (const std::size_t f : runs) {
      const std::size_t next = f + 1;
      const std::size_t end = cores_[f].end + margins.after;
      const bool isHandedOver = next < forwards_.size() && isLinked(next) &&
                                !whole_[next].isCutBefore && whole_[next].first == whole_[f].end &&
                                end <= cores_[next].first;
      if (hasEnd(f) || !isHandedOver || endOf(f) != names) continue;
      forwards_[f].end = end;
      forwards_[next].first = std::max(forwards_[next].first, end);
    }
  }

  bool makesItsGradient(const Run& call) const {
    if (!at(call.first).isBackward) return true;
    if (call.first == 0 || isCutBetween(call.first - 1, call.first)) return false;
    const HostOperator& before = at(call.first - 1);
    return !before.isBackward && before.number == HostOperator::kNoNumber;
  }

  /// Whether the backward of a forward begins with a gradient that it makes itself, as that of a
  /// loss does.
  bool hasLoss(std::size_t forward) const {
    return std::any_of(calls_.begin(), calls_.end(), [&](const Run& call) {
      return call.owner == static_cast<std::int32_t>(forward) && makesItsGradient(call);
    });
  }

  /// Ends the cores of runs before a loss that is computed when the forward is over: its first
  /// operator usually comes late, and few are behind it.
  void leaveLossOut(const std::vector<std::size_t>& runs) {
    const Run& any = cores_[runs.front()];
    const std::size_t size = any.end - any.first;
    const auto mayHaveLoss = [&](std::size_t f) {
      return cores_[f].end - cores_[f].first == size && hasLoss(f);
    };
    if (!std::all_of(runs.begin(), runs.end(), mayHaveLoss)) return;
    const auto usualGap = [&](std::size_t i) {  // before the i-th operator of the core
      std::vector<Nanoseconds> gaps;
      for (const std::size_t f : runs) {
        const std::size_t place = cores_[f].first + i;
        gaps.push_back(gapBefore(place));
      }
      return medianOf(std::move(gaps));
    };
    std::vector<Nanoseconds> gaps;
    for (std::size_t i = 1; i < size; ++i) gaps.push_back(usualGap(i));
    const Nanoseconds usual = medianOf(gaps);
    std::size_t loss = 0;
    for (std::size_t n = 1; n <= kMostOfLoss && n < size; ++n) {
      const Nanoseconds gap = gaps[size - n - 1];
      if (gap < kBeforeLoss || (gaps.size() > kLateTimes && gap < kLateTimes * usual)) continue;
      if (loss > 0 && gap <= gaps[size - loss - 1]) continue;
      std::vector<Nanoseconds> lengths;
      for (const std::size_t f : runs) {
        lengths.push_back(at(cores_[f].end - 1).end - at(cores_[f].end - n).begin);
      }
      if (partOf(lengths, 4) <= kLongLoss) loss = n;
    }
    if (loss == 0) return;
    for (const std::size_t f : runs) forwards_[f].end = cores_[f].end -= loss;
  }

  /// Those of the runs whose operator, if they have it, has the name that most of them have.
  template <typename Find>
  static std::vector<std::size_t> withUsualName(const std::vector<std::size_t>& runs,
                                                const Find& find) {
    std::map<StringId, std::vector<std::size_t>> byName;
    for (const std::size_t f : runs) {
      if (const HostOperator* const each = find(f)) byName[each->name].push_back(f);
    }
    std::vector<std::size_t> most;
    for (auto& [name, list] : byName) {
      if (list.size() > most.size()) most = std::move(list);
    }
    return most;
  }

  /// Makes a run that holds these operators the forward that they are.
  bool cutOut(std::size_t f, const Names& names, const Margins& margins) {
    Run& run = forwards_[f];
    const Names all = namesOf(run);
    const auto found = std::search(all.begin(), all.end(), names.begin(), names.end());
    if (found == all.end()) return false;
    const auto first = run.first + static_cast<std::size_t>(found - all.begin());
    run.end = std::min(run.end, first + names.size() + margins.after);
    run.first = std::max(run.first, first - std::min(first, margins.before));
    return true;
  }

  /// The length that one of that many is below: 2 for the median, 4 for the lower quartile.
  static Nanoseconds partOf(std::vector<Nanoseconds> lengths, std::size_t part) {
    if (lengths.empty()) return 0;
    const auto place = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / part);
    std::nth_element(lengths.begin(), place, lengths.end());
    return *place;
  }
  static Nanoseconds medianOf(std::vector<Nanoseconds> lengths) {
    return partOf(std::move(lengths), 2);
  }

  void addUnplaced(const Run& run) {
    ++found_.runsUnplaced;
    found_.unplacedTime += busyOf(run);
  }

  /// For a run without any backward: leaves the runs of the patterns that take the most time.
  void keepLongForwards() {
    struct Pattern {
      std::int64_t count = 0;
      Nanoseconds time = 0;
    };
    std::map<Names, Pattern> patterns;
    for (const Run& run : forwards_) {
      Pattern& pattern = patterns[namesOf(run)];
      ++pattern.count;
      pattern.time += busyOf(run);
    }
    const Pattern* most = nullptr;
    const Names* usual = nullptr;
    for (const auto& [names, pattern] : patterns) {
      if (pattern.count < 2 || (most != nullptr && pattern.time <= most->time)) continue;
      most = &pattern;
      usual = &names;
    }
    isKept_.assign(forwards_.size(), false);
    if (most == nullptr) return;
    const Nanoseconds mean = most->time / most->count;
    for (std::size_t f = 0; f < forwards_.size(); ++f) {
      Run& run = forwards_[f];
      const Names names = namesOf(run);
      if (endsWith(names, *usual)) run.first = run.end - usual->size();
      const Pattern& pattern = patterns.at(names);
      isKept_[f] = names == *usual || endsWith(names, *usual) ||
                   (pattern.count > 1 && busyOf(run) * kShort > mean);
      if (!isKept_[f] && busyOf(run) * 2 > mean) addUnplaced(run);
    }
  }

  FoundJobs jobs() {
    std::vector<std::int32_t> passes(forwards_.size(), FoundJob::kNoPass);
    std::vector<std::int32_t> patternOf;  // by pass
    std::map<Names, std::int32_t> patterns;
    std::vector<std::size_t> pairs;  // forwards that have a backward in them
    std::int32_t count = 0;
    for (std::size_t f = 0; f < forwards_.size(); ++f) {
      if (!isKept_[f]) continue;
      // An annotation may have several runs, as messages are sent in it.
      const bool goesOn = f > 0 && forwards_[f].annotated != HostOperator::kNoJob &&
                          forwards_[f].annotated == forwards_[f - 1].annotated &&
                          passes[f - 1] != FoundJob::kNoPass;
      passes[f] = goesOn ? passes[f - 1] : count++;
      if (goesOn) continue;
      const auto number = static_cast<std::int32_t>(patterns.size());
      patternOf.push_back(patterns.try_emplace(namesOf(forwards_[f]), number).first->second);
      add(forwards_[f], forwards_[f].isPair() ? JobKind::kForwardBackward : JobKind::kForward,
          passes[f], patternOf.back());
      if (forwards_[f].isPair()) pairs.push_back(f);
    }
    std::map<std::int32_t, std::int64_t> backwards;  // by pass: how many
    std::map<std::int32_t, std::int64_t> seen;
    std::int64_t seenPairs = 0;
    const auto passOf = [&](const Run& call) {
      return call.owner == kNone ? FoundJob::kNoPass : passes[static_cast<std::size_t>(call.owner)];
    };
    for (FoundJob& job : found_.jobs) {
      if (job.kind != JobKind::kForwardBackward) continue;
      const Run& pair = forwards_[pairs[static_cast<std::size_t>(seenPairs++)]];
      job.backwardPass = passes[static_cast<std::size_t>(pair.pairedWith)];
      ++backwards[job.backwardPass];
      ++seen[job.backwardPass];
    }
    for (const Run& call : calls_) ++backwards[passOf(call)];
    for (const Run& call : calls_) {
      const std::int32_t pass = passOf(call);
      JobKind kind = JobKind::kBackward;
      if (pass != FoundJob::kNoPass && backwards[pass] > 1) {
        kind = seen[pass]++ == 0 ? JobKind::kBackwardInput : JobKind::kBackwardWeight;
      }
      add(call, kind, pass,
          pass == FoundJob::kNoPass ? 0 : patternOf[static_cast<std::size_t>(pass)]);
    }
    std::stable_sort(found_.jobs.begin(), found_.jobs.end(),
                     [](const FoundJob& a, const FoundJob& b) { return a.begin < b.begin; });
    return std::move(found_);
  }

  void add(const Run& run, JobKind kind, std::int32_t pass, std::int32_t pattern) {
    found_.jobs.push_back({.begin = at(run.first).begin,
                           .end = lastEnd(run),
                           .kind = kind,
                           .pass = pass,
                           .pattern = pattern,
                           .annotated = run.annotated});
  }

  Nanoseconds lastEnd(const Run& run) const {
    Nanoseconds end = at(run.first).end;
    for (std::size_t i = run.first; i < run.end; ++i) end = std::max(end, at(i).end);
    return end;
  }

  const HostFacts& facts_;
  std::span<const HostOperator> operators_;
  HostRuns runs_;
  std::vector<Run> forwards_;       // runs of operators that are no backward's
  std::vector<Run> whole_;          // the same before they lost what is not theirs
  std::vector<Run> calls_;          // of autograd
  std::vector<Numbered> numbered_;  // operators of forwards, by number
  std::vector<Run> cores_;    // by forward: from the first to the last operator with a backward
  std::vector<bool> isKept_;  // by forward
  FoundJobs found_;
};

bool runsForward(const FoundJob& job) {
  return job.kind == JobKind::kForward || job.kind == JobKind::kForwardBackward;
}

/// Steps that count from 0 and end with an optimizer; several in a row end one step.
std::vector<std::int32_t> stepsByOptimizers(const std::vector<FoundJob>& jobs,
                                            std::span<const Nanoseconds> optimizers) {
  std::vector<std::int32_t> steps;
  std::int32_t step = 0;
  auto next = optimizers.begin();
  for (const FoundJob& job : jobs) {
    const auto first = next;
    while (next != optimizers.end() && *next < job.begin) ++next;
    if (next != first && !steps.empty()) ++step;
    steps.push_back(step);
  }
  return steps;
}

/// Gives backwards that name no forward the forwards of their step that have none, first in first
/// out, where there are as many.
void numberRest(const std::vector<FoundJob>& jobs, std::vector<JobNumbers>& numbers) {
  struct Rest {
    std::vector<std::int32_t> forwards;  // their micro-batches
    std::vector<std::size_t> backwards;
  };
  std::set<std::int32_t> served;  // passes
  for (const FoundJob& job : jobs) {
    if (!runsForward(job)) served.insert(job.pass);
    if (job.kind == JobKind::kForwardBackward) served.insert(job.backwardPass);
  }
  std::map<std::int32_t, Rest> steps;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Rest& rest = steps[numbers[i].step];
    if (runsForward(jobs[i])) {
      if (!served.contains(jobs[i].pass)) rest.forwards.push_back(numbers[i].microBatch);
    } else if (jobs[i].pass == FoundJob::kNoPass) {
      rest.backwards.push_back(i);
    }
  }
  for (const auto& [step, rest] : steps) {
    if (rest.forwards.size() != rest.backwards.size()) continue;
    for (std::size_t i = 0; i < rest.backwards.size(); ++i) {
      numbers[rest.backwards[i]].microBatch = rest.forwards[i];
    }
  }
}

}  // namespace

FoundJobs findJobs(const HostFacts& facts) { return JobFinder(facts).find(); }

std::vector<JobNumbers> numberByOrder(const std::vector<FoundJob>& jobs,
                                      const std::function<std::int32_t(Nanoseconds)>& stepAt,
                                      std::span<const Nanoseconds> optimizers) {
  std::vector<JobNumbers> numbers;
  for (const FoundJob& job : jobs) numbers.push_back({.step = stepAt(job.begin)});
  const bool areKnown = std::any_of(numbers.begin(), numbers.end(),
                                    [](const JobNumbers& each) { return each.step != kNotGiven; });
  if (!areKnown && !optimizers.empty()) {
    const std::vector<std::int32_t> steps = stepsByOptimizers(jobs, optimizers);
    for (std::size_t i = 0; i < jobs.size(); ++i) numbers[i].step = steps[i];
  }
  std::map<std::int32_t, std::int32_t> counts;        // by step
  std::map<std::int32_t, std::int32_t> microBatches;  // by pass
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!runsForward(jobs[i]) || jobs[i].pass == FoundJob::kNoPass) continue;
    numbers[i].microBatch = counts[numbers[i].step]++;
    microBatches[jobs[i].pass] = numbers[i].microBatch;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto found = microBatches.find(jobs[i].pass);
    if (found != microBatches.end()) numbers[i].microBatch = found->second;
    const auto backward = microBatches.find(jobs[i].backwardPass);
    if (backward != microBatches.end()) numbers[i].backwardMicroBatch = backward->second;
  }
  numberRest(jobs, numbers);
  return numbers;
}

}  // namespace pipetrace
