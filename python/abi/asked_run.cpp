#include "python/abi/asked_run.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/present/advice_report.h"
#include "analysis/present/diagnostic_lines.h"
#include "analysis/present/doubt_sentences.h"
#include "apps/cli/command_app.h"
#include "apps/pipe_trace/advise/advise.h"
#include "apps/pipe_trace/diff.h"
#include "apps/pipe_trace/outputs/picture.h"
#include "apps/pipe_trace/outputs/profile_outputs.h"
#include "apps/pipe_trace/outputs/report_outputs.h"
#include "apps/pipe_trace/plan/plan.h"
#include "apps/pipe_trace/report.h"
#include "apps/pipe_trace/what_if/what_if.h"
#include "ingest/load_run.h"
#include "ingest/output_files.h"
#include "parser/reader_registry.h"
#include "parser/trace_reader.h"
#include "python/abi/run_tables.h"
#include "trace/error.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

/// A question and all that it is about.
struct Question {
  AskedRun* run = nullptr;
  AskedRun* other = nullptr;
  JsonOptions options;
  WorkProgress& progress;
};

/// Text is made fit to print, as the commands print it.
std::string forPeople(const std::string& text, ReportFormat format) {
  return format == ReportFormat::kText ? fitToPrint(text) : text;
}

Words joined(Words one, const Words& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

AskedRun& runOf(const Question& question) {
  if (question.run == nullptr) throw Error("this question is about a run, and there is none");
  return *question.run;
}

/// The run with its doubts.
LoadedRun& doubtedRun(AskedRun& run) {
  if (!run.hasDoubts) run.loaded.doubts = doubtsOf(run.loaded.run, run.loaded.diagnostics);
  run.hasDoubts = true;
  return run.loaded;
}

/// The words of a command about the run. Throws Error where the options say again how it is read.
Words commandWords(const Question& question) {
  if (!question.options.valuesOf("steps").empty()) {
    throw Error("steps are chosen when a run is read: steps of load()");
  }
  return joined(question.options.words(), runOf(question).words());
}

Answer reportIn(const Question& question, ReportFormat format) {
  const Words words = commandWords(question);
  return {forPeople(reportOn(doubtedRun(runOf(question)), words, format), format)};
}

AdviceList advice(const Question& question) {
  const Words words = commandWords(question);
  LoadedRun& run = doubtedRun(runOf(question));
  question.progress.doing = WorkProgress::Doing::kTrying;
  return adviceOn(run, words, &question.progress.trying);
}

Answer whatIfAs(Question& question, bool json) {
  Words words = commandWords(question);
  if (json) words.insert(words.begin(), "--json");
  return {forPeople(whatIfOn(doubtedRun(runOf(question)), words),
                    json ? ReportFormat::kJson : ReportFormat::kText)};
}

Answer diffIn(Question& question, ReportFormat format) {
  AskedRun& a = runOf(question);
  if (question.other == nullptr) throw Error("a comparison is of two runs, and one is missing");
  AskedRun& b = *question.other;
  if (a.reading.valuesOf("steps") != b.reading.valuesOf("steps")) {
    throw Error("the two runs were read with other steps; load() both with the same");
  }
  Words names = question.options.take("names");
  if (names.empty()) {
    names = {inputsTitle(a.loaded.load.inputs), inputsTitle(b.loaded.load.inputs)};
  }
  if (names.size() != 2) throw Error("names are two: of the first run, and of the second");
  Words words = question.options.words();
  for (const std::string& steps : a.reading.valuesOf("steps")) words.push_back("--steps=" + steps);
  words.insert(words.end(), {"--", names[0], names[1]});
  return {forPeople(diffOn(doubtedRun(a), doubtedRun(b), words, format), format)};
}

/// The run with lanes of bubbles, as charts and profiles show it.
const Timeline& timelineToShow(AskedRun& run) {
  if (!run.hasLanes && !run.loaded.run.summary().steps.empty()) {
    run.loaded.run.join(run.loaded.run.bubbleLanes());
  }
  run.hasLanes = true;
  return run.loaded.run.timeline();
}

struct ShowOptions {
  LoadRunOptions load;
  ProfileOutputs profiles;
};

/// The options of pipe-trace without a command that say what is shown, where those of the question
/// take the place of those that the run was read with.
ShowOptions showOptions(const Question& question, const Words& more) {
  ShowOptions options;
  CommandApp app("pipe-trace");
  addLoadRunOptions(app, options.load);
  addProfileOutputs(app, options.profiles, options.load);
  AskedRun reading;
  reading.reading = runOf(question).reading;
  reading.loaded.load.inputs = runOf(question).loaded.load.inputs;
  if (!question.options.valuesOf("steps").empty()) reading.reading.take("steps");
  parseWords(app, joined(joined(question.options.words(), more), reading.words()));
  options.load.quiet = true;
  return options;
}

Picture pictureFor(const ShowOptions& options, AskedRun& run) {
  const Timeline& timeline = timelineToShow(run);
  return pictureOfSteps(timeline, run.loaded.run.summary(), options.load.selection,
                        themeOf(options.profiles.theme, options.profiles.isDark));
}

Answer chart(const Question& question) {
  // Colours need an output on a command line.
  const ShowOptions options = showOptions(question, {"--output=chart.svg"});
  return {pictureFor(options, runOf(question)).svg};
}

bool isPage(const std::string& name) { return name.ends_with(".html") || name.ends_with(".htm"); }

Answer save(Question& question) {
  AskedRun& run = runOf(question);
  Words pages;
  Words profiles;
  for (std::string& name : question.options.take("output")) {
    (isPage(name) ? pages : profiles).push_back(std::move(name));
  }
  if (pages.empty() && profiles.empty()) throw Error("no file to write; name one");
  const JsonOptions& chosen = question.options;
  if (!pages.empty() && !(chosen.valuesOf("steps").empty() && chosen.valuesOf("ranks").empty())) {
    throw Error("cannot write a part of the run to " + pages.front() +
                ": a report is of all ranks, and steps of load() choose those that it is about");
  }
  Words outputs;
  for (const std::string& name : profiles) outputs.push_back("--output=" + name);
  ShowOptions options = showOptions(question, outputs);
  checkOutputs(options.profiles, options.load);
  checkOutputFiles(pages, options.load);
  checkOutputs(joined(pages, profiles), run.loaded.files);
  OutputSet files;
  Answer result;
  for (const std::string& name : pages) {
    files.add(name, reportOn(doubtedRun(run), run.words(), ReportFormat::kPage));
    result.text += "wrote " + name + ": a page; open it with a browser\n";
  }
  if (!profiles.empty()) {
    Picture picture;
    if (wantsPicture(options.profiles)) picture = pictureFor(options, run);
    const Timeline& whole = timelineToShow(run);
    Timeline part;
    const bool isPart = !options.load.selection.isAll() || !options.load.bubbles;
    if (isPart) {
      part = whole;
      if (!options.load.bubbles) {
        std::erase_if(part.tracks, [](const Track& track) { return track.lane == kBubbleLane; });
      }
      part = selected(std::move(part), options.load.selection);
    }
    const WrittenProfiles written =
        writeProfiles(isPart ? part : whole, picture, options.profiles, options.load, files);
    result.text += written.lines + written.advice;
  }
  files.commit();
  return result;
}

Answer planAs(const Question& question, PlanForm form) {
  PlanAnswer made = planAnswer(question.options.words(),
                               question.run == nullptr ? nullptr : &question.run->loaded, form);
  return {std::move(made.text), std::move(made.remarks)};
}

Json topologyJson(const Topology& topology) {
  int depth = 0;
  int chunks = 0;
  std::map<int, int> replicas;  // by data-parallel index
  Json places = Json::array();
  for (const auto& [rank, place] : topology.places) {
    depth = std::max(depth, place.depth);
    chunks = std::max(chunks, place.chunks);
    ++replicas[topology.dataParallelIndex(place.replica)];
    Json object = {{"rank", rank},
                   {"dp", topology.dataParallelIndex(place.replica)},
                   {"tp", topology.tensorParallelIndex(place.replica)},
                   {"position", nullptr}};
    if (place.position >= 0) object["position"] = place.position;
    places.push_back(std::move(object));
  }
  return {{"pp", depth},   {"dp", replicas.size()},         {"tp", topology.tensorRanks},
          {"vpp", chunks}, {"inferred", topology.inferred}, {"places", std::move(places)}};
}

Words linesOf(const Diagnostics& diagnostics, Severity lowest) {
  Words lines = diagnosticLines(diagnostics, lowest);
  for (std::string& line : lines) line = fitInLine(line);
  return lines;
}

Answer about(const Question& question) {
  const LoadedRun& loaded = runOf(question).loaded;
  const Run& run = loaded.run;
  std::vector<int> ranks;
  for (const auto& [rank, info] : run.timeline().ranks) ranks.push_back(rank);
  std::vector<std::int32_t> steps;
  for (const StepSummary& step : run.summary().steps) steps.push_back(step.step);
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  const Timeline::Span span = run.timeline().span(run.threads());
  const Json object = {{"inputs", loaded.load.inputs},
                       {"ranks", ranks},
                       {"steps", steps},
                       {"topology", topologyJson(run.topology())},
                       {"begin_ns", span.begin},
                       {"end_ns", span.end},
                       {"warnings", linesOf(loaded.diagnostics, Severity::kWarning)},
                       {"notes", linesOf(loaded.diagnostics, Severity::kNote)}};
  return {object.dump(1, ' ', false, Json::error_handler_t::replace)};
}

struct Row {
  const char* name;
  Answer (*answer)(Question&);
};

constexpr auto kQuestions = std::to_array<Row>({
    {"about", [](Question& q) { return about(q); }},
    {"trust", [](Question& q) { return Answer{doubtsJson(doubtedRun(runOf(q)).doubts)}; }},
    {"report", [](Question& q) { return reportIn(q, ReportFormat::kJson); }},
    {"report-text", [](Question& q) { return reportIn(q, ReportFormat::kText); }},
    {"report-page", [](Question& q) { return reportIn(q, ReportFormat::kPage); }},
    {"advise", [](Question& q) { return Answer{adviceJson(advice(q))}; }},
    {"advise-text", [](Question& q) { return Answer{fitToPrint(adviceText(advice(q)))}; }},
    {"what-if", [](Question& q) { return whatIfAs(q, true); }},
    {"what-if-text", [](Question& q) { return whatIfAs(q, false); }},
    {"diff", [](Question& q) { return diffIn(q, ReportFormat::kJson); }},
    {"diff-text", [](Question& q) { return diffIn(q, ReportFormat::kText); }},
    {"diff-page", [](Question& q) { return diffIn(q, ReportFormat::kPage); }},
    {"chart", [](Question& q) { return chart(q); }},
    {"save", [](Question& q) { return save(q); }},
    {"plan", [](Question& q) { return planAs(q, PlanForm::kAsAsked); }},
    {"plan-picture", [](Question& q) { return planAs(q, PlanForm::kPicture); }},
});

}  // namespace

