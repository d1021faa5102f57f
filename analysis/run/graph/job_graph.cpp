#include "analysis/run/graph/job_graph.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>

#include "analysis/run/graph/job_graph_builder.h"
#include "analysis/run/graph/job_index.h"
#include "analysis/run/steps/rank_jobs.h"
#include "trace/event_arguments.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// Whether its data are made, or needed, at a moment that its times do not say.
bool isInPieces(const JobGraph::Node& job) {
  return job.kind == JobKind::kForwardBackward || job.event->part != kNotGiven;
}

/// The order of JobGraph::clocksApart().
struct ByRanks {
  bool operator()(const JobGraph::ClocksApart& a, const JobGraph::ClocksApart& b) const {
    return a.maker != b.maker ? a.maker < b.maker : a.user < b.user;
  }
};

/// a - b; where that does not fit 64 bits, the nearest number that does.
Nanoseconds timeBetween(Nanoseconds a, Nanoseconds b) {
  Nanoseconds result = 0;
  if (__builtin_sub_overflow(a, b, &result)) result = a < b ? kNsMin : kNsMax;
  return result;
}

}  // namespace

JobGraph::JobGraph(const Timeline& timeline, const Topology& topology, int threads)
    : JobGraph(timeline, topology, countedPhaseOf(timeline), threads) {}

JobGraph::JobGraph(const Timeline& timeline, const Topology& topology, Phase phase, int threads)
    : phase_(phase) {
  JobGraphBuilder(timeline, *this, threads).build(topology);
}

JobGraphBuilder::JobGraphBuilder(const Timeline& timeline, JobGraph& graph, int threads)
    : timeline_(timeline),
      graph_(graph),
      threads_(threads),
      numberKey_(timeline.strings.find("seq_id")) {
  const auto arrived = timeline.strings.find(message_arguments::kArrived);
  const auto early = timeline.strings.find(message_arguments::kEarly);
  if (arrived && early) early_ = {*arrived, *early};
  waitedKey_ = timeline.strings.find(message_arguments::kWaited);
  meetingKey_ = timeline.strings.find(collective_arguments::kGroup);
  useKey_ = timeline.strings.find(collective_arguments::kUse);
  replicas_ = timeline.strings.find(axisWords(GroupAxis::kData));
}

void JobGraphBuilder::build(const Topology& topology) {
  for (const auto& ranks : topology.ranksOfStage) {
    graph_.turns_.push_back(static_cast<int>(ranks.size()));
  }
  addRanks(topology);
  forRanks([&](std::uint32_t r, RankEvents& events) { findJobs(r, events); });
  Id next = 0;
  for (std::size_t r = 0; r < events_.size(); ++r) {
    graph_.ranks_[r].first = next;
    next += static_cast<Id>(events_[r].jobs.size());
    graph_.ranks_[r].end = next;
  }
  graph_.jobCount_ = next;
  graph_.isNumbered_ = std::any_of(events_.begin(), events_.end(), [&](const RankEvents& events) {
    const auto first = std::find_if(events.jobs.begin(), events.jobs.end(),
                                    [](const Event* job) { return isCompute(job->kind); });
    return first != events.jobs.end() && hasNumber(**first);
  });
  std::size_t most = next;  // each end and collective may become a node
  forRanks([&](std::uint32_t r, RankEvents& events) { findEnds(r, events); });
  for (const RankEvents& events : events_) most += events.ends.size() + events.collectives.size();
  graph_.nodes_ = SharedArray<JobGraph::Node>(most);
  forRanks([&](std::uint32_t r, RankEvents& events) { fillJobs(r, events); });
  for (const RankEvents& events : events_) graph_.counted_ += events.counted;
  findWaitEnds();
  for (std::size_t p = 0; p < pipelines_.size(); ++p) {
    makeIndices(graph_.pipelines_[p], pipelines_[p]);
  }
  inParallel(threads_, 2 * pipelines_.size(), [&](std::size_t i) {
    const std::vector<std::uint32_t>& ranks = graph_.pipelines_[i / 2];
    if (i % 2 == 0) {
      indexJobs(ranks, pipelines_[i / 2]);
    } else {
      numberMessages(ranks, pipelines_[i / 2]);
    }
  });
  placeMessages();
  placeCollectives();
  compareClocks();
  events_ = {};  // there may be millions inside jobs
  graph_.inside_ = InsideJobs(timeline_, graph_, threads_);
}

