// The collectives of a run: who takes part, what they wait for, what waits for them.
#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "analysis/run/graph/collective_rules.h"
#include "analysis/run/graph/job_graph_builder.h"
#include "trace/event_arguments.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;
using Name = std::tuple<std::int32_t, JobKind, StringId, std::int16_t>;

/// Where the log names the members these count, and the stage.
Name nameOf(const Event& event, StringId members) {
  if (members == 0) return {event.step, event.kind, event.name, event.chunk};
  return {event.step, event.kind, members, static_cast<std::int16_t>(event.stage)};
}

bool makesGradients(JobKind kind) {
  return kind == JobKind::kBackward || kind == JobKind::kBackwardWeight ||
         kind == JobKind::kForwardBackward;
}

/// The members of a collective have the same one.
struct GroupKey {
  Name name;
  std::int64_t scope = 0;
  std::uint32_t number = 0;
  Id id = 0;
  bool lacksMembers = false;

  auto common() const { return std::tie(name, scope, number); }
};

/// The scope of a collective whose members are given.
constexpr std::int64_t kGiven = -1;
/// That of one in which all ranks take part, by its times.
constexpr std::int64_t kSharedByAll = -2;

/// By how much the clocks of ranks may differ once they are aligned, as far as members are
/// concerned that the log names.
constexpr Nanoseconds kMostClockError = kNsPerMs;

/// How far apart ranks may end a collective that they share.
constexpr Nanoseconds kEndTogether = 100 * kNsPerUs;
/// The share of steps in which they do.
constexpr double kSharedInSteps = 0.9;

/// Tensor-parallel peers, which have other indices, are no replicas.
std::int64_t scopeOf(Members members, std::uint32_t r, int replica, int tensor, int position) {
  switch (members) {
    case Members::kAlone: return r;
    case Members::kReplicas: return (std::int64_t{tensor} << 32) + position;
    case Members::kPipeline: return replica;
    case Members::kAll: break;
  }
  return 0;
}

/// A collective of a step as all ranks show it.
struct AcrossRanks {
  std::size_t ranks = 0;
  Nanoseconds latestBegin = kNsMin;
  Nanoseconds earliestEnd = kNsMax;
  Nanoseconds latestEnd = kNsMin;

  void add(const Event& event) {
    ++ranks;
    latestBegin = std::max(latestBegin, event.begin);
    earliestEnd = std::min(earliestEnd, event.end);
    latestEnd = std::max(latestEnd, event.end);
  }
  bool isShared() const {
    return latestBegin <= earliestEnd && latestEnd - earliestEnd <= kEndTogether;
  }
};

}  // namespace

/// How many of the last collectives of their steps all ranks share, as the norm of gradients, where
/// the log does not say who takes part: they end at the same time everywhere.
std::size_t JobGraphBuilder::lastThatAllShare() const {
  constexpr std::size_t kMost = 8;
  if (graph_.isNumbered_ || events_.size() < 2) return 0;
  std::map<std::int32_t, std::array<AcrossRanks, kMost>> steps;  // the last one first
  for (const RankEvents& events : events_) {
    std::size_t back = 0;
    std::int32_t step = kNotGiven;
    for (auto each = events.collectives.rbegin(); each != events.collectives.rend(); ++each) {
      if (each->event->step != step) back = 0;
      step = each->event->step;
      if (each->members != 0 || step < 0 || back == kMost) continue;
      steps[step][back++].add(*each->event);
    }
  }
  for (std::size_t back = 0; back < kMost; ++back) {
    std::size_t complete = 0;
    std::size_t shared = 0;
    for (const auto& [step, last] : steps) {
      if (last[back].ranks < events_.size()) continue;
      ++complete;
      if (last[back].isShared()) ++shared;
    }
    const bool isShared = complete >= 2 && static_cast<double>(shared) >=
                                               kSharedInSteps * static_cast<double>(complete);
    if (!isShared) return back;
  }
  return kMost;
}

