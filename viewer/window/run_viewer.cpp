#include "viewer/window/run_viewer.h"

#include <QApplication>
#include <QScreen>
#include <QStyleFactory>
#include <QTemporaryDir>
#include <cstdio>
#include <cstdlib>

#include "analysis/present/diagnostic_lines.h"
#include "chart/search/job_search.h"
#include "chart/search/parse_query.h"
#include "trace/error.h"
#include "trace/text/fit_to_print.h"
#include "viewer/compare/run_comparison.h"
#include "viewer/export/export_picture.h"
#include "viewer/start/sample_run.h"
#include "viewer/window/app_icon.h"
#include "viewer/window/main_window.h"

namespace pipetrace {
namespace {

constexpr int kCouldNot = 2;

constexpr const char* kNoDisplay =
    "there is no display to open a window on; set DISPLAY or WAYLAND_DISPLAY, or write a picture "
    "with --export FILE.png";

bool isGiven(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Adds advice to the message with which Qt aborts when it cannot reach the display. Drops Qt's
/// warnings (of a missing XDG_RUNTIME_DIR and the like), about which a user of this program can do
/// nothing.
void onQtMessage(QtMsgType type, const QMessageLogContext& /*context*/, const QString& text) {
  if (type == QtFatalMsg) {
    std::fprintf(stderr, "pipe-view: %s\n(Qt says: %s)\n", kNoDisplay, qPrintable(text.trimmed()));
    std::_Exit(kCouldNot);
  }
  if (type == QtCriticalMsg) std::fprintf(stderr, "pipe-view: Qt: %s\n", qPrintable(text));
}

/// The step of the first match, which a picture shows.
StepChoice stepOfMatch(const LoadedProfile& profile, const std::string& query) {
  const ChartModel& model = profile.model();
  const auto hit = firstMatch(model, parseQuery(query));
  if (!hit) throw Error("nothing in " + profile.name() + " matches '" + query + "'");
  std::int32_t number = hit->event->step;
  for (const StepSpan& step : model.steps()) {
    const bool isInside = step.begin <= hit->event->begin && hit->event->begin < step.end;
    if (number == kNotGiven && isInside) number = step.step;
  }
  if (number == kNotGiven) {
    throw Error("what matches '" + query + "' lies in no step; leave out --find, and add --all");
  }
  return {number, number};
}

SecondRun secondOf(const LoadedProfile& first, const ViewerOptions& options) {
  SecondRun second;
  second.profile = loadProfile({options.with}, options.align);
  for (const std::string& line : diagnosticLines(second.profile->diagnostics())) {
    std::fprintf(stderr, "pipe-view: B: %s\n", fitInLine(line).c_str());
  }
  second.answer = compareRuns(first, *second.profile).sentences.front().toStdString();
  return second;
}

int exportOnly(const ViewerOptions& options, int& argc, char** argv) {
  checkExportName(options.picture.path);
  std::vector<std::string> inputs = options.inputs;
  const QTemporaryDir folder;
  if (options.isSample) {
    inputs = {folder.filePath(QStringLiteral("sample run")).toStdString()};
    writeSampleLogs(inputs.front());
  }
  const auto profile = loadProfile(inputs, options.align);
  for (const std::string& line : diagnosticLines(profile->diagnostics())) {
    std::fprintf(stderr, "pipe-view: %s\n", fitInLine(line).c_str());
  }
  ExportOptions picture = options.picture;
  if (!options.find.empty()) picture.steps = stepOfMatch(*profile, options.find);
  if (!options.with.empty()) picture.second = secondOf(*profile, options);
  if (!isGiven("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QGuiApplication application(argc, argv);
  OutputSet files;
  addPicture(*profile, picture, files);
  files.add("-", fitToPrint("wrote " + options.picture.path + "\n"));
  files.commit();
  return 0;
}

int openWindow(const ViewerOptions& options, int& argc, char** argv) {
  const bool isChosen = isGiven("QT_QPA_PLATFORM");
  if (!isChosen && !isGiven("DISPLAY") && !isGiven("WAYLAND_DISPLAY")) throw Error(kNoDisplay);
  const QApplication application(argc, argv);
  // The one style that follows the palette of ThemeChoice in all its parts.
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setWindowIcon(appIcon());
  MainWindow window(options.align, WindowMemory(WindowMemory::usersSettings(), options.isFresh));
  QStringList inputs;
  for (const std::string& input : options.inputs) inputs.push_back(QString::fromStdString(input));
  if (!options.find.empty()) window.find(QString::fromStdString(options.find));
  window.resize(window.size().boundedTo(window.screen()->availableSize() * 0.95));
  window.show();
  if (options.isSample) {
    window.openSample();
  } else if (options.follow) {
    window.follow(inputs);
  } else {
    window.open(inputs);
  }
  if (!options.with.empty()) window.compareWith({QString::fromStdString(options.with)});
  return QApplication::exec();
}

}  // namespace

int runViewer(const ViewerOptions& options, const char* program) {
  std::string name = program;
  char* argv[] = {name.data(), nullptr};
  int argc = 1;
  if (!options.find.empty()) parseQuery(options.find);  // throws before anything is read
  qInstallMessageHandler(onQtMessage);
  QGuiApplication::setApplicationDisplayName(QStringLiteral("pipe-view"));
  QGuiApplication::setDesktopFileName(QStringLiteral("pipe-view"));
  return options.picture.path.empty() ? openWindow(options, argc, argv)
                                      : exportOnly(options, argc, argv);
}

}  // namespace pipetrace
