#include "apps/pipe_trace/outputs/report_outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "apps/cli/print.h"
#include "trace/error.h"
#include "trace/files/output_set.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {

ReportFormat reportFormatOf(const std::string& output, const ReportOutputs& outputs) {
  if (output == "-") return outputs.json ? ReportFormat::kJson : ReportFormat::kText;
  std::string ending = std::filesystem::path(output).extension();
  for (char& c : ending) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (ending == ".html" || ending == ".htm") return ReportFormat::kPage;
  if (ending == ".txt") return ReportFormat::kText;
  if (ending == ".json") return ReportFormat::kJson;
  throw Error(
      fmt::format("cannot write {}: a {} is NAME.html (a page for browsers), NAME.txt, "
                  "NAME.json, or - for standard output; profiles and charts are outputs of "
                  "pipe-trace without a command",
                  output.empty() ? "\"\"" : output, outputs.what));
}

void addReportOutputs(CommandApp& app, ReportOutputs& outputs, const char* schema) {
  app.writes(
      app.add_option("-o,--output", outputs.names,
                     "File to write as well: NAME.html (one page for browsers, with charts, that "
                     "needs no network), NAME.txt, NAME.json, or - for standard output; may be "
                     "given several times")
          ->type_name("FILE")
          ->transform([](const std::string& name) { return name == "/dev/stdout" ? "-" : name; })
          ->allow_extra_args(false));
  app.add_flag("--json", outputs.json, fmt::format("Print it as JSON ({})", schema));
}

bool wantsPage(const ReportOutputs& outputs) {
  return std::any_of(outputs.names.begin(), outputs.names.end(), [&](const std::string& name) {
    return reportFormatOf(name, outputs) == ReportFormat::kPage;
  });
}

void checkReportOutputs(const ReportOutputs& outputs) {
  for (const std::string& output : outputs.names) reportFormatOf(output, outputs);
}

void writeReports(const ReportOutputs& outputs,
                  const std::function<std::string(ReportFormat)>& contentsOf) {
  const auto textOf = [&](ReportFormat format) {
    std::string text = contentsOf(format);
    return format == ReportFormat::kText ? fitToPrint(text) : text;
  };
  OutputSet files;
  std::string lines;
  for (const std::string& output : outputs.names) {
    if (output == "-") continue;
    const ReportFormat format = reportFormatOf(output, outputs);
    files.add(output, textOf(format));
    lines += fmt::format("wrote {}: {}\n", output,
                         format == ReportFormat::kPage ? "a page; open it with a browser"
                                                       : fmt::format("the {}", outputs.what));
  }
  const bool isAsked =
      std::find(outputs.names.begin(), outputs.names.end(), "-") != outputs.names.end();
  std::string printed;
  const bool isPrinted = outputs.json || isAsked || !outputs.quiet || outputs.names.empty();
  if (isPrinted) printed = textOf(reportFormatOf("-", outputs));
  const bool addsLines = !outputs.json && !isAsked && !outputs.quiet;
  if (addsLines && !lines.empty()) printed += "\n" + fitToPrint(lines);
  if (!printed.empty()) files.add("-", printed);
  files.commit();
  if (!addsLines && !outputs.quiet) printError(lines);
}

std::string inputsTitle(const std::vector<std::string>& inputs) {
  std::vector<std::string> names;
  for (const std::string& input : inputs) names.push_back(input == "-" ? "standard input" : input);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace pipetrace
