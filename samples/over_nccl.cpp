#include "samples/over_nccl.h"

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

namespace {

LineTransportOptions optionsOf(const NcclRank& rank, const RankDevice& device, const Plan& plan) {
  LineTransportOptions options = connectNccl({.store = rank.run.store,
                                              .rank = rank.env.rank,
                                              .worldSize = rank.env.worldSize,
                                              .device = device.device(),
                                              .communicators = rank.communicators,
                                              .timeout = rank.connectTimeout});
  options.microBatches = plan.microBatchesOfReplica();
  options.replicas = plan.replicas;
  options.rowsFrom = plan.lastRankOf(plan.replicaOf(rank.env.rank));
  return options;
}

}  // namespace

RankOverNccl::RankOverNccl(const NcclRank& rank, const RankDevice& device, const Plan& plan)
    : place_(rank.place), transport_(*rank.run.transport, optionsOf(rank, device, plan)) {
  place_.use(&transport_);
}

}  // namespace pipetrace
