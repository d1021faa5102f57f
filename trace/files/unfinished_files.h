#pragma once

#include <csignal>
#include <string>

namespace pipetrace {

/// Makes SIGINT, SIGTERM and SIGHUP remove what this process has begun to write and not committed:
/// the files of OutputFiles, then the folders that OutputSets made, if they are empty. Then the
/// signal ends the process as usual. An ignored signal stays ignored. Call it once, at the start of
/// main().
void removeUnfinishedFilesOnSignals();

/// Remembers a file or a folder to remove. Returns the number to give to forgetUnfinishedFile(); -1
/// if the path is too long. Only OutputFile and OutputSet call these two. Thread-safe.
int rememberUnfinishedFile(const std::string& path);
void forgetUnfinishedFile(int slot);

/// Blocks signals on this thread as long as it exists. So no signal ends the process between two
/// steps that belong together.
class SignalsHeldBack {
 public:
  SignalsHeldBack() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsHeldBack() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

 private:
  sigset_t before_;
};

}  // namespace pipetrace
