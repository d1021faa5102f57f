#pragma once

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/transport/transport.h"
#include "trace/error.h"

namespace pipetrace::testing {

/// A peer that answers every receive at once, and never takes a message until released.
class ScriptedTransport : public Transport {
 public:
  ScriptedTransport(int rank, int worldSize) : rank_(rank), worldSize_(worldSize) {}
  int rank() const override { return rank_; }
  int worldSize() const override { return worldSize_; }
  std::unique_ptr<SendLane<Message>> openSend(int, const LaneName&, std::size_t) override {
    if (!opens_) throw Error("this transport opens no lane");
    return std::make_unique<Sends>(*this);
  }
  std::unique_ptr<ReceiveLane<Message>> openReceive(int, const LaneName&, std::size_t) override {
    return std::make_unique<Receives>(*this);
  }
  bool sendsBlock() const override { return blocks_; }
  CommStreams commStreams() const override { return commStreams_; }
  void abort(const std::string&) noexcept override { release(); }
  void finish() override { ++finishes_; }

  void release() noexcept { released_ = true; }

  bool hasClock() const { return static_cast<bool>(clock()); }

  bool opens_ = true;
  int finishes_ = 0;
  bool blocks_ = false;
  CommStreams commStreams_ = CommStreams::kAsReached;
  std::set<MessageKey> posted_;
  std::vector<MessageKey> sent_;

 private:
  class Sends : public SendLane<Message> {
   public:
    explicit Sends(ScriptedTransport& transport) : transport_(transport) {}
    void send(const MessageKey& key, Message&&) override { transport_.sent_.push_back(key); }
    std::optional<std::uint64_t> nextDone() override {
      if (!transport_.released_) return std::nullopt;
      return transport_.clock()();
    }
    void awaitAll() override { EXPECT_TRUE(transport_.released_); }

   private:
    ScriptedTransport& transport_;
  };
  class Receives : public ReceiveLane<Message> {
   public:
    explicit Receives(ScriptedTransport& transport) : transport_(transport) {}
    std::uint64_t post(const MessageKey& key) override {
      transport_.posted_.insert(key);
      return 0;
    }
    Arrival take(std::uint64_t, const MessageKey&) override { return {{.tensor = at::empty({2})}}; }

   private:
    ScriptedTransport& transport_;
  };

  const int rank_;
  const int worldSize_;
  bool released_ = false;
};

}  // namespace pipetrace::testing
