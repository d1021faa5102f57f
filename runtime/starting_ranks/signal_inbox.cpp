#include "runtime/starting_ranks/signal_inbox.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "trace/error.h"

namespace pipetrace {

SignalInbox::SignalInbox() : childHandler_(::signal(SIGCHLD, SIG_DFL)) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGCHLD, SIGPIPE, SIGXFSZ}) sigaddset(&wanted, number);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&wanted, number);
  }
  pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  fd_ = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd_ < 0) {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    throw Error(std::string("cannot watch for signals: ") + std::strerror(errno));
  }
}

SignalInbox::~SignalInbox() {
  while (take() != 0) {  // or they would be delivered now
  }
  close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  if (childHandler_ != SIG_ERR) ::signal(SIGCHLD, childHandler_);
}

int SignalInbox::take() const {
  signalfd_siginfo info{};
  return read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)
             ? static_cast<int>(info.ssi_signo)
             : 0;
}

}  // namespace pipetrace
