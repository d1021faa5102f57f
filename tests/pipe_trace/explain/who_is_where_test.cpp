// Which rank is where: from groups, from messages, from names of files. Each run is made up here,
// so that its arrangement is known.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "tests/pipe_trace/explain/slow_run_fixture.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

enum class Naming { kTorch, kMegatron, kNone };

/// A run of PyTorch's profiler: ranks are counted along tp first, then dp, then pp.
struct Arrangement {
  int pp = 2;
  int dp = 2;
  int tp = 2;
  Naming naming = Naming::kTorch;
  bool hasInfo = true;  ///< `distributedInfo`
  std::vector<int> withoutFile{};

  int ranks() const { return pp * dp * tp; }
};

class WhoIsWhere : public SlowRuns {
 protected:
  static double micros(Nanoseconds time) { return static_cast<double>(time) / 1000.0; }

  /// The trace of a rank of that arrangement, as the files of a folder: `gpt-<rank>.json`.
  class RankTrace {
   public:
    RankTrace(const Arrangement& shape, int rank) : shape_(shape), rank_(rank) {
      stage_ = rank / (shape.dp * shape.tp);
    }

    std::string text(const Simulation& run) {
      std::vector<std::pair<const Event*, std::string_view>> all;
      for (const Track& track : run.timeline.tracks) {
        if (track.rank != stage_) continue;
        for (const Event& event : track.events) {
          if (isCompute(event.kind) || isTransfer(event.kind)) all.emplace_back(&event, track.lane);
        }
      }
      std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.first->begin < b.first->begin;
      });
      addProcesses();
      for (const auto& [event, lane] : all) {
        launch_ = std::max(launch_ + 200 * kNsPerUs, kBegin + event->begin - 5 * kNsPerMs);
        isCompute(event->kind) ? addJob(*event) : addMessage(*event);
      }
      json trace = {
          {"schemaVersion", 1}, {"deviceProperties", json::array()}, {"traceEvents", events_}};
      if (shape_.hasInfo) {
        trace["distributedInfo"] = {{"backend", "nccl"},
                                    {"rank", rank_},
                                    {"world_size", shape_.ranks()},
                                    {"pg_config", groups()}};
      }
      return trace.dump();
    }

   private:
    static constexpr Nanoseconds kBegin = 1'000 * kNsPerSecond;

    /// The ranks with this one's numbers but for one axis, along which a step is `stride` ranks.
    std::vector<int> along(int size, int stride) const {
      const int own = rank_ / stride % size;
      std::vector<int> ranks;
      for (int i = 0; i < size; ++i) ranks.push_back(rank_ + (i - own) * stride);
      return ranks;
    }
    std::vector<int> pipeline() const { return along(shape_.pp, shape_.dp * shape_.tp); }
    std::vector<int> peers() const { return along(shape_.tp, 1); }
    std::vector<int> replicas() const { return along(shape_.dp, shape_.tp); }

    const char* name(const char* torch, const char* megatron) const {
      if (shape_.naming == Naming::kNone) return "undefined";
      return shape_.naming == Naming::kTorch ? torch : megatron;
    }
    const char* pipelineName() const { return name("mesh_pp", "PIPELINE_MODEL_PARALLEL_GROUP"); }
    const char* peersName() const { return name("mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP"); }

    json groups() const {
      json list = json::array();
      const auto add = [&](const char* purpose, const std::vector<int>& ranks) {
        list.push_back({{"pg_name", std::to_string(list.size())},
                        {"pg_desc", purpose},
                        {"pg_size", ranks.size()},
                        {"ranks", ranks}});
      };
      std::vector<int> world;
      for (int i = 0; i < shape_.ranks(); ++i) world.push_back(i);
      add("default_pg", world);
      if (shape_.naming == Naming::kMegatron) {
        add("MODEL_PARALLEL_GROUP", world);
        add("DATA_PARALLEL_GROUP_WITH_CP_GLOO", replicas());
      }
      add(name("mesh_dp_shard", "DATA_PARALLEL_GROUP"), replicas());
      add(pipelineName(), pipeline());
      add(peersName(), peers());
      return list;
    }

    json& add(const char* category, const std::string& name, int pid, int tid, Nanoseconds begin,
              Nanoseconds length, json args) {
      events_.push_back({{"ph", "X"},
                         {"cat", category},
                         {"name", name},
                         {"pid", pid},
                         {"tid", tid},
                         {"ts", micros(begin)},
                         {"dur", micros(length)},
                         {"args", std::move(args)}});
      return events_.back();
    }

    int host() const { return 1000 + rank_; }

    void addProcesses() {
      for (const auto& [pid, label] : {std::pair(host(), std::string("CPU")),
                                       std::pair(rank_, "GPU " + std::to_string(rank_))}) {
        events_.push_back({{"ph", "M"},
                           {"name", "process_labels"},
                           {"pid", pid},
                           {"tid", 0},
                           {"ts", 0},
                           {"args", {{"labels", label}}}});
      }
    }

    static std::string listText(const std::vector<int>& ranks) { return json(ranks).dump(); }

    void addKernel(const std::string& name, Nanoseconds at, int stream, const Event& event) {
      ++kernel_;
      add("cuda_runtime", "cudaLaunchKernel", host(), host(), at, 5 * kNsPerUs,
          {{"correlation", kernel_}});
      add("kernel", name, rank_, stream, kBegin + event.begin, event.duration(),
          {{"correlation", kernel_}, {"stream", stream}, {"device", rank_}});
    }

    void addJob(const Event& job) {
      const bool isForward = job.kind == JobKind::kForward;
      add("user_annotation",
          "PP:" + std::to_string(stage_) + (isForward ? "F" : "B") + std::to_string(job.microBatch),
          host(), host(), launch_, 100 * kNsPerUs, json::object());
      addKernel("gemm", launch_ + 10 * kNsPerUs, 7, job);
      if (shape_.tp < 2) return;
      add("cpu_op", "record_param_comms", host(), host(), launch_ + 40 * kNsPerUs, 10 * kNsPerUs,
          {{"Collective name", "allreduce"},
           {"Process Group Name", "t"},
           {"Process Group Description", peersName()},
           {"Process Group Ranks", listText(peers())}});
    }

    /// The kernel names neither group nor peer, as those of batch_isend_irecv do not.
    void addMessage(const Event& message) {
      const std::vector<int> ranks = pipeline();
      const int peer = ranks[static_cast<std::size_t>(message.peer)];
      add("cpu_op", "record_param_comms", host(), host(), launch_, 50 * kNsPerUs,
          {{"Collective name", isSend(message.kind) ? "send" : "recv"},
           {"Process Group Name", "p"},
           {"Process Group Description", pipelineName()},
           {"Process Group Ranks", listText(ranks)},
           {"Src Rank", isSend(message.kind) ? rank_ : peer},
           {"Dst Rank", isSend(message.kind) ? peer : rank_}});
      addKernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", launch_ + 10 * kNsPerUs,
                isSend(message.kind) ? 30 : 31, message);
    }

    const Arrangement& shape_;
    int rank_ = 0;
    int stage_ = 0;
    int kernel_ = 0;
    Nanoseconds launch_ = 0;
    json events_ = json::array();
  };

  static Simulation runOf(int pp) {
    Costs costs = Costs::equal(pp, {10 * kNsPerMs, 20 * kNsPerMs});
    costs.transfer = kNsPerMs / 10;
    return simulate(buildSchedule("1F1B", pp, 8), costs, {.steps = 2, .stepsStartTogether = true});
  }

  /// Writes the traces of a run; returns their folder.
  std::string traces(const Arrangement& shape) const {
    std::filesystem::remove_all(path("traces"));
    std::filesystem::create_directories(path("traces"));
    const Simulation run = runOf(shape.pp);
    for (int rank = 0; rank < shape.ranks(); ++rank) {
      const auto& without = shape.withoutFile;
      if (std::find(without.begin(), without.end(), rank) != without.end()) continue;
      write("traces/gpt-" + std::to_string(rank) + ".json", RankTrace(shape, rank).text(run));
    }
    return path("traces");
  }

  static json summaryOf(std::vector<std::string> inputs) {
    inputs.emplace_back("--json");
    const ProgramRun result = run(std::move(inputs));
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return json::parse(result.out);
  }

  static json topologyOf(const std::vector<std::string>& inputs) {
    return jsonOf("info", inputs)["topology"];
  }
};

