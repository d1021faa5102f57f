#include "analysis/causes/culprits.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analysis/median.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// Numbers the jobs, collectives and ends of messages on lines that are alike in every step, such
/// as forward 5 of stage 2.
/// Those are of one rank, and have the same kind, stage, micro-batch and part. Numbers count from
/// 0, rank after rank. Several threads may use it.
class AlikeJobs {
 public:
  using Number = std::uint32_t;

  explicit AlikeJobs(const JobGraph& graph, int threads = 1);

  std::size_t count() const { return firsts_.size(); }
  /// `node` must not be a message.
  Number of(Id node) const { return numbers_[node < jobs_ ? node : node - collectives_ + jobs_]; }
  /// `end`: that of a message on a line (JobGraph::LineEnd).
  Number ofEnd(Id end) const { return endNumbers_[end]; }
  /// An end with that number; kNone: it is of jobs or collectives.
  Id endOf(Number number) const {
    return number < firstEnd_ ? JobGraph::kNone : ends_[number - firstEnd_];
  }
  /// The rank of the jobs with that number, as an index in JobGraph::ranks().
  std::uint32_t rankOf(Number number) const { return firsts_[number].rank; }
  /// The stage of these; kNotGiven: they name none.
  std::int32_t stageOf(Number number) const { return firsts_[number].stage; }
  bool areFusedPairs(Number number) const {
    return static_cast<JobKind>(whatOf(number) >> kKindShift) == JobKind::kForwardBackward;
  }
  /// A word that says what they are. It is the same on all ranks; words have the order of kind,
  /// stage, micro-batch and part.
  std::uint64_t whatOf(Number number) const { return firsts_[number].what; }

 private:
  static constexpr unsigned kKindShift = 56;
  static std::uint64_t whatOf(const JobGraph::Node& node);
  void numberEnds(const JobGraph& graph);

  struct First {
    std::uint64_t what = 0;
    std::uint32_t rank = 0;
    std::int32_t stage = kNotGiven;
  };

  Id jobs_ = 0;
  Id collectives_ = 0;           // where they begin
  std::vector<Number> numbers_;  // of jobs, then of collectives
  std::vector<First> firsts_;    // by number
  std::vector<Number> endNumbers_;
  Number firstEnd_ = 0;
  std::vector<Id> ends_;  // one of each number from firstEnd_ on
};

std::uint64_t AlikeJobs::whatOf(const JobGraph::Node& node) {
  constexpr std::uint64_t kNumbers = (std::uint64_t{1} << 24U) - 1;
  constexpr std::uint64_t kParts = (std::uint64_t{1} << 8U) - 1;
  const int part = node.isMessage ? 0 : node.event->part + 1;
  return (static_cast<std::uint64_t>(node.kind) << kKindShift) |
         ((static_cast<std::uint32_t>(node.stage) & kNumbers) << 32U) |
         ((static_cast<std::uint32_t>(node.microBatch) & kNumbers) << 8U) |
         (static_cast<std::uint32_t>(part) & kParts);
}

AlikeJobs::AlikeJobs(const JobGraph& graph, int threads)
    : jobs_(static_cast<Id>(graph.jobCount())),
      collectives_(static_cast<Id>(graph.messageEnd())),
      numbers_(jobs_ + (graph.nodes().size() - graph.messageEnd())) {
  std::vector<std::vector<First>> ofRanks(graph.ranks().size());
  const auto visit = [&](std::size_t r, const auto& number) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    for (Id id = rank.first; id < rank.end; ++id) number(id, numbers_[id]);
    for (Id id = rank.firstCollective; id < rank.endOfCollectives; ++id) {
      number(id, numbers_[id - collectives_ + jobs_]);
    }
  };
  inParallel(threads, ofRanks.size(), [&](std::size_t r) {
    std::vector<First>& firsts = ofRanks[r];
    std::unordered_map<std::uint64_t, Number> known;
    std::vector<Number> next;  // the job that came after each of them the last time
    Number latest = 0;
    visit(r, [&](Id id, Number& number) {
      const JobGraph::Node& node = graph.node(id);
      const std::uint64_t what = whatOf(node);
      // Most steps have the order of the step before.
      if (!next.empty() && firsts[next[latest]].what == what) {
        number = next[latest];
      } else {
        const auto [found, isNew] = known.try_emplace(what, static_cast<Number>(firsts.size()));
        number = found->second;
        if (isNew) {
          firsts.push_back({what, static_cast<std::uint32_t>(r), node.stage});
          next.push_back(0);
        }
        next[latest] = number;
      }
      latest = number;
    });
  });
  std::vector<Number> offsets;
  for (const std::vector<First>& firsts : ofRanks) {
    offsets.push_back(static_cast<Number>(firsts_.size()));
    firsts_.insert(firsts_.end(), firsts.begin(), firsts.end());
  }
  inParallel(threads, ofRanks.size(),
             [&](std::size_t r) { visit(r, [&](Id, Number& number) { number += offsets[r]; }); });
  firstEnd_ = static_cast<Number>(firsts_.size());
  if (graph.hasLines()) numberEnds(graph);
}