void JobGraphBuilder::findWaitEnds() {
  const auto key = timeline_.strings.find(message_arguments::kAfterWait);
  if (!key) return;
  for (Id id = 0; id < graph_.jobCount_; ++id) {
    const JobGraph::Node& node = graph_.nodes_[id];
    for (const Argument& argument : timeline_.argumentsOf(*node.event)) {
      if (argument.key != *key || argument.type != ArgumentType::kInteger) continue;
      const Nanoseconds end = node.begin - argument.integer;
      graph_.waitEnds_[id] = end;
      // A batch that was loaded between the wait and the job waited, too.
      for (Id load = id; load > graph_.ranks_[node.rank].first; --load) {
        const JobGraph::Node& before = graph_.nodes_[load - 1];
        if (!loadsData(before.kind) || before.begin < end) break;
        graph_.waitEnds_[load - 1] = end;
      }
    }
  }
}

void JobGraphBuilder::forRanks(const ForRank& work) {
  inParallel(threads_, events_.size(),
             [&](std::size_t r) { work(static_cast<std::uint32_t>(r), events_[r]); });
}

/// Sets which clock the ranks have, and how exact it was aligned with the others.
void JobGraphBuilder::giveClocks() {
  std::map<std::string, int> clocks;  // by host
  int next = 0;
  for (JobGraph::Rank& rank : graph_.ranks_) {
    const auto info = timeline_.ranks.find(rank.number);
    const bool hasInfo = info != timeline_.ranks.end();
    const std::string host = hasInfo ? info->second.host : "";
    rank.clock = host.empty() ? next : clocks.try_emplace(host, next).first->second;
    ++next;
    if (!hasInfo) continue;
    for (const ClockReading& reading : info->second.clockReadings) {
      if (reading.offset == 0) rank.clockBound = std::max(rank.clockBound, reading.bound);
    }
  }
}

void JobGraphBuilder::addRanks(const Topology& topology) {
  std::map<int, std::vector<int>> replicas = topology.replicas();
  for (auto& [replica, numbers] : replicas) {
    std::stable_sort(numbers.begin(), numbers.end(), [&](int a, int b) {
      return topology.places.at(a).position < topology.places.at(b).position;
    });
    std::vector<std::uint32_t>& pipeline = graph_.pipelines_.emplace_back();
    for (const int number : numbers) {
      pipeline.push_back(static_cast<std::uint32_t>(graph_.ranks_.size()));
      pipelineOf_.push_back(static_cast<std::uint32_t>(graph_.pipelines_.size() - 1));
      graph_.ranks_.push_back({.number = number,
                               .replica = replica,
                               .position = static_cast<int>(pipeline.size()) - 1});
    }
  }
  giveClocks();
  addPlaces(topology);
  events_.resize(graph_.ranks_.size());
  pipelines_.resize(graph_.pipelines_.size());
}

