#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parser/foreign/found_jobs/find_jobs.h"
#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// A job of the host that an annotation names.
struct AnnotatedSpan {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  JobKind kind = JobKind::kOther;
};

/// Whether autograd ran in none of the annotated jobs, or there are no such jobs. `jobs`: on all
/// threads, by begin; all of them, also those that are no compute jobs. Linear in the events.
bool hasUnannotatedWork(std::span<ForeignTrace::Lane* const> threads, const KinetoWords& words,
                        std::span<const AnnotatedSpan> jobs);

/// The facts about the threads of a rank's host, and which of them runs forwards.
struct FactsOfThreads {
  HostFacts facts;
  std::uint32_t thread = 0;  ///< index in `threads`
};

/// Reads them from threads whose events are in order. The thread of the forwards is the one with
/// the most operators that have a sequence number.
FactsOfThreads readHostFacts(std::span<ForeignTrace::Lane* const> threads, const KinetoWords& words,
                             std::span<const AnnotatedSpan> jobs);

}  // namespace pipetrace
