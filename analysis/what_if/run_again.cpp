#include "analysis/what_if/run_again.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/causes/slowdown.h"
#include "analysis/median.h"
#include "analysis/run/bubbles/run_basis.h"
#include "analysis/run/graph/job_graph.h"
#include "analysis/run/graph/median_durations.h"
#include "analysis/run/steps/median_step.h"
#include "analysis/run/waits/run_network.h"
#include "trace/error.h"
#include "trace/text/ranks_text.h"
#include "trace/timeline.h"

namespace pipetrace {

namespace {

/// Moves the events of a run to where its jobs, messages and collectives run in another one.
class MovedEvents {
 public:
  /// A node of the graph, and when it runs. A message begins with the later of its two ends, a
  /// collective by itself.
  struct Operation {
    JobGraph::Id node = JobGraph::kNone;
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };

  /// Both must outlive it.
  MovedEvents(const Timeline& timeline, const JobGraph& graph)
      : timeline_(timeline), graph_(graph) {}

  /// A time of a rank (its number) and when that comes in the other run.
  struct Point {
    int rank = 0;
    Nanoseconds from = 0;
    Nanoseconds to = 0;
  };

  /// The run with its operations at these times, without bubbles. `inside`: of pieces of jobs. The
  /// end of a message that waited for the other one begins where it does beside the jobs of its
  /// rank, but no later than that one. Everything else moves with the jobs of its rank: as much as
  /// the nearest of them, and between two of them in proportion.
  Timeline moved(std::span<const Operation> operations, std::span<const Point> inside) const;

 private:
  const Timeline& timeline_;
  const JobGraph& graph_;
};

struct MovedSpan {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

/// Where the times of a rank move to, by the begins and ends of its jobs.
class MovedClock {
 public:
  void add(Nanoseconds from, Nanoseconds to) { points_.emplace_back(from, to); }

  /// Times of jobs that overlap may contradict each other: those that go back are left out. Where
  /// one job ended as the next one began, both times stay, as there may be a wait between them now.
  void finish() {
    std::sort(points_.begin(), points_.end());
    std::size_t kept = 0;
    for (const auto& [from, to] : points_) {
      if (kept > 0 && to < points_[kept - 1].second) continue;
      // Of more than two the earliest and the latest count.
      const bool isThird = kept > 1 && points_[kept - 2].first == from;
      points_[isThird ? kept - 1 : kept++] = {from, to};
    }
    points_.resize(kept);
  }

  Nanoseconds begin(Nanoseconds time) const {
    return moved(time, std::upper_bound(points_.begin(), points_.end(), time,
                                        [](Nanoseconds value, const Point& point) {
                                          return value < point.first;
                                        }));
  }

  Nanoseconds end(Nanoseconds time) const {
    return moved(time, std::lower_bound(points_.begin(), points_.end(), time,
                                        [](const Point& point, Nanoseconds value) {
                                          return point.first < value;
                                        }));
  }

 private:
  using Point = std::pair<Nanoseconds, Nanoseconds>;  // from and to

  Nanoseconds moved(Nanoseconds time, std::vector<Point>::const_iterator after) const {
    if (points_.empty()) return time;
    if (after == points_.begin()) return time + after->second - after->first;
    const auto before = after - 1;
    const Nanoseconds since = time - before->first;
    if (after == points_.end()) return before->second + since;
    const Nanoseconds length = after->first - before->first;
    const Nanoseconds room = after->second - before->second;
    if (length == room) return before->second + since;
    return before->second + std::llround(static_cast<double>(since) * static_cast<double>(room) /
                                         static_cast<double>(length));
  }

