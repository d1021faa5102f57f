#include "analysis/run/waits/run_network.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace pipetrace {

RunNetwork::Operation RunNetwork::operationOf(const RunWork& runWork, RunWork::Id id) {
  return {.measured = runWork.measured(id),
          .ideal = runWork.ideal(id),
          .id = id,
          .rank = runWork.rankOf(id),
          .stage = runWork.stageOf(id),
          .set = runWork.setOf(id)};
}

RunNetwork::RunNetwork(const JobGraph& graph, const RunWork& runWork, std::size_t first,
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
  wholeCount_ = operations_.size();
  if (rules.keepsLaunches) {
    cutJobs(graph, runWork);
    addStepEnds(runWork);
  }
  network_.reserve(operations_.size(), 2 * operations_.size());
  network_.add(operations_.size());
  if (rules.keepsLaunches) ready_.assign(operations_.size(), kNsMin);
  addWaits(graph, runWork);
  if (messagesAreOperations_) addWaitsOfMessages(graph, runWork, areInLine);
  addWaitsOfPieces();
  if (rules.keepsLaunches) {
    addWaitsForLaunches(graph, runWork, areInLine);
    for (const auto& [work, meeting] : afterMeetings_) network_.waitToo(work, {meeting});
  }
  groupOperations(runWork);
  network_.orderBy([&](Index work) {
    return work < wholeCount_ ? runWork.beginOf(operations_[work].id)
                              : insideBegins_[work - wholeCount_];
  });
  if (rules.keepsLaunches) {
    findLaunches(runWork);
  } else {
    findCoupled(graph);
  }
}

RunNetwork::RunNetwork(const JobGraph& graph, const StepJobs& jobs, const MedianDurations& times,
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
  network_.reserve(ofStep.size(), 2 * ofStep.size());
  network_.add(ofStep.size());
  for (std::size_t position = 0; position < jobs.rankCount(); ++position) {
    const std::span<const JobGraph::Id> ofRank = jobs.jobs(step, position);
    for (const JobGraph::Id& job : ofRank) {
      const auto index = static_cast<Index>(&job - ofStep.data());
      if (&job != ofRank.data()) network_.wait(index, {index - 1});
      for (int i = 0; i < 2; ++i) {
        const JobGraph::Id producer = graph.producer(job, i);
        if (producer == JobGraph::kNone || jobs.stepOf(producer) != number) continue;
        network_.wait(index, {.source = indexOf(producer), .reason = WaitReason::kMessage});
      }
    }
    if (!ofRank.empty()) lastJobs_.push_back(static_cast<Index>(&ofRank.back() - ofStep.data()));
  }
  network_.orderBy([&](Index work) { return graph.node(operations_[work].id).event->begin; });
  isCoupled_.assign(operations_.size(), 0);
}

/// kNone for operations of other steps.
RunNetwork::Index RunNetwork::indexOf(const RunWork& runWork, RunWork::Id work) const {
  const std::size_t step = runWork.stepIndexOf(work);
  if (step < firstStep_ || step - firstStep_ + 1 >= firstOfStep_.size()) return kNone;
  return firstOfStep_[step - firstStep_] + runWork.indexInStep(work);
}

