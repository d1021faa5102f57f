#include "analysis/graph/job_graph.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "analysis/graph/job_index.h"
#include "analysis/steps/rank_jobs.h"
#include "trace/log/fused_pair.h"
#include "trace/message_arguments.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

bool isForwardPart(JobKind kind) {
  return kind == JobKind::kForward || kind == JobKind::kForwardBackward;
}
bool isBackwardPart(JobKind kind) {
  return kind == JobKind::kBackward || kind == JobKind::kBackwardInput;
}

/// The stages and micro-batches that a job hands data to, or that a message is for.
void widen(const JobKey& key, JobKey& lowest, JobKey& highest) {
  lowest.step = std::min(lowest.step, key.step);
  lowest.stage = std::min(lowest.stage, key.stage);
  lowest.microBatch = std::min(lowest.microBatch, key.microBatch);
  highest.step = std::max(highest.step, key.step);
  highest.stage = std::max(highest.stage, key.stage);
  highest.microBatch = std::max(highest.microBatch, key.microBatch);
}

/// Counts the jobs without a micro-batch of one rank: the n-th of its step, stage and kind.
class Counter {
 public:
  std::int32_t next(const Event& event) { return counts_[{event.step, event.stage, event.kind}]++; }

 private:
  std::map<std::tuple<std::int32_t, std::int32_t, JobKind>, std::int32_t> counts_;
};

}  // namespace

/// Builds the part of a graph that belongs to one pipeline after the other.
class JobGraphBuilder {
 public:
  JobGraphBuilder(const Timeline& timeline, JobGraph& graph, int threads)
      : timeline_(timeline), graph_(graph), threads_(threads) {
    const auto arrived = timeline.strings.find(message_arguments::kArrived);
    const auto early = timeline.strings.find(message_arguments::kEarly);
    if (arrived && early) early_ = {*arrived, *early};
  }

  void build(const Topology& topology) {
    addRanks(topology);
    std::vector<std::vector<const Event*>> jobs(graph_.ranks_.size());
    inParallel(threads_, jobs.size(), [&](std::size_t r) {
      RankJobs all(timeline_, graph_.ranks_[r].number, isComputeLane);
      while (const Event* const job = all.next()) jobs[r].push_back(job);
    });
    Id next = 0;
    for (std::size_t r = 0; r < jobs.size(); ++r) {
      graph_.ranks_[r].first = next;
      next += static_cast<Id>(jobs[r].size());
      graph_.ranks_[r].end = next;
    }
    graph_.jobCount_ = next;
    graph_.nodes_.resize(next);
    std::vector<std::int64_t> counted(jobs.size());
    inParallel(threads_, jobs.size(), [&](std::size_t r) {
      counted[r] = fillJobs(static_cast<std::uint32_t>(r), jobs[r]);
    });
    for (const std::int64_t count : counted) graph_.counted_ += count;
    std::vector<Pipeline> pipelines(graph_.pipelines_.size());
    inParallel(threads_, pipelines.size(),
               [&](std::size_t p) { collectMessages(graph_.pipelines_[p], pipelines[p]); });
    for (Pipeline& pipeline : pipelines) {
      pipeline.firstMessage = static_cast<Id>(graph_.nodes_.size());
      graph_.nodes_.resize(graph_.nodes_.size() + pipeline.messages.size());
      graph_.messages_.insert(graph_.messages_.end(), pipeline.messages.begin(),
                              pipeline.messages.end());
      graph_.messageRanges_.emplace_back(pipeline.firstMessage, graph_.nodes_.size());
    }
    inParallel(threads_, pipelines.size(),
               [&](std::size_t p) { connect(graph_.pipelines_[p], pipelines[p]); });
  }

 private:
  /// An end of a message on a lane.
  struct End {
    const Event* event = nullptr;
    std::uint32_t rank = 0;
    std::uint32_t track = 0;
    Id message = JobGraph::kNone;  // among those of the pipeline
  };
  struct Pipeline {
    std::vector<JobGraph::Message> messages;
    std::vector<JobKey> keys;  // of messages
    std::vector<std::uint32_t> receivers;
    std::vector<End> ends;  // by track, in order
    Id firstMessage = 0;
    std::optional<JobIndex> jobs;     // jobs that make data, by the stage that they are of
    std::optional<JobIndex> arrived;  // messages, by the stage that they are for
    std::int32_t stages = 0;
  };

  void addRanks(const Topology& topology) {
    std::map<int, std::vector<int>> replicas = topology.replicas();
    for (auto& [replica, numbers] : replicas) {
      std::stable_sort(numbers.begin(), numbers.end(), [&](int a, int b) {
        return topology.places.at(a).position < topology.places.at(b).position;
      });
      std::vector<std::uint32_t>& pipeline = graph_.pipelines_.emplace_back();
      for (const int number : numbers) {
        pipeline.push_back(static_cast<std::uint32_t>(graph_.ranks_.size()));
        graph_.ranks_.push_back({.number = number,
                                 .replica = replica,
                                 .position = static_cast<int>(pipeline.size()) - 1});
      }
    }
  }

