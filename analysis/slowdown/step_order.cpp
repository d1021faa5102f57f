#include "analysis/slowdown/step_order.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace pipetrace {
namespace {

StepOrder::Work workOf(const RunWork& runWork, RunWork::Id id) {
  return {runWork.measured(id), runWork.ideal(id), runWork.rankOf(id), runWork.stageOf(id),
          runWork.setOf(id)};
}

}  // namespace

StepOrder::StepOrder(const JobGraph& graph, const RunWork& runWork, std::size_t step) {
  addWorks(runWork, step);
  addWaits(graph, runWork, step);
  groupWorks(runWork);
  order(runWork);
  leaveOutContradictions();
  findCoupled(graph);
}

void StepOrder::addWorks(const RunWork& runWork, std::size_t step) {
  const std::size_t ranks = runWork.rankCount();
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const RunWork::Id work : runWork.chain(step, r)) ids_.push_back(work);
    if (!runWork.chain(step, r).empty()) lastJobs_.push_back(static_cast<Index>(ids_.size() - 1));
    for (const RunWork::Collective& each : runWork.collectives(step, r)) {
      if (!each.isChained) ids_.push_back(runWork.idOf(each));
    }
  }
  works_.reserve(ids_.size());
  for (const RunWork::Id id : ids_) works_.push_back(workOf(runWork, id));
}

void StepOrder::addWaits(const JobGraph& graph, const RunWork& runWork, std::size_t step) {
  const auto indexOf = [&](RunWork::Id id) {
    return id == RunWork::kNone ? kNone : runWork.indexInStep(id);
  };
  waits_.reserve(2 * ids_.size());
  firstWait_.reserve(ids_.size() + 1);
  for (std::size_t r = 0; r < runWork.rankCount(); ++r) {
    const auto free = runWork.collectives(step, r);
    Index previous = kNone;
    RunWork::Id latest[2] = {RunWork::kNone, RunWork::kNone};  // backward, forward
    for (const RunWork::Id work : runWork.chain(step, r)) {
      firstWait_.push_back(static_cast<Index>(waits_.size()));
      if (previous != kNone) waits_.push_back({.source = previous});
      previous = runWork.indexInStep(work);
      for (const RunWork::Collective& each : free) {
        if (each.next == work) waits_.push_back({.source = indexOf(runWork.idOf(each))});
      }
      if (runWork.isCollective(work)) continue;
      const JobKind kind = graph.node(work).kind;
      if (!isCompute(kind)) continue;
      RunWork::Id& sameDirection = latest[kind == JobKind::kForward ? 1 : 0];
      addData(graph, runWork, work, sameDirection);
      sameDirection = work;
    }
    for (const RunWork::Collective& each : free) {
      if (each.isChained) continue;
      firstWait_.push_back(static_cast<Index>(waits_.size()));
      for (const RunWork::Id before : each.before) {
        if (before != RunWork::kNone) waits_.push_back({.source = indexOf(before)});
      }
    }
  }
  firstWait_.push_back(static_cast<Index>(waits_.size()));
}

/// Adds what a job waits for from other ranks. `sameDirection`: the job of its direction before it
/// on its rank.
void StepOrder::addData(const JobGraph& graph, const RunWork& runWork, RunWork::Id job,
                        RunWork::Id sameDirection) {
  for (const RunWork::Id input : graph.node(job).inputs) {
    if (input == RunWork::kNone) continue;
    Wait wait;
    RunWork::Id source = input;
    if (graph.node(input).isMessage) {
      source = runWork.waitsForSender(input) ? graph.node(input).inputs[0] : RunWork::kNone;
      const RunWork::Id gate = runWork.isNumbered() ? sameDirection : runWork.postedAfter(input);
      if (gate != RunWork::kNone && runWork.areInOneStep(gate, job)) {
        wait.gate = runWork.indexInStep(gate);
      }
      wait.message = static_cast<Index>(messages_.size());
      messages_.push_back(workOf(runWork, input));
    }
    if (source != RunWork::kNone && runWork.areInOneStep(source, job)) {
      wait.source = runWork.indexInStep(source);
    }
    waits_.push_back(wait);
  }
}

/// Numbers the groups, in no order yet.
void StepOrder::groupWorks(const RunWork& runWork) {
  std::unordered_map<std::uint32_t, Index> known;
  groupOf_.resize(ids_.size());
  Index next = 0;
  for (Index i = 0; i < ids_.size(); ++i) {
    if (!runWork.isCollective(ids_[i])) {
      groupOf_[i] = next++;
      continue;
    }
    const auto [found, isNew] = known.try_emplace(runWork.collective(ids_[i]).group, next);
    if (isNew) ++next;
    groupOf_[i] = found->second;
  }
  groups_.resize(next);
}

/// Orders the groups so that each comes after what it waits for. Where they wait for each other,
/// the one that really began first goes on.
void StepOrder::order(const RunWork& runWork) {
  const std::size_t count = groups_.size();
  std::vector<Index> members(ids_.size());  // by group
  std::vector<Index> firstMember(count + 1, 0);
  for (const Index group : groupOf_) ++firstMember[group + 1];
  std::partial_sum(firstMember.begin(), firstMember.end(), firstMember.begin());
  std::vector<Index> next(firstMember.begin(), firstMember.end() - 1);
  for (Index i = 0; i < ids_.size(); ++i) members[next[groupOf_[i]]++] = i;

  std::vector<Index> firstUser(ids_.size() + 1, 0);  // groups that wait for a work
  std::vector<Index> open(count, 0);
  for (const Wait& wait : waits_) {
    visitSources(wait, [&](Index source) { ++firstUser[source + 1]; });
  }
  std::partial_sum(firstUser.begin(), firstUser.end(), firstUser.begin());
  std::vector<Index> users(firstUser.back());
  std::vector<Index> nextUser(firstUser.begin(), firstUser.end() - 1);
  for (Index i = 0; i < ids_.size(); ++i) {
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
  members_.reserve(ids_.size());
  while (done < count) {
    if (ready.empty()) {
      if (byBegin.empty()) {
        byBegin.resize(ids_.size());
        std::iota(byBegin.begin(), byBegin.end(), Index{0});
        std::stable_sort(byBegin.begin(), byBegin.end(), [&](Index a, Index b) {
          return runWork.event(ids_[a]).begin < runWork.event(ids_[b]).begin;
        });
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

void StepOrder::leaveOutContradictions() {
  for (Index i = 0; i < ids_.size(); ++i) {
    for (Index w = firstWait_[i]; w < firstWait_[i + 1]; ++w) {
      for (Index* const source : {&waits_[w].source, &waits_[w].gate}) {
        if (*source != kNone && groupOf_[*source] >= groupOf_[i]) *source = kNone;
      }
    }
  }
}

void StepOrder::findCoupled(const JobGraph& graph) {
  isCoupled_.assign(ids_.size(), 0);
  const auto replicaOf = [&](Index work) { return graph.ranks()[works_[work].rank].replica; };
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

}  // namespace pipetrace