void RunNetwork::addOperations(const RunWork& runWork, std::size_t step) {
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
void RunNetwork::addMessages(const JobGraph& graph, const RunWork& runWork) {
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

void RunNetwork::wait(const RunWork& runWork, Index work, const Wait& wait) {
  Wait atEnd = wait;
  if (wait.source != kNone) atEnd.source = lastOf(wait.source);
  network_.wait(work, atEnd);
  if (ready_.empty() || wait.source == kNone) return;
  ready_[work] = std::max(ready_[work], runWork.endOf(operations_[wait.source].id));
}

void RunNetwork::addWaits(const JobGraph& graph, const RunWork& runWork) {
  std::vector<Index> latest(runWork.rankCount(), kNone);  // in the chain of each rank
  for (std::size_t step = firstStep_; step - firstStep_ + 1 < firstOfStep_.size(); ++step) {
    addWaitsOfStep(graph, runWork, step, latest);
    if (stepEnds_.empty()) continue;
    for (const Index last : latest) {
      if (last != kNone) insideWaits_.push_back({stepEnds_[step - firstStep_], lastOf(last)});
    }
  }
  for (const Index last : latest) {
    if (last != kNone) lastJobs_.push_back(lastOf(last));
  }
}

void RunNetwork::addWaitsOfStep(const JobGraph& graph, const RunWork& runWork, std::size_t step,
                                std::vector<Index>& latest) {
  Index index = firstOfStep_[step - firstStep_];
  for (std::size_t r = 0; r < runWork.rankCount(); ++r) {
    const auto free = runWork.collectives(step, r);
    RunWork::Id latestOf[2] = {RunWork::kNone, RunWork::kNone};  // backward, forward
    bool isFirst = !stepEnds_.empty() && step > firstStep_;
    for (const RunWork::Id work : runWork.chain(step, r)) {
      const Index own = index++;
      if (latest[r] != kNone) wait(runWork, own, {latest[r]});
      if (std::exchange(isFirst, false)) wait(runWork, own, {stepEnds_[step - firstStep_ - 1]});
      latest[r] = own;
      for (const RunWork::Collective& each : free) {
        if (each.next != work) continue;
        wait(runWork, own, {.source = indexOf(runWork, runWork.idOf(each))});
      }
      if (runWork.isCollective(work)) continue;
      const JobKind kind = graph.node(work).kind;
      if (loadsData(kind) && messagesAreOperations_) {
        for (const RunWork::Id input : graph.node(work).inputs) {
          if (input == RunWork::kNone) continue;
          const bool isMessage = graph.node(input).isMessage;
          const Index source =
              isMessage ? messageIndex_[input - graph.jobCount()] : indexOf(runWork, input);
          if (source != kNone)
            wait(runWork, own, {.source = source, .reason = WaitReason::kMessage});
        }
      }
      if (!isCompute(kind)) continue;
      RunWork::Id& sameDirection = latestOf[kind == JobKind::kForward ? 1 : 0];
      addData(graph, runWork, work, own, sameDirection);
      sameDirection = work;
    }
    for (const RunWork::Collective& each : free) {
      if (each.isChained) continue;
      const Index own = index++;
      for (const RunWork::Id before : each.before) {
        if (before != RunWork::kNone) wait(runWork, own, {indexOf(runWork, before)});
      }
    }
  }
}

/// Adds the end of each step on all ranks, unless the next one begins before it anywhere.
void RunNetwork::addStepEnds(const RunWork& runWork) {
  const std::size_t steps = firstOfStep_.size() - 1;
  if (steps < 2 || runWork.isNumbered()) return;
  std::vector<RunWork::Id> last(steps, RunWork::kNone);
  std::vector<Nanoseconds> begins(steps, kNsMax);
  for (std::size_t step = 0; step < steps; ++step) {
    for (Index i = firstOfStep_[step]; i < firstOfStep_[step + 1]; ++i) {
      const RunWork::Id id = operations_[i].id;
      begins[step] = std::min(begins[step], runWork.beginOf(id));
      const bool isLater =
          last[step] == RunWork::kNone || runWork.endOf(id) > runWork.endOf(last[step]);
      if (isLater) last[step] = id;
    }
    const bool overlaps =
        last[step] == RunWork::kNone || (step > 0 && begins[step] < runWork.endOf(last[step - 1]));
    if (overlaps) return;
  }
  for (const RunWork::Id id : last) {
    stepEnds_.push_back(addInside(runWork, id, runWork.endOf(id)));
  }
}

/// Adds what a job waits for from other ranks. `sameDirection`: the job of its direction before it
/// on its rank.
void RunNetwork::addData(const JobGraph& graph, const RunWork& runWork, RunWork::Id job, Index own,
                         RunWork::Id sameDirection) {
  constexpr WaitReason kReason = WaitReason::kMessage;
  for (const RunWork::Id input : graph.node(job).inputs) {
    if (input == RunWork::kNone) continue;
    if (!graph.node(input).isMessage) {
      wait(runWork, own, {.source = indexOf(runWork, input), .reason = kReason});
      continue;
    }
    const RunWork::Id gate = runWork.isNumbered() ? sameDirection : runWork.postedAfter(input);
    const Index gateIndex = gate != RunWork::kNone ? indexOf(runWork, gate) : kNone;
    const std::size_t place = input - graph.jobCount();
    if (messagesAreOperations_ && messageIndex_[place] != kNone) {
      messageGates_[place] = gateIndex;
      wait(runWork, own, {.source = messageIndex_[place], .reason = kReason});
      continue;
    }
    // The message is the lag of what it waits for itself.
    Index source = kNone;
    if (runWork.waitsForSender(input) && graph.node(input).inputs[0] != RunWork::kNone) {
      source = indexOf(runWork, graph.node(input).inputs[0]);
    }
    const auto message = static_cast<Index>(messages_.size());
    messages_.push_back(operationOf(runWork, input));
    wait(runWork, own, {source, message, kReason});
    if (gateIndex != kNone) wait(runWork, own, {gateIndex, message, WaitReason::kReceive});
  }
}

/// A message waits for the job that made its data, and for the one after which its receive was
/// posted. It also waits for the messages before it on the lines of both its ends.
void RunNetwork::addWaitsOfMessages(const JobGraph& graph, const RunWork& runWork, bool areInLine) {
  for (std::size_t place = 0; place < messageIndex_.size(); ++place) {
    const Index own = messageIndex_[place];
    if (own == kNone) continue;
    const RunWork::Id id = operations_[own].id;
    const auto waitFor = [&](Index source, WaitReason reason) {
      if (source == kNone || source == own) return;
      wait(runWork, own, {.source = source, .reason = reason});
    };
    const RunWork::Id producer = graph.node(id).inputs[0];
    if (runWork.waitsForSender(id) && producer != RunWork::kNone) {
      waitFor(indexOf(runWork, producer), WaitReason::kMaker);
    }
    if (const Index gate = messageGates_[place]; gate != kNone) {
      // Where a receive stands on a line, the one before it there may be what it waited for.
      const RunWork::Id before = areInLine ? graph.lineEnd(graph.receiveOf(id)).before
                                           : static_cast<RunWork::Id>(JobGraph::kNone);
      const bool hasTurn = before != JobGraph::kNone &&
                           graph.eventOf(before).end > runWork.endOf(operations_[gate].id);
      if (!hasTurn) waitFor(gate, WaitReason::kReceive);
    }
    if (!areInLine) continue;
    for (const RunWork::Id end : {graph.sendOf(id), graph.receiveOf(id)}) {
      const RunWork::Id before = graph.lineEnd(end).before;
      if (before == JobGraph::kNone) continue;
      waitFor(messageIndex_[graph.messageOf(before) - graph.jobCount()], WaitReason::kLine);
    }
  }
}

/// Members of a collective begin together.
void RunNetwork::groupOperations(const RunWork& runWork) {
  std::unordered_map<std::uint32_t, Index> first;
  for (Index i = 0; i < wholeCount_; ++i) {
    if (!runWork.isCollective(operations_[i].id)) continue;
    const auto [found, isNew] = first.try_emplace(runWork.collective(operations_[i].id).group, i);
    if (!isNew) network_.beginTogether(i, found->second);
  }
  for (const auto& [meeting, other] : together_) network_.beginTogether(meeting, other);
}

void RunNetwork::findCoupled(const JobGraph& graph) {
  isCoupled_.assign(operations_.size(), 0);
  if (graph.pipelines().size() < 2) return;
  const auto replicaOf = [&](Index work) { return graph.ranks()[operations_[work].rank].replica; };
  for (const WaitNetwork::Group& group : network_.groups()) {
    const auto members = network_.members(group);
    bool waits = false;
    bool isShared = false;
    bool isCoupled = false;
    for (const Index member : members) {
      isShared = isShared || replicaOf(member) != replicaOf(members.front());
      for (const Wait& wait : network_.waits(member)) {
        if (wait.source == kNone) continue;
        waits = true;
        isCoupled = isCoupled || this->isCoupled(wait.source);
      }
    }
    // All members can begin a step's first group at once, whoever they are.
    if (!isCoupled && !(isShared && waits)) continue;
    for (const Index member : members) isCoupled_[member] = 1;
  }
}

// How much later than their last inputs operations began, where launches are kept.

/// Adds to what begins late the last work of its ranks that had ended, if that explains more.
void RunNetwork::addWaitsForLaunches(const JobGraph& graph, const RunWork& runWork,
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
  // Those at which a message may have waited to be posted: its sender, if it began as that did so.
  // A receive may be posted late for what its rank waited for meanwhile, from either of them, and
  // ranks without a thread for messages see them when they are free. In runs of the study ends do
  // not say when they were posted.
  const auto latePostersOf = [&](Index message) {
    std::array<std::uint32_t, 2> ranks = ranksOf(message);
    const RunWork::Id id = operations_[message].id;
    const bool isKnown = !runWork.isNumbered() && graph.message(id).receive != nullptr;
    if (isKnown && isPostedBySender(graph, id)) ranks[0] = ranks[1];
    return ranks;
  };
  using Ended = std::vector<std::pair<Nanoseconds, Index>>;
  std::vector<Ended> jobs(runWork.rankCount());
  std::vector<Ended> messages(runWork.rankCount());
  for (Index i = 0; i < wholeCount_; ++i) {
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
  // How late the messages of a rank are that it posts last: in all, and since its last job had
  // ended. A rank that sends late whatever else it does sends no sooner for jobs that end
  // meanwhile.
  struct Delays {
    double all = 0;
    double sinceJob = 0;
  };
  std::vector<Delays> delays(runWork.rankCount());
  std::vector<std::pair<Index, Index>> late;  // and what it may have waited for
  for (Index i = 0; i < wholeCount_; ++i) {
    const Nanoseconds ready = ready_[i];
    const RunWork::Id id = operations_[i].id;
    const Nanoseconds begin = runWork.beginOf(id);
    if (runWork.isCollective(id) || ready == kNsMin || ready >= begin) continue;
    if (!isMessage(i) && !runWork.isNumbered()) continue;
    if (isMessage(i) && areInLine && graph.isOnLine(id)) continue;
    std::pair<Nanoseconds, Index> found{kNsMin, kNone};
    const auto ranks = isMessage(i) ? latePostersOf(i) : ranksOf(i);
    for (const std::uint32_t rank : ranks) {
      found = std::max(found, latest(isMessage(i) ? jobs[rank] : messages[rank], begin));
    }
    if (isMessage(i) && ranks[0] == ranks[1]) {
      delays[ranks[0]].all += static_cast<double>(begin - ready);
      delays[ranks[0]].sinceJob += static_cast<double>(begin - std::max(ready, found.first));
    }
    if (found.first > ready && found.second != i) late.emplace_back(i, found.second);
  }
  for (const auto& [work, before] : late) {
    const auto ranks = isMessage(work) ? latePostersOf(work) : ranksOf(work);
    const Delays& ofRank = delays[ranks[0]];
    const bool isLateAnyway =
        isMessage(work) && ranks[0] == ranks[1] && 2 * ofRank.sinceJob > ofRank.all;
    if (!isLateAnyway) network_.waitToo(work, {lastOf(before)});
  }
}

/// Times are exact: whole nanoseconds below 2^53.
void RunNetwork::findLaunches(const RunWork& runWork) {
  isCoupled_.assign(operations_.size(), 0);
  origin_ = kNsMax;
  for (const Operation& work : operations_) origin_ = std::min(origin_, runWork.beginOf(work.id));
  for (const WaitNetwork::Group& group : network_.groups()) {
    Nanoseconds begin = kNsMin;  // of all members
    if (network_.members(group).front() >= wholeCount_) continue;
    for (const Index member : network_.members(group)) {
      Operation& work = operations_[member];
      const Nanoseconds own = runWork.beginOf(work.id);
      begin = std::max(begin, own);
      Nanoseconds ready = kNsMin;
      for (const Wait& wait : waits(member)) {
        if (wait.source == kNone) continue;
        const auto meeting = meetingEnds_.find(wait.source);
        ready = std::max(ready, meeting != meetingEnds_.end()
                                    ? meeting->second
                                    : runWork.endOf(operations_[wait.source].id));
      }
      work.launch = static_cast<double>(own - (ready == kNsMin ? origin_ : ready));
    }
    for (const Index member : network_.members(group)) {
      // Below 0 by what clocks are apart.
      operations_[member].measured =
          static_cast<double>(runWork.endOf(operations_[member].id) - begin);
    }
  }
  // Of a job in which ranks meet, what it does itself.
  std::unordered_map<Index, Nanoseconds> own;
  for (const Piece& piece : pieces_) own[piece.job] += piece.length;
  for (const auto& [job, time] : own) {
    // The ideal is of jobs with what their collectives move, which are operations of their own.
    Operation& work = operations_[job];
    const Nanoseconds moving = lengths_.at(job) - time;
    work.measured = static_cast<double>(time);
    work.ideal = std::max(0.0, work.ideal - static_cast<double>(moving));
  }
}

// Jobs in which ranks meet.

namespace {

/// Times of traces are rounded: a kernel may seem to begin before the collective ends that it
/// waited for.
constexpr Nanoseconds kRounding = kNsPerUs;

/// A point in a job at which it starts a collective, or waits for one to end.
struct InsideMark {
  Nanoseconds time = 0;
  Nanoseconds until = 0;  // of a wait
  InsideJobs::Id meeting = InsideJobs::kNone;
  bool isWait = false;

  bool operator<(const InsideMark& other) const {
    if (time != other.time) return time < other.time;
    if (isWait != other.isWait) return !isWait;
    return meeting < other.meeting;
  }
};

/// Collectives that a rank runs one after the other, as those of one group are, and when each was
/// started. One that begins as soon as the one before it has ended may have been started long
/// before: then it was where those of its place in other jobs are started that had no other in
/// front.
class CollectiveStreams {
 public:
  using Id = JobGraph::Id;

  explicit CollectiveStreams(const JobGraph& graph) : graph_(graph), inside_(graph.inside()) {
    const auto meetings = inside_.meetings();
    std::map<std::pair<std::vector<int>, GroupAxis>, std::uint32_t> numbers;
    for (const InsideJobs::Set& set : inside_.sets()) {
      const auto number = static_cast<std::uint32_t>(numbers.size());
      ofSet_.push_back(numbers.try_emplace({set.ranks, set.axis}, number).first->second);
    }
    hasQueue_.assign(numbers.size(), 0);
    before_.assign(meetings.size(), kNone);
    isQueued_.assign(meetings.size(), 0);
    // Those of a rank stand together.
    std::vector<Id> order(meetings.size());
    std::iota(order.begin(), order.end(), Id{0});
    const auto keyOf = [&](Id m) {
      return std::tuple(graph.node(meetings[m].job).rank, meetings[m].begin);
    };
    std::stable_sort(order.begin(), order.end(), [&](Id a, Id b) { return keyOf(a) < keyOf(b); });
    std::vector<Id> last(numbers.size(), kNone);
    std::map<std::pair<std::uint32_t, JobKind>, Id> alike;  // the one before of a stream and kind
    nth_.assign(meetings.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Id m = order[i];
      const bool isNewRank =
          i > 0 && graph.node(meetings[order[i - 1]].job).rank != graph.node(meetings[m].job).rank;
      if (isNewRank) {
        std::fill(last.begin(), last.end(), kNone);
        alike.clear();
      }
      const std::uint32_t stream = ofSet_[meetings[m].set];
      place(m, std::exchange(last[stream], m));
      const auto [before, isFirst] =
          alike.try_emplace({stream, inside_.setOf(meetings[m]).kind}, kNone);
      const Id other = std::exchange(before->second, m);
      const bool goesOn =
          other != kNone && inside_.starterOf(meetings[other]) == inside_.starterOf(meetings[m]);
      if (goesOn) nth_[m] = static_cast<std::uint16_t>(nth_[other] + 1);
    }
    for (Id m = 0; m < meetings.size(); ++m) {
      if (isQueued(m) || !isInLine(m)) continue;
      const Id starter = inside_.starterOf(meetings[m]);
      if (starter == kNone) continue;
      const Nanoseconds since = meetings[m].begin - graph.node(starter).begin;
      const auto [least, isNew] = least_.try_emplace(placeOf(m, starter), since);
      least->second = std::min(least->second, since);
    }
  }

  /// Whether it is of a group of which any collective had to wait for the one before it.
  bool isInLine(Id m) const { return hasQueue_[ofSet_[inside_.meetings()[m].set]] != 0; }
  /// The one before it; kNone: there is none, or they overlap.
  Id before(Id m) const { return before_[m]; }
  /// Whether it began as soon as that had ended, and did not wait for anything that this one held
  /// up.
  bool isQueued(Id m) const { return isQueued_[m] != 0; }
  /// When a queued one was started, no later than it began.
  Nanoseconds startOf(Id m, Id starter) const {
    const InsideJobs::Meeting& each = inside_.meetings()[m];
    const JobGraph::Node& job = graph_.node(starter);
    if (const auto found = least_.find(placeOf(m, starter)); found != least_.end()) {
      return std::min(job.begin + found->second, each.begin);
    }
    const JobKind kind = inside_.setOf(each).kind;
    return std::min(isReduction(kind) ? job.end : job.begin, each.begin);
  }

 private:
  static constexpr Id kNone = JobGraph::kNone;
  /// Between two kernels of a stream that are both ready.
  static constexpr Nanoseconds kAtOnce = 5 * kNsPerUs;
  /// What is alike over steps, micro-batches and ranks.
  using Place = std::tuple<std::int32_t, JobKind, std::int16_t, GroupAxis, JobKind, std::uint16_t>;

  Place placeOf(Id m, Id starter) const {
    const JobGraph::Node& job = graph_.node(starter);
    const InsideJobs::Set& set = inside_.setOf(inside_.meetings()[m]);
    return {job.stage, job.kind, job.event->part, set.axis, set.kind, nth_[m]};
  }

  void place(Id m, Id front) {
    if (front == kNone) return;
    const InsideJobs::Meeting& each = inside_.meetings()[m];
    const InsideJobs::Meeting& first = inside_.meetings()[front];
    if (first.end > each.begin + kRounding) return;
    before_[m] = front;
    const Id starter = inside_.starterOf(each);
    if (starter == kNone || each.begin - first.end > kAtOnce) return;
    const bool heldUpStarter = first.waitingInside + first.movingInside > 0 && first.job <= starter;
    if (heldUpStarter) return;
    isQueued_[m] = 1;
    hasQueue_[ofSet_[each.set]] = 1;
  }

  const JobGraph& graph_;
  const InsideJobs& inside_;
  std::vector<std::uint32_t> ofSet_;  // by set
  std::vector<char> hasQueue_;        // by those numbers
  std::vector<Id> before_;            // by meeting
  std::vector<char> isQueued_;        // by meeting
  std::vector<std::uint16_t> nth_;    // by meeting: of its kind in the job that started it
  std::map<Place, Nanoseconds> least_;
};

/// The other message that runs beside one around a ring: a rank that waits for the later one waits
/// for both. kNone: there is none.
InsideJobs::Id companionOf(const InsideJobs& inside, InsideJobs::Id message) {
  const InsideJobs::Meeting& one = inside.meetings()[message];
  if (inside.setOf(one).partners.size() != 1) return InsideJobs::kNone;
  const auto [first, end] = inside.meetingsOf(one.job);
  for (InsideJobs::Id m = message > first ? message - 1 : first; m < end && m <= message + 1; ++m) {
    const InsideJobs::Meeting& other = inside.meetings()[m];
    const bool isBeside = m != message && other.begin < one.end && one.begin < other.end;
    if (isBeside && inside.setOf(other).whole == inside.setOf(one).whole) return m;
  }
  return InsideJobs::kNone;
}

}  // namespace

/// An operation that takes no time by itself, of a job or another work.
RunNetwork::Index RunNetwork::addInside(const RunWork& runWork, RunWork::Id id, Nanoseconds begin) {
  operations_.push_back(operationOf(runWork, id));
  operations_.back().measured = operations_.back().ideal = 0;
  insideBegins_.push_back(begin);
  return static_cast<Index>(operations_.size() - 1);
}

/// A collective is there if any of its members waits for its end.
void RunNetwork::cutJobs(const JobGraph& graph, const RunWork& runWork) {
  using Id = JobGraph::Id;
  const InsideJobs& inside = graph.inside();
  if (inside.empty()) return;
  const auto meetings = inside.meetings();
  const CollectiveStreams streams(graph);
  std::vector<char> isWaitedFor(meetings.size());  // by the number of the collective
  for (Id m = 0; m < meetings.size(); ++m) {
    const bool waits = inside.heldBy(m) > 0;
    if (waits || streams.isInLine(m)) isWaitedFor[inside.instanceOf(m)] = 1;
    const InsideJobs::Id companion = waits ? companionOf(inside, m) : InsideJobs::kNone;
    if (companion != InsideJobs::kNone) isWaitedFor[inside.instanceOf(companion)] = 1;
  }
  // What is no compute job, as an optimizer, may wait for the last collective of the job before it.
  // A compute job that begins with a gather may have waited until that had its turn.
  std::vector<std::pair<Id, InsideJobs::Id>> after;
  for (const JobGraph::Rank& rank : graph.ranks()) {
    for (Id job = rank.first; job < rank.end; ++job) {
      const JobGraph::Node& node = graph.node(job);
      const Id before = node.before;
      if (before == JobGraph::kNone || !isCompute(graph.node(before).kind)) continue;
      if (isCompute(node.kind)) {
        const auto [m, end] = inside.meetingsOf(job);
        const bool beginsWithIt = m != end && streams.isQueued(m) &&
                                  std::abs(meetings[m].begin - node.begin) <= kRounding;
        if (!beginsWithIt || streams.before(m) == kNone) continue;
        isWaitedFor[inside.instanceOf(streams.before(m))] = 1;
        after.emplace_back(job, streams.before(m));
        continue;
      }
      const auto [first, end] = inside.meetingsOf(before);
      InsideJobs::Id last = InsideJobs::kNone;
      for (InsideJobs::Id m = first; m < end; ++m) {
        const bool isLater = last == InsideJobs::kNone || meetings[m].end > meetings[last].end;
        if (isLater && meetings[m].end <= node.begin + kRounding) last = m;
      }
      if (last == InsideJobs::kNone || meetings[last].end <= graph.node(before).end) continue;
      isWaitedFor[inside.instanceOf(last)] = 1;
      after.emplace_back(job, last);
    }
  }
  // The marks of each job, by its number. What starts between jobs follows the job before.
  std::unordered_map<Id, std::vector<InsideMark>> marks;
  struct Between {
    InsideJobs::Id meeting = InsideJobs::kNone;
    Id before = JobGraph::kNone;  // a job
    Nanoseconds delay = 0;        // after its end
  };
  std::vector<Between> between;
  const auto jobAt = [&](std::uint32_t r, Nanoseconds time, bool isEnd) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    const auto first = graph.nodes().begin() + rank.first;
    const auto end = graph.nodes().begin() + rank.end;
    const auto next = std::partition_point(first, end, [&](const JobGraph::Node& node) {
      return isEnd ? node.begin < time : node.begin <= time;
    });
    return next == first ? Id{JobGraph::kNone} : static_cast<Id>(next - graph.nodes().begin() - 1);
  };
  for (Id m = 0; m < meetings.size(); ++m) {
    const InsideJobs::Meeting& each = meetings[m];
    if (isWaitedFor[inside.instanceOf(m)] == 0) continue;
    if (indexOf(runWork, each.job) == kNone) continue;
    const std::uint32_t rank = graph.node(each.job).rank;
    const Id runsIn = jobAt(rank, each.begin, false);
    const Id starter = streams.isInLine(m) ? inside.starterOf(each) : Id{JobGraph::kNone};
    const bool endsStarter =
        starter != JobGraph::kNone && each.begin <= graph.node(starter).end + kRounding;
    const bool isQueued = streams.isQueued(m);
    const Id start = isQueued || endsStarter ? starter : runsIn;
    const Nanoseconds began = isQueued ? streams.startOf(m, starter) : each.begin;
    if (start != JobGraph::kNone && began < graph.node(start).end + (start == runsIn ? 1 : 0) &&
        isCompute(graph.node(start).kind)) {
      marks[start].push_back({.time = began, .meeting = m});
    } else {
      const Nanoseconds end = start == JobGraph::kNone ? began : graph.node(start).end;
      between.push_back({m, start, std::max<Nanoseconds>(0, began - end)});
    }
    const Nanoseconds held = inside.heldBy(m);
    const bool isInStart = runsIn != JobGraph::kNone && each.end <= graph.node(runsIn).end;
    const Id holds = isInStart ? runsIn : jobAt(rank, each.end, true);
    if (held == 0 || holds == JobGraph::kNone || each.end > graph.node(holds).end) continue;
    marks[holds].push_back({.time = std::max(each.begin, each.end - held),
                            .until = each.end,
                            .meeting = m,
                            .isWait = true});
  }
  const auto addOperation = [&](Id job, Nanoseconds begin) {
    return addInside(runWork, job, begin);
  };
  // A collective by its members' operations, then what they wait for. Members that wait for a part
  // of the others have an operation before it, their arrival.
  std::vector<Index> operationOfMeeting(meetings.size(), kNone);
  std::unordered_map<InsideJobs::Id, Index> arrivals;
  const auto arrivalOf = [&](InsideJobs::Id m) {
    const auto found = arrivals.find(m);
    return found == arrivals.end() ? operationOfMeeting[m] : found->second;
  };
  std::unordered_map<std::uint32_t, std::vector<InsideJobs::Id>> inPart;
  for (Id m = 0; m < meetings.size(); ++m) {
    if (isWaitedFor[inside.instanceOf(m)] == 0 || inside.setOf(meetings[m]).partners.empty()) {
      continue;
    }
    inPart[inside.instanceOf(m)];
  }
  for (Id m = 0; m < meetings.size() && !inPart.empty(); ++m) {
    const auto members = inPart.find(inside.instanceOf(m));
    if (members != inPart.end()) members->second.push_back(m);
  }
  std::unordered_map<std::uint32_t, Index> firstOf;  // by the number of the collective
  std::unordered_map<std::uint32_t, Nanoseconds> beginOf;
  for (Id m = 0; m < meetings.size(); ++m) {
    if (isWaitedFor[inside.instanceOf(m)] == 0 || meetings[m].lacksLast) continue;
    auto [begin, isNew] = beginOf.try_emplace(inside.instanceOf(m), meetings[m].begin);
    begin->second = std::max(begin->second, meetings[m].begin);
  }
  for (Id m = 0; m < meetings.size(); ++m) {
    const InsideJobs::Meeting& each = meetings[m];
    if (isWaitedFor[inside.instanceOf(m)] == 0 || indexOf(runWork, each.job) == kNone) continue;
    Nanoseconds begin = each.lacksLast ? each.begin : beginOf.at(inside.instanceOf(m));
    const auto members = inPart.find(inside.instanceOf(m));
    const bool isInPart = members != inPart.end() && !each.lacksLast;
    if (isInPart) {
      begin = each.begin;
      for (const InsideJobs::Id other : members->second) {
        if (inside.waitsFor(m, other)) begin = std::max(begin, meetings[other].begin);
      }
      arrivals.emplace(m, addOperation(each.job, each.begin));
    }
    operationOfMeeting[m] = addOperation(each.job, begin);
    meetings_.push_back({operationOfMeeting[m], m, std::max<Nanoseconds>(0, each.end - begin)});
    if (each.lacksLast || isInPart) continue;
    const auto [first, isNew] = firstOf.try_emplace(inside.instanceOf(m), operationOfMeeting[m]);
    if (!isNew) together_.emplace_back(operationOfMeeting[m], first->second);
  }
  for (const auto& [instance, members] : inPart) {
    for (const InsideJobs::Id one : members) {
      if (operationOfMeeting[one] == kNone || !arrivals.contains(one)) continue;
      insideWaits_.push_back({operationOfMeeting[one], arrivals.at(one)});
      for (const InsideJobs::Id other : members) {
        if (!inside.waitsFor(one, other) || !arrivals.contains(other)) continue;
        insideWaits_.push_back({operationOfMeeting[one], arrivals.at(other)});
      }
    }
  }
  for (const auto& [job, meeting] : after) {
    const Index own = indexOf(runWork, job);
    if (own == kNone || operationOfMeeting[meeting] == kNone) continue;
    afterMeetings_.emplace_back(own, operationOfMeeting[meeting]);
    meetingEnds_[operationOfMeeting[meeting]] = meetings[meeting].end;
  }
  std::vector<Id> jobs;
  for (const auto& [job, list] : marks) jobs.push_back(job);
  std::sort(jobs.begin(), jobs.end());
  for (const Id job : jobs) {
    std::vector<InsideMark>& list = marks.at(job);
    std::sort(list.begin(), list.end());
    const Index own = indexOf(runWork, job);
    if (own == kNone) continue;
    const JobGraph::Node& node = graph.node(job);
    Index piece = own;
    Nanoseconds since = node.begin;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const InsideMark& mark = list[i];
      const Nanoseconds time = std::max(mark.time, since);
      pieces_.push_back({piece, own, since, time - since, mark.meeting});
      const Index before = piece;
      Index after = kNone;
      since = time;
      if (!mark.isWait) {
        insideWaits_.push_back({arrivalOf(mark.meeting), before});
        const bool waitsAtOnce = i + 1 < list.size() && list[i + 1].isWait &&
                                 list[i + 1].meeting == mark.meeting &&
                                 list[i + 1].time <= time + kRounding;
        if (waitsAtOnce) ++i;
        if (waitsAtOnce) after = operationOfMeeting[mark.meeting];
      } else {
        after = operationOfMeeting[mark.meeting];
      }
      if (after != kNone) since = std::max(since, list[i].until);
      piece = addOperation(job, since);
      insideWaits_.push_back({piece, before});
      if (after == kNone) continue;
      insideWaits_.push_back({piece, after});
      const InsideJobs::Id companion = companionOf(inside, mark.meeting);
      const bool isThere = companion != InsideJobs::kNone && operationOfMeeting[companion] != kNone;
      if (isThere) insideWaits_.push_back({piece, operationOfMeeting[companion]});
    }
    pieces_.push_back({piece, own, since, node.end - since, InsideJobs::kNone});
    lastPieces_[own] = piece;
    lengths_[own] = graph.lengthOf(job);
  }
  const auto waitWithDelay = [&](Index operation, Index source, Id job, Nanoseconds since,
                                 Nanoseconds length) {
    const Index delay = addOperation(job, since);
    meetings_.push_back({delay, InsideJobs::kNone, length});
    insideWaits_.push_back({delay, source});
    insideWaits_.push_back({operation, delay});
  };
  for (const Between& each : between) {
    if (each.before == JobGraph::kNone) continue;
    const Index source = indexOf(runWork, each.before);
    if (source == kNone) continue;
    waitWithDelay(arrivalOf(each.meeting), lastOf(source), each.before, graph.node(each.before).end,
                  each.delay);
  }
  for (Id m = 0; m < meetings.size(); ++m) {
    const Id before = streams.before(m);
    if (!streams.isInLine(m) || before == JobGraph::kNone) continue;
    if (operationOfMeeting[m] == kNone || operationOfMeeting[before] == kNone) continue;
    const Index own = arrivalOf(m);
    const Index source = operationOfMeeting[before];
    const Nanoseconds end = meetings[before].end;
    const Nanoseconds since = streams.isQueued(m) ? meetings[m].begin - end : 0;
    waitWithDelay(own, source, meetings[before].job, end, std::max<Nanoseconds>(0, since));
  }
}

void RunNetwork::addWaitsOfPieces() {
  std::stable_sort(insideWaits_.begin(), insideWaits_.end(),
                   [](const auto& a, const auto& b) { return a.operation < b.operation; });
  for (const InsideWait& each : insideWaits_) {
    network_.wait(each.operation, {.source = each.source, .reason = WaitReason::kMeeting});
  }
  insideWaits_ = {};
  together_.shrink_to_fit();
}

}  // namespace pipetrace
