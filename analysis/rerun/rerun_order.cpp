#include "analysis/rerun/rerun_order.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace pipetrace {

RerunOrder::Operation RerunOrder::operationOf(const RunWork& runWork, RunWork::Id id) {
  return {.measured = runWork.measured(id),
          .ideal = runWork.ideal(id),
          .id = id,
          .rank = runWork.rankOf(id),
          .stage = runWork.stageOf(id),
          .set = runWork.setOf(id)};
}

RerunOrder::RerunOrder(const JobGraph& graph, const RunWork& runWork, std::size_t first,
                       std::size_t end, const RerunRules& rules)
    : firstStep_(first) {
  const bool areInLine = rules.messages == RerunRules::Messages::kInLine && graph.hasLines();
  messagesAreOperations_ = rules.keepsLaunches || areInLine;
  for (std::size_t step = first; step < end; ++step) {
    firstOfStep_.push_back(static_cast<Index>(operations_.size()));
    addOperations(runWork, step);
  }
  firstOfStep_.push_back(static_cast<Index>(operations_.size()));
  if (messagesAreOperations_) addMessages(graph, runWork);
  addWaits(graph, runWork);
  if (messagesAreOperations_) addWaitsOfMessages(graph, runWork, areInLine);
  firstWait_.push_back(static_cast<Index>(waits_.size()));
  if (rules.keepsLaunches) addWaitsForLaunches(graph, runWork, areInLine);
  groupOperations(runWork);
  order([&](Index work) { return runWork.beginOf(operations_[work].id); });
  leaveOutContradictions();
  if (rules.keepsLaunches) {
    findLaunches(runWork);
  } else {
    findCoupled(graph);
  }
}

RerunOrder::RerunOrder(const JobGraph& graph, const StepJobs& jobs, const MedianDurations& times,
                       std::size_t step) {
  const std::span<const JobGraph::Id> ofStep = jobs.jobs(step);
  operations_.reserve(ofStep.size());
  for (const JobGraph::Id job : ofStep) {
    operations_.push_back({.measured = static_cast<double>(times.median(job)),
                           .ideal = static_cast<double>(times.balanced(job)),
                           .id = job,
                           .rank = graph.node(job).rank});
  }
  // The jobs of a rank stand together, and ascend by their numbers.
  const auto indexOf = [&](JobGraph::Id job) {
    const std::span<const JobGraph::Id> ofRank =
        jobs.jobs(step, static_cast<std::size_t>(graph.ranks()[graph.node(job).rank].position));
    const auto found = std::lower_bound(ofRank.begin(), ofRank.end(), job);
    return static_cast<Index>(&*found - ofStep.data());
  };
  const std::int32_t number = jobs.steps()[step];
  firstWait_.reserve(ofStep.size() + 1);
  waits_.reserve(2 * ofStep.size());
  for (std::size_t position = 0; position < jobs.rankCount(); ++position) {
    const std::span<const JobGraph::Id> ofRank = jobs.jobs(step, position);
    for (const JobGraph::Id& job : ofRank) {
      const auto index = static_cast<Index>(&job - ofStep.data());
      firstWait_.push_back(static_cast<Index>(waits_.size()));
      if (&job != ofRank.data()) waits_.push_back({.source = index - 1});
      for (int i = 0; i < 2; ++i) {
        const JobGraph::Id producer = graph.producer(job, i);
        if (producer == JobGraph::kNone || jobs.stepOf(producer) != number) continue;
        waits_.push_back({.source = indexOf(producer)});
      }
    }
    if (!ofRank.empty()) lastJobs_.push_back(static_cast<Index>(&ofRank.back() - ofStep.data()));
  }
  firstWait_.push_back(static_cast<Index>(waits_.size()));
  groupOf_.resize(operations_.size());
  std::iota(groupOf_.begin(), groupOf_.end(), Index{0});
  groups_.resize(operations_.size());
  order([&](Index work) { return graph.node(operations_[work].id).event->begin; });
  leaveOutContradictions();
  isCoupled_.assign(operations_.size(), 0);
}

