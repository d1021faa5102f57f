#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/cli/command_app.h"

namespace pipetrace {

/// The forms of a report or of a comparison.
enum class ReportFormat { kPage, kText, kJson };

/// Where one goes.
struct ReportOutputs {
  const char* what = "report";  ///< in messages
  std::vector<std::string> names;
  bool json = false;
  bool quiet = false;  ///< set by the command: print nothing where a file has it
};

/// Adds the options -o and --json. `schema`: the file that describes the JSON.
void addReportOutputs(CommandApp& app, ReportOutputs& outputs, const char* schema);

/// By the ending of the output's name, in any case; that of standard output by --json. Throws Error
/// for another ending.
ReportFormat reportFormatOf(const std::string& output, const ReportOutputs& outputs);

/// Whether one of the outputs is a page.
bool wantsPage(const ReportOutputs& outputs);

/// Throws Error for a name whose ending says no format. Call it before anything is read.
void checkReportOutputs(const ReportOutputs& outputs);

/// Writes the outputs and prints the text or the JSON, or none of it. `contentsOf` makes the whole
/// file of a format. Text is made fit to print.
void writeReports(const ReportOutputs& outputs,
                  const std::function<std::string(ReportFormat)>& contentsOf);

/// The inputs as the title of a page.
std::string inputsTitle(const std::vector<std::string>& inputs);

}  // namespace pipetrace
