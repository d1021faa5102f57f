#include "runtime/testing/device/actors.h"

#include <utility>

#include "runtime/testing/device/device_state.h"

namespace pipetrace::test_device {
namespace {

std::string nameOfStream(c10::Stream stream) {
  const std::string device = "test:" + std::to_string(stream.device_index());
  if (stream.id() == 0) return device + " default stream";
  return device + " stream " + std::to_string(stream.id());
}

}  // namespace

int Actors::add(std::string name) {
  actors_.push_back({.name = std::move(name)});
  return static_cast<int>(actors_.size()) - 1;
}

int Actors::of(c10::Stream stream) {
  const auto [it, isNew] = streams_.try_emplace({stream.device_index(), stream.id()}, kNobody);
  if (isNew) it->second = add(nameOfStream(stream));
  return it->second;
}

int Actors::ofThisThread() {
  ThisThread& thread = thisThread();
  if (thread.generation != generation_) {
    thread.generation = generation_;
    thread.actor = add("host thread " + std::to_string(++threads_));
    actor_(thread.actor).thread = std::this_thread::get_id();
  }
  return thread.actor;
}

VectorClock Actors::knownByDevice(c10::DeviceIndex device) const {
  VectorClock all;
  for (const auto& [stream, actor] : streams_) {
    if (stream.first == device) all.join(knownBy(actor));
  }
  return all;
}

const VectorClock& Actors::order(int stream) {
  VectorClock& known = actor_(stream).known;
  known.join(knownBy(ofThisThread()));
  return known;
}

Operation Actors::enqueue(int stream, const std::string& name) {
  order(stream);
  const std::uint64_t epoch = actor_(stream).known.tick(stream);
  actor_(ofThisThread()).enqueued.join(stream, epoch);
  return {stream, epoch, &name, thisThread().label};
}

Operation Actors::doOnHost(const std::string& name) {
  const int host = ofThisThread();
  return {host, actor_(host).known.tick(host), &name, thisThread().label};
}

void Actors::pretendWait(int actor, const Operation& other) {
  const std::uint64_t enqueued = actor_(ofThisThread()).enqueued.at(other.actor);
  actor_(actor).known.join(other.actor, std::max(other.epoch, enqueued));
}

Actors::Knowledge Actors::knowledgeOfThisThread() {
  const Actor& thread = actor_(ofThisThread());
  return {thread.known, thread.enqueued};
}

HostWaits Actors::waits(const std::thread::id* thread) const {
  HostWaits sum;
  for (const Actor& actor : actors_) {
    if (thread != nullptr && actor.thread != *thread) continue;
    sum.events += actor.waits.events;
    sum.streams += actor.waits.streams;
    sum.devices += actor.waits.devices;
    sum.copies += actor.waits.copies;
  }
  return sum;
}

void Actors::forgetWaits() {
  for (Actor& actor : actors_) actor.waits = {};
}

void Actors::forgetAll() {
  actors_.clear();
  streams_.clear();
  threads_ = 0;
  ++generation_;
}

}  // namespace pipetrace::test_device
