#pragma once

#include "parser/trace_reader.h"

namespace pipetrace {

/// Reads the JSON of the PipelineLogger of the VPipe walkthrough: objects such as
/// `{"rank":0,"event":"recv_forward_start","minibatch":0,"time":1.7e9}`, one per line or in an
/// array. Each pair of `_start` and `_end` becomes a job of the lane that its kind runs on. `time`
/// is in seconds since the epoch, read digit by digit. A file holds one rank or several.
class PipelineLoggerReader : public TraceReader {
 public:
  std::string_view formatName() const override { return "PipelineLogger JSON"; }
  FormatMatch probe(std::string_view head) const override;
  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;
};

}  // namespace pipetrace
