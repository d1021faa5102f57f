// Names of schedules are looked up in the installed torch.
#include "analysis/what_if/framework_options.h"

#include <gmock/gmock.h>

#include "schedule/build_schedule.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

const FrameworkOption& of(const std::vector<FrameworkOption>& options, const char* framework) {
  for (const FrameworkOption& option : options) {
    if (option.framework == framework) return option;
  }
  throw std::out_of_range(framework);
}

TEST(FrameworkOptions, ClassesOfTorchAreThoseThatItKnows) {
  const std::string torch = test::fileText(test::inSources(
      ".deps/torch/lib/python3.11/site-packages/torch/distributed/pipelining/schedules.py"));
  if (torch.empty()) GTEST_SKIP() << "torch is not installed";
  const std::string map = torch.substr(torch.find("schedule_map = {"), 800);
  int classes = 0;
  for (const ScheduleInfo& info : knownSchedules()) {
    const std::string text = of(optionsOfSchedule(info.name, info.usualChunks, 4, 8), "torch").text;
    const std::string start = "get_schedule_class(\"";
    if (!text.starts_with(start)) continue;
    ++classes;
    const std::string name = text.substr(start.size(), text.find('"', start.size()) - start.size());
    EXPECT_THAT(map, HasSubstr("\"" + name + "\": ")) << info.name;
  }
  EXPECT_EQ(classes, 10);
}

TEST(FrameworkOptions, MegatronHasInterleavedStagesOfMultiplesOfItsRanks) {
  const auto text = [](int microBatches) {
    return of(optionsOfSchedule("Interleaved1F1B", 3, 4, microBatches), "Megatron-LM").text;
  };
  EXPECT_EQ(text(8), "--num-virtual-stages-per-pipeline-rank 3");
  EXPECT_THAT(text(10), HasSubstr("a multiple of 4"));
  EXPECT_FALSE(of(optionsOfSchedule("ZB-H1", 1, 4, 8), "Megatron-LM").exists);
}

TEST(FrameworkOptions, DeepSpeedHasDualPipeVFromTwoMicroBatchesARankOn) {
  EXPECT_TRUE(of(optionsOfSchedule("DualPipeV", 2, 4, 8), "DeepSpeed").exists);
  EXPECT_FALSE(of(optionsOfSchedule("DualPipeV", 2, 4, 7), "DeepSpeed").exists);
  EXPECT_FALSE(of(optionsOfSchedule("Interleaved1F1B", 2, 4, 8), "DeepSpeed").exists);
}

TEST(FrameworkOptions, AFrameworkWithoutAScheduleHasThoseThatItsRowsKnow) {
  const auto options = optionsOfSchedule("DualPipe", 1, 4, 8);
  EXPECT_EQ(of(options, "Megatron-LM").text, "it has 1F1B, Interleaved1F1B and Combined1F1B only");
  EXPECT_EQ(of(options, "DeepSpeed").text, "it has 1F1B and DualPipeV only");
  EXPECT_EQ(of(options, "torch").text, "a stage cannot stand on two ranks");
  EXPECT_TRUE(of(optionsOfSchedule("V-Min", 2, 4, 8), "torch").takesPlanFile);
}

TEST(FrameworkOptions, ABatchThatIsKeptHasMicroBatchesOfAnotherSize) {
  EXPECT_THAT(of(optionsOfMicroBatches(32, 8), "Megatron-LM").text, HasSubstr("divided by 4"));
  EXPECT_THAT(of(optionsOfMicroBatches(4, 8), "Megatron-LM").text, HasSubstr("2 times what it is"));
  EXPECT_THAT(of(optionsOfMicroBatches(32, 8), "torch").text, HasSubstr("n_microbatches=32"));
}

TEST(FrameworkOptions, APartitionIsALayoutOfMegatronAndBoundsOfDeepSpeed) {
  const std::vector<FrameworkOption> options = optionsOfPartition({3, 4, 2});
  EXPECT_EQ(of(options, "Megatron-LM").text, megatronLayout({3, 4, 2}, {}).text);
  EXPECT_THAT(of(options, "DeepSpeed").text, HasSubstr("self.parts = [0, 3, 7, 9]"));
  EXPECT_THAT(of(optionsOfPartition(), "Megatron-LM").text, HasSubstr("such as"));
}

}  // namespace
}  // namespace pipetrace
