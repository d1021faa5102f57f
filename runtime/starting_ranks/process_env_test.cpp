#include "runtime/starting_ranks/process_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <string>

#include "trace/error.h"

namespace pipetrace {
namespace {

class ProcessEnvTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [name, value] : good_) setenv(name.c_str(), value.c_str(), 1);
    unsetenv("TORCHELASTIC_USE_AGENT_STORE");
    unsetenv("TORCHELASTIC_RESTART_COUNT");
  }
  void TearDown() override {
    for (const auto& [name, value] : good_) unsetenv(name.c_str());
  }

  static std::string error() {
    try {
      readProcessEnv();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  const std::map<std::string, std::string> good_{{"RANK", "2"},
                                                 {"LOCAL_RANK", "0"},
                                                 {"WORLD_SIZE", "4"},
                                                 {"MASTER_ADDR", "10.0.0.1"},
                                                 {"MASTER_PORT", "29500"}};
};

TEST_F(ProcessEnvTest, TorchrunsVariablesAreRead) {
  const ProcessEnv env = readProcessEnv();
  EXPECT_EQ(env.rank, 2);
  EXPECT_EQ(env.localRank, 0);
  EXPECT_EQ(env.worldSize, 4);
  EXPECT_EQ(env.masterAddr, "10.0.0.1");
  EXPECT_EQ(env.masterPort, 29500);
  EXPECT_FALSE(env.agentStore);
}

TEST_F(ProcessEnvTest, AllRanksAreOnThisHostUnlessSaidOtherwise) {
  EXPECT_EQ(readProcessEnv().localWorldSize, 4);
  EXPECT_EQ(readProcessEnv().clockPort, 0);
  setenv("LOCAL_WORLD_SIZE", "2", 1);
  setenv("PIPETRACE_CLOCK_PORT", "4000", 1);
  EXPECT_EQ(readProcessEnv().localWorldSize, 2);
  EXPECT_EQ(readProcessEnv().clockPort, 4000);
  setenv("LOCAL_WORLD_SIZE", "5", 1);
  EXPECT_NE(error().find("LOCAL_WORLD_SIZE"), std::string::npos) << error();
  unsetenv("LOCAL_WORLD_SIZE");
  unsetenv("PIPETRACE_CLOCK_PORT");
}

TEST_F(ProcessEnvTest, TheStoreOfTorchrunsAgentIsUsed) {
  setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
  setenv("TORCHELASTIC_RESTART_COUNT", "3", 1);
  EXPECT_TRUE(readProcessEnv().agentStore);
  EXPECT_EQ(readProcessEnv().attempt, "3");
}

TEST_F(ProcessEnvTest, AMissingVariableIsNamed) {
  for (const auto& [name, value] : good_) {
    unsetenv(name.c_str());
    EXPECT_THAT(error(), ::testing::HasSubstr(name + " is not set"));
    setenv(name.c_str(), value.c_str(), 1);
  }
}

TEST_F(ProcessEnvTest, AValueThatMakesNoSenseIsNamed) {
  const std::pair<const char*, const char*> bad[] = {
      {"RANK", "4"},
      {"RANK", "-1"},
      {"RANK", "2x"},
      {"RANK", " 2"},
      {"WORLD_SIZE", "0"},
      {"WORLD_SIZE", "four"},
      {"LOCAL_RANK", "1e1"},
      {"MASTER_PORT", "0"},
      {"RANK", ""},
      {"MASTER_PORT", "70000"},
      {"WORLD_SIZE", "99999999999"},
  };
  for (const auto& [name, value] : bad) {
    setenv(name, value, 1);
    EXPECT_THAT(error(), ::testing::HasSubstr(name)) << name << "=" << value;
    setenv(name, good_.at(name).c_str(), 1);
  }
}

}  // namespace
}  // namespace pipetrace
