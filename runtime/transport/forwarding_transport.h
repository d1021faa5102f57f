#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/transport/transport.h"

namespace pipetrace {

/// Does what another transport does. Classes that stand between a rank and its transport derive
/// from it, and override what they change.
class ForwardingTransport : public Transport {
 public:
  /// `inner` must outlive it.
  explicit ForwardingTransport(Transport& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int worldSize() const override { return inner_.worldSize(); }
  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override {
    return inner_.openSend(to, name, messages);
  }
  std::unique_ptr<ReceiveLane<Message>> openReceive(int from, const LaneName& name,
                                                    std::size_t messages) override {
    return inner_.openReceive(from, name, messages);
  }
  void useDevice(RankDevice& device) override { inner_.useDevice(device); }
  void useWatch(LineWatch* watch) override { inner_.useWatch(watch); }
  bool isInLine(const LaneName& name, int step) const override {
    return inner_.isInLine(name, step);
  }
  void awaitLanes() override { inner_.awaitLanes(); }
  int rowsFrom() const override { return inner_.rowsFrom(); }
  void beginStep(int step, std::int64_t rows) override { inner_.beginStep(step, rows); }
  bool sendsBlock() const override { return inner_.sendsBlock(); }
  CommStreams commStreams() const override { return inner_.commStreams(); }
  void abort(const std::string& reason) noexcept override { inner_.abort(reason); }
  void finish() override { inner_.finish(); }

 protected:
  Transport& inner() { return inner_; }

 private:
  Transport& inner_;
};

}  // namespace pipetrace
