#include "parser/foreign/found_jobs/join_turns.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace pipetrace {
namespace {

using Names = HostRuns::Names;

/// Two parts of a forward, one of which takes this part of the other or more, are two forwards.
constexpr Nanoseconds kHalf = 2;
/// A forward and a backward of which the host runs parts in turn: it changes as often or more.
constexpr std::size_t kTurns = 3;

/// The calls of a backward that goes back through a forward run by run.
struct Chain {
  std::vector<std::size_t> calls;  // ascending
  // The first and the last run of its forward: places among the runs that a backward refers to.
  std::size_t low = 0;
  std::size_t high = 0;
  Nanoseconds busy = 0;  // of its calls
};

class TurnJoiner {
 public:
  TurnJoiner(const HostRuns& runs, const std::vector<HostRun>& forwards,
             const std::vector<HostRun>& cores, const std::vector<HostRun>& calls)
      : runs_(runs), forwards_(forwards), cores_(cores), calls_(calls) {}

  std::optional<JoinedTurns> join() {
    listLinked();
    const std::vector<Chain> chains = partedChains(chainsOf());
    if (!haveTurns(chains)) return std::nullopt;
    if (joinForwards(chains)) {
      takeJoined(chains);
    } else {
      result_.areTold = false;
    }
    return std::move(result_);
  }

 private:
  /// Lists the runs that a backward refers to, in their order.
  void listLinked() {
    placeOf_.assign(forwards_.size(), 0);
    for (std::size_t f = 0; f < forwards_.size(); ++f) {
      if (!isLinked(f) || forwards_[f].annotated != HostOperator::kNoJob) continue;
      placeOf_[f] = linked_.size();
      linked_.push_back(f);
    }
  }

  /// The place among the linked runs of the one that a call goes back through; nothing for calls
  /// that are none of a found backward.
  std::optional<std::size_t> placeOfOwner(const HostRun& call) const {
    if (call.owner == HostRun::kNone || call.annotated != HostOperator::kNoJob) return std::nullopt;
    const auto owner = static_cast<std::size_t>(call.owner);
    if (forwards_[owner].annotated != HostOperator::kNoJob) return std::nullopt;
    return placeOf_[owner];
  }

  std::set<std::int64_t> numbersIn(const HostRun& call) const {
    std::set<std::int64_t> numbers;
    for (std::size_t i = call.first; i < call.end; ++i) {
      if (runs_.at(i).isBackward && runs_.at(i).number != HostOperator::kNoNumber)
        numbers.insert(runs_.at(i).number);
    }
    return numbers;
  }

  bool isSmallBeside(const Chain& chain, const Chain& other) const {
    return chain.busy * HostRuns::kShort < other.busy;
  }

  /// The backwards: each goes on from a run to the one before it. A cut ends it, unless only a
  /// small part of it is on one side: a message may be posted before a backward is over.
  std::vector<Chain> chainsOf() const {
    std::vector<Chain> chains;
    std::set<std::int64_t> numbers;  // that the current chain has gone through in its latest run
    std::size_t before = 0;          // the call before
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      const auto place = placeOfOwner(calls_[c]);
      if (!place) {
        if (calls_[c].annotated != HostOperator::kNoJob) numbers.clear();
        continue;
      }
      const std::set<std::int64_t> own = numbersIn(calls_[c]);
      const bool isAgain =
          std::any_of(own.begin(), own.end(), [&](std::int64_t n) { return numbers.contains(n); });
      const bool isNext = !chains.empty() && !isAgain &&
                          (*place == chains.back().low || *place + 1 == chains.back().low) &&
                          !runs_.isCutBetween(calls_[before].end - 1, calls_[c].first);
      if (!isNext) {
        chains.push_back({.low = *place, .high = *place});
        numbers.clear();
      }
      chains.back().calls.push_back(c);
      chains.back().busy += runs_.busyOf(calls_[c]);
      chains.back().low = *place;
      numbers.insert(own.begin(), own.end());
      before = c;
    }
    return joinSmall(chains);
  }

  /// The operators of a chain's forward.
  Names forwardNamesOf(const Chain& chain) const {
    Names names;
    for (std::size_t l = chain.low; l <= chain.high; ++l) {
      const Names own = runs_.namesOf(cores_[linked_[l]]);
      names.insert(names.end(), own.begin(), own.end());
    }
    return names;
  }