void AlikeJobs::numberEnds(const JobGraph& graph) {
  std::vector<std::unordered_map<std::uint64_t, Number>> known(graph.ranks().size());
  endNumbers_.resize(2 * (graph.messageEnd() - graph.jobCount()));
  for (Id end = 0; end < endNumbers_.size(); ++end) {
    const JobGraph::LineEnd& place = graph.lineEnd(end);
    if (!place.isOnLine) continue;
    JobGraph::Node node = graph.node(graph.messageOf(end));
    node.kind = graph.eventOf(end).kind;
    node.stage = graph.eventOf(end).stage;
    const std::uint64_t what = whatOf(node);
    const auto [found, isNew] =
        known[place.rank].try_emplace(what, static_cast<Number>(firsts_.size()));
    endNumbers_[end] = found->second;
    if (!isNew) continue;
    firsts_.push_back({what, place.rank, node.stage});
    ends_.push_back(end);
  }
}

/// Idle time by rank, by stage, or by what jobs are, over all steps.
using Shares = std::unordered_map<std::uint64_t, Nanoseconds>;

/// A group whose largest rank and job are not known yet.
struct Collecting {
  CulpritGroup group;
  std::map<AlikeJobs::Number, Nanoseconds> jobs;
  std::pair<std::uint64_t, Nanoseconds> most;  // what most of it is, over all ranks
};

/// Class, a stage, a rank, or the two ranks of a link, and whether it is of outliers. Late messages
/// of a rank and its loading of data have these in place of a second rank.
using Key = std::tuple<BubbleClass, int, int, bool>;
constexpr int kLateMessages = -2;
constexpr int kLateData = -3;

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
    const std::uint64_t ranks = (word(std::get<1>(key)) << 32U) ^ word(std::get<2>(key));
    return (ranks * 0x9e3779b97f4a7c15U) ^ (2 * word(std::get<0>(key)) + word(std::get<3>(key)));
  }
};
using Groups = std::unordered_map<Key, Collecting, KeyHash>;

std::pair<std::uint64_t, Nanoseconds> largest(const Shares& shares) {
  return *std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first > b.first;
  });
}

Key keyOf(const JobGraph& graph, const Bubble& bubble, std::int32_t stage, bool isOutlier) {
  const int rank = graph.ranks()[culpritRankOf(graph, bubble)].number;
  switch (rowOf(bubble.bubbleClass).blame) {
    case BubbleBlame::kStage: return {bubble.bubbleClass, stage, -1, isOutlier};
    case BubbleBlame::kLink: {
      const auto [from, to] = linkOf(graph, bubble);
      return {bubble.bubbleClass, std::min(from, to), std::max(from, to), isOutlier};
    }
    default: {
      const bool isMessage = lateMessageOf(graph, bubble) != JobGraph::kNone;
      const bool isData = loadsData(graph.node(bubble.culprit).kind);
      const int what = isMessage ? kLateMessages : isData ? kLateData : -1;
      return {bubble.bubbleClass, rank, what, isOutlier};
    }
  }
}

void addExample(CulpritGroup& group, std::uint32_t rank, const Bubble& bubble) {
  const auto length = [](const auto& example) { return example.second.end - example.second.begin; };
  auto& examples = group.examples;
  if (examples.size() == kMostExamples && bubble.end - bubble.begin <= length(examples.back()))
    return;
  if (examples.size() == kMostExamples) examples.pop_back();
  examples.emplace_back(rank, bubble);
  std::stable_sort(examples.begin(), examples.end(),
                   [&](const auto& a, const auto& b) { return length(a) > length(b); });
}

/// A hash table of sums of times, for the many bubbles of long runs.
class Sums {
 public:
  struct Entry {
    std::uint64_t key = kFree;
    Nanoseconds time = 0;
    std::uint32_t group = 0;  ///< the caller's
  };

