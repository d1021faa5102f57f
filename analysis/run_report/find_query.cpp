#include "analysis/run_report/find_query.h"

#include "analysis/explain/evidence.h"
#include "chart/search/exact_query.h"

namespace pipetrace {

std::string findQueryOf(const RunReport& report, const Finding& finding) {
  const auto evidence = evidenceOf(report.timeline, report.explanation, finding);
  if (!evidence) return {};
  return exactQuery(report.timeline, evidence->rank, evidence->lane, evidence->event);
}

}  // namespace pipetrace