  /// The first run of the later one of two forwards that a cut parts, both of which are long.
  std::optional<std::size_t> partedAt(const Chain& chain) const {
    struct Part {
      std::size_t first = 0;
      Nanoseconds busy = 0;
    };
    std::vector<Part> parts;
    for (std::size_t l = chain.low; l <= chain.high; ++l) {
      const HostRun& core = cores_[linked_[l]];
      const bool isCut =
          l > chain.low && runs_.isCutBetween(cores_[linked_[l - 1]].end - 1, core.first);
      if (parts.empty() || isCut) parts.push_back({l, 0});
      parts.back().busy += runs_.busyOf(core);
    }
    const auto isLonger = [](const Part& a, const Part& b) { return a.busy > b.busy; };
    std::sort(parts.begin(), parts.end(), isLonger);
    if (parts.size() < 2 || parts[1].busy * kHalf < parts[0].busy) return std::nullopt;
    return std::max(parts[0].first, parts[1].first);
  }

  /// Parts chains that go back through two forwards, as where a V turns: on its last rank a message
  /// parts only some micro-batches' two forwards. Others are known by the operators of those.
  std::vector<Chain> partedChains(const std::vector<Chain>& chains) const {
    using Two = std::pair<Names, Names>;
    const auto twoOf = [&](const Chain& chain, std::size_t at) {
      return Two(forwardNamesOf({.low = chain.low, .high = at - 1}),
                 forwardNamesOf({.low = at, .high = chain.high}));
    };
    std::map<Two, std::size_t> counts;
    std::size_t all = 0;
    for (const Chain& chain : chains) {
      const auto at = partedAt(chain);
      if (!at) continue;
      ++counts[twoOf(chain, *at)];
      ++all;
    }
    std::set<Names> known;
    for (const auto& [two, count] : counts) {
      // Cuts may lie in a forward now and then, but not at one place of most.
      if (count < 2 || count * 2 <= all) continue;
      known.insert(two.first);
      known.insert(two.second);
    }
    if (known.empty()) return chains;
    std::vector<Chain> parted;
    for (const Chain& chain : chains) {
      const auto at = knownParting(chain, known);
      if (!at) {
        parted.push_back(chain);
        continue;
      }
      Chain later{.low = *at, .high = chain.high};
      Chain earlier{.low = chain.low, .high = *at - 1};
      for (const std::size_t c : chain.calls) {
        Chain& part = *placeOfOwner(calls_[c]) >= *at ? later : earlier;
        part.calls.push_back(c);
        part.busy += runs_.busyOf(calls_[c]);
      }
      parted.push_back(std::move(later));
      parted.push_back(std::move(earlier));
    }
    return parted;
  }

  /// The first run of the later one of two known forwards that a chain goes back through.
  std::optional<std::size_t> knownParting(const Chain& chain, const std::set<Names>& known) const {
    const Names names = forwardNamesOf(chain);
    if (known.contains(names)) return std::nullopt;
    std::map<std::size_t, std::size_t> runFrom;  // by the number of operators before it
    std::size_t length = 0;
    for (std::size_t l = chain.low; l < chain.high; ++l) {
      const HostRun& core = cores_[linked_[l]];
      length += core.end - core.first;
      runFrom[length] = l + 1;
    }
    for (const Names& first : known) {
      const auto run = runFrom.find(first.size());
      if (run == runFrom.end()) continue;
      const auto middle = names.begin() + static_cast<std::ptrdiff_t>(first.size());
      if (std::equal(first.begin(), first.end(), names.begin()) &&
          known.contains(Names(middle, names.end())))
        return run->second;
    }
    return std::nullopt;
  }

  /// Joins parts of a backward that a cut has parted.
  std::vector<Chain> joinSmall(const std::vector<Chain>& parts) const {
    std::vector<Chain> chains;
    for (const Chain& part : parts) {
      const bool goesOn =
          !chains.empty() && part.high + 1 == chains.back().low &&
          (isSmallBeside(part, chains.back()) || isSmallBeside(chains.back(), part));
      if (!goesOn) {
        chains.push_back(part);
        continue;
      }
      chains.back().calls.insert(chains.back().calls.end(), part.calls.begin(), part.calls.end());
      chains.back().low = part.low;
      chains.back().busy += part.busy;
    }
    return chains;
  }

  std::size_t firstOf(const Chain& chain) const { return calls_[chain.calls.front()].first; }
  std::size_t endOf(const Chain& chain) const { return calls_[chain.calls.back()].end; }

