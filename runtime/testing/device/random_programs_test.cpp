// Random programs of streams, events and host threads, beside a graph of what comes before what.
#include <ATen/ops/zeros.h>

#include <random>
#include <set>

#include "runtime/testing/device/test_programs.h"

namespace pipetrace {
namespace {

using testing::DeviceTest;
using testing::onTestDevice;
using testing::Worker;

constexpr int kStreams = 3;
constexpr int kEvents = 3;
constexpr int kTensors = 3;
constexpr int kElements = 4;
constexpr int kThreads = 2;
constexpr int kNone = -1;

/// The order of all operations, as a graph that is searched again for each question.
class Graph {
 public:
  int add(const std::vector<int>& predecessors) {
    predecessors_.push_back(predecessors);
    return static_cast<int>(predecessors_.size()) - 1;
  }
  bool comesBefore(int earlier, int later) const {
    if (later == kNone) return false;
    std::set<int> toVisit{later};
    while (!toVisit.empty() && *toVisit.rbegin() > earlier) {
      const int node = *toVisit.rbegin();
      toVisit.erase(node);
      const auto& before = predecessors_[static_cast<std::size_t>(node)];
      toVisit.insert(before.begin(), before.end());
    }
    return toVisit.count(earlier) > 0;
  }

 private:
  std::vector<std::vector<int>> predecessors_;
};

/// Does each action on the device and in the graph, and says what the graph finds. A quarter of the
/// programs always wait before they use or free memory, and others now and then. Some have two
/// host threads.
class Program {
 public:
  Program(const std::vector<c10::Stream>& streams, Worker& worker, unsigned seed)
      : random_(seed),
        care_(seed % 4),
        threads_(seed % 16 < 4 ? kThreads : 1),
        streams_(streams),
        worker_(worker) {
    for (int i = 0; i < kEvents; ++i) events_.emplace_back(c10::kPrivateUse1);
    for (int i = 0; i < kTensors; ++i) replace(0, i % kStreams, i);
    takeTestDeviceFindings();
  }

  /// Whether the graph finds a race in it.
  bool act() {
    const int thread = pick(threads_);
    const int stream = pick(kStreams);
    const int event = pick(kEvents);
    const int tensor = pick(kTensors);
    switch (pick(24)) {
      case 0:
        waitWithCare(thread, memory_[static_cast<std::size_t>(tensor)].home, event);
        return replace(thread, stream, tensor);
      case 1: return recordStream(thread, stream, tensor);
      case 2: return synchronize(thread, stream, kNone);
      case 3: return synchronize(thread, kNone, event);
      case 4: return threads_ > 1 && passToken(thread);
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
      case 10: return record(thread, stream, event);
      case 11:
      case 12:
      case 13:
      case 14:
      case 15:
      case 16: return wait(thread, stream, event);
      default: waitWithCare(thread, stream, event); return use(thread, stream, tensor);
    }
  }

 private:
  struct Uses {
    int write = kNone;
    int writer = kNone;
    std::vector<std::pair<int, int>> reads;  // node, stream
  };
  struct Memory {
    at::Tensor tensor;
    int home = kNone;
    std::set<int> recorded;
    std::array<Uses, kElements> elements;
  };

  static Uses& elementOf(Memory& memory, int index) {
    return memory.elements.at(static_cast<std::size_t>(index));
  }
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  void onThread(int thread, const std::function<void()>& task) {
    if (thread == 0) {
      task();
    } else {
      worker_.run(task);
    }
  }
  c10::Stream handle(int stream) const { return streams_[static_cast<std::size_t>(stream)]; }
  static int& at(std::vector<int>& nodes, int index) {
    return nodes[static_cast<std::size_t>(index)];
  }
  int addToStream(int thread, int stream, int other = kNone) {
    int& last = at(streamNodes_, stream);
    return last = graph_.add({last, at(threadNodes_, thread), other});
  }
  bool isRace(int earlier, int later) const {
    return earlier != kNone && !graph_.comesBefore(earlier, later);
  }

  bool record(int thread, int stream, int event) {
    onThread(thread, [&] { events_[static_cast<std::size_t>(event)].record(handle(stream)); });
    at(eventNodes_, event) = addToStream(thread, stream);
    return false;
  }
  bool wait(int thread, int stream, int event) {
    onThread(thread, [&] { events_[static_cast<std::size_t>(event)].block(handle(stream)); });
    // A wait for what was never recorded enqueues nothing.
    if (at(eventNodes_, event) != kNone) addToStream(thread, stream, at(eventNodes_, event));
    return false;
  }
  void waitWithCare(int thread, int stream, int event) {
    if (static_cast<unsigned>(pick(3)) >= care_) return;
    for (int other = 0; other < kStreams; ++other) {
      record(thread, other, event);
      wait(thread, stream, event);
    }
  }
  bool synchronize(int thread, int stream, int event) {
    if (pick(3) > 0) return false;  // else there is no race left
    onThread(thread, [&] {
      if (stream != kNone) {
        handle(stream).synchronize();
      } else {
        events_[static_cast<std::size_t>(event)].synchronize();
      }
    });
    int& last = at(threadNodes_, thread);
    last = graph_.add({last, stream != kNone ? at(streamNodes_, stream) : at(eventNodes_, event)});
    return false;
  }
  bool passToken(int thread) {
    HostToken token;
    onThread(thread, [&] { token = HostToken::release(); });
    onThread(1 - thread, [&] { token.acquire(); });
    int& last = at(threadNodes_, 1 - thread);
    last = graph_.add({last, at(threadNodes_, thread)});
    return false;
  }
  bool recordStream(int thread, int stream, int tensor) {
    Memory& memory = memory_[static_cast<std::size_t>(tensor)];
    onThread(thread, [&] { memory.tensor.record_stream(handle(stream)); });
    memory.recorded.insert(stream);
    return false;
  }

