#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/run_summary.h"
#include "analysis/testing/meetings_by_hand.h"
#include "trace/nanoseconds.h"
#include "trace/track.h"

namespace pipetrace {

/// A pipeline whose stages several ranks share, 1F1B unless said otherwise, played by rules of its
/// own: a kernel or a collective of a job starts when the one before has ended, a collective ends a
/// fixed time after its last member came, or in a ring its neighbours, and a job begins when its
/// message has come. Ranks are numbered with tensor-parallel ones first, then replicas, then
/// stages. All times are whole nanoseconds.
class HybridRun {
 public:
  /// A kernel that computes.
  struct Kernel {
    int rank = 0;
    int stage = 0;
    int step = 0;
    int microBatch = 0;
    int layer = 0;
    bool isForward = true;
  };

  int stages = 2;
  int tensor = 2;
  int replicas = 1;
  int microBatches = 4;
  int steps = 3;
  int layers = 2;
  bool forwardsFirst = false;        ///< all of a step, as in GPipe, and not 1F1B
  bool ring = false;                 ///< tensor-parallel ranks meet their two neighbours only
  Nanoseconds layer = 5 * kNsPerMs;  ///< a forward's; a backward takes twice as long
  Nanoseconds moving = 300 * kNsPerUs;
  Nanoseconds message = 200 * kNsPerUs;
  Nanoseconds optimizer = 2 * kNsPerMs;
  Nanoseconds betweenSteps = 5 * kNsPerMs;
  /// So much sooner than the collective before ends, a kernel and a job seem to begin, as in traces
  /// with rounded times.
  Nanoseconds early = 0;
  bool sharesWeights = false;  ///< replicas gather before a job and scatter after it (FSDP)
  /// They gather during the job before, after its first layer, and scatter beside the next ones.
  /// The collectives of a group run one after the other.
  bool gathersAhead = false;
  std::function<Nanoseconds(const Kernel&, Nanoseconds)> kernel;  ///< its length, of the usual one
  std::function<Nanoseconds(int rank, Nanoseconds)> movingOf;     ///< of its group
  std::map<int, Nanoseconds> loaders;                             ///< before each step
  /// By rank and step, once timeline() was called.
  std::map<int, std::vector<Nanoseconds>> waits;
  std::vector<Nanoseconds> stepLengths;

  int rankCount() const { return stages * replicas * tensor; }
  int stageOf(int rank) const { return rank / (replicas * tensor); }

  /// The run, completed.
  Timeline timeline() {
    made_ = MeetingsByHand(0);
    ranks_.assign(static_cast<std::size_t>(rankCount()), {});
    waits.clear();
    stepLengths.clear();
    for (int rank = 0; rank < rankCount(); ++rank) addRank(rank);
    for (int step = 0; step < steps; ++step) play(step);
    made_.timeline.sort();
    Diagnostics diagnostics;
    completeTimeline(made_.timeline, diagnostics);
    return std::move(made_.timeline);
  }

 private:
  enum class What { kBegin, kCompute, kMeet, kStart, kAwait, kEnd, kOptimizer };
  struct Operation {
    What what = What::kCompute;
    bool isForward = true;
    int microBatch = 0;
    int layer = 0;
    JobKind kind = JobKind::kAllReduce;  // of a collective
  };
  struct Rank {
    Nanoseconds now = 0;
    std::vector<Operation> program;
    std::size_t next = 0;
    std::map<std::string, int> counts;       // of its collectives, by group
    std::map<JobKind, std::size_t> started;  // ahead: the last one in the queue of its group
  };
  /// A collective that ranks start ahead.
  struct Started {
    JobKind kind = JobKind::kAllGather;
    std::map<int, std::pair<Nanoseconds, std::int64_t>> come;  // by rank: when, and of which job
    std::map<int, Nanoseconds> ends;                           // once all have come
  };
  using Collective = std::pair<std::string, int>;
  using Message = std::tuple<int, int, bool, int>;  // from, to, forward, micro-batch

  void addRank(int rank) {
    RankInfo& info = made_.timeline.ranks[rank];
    info.rank = rank;
    info.host = "host";
    info.worldSize = rankCount();
    info.numStages = stages;
    info.dataParallelIndex = rank / tensor % replicas;
    info.tensorParallelIndex = rank % tensor;
  }

