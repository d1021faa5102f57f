#include "parser/foreign/found_jobs/find_graph_jobs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace pipetrace {
namespace {

using SymbolRun = std::vector<std::int32_t>;  // the symbols of kernels that follow each other

/// Nodes are in the order of the capture if at least this part, in per cent, of neighbours ran so.
constexpr std::size_t kInOrderPercent = 90;
/// Usual lengths of kernels with one name are of two kinds from this ratio on, in per cent.
constexpr Nanoseconds kOtherLengthPercent = 130;
/// A run that takes less than this part of the longest one is no job.
constexpr double kTinyPart = 0.05;
/// Jobs of one kind have at least this part of their time in the same kernels.
constexpr double kAlike = 0.7;
/// A forward and its backward may have this part of their time in the same kernels.
constexpr double kMostInCommon = 0.1;
/// A forward takes that part of the time of itself and its backward.
constexpr double kLeastForward = 0.15;
constexpr double kMostForward = 0.6;
/// The usual part, for kernels that may be of either, as those of a loss.
constexpr double kUsualForward = 1.0 / 3;
/// Kernels that may be of either may take this part of the time.
constexpr double kMostOfEither = 0.15;

/// Kernels without a message between them: [first, end).
struct Stretch {
  std::size_t first = 0;
  std::size_t end = 0;
};

class GraphJobFinder {
 public:
  explicit GraphJobFinder(std::vector<GraphKernel> kernels) : kernels_(std::move(kernels)) {}

  GraphJobs find() {
    if (!order()) return {};
    listStretches();
    symbols_.resize(kernels_.size());
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      symbols_[i] = static_cast<std::int32_t>(kernels_[i].name);
    }
    const auto isTold = [](const GraphJobs& found) {
      return std::any_of(found.jobs.begin(), found.jobs.end(),
                         [](const GraphJob& job) { return job.kind != JobKind::kForward; });
    };
    GraphJobs byNames = jobs();
    if (isTold(byNames)) return byNames;
    tellLengthsApart();
    GraphJobs byLengths = jobs();
    return isTold(byLengths) || byNames.jobs.empty() ? byLengths : byNames;
  }

 private:
  /// Brings the kernels into the order of the capture. Whether they have one.
  bool order() {
    std::map<std::int64_t, Nanoseconds> begins;  // of launches
    for (const GraphKernel& kernel : kernels_) {
      Nanoseconds& begin = begins.try_emplace(kernel.launch, kernel.begin).first->second;
      begin = std::min(begin, kernel.begin);
    }
    std::stable_sort(kernels_.begin(), kernels_.end(),
                     [&](const GraphKernel& a, const GraphKernel& b) {
                       if (a.launch == b.launch) return a.node < b.node;
                       return std::pair(begins.at(a.launch), a.launch) <
                              std::pair(begins.at(b.launch), b.launch);
                     });
    std::size_t neighbours = 0;
    std::size_t inOrder = 0;
    const GraphKernel* before = nullptr;
    for (const GraphKernel& kernel : kernels_) {
      if (kernel.isMessage) continue;
      if (before != nullptr) {
        ++neighbours;
        if (before->begin <= kernel.begin) ++inOrder;
      }
      before = &kernel;
    }
    giveSteps();
    return inOrder * 100 >= neighbours * kInOrderPercent;
  }

  /// A launch is of the first step that a kernel of it has. Where one has none, each is a step.
  void giveSteps() {
    std::map<std::int64_t, std::int32_t> steps;  // of launches
    for (const GraphKernel& kernel : kernels_) {
      std::int32_t& step = steps.try_emplace(kernel.launch, kernel.step).first->second;
      if (step < 0) step = kernel.step;
    }
    const bool areKnown = std::all_of(steps.begin(), steps.end(),
                                      [](const auto& launch) { return launch.second >= 0; });
    std::int32_t count = 0;
    std::optional<std::int64_t> launch;
    for (GraphKernel& kernel : kernels_) {
      if (!areKnown && kernel.launch != launch) steps[kernel.launch] = count++;
      launch = kernel.launch;
      kernel.step = steps.at(kernel.launch);
    }
  }