Words AskedRun::words() const {
  Words all = reading.words();
  all.emplace_back("--");
  all.insert(all.end(), loaded.load.inputs.begin(), loaded.load.inputs.end());
  return all;
}

std::shared_ptr<AskedRun> readRun(const char* options, WorkProgress& progress,
                                  const std::stop_token& stop) {
  progress.doing = WorkProgress::Doing::kReading;
  auto run = std::make_shared<AskedRun>();
  run->reading = JsonOptions(options);
  run->loaded.load.inputs = run->reading.take("inputs");
  const Words& inputs = run->loaded.load.inputs;
  if (std::find(inputs.begin(), inputs.end(), "-") != inputs.end()) {
    throw Error("standard input is for commands; name a file");
  }
  CommandApp app("pipe-trace");
  LoadRunOptions parsed;
  addLoadRunOptions(app, parsed);
  refuseParts(app, "a run that is asked");
  parseWords(app, run->words());
  run->loaded.load = parsed;
  RunRequest request = parsed;
  request.reading.progress = &progress.reading;
  LoadedRun& loaded = run->loaded;
  loaded.run =
      loadRun(request, makeTraceReaders(), loaded.diagnostics, &loaded.files, &loaded.alignment);
  if (stop.stop_requested()) throw Error("reading was cancelled");
  return run;
}

Answer answer(const std::string& question, AskedRun* run, AskedRun* other, const char* options,
              WorkProgress& progress) {
  std::vector<std::string> names;
  for (const Row& row : kQuestions) {
    if (question != row.name) {
      names.emplace_back(row.name);
      continue;
    }
    Question asked{run, other, JsonOptions(options), progress};
    return row.answer(asked);
  }
  const std::string meant = nearestName(question, names);
  throw Error("there is no question " + question +
              (meant.empty() ? "" : "; did you mean " + meant + "?"));
}

std::shared_ptr<const Table> tableOf(AskedRun& run, const std::string& name) {
  std::shared_ptr<const Table>& table = run.tables[name];
  if (table == nullptr) table = makeTable(run.loaded.run, name);
  return table;
}

}  // namespace pipetrace
