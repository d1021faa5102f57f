// main() of the test programs that have none of their own.
#include <gmock/gmock.h>

#include "trace/testing/run_tests.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return pipetrace::test::runTests();
}
