#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/run_summary.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// The jobs and messages of a run, and the jobs and messages that each of them waited for. Nodes
/// are numbered: the jobs of the compute lanes first, rank after rank in the order of their begins,
/// then messages.
///
/// A job waits for the job before it on its rank, and for its data. A forward of stage s needs the
/// forward of stage s − 1 with the same micro-batch. A backward, or its input half, needs the
/// backward of stage s + 1. A fused pair needs both. Within a rank the order of jobs stands for
/// such an edge. Between ranks the edge leads through the message, if the run has it.
class JobGraph {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNone = ~Id{0};

  struct Node {
    /// A message begins with the later of its two starts: before that, one of its ends only waits.
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    const Event* event = nullptr;  ///< of a message: its receive; its send where that is missing
    /// The job before it on its rank: the last that had ended when it began. For a message it is
    /// what its sender or its receiver had to end before; the job that made the data is in
    /// `inputs`.
    Id before = kNone;
    Id inputs[2] = {kNone, kNone};        ///< jobs on other ranks, or messages from them
    std::uint32_t rank = 0;               ///< index in ranks(); of a message: the receiver
    std::int32_t microBatch = kNotGiven;  ///< as given, else counted
    std::int32_t step = kNotGiven;        ///< of the event, like the next two
    std::int32_t stage = kNotGiven;
    JobKind kind = JobKind::kOther;
    bool isMessage = false;
    bool lacksInput = false;  ///< it needs one that is missing, or that nobody knows
  };

  /// The two ends of a message. One of them may be missing.
  struct Message {
    const Event* send = nullptr;
    const Event* receive = nullptr;
  };

  struct Rank {
    int number = 0;
    int replica = 0;
    int position = 0;  ///< in its pipeline, 0 .. depth − 1
    Id first = 0;      ///< its jobs are [first, end)
    Id end = 0;
    bool logsMessages = false;
  };

  /// `timeline` must be completed, and outlive the graph. Uses that many threads.
  JobGraph(const Timeline& timeline, const Topology& topology, int threads = 1);

  const Node& node(Id id) const { return nodes_[id]; }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::size_t jobCount() const { return jobCount_; }
  const std::vector<Rank>& ranks() const { return ranks_; }
  /// The indices in ranks() of each pipeline, in the order of positions.
  const std::vector<std::vector<std::uint32_t>>& pipelines() const { return pipelines_; }
  /// The messages of a pipeline are [first, second).
  std::pair<Id, Id> messagesOf(std::size_t pipeline) const { return messageRanges_[pipeline]; }
  const Message& message(Id id) const { return messages_[id - jobCount_]; }
  /// The job that made the data of input `i` of a job; kNone: there is none, or it is missing.
  Id producer(Id job, int i) const {
    const Id input = nodes_[job].inputs[i];
    return input != kNone && nodes_[input].isMessage ? nodes_[input].inputs[0] : input;
  }
  /// How many compute jobs had no micro-batch, so that the n-th of a rank's step, stage and kind
  /// counts as that of micro-batch n.
  std::int64_t countedMicroBatches() const { return counted_; }

 private:
  friend class JobGraphBuilder;

  std::vector<Node> nodes_;
  std::size_t jobCount_ = 0;
  std::vector<Rank> ranks_;
  std::vector<std::vector<std::uint32_t>> pipelines_;
  std::vector<Message> messages_;
  std::vector<std::pair<Id, Id>> messageRanges_;  // by pipeline
  std::int64_t counted_ = 0;
};

}  // namespace pipetrace