  std::vector<Point> points_;  // ascending
};

Timeline MovedEvents::moved(std::span<const Operation> operations,
                            std::span<const Point> inside) const {
  std::map<int, MovedClock> clocks;
  std::unordered_map<const Event*, MovedSpan> spans;
  spans.reserve(2 * operations.size());
  for (const Operation& work : operations) {
    const JobGraph::Node& node = graph_.node(work.node);
    if (node.isMessage) continue;
    spans[node.event] = {work.begin, work.end};
    if (node.isCollective) continue;
    MovedClock& clock = clocks[graph_.ranks()[node.rank].number];
    clock.add(node.begin, work.begin);
    clock.add(node.end, work.end);
  }
  for (const Point& point : inside) clocks[point.rank].add(point.from, point.to);
  for (auto& [rank, clock] : clocks) clock.finish();
  for (const Operation& work : operations) {
    const JobGraph::Node& node = graph_.node(work.node);
    if (!node.isMessage) continue;
    const JobGraph::Message& message = graph_.message(work.node);
    const auto place = [&](const Event* event, int rank) {
      if (event == nullptr) return;
      const auto clock = clocks.find(rank);
      const Nanoseconds own =
          clock == clocks.end() ? event->begin : clock->second.begin(event->begin);
      const Nanoseconds begin = event->begin == node.begin ? work.begin : std::min(own, work.begin);
      spans[event] = {begin, event->end + work.end - node.end};
    };
    const int receiver = graph_.ranks()[node.rank].number;
    const JobGraph::Id maker = node.inputs[0];
    place(message.receive, receiver);
    place(message.send,
          maker == JobGraph::kNone ? receiver : graph_.ranks()[graph_.node(maker).rank].number);
  }
  Timeline result = timeline_;
  std::erase_if(result.tracks, [](const Track& track) { return track.lane == kBubbleLane; });
  std::size_t next = 0;  // of the result's tracks
  for (const Track& track : timeline_.tracks) {
    if (track.lane == kBubbleLane) continue;
    std::vector<Event>& events = result.tracks[next++].events;
    const auto clock = clocks.find(track.rank);
    for (std::size_t i = 0; i < events.size(); ++i) {
      Event& event = events[i];
      if (const auto span = spans.find(&track.events[i]); span != spans.end()) {
        event.begin = span->second.begin;
        event.end = std::max(span->second.begin, span->second.end);
      } else if (clock != clocks.end()) {
        event.end = std::max(clock->second.begin(event.begin), clock->second.end(event.end));
        event.begin = clock->second.begin(event.begin);
      }
    }
  }
  for (CounterSeries& counter : result.counters) {
    const auto clock = clocks.find(counter.rank);
    if (clock == clocks.end()) continue;
    for (CounterSample& sample : counter.samples) sample.time = clock->second.begin(sample.time);
  }
  result.sort();
  return result;
}

using Operation = RunNetwork::Operation;
using Index = RunNetwork::Index;

/// The steps of all jobs, ascending.
std::vector<std::int32_t> stepsOf(const JobGraph& graph) {
  std::set<std::int32_t> steps;
  std::int32_t latest = kNotGiven;
  for (JobGraph::Id id = 0; id < graph.jobCount(); ++id) {
    const std::int32_t step = graph.node(id).step;
    if (step >= 0 && step != latest) steps.insert(latest = step);
  }
  return {steps.begin(), steps.end()};
}

std::vector<std::int32_t> countedOf(const std::vector<std::int32_t>& steps,
                                    const CountedSteps& counted) {
  std::vector<std::int32_t> result;
  for (const std::int32_t step : steps) {
    if (counted.contains(step)) result.push_back(step);
  }
  return result;
}

[[noreturn]] void refuseChange(const std::string& option, const std::string& why) {
  throw Error(option + ": " + why);
}

}  // namespace

RunAgain::RunAgain(const Run& run, const CountedSteps& counted)
    : run_(run),
      graph_(run.graph()),
      counted_(counted),
      work_(run.timeline(), graph_, stepsOf(graph_), run.threads(),
            countedOf(stepsOf(graph_), counted)),
      network_(graph_, work_, 0, work_.stepCount(),
               {.messages = graph_.areLinesHeld() ? RerunRules::Messages::kInLine
                                                  : RerunRules::Messages::kTimed,
                .keepsLaunches = true}) {}

bool RunAgain::isMessage(const Operation& work) const {
  return !work_.isCollective(work.id) && graph_.node(work.id).isMessage;
}

std::int32_t RunAgain::stageOf(const Operation& work) const {
  return work.stage < work_.stages().size() ? work_.stages()[work.stage] : kNotGiven;
}

std::pair<int, int> RunAgain::ranksOf(const Operation& message) const {
  const JobGraph::Id maker = graph_.node(message.id).inputs[0];
  const int to = numberOf(message);
  if (maker != JobGraph::kNone) return {graph_.ranks()[graph_.node(maker).rank].number, to};
  const Event* const receive = graph_.message(message.id).receive;
  return {receive != nullptr ? receive->peer : -1, to};
}

bool RunAgain::isOnLink(const Operation& work, int rank, int peer) const {
  if (!isMessage(work)) return false;
  const std::pair<int, int> ends = ranksOf(work);
  return ends == std::pair{rank, peer} || ends == std::pair{peer, rank};
}

/// The one that ended last.
Index RunAgain::lastInputOf(Index index) const {
  Index last = RunNetwork::kNone;
  for (const RunNetwork::Wait& wait : network_.waits(index)) {
    if (wait.source == RunNetwork::kNone) continue;
    const bool isLater =
        last == RunNetwork::kNone || work_.endOf(network_.operations()[wait.source].id) >
                                         work_.endOf(network_.operations()[last].id);
    if (isLater) last = wait.source;
  }
  return last;
}

bool RunAgain::isUnlogged(const Operation& work, Index input) const {
  if (input == RunNetwork::kNone || isMessage(work) || work_.isCollective(work.id)) return false;
  const Operation& before = network_.operations()[input];
  return before.rank != work.rank && !isMessage(before) && !work_.isCollective(before.id);
}

bool RunAgain::waitsForUnlogged(Index index) const {
  return isUnlogged(network_.operations()[index], lastInputOf(index));
}

bool RunAgain::mayWaitForUnlogged(Index index) const {
  const auto waits = network_.waits(index);
  return std::any_of(waits.begin(), waits.end(), [&](const RunNetwork::Wait& wait) {
    return isUnlogged(network_.operations()[index], wait.source);
  });
}

bool RunAgain::hasLaunch(Index index) const {
  const Operation& work = network_.operations()[index];
  if (work.launch <= 0) return false;
  const Index last = lastInputOf(index);
  if (last == RunNetwork::kNone) return false;
  const bool isInStep =
      work_.stepIndexOf(network_.operations()[last].id) == work_.stepIndexOf(work.id);
  return isInStep && !waitsForUnlogged(index);
}

bool RunAgain::isLaunchedJob(Index index) const {
  const Operation& work = network_.operations()[index];
  return !isMessage(work) && !work_.isCollective(work.id) && isCompute(kindOf(work)) &&
         hasLaunch(index);
}

bool RunAgain::isPostedLast(Index index, Begins begins) const {
  const Operation& work = network_.operations()[index];
  if (!isMessage(work) || work.launch < 0) return false;
  const JobGraph::Message& message = graph_.message(work.id);
  if (message.send == nullptr) return false;
  if (begins == Begins::kSend) return isPostedBySender(graph_, work.id);
  return message.receive != nullptr && message.send->begin < message.receive->begin;
}

/// Whether what lies between its last input and its begin is known to be a launch of that kind: it
/// had to wait for nothing but its own rank.
bool RunAgain::isLaunched(Index index, Begins begins) const {
  if (begins == Begins::kJob) return isLaunchedJob(index);
  const Index last = isPostedLast(index, begins) ? lastInputOf(index) : RunNetwork::kNone;
  if (last == RunNetwork::kNone) return false;
  const Operation& work = network_.operations()[index];
  const Operation& before = network_.operations()[last];
  if (begins == Begins::kSend) return before.id == graph_.node(work.id).inputs[0];
  return before.rank == work.rank && !isMessage(before);
}

/// The median of each rank's launches, by its index; 0 for ranks without any. `areKnown`: only of
/// what waits for no message that is not logged.
std::vector<double> RunAgain::medianLaunches(Begins begins, bool areKnown) const {
  std::map<std::uint32_t, std::vector<double>> launches;
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    if (!isLaunched(i, begins) || (areKnown && mayWaitForUnlogged(i))) continue;
    launches[launchedBy(i, begins)].push_back(network_.operations()[i].launch);
  }
  std::vector<double> medians(graph_.ranks().size(), 0.0);
  for (auto& [rank, own] : launches) medians[rank] = medianOf(own);
  return medians;
}

/// Whether a job that may have waited for a message that is not logged began no later than others
/// of its rank: then it was that message no longer.
bool RunAgain::isLaunchedAsOthers(Index index, const std::vector<double>& known) const {
  return isLaunchedJob(index) && network_.operations()[index].launch <=
                                     kAsLateAsOthers * known[launchedBy(index, Begins::kJob)];
}

RunAgain::LateRanks RunAgain::lateRanks() const {
  const std::vector<double> jobs = medianLaunches(Begins::kJob);
  const std::vector<double> messages = medianLaunches(Begins::kSend);
  const auto usualOf = [](std::vector<double> medians) { return lowerMedianOf(medians); };
  const double usual = usualOf(jobs);
  const double usualOfMessages = std::max(usual, usualOf(messages));
  LateRanks late;
  for (std::size_t r = 0; r < jobs.size(); ++r) {
    const bool sendsLate = messages[r] > kFarLater * usualOfMessages;
    late.sendLate = late.sendLate || sendsLate;
    if (sendsLate || jobs[r] > kFarLater * usual) late.ranks.push_back(graph_.ranks()[r].number);
  }
  std::sort(late.ranks.begin(), late.ranks.end());
  return 2 * late.ranks.size() > jobs.size() ? LateRanks() : late;
}

/// The index of the rank that begins a job, or posts an end of a message.
std::uint32_t RunAgain::launchedBy(Index index, Begins begins) const {
  const Operation& work = network_.operations()[index];
  const JobGraph::Id maker = begins == Begins::kSend ? graph_.node(work.id).inputs[0]
                                                     : static_cast<JobGraph::Id>(JobGraph::kNone);
  return maker == JobGraph::kNone ? work.rank : graph_.node(maker).rank;
}

/// Whether each operation makes data for another rank: what a program does between two jobs depends
/// on whether it has a message to send.
std::vector<char> RunAgain::makersForOthers() const {
  std::vector<char> makers(network_.operations().size());
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    for (const RunNetwork::Wait& wait : network_.waits(i)) {
      if (wait.source == RunNetwork::kNone) continue;
      const Operation& work = network_.operations()[i];
      const Operation& before = network_.operations()[wait.source];
      const bool isMaker = isMessage(work) ? before.id == graph_.node(work.id).inputs[0]
                                           : isUnlogged(work, wait.source);
      if (isMaker) makers[wait.source] = 1;
    }
  }
  return makers;
}

