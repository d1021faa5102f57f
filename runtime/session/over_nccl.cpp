#include "runtime/session/over_nccl.h"

#include <utility>

namespace pipetrace {

void NcclPlace::abort(const std::string& text) {
  const std::lock_guard lock(mutex_);
  failure_ = text;
  for (Transport* const line : lines_) line->abort(text);
}

void NcclPlace::add(Transport& line) {
  const std::lock_guard lock(mutex_);
  lines_.insert(&line);
  if (failure_) line.abort(*failure_);
}

void NcclPlace::remove(Transport& line) {
  const std::lock_guard lock(mutex_);
  lines_.erase(&line);
}

namespace {

/// Is in its place while it lives.
class LineInPlace : public LineTransport {
 public:
  LineInPlace(Transport& host, LineTransportOptions options, NcclPlace& place)
      : LineTransport(host, std::move(options)), place_(place) {
    place_.add(*this);
  }
  ~LineInPlace() override { place_.remove(*this); }

 private:
  NcclPlace& place_;
};

}  // namespace

RankOverNccl::RankOverNccl(const NcclRank& rank, const RankDevice& device)
    : rank_(rank.env.rank),
      place_(rank.place),
      options_(connectNccl({.store = rank.run.store,
                            .rank = rank.env.rank,
                            .worldSize = rank.env.worldSize,
                            .device = device.device(),
                            .communicators = rank.communicators,
                            .timeout = rank.connectTimeout})) {}

std::unique_ptr<Transport> RankOverNccl::lineOf(Transport& host, const Plan& plan) {
  LineTransportOptions options = options_;
  options.microBatches = plan.microBatchesOfReplica();
  options.replicas = plan.replicas;
  options.rowsFrom = plan.lastRankOf(plan.replicaOf(rank_));
  return std::make_unique<LineInPlace>(host, std::move(options), place_);
}

}  // namespace pipetrace