  std::int64_t fillJobs(std::uint32_t r, const std::vector<const Event*>& jobs) {
    Counter counter;
    std::int64_t counted = 0;
    const Id first = graph_.ranks_[r].first;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Event& job = *jobs[i];
      JobGraph::Node& node = graph_.nodes_[first + i];
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
        ++counted;
      }
    }
    return counted;
  }

  /// The last of the jobs [first, end) that had ended at `time`.
  Id jobBefore(Id first, Id end, Nanoseconds time) const {
    constexpr Id kMostOverlapping = 256;
    const Id lowest = end - first > kMostOverlapping ? end - kMostOverlapping : first;
    for (Id id = end; id > lowest; --id) {
      if (graph_.nodes_[id - 1].end <= time) return id - 1;
    }
    return JobGraph::kNone;
  }

  bool isEarly(const Event& event) const {
    if (!early_) return false;
    for (const Argument& argument : timeline_.argumentsOf(event)) {
      if (argument.key == early_->first && argument.type == ArgumentType::kText) {
        return argument.text == early_->second;
      }
    }
    return false;
  }

  /// The forward and backward data that a job makes, by its own stage.
  template <typename Visit>
  void visitMade(const JobGraph::Node& node, const Visit& visit) const {
    if (node.kind == JobKind::kForwardBackward) {
      const auto pair = fusedPairOf(timeline_, *node.event);
      if (!pair) return;
      visit(JobKey{node.step, pair->forwardStage, pair->forwardMicroBatch, true});
      visit(JobKey{node.step, pair->backwardStage, pair->backwardMicroBatch, false});
    } else if (isForwardPart(node.kind) || isBackwardPart(node.kind)) {
      visit(JobKey{node.step, node.stage, node.microBatch, isForwardPart(node.kind)});
    }
  }

  /// The key of a message: the stage that it is for.
  static JobKey keyOf(const Event& end, std::int32_t microBatch) {
    const bool isForward = isForwardTransfer(end.kind);
    std::int32_t stage = end.stage;
    if (isSend(end.kind) && stage >= 0) stage += isForward ? 1 : -1;
    return {end.step, stage, microBatch, isForward};
  }

  void collectMessages(const std::vector<std::uint32_t>& ranks, Pipeline& pipeline) {
    JobKey lowest{std::numeric_limits<std::int32_t>::max(),
                  std::numeric_limits<std::int32_t>::max(),
                  std::numeric_limits<std::int32_t>::max()};
    JobKey highest;
    std::size_t count = 0;
    for (const std::uint32_t r : ranks) {
      const JobGraph::Rank& rank = graph_.ranks_[r];
      const auto info = timeline_.ranks.find(rank.number);
      if (info != timeline_.ranks.end()) {
        pipeline.stages = std::max(pipeline.stages, info->second.numStages.value_or(0));
      }
      for (Id id = rank.first; id < rank.end; ++id) {
        visitMade(graph_.nodes_[id], [&](const JobKey& key) {
          if (!key.isKnown()) return;
          widen(key, lowest, highest);
          ++count;
        });
      }
    }
    pipeline.stages = std::max(pipeline.stages, highest.stage + 1);
    pipeline.jobs.emplace(lowest, highest, count);
    pipeline.arrived.emplace(lowest, highest, count);
    for (const std::uint32_t r : ranks) {
      const JobGraph::Rank& rank = graph_.ranks_[r];
      for (Id id = rank.first; id < rank.end; ++id) {
        visitMade(graph_.nodes_[id], [&](const JobKey& key) {
          if (!key.isKnown()) return;
          const Id other = pipeline.jobs->find(key);  // parts of a job: the last one counts
          if (other == JobGraph::kNone || graph_.nodes_[other].end < graph_.nodes_[id].end) {
            pipeline.jobs->set(key, id);
          }
        });
      }
      for (std::uint32_t t = 0; t < timeline_.tracks.size(); ++t) {
        if (timeline_.tracks[t].rank == rank.number) addEnds(r, t, pipeline);
      }
    }
  }

  void addEnds(std::uint32_t r, std::uint32_t t, Pipeline& pipeline) {
    Counter counter;
    for (const Event& event : timeline_.tracks[t].events) {
      if (!isTransfer(event.kind)) continue;
      graph_.ranks_[r].logsMessages = true;
      const JobKey key =
          keyOf(event, event.microBatch < 0 ? counter.next(event) : event.microBatch);
      if (!key.isKnown() || isEarly(event)) continue;
      Id number = pipeline.arrived->find(key);
      if (number == JobGraph::kNone) {
        number = static_cast<Id>(pipeline.messages.size());
        pipeline.messages.emplace_back();
        pipeline.keys.push_back(key);
        pipeline.receivers.push_back(r);
        pipeline.arrived->set(key, number);
      }
      JobGraph::Message& message = pipeline.messages[number];
      const Event*& end = isSend(event.kind) ? message.send : message.receive;
      if (end == nullptr || end->end < event.end) end = &event;  // of several parts the last
      if (isRecv(event.kind)) pipeline.receivers[number] = r;
      pipeline.ends.push_back({&event, r, t, number});
    }
  }

  void connect(const std::vector<std::uint32_t>& ranks, Pipeline& pipeline) {
    for (std::size_t m = 0; m < pipeline.messages.size(); ++m) fillMessage(m, pipeline);
    orderMessages(pipeline);
    for (const std::uint32_t r : ranks) {
      const JobGraph::Rank& rank = graph_.ranks_[r];
      for (Id id = rank.first; id < rank.end; ++id) {
        JobGraph::Node& node = graph_.nodes_[id];
        int count = 0;
        visitMade(node, [&](const JobKey& key) { addInput(key, pipeline, node, count); });
      }
    }
  }

  /// The key of the data that the stage `key` gets its own from; not known at the pipeline's ends.
  static JobKey sourceOf(const JobKey& key, const Pipeline& pipeline) {
    JobKey source = key;
    source.stage += key.isForward ? -1 : 1;
    if (source.stage >= pipeline.stages) source.stage = -1;
    return source;
  }

  void fillMessage(std::size_t m, const Pipeline& pipeline) {
    const JobGraph::Message& message = pipeline.messages[m];
    JobGraph::Node& node = graph_.nodes_[pipeline.firstMessage + m];
    node.isMessage = true;
    node.event = message.receive != nullptr ? message.receive : message.send;
    node.begin = node.event->begin;
    if (message.send != nullptr) node.begin = std::max(node.begin, message.send->begin);
    node.end = node.event->end;
    node.rank = pipeline.receivers[m];
    node.step = node.event->step;
    node.stage = node.event->stage;
    node.kind = node.event->kind;
    node.microBatch = pipeline.keys[m].microBatch;
    const JobKey source = sourceOf(pipeline.keys[m], pipeline);
    if (source.isKnown()) node.inputs[0] = pipeline.jobs->find(source);
    node.lacksInput = node.inputs[0] == JobGraph::kNone;
  }

  /// Finds what the ends of messages waited for on their own ranks.
  void orderMessages(const Pipeline& pipeline) {
    std::uint32_t track = ~std::uint32_t{0};
    std::vector<Id> ended;  // messages of the track, in the order of their begins
    for (const End& end : pipeline.ends) {
      if (end.track != track) ended.clear();
      track = end.track;
      const Id id = pipeline.firstMessage + end.message;
      JobGraph::Node& node = graph_.nodes_[id];
      // Only the end that came last can have held the message up.
      if (end.event->begin == node.begin) {
        constexpr std::size_t kMostOpen = 256;
        const std::size_t most = std::min(ended.size(), kMostOpen);
        for (std::size_t i = 1; i <= most; ++i) {
          const Id other = ended[ended.size() - i];
          if (graph_.nodes_[other].end > node.begin || other == id) continue;
          takeLater(other, node);
          break;
        }
        const Event* const send = pipeline.messages[end.message].send;
        const bool isPostedLast = send == nullptr || send->begin < end.event->begin;
        if (isRecv(end.event->kind) && isPostedLast) {
          const JobGraph::Rank& rank = graph_.ranks_[end.rank];
          const auto first = graph_.nodes_.begin() + rank.first;
          const auto next = std::partition_point(
              first, graph_.nodes_.begin() + rank.end,
              [&](const JobGraph::Node& job) { return job.begin <= node.begin; });
          takeLater(jobBefore(rank.first, rank.first + static_cast<Id>(next - first), node.begin),
                    node);
        }
      }
      ended.push_back(id);
    }
  }

  void takeLater(Id other, JobGraph::Node& node) const {
    if (other == JobGraph::kNone) return;
    const bool isLater =
        node.before == JobGraph::kNone || graph_.nodes_[node.before].end < graph_.nodes_[other].end;
    if (isLater) node.before = other;
  }

  void addInput(const JobKey& key, const Pipeline& pipeline, JobGraph::Node& node, int& count) {
    if (!key.isKnown()) {
      node.lacksInput = true;  // nobody knows which it is
      return;
    }
    const JobKey source = sourceOf(key, pipeline);
    if (!source.isKnown()) return;
    const Id producer = pipeline.jobs->find(source);
    if (producer != JobGraph::kNone && graph_.nodes_[producer].rank == node.rank) return;
    const Id message = pipeline.arrived->find(key);
    if (message != JobGraph::kNone) {
      node.inputs[count++] = pipeline.firstMessage + message;
    } else if (producer != JobGraph::kNone) {
      node.inputs[count++] = producer;
    } else {
      node.lacksInput = true;
    }
  }

  const Timeline& timeline_;
  JobGraph& graph_;
  int threads_;
  std::optional<std::pair<StringId, StringId>> early_;  // key and value of such an argument
};

JobGraph::JobGraph(const Timeline& timeline, const Topology& topology, int threads) {
  JobGraphBuilder(timeline, *this, threads).build(topology);
}

}  // namespace pipetrace