/// Of jobs and receives whether the job before them on their rank made data for another rank.
RunAgain::LaunchKey RunAgain::launchKeyOf(Index index, Begins begins,
                                          const std::vector<char>& makers) const {
  const Operation& work = network_.operations()[index];
  bool isBehindMaker = false;
  for (const RunNetwork::Wait& wait : network_.waits(index)) {
    if (begins == Begins::kSend || wait.source == RunNetwork::kNone) continue;
    const Operation& before = network_.operations()[wait.source];
    if (before.rank == work.rank && !isMessage(before) && makers[wait.source]) isBehindMaker = true;
  }
  return {launchedBy(index, begins), kindOf(work), isBehindMaker};
}

/// By how much longer than in the median of all other ranks' jobs those of these ranks begin after
/// their last inputs, or their messages are sent, or their receives posted.
RunAgain::Lateness RunAgain::laterThanOthers(const std::vector<int>& ranks, Begins begins,
                                             const std::vector<char>& makers) const {
  std::map<LaunchKey, std::vector<double>> own;
  std::map<JobKind, std::vector<double>> others;
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    if (!isLaunched(i, begins)) continue;
    const Operation& work = network_.operations()[i];
    const bool isIts = std::find(ranks.begin(), ranks.end(),
                                 graph_.ranks()[launchedBy(i, begins)].number) != ranks.end();
    (isIts ? own[launchKeyOf(i, begins, makers)] : others[kindOf(work)]).push_back(work.launch);
  }
  std::map<JobKind, double> usual;
  for (auto& [kind, launches] : others) usual[kind] = medianOf(launches);
  Lateness later;
  for (auto& [key, launches] : own) {
    const auto found = usual.find(std::get<1>(key));
    later[key] = std::max(0.0, medianOf(launches) - (found == usual.end() ? 0 : found->second));
  }
  return later;
}

