// Ranks that pass a token around, for tests of the control channel between processes.
//
//   control_ring FOLDER RANK RANKS [--actions N] [--work-us N] [--slow RANK:US] [--timeout-ms N]
//     [--silence-ms N] [--mispair RANK:ACTION] [--stall RANK:ACTION] [--throw RANK:ACTION]
//     [--leave RANK:ACTION] [--exit RANK:ACTION] [--mesh-ranks N] [--apart 1]
//
// Prints "ok" and exits with 0, or the text of the failure and exits with 3. A rank that stalls is
// ended by its control thread, after which standard output holds "flushed: " and the text. With
// --apart there is no ring, and no rank waits for another.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "runtime/control/control_mesh.h"
#include "runtime/control/control_socket.h"
#include "runtime/control/testing/file_key_value.h"
#include "trace/error.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

struct Arguments {
  std::string folder;
  int rank = 0;
  int ranks = 1;
  std::map<std::string, std::string> options;

  long number(const std::string& name, long otherwise) const {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : std::atol(found->second.c_str());
  }
  // The number after "RANK:" if the option names this rank; else -1.
  long mine(const std::string& name) const {
    const auto found = options.find(name);
    if (found == options.end() || std::atoi(found->second.c_str()) != rank) return -1;
    return std::atol(found->second.substr(found->second.find(':') + 1).c_str());
  }
};

// Thrown where the connection for the token breaks.
struct BrokenRing {
  std::string text;
};

// A token comes from the rank before and goes to the rank after.
class Ring {
 public:
  Ring(const Arguments& a, KeyValue& store) {
    if (a.ranks == 1 || a.number("--apart", 0) != 0) return;
    const OwnedFd listener = listenAt("127.0.0.1");
    store.set("ring/" + std::to_string(a.rank), std::to_string(portOf(listener)));
    const int after = (a.rank + 1) % a.ranks;
    const int port = std::stoi(store.get("ring/" + std::to_string(after), 20 * kNsPerSecond));
    to_ = connectTo("127.0.0.1", port, 20 * kNsPerSecond);
    while (!from_.isOpen()) from_ = acceptFrom(listener);
  }

  void pass() {
    if (to_.isOpen() && send(to_.get(), "t", 1, MSG_NOSIGNAL) != 1) {
      throw BrokenRing{"the rank after hung up"};
    }
  }
  void await() {
    if (!from_.isOpen()) return;
    pollfd waiting{.fd = from_.get(), .events = POLLIN, .revents = 0};
    poll(&waiting, 1, -1);
    char token = 0;
    if (recv(from_.get(), &token, 1, 0) != 1) throw BrokenRing{"the rank before hung up"};
  }
  // Wakes await(), from another thread.
  void abort() {
    if (from_.isOpen()) shutdown(from_.get(), SHUT_RDWR);
  }

 private:
  OwnedFd from_;
  OwnedFd to_;
};

bool passesIn(int rank, std::int64_t action) { return (action % 2 == 0) == (rank == 0); }

void sleepFor(long microseconds) {
  if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

// Each round has two actions. Rank 0 passes the token on and awaits it; the others await it first.
void runActions(const Arguments& a, ControlChannel& control, Ring& ring) {
  const long work = a.mine("--slow") >= 0 ? a.mine("--slow") : a.number("--work-us", 200);
  const int before = (a.rank + a.ranks - 1) % a.ranks;
  const auto await = [&](long round) {
    control.waitingFor(before, static_cast<std::uint64_t>(round));
    ring.await();
    control.waited();
  };
  for (long k = 0; k < 2 * a.number("--actions", 50); ++k) {
    control.begin(k);
    if (a.mine("--mispair") == k) await(k / 2 + 1);  // one token too many
    if (a.mine("--stall") == k) sleepFor(1'000'000'000);
    if (a.mine("--throw") == k) throw Error("the matrix has no inverse");
    if (a.mine("--exit") == k) _exit(1);
    if (a.mine("--leave") == k) return;
    if (passesIn(a.rank, k)) {
      sleepFor(work);
      ring.pass();
    } else {
      await(k / 2);
    }
    control.ended();
    control.check();
  }
  control.finish();
}

ControlOptions optionsOf(const Arguments& a, Ring& ring) {
  ControlOptions options;
  options.rank = a.rank;
  options.worldSize = a.ranks;
  options.limits.stall.stepTimeout = a.number("--timeout-ms", 0) * kNsPerMs;
  options.limits.silence = a.number("--silence-ms", 8000) * kNsPerMs;
  options.exitDelay = kNsPerSecond / 2;
  options.words.action = [](int rank, const ActionStatus& status) {
    const std::int64_t action = status.action;
    return std::to_string(rank) + (passesIn(rank, action) ? "S" : "R") + std::to_string(action / 2);
  };
  options.words.message = [](int, const ActionStatus& waiting) {
    return "token " + std::to_string(waiting.awaited.number);
  };
  options.words.isExpected = [](int rank, const ActionStatus& waiting) {
    return !passesIn(rank, waiting.action) &&
           waiting.action / 2 == static_cast<std::int64_t>(waiting.awaited.number);
  };
  options.words.isStillSent = [](int, const ActionStatus& waiting, const ActionStatus& sender) {
    return sender.ended < 2 * waiting.awaited.number + 2;
  };
  options.onFailure = [&ring](const FailureCause&, const std::string&) { ring.abort(); };
  options.beforeExit = [](const std::string& text) {
    std::cout << "flushed: " << text << std::endl;
  };
  return options;
}

int run(const Arguments& a) {
  testing::FileKeyValue store(a.folder);
  Ring ring(a, store);
  std::unique_ptr<ControlChannel> control;
  std::string text;
  try {
    RunStart start(store, a.rank, a.ranks, 60 * kNsPerSecond);
    MeshOptions mesh;
    mesh.mostInMesh = static_cast<int>(a.number("--mesh-ranks", mesh.mostInMesh));
    control = connectControlMesh(optionsOf(a, ring), mesh, start);
    std::cout << "connected" << std::endl;
    runActions(a, *control, ring);
    if (a.mine("--leave") < 0) {
      std::cout << "ok" << std::endl;
      return 0;
    }
  } catch (const BrokenRing& broken) {
    text = control->lostPeer(broken.text);
  } catch (const Error& e) {
    text = control ? control->fail(e.what()) : e.what();
  }
  std::cout << text << std::endl;
  return 3;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  pipetrace::Arguments a;
  a.folder = argv[1];
  a.rank = std::atoi(argv[2]);
  a.ranks = std::atoi(argv[3]);
  for (int i = 4; i + 1 < argc; i += 2) a.options[argv[i]] = argv[i + 1];
  return pipetrace::run(a);
}
