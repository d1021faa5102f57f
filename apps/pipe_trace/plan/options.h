#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/cost_options.h"
#include "apps/cli/fault_options.h"
#include "apps/cli/message_options.h"
#include "chart/colors/theme.h"
#include "schedule/file/paddle_job_list.h"
#include "schedule/options/schedule_options.h"

namespace pipetrace {

class CommandApp;

/// Columns of prose, at most; a chart may be wider.
inline constexpr int kWidestProse = 100;

/// The options of `pipe-trace plan`.
struct PlanOptions : ScheduleOptions {
  MessageOptions messages;
  CostOptions costs;
  FaultOptions faults;
  std::string limitGb;
  std::string limitActivations;  ///< of whole shares; with compare
  std::string blocks;            ///< a blocks file, for which the best partition is searched
  std::string partitionOut;      ///< where that goes
  int steps = 1;

  bool list = false;
  bool compare = false;  ///< all schedules beside each other
  bool check = false;
  std::string buffers;
  int mostVersions = 0;   ///< 0: any number
  int mostDistance = -1;  ///< negative: any
  bool json = false;
  bool jobList = false;
  PaddleJobListOptions jobs;
  std::string csv;
  std::string csvFor;  ///< the program that reads it; empty: this one
  std::string costsOut;
  std::vector<std::string> outputs;
  ThemeName theme = ThemeName::kPaper;  ///< of pictures
  bool isDark = false;                  ///< the dark form of the theme
  std::optional<int> width;

  /// Whether something else than the chart takes standard output.
  bool hasOtherResult() const {
    return list || compare || check || json || jobList || csv == "-" || partitionOut == "-";
  }
};

/// Declares the options of `pipe-trace plan`, and which of them need or exclude each other.
/// `options` must outlive `app`.
void addPlanOptions(CommandApp& app, PlanOptions& options);

}  // namespace pipetrace
