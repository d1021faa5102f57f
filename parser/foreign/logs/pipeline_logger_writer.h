#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/files/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

/// "DIR/pipeline_rank3.json".
std::string pipelineLoggerPath(const std::string& folder, int rank);

/// Writes the jobs and messages of a rank as PipelineLogger of the VPipe walkthrough does. Each has
/// a line with its start, and after it one with its end, in the order of the starts. `time` is in
/// seconds since the epoch with nine decimals. PipelineLoggerReader reads the same times and
/// micro-batches from it; steps, stages and the other ends of messages have no place there. Bubbles
/// and kernels are left out.
class PipelineLoggerWriter {
 public:
  /// `timeline` must outlive it.
  PipelineLoggerWriter(const Timeline& timeline, int rank);

  std::size_t jobs() const { return events_.size(); }
  /// The caller commits `out`.
  void write(OutputFile& out) const;

 private:
  const Timeline& timeline_;
  const int rank_;
  std::vector<const Event*> events_;
};

}  // namespace pipetrace