  std::vector<Operation> programOf(int stage) const {
    std::vector<Operation> program;
    bool isFirst = true;
    const auto addJob = [&](bool isForward, int microBatch, bool isLast) {
      const bool shares = sharesWeights && replicas > 1;
      const bool gathers = shares && !gathersAhead;
      const auto add = [&](What what, int at = 0, JobKind kind = JobKind::kAllReduce) {
        program.push_back({what, isForward, microBatch, at, kind});
      };
      add(What::kBegin);
      if (gathers) add(What::kMeet, 0, JobKind::kAllGather);
      if (shares && gathersAhead) {
        if (std::exchange(isFirst, false)) add(What::kStart, 0, JobKind::kAllGather);
        add(What::kAwait, 0, JobKind::kAllGather);
      }
      for (int at = 0; at < layers; ++at) {
        add(What::kCompute, at);
        const bool gathersNext = shares && gathersAhead && !isLast && at == 0;
        if (gathersNext) add(What::kStart, 0, JobKind::kAllGather);
        if (tensor > 1) add(What::kMeet, at);
      }
      if (gathers && !isForward) add(What::kMeet, 0, JobKind::kReduceScatter);
      add(What::kEnd);
      if (shares && gathersAhead && !isForward) add(What::kStart, 0, JobKind::kReduceScatter);
    };
    const int ahead = forwardsFirst ? microBatches : std::min(stages - 1 - stage, microBatches);
    int forwards = 0;
    for (; forwards < ahead; ++forwards) addJob(true, forwards, false);
    for (int backwards = 0; backwards < microBatches; ++backwards) {
      if (forwards < microBatches) addJob(true, forwards++, false);
      addJob(false, backwards, backwards + 1 == microBatches);
    }
    if (sharesWeights && replicas > 1 && gathersAhead) {
      program.push_back({.what = What::kAwait, .kind = JobKind::kReduceScatter});
    }
    program.push_back({.what = What::kOptimizer});
    return program;
  }

  std::vector<int> membersOf(int rank, JobKind kind) const {
    std::vector<int> members;
    for (int other = 0; other < rankCount(); ++other) {
      if (stageOf(other) != stageOf(rank)) continue;
      const bool isOfTensor = other / tensor == rank / tensor;
      const bool isReplica = other % tensor == rank % tensor;
      if (kind == JobKind::kAllReduce ? isOfTensor : isReplica) members.push_back(other);
    }
    return members;
  }

  static std::vector<int> neighboursOf(int rank, const std::vector<int>& members) {
    const auto at =
        static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
    const std::size_t count = members.size();
    return {members[(at + count - 1) % count], members[(at + 1) % count]};
  }

  static std::string textOf(const std::vector<int>& ranks) {
    std::string text;
    for (const int rank : ranks) text += (text.empty() ? "" : " ") + std::to_string(rank);
    return text;
  }

  void play(int step) {
    Nanoseconds begin = 0;
    for (const Rank& rank : ranks_) begin = std::max(begin, rank.now);
    if (step > 0) begin += betweenSteps;
    come_.clear();
    sent_.clear();
    queues_.clear();
    free_.clear();
    for (int r = 0; r < rankCount(); ++r) {
      Rank& rank = of(r);
      rank.now = begin;
      rank.program = programOf(stageOf(r));
      rank.next = 0;
      rank.started.clear();
      waits[r].push_back(0);
      if (const auto loader = loaders.find(r); loader != loaders.end()) {
        made_.job(r, begin, begin + loader->second, kNotGiven, step, JobKind::kData);
        rank.now += loader->second;
      }
    }
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (int r = 0; r < rankCount(); ++r) {
        while (of(r).next < of(r).program.size() && doNext(r, step)) goesOn = true;
      }
    }
    Nanoseconds end = 0;
    for (const Rank& rank : ranks_) end = std::max(end, rank.now);
    stepLengths.push_back(end - begin);
  }

  Rank& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  /// For a kernel or a job right after a collective, else 0.
  Nanoseconds earlyFor(const Rank& rank) const {
    std::size_t before = rank.next;
    while (before > 0 && rank.program[before - 1].what == What::kEnd) --before;
    return before > 0 && rank.program[before - 1].what == What::kMeet ? early : 0;
  }

