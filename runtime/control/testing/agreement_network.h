#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/control/testing/plain_status.h"
#include "runtime/control/verdict/control_message.h"
#include "runtime/control/verdict/failure_agreement.h"
#include "trace/nanoseconds.h"

namespace pipetrace::testing {

/// The agreements of a run. Their messages and hang-ups take random times, in the order in which
/// they were sent on each connection. Time goes in milliseconds and is simulated.
class AgreementNetwork {
 public:
  AgreementNetwork(int ranks, unsigned seed, int longestDelay, const FailureLimits& limits = {})
      : random_(seed),
        longestDelay_(longestDelay),
        isCut_(static_cast<std::size_t>(ranks), std::vector<bool>(static_cast<std::size_t>(ranks))),
        arrivals_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      agreements_.push_back(std::make_unique<FailureAgreement>(rank, ranks, limits, words_, 0));
      agreements_.back()->own(computing(rank));
      lives_.push_back(true);
      phases_.push_back(0);
      for (auto& arrival : arrivals_) arrival.emplace_back();
    }
  }

  void hostsAre(const std::vector<std::string>& hosts) {
    for (const auto& agreement : agreements_) agreement->hostsAre(hosts);
  }
  /// Ranks that have noticed nothing read and look once a beat (in milliseconds), each at a moment
  /// of its own, and when a connection ends.
  void restBetweenBeats(int beat) {
    beat_ = beat;
    rests_ = true;
    for (int& phase : phases_) phase = std::uniform_int_distribution<>(0, beat - 1)(random_);
  }

  int size() const { return static_cast<int>(agreements_.size()); }
  FailureAgreement& agreement(int rank) { return *agreements_[static_cast<std::size_t>(rank)]; }
  Nanoseconds now() const { return now_ * kNsPerMs; }

  void die(int rank) {
    lives_[static_cast<std::size_t>(rank)] = false;
    forOthers(rank, [&](int to) { post(rank, to, {.isEnd = true, .message = {}}); });
  }
  void stop(int rank) { lives_[static_cast<std::size_t>(rank)] = false; }
  /// Nothing passes any more between ranks for which `isCut(a, b)` or `isCut(b, a)`. Messages under
  /// way between them are lost.
  template <typename IsCut>
  void cut(IsCut isCut) {
    for (int from = 0; from < size(); ++from) {
      forOthers(from, [&](int to) {
        if (!isCut(from, to) && !isCut(to, from)) return;
        isCut_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = true;
        queue(from, to).clear();
      });
    }
  }
  void run(int milliseconds) {
    const int end = now_ + milliseconds;
    while (now_ < end) advance(end - now_);
  }
  /// Until all that live have a verdict; how long that took, -1 for longer than `limit`.
  int awaitVerdicts(int limit) {
    const int begin = now_;
    while (now_ < begin + limit) {
      if (haveVerdicts()) return now_ - begin;
      advance(begin + limit - now_);
    }
    return -1;
  }
  /// The rank that all verdicts name; -1 if they differ.
  int culprit() {
    int rank = -2;
    each([&](int i) {
      const int named = agreement(i).verdict() ? agreement(i).verdict()->rank : -1;
      rank = rank == -2 || rank == named ? named : -1;
    });
    return rank;
  }
  /// Calls `body` for every rank that lives.
  template <typename Body>
  void each(Body body) {
    for (int rank = 0; rank < size(); ++rank) {
      if (lives_[static_cast<std::size_t>(rank)]) body(rank);
    }
  }

 private:
  struct Delivery {
    bool isEnd = false;
    ControlMessage message;
  };
  using Queue = std::multimap<int, Delivery>;  // by time
  Queue& queue(int from, int to) {
    return arrivals_[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)];
  }
  template <typename Body>
  void forOthers(int rank, Body body) {
    for (int to = 0; to < size(); ++to) {
      if (to != rank) body(to);
    }
  }
  void post(int from, int to, Delivery delivery) {
    if (isCut_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]) return;
    Queue& all = queue(from, to);
    int when = now_ + std::uniform_int_distribution<>(1, longestDelay_)(random_);
    if (!all.empty()) when = std::max(when, all.rbegin()->first);
    if (delivery.isEnd) lastEnd_ = std::max(lastEnd_, when);
    all.emplace(when, std::move(delivery));
  }
  // One round, and then to the next one, which is at most so far away.
  void advance(int most) {
    round();
    int pause = most;
    const bool isCalm = rests_ && now_ > lastEnd_;
    each([&](int rank) {
      const int beat = beat_ - (now_ + phases_[static_cast<std::size_t>(rank)]) % beat_;
      pause = std::min(pause, isCalm && !agreement(rank).isAlarmed() ? beat : 1);
    });
    now_ += pause;
  }
  void round() {
    std::vector<bool> isAwake;
    for (int rank = 0; rank < size(); ++rank) isAwake.push_back(hasReasonToWake(rank));
    for (int to = 0; to < size(); ++to) {
      if (!isAwake[static_cast<std::size_t>(to)]) continue;
      for (int from = 0; from < size(); ++from) deliver(from, to);
    }
    each([&](int rank) {
      if (!isAwake[static_cast<std::size_t>(rank)]) return;
      if (isBeat(rank)) {
        ControlMessage beat;
        beat.status = computing(rank);
        forOthers(rank, [&](int to) { post(rank, to, {.isEnd = false, .message = beat}); });
      }
      agreement(rank).tick(now());
      for (const ControlMessage& message : agreement(rank).takeMessages()) {
        forOthers(rank, [&](int to) { post(rank, to, {.isEnd = false, .message = message}); });
      }
    });
  }
  bool isBeat(int rank) const {
    return (now_ + phases_[static_cast<std::size_t>(rank)]) % beat_ == 0;
  }
  bool hasReasonToWake(int rank) {
    if (!rests_ || isBeat(rank) || agreement(rank).isAlarmed()) return true;
    if (now_ > lastEnd_) return false;
    const auto& arrival = arrivals_[static_cast<std::size_t>(rank)];
    return std::any_of(arrival.begin(), arrival.end(), [&](const Queue& all) {
      // An end is the last thing that a rank sends.
      return !all.empty() && all.rbegin()->second.isEnd && all.rbegin()->first <= now_;
    });
  }
  void deliver(int from, int to) {
    Queue& all = queue(from, to);
    while (!all.empty() && all.begin()->first <= now_) {
      const Delivery delivery = std::move(all.begin()->second);
      all.erase(all.begin());
      if (!lives_[static_cast<std::size_t>(to)]) continue;
      if (delivery.isEnd) {
        agreement(to).closed(from, now());
      } else {
        agreement(to).heard(from, delivery.message, now());
      }
    }
  }
  bool haveVerdicts() {
    bool all = true;
    each([&](int rank) { all = all && agreement(rank).verdict().has_value(); });
    return all;
  }

  PlanWords words_;
  std::mt19937 random_;
  const int longestDelay_;
  int now_ = 0;
  int beat_ = 100;
  bool rests_ = false;
  int lastEnd_ = -1;  // when the last end of a connection arrives
  std::vector<int> phases_;
  std::vector<std::unique_ptr<FailureAgreement>> agreements_;
  std::vector<bool> lives_;
  std::vector<std::vector<bool>> isCut_;      // by sender, by receiver
  std::vector<std::vector<Queue>> arrivals_;  // by receiver, by sender
};

}  // namespace pipetrace::testing