  /// The entry of a key, and whether it is new. Valid until the next call.
  std::pair<Entry*, bool> of(std::uint64_t key) {
    if (2 * (used_ + 1) > entries_.size()) grow();
    Entry* const entry = find(key);
    const bool isNew = entry->key == kFree;
    if (isNew) {
      entry->key = key;
      ++used_;
    }
    return {entry, isNew};
  }
  template <typename Visit>
  void visit(const Visit& visit) const {
    for (const Entry& entry : entries_) {
      if (entry.key != kFree) visit(entry);
    }
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  Entry* find(std::uint64_t key) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = (key * 0x9e3779b97f4a7c15U) >> 20U & mask;
    while (entries_[at].key != kFree && entries_[at].key != key) at = (at + 1) & mask;
    return &entries_[at];
  }
  void grow() {
    const std::vector<Entry> entries = std::move(entries_);
    entries_.assign(std::max<std::size_t>(64, 2 * entries.size()), Entry{});
    for (const Entry& entry : entries) {
      if (entry.key != kFree) *find(entry.key) = entry;
    }
  }

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
};

/// The bubbles that one rank waits in.
class RankCulprits {
 public:
  RankCulprits(const JobGraph& graph, const AlikeJobs& alike, const SlowerStages& stages,
               const Outliers& outliers, const CountedSteps& counted,
               const std::vector<Bubble>& bubbles, std::uint32_t rank)
      : graph_(graph),
        alike_(alike),
        stages_(stages),
        outliers_(outliers),
        counted_(counted),
        bubbles_(bubbles),
        rank_(rank) {}

  /// Index in JobGraph::ranks().
  std::uint32_t number() const { return rank_; }
  /// Whether they are what jobs waited inside.
  bool areInside() const { return !bubbles_.empty() && bubbles_.front().isInside; }

  /// Adds one of several parts, which follow each other in time.
  void collect(std::size_t part, std::size_t parts) {
    const std::size_t end = (part + 1) * bubbles_.size() / parts;
    for (std::size_t i = part * bubbles_.size() / parts; i < end; ++i) {
      const Bubble& bubble = bubbles_[i];
      if (i + kAhead < end) fetch(bubbles_[i + kAhead]);
      if (bubble.culprit == JobGraph::kNone || !counted_.contains(bubble.step)) continue;
      const Id outlier = outliers_.of(bubble);
      const auto [entry, isNew] = sums_.of(sumOf(bubble, outlier != JobGraph::kNone));
      entry->time += bubble.end - bubble.begin;
      if (rowOf(bubble.bubbleClass).blame == BubbleBlame::kNobody) continue;
      if (isNew) entry->group = groupOf(bubble, outlier != JobGraph::kNone);
      CulpritGroup& group = groups_[entry->group].second;
      addExample(group, rank_, bubble);
      if (outlier != JobGraph::kNone) group.outliers.push_back(outlier);
    }
  }

  /// Adds what was collected. `byRank`: by the culprit's rank.
  void addTo(std::map<Key, Collecting>& groups, std::map<std::uint32_t, Nanoseconds>& byRank) {
    for (const auto& [key, group] : groups_) {
      Collecting& sum = groups[key];
      sum.group.bubbleClass = group.bubbleClass;
      for (const auto& [rank, bubble] : group.examples) addExample(sum.group, rank, bubble);
      sum.group.outliers.insert(sum.group.outliers.end(), group.outliers.begin(),
                                group.outliers.end());
    }
    sums_.visit([&](const Sums::Entry& entry) {
      const auto job = static_cast<AlikeJobs::Number>(entry.key);
      byRank[alike_.rankOf(job)] += entry.time;
      if (rowOf(static_cast<BubbleClass>(entry.key >> kClassShift)).blame == BubbleBlame::kNobody)
        return;
      Collecting& sum = groups[groups_[entry.group].first];
      sum.group.time += entry.time;
      if (areInside()) sum.group.inside += entry.time;
      sum.jobs[job] += entry.time;
    });
    sums_ = {};
  }

  using Single = std::pair<Id, Nanoseconds>;
  using Singles = std::unordered_map<Key, std::vector<Single>, KeyHash>;
  /// The jobs that are what each group has most of, each several times. `candidates`: by number of
  /// alike jobs, whether they may be ones.
  Singles singles(const std::vector<char>& candidates,
                  const std::unordered_map<Key, std::uint64_t, KeyHash>& most) const {
    Singles found;
    for (const Bubble& bubble : bubbles_) {
      const Id job = bubble.culprit;
      if (job == JobGraph::kNone || rowOf(bubble.bubbleClass).blame == BubbleBlame::kNobody)
        continue;
      const AlikeJobs::Number number = alikeOf(bubble);
      if (candidates[number] == 0 || !counted_.contains(bubble.step)) continue;
      const Key key = keyOf(bubble, outliers_.of(bubble) != JobGraph::kNone);
      if (most.at(key) != alike_.whatOf(number)) continue;
      found[key].emplace_back(job, bubble.end - bubble.begin);
    }
    return found;
  }