TEST_F(WhoIsWhere, GroupsSayItWithoutOptions) {
  const json expected = {{"pp", 2}, {"dp", 2}, {"tp", 2}, {"vpp", 1}};
  for (const Naming naming : {Naming::kTorch, Naming::kMegatron, Naming::kNone}) {
    const std::string folder = traces({.naming = naming});
    EXPECT_EQ(topologyOf({folder}), expected) << static_cast<int>(naming);
    const ProgramRun report = ask("report", {folder});
    EXPECT_EQ(report.exitCode, 0) << report.err;
    EXPECT_THAT(report.out + report.err, Not(HasSubstr("pipelines, the first of")));
    EXPECT_THAT(report.out, Not(HasSubstr("doubt")));
    const json figures = summaryOf({folder});
    // 1F1B of 2 ranks, 8 micro-batches: 8 * 30 + 30, and 2 messages of 0.1 on the way.
    EXPECT_NEAR(double(figures["bubble_ratio"]), 1 - 240 / 270.4, 0.002);
  }
}

TEST_F(WhoIsWhere, RanksWithoutAFileKeepTheirPlaces) {
  const std::string folder = traces({.withoutFile = {3, 4}});
  const json topology = topologyOf({folder});
  EXPECT_EQ(topology["pp"], 2);
  EXPECT_EQ(topology["tp"], 2);
  EXPECT_EQ(topology["dp"], 2);
  EXPECT_THAT(ask("report", {folder}).err, HasSubstr("ranks 3 and 4 are missing"));
}