  /// Frees a tensor, and makes another one on a stream.
  bool replace(int thread, int stream, int tensor) {
    Memory& memory = memory_[static_cast<std::size_t>(tensor)];
    onThread(thread, [&] {
      memory.tensor = at::Tensor();
      const c10::StreamGuard guard(handle(stream));
      memory.tensor = at::zeros({kElements}, onTestDevice());
    });
    bool races = false;
    if (memory.home != kNone) {
      const int next = graph_.add({at(streamNodes_, memory.home), at(threadNodes_, thread)});
      const auto isLeft = [&](int node, int by) {
        return by != memory.home && memory.recorded.count(by) == 0 && isRace(node, next);
      };
      for (const Uses& uses : memory.elements) {
        races = races || isLeft(uses.write, uses.writer);
        for (const auto& [node, by] : uses.reads) races = races || isLeft(node, by);
      }
    }
    const int node = addToStream(thread, stream);
    memory.home = stream;
    memory.recorded.clear();
    for (Uses& uses : memory.elements) uses = {.write = node, .writer = stream};
    return races;
  }

  /// Adds a part of a tensor to a part of another one.
  bool use(int thread, int stream, int tensor) {
    const int from = pick(kTensors);
    const int length = 1 + pick(2);
    const int target = pick(kElements - length + 1);
    const int source = pick(kElements - length + 1);
    Memory& to = memory_[static_cast<std::size_t>(tensor)];
    Memory& other = memory_[static_cast<std::size_t>(from)];
    onThread(thread, [&] {
      const c10::StreamGuard guard(handle(stream));
      at::Tensor part = to.tensor.narrow(0, target, length);
      if (from == tensor) {
        part.mul_(2);
      } else {
        part.add_(other.tensor.narrow(0, source, length));
      }
    });
    const int node = addToStream(thread, stream);
    bool races = false;
    for (int i = 0; i < length; ++i) {
      Uses& written = elementOf(to, target + i);
      races = races || isRace(written.write, node);
      for (const auto& [read, by] : written.reads) races = races || isRace(read, node);
      if (from == tensor) continue;
      Uses& read = elementOf(other, source + i);
      races = races || isRace(read.write, node);
      read.reads.emplace_back(node, stream);
    }
    for (int i = 0; i < length; ++i) {
      elementOf(to, target + i) = {.write = node, .writer = stream};
    }
    return races;
  }

  std::mt19937 random_;
  const unsigned care_;
  const int threads_;
  const std::vector<c10::Stream>& streams_;
  Worker& worker_;
  std::vector<c10::Event> events_;
  std::array<Memory, kTensors> memory_;
  Graph graph_;
  std::vector<int> streamNodes_ = std::vector<int>(kStreams, kNone);
  std::vector<int> eventNodes_ = std::vector<int>(kEvents, kNone);
  std::vector<int> threadNodes_ = std::vector<int>(kThreads, kNone);
};

class RandomProgramsTest : public DeviceTest {};

TEST_F(RandomProgramsTest, RacesAreThoseOfTheGraph) {
  std::vector<c10::Stream> streams;
  streams.reserve(kStreams);
  for (int i = 0; i < kStreams; ++i) streams.push_back(nextDeviceStream());
  Worker worker;
  int racy = 0;
  constexpr int kPrograms = 4000;
  for (int seed = 0; seed < kPrograms; ++seed) {
    resetTestDevice();
    Program program(streams, worker, static_cast<unsigned>(seed));
    for (int i = 0; i < 40; ++i) {
      const bool isExpected = program.act();
      const auto findings = takeTestDeviceFindings();
      const bool isFound = !findings.empty();
      ASSERT_EQ(isFound, isExpected) << "program " << seed << ", action " << i << "\n"
                                     << ::testing::PrintToString(findings);
      if (!isFound) continue;
      ++racy;
      break;
    }
  }
  EXPECT_GT(racy, kPrograms / 2);
  EXPECT_LT(racy, kPrograms * 3 / 4 + 1);
}

}  // namespace
}  // namespace pipetrace