 private:
  /// Culprits are all over the graph: it takes long until the memory gives them.
  static constexpr std::size_t kAhead = 16;
  void fetch(const Bubble& bubble) const {
    if (bubble.culprit != JobGraph::kNone) __builtin_prefetch(&graph_.node(bubble.culprit));
  }

  static constexpr unsigned kClassShift = 60;
  static_assert(kBubbleClassCount < 16, "a class has four bits");
  static constexpr unsigned kOutlierShift = 59;
  static constexpr unsigned kPeerShift = 32;

  AlikeJobs::Number alikeOf(const Bubble& bubble) const {
    return bubble.bubbleClass == BubbleClass::kBlocked ? alike_.ofEnd(frontEndOf(graph_, bubble))
                                                       : alike_.of(bubble.culprit);
  }

  /// Class, whether it is of an outlier, who is to blame beside the job, job. All bubbles with one
  /// number are of one group.
  std::uint64_t sumOf(const Bubble& bubble, bool isOutlier) const {
    const AlikeJobs::Number number = alikeOf(bubble);
    std::uint64_t other = 0;
    const BubbleBlame blame = rowOf(bubble.bubbleClass).blame;
    if (blame == BubbleBlame::kLink && bubble.cause != JobGraph::kNone) {
      other = std::uint64_t{graph_.node(bubble.cause).rank} + 1;
    } else if (blame == BubbleBlame::kStage && alike_.areFusedPairs(number)) {
      // Pairs that are alike by their forward may have different backwards.
      other = static_cast<std::uint32_t>(stages_.toBlame(bubble.culprit)) & 0xffffffU;
    } else if (lateMessageOf(graph_, bubble) != JobGraph::kNone) {
      other = 1;
    }
    return (static_cast<std::uint64_t>(bubble.bubbleClass) << kClassShift) |
           (std::uint64_t{isOutlier} << kOutlierShift) | (other << kPeerShift) | number;
  }

  std::uint32_t groupOf(const Bubble& bubble, bool isOutlier) {
    const auto next = static_cast<std::uint32_t>(groups_.size());
    const auto [found, isNew] = known_.try_emplace(keyOf(bubble, isOutlier), next);
    if (isNew) groups_.push_back({found->first, {.bubbleClass = bubble.bubbleClass}});
    return found->second;
  }

  Key keyOf(const Bubble& bubble, bool isOutlier) const {
    const bool isOfStage = rowOf(bubble.bubbleClass).blame == BubbleBlame::kStage;
    return pipetrace::keyOf(graph_, bubble, isOfStage ? stages_.toBlame(bubble.culprit) : kNotGiven,
                            isOutlier);
  }

  const JobGraph& graph_;
  const AlikeJobs& alike_;
  const SlowerStages& stages_;
  const Outliers& outliers_;
  const CountedSteps& counted_;
  const std::vector<Bubble>& bubbles_;
  std::uint32_t rank_;
  Sums sums_;
  std::unordered_map<Key, std::uint32_t, KeyHash> known_;
  std::vector<std::pair<Key, CulpritGroup>> groups_;
};

/// Finds the job with most of a group among those that are alike in every step.
void findJob(CulpritGroup& group, std::vector<RankCulprits::Single>& singles) {
  std::sort(singles.begin(), singles.end());
  for (std::size_t i = 0; i < singles.size();) {
    const Id job = singles[i].first;
    Nanoseconds time = 0;
    for (; i < singles.size() && singles[i].first == job; ++i) time += singles[i].second;
    if (time <= group.timeOfStep) continue;
    group.timeOfStep = time;
    group.job = job;
  }
}

