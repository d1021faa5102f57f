#include "apps/pipe_trace/convert/follow.h"

#include <fmt/format.h>
#include <poll.h>

#include <csignal>
#include <ctime>

#include "apps/cli/command_line.h"
#include "apps/cli/print.h"
#include "apps/cli/profile_format.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "ingest/followable.h"
#include "ingest/run_follower.h"
#include "parser/chrome/write/growing_json.h"
#include "trace/error.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

constexpr long kBetweenLooksNs = 200'000'000;
/// Looking for new files costs more than looking for new lines.
constexpr int kLooksBetweenSearches = 5;
/// Logs of ranks that start together appear within this number of looks.
constexpr int kLooksBeforeWaiting = 7;

volatile std::sig_atomic_t stopped = 0;

extern "C" void stopFollowing(int) { stopped = 1; }

/// Lets SIGINT and SIGTERM come only during wait(), so that none is missed and nothing is
/// interrupted.
class StopSignals {
 public:
  StopSignals() {
    struct sigaction action {};
    action.sa_handler = stopFollowing;
    ::sigemptyset(&action.sa_mask);
    sigset_t both;
    ::sigemptyset(&both);
    for (const int signal : {SIGINT, SIGTERM}) {
      ::sigaddset(&both, signal);
      ::sigaction(signal, &action, nullptr);
    }
    ::sigprocmask(SIG_BLOCK, &both, &before_);
  }

  /// Waits until the next look. Returns false when a signal has come.
  bool wait() const {
    const timespec pause{.tv_sec = 0, .tv_nsec = kBetweenLooksNs};
    ::ppoll(nullptr, 0, &pause, &before_);
    return stopped == 0;
  }

 private:
  sigset_t before_{};
};

const std::string& outputOf(const ConvertOptions& options) {
  if (options.profiles.names.size() != 1) {
    throw Error("--follow writes one profile: give -o NAME.json once");
  }
  const std::string& output = options.profiles.names.front();
  if (output == "-" || formatOf(output, options.profiles) != ProfileFormat::kChromeJson) {
    throw Error("--follow cannot write " + (output == "-" ? "standard output" : output) +
                ": only Chrome JSON may end anywhere; name the output NAME.json");
  }
  return output;
}

void reportWaiting(const RunFollower& follower) {
  const std::string what = follower.waitsFor();
  if (!what.empty()) printError(fmt::format("pipe-trace: waiting for {}", what));
}

void reportOutOfSight(RunFollower& follower) {
  const std::string ranks = follower.newlyOutOfSight();
  if (ranks.empty()) return;
  printError(fmt::format(
      "pipe-trace: logs of another host ({}): this host cannot see whether they are still "
      "written; following until they are closed, or Ctrl-C",
      ranks));
}

}  // namespace

int runFollow(const ConvertOptions& options, const TraceReaders& readers) {
  const std::string& output = outputOf(options);
  checkOutputs(options.profiles, options.load);
  checkFollowable(options.load.inputs, readers);
  const StopSignals signals;
  GrowingChromeJson profile(output);
  RunFollower follower(options.load,
                       [&](const Timeline& steps) { profile.add(steps, options.profiles.flows); });
  bool hasFindings = false;
  const auto report = [&] {
    const Diagnostics found = follower.takeDiagnostics();
    hasFindings = hasFindings || found.hasFindings();
    printDiagnostics(found, lowestSeverity(options.load));
  };
  int looks = 0;
  do {
    if (++looks % kLooksBetweenSearches == 0) {
      follower.findNewLogs();
      follower.lookAtRecorders();
      if (looks > kLooksBeforeWaiting && !options.load.quiet) reportOutOfSight(follower);
    }
    follower.look();
    report();
    if (looks == kLooksBeforeWaiting && !options.load.quiet) reportWaiting(follower);
  } while (!follower.isOver() && signals.wait());
  follower.finish();
  report();
  if (profile.tooEarly() > 0) {
    hasFindings = true;
    Diagnostics late;
    late.add({.message = "came too late to be in the profile: more than a minute earlier than its "
                         "first step",
              .advice = "convert the logs again, without --follow",
              .count = profile.tooEarly()});
    printDiagnostics(late, lowestSeverity(options.load));
  }
  if (follower.hasNothingSelected()) {
    hasFindings = true;
    Diagnostics nothing;
    nothing.add({.message = "no event of the run was among what --steps, --ranks and --skip leave",
                 .advice = "convert the logs again, without --follow: that lists what there is"});
    printDiagnostics(nothing, lowestSeverity(options.load));
  }
  profile.close();
  if (!options.load.quiet) {
    printText(fmt::format("wrote {}: {} steps, {}\n", output, follower.stepCount(),
                          summaryText(profile.summary())));
  }
  return options.load.strict && hasFindings ? kExitFindings : 0;
}

}  // namespace pipetrace
