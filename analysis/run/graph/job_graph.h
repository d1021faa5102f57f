#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/run/graph/inside_jobs.h"
#include "analysis/run_summary.h"
#include "trace/threads/shared_array.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// The jobs, messages and collectives of a run, and which of these each of them waited for. Those
/// of steps of other phases than the graph's are left out: if none is given, than the one that
/// counts (countedPhaseOf()). Nodes are numbered: the jobs of the compute lanes first, rank after
/// rank in the order of their begins, then messages, then collectives rank after rank.
///
/// A job waits for the job before it on its rank, for a collective, and for its data. A forward of
/// stage s needs the forward of stage s − 1 with the same micro-batch. A backward, or its input
/// half, needs the backward of stage s + 1. A fused pair needs both. Within a rank the order of
/// jobs stands for such an edge. Between ranks the edge leads through the message, if the run has
/// it. A recomputation right before its backward pass has the edges of that, from all that had
/// ended when it began. So has what loads data, of the compute job behind it.
///
/// The first job that begins after the end of a collective on its rank waits for it. For sums of
/// gradients that hold up no compute job, that is the first that is none: those that a compute job
/// started for replicas and left behind (FSDP's reduce-scatters), and those behind backward passes
/// that have the name of some beside which compute jobs begin. A collective
/// waits for the last job of its rank that had ended when it began, for the one before it on its
/// lane, and for its other members. Where its members are given, a backward pass of its stage that
/// it began in counts as ended: times of plans and of clocks differ by microseconds. The n-th of a
/// name on each of the ranks that take part (collective_rules.h) are members of one if all of them
/// overlap in time. Where logs name the members (`members`), these take part. It lacks an input
/// where a rank that takes part has no log. Those inside a compute job are part of that job.
class JobGraph {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNone = ~Id{0};

  struct Node {
    /// A message begins with the later of its two starts, a collective with the last of its
    /// members': what comes before is waiting. Where a trace says since when the receiver's thread
    /// waited for a message (message_arguments::kWaited), the receive starts then.
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    const Event* event = nullptr;  ///< of a message: its receive; its send where that is missing
    /// The job before it on its rank: the last that had ended when it began. For a message it is
    /// what its sender or its receiver had to end before; the job that made the data is in
    /// `inputs`. For a collective it is a job or a collective of its rank.
    Id before = kNone;
    /// Jobs on other ranks, or messages from them. A collective has the member that began last,
    /// unless it is that itself.
    Id inputs[2] = {kNone, kNone};
    /// The collective that a job waited for, if that ended later than `before`.
    Id collective = kNone;
    std::uint32_t rank = 0;               ///< index in ranks(); of a message: the receiver
    std::int32_t microBatch = kNotGiven;  ///< as given, else counted
    std::int32_t step = kNotGiven;        ///< of the event, like the next two
    std::int32_t stage = kNotGiven;
    JobKind kind = JobKind::kOther;
    bool isMessage = false;
    bool isCollective = false;
    bool lacksInput = false;  ///< it needs one that is missing, or that nobody knows
    /// A message with its data is logged and is no input, as it was there before anybody waited.
    bool gotDataEarly = false;
  };

  /// A collective has these beside its node.
  struct Collective {
    std::uint32_t track = 0;    ///< index in timeline.tracks
    std::uint32_t group = 0;    ///< its members have the same one
    bool isLeftBehind = false;  ///< a sum of gradients that no compute job waits for
  };

  /// The two ends of a message. One of them may be missing.
  struct Message {
    const Event* send = nullptr;
    const Event* receive = nullptr;
  };

  /// An end of a message on a line: a stream on which messages run one after the other. Ends have
  /// numbers: sendOf() and receiveOf() a message.
  struct LineEnd {
    Id before = kNone;         ///< the end before it on its line; kNone: it is the first
    std::uint32_t rank = 0;    ///< the line's, index in ranks()
    Nanoseconds heldFrom = 0;  ///< from then on it held its line, until its event ended
    bool isOnLine = false;
  };