  /// How often the host changes between the runs of a forward and the calls of a backward.
  std::size_t turnsOf(const Chain& forward, const Chain& backward) const {
    const auto callFrom = [&](std::size_t place) {
      return std::partition_point(backward.calls.begin(), backward.calls.end(),
                                  [&](std::size_t c) { return calls_[c].first < place; });
    };
    const auto first = callFrom(cores_[linked_[forward.low]].first);
    const auto end = callFrom(cores_[linked_[forward.high]].end);
    std::size_t turns = first != backward.calls.begin() ? 1 : 0;
    if (end != backward.calls.end()) ++turns;
    std::size_t latest = forward.low;
    for (auto call = first; call != end; ++call) {
      const std::size_t next = linkedFrom(calls_[*call].first);
      if (next != latest) turns += 2;
      latest = next;
    }
    return turns;
  }

  bool overlap(const Chain& forward, const Chain& backward) const {
    return cores_[linked_[forward.low]].first < endOf(backward) &&
           firstOf(backward) < cores_[linked_[forward.high]].end;
  }

  /// By linked run: the chain that goes through it first.
  std::vector<std::size_t> chainOfRuns(const std::vector<Chain>& chains) const {
    std::vector<std::size_t> chainOf(linked_.size(), chains.size());
    for (std::size_t i = 0; i < chains.size(); ++i) {
      for (std::size_t l = chains[i].low; l <= chains[i].high; ++l) {
        if (chainOf[l] == chains.size()) chainOf[l] = i;
      }
    }
    return chainOf;
  }

  /// Whether parts of some forward and of another one's backward take turns.
  bool haveTurns(const std::vector<Chain>& chains) const {
    const std::vector<std::size_t> chainOf = chainOfRuns(chains);
    for (const Chain& chain : chains) {
      std::size_t latest = chains.size();
      for (std::size_t l = linkedFrom(firstOf(chain));
           l < linked_.size() && cores_[linked_[l]].first < endOf(chain); ++l) {
        if (chainOf[l] == latest || chainOf[l] == chains.size()) continue;
        latest = chainOf[l];
        if (&chains[latest] != &chain && turnsOf(chains[latest], chain) >= kTurns) return true;
      }
    }
    return false;
  }

  /// The place of the first linked run that begins at that operator or later.
  std::size_t linkedFrom(std::size_t place) const {
    const auto next = std::partition_point(linked_.begin(), linked_.end(),
                                           [&](std::size_t f) { return cores_[f].first < place; });
    return static_cast<std::size_t>(next - linked_.begin());
  }

