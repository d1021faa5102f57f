#include "parser/device_time/launch_findings.h"

#include <numeric>
#include <string_view>

namespace pipetrace {
namespace {

void addReason(std::int64_t count, const char* reason, std::string& text) {
  if (count == 0) return;
  if (!text.empty()) text += ", ";
  text += std::to_string(count) + " " + reason;
}

/// Whether a name holds the text.
bool holds(const StringTable& names, std::string_view text) {
  for (StringId id = 0; id < names.size(); ++id) {
    if (names[id].find(text) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

LaunchFindings& LaunchFindings::operator+=(const LaunchFindings& other) {
  for (std::size_t i = 0; i < work.size(); ++i) work[i] += other.work[i];
  beforeLaunch += other.beforeLaunch;
  jobsWithoutWork += other.jobsWithoutWork;
  faults += other.faults;
  jobsWithoutTime.insert(jobsWithoutTime.end(), other.jobsWithoutTime.begin(),
                         other.jobsWithoutTime.end());
  return *this;
}

void reportLaunches(const LaunchFindings& findings, const std::string& file,
                    Diagnostics& diagnostics) {
  const auto note = [&](std::string message, std::string advice, std::int64_t count) {
    diagnostics.add({.severity = Severity::kNote,
                     .file = file,
                     .message = std::move(message),
                     .advice = std::move(advice),
                     .count = count});
  };
  std::string reasons;
  addReason(findings[LaunchOrigin::kOutside], "launched outside of any job", reasons);
  addReason(findings[LaunchOrigin::kUndecided],
            "launched by autograd while several backward passes were open", reasons);
  addReason(findings[LaunchOrigin::kNoLaunch], "without a launch in the trace", reasons);
  if (!reasons.empty()) {
    const auto all = std::accumulate(findings.work.begin(), findings.work.end(), std::int64_t{0});
    const std::int64_t without =
        all - findings[LaunchOrigin::kJob] - findings[LaunchOrigin::kAutograd];
    note(std::to_string(without) + " of " + std::to_string(all) +
             " kernels and copies belong to no job: " + reasons,
         "", 1);
  }
  if (findings.beforeLaunch > 0) {
    note("work on the device began before its launch, so the clocks of host and device differ",
         "times are kept as they are", findings.beforeLaunch);
  }
  if (findings.jobsWithoutWork > 0) {
    note("a job launched no work on a device and has the host's times",
         "its argument `time` is `host`", findings.jobsWithoutWork);
  }
}

void reportNoLaunches(std::int64_t moved, std::int64_t jobs, const std::string& launches,
                      const std::string& advice, const std::string& file,
                      Diagnostics& diagnostics) {
  const std::string reason = "the trace has no launches (" + launches + "), so ";
  const std::string message =
      moved == 0 ? reason +
                       "jobs have the host's times: they show when work was launched, and not "
                       "when the device ran it"
                 : reason + std::to_string(moved) + " of " + std::to_string(jobs) +
                       " jobs have the times of their annotations on the device: a backward pass "
                       "lacks the work that autograd's threads launched";
  diagnostics.add({.file = file, .message = message, .advice = advice});
}

void reportNoDevice(const std::string& file, Diagnostics& diagnostics) {
  diagnostics.add({.file = file,
                   .message = "the trace has no work on a device, so jobs have the times that "
                              "--time auto gives them: those of their operators where it names "
                              "them, else of their annotations",
                   .advice = "--time host gives those of the annotations"});
}

void reportNoJobs(const StringTable& names, const std::string& file, Diagnostics& diagnostics) {
  const bool isTorch = holds(names, "torch/distributed/pipelining/");
  const bool isDeepSpeed = holds(names, "deepspeed/runtime/pipe/");
  std::string advice =
      "add the lines of its page in docs/inputs.md (docs/inputs/torch.md, docs/inputs/deepspeed.md)"
      " and record again";
  std::string who = "some programs, as torch's Schedule1F1B and DeepSpeed, annotate none";
  if (isTorch && !isDeepSpeed) {
    who = "torch's Schedule1F1B annotates none";
    advice =
        "add the eight lines of docs/inputs/torch.md (torch.distributed.pipelining) and record"
        " again";
  } else if (isDeepSpeed) {
    who = "DeepSpeed's pipeline annotates none";
    advice = "add the lines of docs/inputs/deepspeed.md and record again";
  }
  diagnostics.add({.severity = Severity::kWarning,
                   .file = file,
                   .message = "the trace has sends and receives and no job: " + who,
                   .advice = advice});
}

void reportGraphsWithoutJobs(const std::string& file, Diagnostics& diagnostics) {
  diagnostics.add({.severity = Severity::kWarning,
                   .file = file,
                   .message = "the kernels of the trace were launched by CUDA graphs, which say"
                              " nothing of jobs, and their order does not tell any",
                   .advice = "annotate the kernels while the graph is captured, or record a few"
                             " steps without graphs (docs/inputs/torch.md)"});
}

void reportTurnsOfJobs(const std::string& file, Diagnostics& diagnostics) {
  diagnostics.add({.severity = Severity::kWarning,
                   .file = file,
                   .message =
                       "operators of a forward and of another micro-batch's backward take turns"
                       " between messages, as in Megatron-LM's combined 1F1B; such jobs are"
                       " not told apart",
                   .advice = "annotate the jobs, or record a few steps without"
                             " --overlap-moe-expert-parallel-comm (docs/inputs/megatron.md)"});
}

}  // namespace pipetrace