/// The begins of the steps of all pipelines. Each is as much later as its rank did nothing for
/// longer between the step before and its first compute job than the openings of other pipelines do
/// in that step, in the median of those that are not by `ranks`. Of one pipeline nobody knows what
/// is usual.
std::vector<RunAgain::Opening> RunAgain::openings(const std::vector<int>& ranks) const {
  const std::vector<PipelineBasis>& pipelines = run_.basis().pipelines();
  if (pipelines.size() < 2) return {};
  std::unordered_map<JobGraph::Id, Index> indices;  // of the first compute jobs
  for (const PipelineBasis& pipeline : pipelines) {
    for (const BubbleWindow& window : pipeline.windows) {
      if (window.firstCompute != JobGraph::kNone) indices[window.firstCompute] = RunNetwork::kNone;
    }
  }
  const std::vector<Operation>& operations = network_.operations();
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    if (work_.isCollective(operations[i].id)) continue;
    if (const auto found = indices.find(operations[i].id); found != indices.end()) {
      found->second = i;
    }
  }
  std::vector<Opening> all;
  std::map<std::int32_t, std::vector<double>> usual;  // by step: how long others did nothing
  for (const PipelineBasis& pipeline : pipelines) {
    for (const BubbleWindow& window : pipeline.windows) {
      if (window.firstCompute == JobGraph::kNone) continue;
      Index at = indices.at(window.firstCompute);
      if (at == RunNetwork::kNone) continue;
      Opening opening{.step = window.step, .rank = numberOf(operations[at])};
      const std::size_t step = work_.stepIndexOf(operations[at].id);
      const auto leadsTo = [&](Index i) {
        const Operation& work = operations[i];
        return work.rank == operations[at].rank && !work_.isCollective(work.id) &&
               work_.stepIndexOf(work.id) == step && !isCompute(kindOf(work));
      };
      opening.operations.push_back(at);
      for (Index i = at; i > 0 && leadsTo(i - 1); --i) opening.operations.push_back(i - 1);
      for (const Index i : opening.operations) {
        opening.later += std::max(0.0, operations[i].launch);
      }
      const bool isIts = std::find(ranks.begin(), ranks.end(), opening.rank) != ranks.end();
      if (!isIts) usual[opening.step].push_back(opening.later);
      all.push_back(std::move(opening));
    }
  }
  for (Opening& opening : all) {
    const auto others = usual.find(opening.step);
    const double least = others == usual.end() ? opening.later : lowerMedianOf(others->second);
    opening.later = std::max(0.0, opening.later - least);
  }
  return all;
}

std::vector<int> RunAgain::lateOpenings() const {
  std::map<int, double> later;
  for (const Opening& opening : openings({})) {
    if (counted_.contains(opening.step)) later[opening.rank] += opening.later;
  }
  const MedianStep step = medianStepOf(run_.summary(), counted_);
  const double least =
      kLateOpening * static_cast<double>(step.window) * static_cast<double>(step.count);
  std::vector<int> late;
  for (const auto& [rank, time] : later) {
    if (time > least) late.push_back(rank);
  }
  return late;
}

std::vector<double> RunAgain::launchesOf(const RunChanges& changes) const {
  for (const int rank : changes.usualLaunches) {
    requireRank(rank, "--usual-launch " + std::to_string(rank));
  }
  const std::vector<char> makers =
      changes.usualLaunches.empty() ? std::vector<char>() : makersForOthers();
  std::map<Begins, Lateness> later;
  for (const Begins begins : {Begins::kJob, Begins::kSend, Begins::kReceive}) {
    if (changes.usualLaunches.empty()) break;
    later[begins] = laterThanOthers(changes.usualLaunches, begins, makers);
  }
  const std::vector<double> known =
      changes.leavesOutLaunches ? medianLaunches(Begins::kJob, true) : std::vector<double>();
  std::vector<double> launches;
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    const Operation& work = network_.operations()[i];
    const bool pauses =
        std::binary_search(changes.withoutPauses.begin(), changes.withoutPauses.end(), work.id);
    const bool isLaunch =
        changes.leavesOutLaunches && (!mayWaitForUnlogged(i) || isLaunchedAsOthers(i, known));
    const bool isLeftOut = (isLaunch || pauses) && hasLaunch(i);
    launches.push_back(isLeftOut ? 0 : work.launch);
    for (const auto& [begins, times] : later) {
      if (!(begins == Begins::kJob ? isLaunchedJob(i) : isPostedLast(i, begins))) continue;
      const auto found = times.find(launchKeyOf(i, begins, makers));
      if (found == times.end()) continue;
      launches.back() = std::max(0.0, std::round(launches.back() - found->second));
    }
  }
  if (!changes.usualLaunches.empty()) {
    for (const Opening& opening : openings(changes.usualLaunches)) {
      const bool isIts = std::find(changes.usualLaunches.begin(), changes.usualLaunches.end(),
                                   opening.rank) != changes.usualLaunches.end();
      double left = isIts ? std::round(opening.later) : 0;
      for (const Index i : opening.operations) {
        left -= network_.operations()[i].launch - launches[i];  // what is gone already
      }
      for (const Index i : opening.operations) {
        if (left <= 0) break;
        const double gone = std::clamp(launches[i], 0.0, left);
        launches[i] -= gone;
        left -= gone;
      }
    }
  }
  launches.resize(network_.operations().size());
  return launches;
}

void RunAgain::requireRank(int rank, const std::string& option) const {
  const bool isThere = std::any_of(graph_.ranks().begin(), graph_.ranks().end(),
                                   [&](const auto& each) { return each.number == rank; });
  if (!isThere) refuseChange(option, "the run has no rank " + std::to_string(rank));
}

