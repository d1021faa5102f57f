#include "analysis/run/costs/costs_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/error.h"
#include "trace/testing/german_locale.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Costs costsOf(const std::string& text, int stages = 2) {
  return completeCosts(readCostsFile(text, "costs.json"), stages);
}

std::string errorOf(const std::string& text, int stages = 2) {
  try {
    costsOf(text, stages);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CostsFile, OneNumberIsForAllStagesAndAnArrayForEach) {
  const Costs costs = costsOf(R"({
    "forward_ms": [10, 12.5], "backward_ms": 20, "activation_bytes": 4096,
    "weights_bytes": [1, 2], "message_bytes": 7, "freed_by_input_bytes": [0, 4096],
    "transfer_ms": 0.601, "lr_ms": 0.1, "optimizer_ms": 2, "agree_ms": 0.5, "bandwidth_gbs": 12.5 // of the links
  })");
  ASSERT_EQ(costs.stages.size(), 2U);
  EXPECT_EQ(costs.stages[0].forward, 10'000'000);
  EXPECT_EQ(costs.stages[1].forward, 12'500'000);
  EXPECT_EQ(costs.stages[1].backward, 20'000'000);
  EXPECT_EQ(costs.stages[0].activation, 4096);
  EXPECT_EQ(costs.stages[1].weights, 2);
  EXPECT_EQ(costs.stages[0].message, 7);
  EXPECT_EQ(costs.stages[1].freedByInput, 4096);
  EXPECT_EQ(costs.transfer, 601'000);
  EXPECT_EQ(costs.lr, 100'000);
  EXPECT_EQ(costs.optimizer, 2'000'000);
  EXPECT_EQ(costs.scalarAllReduce, 500'000);
  EXPECT_DOUBLE_EQ(costs.bandwidth, 12.5e9);
}

TEST(CostsFile, RecomputesHaveATimeAndAPartOfTheActivation) {
  const Costs costs = costsOf(R"({"recompute_ms": [0, 2.5], "activation_bytes": 100,
                                  "recomputed_bytes": 90, "jobs_ms": {"1R0": 3}})");
  EXPECT_EQ(costs.stages[0].recompute, 0);
  EXPECT_EQ(costs.stages[1].recompute, 2'500'000);
  EXPECT_EQ(costs.stages[1].recomputed, 90);
  EXPECT_EQ(costs.faults.of({JobKind::kRecompute, 1, 0}, 0).longer, 500'000);
  EXPECT_EQ(costsOf("{}").stages[0].recompute, 0);
  EXPECT_THAT(errorOf(R"({"recomputed_bytes": 1})"), HasSubstr("activation it is part of"));
  EXPECT_THAT(errorOf(R"({"working_bytes": 1})"), HasSubstr("but not of activations"));
  EXPECT_THAT(errorOf(R"({"recomputed_bytes": 2, "activation_bytes": 1})"),
              HasSubstr("stage 0: more memory is recomputed than the forward takes"));
}

TEST(CostsFile, TimesAreReadToTheNanosecond) {
  // As a double, times 1e6, it would be 528107675.
  EXPECT_EQ(costsOf(R"({"forward_ms": 528.107676})").stages[0].forward, 528'107'676);
}

TEST(CostsFile, MissingCostsFollowFromTheGivenOnes) {
  const auto backward = [](const char* text) {
    const StageCosts stage = costsOf(text).stages[1];
    return std::vector<Nanoseconds>{stage.forward, stage.backward, stage.backwardInput,
                                    stage.backwardWeight};
  };
  constexpr Nanoseconds kMs = kNsPerMs;
  EXPECT_THAT(backward("{}"), ElementsAre(kMs, 2 * kMs, kMs, kMs));
  EXPECT_THAT(backward(R"({"forward_ms": 3})"), ElementsAre(3 * kMs, 6 * kMs, 3 * kMs, 3 * kMs));
  EXPECT_THAT(backward(R"({"backward_ms": 5})"),
              ElementsAre(kMs, 5 * kMs, 2 * kMs + kMs / 2, 2 * kMs + kMs / 2));
  EXPECT_THAT(backward(R"({"backward_input_ms": 3, "backward_weight_ms": 4})"),
              ElementsAre(kMs, 7 * kMs, 3 * kMs, 4 * kMs));
  EXPECT_THAT(backward(R"({"backward_ms": 5, "backward_weight_ms": 4})"),
              ElementsAre(kMs, 5 * kMs, kMs, 4 * kMs));
  EXPECT_EQ(costsOf("{}").stages[0].activation, 1);
  EXPECT_EQ(costsOf("{}").stages[0].forwardBackward, -1);
}

TEST(CostsFile, AnImpossibleCostIsAnErrorThatNamesItsKey) {
  EXPECT_THAT(errorOf(R"({"forward_ms": [1, 2, 3]})"),
              HasSubstr("costs for 3 stages (forward), but the schedule has 2"));
  EXPECT_THAT(
      errorOf(R"({"forwards_ms": 1})"),
      HasSubstr("costs.json: forwards_ms is no key of a costs file; did you mean forward_ms?"));
  EXPECT_THAT(errorOf(R"({"color": 1})"), HasSubstr("backward_input_ms"));
  EXPECT_THAT(errorOf(R"({"forward_ms": 1, "forward_ms": 2})"),
              HasSubstr("forward_ms occurs twice"));
  EXPECT_THAT(errorOf(R"({"forward_ms": [1, -2]})"), HasSubstr("forward_ms[1] is -2; no cost"));
  EXPECT_THAT(errorOf(R"({"forward_ms": 1e3})"), HasSubstr("write it like 10 or 0.25"));
  EXPECT_THAT(errorOf(R"({"forward_ms": 99999999999999999999})"), HasSubstr("forward_ms is"));
  EXPECT_THAT(errorOf(R"({"activation_bytes": 1.5})"), HasSubstr("whole number of bytes"));
  EXPECT_THAT(errorOf(R"({"forward_ms": [1, null]})"), HasSubstr("forward_ms[1] is null"));
  EXPECT_THAT(errorOf(R"({"forward_ms": "1"})"), HasSubstr("forward_ms is text"));
  EXPECT_THAT(errorOf(R"({"forward_ms": {}})"), HasSubstr("forward_ms is an object"));
  EXPECT_THAT(errorOf(R"({"forward_ms": [[1]]})"), HasSubstr("forward_ms[0] is an array"));
  EXPECT_THAT(errorOf(R"({"forward_ms": []})"), HasSubstr("forward_ms is an empty array"));
  EXPECT_THAT(errorOf(R"({"transfer_ms": [1]})"), HasSubstr("transfer_ms is an array"));
  EXPECT_THAT(errorOf(R"({"transfer_ms": true})"), HasSubstr("transfer_ms is true or false"));
  EXPECT_THAT(errorOf(R"({"weights_bytes": 1})"), HasSubstr("not of activations"));
  EXPECT_THAT(errorOf(R"({"freed_by_input_bytes": 1})"), HasSubstr("activation it is part of"));
  EXPECT_THAT(errorOf(R"({"freed_by_input_bytes": 2, "activation_bytes": 1})"),
              HasSubstr("stage 0: the input half frees more"));
  EXPECT_THAT(errorOf(R"({"bandwidth_gbs": 2})"), HasSubstr("the bytes of messages"));
  for (const char* bandwidth : {"0", "0.0", "1e305", "1e-400"}) {
    EXPECT_THAT(errorOf(R"({"message_bytes": 1, "bandwidth_gbs": )" + std::string(bandwidth) + "}"),
                HasSubstr("bandwidth_gbs is " + std::string(bandwidth)));
  }
  EXPECT_THAT(errorOf(R"({"message_bytes": [0, 1000], "bandwidth_gbs": 1e-12})"),
              HasSubstr("a message of 1000 bytes takes hours"));
  EXPECT_THAT(errorOf(R"({"backward_ms": 2, "backward_input_ms": 3})"),
              HasSubstr("longer than the whole"));
}

TEST(CostsFile, InvalidJsonIsAnErrorWithLineAndColumn) {
  EXPECT_THAT(errorOf("{\n  \"forward_ms\": 1,,\n}"),
              HasSubstr("costs.json: invalid JSON at line 2, column"));
  EXPECT_THAT(errorOf(""), HasSubstr("costs.json: invalid JSON at line 1"));
  EXPECT_THAT(errorOf("{\"forward_ms\": 1} {"), HasSubstr("invalid JSON at line 1"));
  EXPECT_THAT(errorOf("[1, 2]"), HasSubstr("holds no object"));
  EXPECT_THAT(errorOf("3"), HasSubstr("holds no object"));
  EXPECT_THAT(errorOf("null"), HasSubstr("holds no object"));
  EXPECT_THAT(errorOf("{\"forward_ms\": \x80}"), HasSubstr("invalid JSON at line 1"));
}

TEST(CostsFile, WrittenCostsReadBackToTheSame) {
  Costs costs = Costs::equal(3, {.forward = 10'000'001,
                                 .backward = 20'500'000,
                                 .backwardInput = 12,
                                 .backwardWeight = 13,
                                 .recompute = 14,
                                 .activation = 201'216,
                                 .freedByInput = -127'488,
                                 .recomputed = 15,
                                 .working = 16});
  costs.stages[1].forward = 7;
  costs.stages[2].weights = 9;
  costs.stages[0].forwardBackward = 3;
  costs.stages[1].forwardBackward = 4;
  costs.stages[2].forwardBackward = 5;
  costs.transfer = 601'000;
  costs.optimizer = 5;
  costs.bandwidth = 25e9;
  costs.stages[0].message = 8;
  const std::string text = toCostsFile(givenCosts(costs));
  EXPECT_EQ(toCostsFile(readCostsFile(text, "x")), text);
  const Costs back = costsOf(text, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back.stages[i].forward, costs.stages[i].forward);
    EXPECT_EQ(back.stages[i].backward, costs.stages[i].backward);
    EXPECT_EQ(back.stages[i].backwardInput, costs.stages[i].backwardInput);
    EXPECT_EQ(back.stages[i].backwardWeight, costs.stages[i].backwardWeight);
    EXPECT_EQ(back.stages[i].forwardBackward, costs.stages[i].forwardBackward);
    EXPECT_EQ(back.stages[i].recompute, costs.stages[i].recompute);
    EXPECT_EQ(back.stages[i].recomputed, costs.stages[i].recomputed);
    EXPECT_EQ(back.stages[i].activation, costs.stages[i].activation);
    EXPECT_EQ(back.stages[i].freedByInput, costs.stages[i].freedByInput);
    EXPECT_EQ(back.stages[i].freedByInput, costs.stages[i].freedByInput);
    EXPECT_EQ(back.stages[i].working, costs.stages[i].working);
    EXPECT_EQ(back.stages[i].weights, costs.stages[i].weights);
    EXPECT_EQ(back.stages[i].message, costs.stages[i].message);
  }
  EXPECT_EQ(back.transfer, costs.transfer);
  EXPECT_EQ(back.optimizer, costs.optimizer);
  EXPECT_DOUBLE_EQ(back.bandwidth, costs.bandwidth);
}

TEST(CostsFile, SharedValuesAreWrittenOnce) {
  EXPECT_EQ(
      toCostsFile(givenCosts(Costs::equal(4, {.forward = kNsPerMs / 4, .backward = kNsPerMs}))),
      "{\n  \"forward_ms\": 0.25,\n  \"backward_ms\": 1,\n  \"backward_input_ms\": 0,\n"
      "  \"backward_weight_ms\": 0\n}\n");
}

TEST(CostsFileTest, SingleJobsMayHaveTimesOfTheirOwn) {
  const GivenCosts given = readCostsFile(
      R"({"forward_ms": 5, "backward_ms": 6, "jobs_ms": {"1F2": 7.5, "0B1": 2,
          "(0F4;1B3)OVERLAP_F_B": 12.25, "0UNSHARD": 3}, "lr_ms": 1})",
      "c.json");
  const Costs costs = completeCosts(given, 2);
  const auto timeOf = [&](const Action& action) {
    return costs.timeOf(action) + costs.faults.of(action, 3).longer;
  };
  EXPECT_EQ(timeOf({JobKind::kForward, 1, 2}), 7'500'000);
  EXPECT_EQ(timeOf({JobKind::kBackward, 0, 1}), 2'000'000) << "shorter than its stage's";
  EXPECT_EQ(timeOf({JobKind::kForwardBackward, 0, 4, 1, 3}), 12'250'000);
  EXPECT_EQ(timeOf({JobKind::kForward, 1, 3}), 5'000'000);
  EXPECT_EQ(timeOf({JobKind::kAllGather, 0, -1}), 3'000'000);
  EXPECT_EQ(timeOf({JobKind::kAllGather, 1, -1}), 0);
  EXPECT_EQ(costs.lr, kNsPerMs);
  const GivenCosts again = readCostsFile(toCostsFile(given), "again");
  EXPECT_EQ(toCostsFile(again), toCostsFile(given));
  EXPECT_EQ(again.jobs.size(), 4U);
}

