#include "samples/over_nccl.h"

#include "runtime/transport/nccl.h"

namespace pipetrace {

void NcclPlace::abort(const std::string& text) {
  const std::lock_guard lock(mutex_);
  failure_ = text;
  if (line_ != nullptr) line_->abort(text);
}

void NcclPlace::use(Transport* line) {
  const std::lock_guard lock(mutex_);
  line_ = line;
  if (line_ != nullptr && failure_) line_->abort(*failure_);
}

RankOverNccl::RankOverNccl(const NcclRank& rank, const RankDevice& device, const Plan& plan)
    : place_(rank.place),
      transport_(*rank.run.transport, {.backend = connectNccl({.store = rank.run.store,
                                                               .rank = rank.env.rank,
                                                               .worldSize = rank.env.worldSize,
                                                               .device = device.device(),
                                                               .timeout = rank.connectTimeout}),
                                       .microBatches = plan.numMicroBatches,
                                       .rowsFrom = plan.rankOfStage.back()}) {
  place_.use(&transport_);
}

}  // namespace pipetrace