std::vector<double> RunAgain::durationsOf(const RunChanges& changes) const {
  std::vector<double> durations;
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    durations.push_back(network_.operations()[i].measured);
  }
  for (const IdealSet& set : changes.ideals) makeIdeal(set, durations);
  for (const RunChanges::Optimizer& each : changes.optimizers) scaleOptimizers(each, durations);
  if (!changes.withoutPauses.empty()) leaveOutPauses(changes.withoutPauses, durations);
  if (changes.contended) {
    const auto& [jobs, factor] = *changes.contended;
    for (Index i = 0; i < durations.size(); ++i) {
      const bool isIts = std::ranges::binary_search(jobs, network_.operations()[i].id);
      if (isIts) durations[i] = std::round(durations[i] * factor);
    }
  }
  if (!changes.evenStages.empty()) evenOut(changes.evenStages, durations);
  if (changes.isSteady) makeSteady(durations);
  if (changes.balancesStages) balance(durations);
  for (const RunChanges::Link& link : changes.links) setLink(link, durations);
  for (const ScaleOption& each : changes.scales) scale(each, durations);
  if (!changes.groups.empty()) scaleBetweenJobs(changes.groups, durations);
  addInside(changes, durations);
  return durations;
}

/// Scales the collectives of replicas that are no part of jobs, as the last one of a step.
void RunAgain::scaleBetweenJobs(const std::vector<RunChanges::Group>& groups,
                                std::vector<double>& durations) const {
  std::unordered_map<std::uint32_t, std::vector<int>> members;  // by collective
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    const Operation& work = network_.operations()[i];
    if (work_.isCollective(work.id)) {
      members[work_.collective(work.id).group].push_back(numberOf(work));
    }
  }
  for (auto& [collective, ranks] : members) std::sort(ranks.begin(), ranks.end());
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    const Operation& work = network_.operations()[i];
    if (!work_.isCollective(work.id)) continue;
    for (const RunChanges::Group& group : groups) {
      const bool isIts = group.kind == kindOf(work) && group.axis == GroupAxis::kData &&
                         group.ranks == members.at(work_.collective(work.id).group);
      if (isIts) durations[i] = std::round(durations[i] * group.factor);
    }
  }
}

/// Adds pieces of jobs and what ranks meet in. A piece keeps its share of what its job does itself.
void RunAgain::addInside(const RunChanges& changes, std::vector<double>& durations) const {
  const std::vector<double> ofJobs = durations;
  durations.resize(network_.operations().size());
  for (const RunNetwork::Piece& piece : network_.pieces()) {
    const double own = network_.operations()[piece.job].measured;
    const auto length = static_cast<double>(piece.length);
    const double job = ofJobs[piece.job];
    durations[piece.operation] = job == own || own <= 0 ? length : std::round(length * job / own);
  }
  if (!changes.evenGroups.empty()) evenPeers(changes.evenGroups, durations);
  const InsideJobs& inside = graph_.inside();
  std::unordered_map<InsideJobs::Id, Nanoseconds> beside;
  if (changes.hidesWeights) beside = computeBesideWeights();
  for (const RunNetwork::Meeting& each : network_.meetings()) {
    auto length = static_cast<double>(each.length);
    if (each.meeting != InsideJobs::kNone) {
      const InsideJobs::Set& set = inside.setOf(inside.meetings()[each.meeting]);
      for (const RunChanges::Group& group : changes.groups) {
        const bool isIts =
            group.kind == set.kind && group.axis == set.axis && group.ranks == set.ranks;
        if (isIts) length *= group.factor;
      }
      if (const auto found = beside.find(each.meeting); found != beside.end()) {
        length = std::max(0.0, length - static_cast<double>(found->second));
      }
    }
    durations[each.operation] = std::round(length);
  }
}

/// For how long the rank computes before a gather of weights, since it came to the collective
/// before, or in the job before; and after a scatter, until it comes to the next one, or in the job
/// after. The last scatter of a step holds up the optimizer, and not the message that the job
/// sends: only the first stage, which is last to end, has nothing beside it.
std::unordered_map<InsideJobs::Id, Nanoseconds> RunAgain::computeBesideWeights() const {
  const InsideJobs& inside = graph_.inside();
  std::unordered_map<JobGraph::Id, JobGraph::Id> after;  // by job, of its rank and step
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    const RunWork::Id id = network_.operations()[i].id;
    if (!isCompute(kindOf(network_.operations()[i]))) continue;
    const JobGraph::Node& job = graph_.node(id);
    if (job.before == JobGraph::kNone) continue;
    const JobGraph::Node& before = graph_.node(job.before);
    if (isCompute(before.kind) && before.step == job.step && before.rank == job.rank) {
      after[job.before] = id;
    }
  }
  const auto ownOf = [&](JobGraph::Id job) { return inside.partsOf(job).own; };
  std::unordered_map<InsideJobs::Id, Nanoseconds> beside;
  const auto& pieces = network_.pieces();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const RunNetwork::Piece& piece = pieces[i];
    if (piece.meeting == InsideJobs::kNone) continue;
    const InsideJobs::Set& set = inside.setOf(inside.meetings()[piece.meeting]);
    if (set.axis != GroupAxis::kData) continue;
    const JobGraph::Id job = network_.operations()[piece.job].id;
    Nanoseconds time = 0;
    if (set.kind == JobKind::kAllGather) {
      time = piece.length;
      const JobGraph::Id before = graph_.node(job).before;
      if (time == 0 && after.contains(before)) time = ownOf(before);
    } else if (set.kind == JobKind::kReduceScatter) {
      if (i + 1 < pieces.size() && pieces[i + 1].job == piece.job) time = pieces[i + 1].length;
      const auto next = after.find(job);
      if (time == 0 && next != after.end()) {
        time = ownOf(next->second);
      } else if (time == 0 && graph_.node(job).stage > 0) {
        time = kNsMax;
      }
    }
    beside.emplace(piece.meeting, time);
  }
  return beside;
}

