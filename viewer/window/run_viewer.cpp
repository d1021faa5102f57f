#include "viewer/window/run_viewer.h"

#include <QApplication>
#include <QStyleFactory>
#include <cstdio>
#include <cstdlib>

#include "analysis/report/diagnostic_lines.h"
#include "trace/error.h"
#include "viewer/export/export_picture.h"
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

int exportOnly(const ViewerOptions& options, int& argc, char** argv) {
  checkExportName(options.picture.path);
  const auto profile = loadProfile(options.inputs, options.align);
  for (const std::string& line : diagnosticLines(profile->diagnostics())) {
    std::fprintf(stderr, "pipe-view: %s\n", line.c_str());
  }
  if (!isGiven("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QGuiApplication application(argc, argv);
  OutputSet files;
  addPicture(*profile, options.picture, files);
  files.add("-", "wrote " + options.picture.path + "\n");
  files.commit();
  return 0;
}

/// Sets a light style, whatever the desktop has: the chart's colours are made for white paper.
void useLightStyle() {
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setPalette(QApplication::style()->standardPalette());
}

int openWindow(const ViewerOptions& options, int& argc, char** argv) {
  const bool isChosen = isGiven("QT_QPA_PLATFORM");
  if (!isChosen && !isGiven("DISPLAY") && !isGiven("WAYLAND_DISPLAY")) throw Error(kNoDisplay);
  const QApplication application(argc, argv);
  useLightStyle();
  MainWindow window(options.align);
  QStringList inputs;
  for (const std::string& input : options.inputs) inputs.push_back(QString::fromStdString(input));
  window.show();
  options.follow ? window.follow(inputs) : window.open(inputs);
  return QApplication::exec();
}

}  // namespace

int runViewer(const ViewerOptions& options, const char* program) {
  std::string name = program;
  char* argv[] = {name.data(), nullptr};
  int argc = 1;
  qInstallMessageHandler(onQtMessage);
  QGuiApplication::setApplicationDisplayName(QStringLiteral("pipe-view"));
  return options.picture.path.empty() ? openWindow(options, argc, argv)
                                      : exportOnly(options, argc, argv);
}

}  // namespace pipetrace
