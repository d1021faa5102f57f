#pragma once

#include <csignal>

namespace pipetrace {

/// While it lives, signals wait that would end this thread's process between two steps that belong
/// together.
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