/// What leads to collectives of these groups takes the mean of all ranks at that place. Groups that
/// have ranks in common share one load, as those of experts over replicas whose ranks are
/// tensor-parallel peers.
void RunAgain::evenPeers(const std::vector<std::vector<int>>& groups,
                         std::vector<double>& durations) const {
  std::map<int, int> parent;  // of ranks, to the first of those that share a load
  const auto firstOf = [&](int rank) {
    while (parent.at(rank) != rank) rank = parent.at(rank);
    return rank;
  };
  for (const std::vector<int>& group : groups) {
    for (const int rank : group) {
      parent.try_emplace(rank, rank);
      const int a = firstOf(group.front());
      const int b = firstOf(rank);
      parent[std::max(a, b)] = std::min(a, b);
    }
  }
  const InsideJobs& inside = graph_.inside();
  const auto isShared = [&](const RunNetwork::Piece& piece) {
    if (piece.meeting == InsideJobs::kNone) return false;
    const std::vector<int>& ranks = inside.setOf(inside.meetings()[piece.meeting]).ranks;
    return std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
      return parent.contains(rank) && firstOf(rank) == firstOf(ranks.front());
    });
  };
  using Place = std::tuple<int, std::int32_t, std::int32_t, std::int32_t, JobKind, std::int16_t,
                           std::uint16_t>;
  const auto placeOf = [&](const RunNetwork::Piece& piece, InsideJobs::Id next) {
    const Operation& work = network_.operations()[piece.job];
    const JobGraph::Node& job = graph_.node(work.id);
    return Place{firstOf(numberOf(work)),
                 job.step,
                 job.microBatch,
                 job.stage,
                 job.kind,
                 job.event->part,
                 inside.meetings()[next].place};
  };
  // The collective that each piece leads to, be it after others. Pieces of a job are in order.
  const auto& pieces = network_.pieces();
  std::vector<InsideJobs::Id> next(pieces.size(), InsideJobs::kNone);
  for (std::size_t i = pieces.size(); i-- > 0;) {
    const bool goesOn = i + 1 < pieces.size() && pieces[i + 1].job == pieces[i].job;
    next[i] = isShared(pieces[i]) ? pieces[i].meeting : goesOn ? next[i + 1] : InsideJobs::kNone;
  }
  std::map<Place, std::map<int, double>> times;  // by rank
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (next[i] == InsideJobs::kNone) continue;
    times[placeOf(pieces[i], next[i])][numberOf(network_.operations()[pieces[i].job])] +=
        durations[pieces[i].operation];
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (next[i] == InsideJobs::kNone) continue;
    const std::map<int, double>& ofRanks = times.at(placeOf(pieces[i], next[i]));
    double sum = 0;
    for (const auto& [rank, time] : ofRanks) sum += time;
    const double own = ofRanks.at(numberOf(network_.operations()[pieces[i].job]));
    double& length = durations[pieces[i].operation];
    const double share = own > 0 ? length / own : 0;
    length = std::round(share * sum / static_cast<double>(ofRanks.size()));
  }
}

