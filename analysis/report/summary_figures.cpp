#include "analysis/report/summary_figures.h"

namespace pipetrace {

std::vector<SummaryFigure> figuresOf(const RankSummary& rank) {
  return {{"busy_ns", "busy", rank.busy},
          {"idle_ns", "idle", rank.idle},
          {"bubble_ratio", "bubble ratio", rank.bubbleRatio}};
}

std::vector<SummaryFigure> figuresOf(const StepSummary& step) {
  return {{"begin_ns", "", step.begin},
          {"end_ns", "", step.end},
          {"duration_ns", "", step.duration()},
          {"window_ns", "length", step.window()},
          {"between_steps_ns", "until next", step.betweenSteps},
          {"bubble_ratio", "bubble ratio", step.bubbleRatio},
          {"span_bubble", "span bubble", step.spanBubble}};
}

}  // namespace pipetrace
