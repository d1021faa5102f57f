#pragma once

#include <string_view>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "analysis/testing/hand_made_timeline.h"
#include "trace/event_arguments.h"
#include "trace/topology.h"

namespace pipetrace {

/// A hand-made timeline of ranks that meet inside their jobs. All ranks are of stage 0 of one host
/// unless said otherwise. Jobs of a rank are added in their order, and each before what is in it.
class MeetingsByHand : public HandMadeTimeline {
 public:
  /// What a collective is, beside its times.
  struct Group {
    std::string_view ranks = "0 1";
    std::string_view use{};
    std::string_view partners{};  // empty: all
    std::int64_t sequence = -1;
    std::int64_t bytes = -1;
    JobKind kind = JobKind::kAllReduce;
  };

  /// Ranks 0 .. `ranks` − 1, each a tensor-parallel rank of one stage.
  explicit MeetingsByHand(int ranks = 2) {
    for (int rank = 0; rank < ranks; ++rank) {
      RankInfo& info = timeline.ranks[rank];
      info.rank = rank;
      info.host = "host";
      info.numStages = 1;
      info.tensorParallelIndex = rank;
    }
  }

  Event& job(int rank, Nanoseconds begin, Nanoseconds end, int microBatch = 0, int step = 0,
             JobKind kind = JobKind::kForward) {
    Event& event = add(rank, kind, begin, end, step, microBatch);
    event.stage = 0;
    event.job = jobs_++;
    return event;
  }

  /// A collective of the rank's last job.
  void meet(int rank, Nanoseconds begin, Nanoseconds end, const Group& group) {
    meet(rank, begin, end, group, lastJobOf(rank).job);
  }
  void meet(int rank, Nanoseconds begin, Nanoseconds end) { meet(rank, begin, end, Group{}); }
  void meet(int rank, Nanoseconds begin, Nanoseconds end, const Group& group, std::int64_t job) {
    const std::int32_t step = lastJobOf(rank).step;
    Event& event = add(rank, group.kind, begin, end, step, kNotGiven, "stream 20");
    event.job = job;
    StringTable& strings = timeline.strings;
    std::vector<Argument> list = {Argument::ofText(strings.intern(collective_arguments::kGroup),
                                                   strings.intern(std::string(group.ranks)))};
    if (!group.use.empty()) {
      list.push_back(Argument::ofText(strings.intern(collective_arguments::kUse),
                                      strings.intern(std::string(group.use))));
    }
    if (!group.partners.empty()) {
      list.push_back(Argument::ofText(strings.intern(collective_arguments::kPartners),
                                      strings.intern(std::string(group.partners))));
    }
    if (group.sequence >= 0) {
      list.push_back(
          Argument::ofInteger(strings.intern(collective_arguments::kSequence), group.sequence));
    }
    if (group.bytes >= 0) {
      list.push_back(Argument::ofInteger(strings.intern("bytes"), group.bytes));
    }
    timeline.setArguments(event, list);
  }

  /// A kernel of the rank that computes.
  void kernel(int rank, Nanoseconds begin, Nanoseconds end, std::string_view name = "gemm") {
    const Event job = lastJobOf(rank);
    Event& event = add(rank, JobKind::kKernel, begin, end, job.step, kNotGiven, "stream 7");
    event.name = timeline.strings.intern(std::string(name));
    event.job = job.job;
  }

  /// Moves all that the rank recorded, as a clock does that is ahead.
  void shift(int rank, Nanoseconds by) {
    for (Track& track : timeline.tracks) {
      if (track.rank != rank) continue;
      for (Event& event : track.events) {
        event.begin += by;
        event.end += by;
      }
    }
  }

  Event& lastJobOf(int rank) { return timeline.track(rank, kComputeLane).events.back(); }

  JobGraph graph() {
    timeline.sort();
    return {timeline, topologyOf(timeline)};
  }

 private:
  std::int64_t jobs_ = 0;
};

}  // namespace pipetrace