void RunAgain::makeIdeal(const IdealSet& set, std::vector<double>& durations) const {
  using Of = IdealSet::Of;
  const std::string option = "--make-ideal " + set.text;
  std::set<int> worst;
  if (set.of == Of::kWorst) {
    Slowdown slowdown = slowdownOf(run_.timeline(), graph_, run_.topology(), {}, run_.threads());
    if (!slowdown.reason.empty()) refuseChange(option, slowdown.reason);
    std::stable_sort(slowdown.ranks.begin(), slowdown.ranks.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    const auto all = static_cast<double>(slowdown.ranks.size());
    const auto count = static_cast<std::size_t>(std::ceil(all * set.share - 1e-9));
    for (std::size_t i = 0; i < count; ++i) worst.insert(slowdown.ranks[i].number);
  }
  const auto isIn = [&](const Operation& work) {
    switch (set.of) {
      case Of::kStage: return stageOf(work) == set.number;
      case Of::kRank: return numberOf(work) == set.number;
      case Of::kReplica:
        return run_.topology().dataParallelIndex(graph_.ranks()[work.rank].replica) == set.number;
      case Of::kKind:
        return std::find(set.kinds.begin(), set.kinds.end(), kindOf(work)) != set.kinds.end();
      case Of::kWorst: return worst.contains(numberOf(work));
      case Of::kAll: return true;
    }
    return false;
  };
  bool isThere = false;
  for (Index i = 0; i < durations.size(); ++i) {
    if (!isIn(network_.operations()[i])) continue;
    isThere = true;
    durations[i] = std::round(network_.operations()[i].ideal);
  }
  if (!isThere) refuseChange(option, "the run has no such work");
}

namespace {

/// Durations that are added up.
struct Sum {
  double time = 0;
  double count = 0;
  double mean() const { return time / count; }
};

}  // namespace

/// The mean of a stage, in the steps that count, becomes that of all stages with such jobs. A stage
/// whose micro-batches n ranks share may take n times as long.
void RunAgain::balance(std::vector<double>& durations) const {
  using Key = std::tuple<JobKind, std::int16_t, std::int32_t>;  // with the part and the stage
  const auto keyOf = [&](const Operation& work) {
    return Key{kindOf(work), work_.event(work.id).part, stageOf(work)};
  };
  const auto isBalanced = [&](const Operation& work) {
    return isCompute(kindOf(work)) && stageOf(work) >= 0;
  };
  std::map<Key, Sum> sums;
  for (Index i = 0; i < durations.size(); ++i) {
    const Operation& work = network_.operations()[i];
    if (!isBalanced(work) || !counted_.contains(work_.event(work.id).step)) continue;
    Sum& sum = sums[keyOf(work)];
    sum.time += durations[i];
    ++sum.count;
  }
  if (sums.empty()) refuseChange("--balance stages", "the jobs of the run name no stages");
  std::map<std::pair<JobKind, std::int16_t>, Sum> means;  // over stages
  for (const auto& [key, sum] : sums) {
    Sum& mean = means[{std::get<0>(key), std::get<1>(key)}];
    mean.time += sum.mean() / graph_.turnsOf(std::get<2>(key));
    ++mean.count;
  }
  for (Index i = 0; i < durations.size(); ++i) {
    const Operation& work = network_.operations()[i];
    const auto sum = isBalanced(work) ? sums.find(keyOf(work)) : sums.end();
    if (sum == sums.end() || sum->second.time <= 0) continue;
    const double target =
        means[{kindOf(work), work_.event(work.id).part}].mean() * graph_.turnsOf(stageOf(work));
    durations[i] = std::round(durations[i] * target / sum->second.mean());
  }
}

namespace {

/// Durations that vary by chance, and what they are without it.
struct Varying {
  double time = 0;
  double squares = 0;
  double count = 0;
  double steady = 0;

  double mean() const { return time / count; }
  /// Of the mean, as a square; 0 for one duration.
  double error() const {
    return count > 1 ? std::max(0.0, squares / count - mean() * mean()) / (count - 1) : 0;
  }
};

/// Means of few durations differ by chance: each comes as much closer to the mean of all as the
/// part of their variance that this explains (the positive-part estimator of James and Stein).
void shrink(const std::vector<Varying*>& alike) {
  Varying all;
  double errors = 0;
  for (const Varying* const each : alike) {
    all.time += each->time;
    all.count += each->count;
    errors += each->error();
  }
  const auto count = static_cast<double>(alike.size());
  double variance = 0;
  for (const Varying* const each : alike) {
    variance +=
        (each->mean() - all.mean()) * (each->mean() - all.mean()) / std::max(1.0, count - 1);
  }
  const double own = variance > 0 ? std::max(0.0, 1 - errors / count / variance) : 1;
  for (Varying* const each : alike) {
    each->steady = std::round(all.mean() + own * (each->mean() - all.mean()));
  }
}

}  // namespace

void RunAgain::makeSteady(std::vector<double>& durations) const {
  // Of jobs the kind, part, rank and stage, of messages both ranks.
  using Alike = std::tuple<JobKind, std::int16_t, int, int>;
  std::map<Alike, Varying> sums;
  std::vector<Varying*> sumOf(network_.wholeCount(), nullptr);
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    const Operation& work = network_.operations()[i];
    if (work_.isCollective(work.id) || !counted_.contains(work_.event(work.id).step)) continue;
    if (isMessage(work)) {
      const auto [from, to] = ranksOf(work);
      sumOf[i] = &sums[{JobKind::kSendForward, kNotGiven, from, to}];
    } else if (isCompute(kindOf(work))) {
      sumOf[i] = &sums[{kindOf(work), work_.event(work.id).part, numberOf(work), stageOf(work)}];
    } else {
      continue;
    }
    sumOf[i]->time += durations[i];
    sumOf[i]->squares += durations[i] * durations[i];
    ++sumOf[i]->count;
  }
  std::map<std::pair<JobKind, std::int16_t>, std::vector<Varying*>> alike;
  for (auto& [key, sum] : sums) alike[{std::get<0>(key), std::get<1>(key)}].push_back(&sum);
  for (const auto& [kind, list] : alike) shrink(list);
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    if (sumOf[i] != nullptr) durations[i] = sumOf[i]->steady;
  }
}

/// How long a micro-batch is, over the mean of its step and pipeline, is how much longer than usual
/// there its jobs on all these stages are together. Its jobs become shorter by that, and vary among
/// themselves as they did.
void RunAgain::evenOut(const std::vector<int>& stages, std::vector<double>& durations) const {
  using Alike = std::tuple<std::size_t, std::uint32_t, std::int32_t, JobKind, std::int16_t>;
  using MicroBatch = std::tuple<std::size_t, int, std::int32_t>;  // step, replica, number
  struct Job {
    Index index;
    Alike alike;
    MicroBatch microBatch;
  };
  std::map<Alike, Sum> usual;
  std::vector<Job> jobs;
  for (Index i = 0; i < durations.size(); ++i) {
    const Operation& work = network_.operations()[i];
    if (!isCompute(kindOf(work))) continue;
    if (std::find(stages.begin(), stages.end(), stageOf(work)) == stages.end()) continue;
    const Event& event = work_.event(work.id);
    const std::size_t step = work_.stepIndexOf(work.id);
    jobs.push_back({i,
                    {step, work.rank, stageOf(work), kindOf(work), event.part},
                    {step, graph_.ranks()[work.rank].replica, event.microBatch}});
    Sum& sum = usual[jobs.back().alike];
    sum.time += durations[i];
    ++sum.count;
  }
  std::map<MicroBatch, std::pair<double, double>> lengths;  // its time, and the usual
  for (const Job& job : jobs) {
    auto& [own, mean] = lengths[job.microBatch];
    own += durations[job.index];
    mean += usual[job.alike].mean();
  }
  for (const Job& job : jobs) {
    const auto& [own, mean] = lengths[job.microBatch];
    if (own > 0) durations[job.index] = std::round(durations[job.index] * mean / own);
  }
}

void RunAgain::leaveOutPauses(const std::vector<JobGraph::Id>& jobs,
                              std::vector<double>& durations) const {
  const MedianDurations usual(graph_, run_.threads(), counted_);
  for (Index i = 0; i < durations.size(); ++i) {
    const Operation& work = network_.operations()[i];
    if (!std::binary_search(jobs.begin(), jobs.end(), work.id)) continue;
    durations[i] = std::min(durations[i], static_cast<double>(usual.median(work.id)));
  }
}

