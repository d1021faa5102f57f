#pragma once

#include "parser/trace_reader.h"

namespace pipetrace {

/// Reads the JSON of the PipelineLogger of the VPipe walkthrough: objects such as
/// `{"rank":0,"event":"recv_forward_start","minibatch":0,"time":1.7e9}`, one a line or in an array.
/// What `_start` and `_end` embrace becomes a job of the lane that its kind runs on; `time` is in
/// seconds since the epoch, taken as digits. One file per rank, or several ranks in one.
class PipelineLoggerReader : public TraceReader {
 public:
  std::string_view formatName() const override { return "PipelineLogger JSON"; }
  FormatMatch probe(std::string_view head) const override;
  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;
};

}  // namespace pipetrace
