#include "runtime/control/control_mesh.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/control/control_relay.h"
#include "runtime/control/control_socket.h"
#include "runtime/control/run_end.h"
#include "runtime/control/start/connect_ranks.h"
#include "runtime/control/steady_time.h"
#include "runtime/control/verdict/control_message.h"
#include "runtime/control/verdict/failure_agreement.h"
#include "runtime/control/verdict/idle_watch.h"
#include "trace/error.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

namespace {

/// The connections of one rank to its neighbours.
class ControlPeers {
 public:
  /// By rank (meetRanks()).
  explicit ControlPeers(std::vector<ControlSocket> peers) : peers_(std::move(peers)) {}

  /// Sends the message to all. `mayWait`: those who have not taken the last one do not get it.
  void broadcast(const ControlMessage& message, bool mayWait);

  /// Sends the message to one rank, if it has a connection.
  void send(int rank, const ControlMessage& message);

  /// Waits for up to `timeout`: until a connection ends, or, if `forMessages`, until anything
  /// arrives; or until `wake`, a file descriptor, can be read.
  void wait(int wake, Nanoseconds timeout, bool forMessages);

  /// Takes everything that has arrived: first the messages of all ranks, then the ends of
  /// connections, so that no rank is blamed that said why it ends. A connection that the network
  /// lost does not count as closed: the rank is silent, and may live.
  void receive(const std::function<void(int rank, const ControlMessage& message)>& heard,
               const std::function<void(int rank)>& closed);

  /// Sends what is left and closes all connections, within `timeout`.
  void close(Nanoseconds timeout);

 private:
  std::vector<ControlSocket> peers_;  // by rank
  std::vector<pollfd> waiting_;
};

void ControlPeers::broadcast(const ControlMessage& message, bool mayWait) {
  const std::string bytes = encode(message);
  for (ControlSocket& peer : peers_) {
    if (!mayWait || !peer.hasUnsent()) peer.send(bytes);
  }
}

void ControlPeers::send(int rank, const ControlMessage& message) {
  peers_[static_cast<std::size_t>(rank)].send(encode(message));
}

void ControlPeers::wait(int wake, Nanoseconds timeout, bool forMessages) {
  waiting_.clear();
  const auto add = [&](int fd, int events) {
    waiting_.push_back({.fd = fd, .events = static_cast<short>(events), .revents = 0});
  };
  add(wake, POLLIN);
  for (const ControlSocket& peer : peers_) {
    if (!peer.isOpen()) continue;
    add(peer.fd(), POLLRDHUP | (forMessages ? POLLIN : 0) | (peer.hasUnsent() ? POLLOUT : 0));
  }
  const Nanoseconds whole = std::max<Nanoseconds>(timeout + kNsPerMs - 1, 0) / kNsPerMs;
  poll(waiting_.data(), waiting_.size(), static_cast<int>(whole));
}

void ControlPeers::receive(
    const std::function<void(int rank, const ControlMessage& message)>& heard,
    const std::function<void(int rank)>& closed) {
  std::vector<int> ended;
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
    ControlSocket& peer = peers_[static_cast<std::size_t>(rank)];
    if (!peer.isOpen()) continue;
    peer.flush();
    bool isOpen = peer.receive();
    try {
      while (const auto message = takeMessage(peer.received())) heard(rank, *message);
    } catch (const Error&) {
      isOpen = false;  // no rank of ours any more
    }
    if (!isOpen) ended.push_back(rank);
  }
  for (const int rank : ended) {
    ControlSocket& peer = peers_[static_cast<std::size_t>(rank)];
    peer.close();
    if (!peer.isCutOff()) closed(rank);
  }
}

void ControlPeers::close(Nanoseconds timeout) {
  const Nanoseconds end = steadyTime() + timeout;
  // Bytes that were not read would make the system throw away what the other side has not read.
  for (ControlSocket& peer : peers_) {
    peer.flush();
    if (!peer.hasUnsent()) peer.endSending();
  }
  for (ControlSocket& peer : peers_) {
    while (peer.isOpen() && peer.receive() && steadyTime() < end) {
      pollfd waiting{.fd = peer.fd(), .events = POLLIN, .revents = 0};
      poll(&waiting, 1, 5);
      peer.flush();
    }
    peer.close();
  }
}