/// Finds the names of sums behind backward passes beside which jobs begin, on any rank, in one of
/// ten: no job waits for these. Where one ends while its rank does nothing, that is by chance.
void JobGraphBuilder::findSumsBesideJobs() {
  if (graph_.isNumbered_) return;  // the study has rules of its own
  struct Use {
    std::int64_t all = 0;
    std::int64_t besideJobs = 0;
  };
  std::map<SumName, Use> uses;
  for (std::uint32_t r = 0; r < events_.size(); ++r) {
    for (const Collective& each : events_[r].collectives) {
      const Event& event = *each.event;
      if (!isBehindBackward(event, graph_.ranks_[r])) continue;
      Use& use = uses[{event.kind, event.name}];
      ++use.all;
      if (beginsBeside(event, graph_.ranks_[r])) ++use.besideJobs;
    }
  }
  for (const auto& [name, use] : uses) {
    if (10 * use.besideJobs >= use.all) sumsBesideJobs_.insert(name);
  }
}

/// Whether it is a sum that the last job before it may have made the gradients for.
bool JobGraphBuilder::isBehindBackward(const Event& event, const JobGraph::Rank& rank) const {
  if (!isReduction(event.kind)) return false;
  const Id before = jobBefore(rank, event.begin);
  return before != JobGraph::kNone && makesGradients(graph_.nodes_[before].kind);
}

/// Whether a compute job of its rank begins while it runs.
bool JobGraphBuilder::beginsBeside(const Event& event, const JobGraph::Rank& rank) const {
  constexpr Nanoseconds kEndsRounded = 2;
  const JobGraph::Node* const jobs = &graph_.nodes_[0];
  const JobGraph::Node* job =
      std::partition_point(jobs + rank.first, jobs + rank.end,
                           [&](const JobGraph::Node& each) { return each.begin <= event.begin; });
  for (; job != jobs + rank.end && job->begin < event.end - kEndsRounded; ++job) {
    if (isCompute(job->kind)) return true;
  }
  return false;
}

/// Counts them, and leaves out what is part of a job. Of those in which ranks meet that is part of
/// a job on one rank and not on another one, so that all of them count.
void JobGraphBuilder::findCollectives(std::uint32_t r, RankEvents& events) const {
  std::vector<Collective>& found = events.collectives;
  const auto isInside = [&](const Collective& each) {
    return !graph_.isNumbered_ && isInsideOfJob(*each.event, graph_.ranks_[r]);
  };
  std::erase_if(found,
                [&](const Collective& each) { return !isMeeting(*each.event) && isInside(each); });
  std::stable_sort(found.begin(), found.end(), [](const Collective& a, const Collective& b) {
    return std::tie(a.event->step, a.event->begin) < std::tie(b.event->step, b.event->begin);
  });
  std::vector<std::pair<Name, std::uint32_t>> counts;  // of one step
  for (Collective& each : found) {
    each.members = membersOf(*each.event);
    const Name name = nameOf(*each.event, each.members);
    if (!counts.empty() && std::get<0>(counts.back().first) != each.event->step) counts.clear();
    auto count = std::find_if(counts.begin(), counts.end(),
                              [&](const auto& other) { return other.first == name; });
    if (count == counts.end()) count = counts.insert(count, {name, 0});
    each.number = count->second++;
  }
  if (meetingKey_) std::erase_if(found, isInside);
}

/// Whether it is of compute jobs, whatever its times: ranks meet in it inside of them. It may begin
/// in one and hold up the next, which then begins with it. Only a sum may hold up something else.
bool JobGraphBuilder::isOfJobs(const Event& event) const {
  return !isReduction(event.kind) && isMeeting(event);
}

