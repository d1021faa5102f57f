#include "parser/profile/arrow.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <tuple>

#include "parser/testing/timelines.h"
#include "trace/text/display_name.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Event& add(Timeline& t, int rank, const char* lane, JobKind kind, int begin, int end, int mb = 0,
           int step = 0) {
  Event& e = t.track(rank, lane).events.emplace_back();
  e.kind = kind;
  e.begin = begin;
  e.end = end;
  e.microBatch = mb;
  e.step = step;
  e.stage = rank;
  return e;
}

/// "0 forward 0 -> 0 send_forward 0": rank and name at both ends.
std::vector<std::string> arrows(Timeline& t) {
  t.sort();
  const auto text = [&](Arrow::Slice s) {
    const Track& track = t.tracks[s.track];
    return std::to_string(track.rank) + " " + displayName(t, track.events[s.event]);
  };
  std::vector<std::string> list;
  for (const Arrow& arrow : findMicroBatchArrows(t)) {
    EXPECT_GT(t.tracks[arrow.to.track].events[arrow.to.event].begin,
              t.tracks[arrow.from.track].events[arrow.from.event].begin);
    list.push_back(text(arrow.from) + " -> " + text(arrow.to));
  }
  return list;
}

TEST(MicroBatchArrowsTest, AMicroBatchGoesForwardThroughTheStagesAndBack) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 0, 10);
  add(t, 0, "send", JobKind::kSendForward, 10, 13);
  add(t, 1, "recv", JobKind::kRecvForward, 11, 13);
  add(t, 1, "compute", JobKind::kForward, 13, 22);
  add(t, 1, "compute", JobKind::kBackward, 22, 42);
  add(t, 1, "send", JobKind::kSendBackward, 42, 44);
  add(t, 0, "compute", JobKind::kBackward, 44, 64);
  EXPECT_THAT(
      arrows(t),
      ElementsAre("0 forward 0 -> 0 send_forward 0", "0 send_forward 0 -> 1 recv_forward 0",
                  "1 recv_forward 0 -> 1 forward 0", "1 forward 0 -> 1 backward 0",
                  "1 backward 0 -> 1 send_backward 0", "1 send_backward 0 -> 0 backward 0"));
}

TEST(MicroBatchArrowsTest, AReceiveThatWasPostedEarlyIsNoLink) {
  Timeline t;
  add(t, 1, "recv", JobKind::kRecvForward, 1, 12);
  add(t, 0, "compute", JobKind::kForward, 0, 10);
  add(t, 0, "send", JobKind::kSendForward, 10, 12);
  add(t, 1, "compute", JobKind::kForward, 12, 22);
  EXPECT_THAT(arrows(t),
              ElementsAre("0 forward 0 -> 0 send_forward 0", "0 send_forward 0 -> 1 forward 0"));
}

TEST(MicroBatchArrowsTest, StepsMicroBatchesAndReplicasAreChainsOfTheirOwn) {
  Timeline t;
  for (int rank = 0; rank < 4; ++rank) {
    t.ranks[rank].dataParallelIndex = rank / 2;
    for (int step = 0; step < 2; ++step) {
      for (int mb = 0; mb < 2; ++mb) {
        const int begin = step * 100 + mb * 10 + rank * 20;
        add(t, rank, "compute", JobKind::kForward, begin, begin + 10, mb, step);
      }
    }
  }
  EXPECT_EQ(arrows(t).size(), 8U);  // 2 replicas, 2 steps, 2 micro-batches, one arrow each
}

TEST(MicroBatchArrowsTest, TensorParallelPeersHaveChainsOfTheirOwn) {
  Timeline t;
  for (int rank = 0; rank < 4; ++rank) {
    t.ranks[rank].dataParallelIndex = 0;
    t.ranks[rank].tensorParallelIndex = rank % 2;
    add(t, rank, "compute", JobKind::kForward, rank / 2 * 20, rank / 2 * 20 + 10, 0, 0);
  }
  EXPECT_EQ(arrows(t).size(), 2U);  // from 0 to 2 and from 1 to 3
}

TEST(MicroBatchArrowsTest, WeightGradientsAndEventsWithoutMicroBatchAreNoLinks) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 0, 10);
  add(t, 0, "compute", JobKind::kBackwardInput, 10, 20);
  add(t, 0, "compute", JobKind::kBackwardWeight, 20, 30);
  add(t, 0, "compute", JobKind::kOptimizer, 30, 40);
  add(t, 0, "compute", JobKind::kForward, 40, 50, kNotGiven);
  add(t, 0, "compute", JobKind::kForward, 50, 60, 0, kNotGiven);
  EXPECT_THAT(arrows(t), ElementsAre("0 forward 0 -> 0 backward_input 0"));
}

TEST(MicroBatchArrowsTest, OnlyOneOfTheEventsThatBeginTogetherIsALink) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 5, 7);
  add(t, 0, "send", JobKind::kSendForward, 5, 7);
  add(t, 1, "compute", JobKind::kForward, 7, 9);
  EXPECT_THAT(arrows(t), ElementsAre("0 forward 0 -> 1 forward 0"));
}

TEST(MicroBatchArrowsTest, EventsShorterThanTwoNanosecondsAreNoLinks) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 0, 2);
  add(t, 0, "send", JobKind::kSendForward, 2, 2);
  add(t, 1, "compute", JobKind::kForward, 3, 4);
  add(t, 2, "compute", JobKind::kForward, 4, 6);
  EXPECT_THAT(arrows(t), ElementsAre("0 forward 0 -> 2 forward 0"));
}

