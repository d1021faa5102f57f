#include "parser/foreign/kineto/launch_findings.h"

#include <numeric>
#include <string>

namespace pipetrace {
namespace {

void report(const ForeignTrace& trace, Severity severity, std::string message, std::string advice,
            std::int64_t count = 1) {
  trace.diagnostics.add({.severity = severity,
                         .file = trace.file,
                         .message = std::move(message),
                         .advice = std::move(advice),
                         .count = count});
}

constexpr const char* kHowToRecord =
    "record with ProfilerActivity.CPU and ProfilerActivity.CUDA, so that the trace holds the "
    "launches (docs/inputs.md)";

void addReason(std::int64_t count, const char* reason, std::string& text) {
  if (count == 0) return;
  if (!text.empty()) text += ", ";
  text += std::to_string(count) + " " + reason;
}

}  // namespace

void reportLaunches(const LaunchFindings& findings, const ForeignTrace& trace) {
  const LaunchCounts& counts = findings.counts;
  std::string reasons;
  addReason(counts[LaunchOrigin::kOutside], "launched outside of any job", reasons);
  addReason(counts[LaunchOrigin::kUndecided],
            "launched by autograd while several backward passes were open", reasons);
  addReason(counts[LaunchOrigin::kNoLaunch], "without a launch in the trace", reasons);
  if (!reasons.empty()) {
    const auto all = std::accumulate(counts.work.begin(), counts.work.end(), std::int64_t{0});
    const std::int64_t without = all - counts[LaunchOrigin::kJob] - counts[LaunchOrigin::kAutograd];
    report(trace, Severity::kNote,
           std::to_string(without) + " of " + std::to_string(all) +
               " kernels and copies belong to no job: " + reasons,
           "");
  }
  if (counts.beforeLaunch > 0) {
    report(trace, Severity::kNote,
           "work on the device began before its launch, so the clocks of host and device differ",
           "times are kept as they are", counts.beforeLaunch);
  }
  if (findings.jobsWithoutWork > 0) {
    report(trace, Severity::kNote, "a job launched no work on a device and has the host's times",
           "its argument `time` is `host`", findings.jobsWithoutWork);
  }
}

void reportNoLaunches(std::int64_t moved, std::int64_t jobs, const ForeignTrace& trace) {
  if (moved == 0) {
    return report(trace, Severity::kWarning,
                  "the trace has no launches (cuda_runtime), so jobs have the host's times: they "
                  "show when work was launched, and not when the device ran it",
                  kHowToRecord);
  }
  report(trace, Severity::kWarning,
         "the trace has no launches (cuda_runtime), so " + std::to_string(moved) + " of " +
             std::to_string(jobs) +
             " jobs have the times of their annotations on the device: a backward pass lacks the "
             "work that autograd's threads launched",
         kHowToRecord);
}

void reportNoDevice(const ForeignTrace& trace) {
  report(trace, Severity::kWarning,
         "the trace has no work on a device, so jobs have the host's times whatever --time says",
         "");
}

void reportNoJobs(const ForeignTrace& trace) {
  report(trace, Severity::kWarning,
         "the trace has sends and receives and no job: torch's Schedule1F1B annotates none",
         "add the eight lines of docs/inputs.md (torch.distributed.pipelining) and record again");
}

}  // namespace pipetrace