void RunAgain::scaleOptimizers(const RunChanges::Optimizer& of,
                               std::vector<double>& durations) const {
  for (Index i = 0; i < durations.size(); ++i) {
    const Operation& work = network_.operations()[i];
    const bool isIts = numberOf(work) == of.rank && kindOf(work) == JobKind::kOptimizer;
    if (isIts) durations[i] *= of.factor;
  }
}

void RunAgain::setLink(const RunChanges::Link& link, std::vector<double>& durations) const {
  for (const int rank : {link.rank, link.peer}) requireRank(rank, link.text);
  bool isThere = false;
  for (Index i = 0; i < durations.size(); ++i) {
    if (!isOnLink(network_.operations()[i], link.rank, link.peer)) continue;
    isThere = true;
    durations[i] = static_cast<double>(link.time);
  }
  if (isThere) return;
  refuseChange(link.text, "the logs have no message between ranks " + std::to_string(link.rank) +
                              " and " + std::to_string(link.peer));
}

void RunAgain::scale(const ScaleOption& scale, std::vector<double>& durations) const {
  using Of = ScaleOption::Of;
  const std::string option = "--scale " + scale.text;
  if (scale.of == Of::kRank) requireRank(scale.number, option);
  if (scale.of == Of::kLink) {
    for (const int rank : {scale.number, scale.peer}) requireRank(rank, option);
  }
  const auto isIn = [&](const Operation& work) {
    switch (scale.of) {
      case Of::kStage: return isCompute(kindOf(work)) && stageOf(work) == scale.number;
      case Of::kRank: return isCompute(kindOf(work)) && numberOf(work) == scale.number;
      case Of::kLink: return isOnLink(work, scale.number, scale.peer);
      case Of::kKind: return scale.covers(kindOf(work));
    }
    return false;
  };
  bool isThere = false;
  for (Index i = 0; i < durations.size(); ++i) {
    if (!isIn(network_.operations()[i])) continue;
    isThere = true;
    if (durations[i] > 0) {
      durations[i] = static_cast<double>(scale.scaled(static_cast<Nanoseconds>(durations[i])));
    }
  }
  if (isThere) return;
  std::set<int> stages;
  for (const Operation& work : network_.operations()) {
    if (scale.of == Of::kStage && isCompute(kindOf(work)) && stageOf(work) >= 0) {
      stages.insert(stageOf(work));
    }
  }
  refuseChange(option, "the logs of the run have no such work" +
                           (stages.empty() ? ""
                                           : "; its stages are " +
                                                 numbersText({stages.begin(), stages.end()})));
}

Timeline RunAgain::run(const RunChanges& changes, bool withInside) const {
  const std::vector<double> durations = durationsOf(changes);
  const std::vector<double> launches = launchesOf(changes);
  const std::vector<Operation>& operations = network_.operations();
  using Row = RunTimes<1>::Row;
  const auto indexOf = [&](const Operation& work) {
    return static_cast<std::size_t>(&work - &operations[0]);
  };
  const auto hasInput = [&](Index index) {
    const auto waits = network_.waits(index);
    return std::any_of(waits.begin(), waits.end(),
                       [](const auto& wait) { return wait.source != RunNetwork::kNone; });
  };
  RunTimes<1> times(network_);
  times.run([&](const Operation& work) { return Row{durations[indexOf(work)]}; },
            [&](const Operation& work) { return Row{launches[indexOf(work)]}; },
            [&](const Operation& work) {
              return hasInput(static_cast<Index>(indexOf(work)))
                         ? std::numeric_limits<double>::lowest()
                         : 0.0;
            });
  const auto timeOf = [&](double time) {
    return network_.origin() + static_cast<Nanoseconds>(std::llround(time));
  };
  std::vector<MovedEvents::Operation> moved;
  moved.reserve(network_.wholeCount());
  for (Index i = 0; i < network_.wholeCount(); ++i) {
    double ready = hasInput(i) ? std::numeric_limits<double>::lowest() : 0.0;
    for (const RunNetwork::Wait& wait : network_.waits(i)) {
      if (wait.source != RunNetwork::kNone) ready = std::max(ready, times.end(wait.source)[0]);
    }
    moved.push_back({.node = work_.nodeOf(operations[i].id),
                     .begin = timeOf(ready + launches[i]),
                     .end = timeOf(times.end(network_.lastOf(i))[0])});
  }
  std::vector<MovedEvents::Point> inside;
  if (withInside) inside.reserve(2 * network_.pieces().size());
  for (const RunNetwork::Piece& piece : network_.pieces()) {
    if (!withInside) break;
    const double end = times.end(piece.operation)[0];
    const int rank = numberOf(operations[piece.job]);
    inside.push_back({rank, piece.begin, timeOf(end - durations[piece.operation])});
    inside.push_back({rank, piece.begin + piece.length, timeOf(end)});
  }
  return MovedEvents(run_.timeline(), graph_).moved(moved, inside);
}

Nanoseconds largestDifference(const Timeline& one, const Timeline& other) {
  Nanoseconds most = 0;
  auto beside = other.tracks.begin();
  for (const Track& track : one.tracks) {
    if (track.lane == kBubbleLane) continue;
    while (beside != other.tracks.end() && beside->lane == kBubbleLane) ++beside;
    if (beside == other.tracks.end() || beside->events.size() != track.events.size()) return kNsMax;
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      most = std::max({most, std::abs(track.events[i].begin - beside->events[i].begin),
                       std::abs(track.events[i].end - beside->events[i].end)});
    }
    ++beside;
  }
  return most;
}

}  // namespace pipetrace
