#include "parser/foreign/names/given_names.h"

#include <gmock/gmock.h>

#include "parser/foreign/names/known_names.h"
#include "parser/testing/files.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string errorInKinds(const std::string& json) {
  try {
    KindsFile::parse(json, "k.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(KindsFileTest, NamesTakePrecedenceOverExpressionsAndTheFirstExpressionCounts) {
  const KindsFile names = KindsFile::parse(R"j({"kinds": {
    "f.*": "forward",
    "fwd_(?P<chunk>[0-9]+)_(?P<micro_batch_id>[0-9]+)": "backward",
    "fin": "optimizer",
    "b\\((?P<step>\\d+)\\)": "backward_b",
    "note": "other"}})j",
                                           "k.json");
  EXPECT_EQ(names.find("fin")->kind, JobKind::kOptimizer);
  EXPECT_EQ(names.find("fwd_1_2")->kind, JobKind::kForward);
  EXPECT_EQ(names.find("b(12)")->kind, JobKind::kBackwardInput);
  EXPECT_EQ(names.find("b(12)")->step, 12);
  EXPECT_EQ(names.find("note")->kind, JobKind::kOther);
  EXPECT_FALSE(names.find("xf"));
  EXPECT_FALSE(names.find("fi\nn"));
}

TEST(KindsFileTest, GroupsGiveNumbersAsFarAsTheyFit) {
  const KindsFile names = KindsFile::parse(
      R"j({"kinds":{"s(?P<stage>\\d+)c(?P<chunk>\\d+)p(?P<part>\\d+)(?:m(?P<micro_batch_id>\\d+))?":"forward"}})j",
      "k.json");
  const auto name = names.find("s3c2p1m9");
  EXPECT_EQ(name->stage, 3);
  EXPECT_EQ(name->chunk, 2);
  EXPECT_EQ(name->part, 1);
  EXPECT_EQ(name->microBatch, 9);
  EXPECT_EQ(names.find("s3c99999p1")->chunk, kNotGiven);
  EXPECT_EQ(names.find("s3c9p1")->microBatch, kNotGiven);
}

TEST(KindsFileTest, ErrorsNameThePlaceAndWhatIsAllowed) {
  EXPECT_THAT(
      errorInKinds("{\"kinds\": {\n\"a\": \"forward\",\n\"b\": \"fwd\"}}"),
      AllOf(HasSubstr("k.json:3: \"fwd\", of \"b\", is no kind"),
            HasSubstr("lr, forward, backward, backward_input"), testing::Not(HasSubstr("bubble"))));
  EXPECT_THAT(errorInKinds(R"({"kinds":{"a":"bubble"}})"), HasSubstr("is no kind of job"));
  EXPECT_THAT(errorInKinds("{\"kinds\":{\n\"a(\":\"forward\"}}"),
              HasSubstr("k.json:2: \"a(\" is no regular expression: missing )"));
  EXPECT_THAT(errorInKinds(R"j({"kinds":{"(?P<mb>a)":"forward"}})j"), HasSubstr("micro_batch_id"));
  EXPECT_THAT(errorInKinds("{\"kinds\":{\n\"a\":\"forward\",\n}}"),
              HasSubstr("k.json:3: no valid JSON"));
  EXPECT_THAT(errorInKinds(R"({"kinds":{"a":3}})"), HasSubstr("the kind of \"a\" is no text"));
  EXPECT_THAT(errorInKinds(R"({"kinds":{"a":{"b":"forward"}}})"), HasSubstr("is no text"));
  EXPECT_THAT(errorInKinds(R"({"kinds":{"a":"forward","a":"lr"}})"), HasSubstr("is there twice"));
  EXPECT_THAT(errorInKinds(R"({"kind":{"a":"forward"}})"), HasSubstr("\"kind\" is not known"));
  for (const char* json : {"[]", "3", "\"kinds\"", R"({"kinds":[]})", R"({"kinds":1})"}) {
    EXPECT_THAT(errorInKinds(json), HasSubstr("no object {\"kinds\"")) << json;
  }
  EXPECT_THAT(errorInKinds(R"({"kinds":{}})"), HasSubstr("names no kinds"));
  EXPECT_THAT(errorInKinds("{}"), HasSubstr("names no kinds"));
}

TEST(KindsFileTest, AMissingFileIsAnError) {
  EXPECT_THROW(KindsFile::read("/nowhere/kinds.json"), Error);
}

TEST(JobNamesTest, NamesOfKnownProgramsAreKnown) {
  const std::pair<const char*, JobKind> cases[] = {
      {"forward", JobKind::kForward},
      {"backward_b1", JobKind::kBackwardInput},
      {"forward-compute", JobKind::kForward},
      {"backward_step", JobKind::kBackward},
      {"## backward ##", JobKind::kBackward},
      {"Forward 3", JobKind::kForward},
      {"PP:2W5", JobKind::kBackwardWeight},
      {"recv-forward", JobKind::kRecvForward},
      {"backward-send", JobKind::kSendBackward},
      {"Optimizer.step#Adam.step", JobKind::kOptimizer},
      {"layernorm-grads-all-reduce", JobKind::kAllReduce},
      {"grads-reduce-scatter", JobKind::kReduceScatter},
      {"params-all-gather", JobKind::kAllGather},
      {"nccl:_reduce_scatter_base", JobKind::kReduceScatter},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", JobKind::kAllReduce},
      {"ncclDevKernel_ReduceScatter_Sum_bf16", JobKind::kReduceScatter},
      {"hcom_allGather__123_0_1", JobKind::kAllGather},
      {"Memcpy DtoD (Device -> Device)", JobKind::kCopy},
      {"forwarder", JobKind::kOther},
      {"aten::all_close", JobKind::kOther},
      {"", JobKind::kOther}};
  JobNames names(nullptr);
  for (const auto& [name, kind] : cases) EXPECT_EQ(names[name].kind, kind) << name;
  EXPECT_EQ(names["PP:2W5"].stage, 2);
  EXPECT_EQ(names["PP:2W5"].microBatch, 5);
  EXPECT_EQ(names["backward_b1"].chunk, 1);
}

}  // namespace
}  // namespace pipetrace
