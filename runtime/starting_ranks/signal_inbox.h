#pragma once

#include <signal.h>

namespace pipetrace {

/// Receives SIGINT, SIGTERM, SIGHUP and SIGCHLD through a file descriptor instead of by handlers,
/// from construction to destruction. A signal that the process ignores (nohup) stays ignored.
/// SIGPIPE and SIGXFSZ come the same way, so that a write which fails only fails.
class SignalInbox {
 public:
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  /// Readable when a signal has come.
  int fd() const { return fd_; }
  /// The next signal that has come; 0: none.
  int take() const;
  /// The calling thread's mask as it was before: for children to start with.
  const sigset_t& maskBefore() const { return before_; }

 private:
  using Handler = void (*)(int);

  Handler childHandler_;  // an ignored SIGCHLD would take the children's ends away from us
  sigset_t before_{};
  int fd_ = -1;
};

}  // namespace pipetrace
