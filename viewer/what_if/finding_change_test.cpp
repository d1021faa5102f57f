#include "viewer/what_if/finding_change.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

TEST(FindingChangeTest, AReplicaThatBeginsItsStepsLateBeginsThemAsOthersDo) {
  Finding finding;
  finding.kind = FindingKind::kLateJob;
  finding.facts = BlamedJob{.name = "0F0", .rank = 4, .opensStep = true};
  const std::optional<WhatIfChanges> change = changeThatRemoves(finding);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->text(), "--usual-launch 4");
}

TEST(FindingChangeTest, WhatMakesOneJobLateWithinAStepIsNotKnown) {
  Finding finding;
  finding.kind = FindingKind::kLateJob;
  finding.facts = BlamedJob{.name = "0F3", .rank = 4};
  EXPECT_EQ(changeThatRemoves(finding), std::nullopt);
}

TEST(FindingChangeTest, ALoaderTakesNoTime) {
  Finding finding;
  finding.kind = FindingKind::kData;
  const std::optional<WhatIfChanges> change = changeThatRemoves(finding);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->text(), "--scale kind=data:0");
}

}  // namespace
}  // namespace pipetrace
