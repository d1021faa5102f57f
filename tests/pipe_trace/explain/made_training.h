#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "schedule/simulate/simulate.h"
#include "trace/log/fused_pair.h"
#include "trace/timeline.h"

namespace pipetrace::test {

/// How a training of a simulated run is recorded.
struct TrainingShape {
  bool onDevice = false;  ///< GPUs and NCCL; else the work is the host's, and messages Gloo's
  int ahead = 1;          ///< how many receives are posted before their use; on GPUs
  int operators = 5;      ///< of a forward
  bool namesSteps = true;
  bool namesGroup = false;  ///< `pg_config` has the group of all ranks
  /// A CUDA graph runs each step: the host launches it, and kernels name neither job nor peer.
  bool inGraphs = false;
  bool hasOneKernelName = false;  ///< in graphs: all kernels but those of messages have one name
  /// Which jobs have an annotation (`PP:1F3`).
  std::function<bool(const Event&)> isAnnotated = [](const Event&) { return false; };
};

/// Writes traces of the ranks of a simulated run as torch.profiler would. The run's jobs are the
/// truth. On GPUs their work has their times. Else operators begin up to 0.02 ms after a job and
/// end up to 0.04 ms before it does.
///
/// A forward has operators with rising sequence numbers. Autograd runs its backward in the reverse
/// order, by the same numbers; on GPUs on a thread of its own. A micro-batch's forward is preceded
/// by an operator that makes its data, and the first one of a step by several that set it up. The
/// operators of both halves of a fused pair take turns; its messages are those of its forward, then
/// those of its backward.
class MadeTraining {
 public:
  MadeTraining(const Simulation& run, const TrainingShape& shape) : run_(run), shape_(shape) {}