  /// Whether it could.
  bool doNext(int r, int step) {
    Rank& rank = of(r);
    const Operation& next = rank.program[rank.next];
    const int beside = replicas * tensor;
    const int from = next.isForward ? r - beside : r + beside;
    const int to = next.isForward ? r + beside : r - beside;
    const auto isThere = [&](int other) { return other >= 0 && other < rankCount(); };
    switch (next.what) {
      case What::kBegin: {
        const Nanoseconds before = rank.now;
        if (isThere(from)) {
          const auto sent = sent_.find({from, r, next.isForward, next.microBatch});
          if (sent == sent_.end()) return false;
          rank.now = std::max(rank.now, sent->second);
        }
        const bool cameAtOnce = rank.now == before;
        const JobKind kind = next.isForward ? JobKind::kForward : JobKind::kBackward;
        const Nanoseconds begin = rank.now - (cameAtOnce ? earlyFor(rank) : 0);
        made_.job(r, begin, rank.now, next.microBatch, step, kind).stage = stageOf(r);
        if (isThere(from)) {
          const Nanoseconds end = sent_.at({from, r, next.isForward, next.microBatch});
          addMessage(r, from, false, end, next, step);
        }
        break;
      }
      case What::kCompute: {
        const Nanoseconds usual = next.isForward ? layer : 2 * layer;
        const Kernel what{r, stageOf(r), step, next.microBatch, next.layer, next.isForward};
        const Nanoseconds length = kernel ? kernel(what, usual) : usual;
        made_.kernel(r, rank.now - earlyFor(rank), rank.now + length);
        rank.now += length;
        break;
      }
      case What::kMeet: {
        const std::vector<int> members = membersOf(r, next.kind);
        const std::string group = textOf(members);
        const Collective key{group, rank.counts[group]};
        std::map<int, Nanoseconds>& come = come_[key];
        come.try_emplace(r, rank.now);
        const bool isRing = ring && next.kind == JobKind::kAllReduce;
        const std::vector<int> awaited = isRing ? neighboursOf(r, members) : members;
        Nanoseconds last = rank.now;
        for (const int member : awaited) {
          if (!come.contains(member)) return false;
          last = std::max(last, come.at(member));
        }
        const Nanoseconds end = last + (movingOf ? movingOf(r, moving) : moving);
        const bool isOfTensor = next.kind == JobKind::kAllReduce;
        const std::string partners = textOf(awaited);
        made_.meet(r, rank.now, end,
                   {.ranks = group,
                    .use = isOfTensor ? "tensor-parallel" : "data-parallel",
                    .partners = isRing ? partners : std::string_view(),
                    .sequence = rank.counts[group],
                    .bytes = 1024,
                    .kind = isRing ? JobKind::kAllToAll : next.kind});
        waits[r].back() += last - rank.now;
        ++rank.counts[group];
        rank.now = end;
        break;
      }
      case What::kStart: {
        std::vector<Started>& queue = queues_[textOf(membersOf(r, next.kind))];
        std::size_t& at = rank.started[JobKind::kDefault];  // of all kinds
        while (at < queue.size() && queue[at].come.contains(r)) ++at;
        if (at == queue.size()) queue.push_back({.kind = next.kind});
        queue[at].come[r] = {rank.now, made_.lastJobOf(r).job};
        rank.started[next.kind] = at;
        runQueue(queue, membersOf(r, next.kind));
        break;
      }
      case What::kAwait: {
        const auto& ends = queues_[textOf(membersOf(r, next.kind))][rank.started[next.kind]].ends;
        const auto end = ends.find(r);
        if (end == ends.end()) return false;
        rank.now = std::max(rank.now, end->second);
        break;
      }
      case What::kEnd: {
        made_.lastJobOf(r).end = rank.now;
        if (isThere(to)) {
          sent_[{r, to, next.isForward, next.microBatch}] = rank.now + message;
          addMessage(r, to, true, rank.now + message, next, step);
        }
        break;
      }
      case What::kOptimizer: {
        Event& event =
            made_.job(r, rank.now, rank.now + optimizer, kNotGiven, step, JobKind::kOptimizer);
        event.stage = kNotGiven;
        rank.now += optimizer;
        break;
      }
    }
    ++rank.next;
    return true;
  }

  /// Runs those that all members have started. Each has its turn on a rank after the one before.
  void runQueue(std::vector<Started>& queue, const std::vector<int>& members) {
    for (Started& each : queue) {
      if (!each.ends.empty()) continue;
      if (each.come.size() < members.size()) return;
      const std::string group = textOf(members);
      Nanoseconds last = 0;
      for (const auto& [member, come] : each.come) {
        last = std::max({last, come.first, free_[{group, member}]});
      }
      for (const auto& [member, come] : each.come) {
        Nanoseconds& free = free_[{group, member}];
        const Nanoseconds end = last + (movingOf ? movingOf(member, moving) : moving);
        made_.meet(member, std::max(come.first, free), end,
                   {.ranks = group,
                    .use = "data-parallel",
                    .sequence = of(member).counts[group]++,
                    .bytes = 1024,
                    .kind = each.kind},
                   come.second);
        each.ends[member] = free = end;
      }
    }
  }

  void addMessage(int rank, int peer, bool sends, Nanoseconds end, const Operation& job, int step) {
    const JobKind kind = sends ? job.isForward ? JobKind::kSendForward : JobKind::kSendBackward
                         : job.isForward ? JobKind::kRecvForward
                                         : JobKind::kRecvBackward;
    const std::int64_t id = made_.lastJobOf(rank).job;
    Event& event = made_.add(rank, kind, end - message, end, step, job.microBatch,
                             sends ? kSendLane : kRecvLane);
    event.stage = stageOf(rank);
    event.peer = peer;
    event.job = id;
  }

  MeetingsByHand made_{0};
  std::vector<Rank> ranks_;
  std::map<Collective, std::map<int, Nanoseconds>> come_;    // by rank
  std::map<Message, Nanoseconds> sent_;                      // when it is there
  std::map<std::string, std::vector<Started>> queues_;       // by group
  std::map<std::pair<std::string, int>, Nanoseconds> free_;  // a rank's group
};

}  // namespace pipetrace
