#include <gtest/gtest.h>

#include <random>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/forward_part.h"
#include "schedule/fuzz/targets.h"
#include "schedule/with_recompute.h"
#include "trace/testing/is_sanitized.h"

namespace pipetrace {
namespace {

/// `text` with some of it changed, cut out or doubled.
std::string mutated(std::string text, std::mt19937& random) {
  for (std::size_t i = 1 + random() % 4; i > 0 && !text.empty(); --i) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0: text[at] = static_cast<char>(random() % 256); break;
      case 1: text.erase(at, random() % 12); break;
      case 2: text.insert(at, text.substr(random() % text.size(), random() % 12)); break;
      default: text.insert(at, 1, "0123FBIWR,;()#= \n"[random() % 17]); break;
    }
  }
  return text;
}

TEST(ScheduleFuzzSeeds, EveryBuildersPlanPassesTheFuzzersChecks) {
  for (const std::string& name : scheduleNames()) {
    const Plan plan = buildSchedule(name, 3, 4);
    fuzz::readAsScheduleFile(toCsv(plan));
    Plan held = forwardPart(plan);
    held.credits = 1;
    fuzz::readAsScheduleFile(toCsv(held));
    fuzz::readAsScheduleFile(toCsv(addTransfers(CheckedPlan(plan), {.ahead = 2})));
    fuzz::readAsScheduleFile(toCsv(withRecompute(plan, {true, false, true})));
  }
}

TEST(ScheduleFuzzSeeds, DamagedPlansBreakNothing) {
  std::mt19937 random(23);
  for (const std::string& name : scheduleNames()) {
    const std::string text = toCsv(buildSchedule(name, 2, 3));
    for (int i = 0; i < test::drawn(40); ++i) fuzz::readAsScheduleFile(mutated(text, random));
  }
}

TEST(ScheduleFuzzSeeds, OddInputsBreakNothing) {
  for (const char* text : {"", ",", "\n", "#", "# name = \"", "9999999F9999999", "0F9999999\n0B0",
                           "# update_every = 9999999\n0F0,0B0\n", "0RECV_F0\n", "0SEND_B0,0F0\n",
                           "# credits = 9999999\n0F0\n", "# credits = 0\n0F0,0F1\n1F1,1F0\n",
                           "# credits = 1\n0F0,0F1\n1F1,1F0\n", "# credits = -1\n0F0\n",
                           "# update_every = 1, rank_of_stage = 0 0\n0F0,1F0,1B0,0B0\n"}) {
    fuzz::readAsScheduleFile(text);
  }
}

}  // namespace
}  // namespace pipetrace