  struct Rank {
    int number = 0;
    int replica = 0;
    int position = 0;  ///< in its pipeline, 0 .. depth − 1
    Id first = 0;      ///< its jobs are [first, end)
    Id end = 0;
    Id firstCollective = 0;  ///< its collectives are [firstCollective, endOfCollectives)
    Id endOfCollectives = 0;
    bool logsMessages = false;
    /// Ranks with the same number share a clock: those of one host, else each rank by itself.
    int clock = 0;
    Nanoseconds clockBound = 0;  ///< its times are off by at most this, where they were aligned
  };

  /// Two ranks of which one begins jobs before their data can have been made on the other. Their
  /// clocks are apart, or their times are not those of the jobs.
  struct ClocksApart {
    std::uint32_t maker = 0;  ///< index in ranks()
    std::uint32_t user = 0;   ///< index in ranks()
    Nanoseconds by = 0;       ///< at least, beyond what is known of both clocks
    std::int64_t count = 0;   ///< how many jobs begin too early
    std::int64_t all = 0;     ///< of how many that need data of that rank
    Id made = kNone;          ///< the job that ended last before the one that was earliest
    Id used = kNone;          ///< the latter
  };

  /// `timeline` must be completed, and outlive the graph. Uses that many threads.
  JobGraph(const Timeline& timeline, const Topology& topology, int threads = 1);
  JobGraph(const Timeline& timeline, const Topology& topology, Phase phase, int threads = 1);

  /// The phase of all nodes.
  Phase phase() const { return phase_; }
  const Node& node(Id id) const { return nodes_[id]; }
  std::span<const Node> nodes() const { return {nodes_.data(), nodeCount_}; }
  /// Jobs are [0, jobCount()), messages [jobCount(), messageEnd()), then collectives.
  std::size_t jobCount() const { return jobCount_; }
  std::size_t messageEnd() const { return messageEnd_; }
  const std::vector<Rank>& ranks() const { return ranks_; }
  /// The indices in ranks() of each pipeline, in the order of positions.
  const std::vector<std::vector<std::uint32_t>>& pipelines() const { return pipelines_; }
  /// The messages of a pipeline are [first, second).
  std::pair<Id, Id> messagesOf(std::size_t pipeline) const { return messageRanges_[pipeline]; }
  const Message& message(Id id) const { return messages_[id - jobCount_]; }
  /// Whether any message is on a line.
  bool hasLines() const { return !lineEnds_.empty(); }
  /// Whether the data of any message were made while its line still had the message before it, so
  /// that it had to wait for its turn. Where none had to, messages may stand on a line in the order
  /// in which they came, and nothing says that it holds up anything.
  bool areLinesHeld() const;
  /// Only where hasLines().
  const LineEnd& lineEnd(Id end) const { return lineEnds_[end]; }
  Id sendOf(Id message) const { return 2 * static_cast<Id>(message - jobCount_); }
  Id receiveOf(Id message) const { return sendOf(message) + 1; }
  Id messageOf(Id end) const { return static_cast<Id>(jobCount_) + end / 2; }
  static bool isSendEnd(Id end) { return end % 2 == 0; }
  const Event& eventOf(Id end) const {
    const Message& both = messages_[end / 2];
    return isSendEnd(end) ? *both.send : *both.receive;
  }
  /// The end of a message that began last, the receiver's where they began together.
  Id lastEndOf(Id id) const {
    const Message& both = message(id);
    const bool isSend =
        both.receive == nullptr || (both.send != nullptr && both.send->begin > both.receive->begin);
    return isSend ? sendOf(id) : receiveOf(id);
  }
  /// Whether a message could only begin when its turn on a line came, at the end that began last.
  bool isOnLine(Id id) const {
    return hasLines() && nodes_[id].isMessage && lineEnds_[lastEndOf(id)].isOnLine;
  }

