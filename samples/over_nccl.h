#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "runtime/device/rank_device.h"
#include "runtime/transport/gloo.h"
#include "runtime/transport/line_transport.h"
#include "runtime/transport/nccl.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The place of a rank's RankOverNccl, through which the end of a run reaches it. The run may end
/// before there is one.
///
/// Threads: any.
class NcclPlace {
 public:
  void abort(const std::string& text);
  void use(Transport* line);

 private:
  std::mutex mutex_;
  Transport* line_ = nullptr;
  std::optional<std::string> failure_;
};

/// A rank that is about to send its messages through NCCL.
struct NcclRank {
  const GlooRun& run;
  const ProcessEnv& env;
  NcclPlace& place;
  NcclCommunicators communicators = NcclCommunicators::kRank;
  Nanoseconds connectTimeout = 0;
};

/// A rank's transport through NCCL, with Gloo for what stays on the host.
class RankOverNccl {
 public:
  /// Connects with the other ranks. Throws Error as connectNccl() does.
  RankOverNccl(const NcclRank& rank, const RankDevice& device, const Plan& plan);
  ~RankOverNccl() { place_.use(nullptr); }
  RankOverNccl(const RankOverNccl&) = delete;
  RankOverNccl& operator=(const RankOverNccl&) = delete;

  Transport& transport() { return transport_; }

 private:
  NcclPlace& place_;
  LineTransport transport_;
};

}  // namespace pipetrace
