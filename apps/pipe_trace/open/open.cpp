#include "apps/pipe_trace/open/open.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/print.h"
#include "apps/cli/profile_format.h"
#include "apps/pipe_trace/open/trace_server.h"
#include "trace/error.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

struct OpenOptions {
  std::string file;
  int port = TraceServer::kPerfettoPort;
  bool noBrowser = false;
};

bool isSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Without a display the user still has the printed link.
bool hasDisplay() { return isSet("DISPLAY") || isSet("WAYLAND_DISPLAY"); }

void openInBrowser(const std::string& link) {
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "xdg-open";
  std::string argument = link;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  ::posix_spawnp(&child, program.c_str(), &quiet, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&quiet);
}

/// Throws Error for a file that Perfetto's UI would load without a helpful message.
void checkUiShows(const std::string& file) {
  const auto format = profileFormatOfFile(file);
  if (!format || *format == ProfileFormat::kChromeJson || *format == ProfileFormat::kPerfetto) {
    return;
  }
  throw Error("cannot open " + file +
              ": Perfetto's UI shows Chrome JSON and Perfetto traces; write NAME.pftrace and open "
              "that");
}

/// A shell that starts this program in the background of a script makes it ignore SIGINT.
void endOnInterrupt() { std::signal(SIGINT, SIG_DFL); }

void addOpenOptions(CommandApp& app, OpenOptions& options) {
  app.description(
      "Serves a profile on this machine, to Perfetto's UI (https://ui.perfetto.dev) only, and\n"
      "prints the link that loads it there. Nobody without the link can fetch it. Ends when the\n"
      "UI has fetched it, or at Ctrl-C.");
  app.describeEnd({{"0", "the profile was fetched"}, {"2", "could not"}},
                  {"pipe-trace open profile.pftrace"});
  app.offerFiles(app.add_option("FILE", options.file, "The profile")->type_name("")->required(),
                 {"json", "json.gz", "pftrace"});
  app.add_option("--port", options.port,
                 "Port to listen on; Perfetto's own UI accepts none but 9001 (0: any)")
      ->type_name("N")
      ->check(range(0, 65535));
  app.add_flag("--no-browser", options.noBrowser, "Print the link only, as without a display");
}

}  // namespace

void describeOpen(CommandApp& app) {
  static OpenOptions options;
  addOpenOptions(app, options);
}

int openCommand(int argc, char** argv) {
  OpenOptions options;
  CommandApp app("pipe-trace open");
  addOpenOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  checkUiShows(options.file);
  endOnInterrupt();
  TraceServer server(options.file, options.port);
  printText(server.link() + "\n");
  if (!options.noBrowser && hasDisplay()) {
    server.refuseOtherUsers();
    openInBrowser(server.link());
  }
  server.serveOnce();
  return 0;
}

}  // namespace pipetrace
