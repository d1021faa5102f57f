#include "schedule/file/paddle_job_list.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "schedule/with_reductions.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// A backward in parts is one job: PaddlePaddle cuts those before a forward, and no last one.
std::vector<Action> jobsOfRow(const std::vector<Action>& row) {
  std::vector<Action> jobs = withoutDataParallel(row);
  std::erase_if(jobs, [](const Action& action) { return !action.isFirstPart(); });
  return jobs;
}

class JobList {
 public:
  JobList(const Plan& plan, int rank, const PaddleJobListOptions& options)
      : plan_(plan),
        row_(jobsOfRow(plan.ranks[static_cast<std::size_t>(rank)])),
        options_(options),
        chunked_(plan.numChunks() > 1) {}

  std::vector<PaddleJob> run() {
    if (options_.lr) jobs_.push_back({"lr", 0});
    for (std::size_t i = 0; i < row_.size(); ++i) {
      const bool stable = i + 1 < row_.size() && row_[i].kind == JobKind::kBackward &&
                          row_[i + 1].kind == JobKind::kForward;
      if (stable) {
        addStablePair(row_[i], row_[i + 1]);
        ++i;
      } else {
        addAlone(row_[i]);
      }
    }
    jobs_.push_back({"optimizer", 0});
    return std::move(jobs_);
  }

 private:
  void addAlone(const Action& action) {
    switch (action.kind) {
      case JobKind::kForward:
        if (options_.transfers) add("recv_forward", action);
        add("forward", action);
        break;
      case JobKind::kBackward:
        add("backward", action);
        if (options_.transfers) add("send_backward", action);
        break;
      case JobKind::kBackwardInput: add("backward_b", action); break;
      case JobKind::kBackwardWeight: add("backward_w", action); break;
      case JobKind::kRecompute: break;  // operators inside the backward's job
      default:
        // Sends and receives are no jobs here but operators inside them.
        if (isTransfer(action.kind)) break;
        throw Error("PaddlePaddle's job lists have no " + toText(action) + ", which " + plan_.name +
                    " needs");
    }
  }

  void addStablePair(const Action& backward, const Action& forward) {
    if (options_.transfers) {
      add("backward", backward);
      add("recv_forward", forward);
      add("send_backward", backward);
      add("forward", forward);
      return;
    }
    const auto addPart = [&](const char* type, const Action& action, int part, int parts) {
      if (part >= parts) return;
      add(parts == 1 ? type : type + ("(chunk" + std::to_string(part) + ")"), action);
    };
    for (int part = 0; part < std::max(options_.backwardParts, options_.forwardParts); ++part) {
      addPart("backward", backward, part, options_.backwardParts);
      addPart("forward", forward, part, options_.forwardParts);
    }
  }

  void add(std::string type, const Action& action) {
    if (chunked_) type += std::to_string(plan_.chunkOfStage(action.stage));
    jobs_.push_back({std::move(type), action.microBatch});
  }

  const Plan& plan_;
  const std::vector<Action> row_;
  const PaddleJobListOptions& options_;
  const bool chunked_;
  std::vector<PaddleJob> jobs_;
};

}  // namespace

std::vector<PaddleJob> paddleJobList(const Plan& plan, int rank,
                                     const PaddleJobListOptions& options) {
  const std::string what = "cannot make PaddlePaddle's job list of " + plan.name + ": ";
  if (rank < 0 || rank >= plan.numRanks()) {
    throw Error(what + "it has no rank " + std::to_string(rank));
  }
  if (plan.isAsynchronous() || plan.placement.hasSeveralRanks()) {
    throw Error(what + "they end with one optimizer job and know one direction only");
  }
  if (plan.isForwardOnly()) {
    throw Error(what + "its passes schedule training only, and the plan has no backward");
  }
  const bool parts = options.backwardParts != 1 || options.forwardParts != 1;
  if (options.backwardParts < 1 || options.forwardParts < 1) {
    throw Error(what + "a job has at least one part");
  }
  if (parts && options.transfers) {
    throw Error(what + "its passes overlap parts or split transfers off, not both");
  }
  return JobList(plan, rank, options).run();
}

std::string toText(const std::vector<PaddleJob>& jobs) {
  std::string text;
  for (const PaddleJob& job : jobs) {
    if (!text.empty()) text += ' ';
    text += job.type + "(" + std::to_string(job.microBatch) + ")";
  }
  return text;
}

}  // namespace pipetrace