/// kNone for operations of other steps.
RerunOrder::Index RerunOrder::indexOf(const RunWork& runWork, RunWork::Id work) const {
  const std::size_t step = runWork.stepIndexOf(work);
  if (step < firstStep_ || step - firstStep_ + 1 >= firstOfStep_.size()) return kNone;
  return firstOfStep_[step - firstStep_] + runWork.indexInStep(work);
}

void RerunOrder::addOperations(const RunWork& runWork, std::size_t step) {
  std::size_t count = operations_.size();
  for (std::size_t r = 0; r < runWork.rankCount(); ++r) {
    count += runWork.chain(step, r).size() + runWork.collectives(step, r).size();
  }
  operations_.reserve(count);
  for (std::size_t r = 0; r < runWork.rankCount(); ++r) {
    runWork.fetch(step, r);
    for (const RunWork::Id work : runWork.chain(step, r))
      operations_.push_back(operationOf(runWork, work));
    for (const RunWork::Collective& each : runWork.collectives(step, r)) {
      if (!each.isChained) operations_.push_back(operationOf(runWork, runWork.idOf(each)));
    }
  }
}

/// The messages for these steps, as operations.
void RerunOrder::addMessages(const JobGraph& graph, const RunWork& runWork) {
  const auto first = static_cast<RunWork::Id>(graph.jobCount());
  const auto end = static_cast<RunWork::Id>(graph.messageEnd());
  messageIndex_.assign(end - first, kNone);
  messageGates_.assign(end - first, kNone);
  const std::size_t steps = firstOfStep_.size() - 1;
  for (RunWork::Id id = first; id < end; ++id) {
    const std::size_t step = runWork.stepIndexOf(id);
    if (step < firstStep_ || step - firstStep_ >= steps) continue;
    messageIndex_[id - first] = static_cast<Index>(operations_.size());
    operations_.push_back(operationOf(runWork, id));
  }
}

void RerunOrder::addWaits(const JobGraph& graph, const RunWork& runWork) {
  waits_.reserve(2 * operations_.size());
  firstWait_.reserve(operations_.size() + 1);
  std::vector<Index> latest(runWork.rankCount(), kNone);  // in the chain of each rank
  for (std::size_t step = firstStep_; step - firstStep_ + 1 < firstOfStep_.size(); ++step) {
    addWaitsOfStep(graph, runWork, step, latest);
  }
  for (const Index last : latest) {
    if (last != kNone) lastJobs_.push_back(last);
  }
}

void RerunOrder::addWaitsOfStep(const JobGraph& graph, const RunWork& runWork, std::size_t step,
                                std::vector<Index>& latest) {
  for (std::size_t r = 0; r < runWork.rankCount(); ++r) {
    const auto free = runWork.collectives(step, r);
    RunWork::Id latestOf[2] = {RunWork::kNone, RunWork::kNone};  // backward, forward
    for (const RunWork::Id work : runWork.chain(step, r)) {
      firstWait_.push_back(static_cast<Index>(waits_.size()));
      if (latest[r] != kNone) waits_.push_back({.source = latest[r]});
      latest[r] = static_cast<Index>(firstWait_.size() - 1);
      for (const RunWork::Collective& each : free) {
        if (each.next == work) waits_.push_back({.source = indexOf(runWork, runWork.idOf(each))});
      }
      if (runWork.isCollective(work)) continue;
      const JobKind kind = graph.node(work).kind;
      if (!isCompute(kind)) continue;
      RunWork::Id& sameDirection = latestOf[kind == JobKind::kForward ? 1 : 0];
      addData(graph, runWork, work, sameDirection);
      sameDirection = work;
    }
    for (const RunWork::Collective& each : free) {
      if (each.isChained) continue;
      firstWait_.push_back(static_cast<Index>(waits_.size()));
      for (const RunWork::Id before : each.before) {
        if (before != RunWork::kNone) waits_.push_back({.source = indexOf(runWork, before)});
      }
    }
  }
}