CulpritGroup finished(const JobGraph& graph, const AlikeJobs& alike, const Key& key,
                      Collecting& collecting) {
  CulpritGroup group = std::move(collecting.group);
  Shares ranks;
  std::set<std::int32_t> stages;
  for (const auto& [job, time] : collecting.jobs) {
    ranks[alike.rankOf(job)] += time;
    if (alike.stageOf(job) >= 0) stages.insert(alike.stageOf(job));
  }
  group.rank = graph.ranks()[static_cast<std::size_t>(largest(ranks).first)].number;
  if (stages.size() == 1) group.stage = *stages.begin();
  const BubbleBlame blame = rowOf(group.bubbleClass).blame;
  if (blame == BubbleBlame::kStage) group.stage = std::get<1>(key);
  group.timeOfJob = collecting.most.second;
  group.step = graph.node(group.job).step;
  if (blame == BubbleBlame::kLink) {
    group.rank = std::get<1>(key);
    group.peer = std::get<2>(key);
  }
  if (group.bubbleClass == BubbleClass::kBlocked) {
    const JobGraph::LineEnd& sent = graph.lineEnd(graph.sendOf(group.job));
    group.isAtSender = sent.isOnLine && graph.ranks()[sent.rank].number == group.rank;
    for (const auto& [job, time] : collecting.jobs) {
      group.fronts.emplace_back(time, alike.endOf(job));
    }
    std::sort(group.fronts.begin(), group.fronts.end(), std::greater<>());
  }
  for (const auto& [rank, bubble] : group.examples) {
    const bool isBetter = group.lateMessage == JobGraph::kNone || bubble.culprit == group.job;
    if (isBetter) group.lateMessage = lateMessageOf(graph, bubble);
    if (bubble.culprit == group.job) break;
  }
  std::sort(group.outliers.begin(), group.outliers.end());
  group.outliers.erase(std::unique(group.outliers.begin(), group.outliers.end()),
                       group.outliers.end());
  return group;
}

}  // namespace

JobGraph::Id Outliers::of(const Bubble& bubble) const {
  const bool isTransfer = bubble.bubbleClass == BubbleClass::kTransfer;
  const bool isPeerWait = bubble.bubbleClass == BubbleClass::kPeerWait;
  const bool mayBePause = isPeerWait || bubble.bubbleClass == BubbleClass::kLateStart;
  if (mayBePause && pauses_.contains(bubble.culprit)) return bubble.culprit;
  const Id late = lateMessageOf(graph_, bubble);
  if (late != JobGraph::kNone && isSentLate(late)) return late;
  if (!isTransfer && !isPeerWait) return JobGraph::kNone;
  const Id id = isTransfer ? bubble.cause : bubble.culprit;
  if (id == JobGraph::kNone) return id;
  const JobGraph::Node& node = graph_.node(id);
  const Nanoseconds length = isTransfer ? node.end - node.begin : graph_.lengthOf(id);
  if (length <= least_ || node.isMessage != isTransfer || node.isCollective) return JobGraph::kNone;
  Nanoseconds usual = 0;
  if (isTransfer) {
    const auto [from, to] = linkOf(graph_, bubble);
    usual = links_.of({std::min(from, to), std::max(from, to)});
  } else {
    usual = times_.median(id);
  }
  return usual > 0 && length / kManyTimes >= usual ? id : JobGraph::kNone;
}

bool Outliers::isSentLate(Id message) const {
  const JobGraph::Node& node = graph_.node(message);
  const Id maker = node.inputs[0];
  if (maker == JobGraph::kNone || !isPostedBySender(graph_, message)) return false;
  if (graph_.isOnLine(message)) return false;  // it may wait for those in front
  const Nanoseconds delay = node.begin - graph_.node(maker).end;
  if (delay <= least_) return false;
  std::call_once(areDelaysFound_, [&] { findUsualDelays(); });
  return delay / kManyTimes >= usualDelays_[graph_.node(maker).rank];
}

/// How long after the jobs that made their data the messages of a rank begin, in the median.
void Outliers::findUsualDelays() const {
  std::vector<std::vector<Nanoseconds>> delays(graph_.ranks().size());
  for (std::size_t id = graph_.jobCount(); id < graph_.messageEnd(); ++id) {
    const JobGraph::Node& node = graph_.node(static_cast<Id>(id));
    if (node.inputs[0] == JobGraph::kNone) continue;
    const JobGraph::Node& maker = graph_.node(node.inputs[0]);
    delays[maker.rank].push_back(std::max<Nanoseconds>(0, node.begin - maker.end));
  }
  for (std::vector<Nanoseconds>& ofRank : delays) {
    usualDelays_.push_back(medianOf(ofRank));
  }
}

std::pair<int, int> linkOf(const JobGraph& graph, const Bubble& transfer) {
  const Id sender = transfer.culprit;
  const auto numberOf = [&](Id node) { return graph.ranks()[graph.node(node).rank].number; };
  return {sender == JobGraph::kNone ? -1 : numberOf(sender),
          transfer.cause == JobGraph::kNone ? -1 : numberOf(transfer.cause)};
}