  std::string textOf(int rank) {
    rank_ = rank;
    events_.clear();
    number_ = 100;
    correlation_ = 1000;
    numbers_.clear();
    const Track* const compute = run_.timeline.findTrack(rank, kComputeLane);
    std::map<std::int32_t, std::vector<Event>> steps;
    for (const Event& event : compute->events) {
      if (isCompute(event.kind) || event.kind == JobKind::kOptimizer) {
        steps[event.step].push_back(event);
      }
    }
    for (const auto& [step, jobs] : steps) addStep(step, jobs);
    return R"({"schemaVersion": 1, "distributedInfo": {"backend": ")" +
           std::string(shape_.onDevice ? "nccl" : "gloo") + R"(", "rank": )" +
           std::to_string(rank) + ", \"world_size\": " + std::to_string(run_.ranks.size()) +
           groups() + "},\n\"baseTimeNanoseconds\": 0,\n\"traceEvents\": [\n" + events_ + "\n]}";
  }

 private:
  std::string groups() const {
    if (!shape_.namesGroup) return "";
    std::string ranks;
    for (std::size_t rank = 0; rank < run_.ranks.size(); ++rank) {
      ranks += (rank == 0 ? "" : ", ") + std::to_string(rank);
    }
    return R"(, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": )" +
           std::to_string(run_.ranks.size()) + R"(, "ranks": [)" + ranks + "]}]";
  }

  static constexpr Nanoseconds kUs = kNsPerUs;
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // step, stage, micro-batch

  static std::string micros(Nanoseconds time) {
    std::string part = std::to_string(time % 1000);
    part.insert(0, 3 - part.size(), '0');
    return std::to_string(time / 1000) + "." + part;
  }

  void add(const char* category, const std::string& name, int process, int thread,
           Nanoseconds begin, Nanoseconds end, const std::string& arguments = "") {
    if (!events_.empty()) events_ += ",\n";
    events_ += R"({"ph":"X","cat":")" + std::string(category) + R"(","name":")" + name +
               R"(","pid":)" + std::to_string(process) + ",\"tid\":" + std::to_string(thread) +
               ",\"ts\":" + micros(begin) + ",\"dur\":" + micros(end - begin) + ",\"args\":{" +
               arguments + "}}";
  }

  void host(const char* category, const std::string& name, Nanoseconds begin, Nanoseconds end,
            const std::string& arguments = "", int thread = 1) {
    add(category, name, 900, thread, begin, end, arguments);
  }

  /// The halves of a fused pair as jobs of their own; other jobs as they are.
  std::vector<Event> halvesOf(const Event& job) const {
    const auto pair = fusedPairOf(run_.timeline, job);
    if (!pair) return {job};
    Event forward = job;
    forward.kind = JobKind::kForward;
    Event backward = job;
    backward.kind = JobKind::kBackward;
    backward.stage = pair->backwardStage;
    backward.microBatch = pair->backwardMicroBatch;
    return {forward, backward};
  }

  /// The messages that a job receives or sends.
  std::vector<const Event*> messagesOf(const Event& job, bool isSend) const {
    std::vector<const Event*> messages;
    const Track* const track = run_.timeline.findTrack(rank_, isSend ? kSendLane : kRecvLane);
    if (track == nullptr) return messages;
    for (const Event& half : halvesOf(job)) {
      if (half.kind == JobKind::kBackwardWeight || half.kind == JobKind::kOptimizer) continue;
      const JobKind kind = transferKind(isSend, half.kind == JobKind::kForward);
      const auto found =
          std::find_if(track->events.begin(), track->events.end(), [&](const Event& event) {
            return event.kind == kind && event.step == half.step && event.stage == half.stage &&
                   event.microBatch == half.microBatch;
          });
      if (found != track->events.end()) messages.push_back(&*found);
    }
    return messages;
  }

  using Operators = std::vector<std::pair<std::string, std::int64_t>>;

  static bool isForward(const std::string& name) { return name.starts_with("aten::"); }

  /// The operators of a job: their names and numbers, in order.
  Operators operatorsOf(const Event& job) {
    const std::vector<Event> halves = halvesOf(job);
    if (halves.size() < 2) return operatorsOfHalf(job);
    const Operators forward = operatorsOfHalf(halves[0]);
    const Operators backward = operatorsOfHalf(halves[1]);
    Operators list;
    for (std::size_t i = 0; i < std::max(forward.size(), (backward.size() + 1) / 2); ++i) {
      if (i < forward.size()) list.push_back(forward[i]);
      // Each of a backward is followed by one that takes a gradient.
      for (std::size_t b = 2 * i; b < std::min(2 * i + 2, backward.size()); ++b) {
        list.push_back(backward[b]);
      }
    }
    return list;
  }

  Operators operatorsOfHalf(const Event& job) {
    Operators list;
    const Key key{job.step, job.stage, job.microBatch};
    if (job.kind == JobKind::kForward) {
      list.emplace_back("aten::arange", -1);  // its data
      numbers_[key] = number_;
      for (int i = 0; i < shape_.operators; ++i) {
        list.emplace_back("aten::op" + std::to_string(i % 3), number_++);
      }
      list.emplace_back("aten::detach", number_);  // makes nothing that counts
      return list;
    }
    const std::int64_t first = numbers_.at(key);
    for (int i = shape_.operators; i-- > 0;) {
      list.emplace_back(
          "autograd::engine::evaluate_function: Op" + std::to_string(i % 3) + "Backward0",
          first + i);
      list.emplace_back("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", -1);
    }
    return list;
  }

  static std::string numberText(std::int64_t number) {
    return number < 0 ? "" : "\"Sequence number\":" + std::to_string(number);
  }

  static std::string nameOf(const Event& job) {
    const char letter = job.kind == JobKind::kForward         ? 'F'
                        : job.kind == JobKind::kBackward      ? 'B'
                        : job.kind == JobKind::kBackwardInput ? 'I'
                                                              : 'W';
    return "PP:" + std::to_string(job.stage) + letter + std::to_string(job.microBatch);
  }

  void addStep(std::int32_t step, const std::vector<Event>& jobs) {
    // The host is ahead of a device, also where the next step begins.
    const Nanoseconds ahead = (shape_.onDevice ? 3000 : 200) * kUs;
    const Nanoseconds begin = jobs.front().begin - ahead;
    if (shape_.namesSteps) {
      host("user_annotation", "ProfilerStep#" + std::to_string(step + 2), begin,
           jobs.back().end - (shape_.onDevice ? ahead : 0) - 2 * kUs);
    }
    // Operators that set the step up.
    for (int i = 0; i < 3; ++i) {
      host("cpu_op", "aten::item", begin + (10 + 20 * i) * kUs, begin + (20 + 20 * i) * kUs,
           numberText(number_));
    }
    if (shape_.inGraphs) return addInGraph(jobs, begin + 100 * kUs);
    shape_.onDevice ? addOnDevice(jobs, begin + 100 * kUs) : addOnHost(jobs);
  }

  void addOnHost(const std::vector<Event>& jobs) {
    Nanoseconds free = jobs.front().begin - 100 * kUs;  // when the thread has no more to do
    for (const Event& job : jobs) {
      if (job.kind == JobKind::kOptimizer) {
        host("user_annotation", "Optimizer.step#SGD.step", job.begin + 4 * kUs, job.end - 4 * kUs);
        host("cpu_op", "aten::add_", job.begin + 5 * kUs, job.end - 5 * kUs);
        continue;
      }
      for (const Event* const message : messagesOf(job, false)) {
        const Nanoseconds end = std::clamp(message->end, free + 6 * kUs, job.begin + 8 * kUs);
        host("cpu_op", "c10d::recv_", free, free + 4 * kUs);
        host("user_annotation", "gloo:recv", free + 3 * kUs, end);
        free += kUs;
      }
      const auto operators = operatorsOf(job);
      const Nanoseconds first = job.begin + 10 * kUs;
      const Nanoseconds each =
          (job.end - 30 * kUs - first) / static_cast<Nanoseconds>(operators.size());
      for (std::size_t i = 0; i < operators.size(); ++i) {
        const Nanoseconds at = first + static_cast<Nanoseconds>(i) * each;
        host("cpu_op", operators[i].first, at, at + each - 2 * kUs,
             numberText(operators[i].second));
      }
      if (shape_.isAnnotated(job)) {
        host("user_annotation", nameOf(job), first - kUs, job.end - 25 * kUs);
      }
      Nanoseconds posted = job.end - 20 * kUs;
      for (const Event* const message : messagesOf(job, true)) {
        host("cpu_op", "c10d::send", posted, posted + 4 * kUs);
        host("user_annotation", "gloo:send", posted + 3 * kUs,
             std::max(message->end, job.end - 10 * kUs));
        posted += 5 * kUs;
      }
      free = job.end - 8 * kUs;
    }
  }

  /// Posts a message at a time of the host, and runs it on its stream.
  void post(const Event& message, Nanoseconds at) {
    const bool sends = isSend(message.kind);
    const int from = sends ? rank_ : message.peer;
    const int to = sends ? message.peer : rank_;
    host("cpu_op", sends ? "c10d::send" : "c10d::recv_", at, at + 8 * kUs);
    host("cpu_op", "record_param_comms", at + kUs, at + 7 * kUs,
         R"("Collective name":")" + std::string(sends ? "send" : "recv") +
             R"(","dtype":"BFloat16","In msg nelems":1024,"Out msg nelems":1024,"Src Rank":)" +
             std::to_string(from) + ",\"Dst Rank\":" + std::to_string(to));
    const std::string correlation = "\"correlation\":" + std::to_string(++correlation_);
    host("cuda_runtime", "cudaLaunchKernel", at + 2 * kUs, at + 4 * kUs, correlation);
    add("kernel", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 0, sends ? 21 : 20,
        message.begin, message.end, correlation + ",\"device\":0,\"stream\":20");
  }

  void addOnDevice(const std::vector<Event>& jobs, Nanoseconds now) {
    std::vector<const Event*> receives;
    for (const Event& job : jobs) {
      for (const Event* const message : messagesOf(job, false)) receives.push_back(message);
    }
    std::size_t posted = 0;
    std::size_t used = 0;
    const auto postUpTo = [&](std::size_t count) {
      for (; posted < std::min(count, receives.size()); ++posted, now += 10 * kUs) {
        post(*receives[posted], now);
      }
    };
    postUpTo(static_cast<std::size_t>(shape_.ahead));
    for (const Event& job : jobs) {
      if (job.kind == JobKind::kOptimizer) {
        host("user_annotation", "Optimizer.step#SGD.step", now, now + 10 * kUs);
        const std::string update = "\"correlation\":" + std::to_string(++correlation_);
        host("cuda_runtime", "cudaLaunchKernel", now + 2 * kUs, now + 4 * kUs, update);
        add("kernel", "multi_tensor_apply", 0, 7, job.begin, job.end,
            update + ",\"device\":0,\"stream\":7");
        now += 12 * kUs;
        continue;
      }
      const Nanoseconds begin = now;
      const auto operators = operatorsOf(job);
      const auto count = static_cast<Nanoseconds>(operators.size());
      for (Nanoseconds i = 0; i < count; ++i, now += 6 * kUs) {
        const auto& [name, number] = operators[static_cast<std::size_t>(i)];
        const int thread = isForward(name) ? 1 : 2;
        const std::string correlation = "\"correlation\":" + std::to_string(++correlation_);
        host("cpu_op", name, now, now + 5 * kUs, numberText(number), thread);
        host("cuda_runtime", "cudaLaunchKernel", now + kUs, now + 3 * kUs, correlation, thread);
        add("kernel", "gemm", 0, 7, job.begin + job.duration() * i / count,
            job.begin + job.duration() * (i + 1) / count,
            correlation + ",\"device\":0,\"stream\":7");
      }
      if (shape_.isAnnotated(job)) host("user_annotation", nameOf(job), begin - kUs, now);
      used += messagesOf(job, false).size();
      now += 2 * kUs;
      for (const Event* const message : messagesOf(job, true)) {
        post(*message, now);
        now += 10 * kUs;
      }
      postUpTo(used + static_cast<std::size_t>(shape_.ahead));
    }
  }

  /// The kernels of a job, in order.
  std::vector<std::string> kernelsOf(const Event& job) const {
    static const std::map<JobKind, std::vector<std::string>> kOfLayer = {
        {JobKind::kForward, {"norm", "gemm_nt", "attention"}},
        {JobKind::kBackward, {"attention_backward", "gemm_nn", "gemm_tn", "norm_backward"}},
        {JobKind::kBackwardInput, {"attention_backward", "gemm_nn", "norm_backward"}},
        {JobKind::kBackwardWeight, {"gemm_tn", "reduce"}},
        {JobKind::kOptimizer, {"multi_tensor_apply"}}};
    std::vector<std::string> kernels;
    constexpr int kLayers = 4;
    for (int layer = 0; layer < kLayers; ++layer) {
      for (const std::string& name : kOfLayer.at(job.kind)) {
        kernels.push_back(shape_.hasOneKernelName ? "gemm" : name);
      }
    }
    return kernels;
  }

  /// Nodes count in the order of the capture. Their streams say nothing.
  void addInGraph(const std::vector<Event>& jobs, Nanoseconds now) {
    const std::string launch = "\"correlation\":" + std::to_string(++correlation_);
    host("cuda_runtime", "cudaGraphLaunch", now, now + 20 * kUs, launch);
    int node = 0;
    const auto addNode = [&](const std::string& name, Nanoseconds begin, Nanoseconds end) {
      ++node;
      add("kernel", name, 0, 7 + node % 2, begin, end,
          launch + ",\"device\":0,\"graph id\":3,\"graph node id\":" + std::to_string(node));
    };
    const auto addMessage = [&](const Event& message) {
      addNode("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", message.begin,
              message.end);
    };
    for (const Event& job : jobs) {
      for (const Event* const message : messagesOf(job, false)) addMessage(*message);
      const std::vector<std::string> kernels = kernelsOf(job);
      const auto count = static_cast<Nanoseconds>(kernels.size());
      for (Nanoseconds i = 0; i < count; ++i) {
        addNode(kernels[static_cast<std::size_t>(i)], job.begin + job.duration() * i / count,
                job.begin + job.duration() * (i + 1) / count);
      }
      for (const Event* const message : messagesOf(job, true)) addMessage(*message);
    }
  }

  const Simulation& run_;
  const TrainingShape& shape_;
  int rank_ = 0;
  std::string events_;
  std::int64_t number_ = 0;
  std::int64_t correlation_ = 0;
  std::map<Key, std::int64_t> numbers_;  // the first of each forward
};

}  // namespace pipetrace::test
