#include "parser/job_log/lines/job_head.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace pipetrace {
namespace {

// The only genuine lines known of PaddlePaddle's program.
const std::string kGenuine3 =
    "I1020 09:15:07.265326 22317 standalone_executor.cc:217] Profiler Info: Job (3), type = "
    "forward, micro_batch_id = 2, job_start_time = 1697793307213.760986, job_end_time = "
    "1697793307254.006104";
const std::string kGenuine4 =
    "I1020 09:15:07.265338 22317 standalone_executor.cc:217] Profiler Info: Job (4), type = "
    "forward, micro_batch_id = 3, job_start_time = 1697793307214.742920, job_end_time = "
    "1697793307219.168945";

std::string line(const std::string& type, const std::string& begin, const std::string& end,
                 const std::string& tail = "") {
  return "Profiler Info: Job (1), type = " + type +
         ", micro_batch_id = 0, job_start_time = " + begin + ", job_end_time = " + end + tail;
}

TEST(JobHeadTest, TheGenuineLinesAreCanonical) {
  const auto head = readCanonicalHead(kGenuine3);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->number, 3);
  EXPECT_EQ(head->type, "forward");
  EXPECT_EQ(head->microBatch, 2);
  EXPECT_EQ(head->begin, 1697793307213760986);
  EXPECT_EQ(head->end - head->begin, 40'245'118);
  EXPECT_EQ(head->tail, "");
  EXPECT_TRUE(readCanonicalHead(kGenuine4));
}

TEST(JobHeadTest, ThePatternReadsLinesThatAreNotCanonical) {
  struct Case {
    std::string text;
    std::string type;
    Nanoseconds begin;
    Nanoseconds end;
  };
  const std::vector<Case> cases = {
      {line("前向", "1.000000", "2.000000"), "前向", 1'000'000, 2'000'000},
      {line("forward(chunk0)", "1.000000", "2.000000"), "forward(chunk0)", 1'000'000, 2'000'000},
      {line("\"a, b\"", "1.000000", "2.000000"), "\"a, b\"", 1'000'000, 2'000'000},
      {line("forward", "1", "2.5"), "forward", 1'000'000, 2'500'000},
      {line("forward", "1.0000019", "2.000000"), "forward", 1'000'001, 2'000'000},
      {line("forward", "-1.000000", "2.000000"), "forward", -1'000'000, 2'000'000},
      {"Profiler Info: Job ( 1 ) , type=forward , micro_batch_id= 0, job_start_time =1, "
       "job_end_time=  2",
       "forward", 1'000'000, 2'000'000},
      {"Profiler Info: Job (9), type = forProfiler Info: Job (1), type = forward, "
       "micro_batch_id = 0, job_start_time = 1, job_end_time = 2",
       "forward", 1'000'000, 2'000'000},
  };
  for (const Case& c : cases) {
    EXPECT_FALSE(readCanonicalHead(c.text)) << c.text;
    JobHead head;
    ASSERT_EQ(readHead(c.text, head), HeadResult::kRead) << c.text;
    EXPECT_EQ(head.type, c.type);
    EXPECT_EQ(head.begin, c.begin);
    EXPECT_EQ(head.end, c.end);
  }
}

TEST(JobHeadTest, ATimeThatRunsOnIntoOtherTextIsNotTaken) {
  JobHead head;
  for (const char* end : {"2.000000I1020", "2.0.0", "2.00000x", "2."}) {
    EXPECT_EQ(readHead(line("forward", "1.000000", end), head), HeadResult::kNoMatch) << end;
  }
}

TEST(JobHeadTest, NumbersPastInt64AreDistinguishedFromNonsense) {
  JobHead head;
  EXPECT_EQ(readHead(line("forward", "9999999999999.000000", "2.000000"), head),
            HeadResult::kNumberOutOfRange);
  EXPECT_EQ(readHead("Profiler Info: Job (99999999999999999999), type = forward, micro_batch_id = "
                     "0, job_start_time = 1.000000, job_end_time = 2.000000",
                     head),
            HeadResult::kNumberOutOfRange);
  EXPECT_EQ(readHead("Profiler Info: Job (1), type = forward", head), HeadResult::kNoMatch);
}

/// Checks that both ways agree on what is read by hand, which must refuse what the pattern refuses.
void expectAgreement(const std::string& text) {
  const auto byHand = readCanonicalHead(text);
  JobHead byPattern;
  const HeadResult result = readHeadByPattern(text, byPattern);
  if (!byHand) return;
  ASSERT_EQ(result, HeadResult::kRead) << text;
  EXPECT_EQ(byHand->number, byPattern.number) << text;
  EXPECT_EQ(byHand->type, byPattern.type) << text;
  EXPECT_EQ(byHand->microBatch, byPattern.microBatch) << text;
  EXPECT_EQ(byHand->begin, byPattern.begin) << text;
  EXPECT_EQ(byHand->end, byPattern.end) << text;
  EXPECT_EQ(byHand->tail, byPattern.tail) << text;
}

std::string digits(std::mt19937& random, std::size_t most) {
  std::string text(1 + random() % most, '0');
  for (char& c : text) c = static_cast<char>('0' + random() % 10);
  return text;
}

TEST(JobHeadTest, BothWaysAgreeOnGeneratedLines) {
  std::mt19937 random(11);
  const std::vector<std::string> types = {"forward", "backward_b1", "lr", "_x9", "前向", "a-b"};
  const std::vector<std::string> tails = {"", ", id = 4", " ", "\r", ",", ", ", "x", ".5", ", 前"};
  int canonical = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = "x] Profiler Info: Job (" + digits(random, 20) +
                             "), type = " + types[random() % types.size()] +
                             ", micro_batch_id = " + digits(random, 20) +
                             ", job_start_time = " + digits(random, 14) + "." + digits(random, 7) +
                             ", job_end_time = " + digits(random, 14) + "." + digits(random, 7) +
                             tails[random() % tails.size()];
    canonical += readCanonicalHead(text).has_value() ? 1 : 0;
    expectAgreement(text);
  }
  EXPECT_GT(canonical, 20);
}

TEST(JobHeadTest, BothWaysAgreeOnMutatedLines) {
  std::mt19937 random(12);
  const std::string characters = "0123456789.,=() -_ab\"\\P\r\t";
  int canonical = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text = kGenuine3 + ", id = 41, step = 7";
    const int changes = static_cast<int>(random() % 3);
    for (int c = 0; c <= changes; ++c) {
      const std::size_t at = random() % text.size();
      const char with = characters[random() % characters.size()];
      switch (random() % 4) {
        case 0: text[at] = with; break;
        case 1: text.insert(at, 1, with); break;
        case 2: text.erase(at, 1 + random() % 3); break;
        default: text.insert(random() % text.size(), text.substr(at, random() % 40)); break;
      }
    }
    canonical += readCanonicalHead(text).has_value() ? 1 : 0;
    expectAgreement(text);
  }
  EXPECT_GT(canonical, 1000);
}

}  // namespace
}  // namespace pipetrace
