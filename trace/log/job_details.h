#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "trace/event.h"
#include "trace/log/log_format.h"

namespace pipetrace {

/// Numbers that a program may give with a job of the compute lane, and that most jobs lack.
struct JobDetails {
  std::int64_t part = kNotGiven;     ///< of the micro-batch (sub-job)
  std::int64_t version = kNotGiven;  ///< of the weights that the job uses

  bool operator==(const JobDetails&) const = default;
};

/// Where a timeline has a detail.
enum class DetailPlace : std::uint8_t {
  kField,     ///< in the Event's field of the same name
  kArgument,  ///< in an argument of the event, under the key of the log
};

/// A detail: its key in `Profiler Info:`, its place in timelines, and its bits among those that a
/// ring file has for all details of a job (ring_format::Slot::bytesOrDetails). A number that these
/// cannot hold is left out.
template <const std::string_view& kName, DetailPlace kIn, int kFirst, int kCount, int kVersion>
struct JobDetail {
  static constexpr const std::string_view& kKey = kName;
  static constexpr DetailPlace kPlace = kIn;
  static constexpr int kFirstBit = kFirst;
  static constexpr int kBits = kCount;
  static constexpr std::uint32_t kSince = kVersion;  ///< the first version of ring files with it
  static constexpr std::uint64_t kMask = ~std::uint64_t{0} >> (64 - kCount) << kFirst;
};

/// The one list of details, for all that record, write or read them: calls
/// `visit(JobDetail<...>(), field)` for each, in the order in which lines have them. `field`
/// returns the detail of any struct that has it under this name.
template <typename Visitor>
constexpr void visitJobDetails(const Visitor& visit) {
  namespace lf = log_format;
  using enum DetailPlace;
  visit(
      JobDetail<lf::kPart, kField, 0, 16, 2>(), [](auto& job) -> auto& { return job.part; });
  visit(
      JobDetail<lf::kVersionKey, kArgument, 32, 32, 2>(),
      [](auto& job) -> auto& { return job.version; });
}

/// The version of ring files that has all details.
constexpr std::uint32_t newestJobDetail() {
  std::uint32_t newest = 0;
  visitJobDetails(
      [&]<typename Detail>(Detail, auto) { newest = std::max(newest, Detail::kSince); });
  return newest;
}

constexpr bool haveDetailsBitsOfTheirOwn() {
  std::uint64_t taken = 0;
  bool haveOwn = true;
  visitJobDetails([&]<typename Detail>(Detail, auto) {
    haveOwn = haveOwn && (taken & Detail::kMask) == 0;
    taken |= Detail::kMask;
  });
  return haveOwn;
}
static_assert(haveDetailsBitsOfTheirOwn());

/// The details of a job in one number; bits of none are 1, so that it is kNotGiven (-1) if none is
/// given.
template <typename Job>
[[gnu::always_inline]] constexpr std::int64_t packedDetails(const Job& job) {
  std::uint64_t bits = ~std::uint64_t{0};
  visitJobDetails([&]<typename Detail>(Detail, auto field) {
    const std::int64_t value = field(job);
    constexpr int kAbove = 64 - Detail::kBits;
    const auto shifted = static_cast<std::uint64_t>(value) << kAbove;
    const bool fits = static_cast<std::int64_t>(shifted) >> kAbove == value;
    const std::uint64_t kept = (fits ? shifted : ~std::uint64_t{0}) >> kAbove;
    bits &= ~Detail::kMask | kept << Detail::kFirstBit;
  });
  return static_cast<std::int64_t>(bits);
}

/// The inverse, for a ring file of `version`.
constexpr JobDetails unpackedDetails(std::int64_t packed, std::uint32_t version) {
  JobDetails details;
  visitJobDetails([&]<typename Detail>(Detail, auto field) {
    if (version < Detail::kSince) return;
    constexpr int kAbove = 64 - Detail::kBits - Detail::kFirstBit;
    const auto shifted = static_cast<std::uint64_t>(packed) << kAbove;
    field(details) = static_cast<std::int64_t>(shifted) >> (64 - Detail::kBits);
  });
  return details;
}

}  // namespace pipetrace
