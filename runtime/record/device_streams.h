#pragma once

#include <memory>

#include "profiler/cuda/api.h"
#include "runtime/device/rank_device.h"
#include "runtime/record/recorded_streams.h"

namespace pipetrace {

/// addStreams() for a rank whose jobs are queued on a device: the compute lane, and those of
/// transfers, are streams there. A send stands on the compute stream, where its message is made; a
/// receive on the stream that waits for it. `hasLine`: the transport moves messages in line, which
/// stand on a lane of their own.
///
/// `device` must outlive the recorder. Throws Error if `cuda` does not know the device.
RecordedStreams addDeviceStreams(Recorder& recorder, RankDevice& device,
                                 std::shared_ptr<CudaApi> cuda, bool hasLine);

}  // namespace pipetrace