void JobGraphBuilder::addPlaces(const Topology& topology) {
  int worldSize = 0;
  std::map<std::pair<int, int>, int> present;  // by tensor-parallel index and position
  for (const JobGraph::Rank& rank : graph_.ranks_) {
    const Topology::Place& given = topology.places.at(rank.number);
    Place place{.position = given.position < 0 ? rank.position : given.position,
                .depth = given.depth};
    const auto info = timeline_.ranks.find(rank.number);
    if (info != timeline_.ranks.end()) {
      place.tensor = info->second.tensorParallelIndex.value_or(0);
      worldSize = std::max(worldSize, info->second.worldSize.value_or(0));
    }
    ++present[{place.tensor, place.position}];
    places_.push_back(place);
  }
  const bool lacksRanks = static_cast<std::size_t>(worldSize) > graph_.ranks_.size();
  for (Place& place : places_) {
    place.present = place.expected = present.at({place.tensor, place.position});
    const int ofReplica = std::max(1, place.depth * topology.tensorRanks);
    if (lacksRanks) place.expected = std::max(place.expected, worldSize / ofReplica);
  }
  worldSize_ = worldSize;
}

bool JobGraphBuilder::hasNumber(const Event& event) const {
  if (!numberKey_) return false;
  const auto arguments = timeline_.argumentsOf(event);
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const Argument& argument) { return argument.key == *numberKey_; });
}

void JobGraphBuilder::findJobs(std::uint32_t r, RankEvents& events) const {
  RankJobs all(timeline_, graph_.ranks_[r].number, isComputeLane);
  while (const Event* const job = all.next()) {
    if (job->phase == graph_.phase_) events.jobs.push_back(job);
  }
}

void JobGraphBuilder::fillJobs(std::uint32_t r, RankEvents& events) {
  constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();
  events.lowest = {kHighest, kHighest, kHighest};
  JobCounter counter;
  const Id first = graph_.ranks_[r].first;
  for (std::size_t i = 0; i < events.jobs.size(); ++i) {
    const Event& job = *events.jobs[i];
    JobGraph::Node& node = graph_.nodes_.make(first + i);
    node.begin = job.begin;
    node.end = job.end;
    node.event = &job;
    node.rank = r;
    node.microBatch = job.microBatch;
    node.step = job.step;
    node.stage = job.stage;
    node.kind = job.kind;
    node.before = jobBefore(first, first + static_cast<Id>(i), job.begin);
    if (isCompute(job.kind) && job.microBatch < 0) {
      node.microBatch = counter.next(job);
      ++events.counted;
    }
    visitMadeData(timeline_, node, [&](const JobKey& key) {
      if (!key.isKnown()) return;
      widen(key, events.lowest, events.highest);
      ++events.made;
    });
  }
  events.jobs = {};
}

/// The last of the jobs [first, end) that had ended at `time`.
JobGraph::Id JobGraphBuilder::jobBefore(Id first, Id end, Nanoseconds time) const {
  constexpr Id kMostOverlapping = 256;
  const Id lowest = end - first > kMostOverlapping ? end - kMostOverlapping : first;
  for (Id id = end; id > lowest; --id) {
    if (graph_.nodes_[id - 1].end <= time) return id - 1;
  }
  return JobGraph::kNone;
}

/// The last job of the rank that had ended at `time`.
JobGraph::Id JobGraphBuilder::jobBefore(const JobGraph::Rank& rank, Nanoseconds time) const {
  const JobGraph::Node* const nodes = graph_.nodes_.data();
  const auto* const next =
      std::partition_point(nodes + rank.first, nodes + rank.end,
                           [&](const JobGraph::Node& job) { return job.begin <= time; });
  return jobBefore(rank.first, static_cast<Id>(next - nodes), time);
}

// Clocks of ranks that the order of their jobs contradicts.

void JobGraphBuilder::compareClocks() {
  std::vector<std::vector<JobGraph::ClocksApart>> ofRanks(graph_.ranks_.size());
  forRanks([&](std::uint32_t r, RankEvents&) { ofRanks[r] = clocksApartFrom(r); });
  for (const std::vector<JobGraph::ClocksApart>& each : ofRanks) {
    graph_.clocksApart_.insert(graph_.clocksApart_.end(), each.begin(), each.end());
  }
  std::sort(graph_.clocksApart_.begin(), graph_.clocksApart_.end(), ByRanks());
}