/// Adds what a job waits for from other ranks. `sameDirection`: the job of its direction before it
/// on its rank.
void RerunOrder::addData(const JobGraph& graph, const RunWork& runWork, RunWork::Id job,
                         RunWork::Id sameDirection) {
  for (const RunWork::Id input : graph.node(job).inputs) {
    if (input == RunWork::kNone) continue;
    Wait wait;
    if (!graph.node(input).isMessage) {
      wait.source = indexOf(runWork, input);
      waits_.push_back(wait);
      continue;
    }
    const RunWork::Id gate = runWork.isNumbered() ? sameDirection : runWork.postedAfter(input);
    const Index gateIndex = gate != RunWork::kNone ? indexOf(runWork, gate) : kNone;
    const std::size_t place = input - graph.jobCount();
    if (messagesAreOperations_ && messageIndex_[place] != kNone) {
      messageGates_[place] = gateIndex;
      waits_.push_back({.source = messageIndex_[place]});
      continue;
    }
    wait.gate = gateIndex;
    if (runWork.waitsForSender(input) && graph.node(input).inputs[0] != RunWork::kNone) {
      wait.source = indexOf(runWork, graph.node(input).inputs[0]);
    }
    wait.message = static_cast<Index>(messages_.size());
    messages_.push_back(operationOf(runWork, input));
    waits_.push_back(wait);
  }
}

/// A message waits for the job that made its data, and for the one after which its receive was
/// posted. It also waits for the messages before it on the lines of both its ends.
void RerunOrder::addWaitsOfMessages(const JobGraph& graph, const RunWork& runWork, bool areInLine) {
  for (std::size_t place = 0; place < messageIndex_.size(); ++place) {
    if (messageIndex_[place] == kNone) continue;
    const RunWork::Id id = operations_[messageIndex_[place]].id;
    firstWait_.push_back(static_cast<Index>(waits_.size()));
    const auto waitFor = [&](Index source) {
      if (source != kNone && source != messageIndex_[place]) waits_.push_back({.source = source});
    };
    const RunWork::Id producer = graph.node(id).inputs[0];
    if (runWork.waitsForSender(id) && producer != RunWork::kNone) {
      waitFor(indexOf(runWork, producer));
    }
    // Where a receive stands on a line, the one before it there says when it could begin.
    const bool hasTurn = areInLine && graph.lineEnd(graph.receiveOf(id)).isOnLine;
    if (!hasTurn) waitFor(messageGates_[place]);
    if (!areInLine) continue;
    for (const RunWork::Id end : {graph.sendOf(id), graph.receiveOf(id)}) {
      const RunWork::Id before = graph.lineEnd(end).before;
      if (before == JobGraph::kNone) continue;
      waitFor(messageIndex_[graph.messageOf(before) - graph.jobCount()]);
    }
  }
}

/// Numbers the groups, in no order yet.
void RerunOrder::groupOperations(const RunWork& runWork) {
  std::unordered_map<std::uint32_t, Index> known;
  groupOf_.resize(operations_.size());
  Index next = 0;
  for (Index i = 0; i < operations_.size(); ++i) {
    if (!runWork.isCollective(operations_[i].id)) {
      groupOf_[i] = next++;
      continue;
    }
    const auto [found, isNew] =
        known.try_emplace(runWork.collective(operations_[i].id).group, next);
    if (isNew) ++next;
    groupOf_[i] = found->second;
  }
  groups_.resize(next);
}

