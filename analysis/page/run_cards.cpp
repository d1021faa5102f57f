#include "analysis/page/run_cards.h"

#include <utility>

#include "analysis/page/page_table.h"
#include "analysis/present/run_figures.h"
#include "analysis/present/summary_report.h"
#include "analysis/steps/median_step.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {

std::vector<RunCard> runCards(const Explanation& run) {
  std::vector<RunCard> cards;
  const auto card = [&](std::string figure, const char* name, std::string detail) {
    cards.push_back({std::move(figure), name, std::move(detail)});
  };
  for (const StepFigure& figure : stepFigures()) {
    const std::string key = figure.key;
    const auto over = overSteps(run, figure);
    if (!over) continue;
    if (figure.isLength) {
      const auto time = [](double ns) { return formatDuration(static_cast<Nanoseconds>(ns)); };
      if (medianStepOf(run.summary, run.counted).isWholeRun) {
        card(time(over->median), "length of the run", "while its pipeline is full");
      } else {
        card(time(over->median),
             figure.needsNext ? "median wall time of a step" : "median length of a step",
             "mean " + time(over->mean) + ", 99\u00a0% " + time(over->p99));
      }
    } else if (key == "bubble_ratio" || key == "load_balance" || key == "schedule_efficiency" ||
               key == "communication_efficiency") {
      card(shareCell(over->mean).text, figure.heading,
           "mean; median " + shareCell(over->median).text);
    }
  }
  if (run.slowdown.reason.empty()) {
    card(ratioText(run.slowdown.total), "times its ideal", "with equal work everywhere");
  }
  if (run.communication.all > 0) {
    card(percentText(run.communication.exposed, run.communication.all), "exposed communication",
         "of " + formatDuration(run.communication.all) + " on all ranks");
  }
  if (run.tokensPerSecond) {
    card(std::to_string(static_cast<long long>(*run.tokensPerSecond)), "tokens a second",
         "of the whole run");
  }
  if (run.modelFlopsUtilization) {
    card(shareCell(*run.modelFlopsUtilization).text, "model FLOPs utilization",
         "of the devices' peak");
  }
  return cards;
}

}  // namespace pipetrace