constexpr Nanoseconds kAlarmedRound = 10 * kNsPerMs;
constexpr Nanoseconds kTreeBeat = 500 * kNsPerMs;
constexpr Nanoseconds kLastWords = 200 * kNsPerMs;  // for closing connections in order

class ControlMesh final : public ControlChannel {
 public:
  ControlMesh(ControlOptions options, const MeshOptions& mesh, RunStart& start);
  ~ControlMesh() override;

  std::string fail(const std::string& reason) override;
  std::string lostPeer(const std::string& reason) override;
  void whileEnding(const std::function<void()>& body) override;
  void stop(const std::string& reason) override;
  void finish() override;

 private:
  // Other threads ask this of the control thread.
  struct Requests {
    std::optional<std::string> failed;
    std::optional<std::string> lostPeer;
    std::optional<std::string> stopped;
    bool finish = false;
    bool leave = false;
  };

  [[noreturn]] void raise() override;
  template <typename Change>
  void request(Change change);
  void run();
  bool round();
  void heard(int from, const ControlMessage& message, Nanoseconds now);
  void tell(const ControlMessage& message);
  void takeRequests(Nanoseconds now);
  void tellOthers(Nanoseconds now);
  void deliver(Nanoseconds now);

  const ControlOptions options_;
  const ControlLinks links_;
  const Nanoseconds beat_;
  RunEnd end_;
  OwnedFd wake_;
  std::mutex mutex_;
  Requests requests_;  // guarded by mutex_

  // The control thread owns these, once it runs.
  ControlPeers peers_;
  std::optional<ControlRelay> relay_;  // in a tree
  FailureAgreement agreement_;
  IdleWatch watch_;
  Nanoseconds lastRound_ = steadyTime();
  Nanoseconds nextBeat_ = lastRound_;
  bool isWaitedFor_ = false;  // some thread waits for the end of the run
  bool hasDelivered_ = false;
  bool hasLeft_ = false;
  std::thread thread_;
};

ControlMesh::ControlMesh(ControlOptions options, const MeshOptions& mesh, RunStart& start)
    : options_(std::move(options)),
      links_(linksOf(options_.rank, options_.worldSize, mesh.mostInMesh)),
      beat_(mesh.beat > 0   ? mesh.beat
            : links_.isTree ? kTreeBeat
                            : beatOf(options_.worldSize)),
      end_(options_),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      peers_(meetRanks({.rank = options_.rank,
                        .worldSize = options_.worldSize,
                        .neighbours = links_.neighbours,
                        .host = mesh.host,
                        .linkTimeout = mesh.linkTimeout},
                       start)),
      agreement_(options_.rank, options_.worldSize,
                 links_.isTree ? limitsInTree(beat_, links_.levels, options_.limits)
                               : limitsAt(beat_, options_.limits),
                 options_.words, steadyTime()),
      watch_(steadyTime()) {
  const Nanoseconds stepTimeout = options_.limits.stall.stepTimeout;
  if (stepTimeout > 0) watch_.countBytes(options_.bytesMoved, stepTimeout / 4);
  if (!wake_.isOpen()) throw Error("control connection: the system allows no more files");
  if (links_.isTree) {
    agreement_.isInTree(links_.neighbours);
    relay_.emplace(options_.rank, links_,
                   [this](int to, const ControlMessage& message) { peers_.send(to, message); });
  } else {
    agreement_.hostsAre(mesh.hosts);
  }
  thread_ = std::thread([this] { run(); });
}

ControlMesh::~ControlMesh() {
  end_.acknowledge();
  request([](Requests& r) { r.leave = true; });
  thread_.join();
}

template <typename Change>
void ControlMesh::request(Change change) {
  {
    const std::lock_guard lock(mutex_);
    change(requests_);
  }
  eventfd_write(wake_.get(), 1);
}

std::string ControlMesh::fail(const std::string& reason) {
  request([&](Requests& r) { r.failed = reason; });
  return end_.awaitFailure(reason);
}

void ControlMesh::whileEnding(const std::function<void()>& body) {
  end_.whileEnding(steadyTime(), body);
}

std::string ControlMesh::lostPeer(const std::string& reason) {
  request([&](Requests& r) { r.lostPeer = reason; });
  return end_.awaitFailure(reason);
}

