#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/run/graph/collective_rules.h"
#include "analysis/run/graph/job_graph.h"
#include "analysis/run/graph/job_index.h"
#include "trace/event.h"

namespace pipetrace {

/// Counts the jobs without a micro-batch of one rank: the n-th of its step, stage and kind.
class JobCounter {
 public:
  std::int32_t next(const Event& event) { return counts_[{event.step, event.stage, event.kind}]++; }

 private:
  std::map<std::tuple<std::int32_t, std::int32_t, JobKind>, std::int32_t> counts_;
};

/// Builds a graph. Most of it works on many ranks at once: each of them reads the nodes of others,
/// and writes only its own.
class JobGraphBuilder {
 public:
  using Id = JobGraph::Id;

  JobGraphBuilder(const Timeline& timeline, JobGraph& graph, int threads);

  void build(const Topology& topology);

 private:
  /// An end of a message on a lane.
  struct End {
    const Event* event = nullptr;
    JobKey key;  // the stage that the message is for
    std::uint32_t track = 0;
    Id message = JobGraph::kNone;  // among those of the pipeline; kNone: it counts for nothing
  };
  /// An end of a message on a line.
  struct OnLine {
    const Event* event = nullptr;
    Id end = JobGraph::kNone;  // its number
  };
  using Line = std::vector<OnLine>;
  struct Collective {
    const Event* event = nullptr;
    std::uint32_t track = 0;
    std::uint32_t number = 0;  // among those of its name in its rank's step
    StringId members = 0;      // the ranks that take part, where the log names them; else empty
  };
  /// The events of a rank.
  struct RankEvents {
    std::vector<const Event*> jobs;
    std::vector<End> ends;                          // by track, in order
    std::vector<JobKey> early;                      // of messages that came early, in order
    std::vector<std::pair<Nanoseconds, Id>> waits;  // messages that the rank waited for, by end
    std::vector<Collective> collectives;
    std::int64_t counted = 0;  // jobs without a micro-batch
    std::int32_t stages = 0;   // that the log says the run has
    // The data that its jobs make has these keys.
    JobKey lowest;
    JobKey highest;
    std::size_t made = 0;
  };
  /// Where a rank is in the run, ranks without a log included.
  struct Place {
    int tensor = 0;    // its tensor-parallel index
    int position = 0;  // in its pipeline
    int depth = 0;     // of its pipeline
    int present = 0;   // ranks with its tensor-parallel index and position that have a log
    int expected = 0;  // ranks with these
  };
  struct Pipeline {
    std::vector<JobGraph::Message> messages;
    std::vector<JobKey> keys;              // of messages
    std::vector<std::uint32_t> receivers;  // of messages, as indices in ranks()
    Id firstMessage = 0;
    std::optional<JobIndex> jobs;     // jobs that make data, by the stage that they are of
    std::optional<JobIndex> arrived;  // messages, by the stage that they are for
    std::int32_t stages = 0;
  };
  using ForRank = std::function<void(std::uint32_t rank, RankEvents& events)>;

  void giveClocks();
  void findWaitEnds();
  void addPlaces(const Topology& topology);
  void forRanks(const ForRank& work);

  void addRanks(const Topology& topology);
  void findJobs(std::uint32_t r, RankEvents& events) const;
  void fillJobs(std::uint32_t r, RankEvents& events);
  Id jobBefore(Id first, Id end, Nanoseconds time) const;
  Id jobBefore(const JobGraph::Rank& rank, Nanoseconds time) const;
  bool hasNumber(const Event& event) const;

  void findEnds(std::uint32_t r, RankEvents& events);
  void makeIndices(const std::vector<std::uint32_t>& ranks, Pipeline& pipeline) const;
  void indexJobs(const std::vector<std::uint32_t>& ranks, Pipeline& pipeline);
  void numberMessages(const std::vector<std::uint32_t>& ranks, Pipeline& pipeline);
  void placeMessages();
  bool isEarly(const Event& event) const;
  Nanoseconds beginOf(const Event& end) const;
  void findWaits(const Pipeline& pipeline, RankEvents& events) const;
  void fillMessage(std::size_t m, const Pipeline& pipeline);
  void placeLines();
  std::vector<Line> linesOf(std::uint32_t r, const RankEvents& events) const;
  std::pair<std::int64_t, std::int64_t> streamOf(const Event& event) const;
  Nanoseconds postDelayOf(const Event& event) const;
  void placeOnLine(std::uint32_t r, const Line& line);
  void beginWithData(const Line& line);
  void orderMessages(std::uint32_t r, const RankEvents& events, bool areSends);
  void takeLater(Id other, JobGraph::Node& node) const;
  void addInputs(std::uint32_t r, const RankEvents& events);
  void addWaits(const JobGraph::Rank& rank, const RankEvents& events);
  void addInputsOfRecomputations(const JobGraph::Rank& rank);
  void addInputsOfLoads(const JobGraph::Rank& rank);
  void addInput(const JobKey& key, const Pipeline& pipeline, JobGraph::Node& node, int& count);
  static bool isBefore(const JobKey& a, const JobKey& b);

  void compareClocks();
  std::vector<JobGraph::ClocksApart> clocksApartFrom(std::uint32_t r) const;

  void findCollectives(std::uint32_t r, RankEvents& events) const;
  bool isInsideOfJob(const Event& event, const JobGraph::Rank& rank) const;
  bool isOfJobs(const Event& event) const;
  bool isMeeting(const Event& event) const;
  bool isOfGradients(const Event& event) const;
  void findSumsBesideJobs();
  bool isBehindBackward(const Event& event, const JobGraph::Rank& rank) const;
  bool beginsBeside(const Event& event, const JobGraph::Rank& rank) const;
  Nanoseconds timeInJobs(const Event& event, const JobGraph::Rank& rank) const;
  JobGraph::Id gradientsBefore(const JobGraph::Rank& rank, const JobGraph::Node& collective) const;
  StringId membersOf(const Event& event) const;
  bool lacksMembers(StringId members) const;
  void placeCollectives();
  void fillCollectives(std::uint32_t r, const RankEvents& events);
  std::size_t lastThatAllShare() const;
  void groupCollectives();
  bool lacksMembers(Members members, std::uint32_t r) const;

  const Timeline& timeline_;
  JobGraph& graph_;
  int threads_;
  std::optional<std::pair<StringId, StringId>> early_;  // key and value of such an argument
  std::optional<StringId> waitedKey_;
  std::optional<StringId> numberKey_;
  // Arguments of messages on lines.
  std::optional<StringId> streamKey_;
  std::optional<StringId> deviceKey_;
  std::optional<StringId> postDelayKey_;
  std::optional<StringId> membersKey_;
  std::optional<StringId> meetingKey_;  // of collectives inside jobs
  std::optional<StringId> useKey_;
  std::optional<StringId> replicas_;  // a value of it
  using SumName = std::pair<JobKind, StringId>;
  std::set<SumName> sumsBesideJobs_;
  std::vector<RankEvents> events_;  // by rank
  std::vector<Pipeline> pipelines_;
  std::vector<std::uint32_t> pipelineOf_;  // by rank
  std::vector<Place> places_;              // by rank
  int worldSize_ = 0;                      // 0: not known
};

}  // namespace pipetrace
