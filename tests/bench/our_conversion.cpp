#include "tests/bench/our_conversion.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

#include "analysis/present/summary_report.h"
#include "ingest/load_run.h"
#include "parser/chrome/write/writer.h"
#include "parser/load_timeline.h"
#include "parser/perfetto/writer.h"
#include "parser/reader_registry.h"
#include "trace/files/output_file.h"

namespace pipetrace::bench {
namespace {

/// Prints the time that each phase of a conversion took.
class Phases {
 public:
  explicit Phases(bool wanted) : wanted_(wanted) {}

  void end(const char* name) {
    const auto now = std::chrono::steady_clock::now();
    const std::clock_t cpuNow = std::clock();
    const std::chrono::duration<double, std::milli> length = now - begin_;
    const double cpu = 1000.0 * static_cast<double>(cpuNow - cpuBegin_) / CLOCKS_PER_SEC;
    if (wanted_) std::fprintf(stderr, "%12s %8.1f ms, CPU %8.1f ms\n", name, length.count(), cpu);
    begin_ = now;
    cpuBegin_ = cpuNow;
  }

 private:
  bool wanted_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::clock_t cpuBegin_ = std::clock();
};

}  // namespace

void convert(const std::string& input, const std::string& output,
             const ConversionOptions& options) {
  Phases phases(options.phases);
  const RunRequest request{
      .inputs = {input}, .reading = {.threads = options.threads}, .bubbles = options.bubbles};
  Diagnostics diagnostics;
  Run whole = loadRun(request, makeTraceReaders(), diagnostics);
  phases.end("load");
  const auto [timeline, summary] = readyToShow(std::move(whole), request);
  phases.end("summarize");
  OutputFile out(output);
  if (output.ends_with(".pftrace")) {
    writePerfetto(timeline, {.flows = options.flows, .threads = options.threads}, out);
  } else {
    writeChromeJson(timeline, {.flows = options.flows, .threads = options.threads}, out);
  }
  phases.end("write");
  out.commit();
  phases.end("commit");
  const std::string report = textReport(timeline, summary);
  phases.end("report");
}

void load(const std::string& input, const ConversionOptions& options) {
  Phases phases(options.phases);
  Diagnostics diagnostics;
  const Timeline timeline =
      loadTimeline({input}, makeTraceReaders(), {.threads = options.threads}, diagnostics);
  phases.end("load");
}

}  // namespace pipetrace::bench
