// Drives the window of pipe-view with real events, offscreen or on the display that DISPLAY names,
// and prints its figures beside their goals. Logs are made in --folder if they are not there.
//
//     viewer_bench [--folder FOLDER] [start] [small] [memory] [large] [rows] [follow] [follow64]
//
// The parts `compare` and `compare-memory` are asked for by name. They need the logs of two runs in
// FOLDER/before and FOLDER/after, which `pipe-trace plan -o` writes.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QApplication>
#include <QTest>
#include <QTimer>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/bench/bench_data.h"
#include "tests/bench/log_replay.h"
#include "tests/bench/viewer_frames.h"
#include "tests/bench/viewer_table.h"

namespace pipetrace::bench {
namespace {

constexpr QSize kScreen{1920, 1080};
constexpr std::int64_t kSmall = 1'000'000;
constexpr std::int64_t kLarge = 10'000'000;
constexpr int kFrames = 500;

double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

double residentBytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::string cpuNote(double since) {
  char text[64];
  std::snprintf(text, sizeof text, "CPU %.2f s", cpuSeconds() - since);
  return text;
}

/// A window that opens a run.
class Opening {
 public:
  Opening(const std::string& folder, std::string name, bool isLarge)
      : name_(std::move(name)), isLarge_(isLarge) {
    window_.resize(kScreen);
    window_.show();
    QTest::qWait(200);
    before_ = residentBytes();
    cpu_ = cpuSeconds();
    begin_ = secondsNow();
    window_.open({QString::fromStdString(folder)});
  }

  MainWindow& window() { return window_; }

  void untilExplained() {
    await([&] { return window_.profile() != nullptr; });
    report("to the first frame", isLarge_ ? 2.5 : 0, isLarge_ ? 1.5 : 0);
    await([&] { return window_.profile()->isClassified(); });
    report("to the first frame with classes", isLarge_ ? 8 : 0.6, isLarge_ ? 4 : 0.3);
    await([&] { return window_.explanation() != nullptr; });
    report("to the explanation", 0, 0);
    const auto events = static_cast<double>(window_.profile()->timeline().eventCount());
    print({"memory of " + name_ + " with the explanation", (residentBytes() - before_) / events,
           "bytes", std::nullopt, std::nullopt, "an event"});
  }

 private:
  template <typename Condition>
  void await(const Condition& isThere) {
    QTimer timer;  // so that it looks now and then
    timer.start(2);
    while (!isThere()) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    window_.chart()->viewport()->repaint();
  }

  void report(const std::string& what, double must, double beyond) {
    const auto goal = [](double value) { return value > 0 ? std::optional(value) : std::nullopt; };
    print({"open " + name_ + " " + what, secondsNow() - begin_, "s", goal(must), goal(beyond),
           cpuNote(cpu_)});
  }