void ControlMesh::stop(const std::string& reason) {
  request([&](Requests& r) { r.stopped = reason; });
}

void ControlMesh::finish() {
  request([](Requests& r) { r.finish = true; });
  end_.awaitFinish();
}

void ControlMesh::raise() { throw Error(end_.awaitFailure()); }

void ControlMesh::run() {
  while (round()) {
  }
  peers_.close(kLastWords);
}

// Whether there is another one.
bool ControlMesh::round() {
  const bool isAlert = agreement_.isAlarmed() || isWaitedFor_ || links_.isTree;
  Nanoseconds pause = std::max<Nanoseconds>(nextBeat_ - steadyTime(), 0);
  if (agreement_.isAlarmed()) pause = std::min(pause, kAlarmedRound);
  peers_.wait(wake_.get(), pause, isAlert);
  eventfd_t ignored = 0;
  eventfd_read(wake_.get(), &ignored);

  const Nanoseconds now = steadyTime();
  peers_.receive([&](int rank, const ControlMessage& m) { heard(rank, m, now); },
                 [&](int rank) { agreement_.closed(rank, now); });
  const Nanoseconds slept = now - lastRound_ - pause;
  if (slept > kLongPause) {
    agreement_.slept(slept, now);
    watch_.slept(slept, now);
  }
  lastRound_ = now;
  agreement_.own(watch_.look(progress_, now));
  takeRequests(now);
  agreement_.tick(now);
  tellOthers(now);
  deliver(now);
  return !hasLeft_;
}

void ControlMesh::heard(int from, const ControlMessage& message, Nanoseconds now) {
  if (!relay_) {
    agreement_.heard(from, message, now);
    return;
  }
  if (message.rank >= options_.worldSize) return;
  const int origin = relay_->passOn(from, message);
  if (origin >= 0) agreement_.heard(origin, message, now);
}

/// Tells all other ranks.
void ControlMesh::tell(const ControlMessage& message) {
  if (relay_) {
    relay_->tell(message);
  } else {
    peers_.broadcast(message, false);
  }
}

void ControlMesh::takeRequests(Nanoseconds now) {
  const std::lock_guard lock(mutex_);
  if (requests_.stopped) agreement_.stopped(*std::exchange(requests_.stopped, {}), now);
  if (requests_.failed) agreement_.failed(*std::exchange(requests_.failed, {}), now);
  if (requests_.lostPeer) agreement_.lostPeer(*std::exchange(requests_.lostPeer, {}), now);
  if (requests_.finish) agreement_.finish();
  isWaitedFor_ = requests_.finish || requests_.leave;
  if (!requests_.leave) return;
  const bool hasEnded = agreement_.verdict() || agreement_.isFinished();
  if (hasEnded) {
    hasLeft_ = true;
  } else {
    agreement_.failed("it ended its work without finishing the run", now);
  }
}

void ControlMesh::tellOthers(Nanoseconds now) {
  for (const ControlMessage& message : agreement_.takeMessages()) tell(message);
  if (now < nextBeat_) return;
  nextBeat_ = now + beat_;
  ControlMessage status;
  status.word = ControlWord::kStatus;
  status.status = agreement_.ownStatus();
  if (relay_) {
    relay_->beat(status);
  } else {
    peers_.broadcast(status, true);
  }
}

void ControlMesh::deliver(Nanoseconds now) {
  if (agreement_.verdict()) {
    if (!std::exchange(hasDelivered_, true)) {
      hasFailed_.store(true, std::memory_order_release);
      end_.fail(*agreement_.verdict(), agreement_.ownStatus(), now);
    }
    end_.exitIfStuck(now, watch_.longestJob());
  } else if (agreement_.isFinished() && !std::exchange(hasDelivered_, true)) {
    ControlMessage bye;
    bye.word = ControlWord::kBye;
    tell(bye);
    end_.finish();
  }
}

}  // namespace

std::unique_ptr<ControlChannel> connectControlMesh(ControlOptions options, const MeshOptions& mesh,
                                                   RunStart& start) {
  allowMoreFiles();
  return std::make_unique<ControlMesh>(std::move(options), mesh, start);
}

}  // namespace pipetrace
