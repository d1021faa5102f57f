// Advice on slow links, by what the logs say of hosts.
#include <gmock/gmock.h>

#include <algorithm>

#include "analysis/testing/faulty_run.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/advice.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Notes of the advice on the link of ranks 1 and 2, which takes 20 ms. Rank r is on host
/// `hosts[r]`.
std::vector<std::string> notesOnLink(const std::vector<std::string>& hosts) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = test::costsOf(plan, 1);
  costs.faults.links.push_back({1, 2, 20 * kNsPerMs});
  Timeline run = test::completedRun(plan, costs);
  for (auto& [rank, info] : run.ranks) info.host = hosts[static_cast<std::size_t>(rank)];
  const AdviceList list = adviceOn(asRun(run), {.activationLimit = 1});
  const auto link = std::find_if(list.best.begin(), list.best.end(),
                                 [](const Advice& each) { return each.of == Advice::Of::kLink; });
  return link == list.best.end() ? std::vector<std::string>{} : link->notes;
}

TEST(AdviceOnLinks, SpeaksOfHostsUnlessAllRanksAreOnOne) {
  for (const char* const other : {"b", ""}) {
    EXPECT_THAT(notesOnLink({"a", "a", other, other}), Contains(HasSubstr("between their hosts")));
  }
  const std::vector<std::string> notes = notesOnLink({"a", "a", "a", "a"});
  EXPECT_THAT(notes, Contains(HasSubstr("how their devices are connected")));
  EXPECT_THAT(notes, Not(Contains(HasSubstr("hosts"))));
}

}  // namespace
}  // namespace pipetrace
