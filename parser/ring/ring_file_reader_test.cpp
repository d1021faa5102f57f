// Ring files beside their logs, made by hand. tests/recording reads those that a recorder left.
#include <gmock/gmock.h>

#include "parser/fuzz/ring_image.h"
#include "parser/ring/recorder_state.h"
#include "parser/testing/files.h"
#include "parser/testing/load_timeline.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RingBesideALog : public test::FolderTest {
 protected:
  static std::string metaOf(const std::string& ring) {
    return "Profiler Meta: version = 1, rank = 1, world_size = 2, num_stages = 2, host = \"" +
           thisHost() + "\", ring = " + ring + "\n";
  }
  std::vector<Diagnostic> diagnosticsOf(int run) const {
    Diagnostics diagnostics;
    test::loadTimeline({folder_.string()}, {.run = run}, diagnostics);
    return {diagnostics.list().begin(), diagnostics.list().end()};
  }
  std::vector<std::string> messages(int run) const {
    std::vector<std::string> texts;
    for (const Diagnostic& each : diagnosticsOf(run)) texts.push_back(each.message);
    return texts;
  }
  std::vector<std::string> shares(int run) const {
    std::vector<std::string> texts;
    for (const Diagnostic& each : diagnosticsOf(run)) texts.push_back(each.share);
    return texts;
  }
};

TEST_F(RingBesideALog, ItsOpenJobsAreNamedWithStreamStepAndAction) {
  write("workerlog.1", metaOf("workerlog.1.ring"));
  write("workerlog.1.ring", fuzz::ringOf(fuzz::sampleRingImage()));
  EXPECT_THAT(messages(-1), Contains(HasSubstr("in forward of micro-batch 3 on stream compute in "
                                               "step 1 (1F2), begun at ")));
  EXPECT_THAT(messages(-1), Contains(HasSubstr("in send_forward of micro-batch 3 on stream send in "
                                               "step 1, begun at ")));
  EXPECT_THAT(shares(-1), Contains("rank 1 F3 (step 1)")) << "the job of the compute stream";
}

TEST_F(RingBesideALog, TheRecorderOfARunThatAnotherFollowsHasEnded) {
  write("workerlog.1", metaOf("first.ring") + metaOf("second.ring"));
  for (const char* const name : {"first.ring", "second.ring"}) {
    write(name, fuzz::ringOf(fuzz::sampleRingImage()));
  }
  const auto mayRun = HasSubstr("unless it still runs");
  EXPECT_THAT(messages(0), Contains(StartsWith("the program ended in forward")));
  EXPECT_THAT(messages(0), Not(Contains(mayRun)));
  EXPECT_THAT(messages(1), Contains(mayRun));
  EXPECT_THAT(messages(-1), Contains(mayRun));
}

}  // namespace
}  // namespace pipetrace