/// Orders the groups so that each comes after what it waits for. Where they wait for each other,
/// the one that really began first goes on.
template <typename BeginOf>
void RerunOrder::order(const BeginOf& beginOf) {
  const std::size_t count = groups_.size();
  std::vector<Index> members(operations_.size());  // by group
  std::vector<Index> firstMember(count + 1, 0);
  for (const Index group : groupOf_) ++firstMember[group + 1];
  std::partial_sum(firstMember.begin(), firstMember.end(), firstMember.begin());
  std::vector<Index> next(firstMember.begin(), firstMember.end() - 1);
  for (Index i = 0; i < operations_.size(); ++i) members[next[groupOf_[i]]++] = i;

  std::vector<Index> firstUser(operations_.size() + 1, 0);  // groups that wait for an operation
  std::vector<Index> open(count, 0);
  for (const Wait& wait : waits_) {
    visitSources(wait, [&](Index source) { ++firstUser[source + 1]; });
  }
  std::partial_sum(firstUser.begin(), firstUser.end(), firstUser.begin());
  std::vector<Index> users(firstUser.back());
  std::vector<Index> nextUser(firstUser.begin(), firstUser.end() - 1);
  for (Index i = 0; i < operations_.size(); ++i) {
    for (const Wait& wait : waits(i)) {
      visitSources(wait, [&](Index source) {
        users[nextUser[source]++] = groupOf_[i];
        ++open[groupOf_[i]];
      });
    }
  }

  std::vector<Index> ready;
  for (Index g = static_cast<Index>(count); g-- > 0;) {
    if (open[g] == 0) ready.push_back(g);
  }
  std::vector<Index> position(count, kNone);
  std::vector<Index> byBegin;  // for groups that wait for each other
  std::size_t earliest = 0;
  Index done = 0;
  members_.reserve(operations_.size());
  while (done < count) {
    if (ready.empty()) {
      if (byBegin.empty()) {
        byBegin.resize(operations_.size());
        std::iota(byBegin.begin(), byBegin.end(), Index{0});
        std::stable_sort(byBegin.begin(), byBegin.end(),
                         [&](Index a, Index b) { return beginOf(a) < beginOf(b); });
      }
      while (position[groupOf_[byBegin[earliest]]] != kNone) ++earliest;
      ready.push_back(groupOf_[byBegin[earliest]]);
    }
    const Index group = ready.back();
    ready.pop_back();
    if (position[group] != kNone) continue;
    position[group] = done;
    groups_[done].first = static_cast<Index>(members_.size());
    for (Index m = firstMember[group]; m < firstMember[group + 1]; ++m) {
      members_.push_back(members[m]);
      for (Index u = firstUser[members[m]]; u < firstUser[members[m] + 1]; ++u) {
        if (--open[users[u]] == 0) ready.push_back(users[u]);
      }
    }
    groups_[done].end = static_cast<Index>(members_.size());
    ++done;
  }
  for (Index& group : groupOf_) group = position[group];
}

void RerunOrder::leaveOutContradictions() {
  for (Index i = 0; i < operations_.size(); ++i) {
    for (Index w = firstWait_[i]; w < firstWait_[i + 1]; ++w) {
      for (Index* const source : {&waits_[w].source, &waits_[w].gate}) {
        if (*source != kNone && groupOf_[*source] >= groupOf_[i]) *source = kNone;
      }
    }
  }
}

void RerunOrder::findCoupled(const JobGraph& graph) {
  isCoupled_.assign(operations_.size(), 0);
  if (graph.pipelines().size() < 2) return;
  const auto replicaOf = [&](Index work) { return graph.ranks()[operations_[work].rank].replica; };
  for (Group& group : groups_) {
    bool waits = false;
    bool isShared = false;
    for (const Index member : members(group)) {
      isShared = isShared || replicaOf(member) != replicaOf(members(group).front());
      for (const Wait& wait : this->waits(member)) {
        visitSources(wait, [&](Index source) {
          waits = true;
          group.isCoupled = group.isCoupled || isCoupled(source);
        });
      }
    }
    // All members can begin a step's first group at once, whoever they are.
    group.isCoupled = group.isCoupled || (isShared && waits);
    if (!group.isCoupled) continue;
    for (const Index member : members(group)) isCoupled_[member] = 1;
  }
}

// How much later than their last inputs operations began, where launches are kept.