  std::string name_;
  bool isLarge_;
  MainWindow window_;
  double before_ = 0;
  double cpu_ = 0;
  double begin_ = 0;
};

std::string logsOf(const std::string& folder, int devices, std::int64_t jobs) {
  const std::string path =
      folder + "/" + std::to_string(devices) + "x" + std::to_string(jobs / devices);
  makeLogs(path, {.devices = devices, .jobsPerDevice = jobs / devices});
  return path;
}

void measureFrames(MainWindow& window, const std::string& name) {
  FrameDriver driver(window);
  printFrames("zoom, pan, " + name + ", tiles cold", driver.zoomAndPan(kFrames), 16.7, 8);
  printFrames("pan by a tenth, " + name, driver.panOn(kFrames), 16.7, 8);
  printFrames("scroll, " + name, driver.scroll(kFrames), 16.7, 8);
  printFrames("hover, " + name, driver.hover(kFrames), 16.7, 0);
  printFrames("click, " + name, driver.click(kFrames), 16.7, 0);
}

void openSmall(const std::string& folder) {
  Opening opening(logsOf(folder, 4, kSmall), "1 000 000 jobs of 4 ranks", false);
  opening.untilExplained();
}

void openLarge(const std::string& folder, int ranks) {
  const std::string name = "10 000 000 jobs of " + std::to_string(ranks) + " ranks";
  Opening opening(logsOf(folder, ranks, kLarge), name, true);
  opening.untilExplained();
  measureFrames(opening.window(), std::to_string(ranks) + " rows");
}

template <typename Condition>
void awaitCondition(const Condition& isThere) {
  QTimer timer;  // so that it looks now and then
  timer.start(2);
  while (!isThere()) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
}

/// Two runs below each other, from nothing to tints, and their frames. Memory is beside that of the
/// first run alone, in the same process.
void openTwo(const std::string& folder) {
  MainWindow window;
  window.resize(kScreen);
  window.show();
  QTest::qWait(200);
  const double cpu = cpuSeconds();
  const double begin = secondsNow();
  const auto report = [&](const char* what, double must) {
    window.comparePane()->repaint();
    print({std::string("open two runs ") + what, secondsNow() - begin, "s", must, std::nullopt,
           cpuNote(cpu)});
  };
  const ComparePane& pane = *window.comparePane();
  window.open({QString::fromStdString(folder + "/before")});
  window.compareWith({QString::fromStdString(folder + "/after")});
  awaitCondition([&] { return pane.second() != nullptr; });
  report("to both pictures", 0.6);
  awaitCondition(
      [&] { return window.profile()->isClassified() && pane.comparison().b()->isClassified(); });
  report("to both with classes", 1.5);
  awaitCondition([&] { return pane.comparison().twins() != nullptr; });
  report("to tints and list", 3.5);
  FrameDriver driver(window);
  window.chart()->fit();
  printFrames("zoom, pan, two runs, tiles cold", driver.zoomAndPan(kFrames), 16, 0);
  printFrames("pan by a tenth, two runs", driver.panOn(kFrames), 16, 0);
  printFrames("scroll, two runs", driver.scroll(kFrames), 16, 0);
  printFrames("click, two runs", driver.click(kFrames), 16, 0);
}

/// The memory of a run in a window, and with a second one under it.
void holdTwo(const std::string& folder) {
  MainWindow window;
  window.resize(kScreen);
  window.show();
  QTest::qWait(200);
  const double before = residentBytes();
  window.open({QString::fromStdString(folder + "/before")});
  awaitCondition([&] { return window.explanation() != nullptr; });
  ::malloc_trim(0);
  const double one = residentBytes() - before;
  window.compareWith({QString::fromStdString(folder + "/after")});
  awaitCondition([&] { return window.comparePane()->comparison().twins() != nullptr; });
  ::malloc_trim(0);
  const double both = residentBytes() - before;
  char note[64];
  std::snprintf(note, sizeof note, "%.0f and %.0f MiB", one / 1048576, both / 1048576);
  print({"memory of two runs beside one", both / one, "times", 2.2, std::nullopt, note});
}

/// The memory of what the chart draws, bubbles included.
void holdLarge(const std::string& folder) {
  const std::string path = logsOf(folder, 64, kLarge);
  const double before = residentBytes();
  const auto profile = loadProfile({path});
  ::malloc_trim(0);
  const double bytes = residentBytes() - before;
  const auto events = static_cast<double>(profile->timeline().eventCount());
  char note[64];
  std::snprintf(note, sizeof note, "%.1f million events; %.0f a job", events / 1e6,
                bytes / static_cast<double>(kLarge));
  print({"memory of 10 000 000 jobs an event", bytes / events, "bytes", 80, std::nullopt, note});
}

/// Follows a run that writes 100 000 jobs a second, for half a minute.
void followRun(const std::string& folder, int ranks, int argc, char** argv) {
  constexpr int kJobsPerSecond = 100'000;
  constexpr std::int64_t kJobs = 4'000'000;
  constexpr int kEvents = 1800;
  const std::vector<std::string> logs =
      makeLogs(folder + "/" + std::to_string(ranks) + "x" + std::to_string(kJobs / ranks),
               {.devices = ranks, .jobsPerDevice = kJobs / ranks});
  const std::string growing = folder + "/growing";
  const LogReplay replay(logs, growing, kJobsPerSecond);
  const QApplication application(argc, argv);
  MainWindow window;
  window.resize(kScreen);
  window.show();
  window.follow({QString::fromStdString(growing)});
  const double begin = secondsNow();
  if (!QTest::qWaitFor([&] { return window.profile() != nullptr; }, 10'000)) {
    throw std::runtime_error("the run does not show");
  }
  const FrameTimes frames = FrameDriver(window).live(kEvents);
  const double seconds = secondsNow() - begin;
  const auto jobs = static_cast<double>(window.profile()->model().jobCount());
  char note[128];
  std::snprintf(note, sizeof note, "%.0f jobs shown after %.0f s, %.0f a second", jobs, seconds,
                jobs / seconds);
  const std::string name = "100 000 jobs a second of " + std::to_string(ranks) + " ranks";
  print({"follow " + name + ", longest frame",
         *std::max_element(frames.wall.begin(), frames.wall.end()), "ms", 50, std::nullopt, note});
  printFrames("follow " + name, frames, 0, 0);
}

/// From the start of a program to the first frame of its window. `begin` is from before exec().
int showWindow(double begin, int argc, char** argv) {
  const QApplication application(argc, argv);
  MainWindow window;
  window.resize(kScreen);
  window.show();
  QCoreApplication::processEvents();
  window.repaint();
  print({"start to window", (secondsNow() - begin) * 1e3, "ms", 300, std::nullopt, cpuNote(0)});
  return 0;
}

/// Runs each part in a process of its own.
void runApart(const std::string& self, const std::vector<std::string>& arguments) {
  const std::string begin = std::to_string(secondsNow());
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> words;
    std::vector<std::string> texts = {self, "--begin", begin};
    texts.insert(texts.end(), arguments.begin(), arguments.end());
    for (std::string& text : texts) words.push_back(text.data());
    words.push_back(nullptr);
    ::execv(self.c_str(), words.data());
    std::_Exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::printf("%s failed\n", arguments.back().c_str());
}

int runPart(const std::string& part, const std::string& folder, double begin, int argc,
            char** argv) {
  if (part == "start") return showWindow(begin, argc, argv);
  if (part == "follow") {
    followRun(folder, 4, argc, argv);
    return 0;
  }
  if (part == "follow64") {
    followRun(folder, 64, argc, argv);
    return 0;
  }
  const QApplication application(argc, argv);
  if (part == "small") openSmall(folder);
  if (part == "large") openLarge(folder, 64);
  if (part == "memory") holdLarge(folder);
  if (part == "rows") openLarge(folder, 1000);
  if (part == "compare") openTwo(folder);
  if (part == "compare-memory") holdTwo(folder);
  return 0;
}

int run(int argc, char** argv) {
  std::string folder = "viewer_bench_data";
  double begin = -1;
  std::vector<std::string> parts;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--folder") == 0 && i + 1 < argc) {
      folder = argv[++i];
    } else if (std::strcmp(argv[i], "--begin") == 0 && i + 1 < argc) {
      begin = std::atof(argv[++i]);
    } else {
      parts.push_back(argv[i]);
    }
  }
  const char* const display = std::getenv("DISPLAY");
  const bool hasDisplay = display != nullptr && *display != '\0';
  if (!hasDisplay) qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
  if (begin >= 0) return runPart(parts.back(), folder, begin, argc, argv);
  if (parts.empty()) parts = {"start", "small", "memory", "large", "rows", "follow", "follow64"};
  std::printf("%s, %dx%d, %ld cores\n", hasDisplay ? "on a display" : "offscreen", kScreen.width(),
              kScreen.height(), ::sysconf(_SC_NPROCESSORS_ONLN));
  printHeading();
  std::fflush(stdout);
  for (const std::string& part : parts) {
    runApart("/proc/self/exe", {"--folder", folder, part});
  }
  return 0;
}

}  // namespace
}  // namespace pipetrace::bench

int main(int argc, char** argv) { return pipetrace::bench::run(argc, argv); }