TEST(MicroBatchArrowsTest, AMissingStageLeavesTheRestOfItsChain) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 0, 10);
  add(t, 2, "compute", JobKind::kForward, 30, 40);
  EXPECT_THAT(arrows(t), ElementsAre("0 forward 0 -> 2 forward 0"));
  Timeline single;
  add(single, 0, "compute", JobKind::kForward, 0, 10);
  EXPECT_THAT(arrows(single), IsEmpty());
}

TEST(MicroBatchArrowsTest, EveryArrowOf1F1BStaysInItsStepAndMicroBatch) {
  const Timeline t = test::oneFOneB(4, 8, 3);
  const auto eventOf = [&](Arrow::Slice s) { return t.tracks[s.track].events[s.event]; };
  const auto list = findMicroBatchArrows(t);
  // Forward and send on 3 ranks, forward on the last, the same back: 14 links at least.
  EXPECT_GE(list.size(), 3U * 8U * 13U);
  for (const Arrow& arrow : list) {
    const Event from = eventOf(arrow.from);
    const Event to = eventOf(arrow.to);
    EXPECT_EQ(from.step, to.step);
    EXPECT_EQ(from.microBatch, to.microBatch);
    EXPECT_GT(to.begin, from.begin);
  }
}

/// The links of all chains found by one sort, as findMicroBatchArrows() describes them.
std::vector<std::string> arrowsBySort(const Timeline& t) {
  struct Link {
    std::tuple<int, int, int, Nanoseconds, bool, std::uint32_t, std::uint32_t> order;
    int rank = 0;
    JobKind kind = JobKind::kOther;
  };
  const std::set<JobKind> kLinks = {JobKind::kForward,      JobKind::kForwardBackward,
                                    JobKind::kBackward,     JobKind::kBackwardInput,
                                    JobKind::kSendForward,  JobKind::kRecvForward,
                                    JobKind::kSendBackward, JobKind::kRecvBackward};
  std::vector<Link> links;
  for (std::uint32_t i = 0; i < t.tracks.size(); ++i) {
    const int rank = t.tracks[i].rank;
    for (std::uint32_t j = 0; j < t.tracks[i].events.size(); ++j) {
      const Event& e = t.tracks[i].events[j];
      if (!kLinks.contains(e.kind) || e.step < 0 || e.microBatch < 0) continue;
      const int replica = t.ranks.at(rank).dataParallelIndex.value_or(0);
      links.push_back(
          {{replica, e.step, e.microBatch, e.begin, isTransfer(e.kind), i, j}, rank, e.kind});
    }
  }
  std::sort(links.begin(), links.end(),
            [](const Link& a, const Link& b) { return a.order < b.order; });
  const auto chain = [](const Link& l) {
    return std::tuple(std::get<0>(l.order), std::get<1>(l.order), std::get<2>(l.order));
  };
  const auto place = [](const Link& l) {
    return std::to_string(std::get<5>(l.order)) + ":" + std::to_string(std::get<6>(l.order));
  };
  std::vector<std::string> list;
  const Link* last = nullptr;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& l = links[i];
    if (last != nullptr && chain(*last) != chain(l)) last = nullptr;
    if (last != nullptr && std::get<3>(last->order) == std::get<3>(l.order)) continue;
    if (isRecv(l.kind)) {
      std::size_t before = i;
      while (before > 0 && isRecv(links[before - 1].kind) && chain(links[before - 1]) == chain(l)) {
        --before;
      }
      std::size_t after = i + 1;
      while (after < links.size() && isRecv(links[after].kind) && chain(links[after]) == chain(l)) {
        ++after;
      }
      if (before == 0 || after == links.size()) continue;
      const Link& sent = links[before - 1];
      const Link& next = links[after];
      const JobKind wanted =
          l.kind == JobKind::kRecvForward ? JobKind::kSendForward : JobKind::kSendBackward;
      if (chain(sent) != chain(l) || chain(next) != chain(l)) continue;
      if (sent.kind != wanted || sent.rank == l.rank || next.rank != l.rank) continue;
    }
    if (last != nullptr) list.push_back(place(*last) + " -> " + place(l));
    last = &l;
  }
  return list;
}

TEST(MicroBatchArrowsTest, ArrowsAreTheSameAsBySortingAllJobs) {
  std::mt19937 random(4);
  const std::array kinds = {JobKind::kForward,     JobKind::kBackward,     JobKind::kSendForward,
                            JobKind::kRecvForward, JobKind::kSendBackward, JobKind::kRecvBackward,
                            JobKind::kOptimizer};
  std::size_t arrowCount = 0;
  for (int round = 0; round < 200; ++round) {
    // Every other round has steps so far apart that they are counted in another way.
    const int spread = round % 2 == 0 ? 1 : 500'000'000;
    Timeline t;
    for (int i = 0; i < 300; ++i) {
      const int rank = static_cast<int>(random() % 4);
      const char* lane = std::array{"compute", "send", "recv"}[random() % 3];
      add(t, rank, lane, kinds[random() % kinds.size()], static_cast<int>(random() % 90), 99,
          static_cast<int>(random() % 5) - 1, (static_cast<int>(random() % 6) - 1) * spread);
    }
    for (auto& [rank, info] : t.ranks) info.dataParallelIndex = rank % 2;
    t.sort();
    std::vector<std::string> list;
    for (const Arrow& arrow : findMicroBatchArrows(t)) {
      const auto place = [](Arrow::Slice s) {
        return std::to_string(s.track) + ":" + std::to_string(s.event);
      };
      list.push_back(place(arrow.from) + " -> " + place(arrow.to));
    }
    arrowCount += list.size();
    ASSERT_EQ(list, arrowsBySort(t));
  }
  EXPECT_GT(arrowCount, 1000U);
}

}  // namespace
}  // namespace pipetrace
