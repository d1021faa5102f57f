#include <gmock/gmock.h>

#include <QApplication>
#include <QSettings>
#include <QTemporaryDir>

#include "trace/testing/run_tests.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  const QTemporaryDir settings;  // the user's own stay as they are
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
  return pipetrace::test::runTests();
}