Culprits culpritsOf(const JobGraph& graph, const Bubbles& bubbles, const SlowerStages& stages,
                    const Outliers& outliers, const CountedSteps& counted, int threads) {
  const AlikeJobs alike(graph, threads);
  std::vector<RankCulprits> ranks;
  ranks.reserve(bubbles.byRank.size());
  for (std::uint32_t rank = 0; rank < bubbles.byRank.size(); ++rank) {
    ranks.emplace_back(graph, alike, stages, outliers, counted, bubbles.byRank[rank], rank);
  }
  for (std::uint32_t rank = 0; rank < bubbles.inside.size(); ++rank) {
    if (bubbles.inside[rank].empty()) continue;
    ranks.emplace_back(graph, alike, stages, outliers, counted, bubbles.inside[rank], rank);
  }
  // Jobs of a few steps at once stay in the processor's caches.
  constexpr std::size_t kJobsAtOnce = 8192;
  const std::size_t parts =
      1 + graph.jobCount() / (kJobsAtOnce * std::max<std::size_t>(1, graph.pipelines().size()));
  for (std::size_t part = 0; part < parts; ++part) {
    inParallel(threads, ranks.size(), [&](std::size_t r) { ranks[r].collect(part, parts); });
  }
  Culprits culprits;
  std::map<Key, Collecting> groups;
  for (RankCulprits& rank : ranks) {
    std::map<std::uint32_t, Nanoseconds> byRank;
    rank.addTo(groups, byRank);
    for (const auto& [culprit, time] : byRank) culprits.byRanks[{rank.number(), culprit}] += time;
  }
  std::unordered_map<Key, std::uint64_t, KeyHash> most;
  std::unordered_set<std::uint64_t> kinds;
  for (auto& [key, collecting] : groups) {
    Shares ofAllRanks;
    for (const auto& [job, time] : collecting.jobs) ofAllRanks[alike.whatOf(job)] += time;
    collecting.most = largest(ofAllRanks);
    most[key] = collecting.most.first;
    kinds.insert(collecting.most.first);
  }
  std::vector<char> candidates(alike.count());
  for (AlikeJobs::Number job = 0; job < candidates.size(); ++job) {
    candidates[job] = kinds.contains(alike.whatOf(job)) ? 1 : 0;
  }
  std::vector<RankCulprits::Singles> found(ranks.size());
  inParallel(threads, ranks.size(),
             [&](std::size_t r) { found[r] = ranks[r].singles(candidates, most); });
  RankCulprits::Singles singles;
  for (RankCulprits::Singles& ofRank : found) {
    for (const auto& [key, list] : ofRank) {
      std::vector<RankCulprits::Single>& all = singles[key];
      all.insert(all.end(), list.begin(), list.end());
    }
    ofRank = {};
  }
  for (auto& [key, collecting] : groups) {
    findJob(collecting.group, singles[key]);
    culprits.groups.push_back(finished(graph, alike, key, collecting));
  }
  std::stable_sort(culprits.groups.begin(), culprits.groups.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return culprits;
}

const CulpritGroup* groupOf(const JobGraph& graph, const Culprits& culprits, const Bubble& bubble) {
  if (bubble.culprit == JobGraph::kNone) return nullptr;
  const JobGraph::Node& culprit = graph.node(bubble.culprit);
  const Key key = keyOf(graph, bubble, culprit.stage, false);
  const CulpritGroup* found = nullptr;
  for (const CulpritGroup& group : culprits.groups) {
    const BubbleBlame blame = rowOf(group.bubbleClass).blame;
    const int first = blame == BubbleBlame::kStage ? group.stage : group.rank;
    int second = -1;
    if (blame == BubbleBlame::kLink) {
      second = group.peer;
    } else if (group.lateMessage != JobGraph::kNone) {
      second = kLateMessages;
    } else if (blame == BubbleBlame::kRank && loadsData(graph.node(group.job).kind)) {
      second = kLateData;
    }
    if (Key{group.bubbleClass, first, second, false} != key) continue;
    const auto has = [&](Id id) {
      return std::binary_search(group.outliers.begin(), group.outliers.end(), id);
    };
    if (has(bubble.cause) || has(bubble.culprit)) return &group;
    if (group.outliers.empty()) found = &group;
  }
  return found;
}

}  // namespace pipetrace