TEST(CostsFileTest, WrongTimesOfJobsAreRefused) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      completeCosts(readCostsFile(text, "c.json"), 2);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(R"({"jobs_ms": {"1X2": 7}})"), HasSubstr("1X2 is no job of a plan"));
  EXPECT_THAT(refusal(R"({"jobs_ms": {"1SEND_F2": 7}})"), HasSubstr("is no job of a plan"));
  EXPECT_THAT(refusal(R"({"jobs_ms": {"1F2": 7, "1F2": 8}})"), HasSubstr("1F2 occurs twice"));
  EXPECT_THAT(refusal(R"({"jobs_ms": {"1F2": -7}})"), HasSubstr("no cost is negative"));
  EXPECT_THAT(refusal(R"({"jobs_ms": 7})"), HasSubstr("it is an object like"));
  EXPECT_THAT(refusal(R"({"jobs_ms": [7]})"), HasSubstr("is an array"));
  EXPECT_THAT(refusal(R"({"jobs_ms": {"1F2": {"a": 1}}})"), HasSubstr("is an object"));
  EXPECT_THAT(refusal(R"({"jobs_ms": {"2F0": 7}})"), HasSubstr("but the schedule has 2 stages"));
}

using CostsInGerman = test::GermanLocaleTest;

TEST_F(CostsInGerman, FractionsStayWhatTheyAre) {
  EXPECT_EQ(costsOf(R"({"forward_ms": 12.5, "backward_ms": 20.25})").stages[0].forward, 12'500'000);
}

}  // namespace
}  // namespace pipetrace
