#include "runtime/transport/in_process.h"

#include <utility>

#include "runtime/control/local_control.h"
#include "runtime/lanes/local_lanes.h"

namespace pipetrace {

struct InProcessHub::State {
  explicit State(int size) : lanes(size) {}
  LocalLanes<Message> lanes;
};

class InProcessTransport : public Transport {
 public:
  InProcessTransport(InProcessHub::State& state, int rank)
      : lanes_(state.lanes), group_(lanes_.group()), rank_(rank) {}

  ~InProcessTransport() override {
    if (!finished_) group_.fail(rank_, "it ended before all ranks had finished");
  }

  int rank() const override { return rank_; }
  int worldSize() const override { return group_.size(); }

  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override {
    group_.requirePeer(rank_, to);
    return std::make_unique<LocalSendLane<Message>>(lanes_, rank_, to, name, messages, clock());
  }

  std::unique_ptr<ReceiveLane<Message>> openReceive(int from, const LaneName& name,
                                                    std::size_t messages) override {
    group_.requirePeer(rank_, from);
    return std::make_unique<LocalReceiveLane<Message>>(lanes_, from, rank_, name, messages);
  }

  void abort(const std::string& reason) noexcept override { group_.fail(rank_, reason); }

  void finish() override {
    group_.finish(rank_);
    finished_ = true;
  }

 private:
  LocalLanes<Message>& lanes_;
  RankGroup& group_;
  const int rank_;
  bool finished_ = false;
};

InProcessHub::InProcessHub(int worldSize) : state_(std::make_unique<State>(worldSize)) {}

InProcessHub::~InProcessHub() = default;

std::unique_ptr<Transport> InProcessHub::connect(int rank) {
  state_->lanes.group().requireRank(rank);
  return std::make_unique<InProcessTransport>(*state_, rank);
}

std::int64_t InProcessHub::handOvers() const { return state_->lanes.handOvers(); }

std::vector<std::unique_ptr<ControlChannel>> controlInProcess(
    const ControlOptions& options, const std::vector<Transport*>& transports) {
  std::vector<ControlOptions> ofRanks;
  for (Transport* const transport : transports) {
    ControlOptions& own = ofRanks.emplace_back(options);
    own.rank = transport->rank();
    own.worldSize = transport->worldSize();
    own.onFailure = [transport](const FailureCause&, const std::string& text) {
      transport->abort(text);
    };
  }
  return makeLocalControl(std::move(ofRanks));
}

}  // namespace pipetrace
