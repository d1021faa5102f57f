#include "parser/foreign/kineto/host/operator_shares.h"

#include "trace/job_kind.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kEmptyPart = 500'000;

}  // namespace

OperatorShares::Sum& OperatorShares::Sum::operator+=(const Sum& other) {
  filled += other.filled;
  available += other.available;
  jobs += other.jobs;
  return *this;
}

bool OperatorShares::Sum::isLow() const {
  return filled < available / 4 * 3 && (available - filled) / jobs > kEmptyPart;
}

void OperatorShares::add(const Event& job, Nanoseconds filled, Nanoseconds available) {
  sums_[{job.stage, job.kind}] += {filled, available, 1};
}

OperatorShares& OperatorShares::operator+=(const OperatorShares& other) {
  for (const auto& [key, sum] : other.sums_) sums_[key] += sum;
  return *this;
}

void OperatorShares::report(int rank, const std::string& file, Diagnostics& diagnostics) const {
  std::string low;
  for (const auto& [key, sum] : sums_) {
    if (!sum.isLow()) continue;
    const auto& [stage, kind] = key;
    if (!low.empty()) low += ", ";
    low += stage < 0 ? "rank " + std::to_string(rank) : "stage " + std::to_string(stage);
    low += " " + std::string(logName(kind)) + " " +
           std::to_string(sum.filled * 100 / sum.available) + " %";
  }
  if (low.empty()) return;
  const std::string what =
      "operators fill only a part of the jobs' annotations after the waits for messages, and work "
      "outside of operators counts as idle time";
  diagnostics.add({.file = file,
                   .message = what + ": " + low,
                   .advice =
                       "--time host gives jobs the times of their annotations, waits included "
                       "(docs/inputs/torch.md)",
                   .ofSeveral = what,
                   .share = low});
}

}  // namespace pipetrace