/// Whether it is part of compute jobs, and of their time. A program may annotate it from a little
/// before the job on. A sum of gradients may run beside jobs that it is no part of.
bool JobGraphBuilder::isInsideOfJob(const Event& event, const JobGraph::Rank& rank) const {
  const bool isMostlyInJobs = 2 * timeInJobs(event, rank) > event.duration();
  if (isMeeting(event)) return isMostlyInJobs;
  if (!isReduction(event.kind) && isMostlyInJobs) return true;
  const JobGraph::Node* const first = graph_.nodes_.data() + rank.first;
  const JobGraph::Node* const next =
      std::partition_point(first, graph_.nodes_.data() + rank.end,
                           [&](const JobGraph::Node& node) { return node.begin <= event.begin; });
  return next != first && isCompute(std::prev(next)->kind) && std::prev(next)->end >= event.end;
}

bool JobGraphBuilder::isMeeting(const Event& event) const {
  const auto arguments = timeline_.argumentsOf(event);
  return meetingKey_ && std::any_of(arguments.begin(), arguments.end(),
                                    [&](const Argument& a) { return a.key == *meetingKey_; });
}

bool JobGraphBuilder::isOfGradients(const Event& event) const {
  if (!isReduction(event.kind) || !isMeeting(event)) return false;
  const auto arguments = timeline_.argumentsOf(event);
  return useKey_ && std::any_of(arguments.begin(), arguments.end(), [&](const Argument& a) {
           return a.key == *useKey_ && a.type == ArgumentType::kText && a.text == replicas_;
         });
}

/// How long compute jobs of its rank run during it.
Nanoseconds JobGraphBuilder::timeInJobs(const Event& event, const JobGraph::Rank& rank) const {
  constexpr int kMostBack = 8;
  const JobGraph::Node* const first = graph_.nodes_.data() + rank.first;
  const JobGraph::Node* const end = graph_.nodes_.data() + rank.end;
  const JobGraph::Node* job = std::partition_point(
      first, end, [&](const JobGraph::Node& node) { return node.begin <= event.begin; });
  job -= std::min<std::ptrdiff_t>(job - first, kMostBack);
  Nanoseconds time = 0;
  Nanoseconds upTo = event.begin;
  for (; job != end && job->begin < event.end; ++job) {
    if (!isCompute(job->kind) || job->end <= upTo) continue;
    const Nanoseconds from = std::max(job->begin, upTo);
    upTo = std::min(job->end, event.end);
    time += std::max<Nanoseconds>(0, upTo - from);
  }
  return time;
}

StringId JobGraphBuilder::membersOf(const Event& event) const {
  if (!membersKey_ && !meetingKey_) return 0;
  for (const Argument& argument : timeline_.argumentsOf(event)) {
    const bool isMembers = argument.key == membersKey_ || argument.key == meetingKey_;
    if (isMembers && argument.type == ArgumentType::kText) return argument.text;
  }
  return 0;
}

