#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "runtime/device/rank_device.h"
#include "runtime/transport/gloo.h"
#include "runtime/transport/line_transport.h"
#include "runtime/transport/nccl.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The transports of a rank through NCCL, so that the end of a run reaches them. The run may end
/// before there is one.
///
/// Threads: any.
class NcclPlace {
 public:
  void abort(const std::string& text);
  void add(Transport& line);
  void remove(Transport& line);

 private:
  std::mutex mutex_;
  std::set<Transport*> lines_;
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

/// A rank's communicators of NCCL, which all plans share that the ranks run in turn.
class RankOverNccl {
 public:
  /// Connects with the other ranks. Throws Error as connectNccl() does.
  RankOverNccl(const NcclRank& rank, const RankDevice& device);
  RankOverNccl(const RankOverNccl&) = delete;
  RankOverNccl& operator=(const RankOverNccl&) = delete;

  /// The transport of a plan, with `host` for what stays on the host. Both must outlive it.
  std::unique_ptr<Transport> lineOf(Transport& host, const Plan& plan);

 private:
  const int rank_;
  NcclPlace& place_;
  const LineTransportOptions options_;
};

}  // namespace pipetrace