  /// Finds the forward of each chain, and the pairs. Returns false where they contradict each
  /// other.
  bool joinForwards(const std::vector<Chain>& chains) {
    const std::vector<std::size_t> chainOf = chainOfRuns(chains);
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const std::size_t first = chainOf[chains[i].low];
      // A chain that goes over a forward again is the other half of its backward.
      for (std::size_t l = chains[i].low; l <= chains[i].high; ++l) {
        if (chainOf[l] != first) return false;
      }
      forwardOf_.push_back(first);
    }
    pairOf_.assign(chains.size(), chains.size());
    std::vector<bool> isTaken(chains.size(), false);
    for (std::size_t b = 0; b < chains.size(); ++b) {
      const std::size_t next = linkedFrom(firstOf(chains[b]));
      for (std::size_t l = next > 0 ? next - 1 : 0; l < linked_.size(); ++l) {
        if (cores_[linked_[l]].first >= endOf(chains[b])) break;
        const std::size_t f = chainOf[l];
        if (f == chains.size() || f == b || f == pairOf_[b] || !overlap(chains[f], chains[b])) {
          continue;
        }
        const bool isPair = pairOf_[b] == chains.size() && !isTaken[f] && forwardOf_[b] == b &&
                            f != forwardOf_[b] && turnsOf(chains[f], chains[b]) >= kTurns;
        if (!isPair) return false;
        pairOf_[b] = f;
        isTaken[f] = true;
      }
    }
    return true;
  }

  /// Puts the joined forwards, pairs and backwards in place of their parts.
  void takeJoined(const std::vector<Chain>& chains) {
    struct Joined {
      HostRun run;
      HostRun core;
      std::size_t chain = 0;  // of the forward; as many as there are: none
    };
    const std::size_t none = chains.size();
    std::vector<std::size_t> backwardOf(chains.size(), none);  // by chain of a pair's forward
    for (std::size_t b = 0; b < chains.size(); ++b) {
      if (pairOf_[b] != none) backwardOf[pairOf_[b]] = b;
    }
    std::vector<Joined> joined;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      if (forwardOf_[i] != i) continue;
      const std::size_t low = linked_[chains[i].low];
      const std::size_t high = linked_[chains[i].high];
      HostRun run = forwards_[low];
      run.end = forwards_[high].end;
      HostRun core{.first = cores_[low].first, .end = cores_[high].end};
      if (backwardOf[i] != none) {
        const Chain& chain = chains[backwardOf[i]];
        core.first = std::min(core.first, firstOf(chain));
        core.end = std::max(core.end, endOf(chain));
        run.first = core.first;
        run.end = core.end;
        run.pairedWith = 0;  // set below
      }
      joined.push_back({run, core, i});
    }
    std::sort(joined.begin(), joined.end(),
              [](const Joined& a, const Joined& b) { return a.run.first < b.run.first; });
    const auto isJoined = [&](const HostRun& run) {
      const auto next = std::partition_point(joined.begin(), joined.end(), [&](const Joined& each) {
        return each.run.first < run.end;
      });
      return next != joined.begin() && std::prev(next)->run.end > run.first;
    };
    std::vector<Joined> others;
    for (std::size_t f = 0; f < forwards_.size(); ++f) {
      if (!isJoined(forwards_[f])) others.push_back({forwards_[f], cores_[f], none});
    }
    joined.insert(joined.end(), others.begin(), others.end());
    std::stable_sort(joined.begin(), joined.end(),
                     [](const Joined& a, const Joined& b) { return a.run.first < b.run.first; });
    std::vector<std::int32_t> numberOf(chains.size(), HostRun::kNone);  // of the forward of a chain
    for (std::size_t f = 0; f < joined.size(); ++f) {
      if (joined[f].chain != none) numberOf[joined[f].chain] = static_cast<std::int32_t>(f);
    }
    takeJoinedCalls(chains, numberOf);
    for (Joined& each : joined) {
      if (each.run.isPair()) {
        each.run.pairedWith = numberOf[forwardOf_[backwardOf[each.chain]]];
      }
      result_.forwards.push_back(each.run);
      result_.cores.push_back(each.core);
    }
  }

  /// Leaves the annotated calls and the backwards that are in no pair. A backward that takes turns
  /// with a forward whose own backward the trace lacks is not placed, nor is one without a forward.
  void takeJoinedCalls(const std::vector<Chain>& chains,
                       const std::vector<std::int32_t>& numberOf) {
    std::vector<HostRun> left;
    std::vector<Nanoseconds> lengths;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      lengths.push_back(chains[i].busy);
      if (pairOf_[i] != chains.size()) continue;
      HostRun call = calls_[chains[i].calls.front()];
      call.end = endOf(chains[i]);
      call.owner = numberOf[forwardOf_[i]];
      Nanoseconds others = 0;
      for (std::size_t o = call.first; o < call.end; ++o) {
        if (!runs_.at(o).isBackward && runs_.at(o).number != HostOperator::kNoNumber)
          others += runs_.at(o).end - runs_.at(o).begin;
      }
      if (others * HostRuns::kShort > lengths.back()) {
        result_.unplaced.push_back(call);
      } else {
        left.push_back(call);
      }
    }
    const Nanoseconds usual = medianOf(lengths);
    for (const HostRun& call : calls_) {
      if (call.annotated != HostOperator::kNoJob) {
        left.push_back(call);
      } else if (!placeOfOwner(call) && runs_.busyOf(call) * HostRuns::kShort > usual) {
        result_.unplaced.push_back(call);
      }
    }
    std::sort(left.begin(), left.end(),
              [](const HostRun& a, const HostRun& b) { return a.first < b.first; });
    result_.calls = std::move(left);
  }

  /// Whether a backward refers to an operator of the run.
  bool isLinked(std::size_t forward) const { return cores_[forward].end > cores_[forward].first; }

  static Nanoseconds medianOf(std::vector<Nanoseconds> lengths) {
    if (lengths.empty()) return 0;
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    return *middle;
  }

  const HostRuns& runs_;
  const std::vector<HostRun>& forwards_;
  const std::vector<HostRun>& cores_;
  const std::vector<HostRun>& calls_;
  std::vector<std::size_t> linked_;     // forwards that a backward refers to
  std::vector<std::size_t> placeOf_;    // by forward: the place among them
  std::vector<std::size_t> forwardOf_;  // by chain: the one that goes through its forward first
  std::vector<std::size_t> pairOf_;     // by chain: that of the forward it takes turns with
  JoinedTurns result_;
};

}  // namespace

std::optional<JoinedTurns> joinTurns(const HostRuns& runs, const std::vector<HostRun>& forwards,
                                     const std::vector<HostRun>& cores,
                                     const std::vector<HostRun>& calls) {
  return TurnJoiner(runs, forwards, cores, calls).join();
}

}  // namespace pipetrace