  void listStretches() {
    bool isOpen = false;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const bool isOther = i > 0 && (kernels_[i].launch != kernels_[i - 1].launch ||
                                     kernels_[i].step != kernels_[i - 1].step);
      if (isOther || kernels_[i].isMessage) isOpen = false;
      if (kernels_[i].isMessage) continue;
      if (!isOpen) stretches_.push_back({i, i});
      stretches_.back().end = i + 1;
      isOpen = true;
    }
  }

  /// Gives kernels of one name other symbols where their nodes have usual lengths of several kinds.
  void tellLengthsApart() {
    std::map<std::pair<StringId, std::int64_t>, std::vector<Nanoseconds>> nodes;
    for (const GraphKernel& kernel : kernels_) {
      nodes[{kernel.name, kernel.node}].push_back(kernel.end - kernel.begin);
    }
    std::map<StringId, std::vector<std::pair<Nanoseconds, std::int64_t>>> lengths;  // with nodes
    for (auto& [key, list] : nodes) {
      const auto middle = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2);
      std::nth_element(list.begin(), middle, list.end());
      lengths[key.first].emplace_back(*middle, key.second);
    }
    std::map<std::pair<StringId, std::int64_t>, std::int32_t> symbols;
    std::int32_t symbol = 0;
    for (auto& [name, list] : lengths) {
      std::sort(list.begin(), list.end());
      ++symbol;
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (i > 0 && list[i].first * 100 > list[i - 1].first * kOtherLengthPercent) ++symbol;
        symbols[{name, list[i].second}] = symbol;
      }
    }
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      symbols_[i] = symbols.at({kernels_[i].name, kernels_[i].node});
    }
  }

  SymbolRun wordOf(const Stretch& stretch) const {
    return {symbols_.begin() + static_cast<std::ptrdiff_t>(stretch.first),
            symbols_.begin() + static_cast<std::ptrdiff_t>(stretch.end)};
  }

  Nanoseconds busyOf(const Stretch& stretch) const {
    Nanoseconds busy = 0;
    for (std::size_t i = stretch.first; i < stretch.end; ++i) {
      busy += kernels_[i].end - kernels_[i].begin;
    }
    return busy;
  }

  /// The jobs that the symbols tell; none if they contradict each other.
  GraphJobs jobs() const {
    const std::vector<Stretch> parts = cutStretches();
    const std::vector<std::int32_t> kinds = kindsOf(parts);
    return numbered(parts, kinds);
  }

  /// Cuts off what stands alone elsewhere, and leaves out what is too short for a job.
  std::vector<Stretch> cutStretches() const {
    Nanoseconds longest = 0;
    std::map<SymbolRun, std::size_t> counts;
    for (const Stretch& stretch : stretches_) longest = std::max(longest, busyOf(stretch));
    const auto isTiny = [&](const Stretch& stretch) {
      return static_cast<double>(busyOf(stretch)) < kTinyPart * static_cast<double>(longest);
    };
    for (const Stretch& stretch : stretches_) {
      if (!isTiny(stretch)) ++counts[wordOf(stretch)];
    }
    std::vector<const SymbolRun*> words;
    for (const auto& [word, count] : counts) {
      if (count > 1) words.push_back(&word);
    }
    std::stable_sort(words.begin(), words.end(),
                     [](const SymbolRun* a, const SymbolRun* b) { return a->size() < b->size(); });
    std::vector<const SymbolRun*> alone;  // the shortest first; none consists of others
    for (const SymbolRun* const word : words) {
      if (cut({0, word->size()}, *word, alone).size() == 1) alone.push_back(word);
    }
    std::vector<Stretch> parts;
    for (const Stretch& stretch : stretches_) {
      if (isTiny(stretch)) continue;
      for (const Stretch& part : cut(stretch, wordOf(stretch), alone)) {
        if (!isTiny(part)) parts.push_back(part);
      }
    }
    return parts;
  }

  /// The parts of a stretch with these symbols, and what is left of it between them.
  static std::vector<Stretch> cut(Stretch rest, const SymbolRun& word,
                                  const std::vector<const SymbolRun*>& alone) {
    const std::size_t offset = rest.first;
    std::vector<Stretch> before;
    std::vector<Stretch> behind;
    const auto place = [&](std::size_t i) {
      return word.begin() + static_cast<std::ptrdiff_t>(i - offset);
    };
    bool goesOn = true;
    while (goesOn) {
      goesOn = false;
      for (auto it = alone.rbegin(); it != alone.rend() && !goesOn; ++it) {
        const SymbolRun& each = **it;
        const std::size_t size = each.size();
        if (rest.end - rest.first <= size) continue;
        goesOn = true;
        if (std::equal(each.begin(), each.end(), place(rest.end - size))) {
          behind.push_back({rest.end - size, rest.end});
          rest.end -= size;
        } else if (std::equal(each.begin(), each.end(), place(rest.first))) {
          before.push_back({rest.first, rest.first + size});
          rest.first += size;
        } else {
          goesOn = false;
        }
      }
    }
    before.push_back(rest);
    before.insert(before.end(), behind.rbegin(), behind.rend());
    return before;
  }

  using Times = std::map<std::int32_t, double>;  // by symbol

  Times timesOf(const Stretch& part) const {
    Times times;
    for (std::size_t i = part.first; i < part.end; ++i) {
      times[symbols_[i]] += static_cast<double>(kernels_[i].end - kernels_[i].begin);
    }
    return times;
  }

  /// The part of the time of the longer one that both spend in the same kernels.
  static double alike(const Times& a, const Times& b) {
    double both = 0;
    double ofA = 0;
    double ofB = 0;
    for (const auto& [symbol, time] : b) ofB += time;
    for (const auto& [symbol, time] : a) {
      ofA += time;
      if (const auto other = b.find(symbol); other != b.end())
        both += std::min(time, other->second);
    }
    return both / std::max({ofA, ofB, 1.0});
  }

  /// A number for each part: parts of one kind have the same. Kinds count from 0, the one that
  /// comes first first.
  std::vector<std::int32_t> kindsOf(const std::vector<Stretch>& parts) const {
    std::map<SymbolRun, std::pair<std::size_t, std::size_t>> words;  // how many; the first one
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ++words.try_emplace(wordOf(parts[i]), 0, i).first->second.first;
    }
    std::vector<std::pair<std::size_t, std::size_t>> byCount;
    for (const auto& [word, count] : words) byCount.push_back(count);
    std::sort(byCount.begin(), byCount.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<Times> kinds;
    std::map<SymbolRun, std::int32_t> kindOf;
    for (const auto& [count, first] : byCount) {
      const Times times = timesOf(parts[first]);
      const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const Times& kind) {
        return alike(times, kind) >= kAlike;
      });
      kindOf[wordOf(parts[first])] = static_cast<std::int32_t>(known - kinds.begin());
      if (known == kinds.end()) kinds.push_back(times);
    }
    std::map<std::int32_t, std::int32_t> numbers;  // by their first parts
    std::vector<std::int32_t> result;
    for (const Stretch& part : parts) {
      const auto number = static_cast<std::int32_t>(numbers.size());
      result.push_back(numbers.try_emplace(kindOf.at(wordOf(part)), number).first->second);
    }
    return result;
  }

  /// The parts that a rank runs in a step, in its order.
  struct Part {
    Stretch stretch;
    std::int32_t kind = 0;
  };
  using Steps = std::map<std::int32_t, std::vector<Part>>;

  /// Leaves kinds out that a step has too seldom to be those of micro-batches, such as that of the
  /// optimizer. The kinds that are left, each with its part in the order of jobs; empty if they
  /// have different counts.
  std::vector<std::int32_t> commonKinds(const Steps& steps) const {
    std::set<std::int32_t> common;
    for (const auto& [step, parts] : steps) {
      std::map<std::int32_t, std::size_t> counts;
      for (const Part& part : parts) ++counts[part.kind];
      std::size_t most = 0;
      for (const auto& [kind, count] : counts) most = std::max(most, count);
      std::set<std::int32_t> kept;
      for (const auto& [kind, count] : counts) {
        if (count * 2 <= most) continue;
        if (count != most) return {};
        kept.insert(kind);
      }
      if (!common.empty() && common != kept) return {};
      common = kept;
    }
    return {common.begin(), common.end()};
  }

  GraphJobs numbered(const std::vector<Stretch>& parts,
                     const std::vector<std::int32_t>& kinds) const {
    Steps steps;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      steps[kernels_[parts[i].first].step].push_back({parts[i], kinds[i]});
    }
    const std::vector<std::int32_t> common = commonKinds(steps);
    constexpr std::array kThree{JobKind::kForward, JobKind::kBackwardInput,
                                JobKind::kBackwardWeight};
    constexpr std::array kTwo{JobKind::kForward, JobKind::kBackward};
    if (common.empty() || common.size() > kThree.size()) return {};
    GraphJobs found;
    std::vector<Pair> pairs;
    found.arePairs = common.size() == 1;
    if (found.arePairs && !haveMessages()) return {};
    for (const auto& [step, ofStep] : steps) {
      std::array<std::int32_t, kThree.size()> counts{};
      for (const Part& part : ofStep) {
        const auto place = std::find(common.begin(), common.end(), part.kind);
        if (place == common.end()) continue;
        const auto i = static_cast<std::size_t>(place - common.begin());
        if (found.arePairs) {
          pairs.push_back({part.stretch, step, counts[0]++});
          continue;
        }
        if (i > 0 && counts[i] >= counts[i - 1]) return {};
        add(part.stretch, common.size() == 2 ? kTwo[i] : kThree[i], step, counts[i]++, found);
      }
    }
    addPairs(pairs, found);
    std::stable_sort(found.jobs.begin(), found.jobs.end(),
                     [](const GraphJob& a, const GraphJob& b) { return a.begin < b.begin; });
    return found;
  }

  /// A forward, perhaps with its backward.
  struct Pair {
    Stretch stretch;
    std::int32_t step = 0;
    std::int32_t microBatch = 0;
  };

  void addPairs(const std::vector<Pair>& pairs, GraphJobs& found) const {
    std::vector<std::size_t> partings;
    for (const Pair& pair : pairs) {
      if (const auto parting = partingOf(pair.stretch)) partings.push_back(*parting);
    }
    const bool areParted = partings.size() == pairs.size();
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto& [both, step, microBatch] = pairs[i];
      const std::size_t end = areParted ? partings[i] : both.end;
      add({both.first, end}, JobKind::kForward, step, microBatch, found);
      if (areParted) add({end, both.end}, JobKind::kBackward, step, microBatch, found);
    }
  }

  void add(const Stretch& part, JobKind kind, std::int32_t step, std::int32_t microBatch,
           GraphJobs& found) const {
    GraphJob job{kernels_[part.first].begin, kernels_[part.first].end, kind, step, microBatch};
    for (std::size_t i = part.first; i < part.end; ++i) {
      job.begin = std::min(job.begin, kernels_[i].begin);
      job.end = std::max(job.end, kernels_[i].end);
    }
    found.jobs.push_back(job);
  }

  bool haveMessages() const {
    return std::any_of(kernels_.begin(), kernels_.end(),
                       [](const GraphKernel& kernel) { return kernel.isMessage; });
  }

  /// Where the backward of a forward and its backward begins, if the kernels tell.
  std::optional<std::size_t> partingOf(const Stretch& both) const {
    Times before;
    Times behind = timesOf(both);
    double all = 0;
    for (const auto& [symbol, time] : behind) all += time;
    double inCommon = 0;
    double least = all;
    double passed = 0;
    std::vector<double> passedAt;
    Stretch best;  // the places that have the least in common
    for (std::size_t i = both.first; i + 1 < both.end; ++i) {
      const auto time = static_cast<double>(kernels_[i].end - kernels_[i].begin);
      double& left = behind[symbols_[i]];
      double& gone = before[symbols_[i]];
      inCommon -= std::min(left, gone);
      left -= time;
      gone += time;
      inCommon += std::min(left, gone);
      passed += time;
      passedAt.push_back(passed);
      if (inCommon < least - 0.5) {
        least = inCommon;
        best = {i + 1, i + 1};
      } else if (inCommon < least + 0.5 && best.end == i) {
        best.end = i + 1;
      }
    }
    if (best.first == 0 || least > kMostInCommon * all) return {};
    const auto timeAt = [&](std::size_t place) { return passedAt[place - both.first - 1]; };
    if (timeAt(best.end) - timeAt(best.first) > kMostOfEither * all) return {};
    const double due = kUsualForward * all;
    std::size_t parting = best.first;
    for (std::size_t i = best.first; i <= best.end; ++i) {
      if (std::abs(timeAt(i) - due) < std::abs(timeAt(parting) - due)) parting = i;
    }
    const double part = timeAt(parting) / std::max(all, 1.0);
    if (part < kLeastForward || part > kMostForward) return {};
    return parting;
  }

  std::vector<GraphKernel> kernels_;
  std::vector<Stretch> stretches_;
  std::vector<std::int32_t> symbols_;  // of kernels_
};

}  // namespace

GraphJobs findGraphJobs(std::vector<GraphKernel> kernels) {
  return GraphJobFinder(std::move(kernels)).find();
}

}  // namespace pipetrace