TEST_F(WhoIsWhere, OptionsThatContradictGroupsAreAnErrorThatNamesBoth) {
  const std::string folder = traces({});
  expectError(ask("report", {folder, "--pp", "4"}), "--pp 4 contradicts the groups of ranks",
              "which say 2");
  expectError(ask("report", {folder, "--tp", "4"}), "--tp 4", "which say 2");
  EXPECT_EQ(ask("report", {folder, "--pp", "2", "--dp", "2", "--tp", "2"}).exitCode, 0);
}

TEST_F(WhoIsWhere, AProfileKeepsIt) {
  const std::string folder = traces({});
  ASSERT_EQ(run({folder, "-o", path("p.json")}).exitCode, 0);
  EXPECT_EQ(topologyOf({path("p.json")}), topologyOf({folder}));
  EXPECT_EQ(summaryOf({path("p.json")})["bubble_ratio"], summaryOf({folder})["bubble_ratio"]);
}

TEST_F(WhoIsWhere, NumbersInNamesCountAndNotTheOrderOfAGlob) {
  const std::string folder = traces({.pp = 12, .dp = 1, .tp = 1, .hasInfo = false});
  std::vector<std::string> glob;  // as a shell sorts names: gpt-10 comes before gpt-2
  for (int rank = 0; rank < 12; ++rank) {
    glob.push_back(folder + "/gpt-" + std::to_string(rank) + ".json");
  }
  std::sort(glob.begin(), glob.end());
  const json byGlob = summaryOf(glob);
  const json byFolder = summaryOf({folder});
  EXPECT_EQ(byGlob["trust"], json::array());
  EXPECT_EQ(byGlob["bubble_ratio"], byFolder["bubble_ratio"]);
  EXPECT_EQ(byGlob["ranks"], byFolder["ranks"]);
}

TEST_F(WhoIsWhere, NumbersThatMessagesContradictAreADoubt) {
  const std::string folder = traces({.pp = 4, .dp = 1, .tp = 1, .hasInfo = false});
  std::filesystem::rename(folder + "/gpt-0.json", folder + "/x");
  std::filesystem::rename(folder + "/gpt-2.json", folder + "/gpt-0.json");
  std::filesystem::rename(folder + "/x", folder + "/gpt-2.json");
  const json report = jsonOf("report", {folder});
  ASSERT_FALSE(report["trust"].empty());
  const auto& trust = report["trust"];
  EXPECT_TRUE(std::any_of(trust.begin(), trust.end(), [](const json& doubt) {
    return doubt["kind"] == "ranks_contradict";
  })) << trust;
  expectValid(report.dump(), "report.schema.json");
}

TEST_F(WhoIsWhere, FilesThatNothingNumbersAreRefused) {
  const std::string folder = traces({.pp = 2, .dp = 1, .tp = 1, .hasInfo = false});
  std::filesystem::rename(folder + "/gpt-0.json", folder + "/a.json");
  std::filesystem::rename(folder + "/gpt-1.json", folder + "/b.json");
  expectError(ask("report", {folder}), "nothing says which ranks", "rank0.json and rank1.json");
}

/// Traces with known arrangements. They are no part of the repository.
class SharedHybrids : public WhoIsWhere {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(shared(""))) GTEST_SKIP() << "there is no " << shared("");
  }
  static std::string shared(const std::string& name) {
    return test::inSources("../shared/data/") + name;
  }
};

TEST_F(SharedHybrids, AreArrangedAsTheirGroupsSay) {
  const auto shape = [](int pp, int dp, int tp, int vpp = 1) {
    json topology = {{"pp", pp}, {"dp", dp}};
    topology["vpp"] = vpp > 0 ? json(vpp) : json();  // 0: jobs name no stages
    if (tp > 1) topology["tp"] = tp;
    return topology;
  };
  const std::pair<const char*, json> known[] = {
      {"hybrid/clean", shape(2, 2, 2)},
      {"hybrid/gloo_slow_rank_1", shape(2, 1, 2, 0)},
      {"hybrid/fsdp", shape(2, 4, 1)},
      {"hybrid/moe", shape(2, 1, 4)},
      {"hybrid/slow_peer", shape(4, 1, 4)},
      {"hybrid/slow_peer_bare", shape(4, 1, 4)},
      {"real_hybrid/m_tp_slow1", shape(2, 1, 2)},
      {"real_hybrid/t_fsdp", shape(2, 2, 1)},
      {"real_hybrid/t_itp", shape(2, 1, 2, 2)},
      {"real_hybrid/t_tp_slowrank1", shape(2, 1, 2)},
  };
  for (const auto& [folder, topology] : known) {
    if (!std::filesystem::exists(shared(folder))) continue;
    EXPECT_EQ(topologyOf({shared(folder)}), topology) << folder;
  }
}

TEST_F(SharedHybrids, NoLinkIsBlamedBetweenRanksThatDoNotTalk) {
  const ProgramRun report = ask("report", {shared("hybrid/gloo_slow_rank_1")});
  EXPECT_EQ(report.exitCode, 0) << report.err;
  EXPECT_THAT(report.out, AllOf(Not(HasSubstr("between ranks 2 and 3")),
                                Not(HasSubstr("between ranks 0 and 1"))));
}

}  // namespace
}  // namespace pipetrace