/// Those whose data jobs of rank `r` need. One job among many that begins early says something of
/// that job, and not of the clocks.
std::vector<JobGraph::ClocksApart> JobGraphBuilder::clocksApartFrom(std::uint32_t r) const {
  constexpr std::int64_t kLeastShare = 50;  // one in 50
  const JobGraph::Rank& rank = graph_.ranks_[r];
  std::map<std::uint32_t, JobGraph::ClocksApart> makers;
  // Forwards mostly need one rank's data, and backwards another's.
  std::array<std::pair<std::uint32_t, JobGraph::ClocksApart*>, 2> latest{};
  for (Id id = rank.first; id < rank.end; ++id) {
    const JobGraph::Node& used = graph_.nodes_[id];
    if (!isCompute(used.kind) || used.kind == JobKind::kRecompute) continue;
    if (used.event->microBatch == kNotGiven) continue;
    for (int i = 0; i < 2; ++i) {
      const Id maker = graph_.producer(id, i);
      if (maker == JobGraph::kNone || graph_.nodes_[maker].rank == r) continue;
      const JobGraph::Node& made = graph_.nodes_[maker];
      if (!isCompute(made.kind) || made.event->microBatch == kNotGiven) continue;
      const JobGraph::Rank& other = graph_.ranks_[made.rank];
      auto& [latestMaker, latestApart] = latest[used.kind == JobKind::kForward ? 0 : 1];
      if (latestApart == nullptr || latestMaker != made.rank) {
        latestMaker = made.rank;
        latestApart = &makers[made.rank];
      }
      JobGraph::ClocksApart& apart = *latestApart;
      ++apart.all;
      const Nanoseconds since = isInPieces(made) ? made.begin : made.end;
      const Nanoseconds until = isInPieces(used) ? used.end : used.begin;
      Nanoseconds allowed = JobGraph::kEarlyJob;
      if (other.clock != rank.clock) allowed += other.clockBound + rank.clockBound;
      const Nanoseconds early = timeBetween(since, until);
      if (early <= allowed) continue;
      ++apart.count;
      if (early <= apart.by) continue;
      apart = {.maker = made.rank,
               .user = r,
               .by = early,
               .count = apart.count,
               .all = apart.all,
               .made = maker,
               .used = id};
    }
  }
  std::vector<JobGraph::ClocksApart> list;
  for (const auto& [maker, apart] : makers) {
    if (apart.count > 0 && kLeastShare * apart.count >= apart.all) list.push_back(apart);
  }
  return list;
}

bool JobGraph::areLinesHeld() const {
  for (Id end = 0; end < lineEnds_.size(); ++end) {
    const LineEnd& place = lineEnds_[end];
    if (!place.isOnLine || place.before == kNone) continue;
    const Id producer = nodes_[messageOf(end)].inputs[0];
    if (producer == kNone) continue;
    const Rank& maker = ranks_[nodes_[producer].rank];
    const Rank& line = ranks_[place.rank];
    const bool isOneClock = maker.clock == line.clock;
    const Nanoseconds bound = isOneClock ? 0 : maker.clockBound + line.clockBound;
    if (eventOf(place.before).end - nodes_[producer].end > bound + kNsPerUs) return true;
  }
  return false;
}

bool JobGraph::areClocksApart(std::uint32_t a, std::uint32_t b) const {
  const auto has = [&](std::uint32_t maker, std::uint32_t user) {
    return std::binary_search(clocksApart_.begin(), clocksApart_.end(),
                              ClocksApart{.maker = maker, .user = user}, ByRanks());
  };
  return has(a, b) || has(b, a);
}

bool isPostedBySender(const JobGraph& graph, JobGraph::Id message) {
  const JobGraph::Message& ends = graph.message(message);
  const bool isSendLast = ends.send != nullptr && ends.send->begin >= graph.node(message).begin;
  return ends.receive == nullptr || isSendLast;
}

}  // namespace pipetrace