/// Whether there is no log of one of these ranks.
bool JobGraphBuilder::lacksMembers(StringId members) const {
  std::string_view text = timeline_.strings[members];
  while (!text.empty()) {
    int rank = -1;
    const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc() || !timeline_.ranks.contains(rank)) return true;
    text.remove_prefix(static_cast<std::size_t>(next - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return false;
}

void JobGraphBuilder::placeCollectives() {
  membersKey_ = timeline_.strings.find(log_format::kMembers);
  forRanks([&](std::uint32_t r, RankEvents& events) { findCollectives(r, events); });
  auto next = static_cast<Id>(graph_.messageEnd_);
  for (std::size_t r = 0; r < events_.size(); ++r) {
    graph_.ranks_[r].firstCollective = next;
    next += static_cast<Id>(events_[r].collectives.size());
    graph_.ranks_[r].endOfCollectives = next;
  }
  graph_.nodeCount_ = next;
  if (next == graph_.messageEnd_) return;
  graph_.collectives_.resize(next - graph_.messageEnd_);
  findSumsBesideJobs();
  forRanks([&](std::uint32_t r, RankEvents& events) { fillCollectives(r, events); });
  groupCollectives();
}

/// The backward pass whose gradients a collective with given members adds up: the last one of its
/// stage, or of all stages where it names none, that had begun. A planned begin may be before the
/// end that the clock showed. kNone: another job that had ended comes after it.
Id JobGraphBuilder::gradientsBefore(const JobGraph::Rank& rank,
                                    const JobGraph::Node& collective) const {
  const JobGraph::Node* const jobs = &graph_.nodes_[0];
  const JobGraph::Node* at = std::partition_point(
      jobs + rank.first, jobs + rank.end,
      [&](const JobGraph::Node& node) { return node.begin < collective.begin; });
  while (at != jobs + rank.first) {
    const JobGraph::Node& job = *--at;
    if (job.end <= collective.begin || job.step != collective.step) break;
    const bool isOfStage = collective.stage < 0 || job.stage == collective.stage ||
                           job.kind == JobKind::kForwardBackward;
    // The gradients of one part are added up while the next one runs.
    const bool isUnderPart =
        job.event->part != kNotGiven && 8 * (job.end - collective.begin) > job.end - job.begin;
    if (makesGradients(job.kind) && isOfStage && !isUnderPart) return static_cast<Id>(at - jobs);
  }
  return JobGraph::kNone;
}

/// Makes the nodes of a rank's collectives. They wait for the last job of their rank that had
/// ended, or for a collective that ended later than that, as the norm of gradients does for their
/// sum. The first job that begins after the end waits.
void JobGraphBuilder::fillCollectives(std::uint32_t r, const RankEvents& events) {
  const JobGraph::Rank& rank = graph_.ranks_[r];
  std::vector<std::pair<std::uint32_t, Id>> latest;  // by track
  for (std::size_t i = 0; i < events.collectives.size(); ++i) {
    const Event& event = *events.collectives[i].event;
    const std::uint32_t track = events.collectives[i].track;
    const Id id = rank.firstCollective + static_cast<Id>(i);
    JobGraph::Collective& made = graph_.collectives_[id - graph_.messageEnd_];
    made.track = track;
    made.isLeftBehind =
        isOfGradients(event) ||
        (sumsBesideJobs_.contains({event.kind, event.name}) && isBehindBackward(event, rank));
    JobGraph::Node& node = graph_.nodes_.make(id);
    node.isCollective = true;
    node.event = &event;
    node.begin = event.begin;
    node.end = event.end;
    node.rank = r;
    node.step = event.step;
    node.stage = event.stage;
    node.kind = event.kind;
    node.microBatch = event.microBatch;
    takeLater(jobBefore(rank, node.begin), node);
    if (events.collectives[i].members != 0) takeLater(gradientsBefore(rank, node), node);
    auto before = std::find_if(latest.begin(), latest.end(),
                               [&](const auto& each) { return each.first == track; });
    for (const auto& [lane, other] : latest) {
      if (graph_.nodes_[other].end <= node.begin) takeLater(other, node);
    }
    if (before == latest.end()) {
      latest.emplace_back(track, id);
    } else {
      before->second = id;
    }
    JobGraph::Node* const jobs = &graph_.nodes_[0];
    JobGraph::Node* job =
        std::partition_point(jobs + rank.first, jobs + rank.end,
                             [&](const JobGraph::Node& each) { return each.begin < node.end; });
    while (made.isLeftBehind && job != jobs + rank.end && isCompute(job->kind)) ++job;
    if (job == jobs + rank.end) continue;
    const auto endsEarlier = [&](Id other) {
      return other == JobGraph::kNone || graph_.nodes_[other].end < node.end;
    };
    if (endsEarlier(job->before) && endsEarlier(job->collective)) job->collective = id;
  }
}

/// Whether a collective of that rank has members of which there is no log.
bool JobGraphBuilder::lacksMembers(Members members, std::uint32_t r) const {
  const Place& place = places_[r];
  switch (members) {
    case Members::kAlone: return false;
    case Members::kReplicas: return place.present < place.expected;
    case Members::kPipeline: {
      // Its first and its last rank take part.
      const std::vector<std::uint32_t>& ranks = graph_.pipelines_[pipelineOf_[r]];
      return places_[ranks.front()].position > 0 ||
             places_[ranks.back()].position + 1 < place.depth;
    }
    case Members::kAll: break;
  }
  return graph_.ranks_.size() < static_cast<std::size_t>(worldSize_);
}

/// Finds the members of each group. Unless all of them overlap in time they are no group, and each
/// is one for itself. Where the log names the members, clocks may be a little apart.
void JobGraphBuilder::groupCollectives() {
  std::vector<GroupKey> keys;
  const std::size_t sharedByAll = lastThatAllShare();
  for (std::uint32_t r = 0; r < events_.size(); ++r) {
    const JobGraph::Rank& rank = graph_.ranks_[r];
    const Place& place = places_[r];
    std::map<std::int32_t, std::size_t> left;  // by step: those of which the log says nothing
    for (const Collective& each : events_[r].collectives) {
      if (each.members == 0) ++left[each.event->step];
    }
    for (std::size_t i = 0; i < events_[r].collectives.size(); ++i) {
      const Collective& each = events_[r].collectives[i];
      const Id id = rank.firstCollective + static_cast<Id>(i);
      if (each.members != 0) {
        keys.push_back({nameOf(*each.event, each.members), kGiven, each.number, id,
                        lacksMembers(each.members)});
        continue;
      }
      if (const std::size_t back = left[each.event->step]--; back <= sharedByAll) {
        keys.push_back({Name{each.event->step, each.event->kind, 0, 0}, kSharedByAll,
                        static_cast<std::uint32_t>(back), id, lacksMembers(Members::kAll, r)});
        continue;
      }
      const Members members = collectiveRuleOf(timeline_.strings[each.event->name]).members;
      keys.push_back({nameOf(*each.event, 0),
                      scopeOf(members, r, rank.replica, place.tensor, place.position), each.number,
                      id, lacksMembers(members, r)});
    }
  }
  std::sort(keys.begin(), keys.end(), [](const GroupKey& a, const GroupKey& b) {
    return std::tuple_cat(a.common(), std::tie(a.id)) < std::tuple_cat(b.common(), std::tie(b.id));
  });
  std::uint32_t group = 0;
  for (std::size_t first = 0, end = 0; first < keys.size(); first = end) {
    Id last = keys[first].id;
    Nanoseconds earliestEnd = kNsMax;
    for (end = first; end < keys.size() && keys[end].common() == keys[first].common(); ++end) {
      const JobGraph::Node& member = graph_.nodes_[keys[end].id];
      if (member.begin > graph_.nodes_[last].begin) last = keys[end].id;
      earliestEnd = std::min(earliestEnd, member.end);
    }
    const Nanoseconds begin = graph_.nodes_[last].begin;
    const bool hasStep = std::get<0>(keys[first].name) >= 0;
    const Nanoseconds clockError = keys[first].scope < 0 ? kMostClockError : 0;
    const bool isGroup = graph_.isNumbered_ || (hasStep && begin <= earliestEnd + clockError);
    for (std::size_t k = first; k < end; ++k) {
      const Id id = keys[k].id;
      graph_.nodes_[id].lacksInput = isGroup && keys[k].lacksMembers;
      if (isGroup && id != last) {
        graph_.nodes_[id].begin = std::min(begin, graph_.nodes_[id].end);
        graph_.nodes_[id].inputs[0] = last;
      }
      graph_.collectives_[id - graph_.messageEnd_].group = group;
      if (!isGroup || k + 1 == end) ++group;
    }
  }
}

}  // namespace pipetrace