/// Adds to what begins late the last work of its ranks that had ended, if that explains more.
void RerunOrder::addWaitsForLaunches(const JobGraph& graph, const RunWork& runWork,
                                     bool areInLine) {
  const auto isMessage = [&](Index work) {
    return !runWork.isCollective(operations_[work].id) &&
           graph.node(operations_[work].id).isMessage;
  };
  // The ranks of a message are its receiver's and, where it is known, its sender's.
  const auto ranksOf = [&](Index work) {
    const RunWork::Id maker = isMessage(work) ? graph.node(operations_[work].id).inputs[0]
                                              : static_cast<RunWork::Id>(RunWork::kNone);
    return std::array{operations_[work].rank,
                      maker == RunWork::kNone ? operations_[work].rank : graph.node(maker).rank};
  };
  using Ended = std::vector<std::pair<Nanoseconds, Index>>;
  std::vector<Ended> jobs(runWork.rankCount());
  std::vector<Ended> messages(runWork.rankCount());
  for (Index i = 0; i < operations_.size(); ++i) {
    if (runWork.isCollective(operations_[i].id)) continue;
    const Nanoseconds end = runWork.endOf(operations_[i].id);
    const auto ranks = ranksOf(i);
    std::vector<Ended>& lists = isMessage(i) ? messages : jobs;
    lists[ranks[0]].emplace_back(end, i);
    if (ranks[1] != ranks[0]) lists[ranks[1]].emplace_back(end, i);
  }
  for (std::vector<Ended>* const lists : {&jobs, &messages}) {
    for (Ended& list : *lists) std::sort(list.begin(), list.end());
  }
  const auto latest = [](const Ended& list, Nanoseconds time) {
    const auto after = std::upper_bound(list.begin(), list.end(), std::pair{time, kNone});
    return after == list.begin() ? std::pair{kNsMin, kNone} : *(after - 1);
  };
  std::vector<Wait> all;
  std::vector<Index> first;
  all.reserve(waits_.size() + operations_.size() / 8);
  for (Index i = 0; i < operations_.size(); ++i) {
    first.push_back(static_cast<Index>(all.size()));
    Nanoseconds ready = kNsMin;
    for (const Wait& wait : waits(i)) {
      all.push_back(wait);
      if (wait.source != kNone) ready = std::max(ready, runWork.endOf(operations_[wait.source].id));
    }
    const RunWork::Id id = operations_[i].id;
    const Nanoseconds begin = runWork.beginOf(id);
    if (runWork.isCollective(id) || ready == kNsMin || ready >= begin) continue;
    if (!isMessage(i) && !runWork.isNumbered()) continue;
    if (isMessage(i) && areInLine && graph.isOnLine(id)) continue;
    std::pair<Nanoseconds, Index> found{kNsMin, kNone};
    for (const std::uint32_t rank : ranksOf(i)) {
      found = std::max(found, latest(isMessage(i) ? jobs[rank] : messages[rank], begin));
    }
    if (found.first > ready && found.second != i) all.push_back({.source = found.second});
  }
  first.push_back(static_cast<Index>(all.size()));
  waits_ = std::move(all);
  firstWait_ = std::move(first);
}

/// Times are exact: whole nanoseconds below 2^53.
void RerunOrder::findLaunches(const RunWork& runWork) {
  isCoupled_.assign(operations_.size(), 0);
  origin_ = kNsMax;
  for (const Operation& work : operations_) origin_ = std::min(origin_, runWork.beginOf(work.id));
  for (const Group& group : groups_) {
    Nanoseconds begin = kNsMin;  // of all members
    for (const Index member : members(group)) {
      Operation& work = operations_[member];
      const Nanoseconds own = runWork.beginOf(work.id);
      begin = std::max(begin, own);
      Nanoseconds ready = kNsMin;
      for (const Wait& wait : waits(member)) {
        if (wait.source != kNone)
          ready = std::max(ready, runWork.endOf(operations_[wait.source].id));
      }
      work.launch = static_cast<double>(own - (ready == kNsMin ? origin_ : ready));
    }
    for (const Index member : members(group)) {
      operations_[member].measured =
          static_cast<double>(runWork.endOf(operations_[member].id) - begin);
    }
  }
}

}  // namespace pipetrace