  /// In the order of step and begin on each rank.
  const Collective& collective(Id id) const { return collectives_[id - messageEnd_]; }
  /// The job that made the data of input `i` of a job; kNone: there is none, or it is missing.
  Id producer(Id job, int i) const {
    const Id input = nodes_[job].inputs[i];
    return input != kNone && nodes_[input].isMessage ? nodes_[input].inputs[0] : input;
  }
  /// How many ranks of a pipeline take turns at the micro-batches of a stage
  /// (Topology::ranksOfStage): 1 where the logs say nothing of it.
  int turnsOf(std::int32_t stage) const {
    const auto s = static_cast<std::size_t>(stage);
    return stage < 0 || s >= turns_.size() ? 1 : turns_[s];
  }
  /// Whether the jobs are numbered per rank, step and kind, as in the traces of the straggler
  /// study. Their collectives inside of jobs count, and members need not overlap.
  bool isNumbered() const { return isNumbered_; }
  /// The pairs of ranks whose jobs contradict their clocks, ascending. Jobs may begin before their
  /// data by the bounds of both clocks and kEarlyJob. A fused pair and a job in parts make their
  /// data at any time, and need it at any time.
  const std::vector<ClocksApart>& clocksApart() const { return clocksApart_; }
  /// Whether clocksApart() has them, in either order. Indices in ranks().
  bool areClocksApart(std::uint32_t a, std::uint32_t b) const;
  static constexpr Nanoseconds kEarlyJob = 50 * kNsPerUs;

  /// When the rank's thread had waited for the last message before the job, where nobody knows
  /// whose message that is; kNsMin: it waited for none.
  Nanoseconds waitedUntil(Id job) const {
    const auto found = waitEnds_.find(job);
    return found == waitEnds_.end() ? kNsMin : found->second;
  }
  bool hasWaits() const { return !waitEnds_.empty(); }

  /// What happens inside the jobs of ranks that share stages.
  const InsideJobs& inside() const { return inside_; }
  /// How long a job takes without the time for which other ranks hold it up inside. Medians, plans
  /// and comparisons of ranks and stages use this.
  Nanoseconds lengthOf(Id job) const {
    return nodes_[job].end - nodes_[job].begin - inside_.lateIn(job);
  }
  /// Without the time in which collectives move, too: all members share that.
  Nanoseconds ownTimeOf(Id job) const {
    if (inside_.empty() || !isCompute(nodes_[job].kind)) return lengthOf(job);
    return inside_.partsOf(job).own + inside_.partsOf(job).launchBound;
  }

  /// In which kernels of its rank compute. As ownTimeOf() where ranks do not meet inside jobs.
  Nanoseconds kernelTimeOf(Id job) const {
    if (inside_.empty() || !isCompute(nodes_[job].kind)) return lengthOf(job);
    return inside_.partsOf(job).own;
  }

  /// How many compute jobs had no micro-batch, so that the n-th of a rank's step, stage and kind
  /// counts as that of micro-batch n.
  std::int64_t countedMicroBatches() const { return counted_; }

 private:
  friend class JobGraphBuilder;

  Phase phase_ = Phase::kTraining;
  SharedArray<Node> nodes_;
  std::size_t nodeCount_ = 0;
  std::size_t jobCount_ = 0;
  std::size_t messageEnd_ = 0;
  std::vector<Rank> ranks_;
  std::vector<std::vector<std::uint32_t>> pipelines_;
  std::vector<Message> messages_;
  std::vector<LineEnd> lineEnds_;  // by number of the end; empty: there are no lines
  std::vector<Collective> collectives_;
  std::vector<std::pair<Id, Id>> messageRanges_;  // by pipeline
  std::vector<int> turns_;                        // by stage
  std::vector<ClocksApart> clocksApart_;
  std::map<Id, Nanoseconds> waitEnds_;
  InsideJobs inside_;
  std::int64_t counted_ = 0;
  bool isNumbered_ = false;
};

/// Whether the sender posted its end of a message last, so that it is to blame where that is late.
/// It is where both ends begin together, too: receives may be posted at any time before.
bool isPostedBySender(const JobGraph& graph, JobGraph::Id message);

}  // namespace pipetrace
