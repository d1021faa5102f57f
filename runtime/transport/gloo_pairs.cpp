#include "runtime/transport/gloo_pairs.h"

#include <ATen/ops/zeros.h>
#include <arpa/inet.h>
#include <gloo/context.h>
#include <gloo/transport/address.h>
#include <gloo/transport/pair.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/control/steady_time.h"
#include "runtime/lanes/lane.h"
#include "runtime/transport/gloo_lanes.h"
#include "trace/sockets/process_sockets.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

constexpr int kLongestPauseMs = 50;

std::string groupKeyOf(int rank) { return "gloo/" + std::to_string(rank); }
std::string groupKeyOf(int rank, int peer) { return groupKeyOf(rank) + "-" + std::to_string(peer); }

/// The threads of this process.
std::set<int> threadsNow() {
  std::set<int> threads;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    threads.insert(std::atoi(entry.path().filename().c_str()));
  }
  return threads;
}

/// Has the threads that `start` begins wait for their turn when they wake up. Gloo's thread would
/// else interrupt the one that is just sending, and then ask again and again, for as long as the
/// scheduler lets it, whether that is done.
template <typename Start>
auto patient(const Start& start) {
  const std::set<int> before = threadsNow();
  auto result = start();
  for (const int thread : threadsNow()) {
    if (before.contains(thread)) continue;
    const sched_param parameters{};
    sched_setscheduler(thread, SCHED_BATCH, &parameters);  // it may be refused
  }
  return result;
}

}  // namespace

LazyGroup::LazyGroup(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                     const c10::intrusive_ptr<Options>& options)
    : ProcessGroupGloo(store, rank, size, options) {}

void LazyGroup::beginToConnect(int peer) {
  for (const auto& context : contexts_) context->getPair(peer);
}

std::string LazyGroup::ownAddress(int peer) {
  return contexts_.front()->getPair(peer)->address().str();
}

void LazyGroup::disconnect(int peer) {
  try {
    // Posting a receive waits until the connection is there, for the group's first timeout. Before,
    // Gloo's thread may still want to set it up.
    std::vector<at::Tensor> word{at::zeros({1}, at::kByte)};
    recv(word, peer, kEndTag);
    for (const auto& context : contexts_) context->getPair(peer).reset();
  } catch (const std::exception&) {
    // It has ended already.
  }
}

GlooPairs::GlooPairs(c10::intrusive_ptr<LazyGroup> group, std::shared_ptr<KeyValue> store,
                     Nanoseconds timeout, std::set<int> newPorts)
    : group_(std::move(group)),
      store_(std::move(store)),
      timeout_(timeout),
      traffic_(std::move(newPorts)),
      hasBegun_(static_cast<std::size_t>(group_->getSize())) {
  store_->set(groupKeyOf(group_->getRank()), "is there");
}

GlooPairs::~GlooPairs() {
  for (const int peer : open_) {
    if (hasBegun_[static_cast<std::size_t>(peer)]) group_->disconnect(peer);
  }
}

void GlooPairs::open(int peer, const Check& check) {
  if (!open_.insert(peer).second) return;
  awaitWord(groupKeyOf(peer), peer, check);
  group_->beginToConnect(peer);
  traffic_.deviceIsAt(group_->ownAddress(peer));
  store_->set(groupKeyOf(group_->getRank(), peer), "has begun " + traffic_.ownPort());
}

void GlooPairs::await(int peer, const Check& check) {
  std::atomic<bool>& hasBegun = hasBegun_[static_cast<std::size_t>(peer)];
  if (hasBegun.load(std::memory_order_acquire)) return;
  const std::string word = groupKeyOf(peer, group_->getRank());
  awaitWord(word, peer, check);
  const std::string text = store_->get(word, timeout_);
  traffic_.meet(text.substr(text.rfind(' ') + 1));
  hasBegun.store(true, std::memory_order_release);
}

void GlooPairs::awaitWord(const std::string& key, int peer, const Check& check) const {
  const Nanoseconds end = steadyTime() + timeout_;
  for (int pause = 1; !store_->has(key); pause = std::min(2 * pause, kLongestPauseMs)) {
    check();
    if (steadyTime() > end) {
      throw PeerLost("rank " + std::to_string(peer) + " has not connected within " +
                     formatDuration(timeout_));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
}

void GlooTraffic::deviceIsAt(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return;
  const auto port = static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1));
  const std::lock_guard lock(mutex_);
  // Gloo writes the port as it stands in the socket's address, in network order.
  for (const int known : {int{ntohs(port)}, int{port}}) {
    if (own_ == 0 && new_.contains(known)) own_ = known;
  }
}

std::string GlooTraffic::ownPort() const {
  const std::lock_guard lock(mutex_);
  return own_ == 0 ? "" : std::to_string(own_);
}

void GlooTraffic::meet(const std::string& itsPort) {
  const int port = std::atoi(itsPort.c_str());
  const std::lock_guard lock(mutex_);
  if (port != 0) others_.insert(port);
}

// The side that has connected took any port of its own.
std::uint64_t GlooTraffic::bytesMoved() const {
  const std::lock_guard lock(mutex_);
  return pipetrace::bytesMoved(
      [&](int ownPort, int otherPort) { return ownPort == own_ || others_.contains(otherPort); });
}

GlooDevice makeGlooDevice(const std::string& address) {
  const bool isLazy = true;
  const std::set<int> before = listeningPorts();
  GlooDevice made;
  made.device =
      patient([&] { return c10d::ProcessGroupGloo::createDeviceForHostname(address, isLazy); });
  for (const int port : listeningPorts()) {
    if (!before.contains(port)) made.newPorts.insert(port);
  }
  return made;
}

}  // namespace pipetrace
